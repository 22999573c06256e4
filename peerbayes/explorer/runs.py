"""Runs of the algorithm for a page: one run round by round, the cloud of many, errors and bounds.

The runs are those of `pb.simulate`: log-ratios carried from round to round, one log-sum-exp for
beliefs. The first replicate is shown whole; quantiles are over as many replicates as memory takes;
errors are counted in all of them. Everything follows from the seed.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from exact import Run, Simulation
from exact.beliefs import normalise
from exact.statistics import proportion
from peerbayes.documents import number
from peerbayes.explorer.documents import Table, problem_of
from peerbayes.explorer.edits import edited
from peerbayes.explorer.regression_runs import regression_run
from peerbayes.explorer.run_request import RunRequest, check_seconds
from peerbayes.kinds.faulty.analyse import FaultyAnalysis
from peerbayes.kinds.registry import kind_of
from peerbayes.messages import describe
from peerbayes.problem.problems import (
    ChangingProblem,
    FaultyProblem,
    FiniteProblem,
    Problem,
    RegressionProblem,
)
from theory import LearningRate, SampleSizes, expected_log_ratio, learning_rate, sample_sizes
from theory.changing.delays import RandomNetwork
from theory.messages import compressed_learning
from theory.progress import Progress
from theory.validation import FloatArray, IntArray, fail

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# Numbers of one run that travel to a page: a megabyte or two.
_MOST_SHOWN = 150_000
_MOST_ROUNDS, _FEWEST_ROUNDS = 400, 40
# Log-ratios of the replicates that make the cloud: 80 megabytes.
_MOST_KEPT = 10_000_000
_DIGITS = 5


def run(request: Table, progress: Progress | None = None) -> Table:
    """The runs that a request asks for.

    Parameters
    ----------
    request
        ``document``, and what `RunRequest` has.

    Raises
    ------
    ValueError
        For anything wrong with it, or a run of more than five minutes; in one line.
    """
    asked = RunRequest.of(request)
    document = request.get("document")
    if not isinstance(document, dict):
        raise fail("document", "a table", describe(document), "open a problem first")
    truth = {key: value for key, value in asked.truth.items() if value is not None}
    if truth:
        document = edited(document, [{"kind": "set-truth", **truth}])
    problem = problem_of(document)
    if isinstance(problem, RegressionProblem):
        return regression_run(problem, asked, progress)
    return _finite_run(problem, asked, progress)


def _finite_run(problem: FiniteProblem, asked: RunRequest, progress: Progress | None) -> Table:
    agents, hypotheses = problem.network.agents, len(problem.model.hypotheses)
    recorded = shown_rounds(asked.rounds, agents * hypotheses)
    kept = max(1, _MOST_KEPT // (len(recorded) * agents * hypotheses))
    how = Run(
        rounds=asked.rounds,
        replicates=asked.replicates,
        seed=asked.seed,
        record=recorded,
        paths=min(kept, asked.replicates),
        progress=progress,
    )
    task = kind_of(problem).simulation(problem, how)
    check_seconds(task.cost().seconds)
    found: Simulation = task.simulate()
    rate = learning_rate(problem.network, problem.model)
    share = found.errors / found.replicates
    spans = [proportion(int(count), found.replicates) for count in found.errors]
    words = _words(problem, found, rate, asked)
    bound, why = _bound(problem, found.rounds, asked.delta)
    return {
        "rounds": found.rounds.tolist(),
        "hypotheses": list(found.hypotheses),
        "reference": [found.hypotheses[m] for m in found.reference],
        "beliefs": _shown(found, agents),
        "cloud": {
            "quantiles": list(QUANTILES),
            "values": _cloud(found),
            "replicates": len(found.paths),
        },
        "error_share": share.tolist(),
        "error_interval": [[span.lower, span.upper] for span in spans],
        "bound": bound,
        **_rates(problem, found, rate),
        "replicates": found.replicates,
        "seed": found.seed,
        "words": [*words, *([why] if why else [])],
    }


def shown_rounds(rounds: int, width: int) -> list[int]:
    """The rounds that are shown: all of a few, else some, evenly spread, the first and the last.

    Parameters
    ----------
    width
        Numbers that one round takes.
    """
    most = int(np.clip(_MOST_SHOWN // max(1, width), _FEWEST_ROUNDS, _MOST_ROUNDS))
    if rounds <= most:
        return list(range(1, rounds + 1))
    return sorted({round(float(n)) for n in np.linspace(1, rounds, most)})


def _shown(found: Simulation, agents: int) -> list[list[list[float] | None]]:
    """Beliefs of the first replicate, by round, agent and hypothesis; null of faulty agents."""
    beliefs = np.exp(normalise(-found.paths[0])).round(_DIGITS)
    place = {int(agent): k for k, agent in enumerate(found.watched)}
    return [
        [row[place[agent]].tolist() if agent in place else None for agent in range(agents)]
        for row in beliefs
    ]


def _cloud(found: Simulation) -> list[list[float]]:
    """Quantiles over replicates of the worst agent's belief in what is best, round by round."""
    right = list(found.reference)
    values = []
    for index in range(len(found.rounds)):
        beliefs = np.exp(normalise(-found.paths[:, index]))
        worst = beliefs[..., right].sum(axis=-1).min(axis=-1)
        values.append(np.quantile(worst, QUANTILES).round(_DIGITS).tolist())
    return values


@singledispatch
def _bound(problem: Any, rounds: IntArray, delta: float) -> tuple[list[float] | None, str]:
    """A proved bound on the probability that some agent errs, by round; or why there is none."""
    raise TypeError(f"no problem: {type(problem).__name__}")


@_bound.register
def _(problem: Problem, rounds: IntArray, delta: float) -> tuple[list[float] | None, str]:
    network, model = problem.network, problem.model
    sizes: SampleSizes | None = sample_sizes(network, model, delta=delta, certify=False)
    if problem.messages is not None:
        sizes = compressed_learning(
            network, model, problem.messages, delta=delta, uncompressed=sizes
        ).compressed
    return _bound_of(sizes, rounds)


@_bound.register
def _(problem: ChangingProblem, rounds: IntArray, delta: float) -> tuple[list[float] | None, str]:
    if isinstance(problem.network, RandomNetwork):
        return None, "no bound on the errors is proved for a network that changes at random"
    sizes = sample_sizes(problem.network, problem.model, delta=delta, certify=False)
    return _bound_of(sizes, rounds)


@_bound.register
def _(problem: FaultyProblem, rounds: IntArray, delta: float) -> tuple[list[float] | None, str]:
    return None, "no bound on the errors is proved where agents are faulty"


def _bound_of(sizes: SampleSizes | None, rounds: IntArray) -> tuple[list[float] | None, str]:
    if sizes is None or not sizes.bounds:
        why = "" if sizes is None else f": {sizes.chernoff.note}"
        return None, f"no bound on the errors{why}"
    return [sizes.probability(int(n)) for n in rounds], ""


def _rates(problem: FiniteProblem, found: Simulation, rate: LearningRate) -> Table:
    """Predicted and measured rates, of the hypothesis that binds and of each."""
    n = float(found.rounds[-1])
    names = found.hypotheses
    wrong = [m for m in range(len(names)) if m not in found.reference]
    measured = found.network_mean[-1] / n
    errors = found.network_standard_error[-1] / n
    predicted, expected = _predicted(problem, found, rate)
    binding = (
        rate.binding
        if rate.binding in wrong
        else min(wrong, key=lambda m: measured[m], default=None)
    )
    table = {
        names[m]: {
            "predicted": number(predicted[m]),
            "expected": None if expected is None else number(expected[m]),
            "measured": number(measured[m]),
            "standard_error": number(errors[m]),
        }
        for m in wrong
    }
    best: Table = {} if binding is None else table[names[binding]]
    return {
        "binding_hypothesis": None if binding is None else names[binding],
        "predicted_rate": best.get("predicted"),
        "expected_rate": best.get("expected"),
        "measured_rate": best.get("measured"),
        "measured_standard_error": best.get("standard_error"),
        "rates": table,
    }


def _predicted(
    problem: FiniteProblem, found: Simulation, rate: LearningRate
) -> tuple[FloatArray, FloatArray | None]:
    """The limits of the rates, shape (M,), and their exact means at the last round, if known."""
    if isinstance(problem, FaultyProblem):
        analysis = FaultyAnalysis(problem)
        if problem.faults.behaviours and analysis.guaranteed is not None:
            return analysis.guaranteed, None
        if problem.faults.behaviours and analysis.averaging is not None:
            return np.asarray(analysis.averaging.rates.mean(axis=0)), None
        return np.full(len(found.hypotheses), np.nan), None
    if getattr(problem, "messages", None) is not None:
        return rate.rates, None
    try:
        means = expected_log_ratio(
            problem.network, problem.model, [int(found.rounds[-1])], best=found.best
        )
    except ValueError:
        return rate.rates, None
    return rate.rates, np.asarray(means.values[0].mean(axis=0) / float(found.rounds[-1]))


def _words(
    problem: FiniteProblem, found: Simulation, rate: LearningRate, asked: RunRequest
) -> list[str]:
    """What is to be said of the numbers, one sentence each."""
    words = []
    if rate.is_compromise:
        names = ", ".join(found.hypotheses[m] for m in rate.reference)
        words.append(
            f"no hypothesis is best for every agent: the network settles on the compromise {names}"
        )
    if len(found.paths) < found.replicates:
        words.append(
            f"the cloud is of the first {len(found.paths)} of {found.replicates} runs; errors are "
            "counted in all"
        )
    if isinstance(problem, FaultyProblem):
        proved = FaultyAnalysis(problem).guaranteed is not None
        rates = "lower bounds that the rule guarantees" if proved else "those of plain averaging"
        words.append(f"beliefs are those of the honest; predicted rates are {rates}")
    if asked.replicates == 1:
        words.append("one run cannot show a spread: the standard error is null")
    return words

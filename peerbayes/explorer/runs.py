"""Runs of the algorithm for a page: one run round by round, the cloud of many, errors and bounds.

The runs are those of `pb.simulate`: log-ratios carried from round to round, one log-sum-exp for
beliefs. The first replicate is shown whole; quantiles are over as many replicates as memory takes;
errors are counted in all of them. A regression has excess errors in place of beliefs: one run and
the cloud of some dozen are simulated one by one, the means are over all replicates. Everything
follows from the seed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from exact import Run, Simulation, prepare_regression
from exact.beliefs import normalise
from exact.regression import RegressionSimulation
from exact.statistics import proportion
from peerbayes.documents import number, numbers
from peerbayes.explorer.documents import Table, asked_about, problem_of
from peerbayes.explorer.edits import edited
from peerbayes.kinds.faulty.analyse import FaultyAnalysis
from peerbayes.kinds.registry import kind_of
from peerbayes.kinds.regression.simulate import recorded_rounds
from peerbayes.messages import describe
from peerbayes.problem.problems import (
    ChangingProblem,
    FaultyProblem,
    FiniteProblem,
    RegressionProblem,
)
from peerbayes.settings.questions import DEFAULT_DELTA
from peerbayes.terminal import duration
from theory import LearningRate, SampleSizes, expected_log_ratio, learning_rate, sample_sizes
from theory.changing.delays import RandomNetwork
from theory.messages import compressed_learning
from theory.progress import Progress
from theory.regression import predicted_error, regression_limits
from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_SECONDS = 300.0
_USUAL = 200
_MOST = {"rounds": 1_000_000, "replicates": 100_000}
# Numbers of one run that travel to a page: a megabyte or two.
_MOST_SHOWN = 150_000
_MOST_ROUNDS, _FEWEST_ROUNDS, _MOST_OF_REGRESSION = 400, 40, 120
# Log-ratios of the replicates that make the cloud: 80 megabytes. Of a regression: single runs.
_MOST_KEPT, _CLOUD = 10_000_000, 60
_DIGITS = 5


def run(request: Table, progress: Progress | None = None) -> Table:
    """The runs that a request asks for.

    Parameters
    ----------
    request
        ``document``; ``rounds`` n ≥ 1, ``replicates`` R ≥ 1 and a ``seed``; ``delta``, the
        probability of error that bounds are computed for, in (0, 1); and ``truth``, what an edit
        ``set-truth`` takes, if not the problem's own. Null stands for what is left out.

    Raises
    ------
    ValueError
        For anything wrong with it, or a run of more than five minutes; in one line.
    """
    given = {key: value for key, value in request.items() if value is not None}
    rounds, replicates = (
        as_integer(name, given.get(name, _USUAL), minimum=1, maximum=most)
        for name, most in _MOST.items()
    )
    seed = as_integer("seed", given.get("seed", 0), minimum=0)
    how = Run(rounds=rounds, replicates=replicates, seed=seed, progress=progress)
    delta, truth = (
        as_probability("delta", given.get("delta", DEFAULT_DELTA)),
        given.get("truth", {}),
    )
    if not isinstance(truth, dict):
        wanted = "a table with of or mixture"
        raise fail("truth", wanted, describe(truth), "leave it out for the problem's own")
    document = asked_about(request)
    truth = {key: value for key, value in truth.items() if value is not None}
    if truth:
        document = edited(document, [{"kind": "set-truth", **truth}])
    problem = problem_of(document)
    if isinstance(problem, RegressionProblem):
        return _regression_run(problem, how)
    return _finite_run(problem, how, delta)


def _simulated(task: Any) -> Any:
    """The simulation, refused if it is expected to take longer than a page waits."""
    seconds = task.cost().seconds
    if seconds > _MOST_SECONDS:
        wanted = f"a run of at most about {duration(_MOST_SECONDS)}"
        got = f"one of about {duration(seconds)} (an estimate)"
        raise fail("rounds × replicates", wanted, got, "ask for fewer rounds or replicates")
    return task.simulate()


def _cloud(values: Any, replicates: int) -> Table:
    return {"quantiles": list(QUANTILES), "values": values, "replicates": replicates}


# Hypotheses -------------------------------------------------------------------------------------


def _finite_run(problem: FiniteProblem, how: Run, delta: float) -> Table:
    agents, hypotheses = problem.network.agents, len(problem.model.hypotheses)
    recorded = shown_rounds(how.rounds, agents * hypotheses)
    kept = max(1, _MOST_KEPT // (len(recorded) * agents * hypotheses))
    how = replace(how, record=recorded, paths=min(kept, how.replicates))
    found: Simulation = _simulated(kind_of(problem).simulation(problem, how))
    rate = learning_rate(problem.network, problem.model)
    spans = [proportion(int(count), found.replicates) for count in found.errors]
    bound, why = _bound(problem, found.rounds, delta)
    return {
        "rounds": found.rounds.tolist(),
        "hypotheses": list(found.hypotheses),
        "reference": [found.hypotheses[m] for m in found.reference],
        "beliefs": _shown(found, agents),
        "cloud": _cloud(_worst_beliefs(found), len(found.paths)),
        "error_share": (found.errors / found.replicates).tolist(),
        "error_interval": [[span.lower, span.upper] for span in spans],
        "bound": bound,
        **_rates(problem, found, rate),
        "replicates": found.replicates,
        "seed": found.seed,
        "words": [*_words(problem, found, rate), *([why] if why else [])],
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


def _worst_beliefs(found: Simulation) -> list[list[float]]:
    """Quantiles over replicates of the worst agent's belief in what is best, round by round."""
    right = list(found.reference)
    values = []
    for index in range(len(found.rounds)):
        beliefs = np.exp(normalise(-found.paths[:, index]))
        worst = beliefs[..., right].sum(axis=-1).min(axis=-1)
        values.append(np.quantile(worst, QUANTILES).round(_DIGITS).tolist())
    return values


def _bound(
    problem: FiniteProblem, rounds: IntArray, delta: float
) -> tuple[list[float] | None, str]:
    """A proved bound on the probability that some agent errs, by round; or why there is none."""
    if isinstance(problem, FaultyProblem):
        return None, "no bound on the errors is proved where agents are faulty"
    network, model = problem.network, problem.model
    if isinstance(network, RandomNetwork):
        return None, "no bound on the errors is proved for a network that changes at random"
    sizes: SampleSizes | None = sample_sizes(network, model, delta=delta, certify=False)
    if not isinstance(problem, ChangingProblem) and problem.messages is not None:
        sizes = compressed_learning(
            problem.network, model, problem.messages, delta=delta, uncompressed=sizes
        ).compressed
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
    slowest = min(wrong, key=lambda m: measured[m], default=None)
    binding = rate.binding if rate.binding in wrong else slowest
    table: Table = {
        names[m]: {
            "predicted": number(predicted[m]),
            "expected": None if expected is None else number(expected[m]),
            "measured": number(measured[m]),
            "standard_error": number(errors[m]),
        }
        for m in wrong
    }
    name = None if binding is None else names[binding]
    best = table.get(name or "", {})
    return {
        "binding_hypothesis": name,
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
    n = int(found.rounds[-1])
    try:
        means = expected_log_ratio(problem.network, problem.model, [n], best=found.best)
    except ValueError:
        return rate.rates, None
    return rate.rates, np.asarray(means.values[0].mean(axis=0) / n)


def _words(problem: FiniteProblem, found: Simulation, rate: LearningRate) -> list[str]:
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
    if found.replicates == 1:
        words.append("one run cannot show a spread: the standard error is null")
    return words


# Regressions ------------------------------------------------------------------------------------


def _regression_run(problem: RegressionProblem, how: Run) -> Table:
    """Excess errors of one run, of many, and what is expected of them."""
    network, regression = problem.network, problem.regression
    how = replace(how, record=recorded_rounds(how.rounds, most=_MOST_OF_REGRESSION))
    found: RegressionSimulation = _simulated(prepare_regression(network, regression, run=how))
    singles = []
    for index in range(min(_CLOUD, how.replicates)):
        # The seeds of those behind the first are far from the one that was asked for.
        seed = how.seed + 1_000_003 * index
        one = replace(how, replicates=1, seed=seed, progress=None)
        singles.append(prepare_regression(network, regression, run=one).simulate().excess_error)
    worst = np.array([errors.max(axis=1) for errors in singles])
    order = 1 if regression.has_targets else 2
    curve = predicted_error(network, regression, found.rounds, order=order)
    limits = regression_limits(network, regression)
    n = float(found.rounds[-1])
    quantiles = [numbers(row) for row in np.quantile(worst, QUANTILES, axis=0).T]
    return {
        "rounds": found.rounds.tolist(),
        **dict.fromkeys(("beliefs", "error_share", "error_interval", "bound")),
        "errors": [numbers(row) for row in singles[0]],
        "mean_errors": [numbers(row) for row in found.excess_error],
        "network_error": numbers(found.network_error),
        "network_standard_error": numbers(found.network_standard_error),
        "reported_error": numbers(found.reported_error.mean(axis=1)),
        "predicted_error": numbers(curve.excess_error.mean(axis=1)),
        "limit": number(limits.limit),
        "constant": number(limits.excess_error_constant),
        "cloud": _cloud(quantiles, len(singles)),
        "predicted_rate": number(n * float(curve.excess_error[-1].mean())),
        "measured_rate": number(n * float(found.network_error[-1])),
        "measured_standard_error": number(n * float(found.network_standard_error[-1])),
        "replicates": found.replicates,
        "seed": found.seed,
        "words": [
            "errors are excess errors: mean squared error on the test's inputs, less the noise",
            "in place of rates: n times the mean excess error at the last round",
            f"the cloud is of the worst agent in {len(singles)} runs of their own seeds",
        ],
    }

"""Theory beside simulation, for a network that changes.

Two runs as for a fixed network: one for the rates, whose exact means at every round are known, and
one for failures, counted at the sample sizes that theory names (which exist where the network's
changes are not random). Verdicts rest on the measured standard errors: where the network is random
there is no formula for the variance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from exact import Simulation
from exact.changing import simulate_changing
from peerbayes.comparison import (
    Comparison,
    allowed_deviation,
    equal_in_mean,
    frequency_at_most,
    means_agree,
    within_transient,
)
from peerbayes.kinds.changing.analyse import ChangingAnalysis, analyse_changing
from peerbayes.learning_documents import FailuresDocument
from peerbayes.problem.changing import ChangingProblem
from theory import SampleSize, observation_reach
from theory.changing import (
    ChangingNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    changing_log_ratio,
)
from theory.changing.phase import weighted_sum
from theory.progress import Progress, part_of
from theory.validation import FloatArray

_FEWEST_ROUNDS, _MOST_ROUNDS = 80, 400
_REPLICATES = 2000
_LEAST_REPLICATES = 200
# Observations drawn at most in each run: a few seconds on one core.
_MOST_DRAWS = 2.5e7
_RECORDS = 25
_PATHS = 12
# Rounds over which the exact mean is followed to see its slope. What is left of the start there
# is far below one in a thousand unless the network mixes in thousands of rounds.
_FAR = 4000
_SLOPE_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class ChangingVerification:
    """Everything `verify` knows of one problem on a network that changes."""

    problem: ChangingProblem
    analysis: ChangingAnalysis
    rates: Simulation
    failures: Simulation | None
    expected: FloatArray  # (T, N, M): the exact mean of rates.mean
    comparisons: tuple[Comparison, ...]

    @property
    def wrong(self) -> list[int]:
        """The hypotheses outside the reference set, slowest first."""
        limits = self.analysis.rate.rates
        outside = [m for m in range(len(limits)) if m not in self.analysis.rate.reference]
        return sorted(outside, key=lambda m: float(limits[m]))

    def as_record(self) -> dict[str, Any]:
        """What the report needs, in plain numbers."""
        problem, network = self.problem, self.problem.network
        names = problem.model.hypotheses
        n = float(self.rates.rounds[-1])
        shown = self.wrong[0] if self.wrong else None
        expected = self.expected.mean(axis=1)
        failures = self.failures
        share = self.rates.settled[-1] / (self.rates.replicates * network.agents)
        return {
            "form": "changing",
            "name": problem.name,
            "title": problem.title,
            "family": problem.family,
            "parameters": {
                key: float(value) if isinstance(value, int | float) else str(value)
                for key, value in problem.parameters.items()
            },
            "analysis": self.analysis.as_json(),
            "graph": _graph(network, self.analysis.influence.values),
            "trajectory": None
            if shown is None
            else {
                "hypothesis": names[shown],
                "reference": names[self.rates.best],
                "rounds": self.rates.rounds.tolist(),
                "rate": float(self.analysis.rate.rates[shown]),
                "expected": expected[:, shown].tolist(),
                "mean": self.rates.network_mean[:, shown].tolist(),
                "standard_error": self.rates.network_standard_error[:, shown].tolist(),
                "paths": [
                    [float(f"{x:.5g}") for x in path[:, agent, shown]]
                    for path in self.rates.paths
                    for agent in sorted({0, network.agents // 2, network.agents - 1})
                ],
            },
            "rates": [
                {
                    "hypothesis": names[m],
                    "limit": float(self.analysis.rate.rates[m]),
                    "predicted": float(expected[-1, m]) / n,
                    "measured": float(self.rates.network_mean[-1, m]) / n,
                    "standard_error": float(self.rates.network_standard_error[-1, m]) / n,
                }
                for m in self.wrong
            ],
            "replicates": self.rates.replicates,
            "settled": {name: float(s) for name, s in zip(names, share, strict=True)},
            "failures": None
            if failures is None
            else {
                "rounds": failures.rounds.tolist(),
                "frequency": (failures.errors / failures.replicates).tolist(),
                "replicates": failures.replicates,
                "measured_rounds": FailuresDocument.of(
                    failures, delta=self.analysis.samples.delta
                ).measured_rounds,
            },
            "comparisons": [comparison.as_json() for comparison in self.comparisons],
        }


def verify_changing(
    problem: ChangingProblem, *, seed: int, delta: float = 0.05, progress: Progress | None = None
) -> ChangingVerification:
    """Run the exact algorithm on a network that changes, and lay it beside the predictions.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    analysis = analyse_changing(problem, delta=delta)
    rates = _run_for_rates(analysis, seed=seed, progress=part_of(progress, 0, 2))
    failures = _run_for_failures(analysis, seed=seed + 1, progress=part_of(progress, 1, 2))
    means = changing_log_ratio(problem.network, problem.model, rates.rounds, best=rates.best)
    result = ChangingVerification(problem, analysis, rates, failures, means.values, ())
    comparisons = (
        *_rate_statements(result),
        _every_agent(result),
        *_limit_statements(result),
        *_failure_statements(result),
    )
    return replace(result, comparisons=comparisons)


def _period(network: ChangingNetwork) -> int:
    return network.period if isinstance(network, PeriodicNetwork | MarkovNetwork) else 1


def _run_for_rates(
    analysis: ChangingAnalysis, *, seed: int, progress: Progress | None
) -> Simulation:
    problem = analysis.problem
    agents, period = problem.network.agents, _period(problem.network)
    enough = analysis.samples.chernoff.rounds or _MOST_ROUNDS
    rounds = int(np.clip(enough, _FEWEST_ROUNDS, _MOST_ROUNDS))
    # Whole periods, so that the mean at the end is compared like with like.
    rounds = -(-rounds // period) * period
    affordable = int(_MOST_DRAWS / (rounds * agents))
    return simulate_changing(
        problem.network,
        problem.model,
        rounds=rounds,
        replicates=int(np.clip(affordable, _LEAST_REPLICATES, _REPLICATES)),
        seed=seed,
        record=sorted({int(n) for n in np.linspace(1, rounds, _RECORDS)}),
        paths=_PATHS,
        progress=progress,
    )


def _sizes(analysis: ChangingAnalysis) -> list[tuple[str, SampleSize]]:
    samples = analysis.samples
    return [("repaired", samples.repaired), ("chernoff", samples.chernoff)]


def _run_for_failures(
    analysis: ChangingAnalysis, *, seed: int, progress: Progress | None
) -> Simulation | None:
    problem = analysis.problem
    agents = problem.network.agents
    most = max(100, int(_MOST_DRAWS / (agents * _LEAST_REPLICATES)))
    named = [size.rounds for _, size in _sizes(analysis) if size.rounds is not None]
    reachable = [n for n in named if n <= most]
    if not reachable:
        return None
    last = max(reachable)
    replicates = int(np.clip(_MOST_DRAWS / (agents * last), _LEAST_REPLICATES, _REPLICATES))
    grid = {round(n) for n in np.geomspace(1, min(last, 2 * min(reachable)), 40)}
    return simulate_changing(
        problem.network,
        problem.model,
        rounds=last,
        replicates=replicates,
        seed=seed,
        record=sorted(grid | set(reachable)),
        progress=progress,
    )


def _allowed(result: ChangingVerification, error: FloatArray, *, scores: int = 1) -> FloatArray:
    """How far chance may take means with the measured standard errors `error`, (..., M)."""
    replicates = result.rates.replicates
    variance = replicates * np.nan_to_num(error) ** 2
    reach = observation_reach(result.problem.model, best=result.rates.best)
    return allowed_deviation(variance, reach, replicates, scores=scores)


def _rate_statements(result: ChangingVerification) -> list[Comparison]:
    names, n = result.problem.model.hypotheses, int(result.rates.rounds[-1])
    expected = result.expected[-1].mean(axis=0)
    allowed = _allowed(result, result.rates.network_standard_error[-1])
    return [
        equal_in_mean(
            result.problem.name,
            f"rate of rejecting {names[m]!r} after {n} rounds",
            predicted=float(expected[m]) / n,
            measured=float(result.rates.network_mean[-1, m]) / n,
            standard_error=float(result.rates.network_standard_error[-1, m]) / n,
            allowed=float(allowed[m]) / n,
            note=f"exact mean at this round; the limit is {result.analysis.rate.rates[m]:.6g}",
        )
        for m in result.wrong
    ]


def _every_agent(result: ChangingVerification) -> Comparison:
    """All recorded rounds, agents and hypotheses at once, in shares of what chance allows."""
    chance = _allowed(result, result.rates.standard_error, scores=result.expected.size)
    return means_agree(
        result.problem.name, measured=result.rates.mean, expected=result.expected, chance=chance
    )


def _limit_statements(result: ChangingVerification) -> list[Comparison]:
    """The slope of the exact mean far out is the rate that influence predicts."""
    if not result.wrong:
        return []
    problem, binding = result.problem, result.wrong[0]
    period = _period(problem.network)
    first = -(-_FAR // (2 * period)) * period
    means = changing_log_ratio(
        problem.network, problem.model, [first, 2 * first], best=result.rates.best
    ).values[..., binding]
    slopes = (means[1] - means[0]) / first
    rate = float(result.analysis.rate.rates[binding])
    furthest = float(slopes[np.argmax(np.abs(slopes - rate))])
    name = problem.model.hypotheses[binding]
    return [
        within_transient(
            problem.name,
            f"learning rate, bound by {name!r}: every agent's exact mean rises by as much "
            f"between rounds {first} and {2 * first}",
            predicted=rate,
            measured=furthest,
            standard_error=None,
            allowed=0.0,
            transient=_SLOPE_TOLERANCE * abs(rate),
            note="computed, not measured: influence against the exact means, which the run "
            "confirms",
        )
    ]


def _failure_statements(result: ChangingVerification) -> list[Comparison]:
    failures, delta = result.failures, result.analysis.samples.delta
    if failures is None:
        return []
    statements = []
    for name, size in _sizes(result.analysis):
        where = np.flatnonzero(failures.rounds == size.rounds)
        if size.rounds is not None and where.size:
            statements.append(
                frequency_at_most(
                    result.problem.name,
                    f"failures at the {name} sample size, {size.rounds} rounds, at most {delta:g}",
                    limit=delta,
                    failures=int(failures.errors[where[0]]),
                    trials=failures.replicates,
                    is_theorem=size.is_theorem,
                    note=size.note,
                )
            )
    return statements


def _graph(network: ChangingNetwork, shares: FloatArray) -> dict[str, Any]:
    """Who ever hears whom, with the mean weight, for the report's drawing."""
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        mean = weighted_sum(network.phases, np.full(len(network.phases), 1 / len(network.phases)))
    else:
        mean = sparse.csr_array(network.network.weights)
    links = sparse.coo_array(mean)
    row, column = links.coords
    off = row != column
    total = float(shares.sum())
    return {
        "edges": np.column_stack([row[off], column[off]]).tolist(),
        "weights": links.data[off].tolist(),
        "positions": None if network.layout is None else network.layout.tolist(),
        "stationary_distribution": (shares / total).tolist(),
        "quantity": "each agent's share of all influence",
    }

"""Theory beside simulation, for one problem.

Two runs: one long in replicates, for the rates (standard errors of 1 % of the slowest), and one
long in rounds, in which failures are counted at every sample size that theory names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exact import Simulation, simulate
from exact.law import error_law
from peerbayes.comparison import (
    Comparison,
    allowed_deviation,
    equal_in_mean,
    frequency_at_least,
    frequency_at_most,
    frequency_is,
    means_agree,
    within_transient,
)
from peerbayes.kinds.finite.analyse import Analysis, analyse
from peerbayes.problem.finite import Problem
from theory import FiniteAgent, LogRatioSpread, SampleSize, expected_log_ratio, log_ratio_spread
from theory.progress import Progress, part_of
from theory.validation import FloatArray

# Standard error of the slowest rate, as a share of it: below the 2 % that is promised.
_RELATIVE_ERROR = 0.015
_FEWEST_REPLICATES = 400
_FAILURE_REPLICATES = 1000
# Large networks have fewer, but enough for a standard error.
_LEAST_REPLICATES = 20
# Observations drawn at most: two to four seconds on one core.
_MOST_RATE_DRAWS = 1.2e8
_MOST_FAILURE_DRAWS = 6e7
_PATHS = 12
# Histories of a small problem that are gone through one by one: a second or so.
_MOST_HISTORIES = 1e5
_MOST_LAW_ROUNDS = 12
# Numbers kept per record of all agents and hypotheses: a quarter of a gigabyte.
_MOST_KEPT = 3e7


@dataclass(frozen=True, eq=False)
class ProblemVerification:
    """Everything `verify` knows of one problem: prediction, measurement and verdicts."""

    problem: Problem
    analysis: Analysis
    rates: Simulation
    failures: Simulation
    expected: FloatArray  # (T, M): the exact mean of rates.network_mean
    spread: LogRatioSpread
    comparisons: tuple[Comparison, ...]

    @property
    def wrong(self) -> list[int]:
        """The hypotheses outside the reference set, slowest first."""
        limits = self.analysis.rate.rates
        outside = [m for m in range(len(limits)) if m not in self.analysis.rate.reference]
        return sorted(outside, key=lambda m: float(limits[m]))

    def measured_rate(self, hypothesis: int) -> tuple[float, float]:
        """Mean and standard error of the network's average of Λ/n at the last round."""
        n = float(self.rates.rounds[-1])
        mean = float(self.rates.network_mean[-1, hypothesis]) / n
        return mean, float(self.rates.network_standard_error[-1, hypothesis]) / n

    def expected_rate(self, hypothesis: int) -> float:
        """The exact mean of the measured rate: the prediction at the last round."""
        return float(self.expected[-1, hypothesis]) / float(self.rates.rounds[-1])

    def allowed_rate(self, hypothesis: int) -> float:
        """How far chance may take the measured rate from its expectation."""
        deviation = allowed_deviation(
            self.spread.average[-1, hypothesis],
            self.spread.reach[hypothesis],
            self.rates.replicates,
        )
        return float(deviation) / float(self.rates.rounds[-1])

    @property
    def measured_rounds(self) -> int | None:
        """The first recorded round from which on at most a share δ of the replicates failed."""
        return settled_round(self.failures, self.analysis.samples.delta)

    def as_record(self) -> dict[str, Any]:
        """What the report needs, in plain numbers."""
        problem, network = self.problem, self.problem.network
        names = problem.model.hypotheses
        rates = []
        for m in self.wrong:
            mean, error = self.measured_rate(m)
            rates.append(
                {
                    "hypothesis": names[m],
                    "limit": float(self.analysis.rate.rates[m]),
                    "predicted": self.expected_rate(m),
                    "measured": mean,
                    "standard_error": error,
                }
            )
        analysis = self.analysis.as_json()
        analysis["notes"] += _not_simulated(self)
        edges = network.edges
        weights = np.asarray(network.weights[edges[:, 0], edges[:, 1]]).ravel()
        shown = self.wrong[0] if self.wrong else None
        return {
            "name": problem.name,
            "title": problem.title,
            "family": problem.family,
            "parameters": {key: _plain(value) for key, value in problem.parameters.items()},
            "analysis": analysis,
            "graph": {
                "edges": edges.tolist(),
                "weights": weights.tolist(),
                "positions": None if network.layout is None else network.layout.tolist(),
                "stationary_distribution": network.stationary_distribution.tolist(),
            },
            "trajectory": None
            if shown is None
            else {
                "hypothesis": names[shown],
                "reference": names[self.rates.reference[0]],
                "rounds": self.rates.rounds.tolist(),
                "rate": float(self.analysis.rate.rates[shown]),
                "expected": self.expected[:, shown].tolist(),
                "mean": self.rates.network_mean[:, shown].tolist(),
                "standard_error": self.rates.network_standard_error[:, shown].tolist(),
                "paths": [
                    [float(f"{x:.5g}") for x in path[:, agent, shown]]
                    for path in self.rates.paths
                    for agent in _spread(network.agents, 3)
                ],
            },
            "rates": rates,
            "replicates": self.rates.replicates,
            "settled": {
                name: float(share)
                for name, share in zip(
                    names,
                    self.rates.settled[-1] / (self.rates.replicates * network.agents),
                    strict=True,
                )
            },
            "failures": {
                "rounds": self.failures.rounds.tolist(),
                "frequency": (self.failures.errors / self.failures.replicates).tolist(),
                "bound": [self.analysis.samples.probability(int(n)) for n in self.failures.rounds],
                "replicates": self.failures.replicates,
                "measured_rounds": self.measured_rounds,
            },
            "comparisons": [comparison.as_json() for comparison in self.comparisons],
        }


def settled_round(run: Simulation, delta: float) -> int | None:
    """The first recorded round from which on at most a share `delta` of the replicates failed."""
    too_many = np.flatnonzero(run.errors / run.replicates > delta)
    first = int(too_many[-1]) + 1 if too_many.size else 0
    return int(run.rounds[first]) if first < len(run.errors) else None


def _plain(value: object) -> Any:
    return float(value) if isinstance(value, int | float) else str(value)


def _spread(count: int, most: int) -> list[int]:
    return sorted({int(i) for i in np.linspace(0, count - 1, min(count, most))})


def verify_problem(
    problem: Problem, *, seed: int, delta: float = 0.05, progress: Progress | None = None
) -> ProblemVerification:
    """Run the exact algorithm and lay it beside the predictions.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    analysis = analyse(problem, delta=delta)
    rates = _run_for_rates(analysis, seed=seed, progress=part_of(progress, 0, 2))
    failures = _run_for_failures(analysis, seed=seed + 1, progress=part_of(progress, 1, 2))
    means = expected_log_ratio(
        problem.network, problem.model, rates.rounds, best=rates.reference[0]
    )
    spread = log_ratio_spread(problem.network, problem.model, rates.rounds, best=rates.reference[0])
    expected = means.values.mean(axis=1)
    result = ProblemVerification(problem, analysis, rates, failures, expected, spread, ())
    comparisons = (
        *_rate_statements(result),
        _every_agent(result, means.values),
        *_limit_statements(result),
        *_failure_statements(result),
        *_law_statements(result),
    )
    return replace(result, comparisons=comparisons)


def _needed(analysis: Analysis) -> float:
    """The largest (variance per round)/(rate²): rounds times replicates for an error of 100 %."""
    network, model = analysis.problem.network, analysis.problem.model
    v = network.stationary_distribution
    reference = analysis.rate.reference
    needed = 0.0
    for theta in range(len(model.hypotheses)):
        rate = float(analysis.rate.rates[theta])
        if theta in reference or rate <= 0:
            continue
        variances = np.array([law.variance for law in model.log_ratio_laws(reference[0], theta)])
        needed = max(needed, float((v * v) @ variances[model.assignment]) / rate / rate)
    return min(needed, 1e15)


def _run_for_rates(analysis: Analysis, *, seed: int, progress: Progress | None) -> Simulation:
    network, model = analysis.problem.network, analysis.problem.model
    enough = analysis.samples.chernoff.rounds or 200
    rounds = int(np.clip(enough, 60, 400))
    needed = _needed(analysis)
    replicates = max(_FEWEST_REPLICATES, int(np.ceil(needed / _RELATIVE_ERROR**2 / rounds)))
    affordable = max(_LEAST_REPLICATES, int(_MOST_RATE_DRAWS / (rounds * network.agents)))
    records = _records(analysis, 25)
    numbers = network.agents * len(model.hypotheses) * records
    paths = int(np.clip(_MOST_KEPT / numbers, 1, _PATHS))
    return simulate(
        network,
        model,
        rounds=rounds,
        replicates=min(replicates, affordable),
        seed=seed,
        record=sorted({int(n) for n in np.linspace(1, rounds, records)}),
        paths=paths,
        progress=progress,
    )


def _run_for_failures(analysis: Analysis, *, seed: int, progress: Progress | None) -> Simulation:
    network, model = analysis.problem.network, analysis.problem.model
    affordable = int(_MOST_FAILURE_DRAWS / (network.agents * 100))
    replicates = int(np.clip(affordable, _LEAST_REPLICATES, _FAILURE_REPLICATES))
    most = max(100, int(_MOST_FAILURE_DRAWS / (network.agents * replicates)))
    named = [size.rounds for _, size in _sizes(analysis) if size.rounds is not None]
    reachable = [n for n in named if n <= most]
    # If no size is within reach, as long a run as there is time for: it may still show when
    # failures become rare.
    rounds = max(reachable, default=most if named else min(most, 200))
    # Fine up to twice the smallest sufficient size, where the failures are; coarse beyond.
    dense = min(rounds, 2 * min(reachable, default=rounds))
    last = _last_proved_wrong(analysis)
    record = (
        {round(n) for n in np.geomspace(1, dense, _records(analysis, 40))}
        | set(reachable)
        | ({last} if last is not None and last <= rounds else set())
        | {rounds, min(rounds, max(1, _enumerable_rounds(analysis.problem)))}
    )
    return simulate(
        network,
        model,
        rounds=rounds,
        replicates=replicates,
        seed=seed,
        record=sorted(record),
        progress=progress,
    )


def _records(analysis: Analysis, most: int) -> int:
    """How many rounds to record: `most`, or fewer where each takes much memory."""
    problem = analysis.problem
    numbers = problem.network.agents * len(problem.model.hypotheses)
    return int(np.clip(_MOST_KEPT / numbers, 3, most))


def _sizes(analysis: Analysis) -> list[tuple[str, SampleSize]]:
    samples = analysis.samples
    return [
        ("printed", samples.printed),
        ("repaired", samples.repaired),
        ("chernoff", samples.chernoff),
        ("certified", SampleSize(samples.certified.upper, True, samples.certified.note)),
    ]


def _last_proved_wrong(analysis: Analysis) -> int | None:
    """The last round at which the probability of error is proved to exceed δ."""
    lower = analysis.samples.certified.lower
    return None if lower is None or lower < 2 else lower - 1


def _rate_statements(result: ProblemVerification) -> list[Comparison]:
    names = result.problem.model.hypotheses
    n = int(result.rates.rounds[-1])
    statements = []
    for m in result.wrong:
        measured, error = result.measured_rate(m)
        statements.append(
            equal_in_mean(
                result.problem.name,
                f"rate of rejecting {names[m]!r} after {n} rounds",
                predicted=result.expected_rate(m),
                measured=measured,
                standard_error=error,
                allowed=result.allowed_rate(m),
                note=f"exact mean at this round; the limit is {result.analysis.rate.rates[m]:.6g}",
            )
        )
    return statements


def _every_agent(result: ProblemVerification, expected: FloatArray) -> Comparison:
    """All recorded rounds, agents and hypotheses at once, in shares of what chance allows."""
    chance = allowed_deviation(
        result.spread.agents,
        result.spread.reach,
        result.rates.replicates,
        scores=expected.size,
    )
    return means_agree(
        result.problem.name, measured=result.rates.mean, expected=expected, chance=chance
    )


def _limit_statements(result: ProblemVerification) -> list[Comparison]:
    if not result.wrong:
        return []
    problem, analysis = result.problem, result.analysis
    names = problem.model.hypotheses
    binding = result.wrong[0]
    n = int(result.rates.rounds[-1])
    best = analysis.rate.reference[0]
    information = problem.model.information(best)[:, binding]
    prior = problem.model.log_priors[:, best] - problem.model.log_priors[:, binding]
    deviation = float(problem.network.deviation.upper.max())
    # |E Λ_i/n − Σ v_j I_j| ≤ (D_i (max I − min I)/2 + max |prior log-odds|)/n.
    transient = (deviation * float(np.ptp(information)) / 2 + float(np.abs(prior).max())) / n
    measured, error = result.measured_rate(binding)
    limit = within_transient(
        problem.name,
        f"learning rate K, bound by {names[binding]!r}",
        predicted=analysis.rate.rate,
        measured=measured,
        standard_error=error,
        allowed=result.allowed_rate(binding),
        transient=transient,
    )
    # Nothing is claimed where the transient is not known.
    settles = _settles(result)
    return [*([limit] if np.isfinite(transient) else []), *([settles] if settles else [])]


def _settles(result: ProblemVerification) -> Comparison | None:
    names = result.problem.model.hypotheses
    chosen = " or ".join(repr(names[m]) for m in result.analysis.rate.reference)
    n = int(result.rates.rounds[-1])
    bound = result.analysis.samples.probability(n)
    if bound >= 1:
        return None  # nothing is claimed
    return frequency_at_most(
        result.problem.name,
        f"after {n} rounds some agent has not settled on {chosen}",
        limit=bound,
        failures=int(result.rates.errors[-1]),
        trials=result.rates.replicates,
        note="the smallest rigorous bound at this round",
    )


def _failure_statements(result: ProblemVerification) -> list[Comparison]:
    """Sizes that were simulated; and, without a verdict, a printed one where a bound is proved."""
    analysis, failures = result.analysis, result.failures
    delta = analysis.samples.delta
    statements = []
    for name, size in _sizes(analysis):
        if size.rounds is None:
            continue
        statement = f"failures at the {name} sample size, {size.rounds} rounds, at most {delta:g}"
        where = np.flatnonzero(failures.rounds == size.rounds)
        if where.size:
            statements.append(
                frequency_at_most(
                    result.problem.name,
                    statement,
                    limit=delta,
                    failures=int(failures.errors[where[0]]),
                    trials=failures.replicates,
                    is_theorem=size.is_theorem,
                    note=size.note,
                )
            )
        elif not size.is_theorem and analysis.samples.probability(size.rounds) <= delta:
            bound = analysis.samples.probability(size.rounds)
            words = f"{bound:.1e}" if bound > 0 else "below 1e-300"
            note = f"{size.note}; not run: a proved bound there is {words}"
            statements.append(
                Comparison(
                    problem=result.problem.name,
                    statement=statement,
                    predicted=delta,
                    measured=None,
                    standard_error=None,
                    kind="bound",
                    holds=None,
                    is_theorem=False,
                    note=note,
                )
            )
    last = _last_proved_wrong(analysis)
    where = np.flatnonzero(failures.rounds == last)
    if last is not None and where.size:
        statements.append(
            frequency_at_least(
                result.problem.name,
                f"failures before the certified lower end, {last} rounds, above {delta:g}",
                limit=delta,
                failures=int(failures.errors[where[0]]),
                trials=failures.replicates,
                note=analysis.samples.certified.note,
            )
        )
    return statements


def _enumerable_rounds(problem: Problem) -> int:
    """The number of rounds whose histories are few enough to go through; 0 if none is."""
    finite = [kind for kind in problem.model.kinds if isinstance(kind, FiniteAgent)]
    if len(finite) < len(problem.model.kinds):
        return 0
    sizes = np.array([kind.probabilities.size for kind in finite], dtype=np.float64)
    histories = float(np.log(sizes[problem.model.assignment]).sum())
    return min(_MOST_LAW_ROUNDS, int(np.log(_MOST_HISTORIES) / max(histories, 1e-9)))


def _law_statements(result: ProblemVerification) -> list[Comparison]:
    """The exact probability of an error in the first rounds of a small problem."""
    problem, failures = result.problem, result.failures
    rounds = _enumerable_rounds(problem)
    where = np.flatnonzero(failures.rounds == rounds)
    if not where.size or not result.wrong:
        return []
    law = error_law(problem.network, problem.model, rounds)
    low, high = float(law.some_lower[-1]), float(law.some_upper[-1])
    return [
        frequency_is(
            problem.name,
            f"some agent is wrong after {rounds} rounds, by enumeration",
            probability=(low + high) / 2,
            failures=int(failures.errors[where[0]]),
            trials=failures.replicates,
            slack=(high - low) / 2,
            note="every history gone through; ties count as errors",
        )
    ]


def _not_simulated(result: ProblemVerification) -> list[str]:
    """Sample sizes that no run reached, in words."""
    reached = set(result.failures.rounds.tolist())
    return [
        f"{name}: {size.rounds} rounds were too many to simulate"
        for name, size in _sizes(result.analysis)
        if size.rounds is not None and size.rounds not in reached
    ]

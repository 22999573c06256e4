"""The two runs of a problem that `verify` lays beside theory, and the exact means of the first.

One is long in replicates, for the rates (standard errors of 1 % of the slowest), and one long in
rounds, in which failures are counted at every sample size that theory names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exact import Run, Simulation, simulate
from peerbayes.comparison import allowed_deviation
from peerbayes.kinds.finite.analysis import Analysis
from peerbayes.kinds.shared.learning_statements import wrong_hypotheses
from peerbayes.problem.problems import Problem
from theory import (
    ExpectedLogRatio,
    FiniteAgent,
    LogRatioSpread,
    SampleSize,
    expected_log_ratio,
    log_ratio_spread,
)
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
class Measurement:
    """What was predicted and measured of one problem.

    Attributes
    ----------
    analysis
        The predictions.
    rates, failures
        The run for the rates, and the one for the failures.
    means, spread
        The exact means of the log belief ratios of `rates`, and their variances.
    """

    analysis: Analysis
    rates: Simulation
    failures: Simulation
    means: ExpectedLogRatio
    spread: LogRatioSpread

    @property
    def problem(self) -> Problem:
        """What was run."""
        return self.analysis.problem

    @property
    def wrong(self) -> list[int]:
        """The hypotheses outside the reference set, slowest first."""
        return wrong_hypotheses(self.analysis.rate)

    @cached_property
    def expected(self) -> FloatArray:
        """The exact mean of rates.network_mean, shape (T, M)."""
        return np.asarray(self.means.values.mean(axis=1))

    def measured_rate(self, hypothesis: int) -> tuple[float, float]:
        """Mean and standard error of the network's average of Λ/n at the last round."""
        n = float(self.rates.rounds[-1])
        mean = float(self.rates.network_mean[-1, hypothesis]) / n
        return mean, float(self.rates.network_standard_error[-1, hypothesis]) / n

    def allowed_rate(self, hypothesis: int) -> float:
        """How far chance may take the measured rate from its expectation."""
        deviation = allowed_deviation(
            self.spread.average[-1, hypothesis],
            self.spread.reach[hypothesis],
            self.rates.replicates,
        )
        return float(deviation) / float(self.rates.rounds[-1])


def measure(analysis: Analysis, *, seed: int, progress: Progress | None) -> Measurement:
    """Run a problem for its rates and for its failures."""
    rates = _run_for_rates(analysis, seed=seed, progress=part_of(progress, 0, 2))
    failures = _run_for_failures(analysis, seed=seed + 1, progress=part_of(progress, 1, 2))
    network, model, best = analysis.network, analysis.problem.model, rates.reference[0]
    means = expected_log_ratio(network, model, rates.rounds, best=best)
    spread = log_ratio_spread(network, model, rates.rounds, best=best)
    return Measurement(analysis, rates, failures, means, spread)


def named_sizes(analysis: Analysis) -> list[tuple[str, SampleSize]]:
    """Every sample size that theory names for the run, by its name."""
    samples = analysis.ladder
    if samples is None:
        return []
    if analysis.messages is not None:
        rounds = analysis.messages.certified_rounds[1]
        return [("certified", SampleSize(rounds, True, "of beliefs as they are compressed"))]
    return [
        ("printed", samples.printed),
        ("repaired", samples.repaired),
        ("chernoff", samples.chernoff),
        ("certified", SampleSize(samples.certified.upper, True, samples.certified.note)),
    ]


def last_proved_wrong(analysis: Analysis) -> int | None:
    """The last round at which the probability of error is proved to exceed δ."""
    messages = analysis.messages
    lower = analysis.samples.certified.lower if messages is None else messages.certified_rounds[0]
    return None if lower is None or lower < 2 else lower - 1


def enumerable_rounds(problem: Problem) -> int:
    """The number of rounds whose histories are few enough to go through; 0 if none is."""
    finite = [kind for kind in problem.model.kinds if isinstance(kind, FiniteAgent)]
    if len(finite) < len(problem.model.kinds):
        return 0
    sizes = np.array([kind.probabilities.size for kind in finite], dtype=np.float64)
    histories = float(np.log(sizes[problem.model.assignment]).sum())
    return min(_MOST_LAW_ROUNDS, int(np.log(_MOST_HISTORIES) / max(histories, 1e-9)))


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
    enough = (analysis.ladder or analysis.samples).chernoff.rounds or 200
    rounds = int(np.clip(enough, 60, 400))
    needed = _needed(analysis)
    replicates = max(_FEWEST_REPLICATES, int(np.ceil(needed / _RELATIVE_ERROR**2 / rounds)))
    affordable = max(_LEAST_REPLICATES, int(_MOST_RATE_DRAWS / (rounds * network.agents)))
    records = _records(analysis, 25)
    numbers = network.agents * len(model.hypotheses) * records
    paths = int(np.clip(_MOST_KEPT / numbers, 1, _PATHS))
    run = Run(
        rounds=rounds,
        replicates=min(replicates, affordable),
        seed=seed,
        record=sorted({int(n) for n in np.linspace(1, rounds, records)}),
        paths=paths,
        progress=progress,
    )
    return simulate(network, model, messages=analysis.problem.messages, run=run)


def _run_for_failures(analysis: Analysis, *, seed: int, progress: Progress | None) -> Simulation:
    network, model = analysis.problem.network, analysis.problem.model
    affordable = int(_MOST_FAILURE_DRAWS / (network.agents * 100))
    replicates = int(np.clip(affordable, _LEAST_REPLICATES, _FAILURE_REPLICATES))
    most = max(100, int(_MOST_FAILURE_DRAWS / (network.agents * replicates)))
    named = [size.rounds for _, size in named_sizes(analysis) if size.rounds is not None]
    reachable = [n for n in named if n <= most]
    # If no size is within reach, as long a run as there is time for: it may still show when
    # failures become rare.
    rounds = max(reachable, default=most if named else min(most, 200))
    # Fine up to twice the smallest sufficient size, where the failures are; coarse beyond.
    dense = min(rounds, 2 * min(reachable, default=rounds))
    last = last_proved_wrong(analysis)
    record = (
        {round(n) for n in np.geomspace(1, dense, _records(analysis, 40))}
        | set(reachable)
        | ({last} if last is not None and last <= rounds else set())
        | {rounds, min(rounds, max(1, enumerable_rounds(analysis.problem)))}
    )
    run = Run(
        rounds=rounds,
        replicates=replicates,
        seed=seed,
        record=sorted(record),
        progress=progress,
    )
    return simulate(network, model, messages=analysis.problem.messages, run=run)


def _records(analysis: Analysis, most: int) -> int:
    """How many rounds to record: `most`, or fewer where each takes much memory."""
    problem = analysis.problem
    numbers = problem.network.agents * len(problem.model.hypotheses)
    return int(np.clip(_MOST_KEPT / numbers, 3, most))

"""The two runs of a network that changes that `verify` lays beside theory.

One is for the rates, whose exact means at every round are known, and one for failures, counted at
the sample sizes that theory names (which exist where the network's changes are not random).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exact import Run, Simulation, simulate
from peerbayes.comparison import allowed_deviation
from peerbayes.kinds.changing.analyse import ChangingAnalysis
from peerbayes.kinds.shared.learning_statements import wrong_hypotheses
from peerbayes.problem.problems import ChangingProblem
from theory import SampleSize, expected_log_ratio, observation_reach
from theory.changing import ChangingNetwork, MarkovNetwork, PeriodicNetwork
from theory.progress import Progress, part_of
from theory.validation import FloatArray

_FEWEST_ROUNDS, _MOST_ROUNDS = 80, 400
_REPLICATES = 2000
_LEAST_REPLICATES = 200
# Observations drawn at most in each run: a few seconds on one core.
_MOST_DRAWS = 2.5e7
_RECORDS = 25
_PATHS = 12


@dataclass(frozen=True, eq=False)
class Measurement:
    """What was predicted and measured of one problem.

    Attributes
    ----------
    analysis
        The predictions.
    rates, failures
        The run for the rates, and the one for the failures; None where no size is within reach.
    expected
        Shape (T, N, M): the exact mean of rates.mean.
    """

    analysis: ChangingAnalysis
    rates: Simulation
    failures: Simulation | None
    expected: FloatArray

    @property
    def problem(self) -> ChangingProblem:
        """What was run."""
        return self.analysis.problem

    @property
    def wrong(self) -> list[int]:
        """The hypotheses outside the reference set, slowest first."""
        return wrong_hypotheses(self.analysis.rate)

    def allowed(self, error: FloatArray, *, scores: int = 1) -> FloatArray:
        """How far chance may take means with the measured standard errors `error`, (..., M)."""
        replicates = self.rates.replicates
        variance = replicates * np.nan_to_num(error) ** 2
        reach = observation_reach(self.problem.model, best=self.rates.best)
        return allowed_deviation(variance, reach, replicates, scores=scores)


def measure(analysis: ChangingAnalysis, *, seed: int, progress: Progress | None) -> Measurement:
    """Run a problem for its rates and for its failures."""
    rates = _run_for_rates(analysis, seed=seed, progress=part_of(progress, 0, 2))
    failures = _run_for_failures(analysis, seed=seed + 1, progress=part_of(progress, 1, 2))
    network, model = analysis.problem.network, analysis.problem.model
    means = expected_log_ratio(network, model, rates.rounds, best=rates.best)
    return Measurement(analysis, rates, failures, means.values)


def period_of(network: ChangingNetwork) -> int:
    """After how many rounds the law of the changes repeats itself."""
    return network.period if isinstance(network, PeriodicNetwork | MarkovNetwork) else 1


def _run_for_rates(
    analysis: ChangingAnalysis, *, seed: int, progress: Progress | None
) -> Simulation:
    problem = analysis.problem
    agents, period = problem.network.agents, period_of(problem.network)
    enough = analysis.samples.chernoff.rounds or _MOST_ROUNDS
    rounds = int(np.clip(enough, _FEWEST_ROUNDS, _MOST_ROUNDS))
    # Whole periods, so that the mean at the end is compared like with like.
    rounds = -(-rounds // period) * period
    affordable = int(_MOST_DRAWS / (rounds * agents))
    run = Run(
        rounds=rounds,
        replicates=int(np.clip(affordable, _LEAST_REPLICATES, _REPLICATES)),
        seed=seed,
        record=sorted({int(n) for n in np.linspace(1, rounds, _RECORDS)}),
        paths=_PATHS,
        progress=progress,
    )
    return simulate(problem.network, problem.model, run=run)


def named_sizes(analysis: ChangingAnalysis) -> list[tuple[str, SampleSize]]:
    """Every sample size that theory names, by its name."""
    samples = analysis.samples
    return [("repaired", samples.repaired), ("chernoff", samples.chernoff)]


def _run_for_failures(
    analysis: ChangingAnalysis, *, seed: int, progress: Progress | None
) -> Simulation | None:
    problem = analysis.problem
    agents = problem.network.agents
    most = max(100, int(_MOST_DRAWS / (agents * _LEAST_REPLICATES)))
    named = [size.rounds for _, size in named_sizes(analysis) if size.rounds is not None]
    reachable = [n for n in named if n <= most]
    if not reachable:
        return None
    last = max(reachable)
    replicates = int(np.clip(_MOST_DRAWS / (agents * last), _LEAST_REPLICATES, _REPLICATES))
    grid = {round(n) for n in np.geomspace(1, min(last, 2 * min(reachable)), 40)}
    run = Run(
        rounds=last,
        replicates=replicates,
        seed=seed,
        record=sorted(grid | set(reachable)),
        progress=progress,
    )
    return simulate(problem.network, problem.model, run=run)

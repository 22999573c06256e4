"""Theory beside simulation, for a network that changes: its two runs, and every statement.

Verdicts rest on the measured standard errors: where the network is random there is no formula for
the variance. Sample sizes exist where the network's changes are not random.
"""

from __future__ import annotations

import numpy as np

from exact import Run
from peerbayes.comparison import Comparison, Mean, within_transient
from peerbayes.documents import GraphDocument
from peerbayes.kinds.changing.analyse import CHANGING_ANALYSIS, ChangingAnalysis, analyse_changing
from peerbayes.kinds.shared.verify import (
    MEASURED,
    LearningVerification,
    Measurement,
    mean_statements,
    measure,
    size_statement,
    verified,
)
from peerbayes.problem.problems import ChangingProblem, graph_of
from peerbayes.settings.questions import Analyse
from theory import SampleSize, expected_log_ratio
from theory.changing import ChangingNetwork, MarkovNetwork, PeriodicNetwork
from theory.progress import Progress

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


class ChangingVerification(LearningVerification):
    """Everything `verify` knows of one problem on a network that changes."""

    record = verified(
        "ChangingRecord",
        "A verified problem on a network that changes, as its record keeps it.",
        "changing",
        CHANGING_ANALYSIS,
        **MEASURED,
    )

    def followed(self, agents: int) -> list[int]:
        """The agents whose single paths are drawn; of two in the middle the second."""
        return sorted({0, agents // 2, agents - 1})

    @property
    def graph(self) -> GraphDocument:
        """Who ever hears whom, and how much each agent's data count."""
        return graph_of(self.problem.network, self.analysis.influence.values)


def verify_changing(
    problem: ChangingProblem,
    *,
    seed: int = 0,
    delta: float = 0.05,
    progress: Progress | None = None,
) -> ChangingVerification:
    """Run the exact algorithm on a network that changes, and compare it with the predictions.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    analysis = analyse_changing(problem, Analyse(delta=delta))
    measured = measure(analysis, problem.network, _runs(analysis, seed), progress=progress)
    return ChangingVerification(problem, analysis, statements(measured), measured)


# Runs -------------------------------------------------------------------------------------------


def period_of(network: ChangingNetwork) -> int:
    """After how many rounds the law of the changes repeats itself."""
    return network.period if isinstance(network, PeriodicNetwork | MarkovNetwork) else 1


def named_sizes(analysis: ChangingAnalysis) -> list[tuple[str, SampleSize]]:
    """Every sample size that theory names, by its name."""
    samples = analysis.samples
    return [("repaired", samples.repaired), ("chernoff", samples.chernoff)]


def _runs(analysis: ChangingAnalysis, seed: int) -> tuple[Run, Run | None]:
    """The run for the rates, and the one for the failures if some size is within reach."""
    network = analysis.problem.network
    period, enough = period_of(network), analysis.samples.chernoff.rounds or _MOST_ROUNDS
    # Whole periods, so that the mean at the end is compared like with like.
    rounds = -(-int(np.clip(enough, _FEWEST_ROUNDS, _MOST_ROUNDS)) // period) * period
    rates = Run(
        rounds=rounds,
        replicates=_affordable(network, rounds),
        seed=seed,
        record=sorted({int(n) for n in np.linspace(1, rounds, _RECORDS)}),
        paths=_PATHS,
    )
    most = max(100, int(_MOST_DRAWS / (network.agents * _LEAST_REPLICATES)))
    named = [size.rounds for _, size in named_sizes(analysis) if size.rounds is not None]
    reachable = [n for n in named if n <= most]
    if not reachable:
        return rates, None
    last = max(reachable)
    grid = {round(n) for n in np.geomspace(1, min(last, 2 * min(reachable)), 40)}
    return rates, Run(
        rounds=last,
        replicates=_affordable(network, last),
        seed=seed + 1,
        record=sorted(grid | set(reachable)),
    )


def _affordable(network: ChangingNetwork, rounds: int) -> int:
    affordable = int(_MOST_DRAWS / (network.agents * rounds))
    return int(np.clip(affordable, _LEAST_REPLICATES, _REPLICATES))


# Statements -------------------------------------------------------------------------------------


def statements(result: Measurement) -> tuple[Comparison, ...]:
    """Everything that is said of two runs."""
    sizes = [size_statement(result, name, size) for name, size in named_sizes(result.analysis)]
    return (
        *mean_statements(result),
        *_limit(result),
        *(statement for statement in sizes if statement is not None),
    )


def _limit(result: Measurement) -> list[Comparison]:
    """The slope of the exact mean far out is the rate that influence predicts."""
    if not result.wrong:
        return []
    problem, binding = result.problem, result.wrong[0]
    period = period_of(problem.network)
    first = -(-_FAR // (2 * period)) * period
    means = expected_log_ratio(
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
            Mean(rate, furthest, None),
            _SLOPE_TOLERANCE * abs(rate),
            note="computed, not measured: influence against the exact means, which the run "
            "confirms",
        )
    ]

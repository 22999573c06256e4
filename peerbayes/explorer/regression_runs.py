"""Runs of a regression for a page: excess errors in place of beliefs.

One run and the cloud of some dozen are simulated one by one; the means are over all replicates.
"""

from __future__ import annotations

import numpy as np

from exact import Run, prepare_regression
from exact.regression import RegressionSimulation
from peerbayes.documents import number, numbers
from peerbayes.explorer.documents import Table
from peerbayes.explorer.run_request import RunRequest, check_seconds
from peerbayes.kinds.regression.simulate import recorded_rounds
from peerbayes.problem.problems import RegressionProblem
from theory.progress import Progress
from theory.regression import predicted_error, regression_limits

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_RECORDED = 120
# Single runs that make the cloud.
_CLOUD = 60


def regression_run(
    problem: RegressionProblem, asked: RunRequest, progress: Progress | None
) -> Table:
    """Excess errors of one run, of many, and what is expected of them.

    Raises
    ------
    ValueError
        If it would take more than five minutes.
    """
    recorded = recorded_rounds(asked.rounds, most=_MOST_RECORDED)
    how = Run(
        rounds=asked.rounds,
        replicates=asked.replicates,
        seed=asked.seed,
        record=recorded,
        progress=progress,
    )
    task = prepare_regression(problem.network, problem.regression, run=how)
    check_seconds(task.cost().seconds)
    found = task.simulate()
    singles = [
        _single(problem, asked, recorded, number) for number in range(min(_CLOUD, asked.replicates))
    ]
    worst = np.array([single.excess_error.max(axis=1) for single in singles])
    order = 1 if problem.regression.has_targets else 2
    curve = predicted_error(problem.network, problem.regression, found.rounds, order=order)
    limits = regression_limits(problem.network, problem.regression)
    n = float(found.rounds[-1])
    return {
        "rounds": found.rounds.tolist(),
        "beliefs": None,
        "errors": [numbers(row) for row in singles[0].excess_error],
        "mean_errors": [numbers(row) for row in found.excess_error],
        "network_error": numbers(found.network_error),
        "network_standard_error": numbers(found.network_standard_error),
        "reported_error": numbers(found.reported_error.mean(axis=1)),
        "predicted_error": numbers(curve.excess_error.mean(axis=1)),
        "limit": number(limits.limit),
        "constant": number(limits.excess_error_constant),
        "cloud": {
            "quantiles": list(QUANTILES),
            "values": [numbers(row) for row in np.quantile(worst, QUANTILES, axis=0).T],
            "replicates": len(singles),
        },
        "error_share": None,
        "error_interval": None,
        "bound": None,
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


def _single(
    problem: RegressionProblem, asked: RunRequest, recorded: list[int], index: int
) -> RegressionSimulation:
    """One run; the seeds of those behind the first are far from the one that was asked for."""
    seed = asked.seed if index == 0 else asked.seed + 1_000_003 * index
    how = Run(rounds=asked.rounds, replicates=1, seed=seed, record=recorded)
    return prepare_regression(problem.network, problem.regression, run=how).simulate()

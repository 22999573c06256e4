"""Regression over a network, on drawn data, for many replicates at once.

Precisions and information vectors obey a linear recursion (:mod:`exact.regression.state`), which
costs one matrix product a round for all entries and replicates; beliefs are solved for at recorded
rounds only. Where all replicates see the same inputs, precisions are the same in all of them and
are carried once. Units of work may be spread over processes (:mod:`exact.regression.cost`).
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from exact.cost import check_work
from exact.regression.cost import RegressionCost, RegressionWork, check_regression_cost
from exact.regression.learners import Mode, about_theta, learners_of, sum_of_batches
from exact.regression.results import RegressionSimulation, as_simulation
from exact.regression.yardstick import yardstick_of
from exact.results import Run
from exact.task import check_agents
from theory import Network
from theory.regression import RegressionAgent, RegressionModel
from theory.showing import Shown
from theory.typed import typed
from theory.validation import fail


@dataclass(frozen=True, eq=False)
class RegressionTask(Shown):
    """A simulated regression that has been checked and cut up, and not begun.

    Attributes
    ----------
    run
        How it is run.
    mode
        Who learns from what; see :func:`simulate_regression`.
    work
        Its units.
    """

    run: Run
    mode: Mode
    work: RegressionWork

    def cost(self) -> RegressionCost:
        """What it would take: bytes at the peak, and seconds of one core in all; estimates."""
        return self.work.load.cost(self.run.replicates, workers=self.run.workers)

    def simulate(self) -> RegressionSimulation:
        """Run it.

        Raises
        ------
        ValueError
            If it would take more memory than the run may; if the checkpoint is damaged or of
            another run, or a worker was killed.
        """
        work = self.work
        check_regression_cost(self.cost(), self.run.memory)
        sums = self.run.sums(work, lambda: (work, work.plan))
        return as_simulation(
            sums,
            work.yardstick,
            rounds=work.rounds,
            replicates=work.replicates,
            seed=work.seed,
            mode=self.mode,
            shared_inputs=work.shared,
        )


@typed
def simulate_regression(
    network: Network,
    model: RegressionModel,
    *,
    run: Run,
    mode: Mode = "cooperate",
    node: RegressionAgent | None = None,
    directions: ArrayLike | None = None,
    shared_inputs: bool = False,
    test_inputs: ArrayLike | None = None,
    test_targets: ArrayLike | None = None,
) -> RegressionSimulation:
    """Run the algorithm on drawn data, many times over, and measure what agents believe.

    Observations are independent across agents, rounds and replicates.

    Parameters
    ----------
    network, model
        N agents each.
    run
        Rounds, replicates, seed, and what the run may use of the machine. No paths are kept.
    mode
        "cooperate": the algorithm. "alone": everybody learns from their own data, W = I.
        "central": one learner is sent every agent's data, and does not temper. "central-node":
        one learner draws what `node` does. A central learner's prior is the plain average of the
        agents' priors in precision and information.
    node
        What the learner of "central-node" draws each round; by default one full sample
        (:func:`exact.regression.learners.central_node`).
    directions
        Shape (P, d): where bias, variance and coverage are measured; the coordinates if left out.
    shared_inputs
        Whether all replicates see the same inputs and differ in the noise alone: means over
        replicates are then expectations given the inputs. Labels must not be data.
    test_inputs, test_targets
        Shapes (m, d) and (m,): rows on which to measure the mean squared error of μ as well.

    Returns
    -------
    RegressionSimulation
        Estimates with standard errors.

    Raises
    ------
    ValueError
        If network and model disagree on the number of agents, an argument is out of range, or the
        run would take more memory than allowed (:func:`prepare_regression`) or more than 10¹⁴
        observations, or the checkpoint is damaged or of another run.

    Examples
    --------
    >>> import numpy as np
    >>> agent = RegressionAgent(ranges=[[1, 1], [-1, 1]], noise_std=0.8)
    >>> model = RegressionModel.from_agents(
    ...     [-0.3, 0.5], [agent, agent], prior_covariance=0.5 * np.eye(2),
    ...     test_second_moment=np.diag([1, 1 / 3]),
    ... )
    >>> pair = Network([[0.9, 0.1], [0.6, 0.4]])
    >>> run = Run(rounds=400, replicates=400, seed=1, record=[400])
    >>> measured = simulate_regression(pair, model, run=run)
    >>> measured.excess_error.shape, measured.calibration.shape
    ((1, 2), (1, 2, 2))
    >>> honest = (pair.stationary_distribution**2).sum()
    >>> surprise = (measured.calibration - honest) / measured.calibration_standard_error
    >>> bool(np.abs(surprise).max() < 4)
    True
    """
    return prepare_regression(
        network,
        model,
        run=run,
        mode=mode,
        node=node,
        directions=directions,
        shared_inputs=shared_inputs,
        test_inputs=test_inputs,
        test_targets=test_targets,
    ).simulate()


@typed
def prepare_regression(
    network: Network,
    model: RegressionModel,
    *,
    run: Run,
    mode: Mode = "cooperate",
    node: RegressionAgent | None = None,
    directions: ArrayLike | None = None,
    shared_inputs: bool = False,
    test_inputs: ArrayLike | None = None,
    test_targets: ArrayLike | None = None,
) -> RegressionTask:
    """The simulation that :func:`simulate_regression` runs, checked and cut up, and not begun.

    ``prepare_regression(...).cost()`` says what it would take; nothing is drawn. Arguments are as
    for :func:`simulate_regression`.

    Raises
    ------
    ValueError
        As for :func:`simulate_regression`, but for memory and checkpoint.

    Examples
    --------
    >>> import numpy as np
    >>> agent = RegressionAgent(second_moment=np.eye(50), noise_std=1.0)
    >>> model = RegressionModel.from_agents(
    ...     np.zeros(50), [agent], counts=[100], prior_covariance=np.eye(50),
    ...     test_second_moment=np.eye(50),
    ... )
    >>> everybody = Network.from_topology("complete", agents=100)
    >>> run = Run(rounds=100, replicates=100, seed=1)
    >>> cost = prepare_regression(everybody, model, run=run).cost()
    >>> 0 < cost.bytes < 2**30, sorted(cost.time)
    (True, ['adding up', 'drawing', 'products with W', 'solving'])
    """
    check_agents(network, model)
    if run.paths:
        raise fail("paths", "0 in a regression, which keeps none", run.paths, "leave it out")
    if shared_inputs and model.has_targets:
        raise fail(
            "shared_inputs", "False where labels are data", True, "draw rows afresh for every run"
        )
    check_work(rounds=run.last, replicates=run.replicates, agents=sum_of_batches(model))
    yardstick = yardstick_of(model, directions, test_inputs, test_targets)
    learners = learners_of(network, about_theta(model), mode=mode, node=node, rounds=run.last)
    work = RegressionWork(
        weights=learners.weights,
        distribution=learners.distribution,
        settled=learners.settled,
        model=learners.model,
        samples=learners.samples,
        prior=learners.prior,
        yardstick=yardstick,
        rounds=run.recorded,
        replicates=run.replicates,
        seed=run.seed,
        shared=shared_inputs,
    )
    return RegressionTask(run, mode, work)

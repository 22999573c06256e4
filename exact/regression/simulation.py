"""Regression over a network, on drawn data, for many replicates at once.

Precisions and information vectors obey a linear recursion (:mod:`exact.regression.state`), which
costs one matrix product a round for all entries and replicates; beliefs are solved for at recorded
rounds only. Where all replicates see the same inputs, precisions are the same in all of them and
are carried once. Replicates are cut into chunks that stay in cache, each with random streams of its
own, and chunks into units that may be spread over processes (:mod:`exact.parallel`): a function of
the problem alone, so that the same arguments give the same numbers, whoever runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from exact.checkpoint import Arrays, Checkpoint, fingerprint
from exact.learning import last_round, recorded_rounds
from exact.limits import check_work
from exact.parallel import Advanced, run_units
from exact.regression.beliefs import GaussianBeliefs, as_rows, finite
from exact.regression.cost import (
    QUANTUM,
    Load,
    RegressionCost,
    RegressionPlan,
    check_regression_cost,
    pooled_rounds,
)
from exact.regression.observations import Observer, Samples, samples_of
from exact.regression.results import (
    Mode,
    RegressionSimulation,
    RegressionTally,
    Yardstick,
    as_simulation,
    merge_regressions,
)
from exact.regression.state import Carrier, Columns, lighter, settling_rounds
from theory import Network
from theory.regression import RegressionAgent, RegressionModel
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, fail

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class RegressionWork:
    """A simulation, ready to run and cut into units; see :class:`exact.parallel.Work`."""

    weights: FloatArray | csr_array | None
    distribution: FloatArray
    settled: int
    model: RegressionModel
    samples: Samples
    prior: GaussianBeliefs
    yardstick: Yardstick
    rounds: IntArray
    replicates: int
    seed: int
    shared: bool

    @cached_property
    def columns(self) -> Columns:
        """Where the entries of precisions are kept."""
        return Columns.of(self.model, self.prior)

    @cached_property
    def load(self) -> Load:
        """The sizes that decide the cost."""
        seen = np.diff(self.samples.start)
        links: int | None = 0
        pooled = 0
        if self.weights is not None:
            links = self.weights.nnz if isinstance(self.weights, csr_array) else None
            pooled = pooled_rounds(self.rounds, self.settled)
        return Load(
            learners=self.prior.agents,
            columns=len(self.columns.pairs),
            dimension=self.prior.dimension,
            samples=len(self.samples.owner),
            rows=self.samples.rows,
            terms=int((seen * (seen + 1) // 2 + 2 * seen).sum()),
            links=links,
            quantities=self.yardstick.quantities,
            pooled=pooled,
            drawn=int(self.rounds[-1]),
            times=self.rounds.size,
            shared=self.shared,
        )

    @cached_property
    def plan(self) -> RegressionPlan:
        """How the replicates are cut up."""
        return self.load.plan()

    @property
    def units(self) -> int:
        """How many units there are."""
        return -(-self.replicates // self.plan.unit)

    def amount(self, units: int) -> int:
        """Rounds times replicates of the first `units` units."""
        return int(self.rounds[-1]) * min(self.replicates, units * self.plan.unit)

    def empty(self) -> Arrays:
        """The sums of no unit."""
        return self._tally().arrays()

    def run(self, unit: int, advanced: Advanced) -> Arrays:
        """The sums of one unit."""
        tally = self._tally()
        carrier = Carrier(
            self.weights,
            self.distribution,
            self.settled,
            self.samples,
            self.columns,
            self.model.theta,
            self.prior,
        )
        end = min(self.replicates, (unit + 1) * self.plan.unit)
        for begin in range(unit * self.plan.unit, end, self.plan.together):
            size = min(self.plan.together, end - begin)
            # Whole cache lines, so that the linear algebra does the same for every chunk.
            room = min(self.plan.together, -(-size // QUANTUM) * QUANTUM)
            observer = Observer(
                self.model,
                self.samples,
                replicates=room,
                shared=self.shared,
                seed=self.seed,
                chunk=begin // self.plan.together,
            )
            index = before = 0
            run = carrier.run(observer, self.rounds, replicates=room, shared=self.shared)
            for now, snapshot in run:
                advanced((now - before) * size)
                before = now
                if snapshot is not None:
                    tally.add(index, snapshot, self.columns, replicates=size)
                    index += 1
        return tally.arrays()

    def merge(self, total: Arrays, part: Arrays) -> None:
        """Take in the sums of the next unit."""
        merge_regressions(total, part)

    def _tally(self) -> RegressionTally:
        return RegressionTally(self.yardstick, rounds=self.rounds.size, learners=self.prior.agents)


@typed
def simulate_regression(
    network: Network,
    model: RegressionModel,
    *,
    rounds: int,
    replicates: int,
    seed: int,
    record: Sequence[int] | None = None,
    mode: Mode = "cooperate",
    node: RegressionAgent | None = None,
    directions: ArrayLike | None = None,
    shared_inputs: bool = False,
    test_inputs: ArrayLike | None = None,
    test_targets: ArrayLike | None = None,
    workers: int = 1,
    backend: str | None = None,
    memory: int | str | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> RegressionSimulation:
    """Run the algorithm on drawn data, many times over, and measure what agents believe.

    Observations are independent across agents, rounds and replicates. The same arguments give the
    same numbers, whatever the workers.

    Parameters
    ----------
    network, model
        N agents each.
    rounds, replicates
        n ≥ 1 and R ≥ 1.
    seed
        A whole number of at least 0.
    record
        Rounds at which to keep statistics; about 20 on a logarithmic scale if left out. Solving for
        beliefs there is much of the cost.
    mode
        "cooperate": the algorithm. "alone": everybody learns from their own data, W = I.
        "central": one learner is sent every agent's data, and does not temper. "central-node":
        one learner draws what `node` does. A central learner's prior is the plain average of the
        agents' priors in precision and information.
    node
        What the learner of "central-node" draws each round; by default one full sample
        (:func:`exact.regression.simulation.central_node`).
    directions
        Shape (P, d): where bias, variance and coverage are measured; the coordinates if left out.
    shared_inputs
        Whether all replicates see the same inputs and differ in the noise alone: means over
        replicates are then expectations given the inputs. Labels must not be data.
    test_inputs, test_targets
        Shapes (m, d) and (m,): rows on which to measure the mean squared error of μ as well.
    workers, backend, checkpoint, resume
        As for :func:`exact.simulate`.
    memory
        The most bytes the run may take, as a number or such as "2GiB"; three quarters of the
        machine's memory if left out.
    progress
        Called as progress(done, total), in rounds times replicates.

    Returns
    -------
    RegressionSimulation
        Estimates with standard errors.

    Raises
    ------
    ValueError
        If network and model disagree on the number of agents, an argument is out of range, or the
        run would take more memory than allowed (:func:`regression_cost`) or more than 10¹⁴
        observations, or the checkpoint is damaged or of another run.

    Examples
    --------
    >>> agent = RegressionAgent(ranges=[[1, 1], [-1, 1]], noise_std=0.8)
    >>> model = RegressionModel.from_agents(
    ...     [-0.3, 0.5], [agent, agent], prior_covariance=0.5 * np.eye(2),
    ...     test_second_moment=np.diag([1, 1 / 3]),
    ... )
    >>> pair = Network([[0.9, 0.1], [0.6, 0.4]])
    >>> run = simulate_regression(pair, model, rounds=400, replicates=400, seed=1, record=[400])
    >>> run.excess_error.shape, run.calibration.shape
    ((1, 2), (1, 2, 2))
    >>> honest = (pair.stationary_distribution**2).sum()
    >>> surprise = (run.calibration - honest) / run.calibration_standard_error
    >>> bool(np.abs(surprise).max() < 4)
    True
    """
    work = regression_work(
        network,
        model,
        rounds=rounds,
        replicates=replicates,
        seed=seed,
        record=record,
        mode=mode,
        node=node,
        directions=directions,
        shared_inputs=shared_inputs,
        test_inputs=test_inputs,
        test_targets=test_targets,
    )
    workers = as_integer("workers", workers, minimum=1)
    check_regression_cost(work.load.cost(work.replicates, workers=workers), memory)
    kept = None
    if checkpoint is not None:
        mark = fingerprint(work, work.plan)
        kept = Checkpoint(Path(checkpoint), mark, resume=resume)
    sums = run_units(work, workers=workers, backend=backend, checkpoint=kept, progress=progress)
    return as_simulation(
        sums,
        work.yardstick,
        rounds=work.rounds,
        replicates=work.replicates,
        seed=work.seed,
        mode=mode,
        shared_inputs=shared_inputs,
    )


@typed
def regression_cost(
    network: Network,
    model: RegressionModel,
    *,
    rounds: int,
    replicates: int,
    record: Sequence[int] | None = None,
    mode: Mode = "cooperate",
    node: RegressionAgent | None = None,
    directions: ArrayLike | None = None,
    shared_inputs: bool = False,
    workers: int = 1,
) -> RegressionCost:
    """What :func:`simulate_regression` would take: bytes at the peak and seconds, estimates.

    Nothing is drawn. Seconds are of one core in all, whatever the workers.

    Raises
    ------
    ValueError
        As for `simulate_regression`, but for the memory.

    Examples
    --------
    >>> agent = RegressionAgent(second_moment=np.eye(50), noise_std=1.0)
    >>> model = RegressionModel.from_agents(
    ...     np.zeros(50), [agent], counts=[100], prior_covariance=np.eye(50),
    ...     test_second_moment=np.eye(50),
    ... )
    >>> cost = regression_cost(
    ...     Network.from_topology("complete", agents=100), model, rounds=100, replicates=100
    ... )
    >>> 0 < cost.bytes < 2**30, sorted(cost.time)
    (True, ['adding up', 'drawing', 'products with W', 'solving'])
    """
    work = regression_work(
        network,
        model,
        rounds=rounds,
        replicates=replicates,
        seed=0,
        record=record,
        mode=mode,
        node=node,
        directions=directions,
        shared_inputs=shared_inputs,
    )
    return work.load.cost(work.replicates, workers=as_integer("workers", workers, minimum=1))


def regression_work(
    network: Network,
    model: RegressionModel,
    *,
    rounds: int,
    replicates: int,
    seed: int,
    record: Sequence[int] | None = None,
    mode: Mode = "cooperate",
    node: RegressionAgent | None = None,
    directions: ArrayLike | None = None,
    shared_inputs: bool = False,
    test_inputs: ArrayLike | None = None,
    test_targets: ArrayLike | None = None,
) -> RegressionWork:
    """The work of a simulation, its arguments checked; as for :func:`simulate_regression`."""
    rounds = as_integer("rounds", rounds, minimum=1)
    replicates = as_integer("replicates", replicates, minimum=1)
    seed = as_integer("seed", seed, minimum=0)
    if network.agents != model.agents:
        raise fail(
            "model",
            f"one agent for each of the network's {network.agents}",
            f"{model.agents}",
            "describe as many agents as the network has",
        )
    if mode not in get_args(Mode):
        raise fail("mode", " or ".join(get_args(Mode)), repr(mode), "choose one of them")
    if shared_inputs and model.has_targets:
        raise fail(
            "shared_inputs", "False where labels are data", True, "draw rows afresh for every run"
        )
    last = last_round(record, rounds)
    check_work(rounds=last, replicates=replicates, agents=sum_of_batches(model))
    recorded = recorded_rounds(record, rounds)
    yardstick = yardstick_of(model, directions, test_inputs, test_targets)
    v = network.stationary_distribution
    prior = prior_beliefs(model)
    weights: FloatArray | csr_array | None = None
    settled = 0
    if mode in ("central", "central-node"):
        prior = prior.consensus(np.full((1, model.agents), 1 / model.agents))
        v = np.ones(1)
    if mode == "cooperate":
        weights = lighter(network.weights)
        settled = settling_rounds(network, most=last)
    if mode == "central-node":
        model = central_node(model) if node is None else lone(model, node)
    if mode == "central":
        model = model.tempered(1.0)
    samples = samples_of(model)
    if mode == "central":
        samples = replace(samples, owner=np.zeros_like(samples.owner))
    return RegressionWork(
        weights=weights,
        distribution=v,
        settled=settled,
        model=model,
        samples=samples,
        prior=prior,
        yardstick=yardstick,
        rounds=recorded,
        replicates=replicates,
        seed=seed,
        shared=shared_inputs,
    )


def yardstick_of(
    model: RegressionModel,
    directions: ArrayLike | None,
    test_inputs: ArrayLike | None,
    test_targets: ArrayLike | None,
) -> Yardstick:
    """What to measure against: the model's truth, the directions, and test rows if there are any.

    Raises
    ------
    ValueError
        If shapes disagree, or only one half of the test rows is given.
    """
    d = model.dimension
    rows = np.eye(d)
    if directions is not None:
        rows = as_rows("directions", directions, dimension=d)
        empty = np.flatnonzero(~rows.any(axis=1))
        if rows.shape[0] == 0 or empty.size:
            got = f"zero in row {int(empty[0])}" if empty.size else "none"
            raise fail("directions", "at least one vector, none zero", got, "leave it out")
    if (test_inputs is None) != (test_targets is None):
        raise fail("test_targets", "given with test_inputs", "one without the other", "give both")
    if test_inputs is None or test_targets is None:
        return Yardstick(model.theta, model.test_second_moment, rows)
    inputs = as_rows("test_inputs", test_inputs, dimension=d)
    targets = finite("test_targets", test_targets, last=0)
    if targets.shape != inputs.shape[:1] or not targets.size:
        expected = f"one for each of {len(inputs)} test inputs, at least one"
        raise fail("test_targets", expected, f"shape {targets.shape}", "match the inputs")
    m = len(targets)
    return Yardstick(
        model.theta,
        model.test_second_moment,
        rows,
        inputs.T @ inputs / m,
        inputs.T @ targets / m,
        float(targets @ targets / m),
    )


def prior_beliefs(model: RegressionModel) -> GaussianBeliefs:
    """The agents' priors."""
    if model.prior_covariance.ndim == 3 or model.prior_mean.ndim == 2:
        return GaussianBeliefs.from_moments(model.prior_means, model.prior_covariance)
    one = GaussianBeliefs.from_moments(model.prior_mean, model.prior_covariance, agents=1)
    return GaussianBeliefs(
        np.repeat(one.precision, model.agents, axis=0),
        np.repeat(one.information, model.agents, axis=0),
    )


def central_node(model: RegressionModel) -> RegressionModel:
    """A model of one agent that draws one full sample a round, as the papers' central node does.

    If every agent's coordinates are uniform, the node draws each from the hull of the ranges of the
    agents that see it, provided that these have the test inputs' second moment; else it draws
    normal inputs with that second moment.

    Raises
    ------
    ValueError
        If agents differ in their noise, or labels are data.

    Examples
    --------
    >>> seen = [[[1, 1], [-1, 1], [0, 0]], [[1, 1], [0, 0], [-1.5, 1.5]]]
    >>> model = RegressionModel.from_agents(
    ...     np.zeros(3), [RegressionAgent(ranges=rows, noise_std=0.8) for rows in seen],
    ...     prior_covariance=np.eye(3), test_second_moment=np.diag([1, 1 / 3, 3 / 4]),
    ... )
    >>> central_node(model).agent(0).ranges.tolist()
    [[1.0, 1.0], [-1.0, 1.0], [-1.5, 1.5]]
    """
    noise = model.noise_std
    if noise is None or model.has_targets:
        got = "labels of data" if model.has_targets else "agents of different noise"
        raise fail("mode", "one law of labels for a central node", got, 'use "central"')
    node = RegressionAgent(second_moment=model.test_second_moment, noise_std=noise)
    ranges = [kind.ranges for kind in model.kinds if kind.ranges is not None]
    if len(ranges) == len(model.kinds):
        table = np.array(ranges)
        seen = (table != 0).sum(axis=-1) > 0
        low = np.where(seen, table[..., 0], np.inf).min(axis=0)
        high = np.where(seen, table[..., 1], -np.inf).max(axis=0)
        hull = np.where(seen.any(axis=0)[:, None], np.stack([low, high], axis=1), 0.0)
        full = RegressionAgent(ranges=hull, noise_std=noise)
        if np.allclose(full.second_moment, model.test_second_moment, rtol=1e-9, atol=1e-12):
            node = full
    return lone(model, node)


def lone(model: RegressionModel, node: RegressionAgent) -> RegressionModel:
    """The same problem with a single agent."""
    return RegressionModel.from_agents(
        model.theta,
        [node],
        # Not used: the learner starts from the average prior.
        prior_covariance=np.eye(model.dimension),
        test_second_moment=model.test_second_moment,
    )


def sum_of_batches(model: RegressionModel) -> int:
    """Samples of a round."""
    batches = np.array([kind.batch for kind in model.kinds])
    return int(batches[model.assignment].sum())

"""What all simulations of finitely many hypotheses have in common: from a task to its results.

A :class:`Task` is a simulation that has been checked and cut up, and not begun: it says what it
would cost, and runs. Each kind of network has its own (:mod:`exact.fixed`,
:mod:`exact.changing.simulation`, :mod:`exact.faults.process`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from exact.compression import evidence_basis
from exact.cost import Cost, Extent, check_cost, check_work
from exact.learning import FixedNetwork, Replicates, Runner
from exact.parallel import Work
from exact.propagation import dense_plan, is_compiled, is_swept, plan_for
from exact.results import Run, Simulation, measured
from exact.sampling import features_of, group_size, kind_rows
from exact.statistics import Proportion, proportion
from theory import FiniteModel, Network, QuantisedRegression, RiskCurve, RiskPoint
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only

# What all simulations of finitely many hypotheses have in common ---------------------------------


@dataclass(frozen=True, eq=False)
class Task(Shown, ABC):
    """A simulation that has been checked and cut up, and not begun.

    Attributes
    ----------
    run
        How it is run.
    model
        The laws and priors of N agents.
    reference
        The hypotheses an agent may hold without being wrong; log-ratios are against the first.
    watched
        Shape (H,): the agents that statistics are about.
    """

    run: Run
    model: FiniteModel
    reference: tuple[int, ...]
    watched: IntArray

    @abstractmethod
    def cost(self) -> Cost:
        """What it would take, in bytes and seconds, without running it: estimates.

        Bytes are an upper estimate for more than a few dozen megabytes; seconds may be off by a
        factor of two or three on another machine.
        """

    @abstractmethod
    def work(self) -> Work:
        """The replicates in units of work, with the recorded rounds in memory."""

    @abstractmethod
    def identity(self) -> tuple[object, ...]:
        """What the sums follow from: a checkpoint belongs to runs of the same identity."""

    def simulate(self) -> Simulation:
        """Run it.

        Raises
        ------
        ValueError
            If it would take more memory than the run may; if the checkpoint is damaged or of
            another run, or a worker was killed.
        """
        check_cost(self.cost(), memory=self.run.memory)
        sums = self.run.sums(self.work(), self.identity)
        return measured(
            sums,
            run=self.run,
            model=self.model,
            reference=self.reference,
            watched=self.watched,
        )


def extent_of(
    model: FiniteModel,
    run: Run,
    *,
    best: int,
    links: int,
    linear: bool = True,
    network: Network | None = None,
    hearing: float | None = None,
) -> Extent:
    """The sizes of a run, from which its cost and its units follow.

    Parameters
    ----------
    best
        The hypothesis that log-ratios are taken against.
    links
        Weights other than zero that a round uses.
    linear
        Whether fewer columns than log-ratios may be carried (:mod:`exact.compression`).
    network
        The network that stays as it is, if it does: it has a quicker way.
    hearing
        Seconds for a number that is heard, if it is more than a sum.

    Raises
    ------
    ValueError
        If the run would take more than 10¹⁴ observations.
    """
    check_work(rounds=run.last, replicates=run.replicates, agents=model.agents)
    hypotheses = len(model.hypotheses)
    basis = evidence_basis(model, best=best) if linear else None
    columns = hypotheses - 1 if basis is None else len(basis)
    group = 1
    if network is None or not is_swept(network):
        group = group_size(model, columns=columns, replicates=run.replicates)
    rows, features = kind_rows(model), features_of(model)
    return Extent(
        agents=model.agents,
        links=links,
        sparse=network is None or is_swept(network),
        hypotheses=hypotheses,
        columns=columns,
        rounds=run.last,
        replicates=run.replicates,
        times=run.times,
        paths=run.paths,
        plan=dense_plan(model.agents, columns=columns, group=group)
        if network is None
        else plan_for(
            network,
            columns=columns,
            group=group,
            features=features,
            stretch=run.stretch,
            amount=run.last * run.replicates,
        ),
        group=group,
        features=features,
        table=sum(2 * a.size + group * columns * p.size**group for p, a, _ in rows),
        gaussian=any(b.any() for _, _, b in rows),
        hearing=hearing,
        stationary=0.0 if network is None else network.stationary.seconds,
    )


def replicates_of(task: Task, runner: Runner, extent: Extent, recorded: IntArray) -> Replicates:
    """The replicates of a task, cut up as its extent says, each chunk run by `runner`."""
    return Replicates(
        runner,
        recorded=recorded,
        agents=task.watched.size,
        hypotheses=extent.hypotheses,
        reference=task.reference,
        replicates=extent.replicates,
        seed=task.run.seed,
        paths=extent.paths,
        largest=extent.plan.replicates,
        block=extent.block,
    )


class HasAgents(Protocol):
    """A network of any kind, or a model."""

    @property
    def agents(self) -> int:
        """N."""
        ...


def check_agents(network: HasAgents, model: HasAgents) -> None:
    """Check that there is one agent of the model for each of the network's.

    Raises
    ------
    ValueError
        If there are more or fewer.
    """
    if network.agents != model.agents:
        raise fail(
            "model",
            f"one agent for each of the network's {network.agents}",
            f"{model.agents}",
            "describe as many agents as the network has",
        )


# Simulations on a network that stays as it is, checked and cut up for :func:`exact.simulate` -----


def every_round(
    network: Network, model: FiniteModel, *, rounds: int, replicates: int, seed: int
) -> Replicates:
    """The work of :func:`exact.simulate` that stops at every round, cut up and not begun.

    For statistics of one's own: its units name the chunks, its runner yields Λ of a chunk.

    Raises
    ------
    ValueError
        As for :func:`exact.simulate`.
    """
    run = Run(rounds=rounds, replicates=replicates, seed=seed, record=[rounds])
    task = fixed_task(network, model, run=run)
    check_cost(task.cost())
    return task.replicates(np.arange(1, run.rounds + 1))


@dataclass(frozen=True, eq=False)
class FixedTask(Task):
    """A simulation on a network that stays as it is.

    Attributes
    ----------
    run, model, reference, watched
        As for :class:`exact.task.Task`.
    network
        N agents.
    extent
        The sizes, from which cost and units follow.
    """

    network: Network
    extent: Extent

    def cost(self) -> Cost:
        """What it would take."""
        return self.extent.cost(workers=self.run.workers)

    def work(self) -> Replicates:
        """The replicates in units of work."""
        return self.replicates(self.run.recorded)

    def identity(self) -> tuple[object, ...]:
        """What the sums follow from."""
        run, extent = self.run, self.extent
        numbers = (run.replicates, run.seed, run.paths, extent.plan.replicates, extent.block)
        return self.network.weights, self.model, run.recorded, numbers

    def replicates(self, recorded: IntArray) -> Replicates:
        """The replicates in units of work, stopping at the given rounds."""
        extent = self.extent
        runner = FixedNetwork(
            self.network,
            self.model,
            best=self.reference[0],
            recorded=recorded,
            plan=extent.plan,
            group=extent.group,
            compiled=is_compiled(
                extent.agents, numbers=extent.rounds * extent.replicates * extent.columns
            ),
        )
        return replicates_of(self, runner, extent, recorded)


def fixed_task(network: Network, model: FiniteModel, *, run: Run) -> FixedTask:
    """The simulation of a network that stays as it is, checked and cut up.

    Raises
    ------
    ValueError
        If network and model disagree on the number of agents, or the run would take more than
        10¹⁴ observations.
    """
    check_agents(network, model)
    reference = model.reference_hypotheses(network.stationary_distribution)
    extent = extent_of(model, run, best=reference[0], links=_links(network), network=network)
    return FixedTask(run, model, reference, np.arange(model.agents), network, extent)


def _links(network: Network) -> int:
    weights = network.compact  # what a run goes through
    return int(weights.size if isinstance(weights, np.ndarray) else weights.nnz)


# Risk measured -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeasuredRisk(Shown):
    """What R replicates of n rounds ended with, at one radius.

    Attributes
    ----------
    radius, rounds, replicates, seed
        r in nats, n, R; with the seed of this radius's run.
    network_risk
        Shape (R,): max over agents i of Σ_j v_j |R_j(θ*) − R_j(θ̂_i)|.
    own_risk
        Shape (R,): (1/N) Σ_i |R_i(θ*) − R_i(θ̂_i)|.
    errors
        In how many replicates some agent held a hypothesis that is not acceptable.
    exceeded, own_exceeded
        In how many a risk was above its guarantee (the sharp form).
    """

    radius: float
    rounds: int
    replicates: int
    seed: int
    network_risk: FloatArray
    own_risk: FloatArray
    errors: Proportion
    exceeded: Proportion
    own_exceeded: Proportion


@dataclass(frozen=True, eq=False)
class MeasuredRiskCurve(Shown):
    """A :class:`theory.RiskCurve` and what was measured at each of its points.

    `points` has one entry for each of the curve's, None where it needs more rounds than allowed.
    """

    curve: RiskCurve
    points: tuple[MeasuredRisk | None, ...]


@typed
def measure_risk(
    network: Network,
    regression: QuantisedRegression,
    point: RiskPoint,
    *,
    rounds: int,
    replicates: int,
    seed: int,
) -> MeasuredRisk:
    """Run one covering for `rounds` rounds and measure the risk of what every agent believes.

    An estimate is the arg max of the private belief, the first one among equals; labels and inputs
    are drawn from the regression itself, whatever the covering.

    Raises
    ------
    ValueError
        As for :func:`exact.simulate`.
    """
    replicates = as_integer("replicates", replicates, minimum=1)
    v = network.stationary_distribution
    points = point.covering.points
    if rounds == 0 or len(points) == 1:
        # Nothing to learn from: everybody holds the first acceptable hypothesis.
        estimates = np.full((replicates, v.size), point.acceptable[0])
    else:
        run = Run(
            rounds=rounds, replicates=replicates, seed=seed, record=[rounds], paths=replicates
        )
        paths = fixed_task(network, regression.model(points), run=run).simulate().paths
        estimates = paths[:, 0].argmin(axis=-1)
    gaps = regression.risk_differences(points)
    network_risk = (v @ gaps)[estimates].max(axis=1)
    own_risk = gaps[np.arange(v.size), estimates].mean(axis=1)
    errors = np.isin(estimates, point.acceptable, invert=True).any(axis=1)

    def share(happened: ArrayLike) -> Proportion:
        return proportion(int(np.sum(happened)), replicates, confidence=0.999)

    return MeasuredRisk(
        radius=point.radius,
        rounds=rounds,
        replicates=replicates,
        seed=seed,
        network_risk=read_only(network_risk),
        own_risk=read_only(own_risk),
        errors=share(errors),
        exceeded=share(network_risk > point.guarantee.sharp),
        own_exceeded=share(own_risk > point.own_guarantee.sharp),
    )


@typed
def measured_risk_curve(
    network: Network,
    regression: QuantisedRegression,
    curve: RiskCurve,
    *,
    replicates: int,
    seed: int,
    most_rounds: int,
) -> MeasuredRiskCurve:
    """Run every point of the curve for the rounds it asks for (its Chernoff sample size).

    Radii whose rounds exceed `most_rounds` are left out. Each radius has its own random stream,
    drawn from `seed`.
    """
    seeds = np.random.SeedSequence(seed).generate_state(len(curve.points))
    measured = [
        None
        if point.rounds is None or point.rounds > most_rounds
        else measure_risk(
            network,
            regression,
            point,
            rounds=point.rounds,
            replicates=replicates,
            seed=int(own),
        )
        for point, own in zip(curve.points, seeds, strict=True)
    ]
    return MeasuredRiskCurve(curve, tuple(measured))

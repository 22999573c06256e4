"""What all simulations of finitely many hypotheses have in common: from a task to its results.

A :class:`Task` is a simulation that has been checked and cut up, and not begun: it says what it
would cost, and runs. Each kind of network has its own (:mod:`exact.fixed`,
:mod:`exact.changing.task`, :mod:`exact.faults.simulation`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from exact.compression import evidence_basis
from exact.cost import Cost, Extent, check_cost
from exact.limits import check_work
from exact.parallel import Work
from exact.plan import dense_plan, plan_for
from exact.replicates import Replicates, Runner
from exact.results import Simulation, measured
from exact.run import Run
from exact.sampling import group_size, kind_rows
from theory import FiniteModel, Network
from theory.showing import Shown
from theory.validation import IntArray, fail


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
    if network is None or not network.is_sparse:
        group = group_size(model, columns=columns, replicates=run.replicates)
    rows = kind_rows(model)
    return Extent(
        agents=model.agents,
        links=links,
        sparse=network is None or network.is_sparse,
        hypotheses=hypotheses,
        columns=columns,
        rounds=run.last,
        replicates=run.replicates,
        times=run.times,
        paths=run.paths,
        plan=dense_plan(model.agents, columns=columns, group=group)
        if network is None
        else plan_for(network, columns=columns, group=group),
        group=group,
        table=sum(2 * a.size + group * columns * p.size**group for p, a, _ in rows),
        gaussian=any(b.any() for _, _, b in rows),
        hearing=hearing,
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

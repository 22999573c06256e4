"""Simulations on a network that stays as it is, checked and cut up for :func:`exact.simulate`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exact.cost import Cost, Extent, check_cost
from exact.learning import FixedNetwork
from exact.plan import is_compiled
from exact.replicates import Replicates
from exact.run import Run
from exact.task import Task, check_agents, extent_of, replicates_of
from theory import FiniteModel, Network
from theory.validation import IntArray


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
    weights = network.weights
    return int(weights.size if isinstance(weights, np.ndarray) else weights.nnz)

"""Learning with compressed beliefs, checked and cut up for :func:`exact.simulate`.

The same seed gives the agents the same data whatever they send. With steps that go to zero this is
what runs without compression, on the network of `theory.messages.mixed_network`.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

from exact.changing.process import CountedWork, CountingRunner, counted_work
from exact.changing.simulation import Footprint, ProcessTask, process_task
from exact.cost import Cost
from exact.messages.lossy import CompressedProcess
from exact.results import Run
from exact.task import Task, check_agents
from theory import FiniteModel, Network
from theory.messages import Quantiser, message_levels
from theory.messages.compressed import with_levels
from theory.network.structure import off_diagonal
from theory.typed import typed

# Arrays of shape (N, R, C): replicas, errors, what is said, and the run without compression.
_LAYERS = 10


@dataclass(frozen=True, eq=False)
class CompressedTask(Task):
    """A simulation of agents that send quantised differences to replicas.

    Attributes
    ----------
    run, model, reference, watched
        As for :class:`exact.task.Task`.
    network, quantiser
        W, and what is sent, with its levels.
    task
        The simulation of the process alone.
    """

    network: Network
    quantiser: Quantiser
    task: ProcessTask

    def cost(self) -> Cost:
        """What it would take."""
        return self.task.cost()

    def work(self) -> CountedWork:
        """The replicates in units of work, with what is sent in each."""
        return counted_work(self.task.work())

    def _sent(self) -> tuple[object, ...]:
        """What is sent, to the last bit."""
        return type(self.quantiser).__name__, *(str(value) for value in astuple(self.quantiser))

    def identity(self) -> tuple[object, ...]:
        """What the sums follow from."""
        run, extent = self.run, self.task.extent
        numbers = (run.recorded, run.replicates, run.seed, run.paths)
        units = (extent.plan.replicates, extent.block)
        return self.network.weights, self.model, *self._sent(), numbers, units


@typed
def compressed_task(
    network: Network, model: FiniteModel, *, messages: Quantiser, run: Run
) -> CompressedTask:
    """The simulation of a network with narrow links, checked and cut up.

    Raises
    ------
    ValueError
        If network and model disagree on the number of agents, the quantiser has fewer levels than
        keep it from overloading, or the run would take more than 10¹⁴ observations.
    """
    check_agents(network, model)
    quantiser = messages
    if quantiser.has_replica:
        quantiser = with_levels(quantiser, message_levels(network, model, quantiser))
    reference = model.reference_hypotheses(network.stationary_distribution)
    process = CompressedProcess(network, model, quantiser, best=reference[0])
    links = len(off_diagonal(network.weights).row) + network.agents
    task = process_task(
        process,
        model,
        run=run,
        reference=reference,
        footprint=Footprint(_LAYERS, 2 * links),
        runs=CountingRunner,
    )
    return CompressedTask(run, model, task.reference, task.watched, network, quantiser, task)

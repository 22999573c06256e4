"""Learning with faulty agents, checked and cut up for :func:`exact.simulate`.

Without faults and with :class:`~theory.robustness.rules.Average` this is, up to rounding, what
runs where nobody is faulty. The same seed gives the honest agents the same data whoever is faulty
and whatever the rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from exact.changing.counted import CountedWork, CountingRunner, counted_work
from exact.changing.task import Footprint, ProcessTask, process_task
from exact.cost import Cost
from exact.faults.process import FaultyProcess
from exact.run import Run
from exact.task import Task
from theory import FiniteModel, Network
from theory.robustness import Faults, honest_agents, honest_reference
from theory.typed import typed
from theory.validation import as_position


@dataclass(frozen=True, eq=False)
class FaultyTask(Task):
    """A simulation among faulty agents, of which the honest ones are watched.

    Attributes
    ----------
    run, model, reference, watched
        As for :class:`exact.task.Task`; `reference` is what the honest agents ought to find. An
        agent is wrong where the hypothesis that does best in comparison with the first of these is
        none of them.
    network, faults
        As given, with `against` as an index.
    task
        The simulation of the process alone.
    """

    network: Network
    faults: Faults
    task: ProcessTask

    def cost(self) -> Cost:
        """What it would take."""
        return self.task.cost()

    def work(self) -> CountedWork:
        """The replicates in units of work, with the messages that are thrown away in each."""
        return counted_work(self.task.work())

    def identity(self) -> tuple[object, ...]:
        """What the sums follow from."""
        run, faults, extent = self.run, self.faults, self.task.extent
        rules = (faults.behaviours, faults.rule, faults.against, faults.pool_every)
        units = (extent.plan.replicates, extent.block)
        numbers = (run.recorded, run.replicates, run.seed, run.paths, *units)
        return self.network.weights, self.model, rules, numbers


@typed
def faulty_task(network: Network, model: FiniteModel, *, faults: Faults, run: Run) -> FaultyTask:
    """The simulation of a network with faulty agents, checked and cut up.

    Raises
    ------
    ValueError
        If a behaviour does not fit, nobody is honest, an honest agent hears more faulty ones than
        the rule tolerates, or the run would take more than 10¹⁴ observations.
    """
    faults = faults.fitted(network, model)
    honest = honest_agents(network, faults.behaviours)
    reference = honest_reference(network, model, honest)
    against = (
        None if faults.against is None else as_position("against", faults.against, model.hypotheses)
    )
    process = FaultyProcess(
        network,
        model,
        dict(faults.behaviours),
        faults.rule,
        best=reference[0],
        against=against,
        pool_every=faults.pool_every,
    )
    task = process_task(
        process,
        model,
        run=run,
        reference=reference,
        footprint=Footprint(process.layers, process.links, process.draws, process.hearing),
        agents=honest.tolist(),
        runs=CountingRunner,
    )
    known = replace(faults, against=against)
    return FaultyTask(run, model, task.reference, task.watched, network, known, task)

"""Simulations of a process, checked and cut up: what a round does is up to the process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exact.changing.process import Process, ProcessRunner
from exact.cost import CALL, Cost, Extent
from exact.limits import NUMBER
from exact.replicates import Replicates
from exact.results import Simulation
from exact.run import Run
from exact.task import Task, extent_of, replicates_of
from theory import FiniteModel
from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_integer, fail

# Seconds for a number that the process draws, with what it decides.
DRAW_AND_USE = 1e-8


@dataclass(frozen=True)
class Footprint(Shown):
    """What a process takes, for the estimates of memory and time.

    Attributes
    ----------
    layers
        Arrays of shape (N, R, C) that it keeps.
    links
        Weights that it uses in a round; 10·N if None.
    draws
        Random numbers that it draws for a replicate in a round.
    hearing
        Seconds for a number that is heard, if it is more than a sum.
    """

    layers: int = 2
    links: int | None = None
    draws: int = 0
    hearing: float | None = None


@typed
def run_process(
    process: Process,
    model: FiniteModel,
    *,
    run: Run,
    reference: Sequence[int],
    agents: Sequence[int] | None = None,
    linear: bool = False,
    footprint: Footprint | None = None,
) -> Simulation:
    """Run a process on drawn observations, many times over.

    Parameters
    ----------
    process, model
        N agents each, with their laws and priors.
    run
        Rounds, replicates, seed and the like; without a checkpoint, which could not tell one
        process from another.
    reference
        Indices of the hypotheses an agent may hold without being wrong; log-ratios are taken
        against the first one.
    agents
        The agents that statistics are about, in this order; all of them if left out.
    linear
        Whether the process only adds and averages, by the same weights for all hypotheses. It may
        then be given fewer columns than there are log-ratios (:mod:`exact.compression`). Medians,
        clipping and the like are not linear.
    footprint
        What the process takes; that of a small one if left out.

    Raises
    ------
    ValueError
        If an argument is out of range, or as for :func:`exact.simulate`.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> class Alone:  # nobody talks
    ...     def restart(self, stream, *, replicates, columns):
    ...         pass
    ...     def advance(self, private, observed):
    ...         return private + observed
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin], counts=[2])
    >>> run = Run(rounds=100, replicates=400, seed=1)
    >>> rates = run_process(Alone(), model, run=run, reference=[0]).rates
    >>> bool(abs(rates.mean[0, 1] - 0.1438) < 3 * rates.standard_error[0, 1])
    True
    """
    if run.checkpoint is not None:
        raise fail("checkpoint", "none for a process of one's own", run.checkpoint, "leave it out")
    return process_task(
        process,
        model,
        run=run,
        reference=reference,
        agents=agents,
        linear=linear,
        footprint=Footprint() if footprint is None else footprint,
    ).simulate()


@dataclass(frozen=True, eq=False)
class ProcessTask(Task):
    """The simulation of a process.

    Attributes
    ----------
    run, model, reference, watched
        As for :class:`exact.task.Task`.
    process, linear, footprint
        As for :func:`run_process`.
    extent
        The sizes, from which cost and units follow.
    runs
        What runs a chunk of replicates.
    marks
        What tells the process from others, for checkpoints.
    """

    process: Process
    linear: bool
    footprint: Footprint
    extent: Extent
    runs: type[ProcessRunner]
    marks: tuple[object, ...]

    def cost(self) -> Cost:
        """What it would take, with what the process keeps."""
        extent, workers = self.extent, self.run.workers
        cost = extent.cost(workers=workers)
        kept = NUMBER * self.footprint.layers * extent.agents * extent.room * extent.columns
        more = kept * min(workers, extent.units)
        # Every round is a few calls of its own, and draws.
        each = CALL + DRAW_AND_USE * self.footprint.draws * extent.room
        calls = extent.chunks * extent.rounds * each / min(workers, extent.units)
        return replace(
            cost,
            bytes=cost.bytes + more,
            seconds=cost.seconds + calls,
            parts={**cost.parts, "run": cost.parts["run"] + more},
        )

    def work(self) -> Replicates:
        """The replicates in units of work."""
        recorded = self.run.recorded
        runner = self.runs(
            self.process,
            self.model,
            best=self.reference[0],
            recorded=recorded,
            watched=self.watched,
            plan=self.extent.plan,
            group=self.extent.group,
            linear=self.linear,
        )
        return replicates_of(self, runner, self.extent, recorded)

    def identity(self) -> tuple[object, ...]:
        """What the sums follow from."""
        run = self.run
        numbers = (run.rounds, run.replicates, run.seed, run.recorded, run.paths)
        return *self.marks, self.model, numbers


def process_task(
    process: Process,
    model: FiniteModel,
    *,
    run: Run,
    reference: Sequence[int],
    footprint: Footprint,
    agents: Sequence[int] | None = None,
    linear: bool = False,
    runs: type[ProcessRunner] | None = None,
    marks: tuple[object, ...] = (),
) -> ProcessTask:
    """The simulation of a process, checked and cut up.

    Arguments are as for :func:`run_process`, `runs` and `marks` as for :class:`ProcessTask`.

    Raises
    ------
    ValueError
        If an argument is out of range, or the run would take more than 10¹⁴ observations.
    """
    chosen = checked_indices("reference", reference, below=len(model.hypotheses))
    shown = range(model.agents) if agents is None else agents
    watched = np.array(checked_indices("agents", shown, below=model.agents), dtype=np.int64)
    extent = extent_of(
        model,
        run,
        best=chosen[0],
        links=10 * model.agents if footprint.links is None else footprint.links,
        linear=linear,
        hearing=footprint.hearing,
    )
    return ProcessTask(
        run=run,
        model=model,
        reference=chosen,
        watched=watched,
        process=process,
        linear=linear,
        footprint=footprint,
        extent=extent,
        runs=ProcessRunner if runs is None else runs,
        marks=marks,
    )


def checked_indices(argument: str, values: Sequence[int], *, below: int) -> tuple[int, ...]:
    """At least one whole number from 0 to `below` − 1, each once."""
    chosen = tuple(as_integer(argument, v, minimum=0, maximum=below - 1) for v in values)
    if not chosen:
        raise fail(argument, "at least one index", "none", f"name one from 0 to {below - 1}")
    if len(set(chosen)) < len(chosen):
        raise fail(argument, "distinct indices", list(chosen), "name each one once")
    return chosen

"""Simulations of a process, checked and cut up: what a round does is up to the process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exact.changing.delays import DelayedProcess
from exact.changing.exchange import LinksProcess, PresenceProcess, worth_dense
from exact.changing.process import Process, ProcessRunner
from exact.cost import CALL, NUMBER, Cost, Extent
from exact.learning import Replicates
from exact.results import Run, Simulation
from exact.task import Task, check_agents, extent_of, replicates_of
from theory import FiniteModel, Network
from theory.changing import (
    ChangingNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
    influence,
)
from theory.changing.phase import stacked
from theory.network.structure import as_dense
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_integer, fail

# Simulations of a process, checked and cut up ----------------------------------------------------


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


# Processes of networks that go through phases ----------------------------------------------------


# Replicates in the same phase are pooled by one product; with many phases few are in the same.
MOST_DENSE = 16


class PhasePool:
    """Pools the beliefs of all replicates by the weights of one phase."""

    def __init__(self, phase: Phase) -> None:
        self._observers = phase.observers
        self._rows = phase.moving
        dense = worth_dense(self._rows, phase.agents)
        self._dense = as_dense(phase.weights) if dense else None

    def add(self, observed: FloatArray, private: FloatArray) -> None:
        """Turn what is observed into public beliefs, in place: private ones where none observes."""
        if self._observers.size == len(observed):
            observed += private
            return
        seen = observed[self._observers] + private[self._observers]
        np.copyto(observed, private)
        observed[self._observers] = seen

    def pool(self, public: FloatArray, out: FloatArray) -> None:
        """Write W·public to `out`; both have shape (N, K) and are contiguous."""
        if self._dense is not None:
            np.matmul(self._dense, public, out=out)
            return
        from exact.changing.kernels import pool_rows

        rows = self._rows
        np.copyto(out, public)
        pool_rows(rows.rows, rows.indptr, rows.indices, rows.data, public, out)


class PeriodicProcess:
    """Round t is of phase (t − 1) mod T, in all replicates."""

    layers, draws = 1, 0
    fresh = True

    def __init__(self, network: PeriodicNetwork | Network) -> None:
        phases = (Phase(network.weights),) if isinstance(network, Network) else network.phases
        self._pools = [PhasePool(phase) for phase in phases]
        self._now = 0
        self.links = sum(phase.moving.data.size for phase in phases) // len(phases)

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Begin with phase 0; nothing is drawn."""
        self._now = 0

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """One round of the next phase."""
        pool = self._pools[self._now % len(self._pools)]
        self._now += 1
        pool.add(observed, private)
        agents = len(observed)
        pool.pool(observed.reshape(agents, -1), private.reshape(agents, -1))
        return private


class MarkovProcess:
    """Every replicate goes through the phases on a path of its own, drawn from the chain."""

    layers, draws = 3, 1
    fresh = True

    def __init__(self, network: MarkovNetwork) -> None:
        phases = network.phases
        few = len(phases) <= MOST_DENSE
        dense = few and any(worth_dense(phase.moving, phase.agents) for phase in phases)
        self._pools = [PhasePool(phase) for phase in phases] if dense else None
        self._rows, self._begin = stacked([phase.moving for phase in phases])
        self._observes = np.array([phase.observes for phase in phases])
        self._all_observe = bool(self._observes.all())
        self._first = np.cumsum(network.first_phases)
        self._next = None if network.is_independent else np.cumsum(network.transition, axis=1)
        self._again = np.cumsum(network.transition[0])
        self._which = np.zeros(0, dtype=np.int64)
        self._fresh = True
        self.links = sum(phase.moving.data.size for phase in phases) // len(phases)

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Forget the paths; those of R replicates are drawn from `stream`."""
        self._random = np.random.Generator(np.random.SFC64(stream))
        self._which = np.zeros(replicates, dtype=np.int64)
        self._fresh = True

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """One round, each replicate in its own phase."""
        self._step()
        if not self._all_observe:
            observed[~self._observes[self._which].T] = 0.0
        observed += private
        if self._pools is None:
            from exact.changing.kernels import pool_phases

            rows = self._rows
            np.copyto(private, observed)
            pool_phases(
                self._which,
                self._begin,
                rows.rows,
                rows.indptr,
                rows.indices,
                rows.data,
                observed,
                private,
            )
            return private
        agents = len(observed)
        for phase in np.unique(self._which):
            chosen = np.flatnonzero(self._which == phase)
            heard = observed.take(chosen, axis=1)
            pooled = np.empty_like(heard)
            self._pools[phase].pool(heard.reshape(agents, -1), pooled.reshape(agents, -1))
            private[:, chosen] = pooled
        return private

    def _step(self) -> None:
        uniforms = self._random.random(self._which.size)
        if self._next is not None and not self._fresh:
            from exact.changing.kernels import next_phases

            next_phases(self._which, uniforms, self._next)
            return
        law = self._first if self._fresh else self._again
        self._which = np.minimum(np.searchsorted(law, uniforms, side="right"), law.size - 1)
        self._fresh = False


# Networks that change, run -----------------------------------------------------------------------


# Besides what every process has, each knows `layers`, `links` and `draws` (see run_process), and
# whether it is `fresh`: whether agents always pool what is said in the same round.
ChangingProcess = PeriodicProcess | MarkovProcess | LinksProcess | PresenceProcess | DelayedProcess


@typed
def changing_task(
    network: ChangingNetwork | Network, model: FiniteModel, *, run: Run
) -> ProcessTask:
    """The simulation of a network that changes, checked and cut up.

    What is random about the network is drawn afresh in every replicate, on a stream of its own:
    with the same seed, agents of all networks see the same data (which those that rest in a round
    do not use). `reference` is Θ*, or, if that is empty, the hypotheses the network settles on by
    :func:`theory.changing.stationary`.

    Raises
    ------
    ValueError
        If the network is of no kind that is known, network and model disagree on the number of
        agents, or the run would take more than 10¹⁴ observations.
    """
    process = process_for(network)
    check_agents(network, model)
    # The influence takes a while on large networks, and is not needed if one hypothesis suits all.
    reference = model.optimal_hypotheses or model.compromise(influence(network).values)
    return process_task(
        process,
        model,
        run=run,
        reference=reference,
        linear=True,
        footprint=Footprint(process.layers, process.links, process.draws),
        marks=(network,),
    )


@typed
def process_for(network: ChangingNetwork | Network) -> ChangingProcess:
    """The process of a network's kind.

    Raises
    ------
    ValueError
        If it is none of the kinds known.
    """
    if isinstance(network, PeriodicNetwork | Network):
        return PeriodicProcess(network)
    if isinstance(network, MarkovNetwork):
        return MarkovProcess(network)
    if isinstance(network, RandomLinks):
        return LinksProcess(network)
    if isinstance(network, RandomPresence):
        return PresenceProcess(network)
    return DelayedProcess(network)

"""One loop for every way in which agents may learn round by round.

A *process* says what a round does to the log-ratios Λ(best, ·) that N agents hold, in R replicates
at once. The loop draws the observations, hands them over, and keeps the statistics of
:class:`exact.Simulation` at the recorded rounds. It is the loop of :func:`exact.simulate` without
what makes that one quick for a W that never changes.

Chunks of replicates run one after the other. Each chunk spawns three random streams: two for the
observations, and a third for the process, whatever that draws. So the agents see the same data
with the same seed whichever process runs them, and processes can be compared pair by pair. With
dense weights they are also the data of :func:`exact.simulate`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from exact.compression import evidence_basis, round_scale
from exact.cost import CALL, Cost, Extent
from exact.learning import with_best
from exact.limits import NUMBER
from exact.propagation import Plan, batch_of
from exact.replicates import Chunk, Replicates
from exact.results import Simulation
from exact.run import Run
from exact.sampling import Sampler, ratios
from exact.task import Task, extent_of, replicates_of
from theory import FiniteModel
from theory.validation import FloatArray, IntArray, as_integer, fail

# Seconds for a number that the process draws, with what it decides.
DRAW_AND_USE = 1e-8


class Process(Protocol):
    """What one round does to the beliefs of N agents, in R replicates, for C log-ratios each."""

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Forget the past; R replicates of C log-ratios begin, with a random stream of their own.

        The stream is the same for the same seed and chunk, and there must be no other randomness.
        Whatever changes during a run is made anew here: chunks may run at once on shallow copies.
        """
        ...

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """The private log-ratios after one more round.

        Parameters
        ----------
        private
            Shape (N, R, C): Λ(best, θ) of the private beliefs, the priors' before round 1, for
            all θ but the best, in nats. It is what this method returned the last time.
        observed
            Shape (N, R, C): z(best, θ) of what every agent could observe this round. Who does
            observe, the process decides.

        Returns
        -------
        FloatArray
            Shape (N, R, C), contiguous, as the arguments are. Both of these may be overwritten,
            and one of them returned.
        """
        ...


@dataclass(frozen=True)
class Footprint:
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
    process
        Acts on as many agents as the model has.
    model
        The agents' laws and priors.
    run
        Rounds, replicates, seed and the like; without a checkpoint, which could not tell one
        process from another.
    reference
        Indices of the hypotheses an agent may hold without being wrong; log-ratios are taken
        against the first one.
    agents
        The agents to report on, in this order; all of them if left out. Only their mistakes are
        counted, and only they are averaged.
    linear
        Whether the process only adds and averages, by the same weights for all hypotheses. It may
        then be given fewer columns than there are log-ratios (:mod:`exact.compression`). Medians,
        clipping and the like are not linear.
    footprint
        What the process takes; that of a small one if left out.

    Raises
    ------
    ValueError
        If an argument is out of range, a checkpoint is asked for, or the run would take more than
        10¹⁴ observations or more memory than allowed.

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


@dataclass(frozen=True, eq=False)
class ProcessRunner:
    """Runs chunks of replicates through a process (:class:`exact.replicates.Runner`).

    Attributes
    ----------
    process, model
        What runs, and on what data.
    best
        The hypothesis that log-ratios are taken against.
    recorded, watched
        The rounds at which Λ is wanted, and the agents whose.
    plan, group, linear
        How replicates are cut up, how many share a symbol, and whether fewer columns will do.
    """

    process: Process
    model: FiniteModel
    best: int
    recorded: IntArray
    watched: IntArray
    plan: Plan
    group: int
    linear: bool

    @cached_property
    def basis(self) -> FloatArray | None:
        """What rows are written in, if fewer columns are carried than there are log-ratios."""
        return evidence_basis(self.model, best=self.best) if self.linear else None

    @cached_property
    def sampler(self) -> Sampler:
        """Draws the observations."""
        return Sampler(self.model, best=self.best, group=self.group, basis=self.basis)

    @cached_property
    def scale(self) -> FloatArray:
        """The largest log-ratio that a single round can add, shape (M,)."""
        prior = ratios(self.model.log_priors, self.best)
        return round_scale(self.sampler.table, prior, best=self.best, basis=self.basis)

    def states(self, chunk: Chunk, advanced: Callable[[int], None]) -> Iterator[FloatArray]:
        """Λ(best, ·) of the chunk at each recorded round, shape (N, size, M)."""
        basis, sampler, process = self.basis, copy.copy(self.sampler), copy.copy(self.process)
        room = self.plan.storage(chunk.size)
        data, network = data_and_network(chunk.stream)
        sampler.restart(data, replicates=room)
        prior = ratios(self.model.log_priors, self.best)[self.model.assignment]
        if basis is not None:
            prior = prior @ basis.T
        process.restart(network, replicates=room, columns=prior.shape[1])
        state = np.repeat(prior[:, None, :], room, axis=1)
        batch = batch_of(self.plan, room // self.group * self.model.agents)
        now = 0
        for target in self.recorded:
            while now < target:
                step = min(batch, int(target) - now)
                for observed in observations(sampler, step, replicates=room):
                    state = process.advance(state, observed)
                advanced(step)
                now += step
            log_ratios = state[self.watched, : chunk.size]
            if basis is not None:
                log_ratios = log_ratios @ basis
            yield with_best(log_ratios, self.best)
        self.ended(process, chunk)

    def ended(self, process: Process, chunk: Chunk) -> None:
        """Called with the process that ran a chunk to its end, before it is forgotten."""


def data_and_network(
    stream: np.random.SeedSequence,
) -> tuple[np.random.SeedSequence, np.random.SeedSequence]:
    """Streams for the observations and for the process, from a chunk's.

    The sampler spawns its own two from the first, which has to be as the chunk's is elsewhere; the
    process takes the third child.
    """
    key = stream.spawn_key
    data = np.random.SeedSequence(stream.entropy, spawn_key=key)
    return data, np.random.SeedSequence(stream.entropy, spawn_key=(*key, 2))


def observations(sampler: Sampler, rounds: int, *, replicates: int) -> Iterator[FloatArray]:
    """What the agents see in each of the next rounds, shape (N, R, C), each in a fresh array."""
    table = sampler.table
    draws = sampler.draw(rounds)
    agents = draws.symbols.shape[1]
    for t in range(rounds):
        rows = np.empty((1, agents, replicates * table.columns))
        table.look_up(draws.symbols[t : t + 1], draws.noise[t : t + 1], rows)
        yield rows.reshape(agents, replicates, table.columns)


def checked_indices(argument: str, values: Sequence[int], *, below: int) -> tuple[int, ...]:
    """At least one whole number from 0 to `below` − 1, each once."""
    chosen = tuple(as_integer(argument, v, minimum=0, maximum=below - 1) for v in values)
    if not chosen:
        raise fail(argument, "at least one index", "none", f"name one from 0 to {below - 1}")
    if len(set(chosen)) < len(chosen):
        raise fail(argument, "distinct indices", list(chosen), "name each one once")
    return chosen

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

from exact.checkpoint import Checkpoint
from exact.compression import evidence_basis, round_scale
from exact.cost import CALL, Cost, Extent, check_cost
from exact.learning import (
    DEFAULT_RECORDS,
    Simulation,
    last_round,
    measured,
    recorded_rounds,
    with_best,
)
from exact.limits import NUMBER, as_memory, check_work
from exact.parallel import Progress, run_units
from exact.propagation import Plan, batch_of, dense_plan
from exact.replicates import Chunk, Replicates
from exact.sampling import Sampler, group_size, kind_rows, ratios
from theory import FiniteModel
from theory.typed import typed
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


@typed
def run_process(
    process: Process,
    model: FiniteModel,
    *,
    reference: Sequence[int],
    rounds: int,
    replicates: int,
    seed: int,
    record: Sequence[int] | None = None,
    paths: int = 0,
    progress: Progress | None = None,
    agents: Sequence[int] | None = None,
    linear: bool = False,
    layers: int = 2,
    links: int | None = None,
    draws: int = 0,
    workers: int = 1,
    backend: str | None = None,
    memory: int | str | None = None,
    checkpoint: Checkpoint | None = None,
) -> Simulation:
    """Run a process on drawn observations, many times over.

    Parameters
    ----------
    process
        Acts on as many agents as the model has.
    model
        The agents' laws and priors.
    reference
        Indices of the hypotheses an agent may hold without being wrong; log-ratios are taken
        against the first one.
    rounds, replicates, seed, record, paths, progress
        As for :func:`exact.simulate`.
    agents
        The agents to report on, in this order; all of them if left out. Only their mistakes are
        counted, and only they are averaged.
    linear
        Whether the process only adds and averages, by the same weights for all hypotheses. It may
        then be given fewer columns than there are log-ratios (:mod:`exact.compression`). Medians,
        clipping and the like are not linear.
    layers, links, draws
        How many arrays of shape (N, R, C) the process keeps, how many weights it uses in a round
        (10·N if left out), and how many random numbers it draws for a replicate in a round: for
        the estimates of memory and time.
    workers, backend, memory
        As for :func:`exact.simulate`.
    checkpoint
        Where to keep the sums from time to time; its fingerprint must tell this run from others.

    Raises
    ------
    ValueError
        If an argument is out of range, or the run would take more than 10¹⁴ observations or more
        memory than allowed.

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
    >>> run = run_process(Alone(), model, reference=[0], rounds=100, replicates=400, seed=1)
    >>> bool(abs(run.rates.mean[0, 1] - 0.1438) < 3 * run.rates.standard_error[0, 1])
    True
    """
    seed = as_integer("seed", seed, minimum=0)
    workers = as_integer("workers", workers, minimum=1)
    allowed = None if memory is None else as_memory("memory", memory)
    design = Design.of(
        model,
        reference=reference,
        rounds=rounds,
        replicates=replicates,
        record=record,
        paths=paths,
        agents=agents,
        linear=linear,
        layers=layers,
        links=links,
        draws=draws,
    )
    check_cost(design.cost(workers=workers), memory=allowed)
    work = design.work(process, seed=seed, recorded=recorded_rounds(record, rounds))
    sums = run_units(
        work, workers=workers, backend=backend, checkpoint=checkpoint, progress=progress
    )
    return measured(work, sums, hypotheses=model.hypotheses)


@dataclass(frozen=True, eq=False)
class Design:
    """A run that has been checked and cut up, and not begun.

    Attributes
    ----------
    model, reference
        As given.
    watched
        The agents to report on.
    linear, layers, draws
        As given.
    extent
        The sizes, from which cost and units follow.
    """

    model: FiniteModel
    reference: tuple[int, ...]
    watched: IntArray
    linear: bool
    layers: int
    draws: int
    extent: Extent

    @classmethod
    def of(
        cls,
        model: FiniteModel,
        *,
        reference: Sequence[int],
        rounds: int,
        replicates: int,
        record: Sequence[int] | None = None,
        paths: int = 0,
        agents: Sequence[int] | None = None,
        linear: bool = False,
        layers: int = 2,
        links: int | None = None,
        draws: int = 0,
        hearing: float | None = None,
    ) -> Design:
        """Check the arguments of :func:`run_process` and cut up the run.

        `hearing` is how many seconds a number that is heard takes, if it is more than a sum.
        """
        rounds = as_integer("rounds", rounds, minimum=1)
        replicates = as_integer("replicates", replicates, minimum=1)
        paths = as_integer("paths", paths, minimum=0)
        if paths > replicates:
            raise fail("paths", f"at most {replicates} replicates", paths, "keep fewer paths")
        hypotheses = len(model.hypotheses)
        chosen = checked_indices("reference", reference, below=hypotheses)
        shown = range(model.agents) if agents is None else agents
        watched = np.array(checked_indices("agents", shown, below=model.agents), dtype=np.int64)
        last = last_round(record, rounds)
        check_work(rounds=last, replicates=replicates, agents=model.agents)
        basis = evidence_basis(model, best=chosen[0]) if linear else None
        columns = hypotheses - 1 if basis is None else len(basis)
        group = group_size(model, columns=columns, replicates=replicates)
        rows = kind_rows(model)
        extent = Extent(
            agents=model.agents,
            links=10 * model.agents if links is None else links,
            sparse=True,
            hypotheses=hypotheses,
            columns=columns,
            rounds=last,
            replicates=replicates,
            # Rounds may be given more than once; there are no more than `last` different ones.
            times=min(DEFAULT_RECORDS if record is None else len(record), last),
            paths=paths,
            plan=dense_plan(model.agents, columns=columns, group=group),
            group=group,
            table=sum(2 * a.size + group * columns * p.size**group for p, a, _ in rows),
            gaussian=any(b.any() for _, _, b in rows),
            hearing=hearing,
        )
        return cls(model, chosen, watched, linear, layers, draws, extent)

    def cost(self, *, workers: int = 1) -> Cost:
        """What the run takes: estimates, with what the process keeps."""
        extent = self.extent
        cost = extent.cost(workers=workers)
        kept = NUMBER * self.layers * extent.agents * extent.room * extent.columns
        more = kept * min(workers, extent.units)
        # Every round is a few calls of its own, and draws.
        each = CALL + DRAW_AND_USE * self.draws * extent.room
        calls = extent.chunks * extent.rounds * each / min(workers, extent.units)
        return replace(
            cost,
            bytes=cost.bytes + more,
            seconds=cost.seconds + calls,
            parts={**cost.parts, "run": cost.parts["run"] + more},
        )

    def work(
        self,
        process: Process,
        *,
        seed: int,
        recorded: IntArray,
        runs: type[ProcessRunner] | None = None,
    ) -> Replicates:
        """The replicates, in units of work, each run by `runs`."""
        extent = self.extent
        runner = (ProcessRunner if runs is None else runs)(
            process,
            self.model,
            best=self.reference[0],
            recorded=recorded,
            watched=self.watched,
            plan=extent.plan,
            group=extent.group,
            linear=self.linear,
        )
        return Replicates(
            runner,
            recorded=recorded,
            agents=self.watched.size,
            hypotheses=extent.hypotheses,
            reference=self.reference,
            replicates=extent.replicates,
            seed=seed,
            paths=extent.paths,
            largest=extent.plan.replicates,
            block=extent.block,
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

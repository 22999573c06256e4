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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from exact.checkpoint import Arrays
from exact.compression import evidence_basis, round_scale
from exact.learning import Chunk, Replicates, with_best
from exact.propagation import Plan, batch_of
from exact.sampling import Sampler, ratios
from theory import FiniteModel
from theory.validation import FloatArray, IntArray

# One loop for every way in which agents may learn round by round ---------------------------------


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


@dataclass(frozen=True, eq=False)
class ProcessRunner:
    """Runs chunks of replicates through a process (:class:`exact.learning.Runner`).

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


# Runs of a process that counts something besides log-ratios, in units of work --------------------


LARGEST = "largest_"
"""How the names of numbers begin of which the largest is kept; none is below zero."""


@runtime_checkable
class Counting(Process, Protocol):
    """A process that counts."""

    def nothing(self) -> Arrays:
        """What it counts of no replicate at all: zeros."""
        ...

    def counted(self, replicates: int) -> Arrays:
        """What it has counted of the first so many replicates since it was restarted."""
        ...


@dataclass(frozen=True, eq=False)
class CountingRunner(ProcessRunner):
    """Runs chunks of replicates through a process that counts, and keeps its counts."""

    @cached_property
    def counts(self) -> Arrays:
        """Of the chunks run so far; whoever reads them may clear them."""
        return {}

    def nothing(self) -> Arrays:
        """The counts of no replicate."""
        assert isinstance(self.process, Counting)
        return self.process.nothing()

    def ended(self, process: Process, chunk: Chunk) -> None:
        """Count the chunk's own replicates, not those that fill it up."""
        assert isinstance(process, Counting)
        if not self.counts:
            self.counts.update(self.nothing())
        _add(self.counts, process.counted(chunk.size))


@dataclass(frozen=True, eq=False)
class CountedWork:
    """Replicates with what their process counts; see :class:`exact.parallel.Work`.

    Attributes
    ----------
    replicates
        All of them, as units of work, run by `runner`.
    runner
        What counts.
    """

    replicates: Replicates
    runner: CountingRunner

    @property
    def units(self) -> int:
        """Units of work."""
        return self.replicates.units

    def amount(self, units: int) -> int:
        """Rounds times replicates of the first `units` units."""
        return self.replicates.amount(units)

    def empty(self) -> Arrays:
        """Sums over no replicate."""
        return {**self.replicates.empty(), **self.runner.nothing()}

    def run(self, unit: int, advanced: Callable[[int], None]) -> Arrays:
        """The sums over one unit's replicates."""
        # Pickled or copied together, `replicates` runs by this very runner.
        self.runner.counts.clear()
        part = self.replicates.run(unit, advanced)
        return {**part, **self.runner.counts}

    def merge(self, total: Arrays, part: Arrays) -> None:
        """Take in the sums of the next unit."""
        self.replicates.merge(total, part)
        _add(total, {name: part[name] for name in self.runner.nothing()})


def counted_work(replicates: Replicates) -> CountedWork:
    """The work of a task whose runner counts."""
    assert isinstance(replicates.runner, CountingRunner)
    return CountedWork(replicates, replicates.runner)


def _add(total: Arrays, part: Arrays) -> None:
    for name, value in part.items():
        combine = np.maximum if name.startswith(LARGEST) else np.add
        total[name] = combine(total[name], value)

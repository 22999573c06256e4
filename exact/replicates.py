"""Replicates of a simulation, in chunks, and the chunks in units of work.

A chunk of replicates runs together, on a random stream of its own. Some consecutive chunks are a
unit (:class:`exact.parallel.Work`): their statistics are taken chunk by chunk and then merged into
those of the units before. Which replicates share a chunk, and which chunks a unit, follows from the
problem alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from exact.checkpoint import Arrays
from exact.statistics import Tally, merge_tallies
from theory.validation import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Chunk:
    """Replicates run together: `size` of them from `begin` on, on their own random stream."""

    begin: int
    size: int
    stream: np.random.SeedSequence


def chunks(replicates: int, *, largest: int, seed: int, first: int = 0) -> Iterator[Chunk]:
    """Cut replicates into chunks of `largest`, the last one perhaps smaller, one at a time.

    The streams are the children of ``SeedSequence(seed)`` in the order of its ``spawn``, made
    from their keys: spawning all at once takes memory for each, and the count of children that
    spawning keeps has 32 bits. The chunks before number `first` are left out.
    """
    for index in itertools.count(first):
        begin = index * largest
        if begin >= replicates:
            return
        stream = np.random.SeedSequence(seed, spawn_key=(index,))
        yield Chunk(begin, min(largest, replicates - begin), stream)


class Runner(Protocol):
    """Runs chunks of replicates; pickled to reach a worker, and then used there many times."""

    @property
    def scale(self) -> FloatArray:
        """As for `Tally`: the largest log-ratio that a single round can add, shape (M,)."""
        ...

    def states(self, chunk: Chunk, advanced: Callable[[int], None]) -> Iterator[FloatArray]:
        """Λ(best, ·) of the chunk at each recorded round in turn, shape (N, size, M).

        What is yielded may be overwritten by the next step. `advanced` hears of rounds done.
        """
        ...


@dataclass(frozen=True, eq=False)
class Replicates:
    """All replicates of a simulation, as units of work.

    Attributes
    ----------
    runner
        What runs a chunk.
    recorded
        Shape (T,): the rounds at which it yields Λ; the last one is the last to be run.
    agents, hypotheses, reference
        N and M of what it yields, and the hypotheses an agent may hold without being wrong.
    replicates, seed, paths
        R, the seed, and the number of replicates to keep Λ of.
    largest, block
        Replicates of a chunk, and chunks of a unit.
    """

    runner: Runner
    recorded: IntArray
    agents: int
    hypotheses: int
    reference: tuple[int, ...]
    replicates: int
    seed: int
    paths: int
    largest: int
    block: int

    @property
    def units(self) -> int:
        """Units of work."""
        return -(-self.replicates // (self.largest * self.block))

    def amount(self, units: int) -> int:
        """Rounds times replicates of the first `units` units."""
        return int(self.recorded[-1]) * min(self.replicates, units * self.largest * self.block)

    def empty(self) -> Arrays:
        """Sums over no replicate, with room for all paths."""
        return {**self._tally(np.zeros(self.hypotheses)).arrays(), "paths": self._room(self.paths)}

    def run(self, unit: int, advanced: Callable[[int], None]) -> Arrays:
        """The sums over one unit's replicates."""
        tally = self._tally(self.runner.scale)
        begin = unit * self.block * self.largest
        end = min(self.replicates, begin + self.block * self.largest)
        kept = self._room(max(0, min(end, self.paths) - begin))
        own = chunks(end, largest=self.largest, seed=self.seed, first=unit * self.block)
        for chunk in own:
            size = chunk.size

            def rounds(done: int, size: int = size) -> None:
                advanced(done * size)

            first = chunk.begin - begin
            paths = max(0, min(size, len(kept) - first))
            places = itertools.count()
            for log_ratios in self.runner.states(chunk, rounds):
                index = next(places)
                tally.add(index, log_ratios)
                kept[first : first + paths, index] = log_ratios[:, :paths].swapaxes(0, 1)
                # Not to hold them while the next ones are computed.
                del log_ratios
        return {**tally.arrays(), "paths": kept}

    def merge(self, total: Arrays, part: Arrays) -> None:
        """Take in the sums of the next unit."""
        begin = int(total["each_counts"][0])
        total["paths"][begin : begin + len(part["paths"])] = part["paths"]
        merge_tallies(total, part)

    def _tally(self, scale: FloatArray) -> Tally:
        return Tally(
            self.recorded,
            agents=self.agents,
            hypotheses=self.hypotheses,
            reference=self.reference,
            scale=scale,
        )

    def _room(self, paths: int) -> FloatArray:
        return np.zeros((paths, self.recorded.size, self.agents, self.hypotheses))

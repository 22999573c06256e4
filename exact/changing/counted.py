"""Runs of a process that counts something besides log-ratios, in units of work.

The process says what it counted of a chunk; units and then all replicates add it up, but for what
is named `largest_…`, of which the largest is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from exact.changing.process import Process, ProcessRunner
from exact.checkpoint import Arrays
from exact.replicates import Chunk, Replicates

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

"""A run with faulty agents in units of work, and the messages that were thrown away in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exact.changing.process import Process, ProcessRunner
from exact.checkpoint import Arrays
from exact.faults.process import FaultyProcess
from exact.replicates import Chunk, Replicates
from theory.validation import IntArray


@dataclass(frozen=True, eq=False)
class FaultyRunner(ProcessRunner):
    """Runs chunks of replicates among faulty agents, and adds up what was thrown away."""

    @cached_property
    def discarded(self) -> IntArray:
        """Shape (N,): messages of the chunks run so far; whoever reads it may set it to zero."""
        return np.zeros(self.model.agents, dtype=np.int64)

    def ended(self, process: Process, chunk: Chunk) -> None:
        """Count the chunk's own replicates, not those that fill it up."""
        assert isinstance(process, FaultyProcess)
        self.discarded[:] += process.discarded[:, : chunk.size].sum(axis=1)


@dataclass(frozen=True, eq=False)
class FaultyWork:
    """Replicates with their count of messages thrown away; see :class:`exact.parallel.Work`.

    Attributes
    ----------
    replicates
        All of them, as units of work, run by `runner`.
    runner
        What counts.
    """

    replicates: Replicates
    runner: FaultyRunner

    @property
    def units(self) -> int:
        """Units of work."""
        return self.replicates.units

    def amount(self, units: int) -> int:
        """Rounds times replicates of the first `units` units."""
        return self.replicates.amount(units)

    def empty(self) -> Arrays:
        """Sums over no replicate."""
        return {
            **self.replicates.empty(),
            "discarded": np.zeros(self.runner.model.agents, dtype=np.int64),
        }

    def run(self, unit: int, advanced: Callable[[int], None]) -> Arrays:
        """The sums over one unit's replicates."""
        # Pickled or copied together, `replicates` runs by this very runner.
        self.runner.discarded[:] = 0
        part = self.replicates.run(unit, advanced)
        return {**part, "discarded": self.runner.discarded.copy()}

    def merge(self, total: Arrays, part: Arrays) -> None:
        """Take in the sums of the next unit."""
        self.replicates.merge(total, part)
        total["discarded"] += part["discarded"]

"""How a simulation is run: how long, how often, from which seed, on how many processes.

A :class:`Run` says it once for everything that can be simulated, finite models on networks that
stay, change or have faulty agents (:func:`exact.simulate`), and regressions
(:func:`exact.simulate_regression`). What it says of the machine changes no number of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exact.checkpoint import Arrays, Checkpoint, fingerprint
from exact.limits import as_memory
from exact.parallel import Work, check_backend, run_units
from theory.progress import Progress
from theory.showing import Shown
from theory.validation import IntArray, as_integer, fail

DEFAULT_RECORDS = 20


@dataclass(frozen=True, kw_only=True)
class Run(Shown):
    """How a simulation is run.

    The same network, model, rounds, replicates, seed, record and paths give the same numbers, up
    to rounding in the linear algebra library; everything else changes none.

    Attributes
    ----------
    rounds, replicates
        n ≥ 1 and R ≥ 1. Rounds are ticks where a network has clocks.
    seed
        A whole number of at least 0.
    record
        Rounds at which to keep statistics, between 1 and `rounds`; about 20, evenly spread on a
        logarithmic scale and with the last one, if None. They take 16·T·N·M bytes of M hypotheses,
        and twice that at the end; in a regression, solving for beliefs there is much of the cost.
    paths
        Number of replicates, at most `replicates`, whose log-ratios are kept.
    workers, backend
        How many processes share the replicates, and where they come from: see
        :func:`exact.parallel.run_units`.
    memory
        Most bytes the run may take, as a number or as "500M" or "2GiB"; three quarters of the
        machine's memory if None.
    checkpoint, resume
        A file to keep the sums in from time to time, removed at the end; and whether to go on from
        it if it is there. Without `resume` it is overwritten.
    progress
        Called as progress(done, total), in rounds times replicates.

    Raises
    ------
    ValueError
        If a number is out of range, more paths are to be kept than there are replicates, a size
        or a backend is not known, or a run without a checkpoint is to be resumed.

    Examples
    --------
    >>> Run(rounds=100, replicates=400, seed=1).recorded[-3:]
    array([ 62,  78, 100])
    """

    rounds: int
    replicates: int
    seed: int
    record: Sequence[int] | None = None
    paths: int = 0
    workers: int = 1
    backend: str | None = None
    memory: int | str | None = None
    checkpoint: str | Path | None = None
    resume: bool = False
    progress: Progress | None = None

    def __post_init__(self) -> None:
        for name, least in (("rounds", 1), ("replicates", 1), ("seed", 0), ("paths", 0)):
            object.__setattr__(self, name, as_integer(name, getattr(self, name), minimum=least))
        object.__setattr__(self, "workers", as_integer("workers", self.workers, minimum=1))
        if self.paths > self.replicates:
            expected = f"at most {self.replicates} replicates"
            raise fail("paths", expected, self.paths, "keep fewer paths")
        if self.record is not None:
            last_round(self.record, self.rounds)
            # A range may be too long to go through; it cannot change either.
            if not isinstance(self.record, range):
                object.__setattr__(self, "record", tuple(int(n) for n in self.record))
        if self.memory is not None:
            object.__setattr__(self, "memory", as_memory("memory", self.memory))
        check_backend(self.backend)
        if self.resume and self.checkpoint is None:
            raise fail(
                "resume", "a checkpoint to go on from", "none", "name the file, or start afresh"
            )

    @property
    def last(self) -> int:
        """The last round that is recorded, which is the last one that is run."""
        return last_round(self.record, self.rounds)

    @property
    def times(self) -> int:
        """How many rounds are recorded at most; the record's length must be countable."""
        # Rounds may be given more than once; there are no more than `last` different ones.
        return min(DEFAULT_RECORDS if self.record is None else len(self.record), self.last)

    @property
    def recorded(self) -> IntArray:
        """The T rounds that are recorded, increasing; shape (T,)."""
        return recorded_rounds(self.record, self.rounds)

    def sums(self, work: Work, identity: Callable[[], tuple[object, ...]]) -> Arrays:
        """Run all units of some work and return their sums.

        Parameters
        ----------
        identity
            Gives what the sums follow from, which a checkpoint is known by; asked if there is one.

        Raises
        ------
        ValueError
            As for :func:`exact.parallel.run_units`.
        """
        kept = None
        if self.checkpoint is not None:
            mark = fingerprint(*identity())
            kept = Checkpoint(Path(self.checkpoint), mark, resume=self.resume)
        return run_units(
            work,
            workers=self.workers,
            backend=self.backend,
            checkpoint=kept,
            progress=self.progress,
        )


def last_round(record: Sequence[int] | None, rounds: int) -> int:
    """The last round to record, without going through a range."""
    if record is None:
        return rounds
    # A range may name more rounds than can be gone through, or than `len` can count.
    ends = isinstance(record, range) and bool(record)
    values = (record[0], record[-1]) if ends else record
    chosen = [as_integer("record", value, minimum=1) for value in values]
    if not chosen:
        raise fail("record", "at least one round", "none", f"record the last one, {rounds}")
    last = max(chosen)
    if last > rounds:
        raise fail("record", f"rounds up to {rounds}", last, "simulate more rounds")
    return last


def recorded_rounds(record: Sequence[int] | None, rounds: int) -> IntArray:
    """The rounds to record, increasing; by default about 20 on a logarithmic scale."""
    last_round(record, rounds)
    if record is None:
        if rounds <= DEFAULT_RECORDS:
            return np.arange(1, rounds + 1)
        return np.unique(np.rint(np.geomspace(1, rounds, DEFAULT_RECORDS)).astype(np.int64))
    return np.unique(np.array(record, dtype=np.int64))

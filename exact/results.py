"""What simulations of finitely many hypotheses measured, whatever the kind of network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exact.checkpoint import Arrays, Checkpoint, fingerprint
from exact.cost import as_memory
from exact.parallel import Work, check_backend, run_units
from exact.statistics import Proportion, proportion, standard_error
from theory import FiniteModel
from theory.frames import frame, long_columns
from theory.progress import Progress
from theory.showing import Shown, Value
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only

if TYPE_CHECKING:
    import pandas as pd


# How a simulation is run -------------------------------------------------------------------------


DEFAULT_RECORDS = 20
MANY_RECORDS = 1000


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

    @property
    def stretch(self) -> int:
        """Rounds between the recorded ones before and after a round, in the mean over rounds."""
        if self.times > MANY_RECORDS:  # perhaps too many to be written out
            return self.last // self.times
        gaps = np.diff(self.recorded, prepend=0)
        return int(gaps / self.last @ gaps)

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


# What simulations of finitely many hypotheses measured, whatever the kind of network -------------


@dataclass(frozen=True, eq=False)
class Rates(Shown):
    """Measured rates of rejection, Λ_i^(n)(best, θ)/n, in nats per round.

    Attributes
    ----------
    mean, standard_error
        Shape (N, M): over replicates; floating-point estimates.
    rounds
        The number n of rounds.
    """

    mean: FloatArray
    standard_error: FloatArray
    rounds: int


@dataclass(frozen=True, eq=False)
class MeasuredMessages(Value):
    """What was sent in a simulation of compressed beliefs, in all rounds and replicates.

    Attributes
    ----------
    sent
        Shape (N,): messages of each agent, each counted once however many agents hear it.
    bytes_per_round
        Of all links together, in the mean over rounds and replicates; None where a message has no
        code of fixed length.
    bytes_standard_error
        Of the mean over replicates; None as above, NaN for a single replicate.
    entropy
        In bits: of the numbers that were sent, taken as independent draws of one law. An estimate
        of what an entropy coder would need for one; NaN if nothing was sent.
    largest_error, largest_deviation
        In nats: the most by which a replica was off after a round, and a log-ratio against the
        first hypothesis differed from that of the run without compression.
    """

    sent: IntArray
    bytes_per_round: float | None
    bytes_standard_error: float | None
    entropy: float
    largest_error: float
    largest_deviation: float


@dataclass(frozen=True, eq=False)
class Simulation(Shown):
    """What a simulation measured, at T recorded rounds; estimates over R replicates.

    The statistics are about H agents, the honest ones: all N of them where nobody is faulty.

    Attributes
    ----------
    rounds
        Shape (T,): the recorded rounds.
    replicates, seed, hypotheses
        As given; the names of the M hypotheses.
    reference
        Θ* of these agents, or their compromise if Θ* is empty; `best` is its first member.
    mean, standard_error
        Shape (T, H, M): of Λ_i^(n)(best, θ) in nats; zero in the column of `best`. The standard
        error is NaN for a single replicate.
    network_mean, network_standard_error
        Shape (T, M): of the average of Λ over agents.
    errors
        Shape (T,): replicates in which some agent's arg max is outside `reference`; a tie with a
        hypothesis outside counts.
    agent_errors
        Shape (T, H): the same for each agent.
    settled
        Shape (T, M): how many of the R·H pairs of replicate and agent have arg max θ. Where a tie
        counts as an error, it is counted for the hypothesis outside `reference`.
    paths
        Shape (P, T, H, M): Λ(best, ·) of the first P replicates.
    watched
        Shape (H,): the agents that the statistics are about, in their order.
    discarded
        Shape (N,): messages that each agent threw away, in all rounds and replicates; zeros where
        no rule does.
    messages
        What was sent, if beliefs were compressed; None if not.
    """

    rounds: IntArray
    replicates: int
    seed: int
    hypotheses: tuple[str, ...]
    reference: tuple[int, ...]
    mean: FloatArray
    standard_error: FloatArray
    network_mean: FloatArray
    network_standard_error: FloatArray
    errors: IntArray
    agent_errors: IntArray
    settled: IntArray
    paths: FloatArray
    watched: IntArray
    discarded: IntArray
    messages: MeasuredMessages | None = None

    @property
    def best(self) -> int:
        """The hypothesis all log-ratios are taken against."""
        return self.reference[0]

    @cached_property
    def rates(self) -> Rates:
        """Per-agent rates at the last recorded round."""
        last = int(self.rounds[-1])
        return Rates(
            mean=read_only(self.mean[-1] / last),
            standard_error=read_only(self.standard_error[-1] / last),
            rounds=last,
        )

    def to_frame(self) -> pd.DataFrame:
        """A table of the rates at the last recorded round: a row for each agent and hypothesis.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        axes: dict[str, Iterable[object]] = {"agent": self.watched, "hypothesis": self.hypotheses}
        rates = self.rates
        return frame(long_columns(axes, rate=rates.mean, standard_error=rates.standard_error))

    def error_probability(self, round_index: int = -1, *, confidence: float = 0.95) -> Proportion:
        """How often some agent was wrong, with its Clopper–Pearson interval.

        Parameters
        ----------
        round_index
            Index into `rounds`; the last by default.
        confidence
            Coverage, in (0, 1).
        """
        count = int(self.errors[round_index])
        return proportion(count, self.replicates, confidence=confidence)


def measured(
    sums: Arrays, *, run: Run, model: FiniteModel, reference: tuple[int, ...], watched: IntArray
) -> Simulation:
    """What the sums over all replicates say; the sums themselves become read-only."""
    count = run.replicates
    discarded = sums.get("discarded", np.zeros(model.agents, dtype=np.int64))
    return Simulation(
        rounds=read_only(run.recorded),
        replicates=count,
        seed=run.seed,
        hypotheses=model.hypotheses,
        reference=reference,
        mean=read_only(sums["each_mean"]),
        standard_error=read_only(standard_error(sums["each_squares"], count)),
        network_mean=read_only(sums["network_mean"]),
        network_standard_error=read_only(standard_error(sums["network_squares"], count)),
        errors=read_only(sums["errors"]),
        agent_errors=read_only(sums["agent_errors"]),
        settled=read_only(sums["settled"]),
        paths=read_only(sums["paths"]),
        watched=read_only(watched),
        discarded=read_only(discarded),
        messages=_messages(sums, count, run.last) if "sent" in sums else None,
    )


def _messages(sums: Arrays, replicates: int, rounds: int) -> MeasuredMessages:
    """What was sent in so many rounds of each replicate."""
    cells = sums["sent_cells"][sums["sent_cells"] > 0]
    shares = cells / cells.sum() if cells.size else np.array([np.nan])
    each, error = None, None
    # Empty where a message has no code.
    if sums["sent_bytes"].size:
        total, squares = float(sums["sent_bytes"][0]), sums["sent_bytes_squares"]
        each = total / (replicates * rounds)
        spread = np.maximum(squares - total * (total / replicates), 0.0)
        error = float(standard_error(spread, replicates)[0]) / rounds
    return MeasuredMessages(
        sent=read_only(sums["sent"]),
        bytes_per_round=each,
        bytes_standard_error=error,
        entropy=float(abs((shares * np.log2(shares)).sum())),
        largest_error=float(sums["largest_error"][0]),
        largest_deviation=float(sums["largest_deviation"][0]),
    )

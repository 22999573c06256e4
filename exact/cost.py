"""What a simulation will take, in memory and in time, worked out from its sizes alone.

Bytes are an upper estimate of what a run takes beyond the network and the model; measured peaks lie
between a third of it and all of it. Seconds are a rough estimate, from what elementary steps take
on a common core; another machine may be two or three times quicker or slower.

The same seconds decide how many chunks of replicates make a unit of work. That, too, is a function
of the sizes alone: numbers must not depend on who runs them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import ceil

from exact.parallel import AHEAD
from exact.propagation import Plan, batch_of, counted_work
from theory.showing import Shown
from theory.validation import as_integer, fail

# What a simulation would cost, worked out before it starts ---------------------------------------


# Observations drawn in one run: more than a month of one core at 3·10⁷ a second, which is about
# what a core does on small networks. It keeps all counts well within 64 bits, too.
LARGEST_WORK = 10**14

# What a run may ask for: the share of the machine's memory left by the rest of what runs there,
# or this where the system does not tell how much there is.
MEMORY_SHARE = (3, 4)
UNKNOWN_MEMORY = 8 << 30

NUMBER = 8  # bytes of a float64, and of a count


def check_work(*, rounds: int, replicates: int, agents: int) -> None:
    """Refuse a run of more than `LARGEST_WORK` observations; `rounds` is the last recorded one.

    Raises
    ------
    ValueError
        If rounds · replicates · agents exceeds the limit.
    """
    work = rounds * replicates * agents
    if work > LARGEST_WORK:
        raise fail(
            "rounds × replicates × agents",
            f"at most {scientific(LARGEST_WORK)} observations, about a month of one core",
            f"{rounds} × {replicates} × {agents} = {scientific(work)}",
            "ask for fewer rounds or replicates, or a smaller network",
        )


def memory_limit() -> int:
    """Bytes a run may ask for: three quarters of the machine's memory, or 8 GiB if not known."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # no such call, or no such name
        return UNKNOWN_MEMORY
    if memory <= 0 or os.sysconf("SC_PHYS_PAGES") < 0:
        return UNKNOWN_MEMORY
    part, whole = MEMORY_SHARE
    return memory * part // whole


def as_memory(argument: str, value: int | str) -> int:
    """A number of bytes, at least one: as it is, or as text such as "500M" or "2GiB".

    K, M, G, T stand for powers of 1000, Ki, Mi, Gi, Ti for powers of 1024; a B may follow.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> as_memory("memory", "500M"), as_memory("memory", "1.5GiB"), as_memory("memory", 2**30)
    (500000000, 1610612736, 1073741824)
    """
    if not isinstance(value, str):
        return as_integer(argument, value, minimum=1)
    match = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?) *([KMGT]?)(i?)B?", value, re.IGNORECASE)
    if match is not None and not (match[3] and not match[2]):
        power = " KMGT".index(match[2].upper() or " ")
        size = int(Decimal(match[1]) * (1024 if match[3] else 1000) ** power)
        if size > 0:
            return size
    raise fail(
        argument, "a size such as 500M or 2GiB", repr(value[:60]), "give a number and its unit"
    )


def scientific(number: int) -> str:
    """Three digits and a power of ten, however large: a float would overflow."""
    return f"{Decimal(number).normalize():.3g}"


def gibibytes(size: int) -> str:
    """A number of bytes in GiB, to two digits or so, however large."""
    value = (Decimal(size) / (1 << 30)).normalize()
    return f"{value:.0f}" if 10 <= value < 10**6 else f"{value:.2g}"


# What a simulation will take, in memory and in time, worked out from its sizes alone -------------


# Seconds, on one core of a cloud server: of drawing a symbol, a normal number; of looking up or
# adding a number; of a multiplication and an addition, dense and sparse; of a number's share of
# the statistics at a recorded round; and of the calls around a batch and a recorded round.
DRAW, NORMAL = 4e-9, 1e-8
LOOK_UP, DENSE, SPARSE = 1e-9, 5e-11, 5e-10
RECORD = 2e-8
CALL, RECORD_CALL = 3e-5, 3e-4
# Loading what is compiled, and starting a process.
START, PROCESS = 0.5, 1.5

# A unit of work lasts about as long as this, so that handing it over costs little beside it.
UNIT_SECONDS = 0.5

# A process with its libraries, and what a run takes whatever its size.
LIBRARIES = 220 << 20
SMALL = 8 << 20


@dataclass(frozen=True)
class Cost(Shown):
    """What a run takes: estimates.

    Attributes
    ----------
    bytes
        Memory at the peak beyond the network and the model, of all processes together.
    seconds
        On a common core for each worker; with those for v, on a network that does not change.
    parts
        The bytes of what is kept of the recorded rounds ("statistics"), of replicates that are
        kept whole ("paths"), of the run itself ("run"), of its results on the way ("results") and
        of the other processes' libraries ("processes").
    units
        Into how many units of work it is cut; more workers than units do not help.
    checkpoint
        Bytes of a checkpoint on disk.
    """

    bytes: int
    seconds: float
    parts: Mapping[str, int]
    units: int
    checkpoint: int


@dataclass(frozen=True)
class Extent:
    """The sizes that a simulation's cost follows from.

    Attributes
    ----------
    agents, links, sparse
        N, the non-zero weights, and whether they are stored sparsely.
    hypotheses, columns
        M, and C, the columns carried from round to round.
    rounds, replicates, times, paths
        n, R, T recorded rounds, and P replicates of which Λ is kept.
    plan, group
        How the run is cut up, and the replicates that share a symbol.
    table
        Numbers in the look-up tables.
    gaussian
        Whether some agents draw normal numbers.
    hearing
        Seconds for a number that is heard; what a multiplication and an addition take if left out.
    stationary
        Seconds for the stationary distribution, by which it is known who is right.
    features
        Counts and sums of an agent's observations, where they are counted.
    """

    agents: int
    links: int
    sparse: bool
    hypotheses: int
    columns: int
    rounds: int
    replicates: int
    times: int
    paths: int
    plan: Plan
    group: int
    table: int
    gaussian: bool
    hearing: float | None = None
    stationary: float = 0.0
    features: int = 0

    @property
    def room(self) -> int:
        """Replicates that a chunk has room for."""
        return self.plan.storage(min(self.plan.replicates, self.replicates))

    @property
    def chunks(self) -> int:
        """Chunks of replicates."""
        return -(-self.replicates // self.plan.replicates)

    @property
    def block(self) -> int:
        """Chunks that make a unit of work."""
        return max(1, min(self.chunks, int(UNIT_SECONDS / self.chunk_seconds)))

    @property
    def units(self) -> int:
        """Units of work."""
        return -(-self.chunks // self.block)

    @property
    def chunk_seconds(self) -> float:
        """How long a chunk takes: an estimate."""
        rows = float(self.agents * self.room)
        drawn = DRAW / self.group + (NORMAL + LOOK_UP * self.columns) * self.gaussian
        numbers, work = self.columns, float(self.columns)
        if self.plan.counted:
            numbers = self.features
            work = counted_work(columns=self.columns, features=numbers, rounds=self.plan.counted)
        looked_up = LOOK_UP * numbers
        hearing = SPARSE if self.sparse else DENSE
        hearing = hearing if self.hearing is None else self.hearing
        heard = self.links / self.agents * work * hearing
        batch = batch_of(self.plan, self.agents * max(1, self.room // self.group))
        calls = CALL * self.rounds / min(batch, self.plan.depth)
        recorded = RECORD_CALL + RECORD * rows * self.hypotheses
        return self.rounds * rows * (drawn + looked_up + heard) + calls + self.times * recorded

    def cost(self, *, workers: int = 1) -> Cost:
        """The cost with that many workers."""
        workers = min(workers, self.units)
        numbers = self.agents * self.hypotheses
        # Means and squares, for agents and for their average; counts of errors and of what was
        # settled on.
        sums = self.times * (2 * (numbers + self.hypotheses) + self.agents + self.hypotheses)
        each = self.times * numbers
        kept = min(self.paths, self.block * self.plan.replicates)
        part = NUMBER * (sums + kept * each)
        parts = {
            # At first one unit's and those of all before it; at the end means, squares, standard
            # errors.
            "statistics": 2 * NUMBER * sums,
            "paths": NUMBER * (self.paths + kept) * each,
            "run": self.run_bytes,
        }
        if workers > 1:
            # Each worker has its sums twice, one of them on its way; some wait to be merged.
            parts["run"] *= workers
            parts["results"] = (2 + AHEAD) * workers * part
            parts["processes"] = workers * LIBRARIES
        once = START + PROCESS * (workers > 1) + self.stationary
        return Cost(
            bytes=sum(parts.values()),
            seconds=once + self.chunks * self.chunk_seconds / workers,
            parts=parts,
            units=self.units,
            checkpoint=NUMBER * (sums + self.paths * each),
        )

    @property
    def run_bytes(self) -> int:
        """Memory of what one process runs, its results left out."""
        rows = self.agents * self.room
        # Three copies of Λ of a chunk where statistics are taken: itself, one without the best
        # hypothesis, and deviations from the mean or the rows of those who are wrong; and who is
        # wrong, by how much, and in favour of what.
        chunk = rows * (3 * self.hypotheses + 5)
        layers = 3 if self.sparse else self.plan.depth + 2
        # Words, symbols and noise.
        batch = min(self.rounds, batch_of(self.plan, max(1, self.room // self.group) * self.agents))
        draws = batch * rows * (2 / self.group + self.gaussian)
        if self.gaussian and not self.sparse:
            draws += 2 * min(batch, self.plan.depth) * rows * self.columns
        private = rows * self.columns if self.sparse else 0
        # W and elimination's copy; or with agents in another order, and with its transpose.
        weights = (6 if self.sparse else 3) * self.links
        prior = 3 * self.agents * self.columns + 6 * self.agents
        numbers = layers * rows * self.columns + max(chunk, ceil(draws), private)
        # Powers of W, and one of them; what first outcomes add; counts, and what is counted.
        counted = self.plan.counted
        if counted:
            numbers += self.agents * (counted + 2) * (self.agents + self.columns)
            numbers += self.features * rows * (self.agents + 2 * counted)
        return NUMBER * (numbers + weights + prior + 3 * self.table) + SMALL


def check_cost(cost: Cost, *, memory: int | str | None = None) -> None:
    """Refuse a run that would take more than `memory`, in bytes or as "500M".

    If None, it may take three quarters of the machine's memory.

    Raises
    ------
    ValueError
        If it would, with the remedy for the largest part.
    """
    limit = memory_limit() if memory is None else as_memory("memory", memory)
    if cost.bytes <= limit:
        return
    largest = max(cost.parts, key=lambda name: cost.parts[name])
    remedy = REMEDIES[largest] + ("" if memory is None else ", or allow more memory")
    raise fail(
        "memory",
        f"at most {gibibytes(limit)} GiB for the run and what is kept of it",
        f"about {gibibytes(cost.bytes)} GiB, most of it for {MEANINGS[largest]}",
        remedy,
    )


MEANINGS = {
    "statistics": "the recorded rounds",
    "paths": "the paths kept",
    "run": "the run itself",
    "results": "the workers' results",
    "processes": "the workers' libraries",
}
REMEDIES = {
    "statistics": "record fewer rounds, or take fewer agents or hypotheses",
    "paths": "keep fewer paths",
    "run": "take fewer agents, hypotheses or workers",
    "results": "use fewer workers or record fewer rounds",
    "processes": "use fewer workers",
}

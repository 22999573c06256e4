"""What a simulated regression would take, worked out before it starts, and how it is cut up.

Both are functions of the problem alone. Seconds come from rates of one core, round numbers that
hold within a factor of two or three on the machines they were measured on: enough to tell a minute
from a day.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from exact.checkpoint import Arrays
from exact.cost import as_memory, gibibytes, memory_limit
from exact.parallel import Advanced
from exact.regression.beliefs import GaussianBeliefs
from exact.regression.results import RegressionTally, merge_regressions
from exact.regression.state import Carrier, Columns, Observer, Samples
from exact.regression.yardstick import Yardstick
from theory.regression import RegressionModel
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, fail

# What a simulated regression would take, worked out before it starts, and how it is cut up -------


# A chunk's state, of which there are two copies, should stay in a core's own cache.
STATE_BYTES = 5 << 17
QUANTUM = 8  # numbers of a cache line
MOST_TOGETHER = 512
# Beyond this, a chunk of eight replicates gives way to single ones.
LARGEST_STATE = 1 << 30
# The work of a unit at least, so that handing it out costs little.
UNIT_SECONDS = 0.25

# Rates of one core.
PRODUCT_FLOPS = 4e10
SPARSE_FLOPS = 6e9
SOLVE_FLOPS = 5e9
SOLVE_CALLS = 2e-7
DRAWS = 1.2e8
TERMS = 1e9
COPIED = 1e9

NUMBER = 8
# A process with its libraries, and what a run takes whatever its size.
LIBRARIES = 220 << 20
SMALL = 8 << 20


@dataclass(frozen=True)
class RegressionCost(Shown):
    """A rough prediction: bytes at the peak, seconds of one core, and where they go.

    Attributes
    ----------
    bytes, seconds
        Totals. Bytes are beyond what the network and the model take already.
    memory, time
        Their parts, by name.
    """

    memory: Mapping[str, int]
    time: Mapping[str, float]

    @property
    def bytes(self) -> int:
        """Bytes at the peak."""
        return sum(self.memory.values())

    @property
    def seconds(self) -> float:
        """Seconds of one core."""
        return sum(self.time.values())


@dataclass(frozen=True)
class RegressionPlan:
    """How a run is cut up.

    Attributes
    ----------
    together
        Replicates of a chunk, which are carried side by side on streams of their own.
    chunks
        Chunks of a unit, the piece that workers are handed.
    """

    together: int
    chunks: int

    @property
    def unit(self) -> int:
        """Replicates of a unit."""
        return self.together * self.chunks


@dataclass(frozen=True)
class Load:
    """The sizes that decide what a run costs.

    Attributes
    ----------
    learners, columns, dimension
        N, the P live pairs of coordinates, and d.
    samples, rows, terms
        A round's samples S, rows of inputs, and products that one replicate's round adds.
    links
        Entries of W other than zero, 0 if nobody listens to anybody; None for a dense W.
    quantities
        Numbers kept of a belief.
    pooled, drawn
        Rounds that go through W, and all rounds.
    times
        T recorded rounds.
    shared
        Whether precisions are the same in all replicates.
    """

    learners: int
    columns: int
    dimension: int
    samples: int
    rows: int
    terms: int
    links: int | None
    quantities: int
    pooled: int
    drawn: int
    times: int
    shared: bool

    def width(self, replicates: int) -> int:
        """Columns of the state of so many replicates."""
        return self.columns * (1 if self.shared else replicates) + self.dimension * replicates

    def plan(self) -> RegressionPlan:
        """Chunks that stay in cache, and units that last long enough."""
        row = NUMBER * self.learners
        room = STATE_BYTES // (row * self.width(1))
        together = min(max(QUANTUM, room // QUANTUM * QUANTUM), MOST_TOGETHER)
        if row * self.width(together) > LARGEST_STATE:
            together = 1
        chunk = sum(self.seconds(together).values())
        return RegressionPlan(together, max(1, math.ceil(UNIT_SECONDS / chunk)))

    def seconds(self, replicates: int) -> dict[str, float]:
        """Seconds that so many replicates take, by part of the work; an estimate."""
        width = self.width(replicates)
        copies = 1 if self.shared else replicates
        links = self.learners**2 if self.links is None else self.links
        rate = PRODUCT_FLOPS if self.links is None else SPARSE_FLOPS
        d = self.dimension
        # A factor, its inverse, and the products with it.
        solves = self.times * self.learners * copies
        numbers = self.rows * copies + self.samples * replicates
        return {
            "products with W": 2.0 * links * width * (self.pooled + self.times) / rate,
            "drawing": self.drawn * numbers / DRAWS,
            "adding up": self.drawn * self.terms * replicates / TERMS
            + self.pooled * self.learners * width / COPIED,
            "solving": solves * (3.0 * d**3 / SOLVE_FLOPS + (d + 8) * SOLVE_CALLS),
        }

    def cost(self, replicates: int, *, workers: int = 1) -> RegressionCost:
        """Memory and time of a run of so many replicates, spread over processes; estimates."""
        plan = self.plan()
        together = min(plan.together, -(-replicates // QUANTUM) * QUANTUM)
        copies = 1 if self.shared else together
        states = 2 if self.links != 0 else 1
        d = self.dimension
        kept = self.times * self.learners * (4 * self.quantities + d)
        piece = min(self.learners * copies, max(1 << 21, d * d * copies) // (d * d) + 1)
        memory = {
            # Totals, a unit's sums, and the arrays of the result.
            "what is kept": NUMBER * 3 * kept,
            "the state": NUMBER * states * self.learners * self.width(together),
            "the priors": NUMBER * 2 * self.learners * d * d,
            "drawing": NUMBER * 2 * (1 << 15) + NUMBER * 3 * together * (self.rows + self.samples),
            "what any run takes": SMALL,
            "solving": NUMBER * 7 * piece * d * d
            + NUMBER * 3 * self.learners * together * self.quantities,
        }
        if workers > 1:
            for part in memory.keys() - {"what is kept"}:
                memory[part] *= workers
            # Each has its libraries, and sums on their way.
            memory["processes"] = (workers + 1) * (LIBRARIES + NUMBER * kept)
        time = {part: value for part, value in self.seconds(replicates).items() if value}
        return RegressionCost(memory, time)


REMEDIES = {
    "what is kept": "record fewer rounds, or give fewer directions",
    "the state": "take fewer agents or coefficients",
    "the priors": "take fewer agents or coefficients",
    "drawing": "use smaller batches",
    "solving": "take fewer coefficients",
    "processes": "use fewer workers",
    "what any run takes": "allow more memory",
}


def check_regression_cost(cost: RegressionCost, memory: int | str | None) -> None:
    """Refuse a run of more memory than `memory`, or than :func:`exact.cost.memory_limit`.

    Raises
    ------
    ValueError
        One line, with what takes most of it.
    """
    limit = memory_limit() if memory is None else as_memory("memory", memory)
    if cost.bytes > limit:
        largest = max(cost.memory, key=cost.memory.__getitem__)
        raise fail(
            "memory",
            f"a run within {gibibytes(limit)} GiB",
            f"about {gibibytes(cost.bytes)} GiB, {largest} most of it",
            REMEDIES[largest],
        )


def pooled_rounds(rounds: IntArray, settled: int) -> int:
    """How many rounds go through W: the last `settled` before each record, where there are gaps."""
    gaps = np.diff(rounds, prepend=0)
    return int(np.minimum(gaps, settled).sum())


# Replicates of a simulated regression, in units that may be spread over processes ----------------


@dataclass(frozen=True, eq=False)
class RegressionWork:
    """A simulation, ready to run and cut into units; see :class:`exact.parallel.Work`."""

    weights: FloatArray | csr_array | None
    distribution: FloatArray
    settled: int
    model: RegressionModel
    samples: Samples
    prior: GaussianBeliefs
    yardstick: Yardstick
    rounds: IntArray
    replicates: int
    seed: int
    shared: bool

    @cached_property
    def columns(self) -> Columns:
        """Where the entries of precisions are kept."""
        return Columns.of(self.model, self.prior)

    @cached_property
    def load(self) -> Load:
        """The sizes that decide the cost."""
        seen = np.diff(self.samples.start)
        links: int | None = 0
        pooled = 0
        if self.weights is not None:
            links = self.weights.nnz if isinstance(self.weights, csr_array) else None
            pooled = pooled_rounds(self.rounds, self.settled)
        return Load(
            learners=self.prior.agents,
            columns=len(self.columns.pairs),
            dimension=self.prior.dimension,
            samples=len(self.samples.owner),
            rows=self.samples.rows,
            terms=int((seen * (seen + 1) // 2 + 2 * seen).sum()),
            links=links,
            quantities=self.yardstick.quantities,
            pooled=pooled,
            drawn=int(self.rounds[-1]),
            times=self.rounds.size,
            shared=self.shared,
        )

    @cached_property
    def plan(self) -> RegressionPlan:
        """How the replicates are cut up."""
        return self.load.plan()

    @property
    def units(self) -> int:
        """How many units there are."""
        return -(-self.replicates // self.plan.unit)

    def amount(self, units: int) -> int:
        """Rounds times replicates of the first `units` units."""
        return int(self.rounds[-1]) * min(self.replicates, units * self.plan.unit)

    @property
    def carrier(self) -> Carrier:
        """What carries a chunk of replicates through the rounds."""
        return Carrier(
            self.weights, self.distribution, self.settled, self.samples, self.columns,
            self.model.theta, self.prior,
        )  # fmt: skip

    def observers(self, unit: int) -> Iterator[tuple[int, int, Observer]]:
        """Chunks of a unit: replicates, those that there is room for, and what draws for them."""
        end = min(self.replicates, (unit + 1) * self.plan.unit)
        for begin in range(unit * self.plan.unit, end, self.plan.together):
            size = min(self.plan.together, end - begin)
            # Whole cache lines, so that the linear algebra does the same for every chunk.
            room = min(self.plan.together, -(-size // QUANTUM) * QUANTUM)
            yield size, room, Observer(
                self.model, self.samples, replicates=room, shared=self.shared, seed=self.seed,
                chunk=begin // self.plan.together,
            )  # fmt: skip

    def empty(self) -> Arrays:
        """The sums of no unit."""
        return self._tally().arrays()

    def run(self, unit: int, advanced: Advanced) -> Arrays:
        """The sums of one unit."""
        tally, carrier = self._tally(), self.carrier
        for size, room, observer in self.observers(unit):
            index = before = 0
            run = carrier.run(observer, self.rounds, replicates=room, shared=self.shared)
            for now, snapshot in run:
                advanced((now - before) * size)
                before = now
                if snapshot is not None:
                    tally.add(index, snapshot, self.columns, replicates=size)
                    index += 1
        return tally.arrays()

    def merge(self, total: Arrays, part: Arrays) -> None:
        """Take in the sums of the next unit."""
        merge_regressions(total, part)

    def _tally(self) -> RegressionTally:
        return RegressionTally(self.yardstick, rounds=self.rounds.size, learners=self.prior.agents)

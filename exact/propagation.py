"""The recursion of log-ratios, many replicates at once.

With Λ(best, θ) = log b(best) − log b(θ) and observations' log-ratios z, the public beliefs follow

    B_t = z_t + W B_{t−1},   B_1 = z_1 + prior,   private beliefs = W B_t      (P1 eq. 11),

so that no round needs normalising. A state B holds the N agents' rows of R·C numbers, replicates
times the C = M − 1 hypotheses other than `best`: one product with W serves them all.

*Dense W of few agents.* A band of columns goes through several rounds while it stays in the core's
first cache, by a compiled loop (:mod:`exact.dense_kernel`).

*Dense W of more agents.* A product with W alone is bound by reading and writing its operands.
Unrolled,

    B_{t+s} = z_{t+s} + [Wˢ ⋯ W²  W] · (B_t; z_{t+1}; …; z_{t+s−1}),

s rounds are one product with the same number of operations and a single write; s is chosen so
that an agent hears about 80 rows. The replicates are cut into chunks which stay in the core's own
cache for the whole run, and rows start on cache lines (without that, up to a third is lost).

*Sparse W.* The product is bound by memory. Agents are ordered by reverse Cuthill–McKee if that
brings neighbours closer, and several rounds then share one sweep (:func:`kernels.sparse_rounds`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, lcm
from typing import Protocol

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from exact.sampling import Draws, ObservationTable
from theory import Network
from theory.validation import FloatArray, IntArray

# How a simulation is cut up ----------------------------------------------------------------------


# What a stack of operands may take of a core's own cache, commonly 1 to 2 MiB.
STACK_BYTES = 5 << 17
STACK_ROWS = 80
DEEPEST = 16
CACHE_LINE = 8  # numbers
# Symbols drawn in one go: enough to hide the cost of a call, few enough to stay in cache.
DRAWS_AT_ONCE = 1 << 15
# A compiled product of dense W is at least as quick as a library's up to about so many agents, the
# library's being as wide; and saves more than loading it takes from so many multiply-adds on.
COMPILED_AGENTS = 64
COMPILED_WORK = 1 << 31


@dataclass(frozen=True)
class Plan:
    """How a run is cut up: a function of the problem alone, so that results are too.

    Attributes
    ----------
    replicates
        Replicates of a chunk; the last chunk may have fewer.
    quantum
        A chunk's storage is rounded up to a multiple of this many replicates.
    depth
        Rounds of one product or sweep, s.
    """

    replicates: int
    quantum: int
    depth: int

    def storage(self, replicates: int) -> int:
        """Replicates to keep room for (and to draw), those beyond the wanted ones ignored."""
        return -(-replicates // self.quantum) * self.quantum


def is_swept(network: Network) -> bool:
    """Whether a run goes through the entries of W one by one: where most are zero."""
    return not isinstance(network.compact, np.ndarray)


def plan_for(network: Network, *, columns: int, group: int = 1) -> Plan:
    """The plan for a network, C = `columns`, and `group` replicates to a symbol."""
    agents = network.agents
    if is_swept(network):
        # Rows of a few cache lines at least, if memory allows.
        numbers = max(STACK_BYTES // (8 * agents), min(64, (1 << 24) // agents))
        return Plan(max(1, numbers // columns), 1, DEEPEST)
    return dense_plan(agents, columns=columns, group=group)


def dense_plan(agents: int, *, columns: int, group: int = 1) -> Plan:
    """The plan for N = `agents` agents with dense weights, whatever the weights are."""
    depth = min(max(1, STACK_ROWS // agents), DEEPEST)
    # A product of fewer columns is limited by reading W.
    numbers = max(STACK_BYTES // (8 * (depth + 1) * agents), 1024)
    wanted = numbers // columns
    aligned_rows = lcm(group, CACHE_LINE // gcd(columns, CACHE_LINE))
    quantum = aligned_rows if aligned_rows <= wanted else group
    return Plan(max(1, wanted // quantum) * quantum, quantum, depth)


def batch_of(plan: Plan, symbols: int) -> int:
    """How many rounds to draw at once, of `symbols` symbols each: a multiple of the depth."""
    rounds = DRAWS_AT_ONCE // symbols
    return max(1, rounds // plan.depth) * plan.depth


def is_compiled(agents: int, *, numbers: int) -> bool:
    """Whether a run with dense W carries its `numbers`, of all rounds and one agent, compiled."""
    return agents <= COMPILED_AGENTS and agents**2 * numbers >= COMPILED_WORK


# The recursion of log-ratios, many replicates at once --------------------------------------------


class Propagation(Protocol):
    """A state of R replicates that can be carried forward."""

    def start(self, prior: FloatArray, draws: Draws) -> None:
        """Set B_1 from the prior log-ratios, shape (N, C), and one round of draws."""
        ...

    def advance(self, draws: Draws) -> None:
        """Carry B on through the rounds of `draws`."""
        ...

    def private(self) -> FloatArray:
        """W B, shape (N, R, C): valid until the next call."""
        ...


def propagation(
    network: Network,
    table: ObservationTable,
    *,
    replicates: int,
    plan: Plan,
    order: IntArray | None = None,
    compiled: bool = False,
) -> Propagation:
    """The engine for a network's kind of W; `order` as from :func:`agent_order`.

    `compiled` as from :func:`exact.propagation.is_compiled`: else dense W is left to a library.
    """
    if is_swept(network):
        rows = np.arange(network.agents) if order is None else order
        return SparsePropagation(network, table, replicates=replicates, plan=plan, order=rows)
    engine = CompiledPropagation if compiled else DensePropagation
    return engine(network, table, replicates=replicates, plan=plan)


@dataclass(frozen=True, eq=False)
class Block:
    """Views for one product of several rounds."""

    rows: FloatArray  # where the look-up goes, shape (s, N, R·C)
    operand: FloatArray
    weights: FloatArray
    out: FloatArray


class DensePropagation:
    """Dense W: one matrix product for up to `plan.depth` rounds.

    The stack has depth + 1 layers. A block of s rounds starts from B at one layer, fills the next
    s with observations, and adds the product of all but the last to the last, which is the new B:
    upwards, then down again, so that nothing is ever moved.
    """

    def __init__(
        self, network: Network, table: ObservationTable, *, replicates: int, plan: Plan
    ) -> None:
        weights = dense(network)
        power, powers = weights, [weights]
        for _ in range(plan.depth - 1):
            power = weights @ power
            powers.append(power)
        columns = replicates * table.columns
        self._powers = powers
        self._depth = plan.depth
        self._table = table
        self._shape = (network.agents, replicates, table.columns)
        self._stack = aligned((plan.depth + 1, network.agents, columns))
        self._private = aligned((network.agents, columns))
        self._at = 0
        self._blocks: dict[tuple[int, int], Block] = {}

    def start(self, prior: FloatArray, draws: Draws) -> None:
        """Set B_1 from the prior log-ratios, shape (N, C), and one round of draws."""
        self._at = 0
        self._table.look_up(draws.symbols, draws.noise, self._stack[:1])
        self._stack[0].reshape(self._shape)[:] += prior[:, None, :]

    def advance(self, draws: Draws) -> None:
        """Carry B on through the rounds of `draws`."""
        rounds = len(draws.symbols)
        done = 0
        while done < rounds:
            up = self._depth - self._at
            step = min(rounds - done, max(up, self._at))
            end = self._at + step if step <= up else self._at - step
            block = self._block(self._at, end)
            symbols, noise = draws.symbols[done : done + step], draws.noise[done : done + step]
            if end < self._at:
                symbols, noise = symbols[::-1], noise[::-1]
            self._table.look_up(symbols, noise, block.rows)
            dgemm(1.0, block.operand, block.weights, 1.0, block.out, overwrite_c=True)
            self._at = end
            done += step

    def private(self) -> FloatArray:
        """W B, shape (N, R, C): valid until the next call."""
        operand = self._stack[self._at]
        dgemm(1.0, operand.T, self._powers[0].T, 0.0, self._private.T, overwrite_c=True)
        return self._private.reshape(self._shape)

    def _block(self, begin: int, end: int) -> Block:
        """From the layer `begin` to the layer `end`; BLAS sees the transposes of our rows."""
        if (begin, end) not in self._blocks:
            step = abs(end - begin)
            if end > begin:
                rows, operand = self._stack[begin + 1 : end + 1], self._stack[begin:end]
                powers = self._powers[:step][::-1]
            else:
                rows, operand = self._stack[end:begin], self._stack[end + 1 : begin + 1]
                powers = self._powers[:step]
            self._blocks[begin, end] = Block(
                rows=rows,
                operand=operand.reshape(-1, self._stack.shape[2]).T,
                weights=np.ascontiguousarray(np.hstack(powers)).T,
                out=self._stack[end].T,
            )
        return self._blocks[begin, end]


class CompiledPropagation:
    """Dense W of few agents: up to `plan.depth` rounds in one sweep (:mod:`exact.dense_kernel`)."""

    def __init__(
        self, network: Network, table: ObservationTable, *, replicates: int, plan: Plan
    ) -> None:
        from exact.dense_kernel import work_space

        columns = replicates * table.columns
        shape = (plan.depth, network.agents, columns)
        self._weights = np.ascontiguousarray(dense(network))
        self._table = table
        self._depth = plan.depth
        self._shape = (network.agents, replicates, table.columns)
        self._rows = aligned(shape)
        self._rows[:] = 0.0
        self._memory = aligned((work_space(network.agents, columns),))
        self._memory[:] = 0.0
        self._states = self._memory[: 2 * network.agents * columns].reshape(2, *shape[1:])
        self._at = 0

    def start(self, prior: FloatArray, draws: Draws) -> None:
        """Set B_1 from the prior log-ratios, shape (N, C), and one round of draws."""
        self._at = 0
        self._states[0] = self._observed(draws.symbols, draws.noise)[0]
        self._states[0] += np.tile(prior, self._shape[1])

    def advance(self, draws: Draws) -> None:
        """Carry B on through the rounds of `draws`."""
        for begin in range(0, len(draws.symbols), self._depth):
            part = slice(begin, begin + self._depth)
            self._carry(self._observed(draws.symbols[part], draws.noise[part]))
            self._at = 1 - self._at

    def private(self) -> FloatArray:
        """W B, shape (N, R, C): valid until the next call."""
        self._rows[0] = 0.0
        self._carry(self._rows[:1])
        return np.asarray(self._states[1 - self._at].reshape(self._shape))

    def _observed(self, symbols: IntArray, noise: FloatArray) -> FloatArray:
        rows = self._rows[: len(symbols)]
        self._table.look_up(symbols, noise, rows)
        return rows

    def _carry(self, rows: FloatArray) -> None:
        from exact.dense_kernel import dense_rounds

        dense_rounds(self._weights, rows, self._memory, self._at)


class SparsePropagation:
    """Sparse W: one sweep through memory for up to `plan.depth` rounds."""

    def __init__(
        self,
        network: Network,
        table: ObservationTable,
        *,
        replicates: int,
        plan: Plan,
        order: IntArray,
    ) -> None:
        weights = csr_array(network.compact)[order][:, order]
        weights.sort_indices()
        self._order = order
        self._weights = weights
        self._table = table
        self._lag = max(1, reach(weights))
        self._shape = (network.agents, replicates, table.columns)
        row = 8 * replicates * table.columns
        self._tile = max(1, STACK_BYTES // 16 // row)
        # Both copies of the rows between the first round's front and the last one's, in cache.
        fits = (STACK_BYTES // 2 // row - self._tile) // self._lag
        self._depth = min(max(1, fits), plan.depth)
        self._state = aligned((2, network.agents, replicates * table.columns))
        self._private = np.empty((network.agents, replicates * table.columns))
        self._at = 0

    def start(self, prior: FloatArray, draws: Draws) -> None:
        """Set B_1 from the prior log-ratios, shape (N, C), and one round of draws."""
        self._at = 0
        self._table.look_up(draws.symbols, draws.noise, self._state[:1])
        self._state[0].reshape(self._shape)[:] += prior[self._order][:, None, :]

    def advance(self, draws: Draws) -> None:
        """Carry B on through the rounds of `draws`."""
        from exact.dense_kernel import sparse_rounds

        weights, table = self._weights, self._table
        for begin in range(0, len(draws.symbols), self._depth):
            part = slice(begin, begin + self._depth)
            sparse_rounds(
                weights.indptr,
                weights.indices,
                weights.data,
                self._lag,
                self._tile,
                draws.symbols[part],
                table.offsets,
                table.slopes,
                draws.noise[part],
                self._state,
                self._at,
            )
            self._at = (self._at + len(draws.symbols[part])) % 2

    def private(self) -> FloatArray:
        """W B, shape (N, R, C): valid until the next call."""
        self._private[self._order] = self._weights @ self._state[self._at]
        return self._private.reshape(self._shape)


def agent_order(network: Network) -> IntArray | None:
    """The agent that each row of the state belongs to; None for 0, ..., N − 1."""
    if not is_swept(network):
        return None
    weights = csr_array(network.compact)
    symmetric = csr_array(weights + weights.T)
    order = reverse_cuthill_mckee(symmetric, symmetric_mode=True).astype(np.int64)
    return order if reach(csr_array(symmetric[order][:, order])) < reach(symmetric) else None


def reach(weights: csr_array) -> int:
    """The longest edge, max |i − j|."""
    rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    return int(np.abs(rows - weights.indices).max(initial=0))


def dense(network: Network) -> FloatArray:
    """W as a plain array."""
    weights = network.weights
    return np.asarray(weights if isinstance(weights, np.ndarray) else weights.toarray())


def aligned(shape: tuple[int, ...]) -> FloatArray:
    """An empty array that starts on a cache line."""
    size = int(np.prod(shape))
    raw = np.empty(size + CACHE_LINE)
    skip = (-raw.ctypes.data // raw.itemsize) % CACHE_LINE
    return raw[skip : skip + size].reshape(shape)

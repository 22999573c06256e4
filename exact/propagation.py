"""The recursion of log-ratios, many replicates at once.

With Λ(best, θ) = log b(best) − log b(θ) and observations' log-ratios z, the public beliefs follow

    B_t = z_t + W B_{t−1},   B_1 = z_1 + prior,   private beliefs = W B_t      (P1 eq. 11),

so that no round needs normalising. A state B holds the N agents' rows of R·C numbers, replicates
times the C = M − 1 hypotheses other than `best`: one product with W serves them all.

*Dense W.* A round is one product by a library. In long runs of few agents that would be bound by
reading and writing: a band of columns then goes through several rounds while it stays in the core's
first cache, by a compiled loop (:mod:`exact.dense_kernel`). The replicates are cut into chunks
which stay in the core's own cache for the whole run, and rows start on cache lines (without that,
up to a third is lost).

*Dense W of many agents who differ.* Between two recorded rounds only sums matter: s rounds on,

    B_{t+s} = Wˢ B_t + Σ_j Σ_k n_jk ℓ_jk,   n_jk = Σ_u Wᵘ[·, j] [j observes k in round t + s − u],

with ℓ_jk the row of agent j's observation k. So a replicate needs two products as wide as the
hypotheses are many, Wˢ B_t and the sum over j and k, every s rounds instead of every round; in
each round only the counts n_jk grow, and these have no hypotheses. Whoever draws normal numbers
counts by them: n_jk is then a sum of Wᵘ[·, j] times the number.

*Sparse W.* The product is bound by memory. Agents are ordered by reverse Cuthill–McKee if that
brings neighbours closer, and several rounds then share one sweep (:func:`kernels.sparse_rounds`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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


# What a chunk's operands may take of a core's own cache, commonly 1 to 2 MiB.
STACK_BYTES = 5 << 17
# Rows of a band that a compiled product goes through with, all its rounds together.
STACK_ROWS = 80
DEEPEST = 16
CACHE_LINE = 8  # numbers
# Symbols drawn in one go: enough to hide the cost of a call, few enough to stay in cache.
DRAWS_AT_ONCE = 1 << 15
# A compiled product of dense W is at least as quick as a library's up to about so many agents, the
# library's being as wide; and saves more than loading it takes from so many multiply-adds on.
COMPILED_AGENTS = 64
COMPILED_WORK = 1 << 31
# Rounds carried by counts: at most so many at once, by tables that take so much; and how many times
# as long as one in a large product a multiply-add of the counts takes, the matrices being small.
COUNTED_ROUNDS = 64
COUNTED_BYTES = 1 << 26
COUNTING = 3


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
    counted
        Rounds carried at once by counts of observations; 0 where nothing is counted.
    """

    replicates: int
    quantum: int
    depth: int
    counted: int = 0

    def storage(self, replicates: int) -> int:
        """Replicates to keep room for (and to draw), those beyond the wanted ones ignored."""
        return -(-replicates // self.quantum) * self.quantum


def is_swept(network: Network) -> bool:
    """Whether a run goes through the entries of W one by one: where most are zero."""
    return not isinstance(network.compact, np.ndarray)


def plan_for(
    network: Network,
    *,
    columns: int,
    group: int = 1,
    features: int = 0,
    stretch: int = 1,
    amount: int = 1,
) -> Plan:
    """The plan for a network, C = `columns`, and `group` replicates to a symbol.

    `features` as from :func:`exact.sampling.features_of`, 0 where observations are given; `stretch`
    is the number of rounds between two recorded ones, roughly, and `amount` that of rounds times
    replicates.
    """
    agents = network.agents
    if is_swept(network):
        # Rows of a few cache lines at least, if memory allows.
        numbers = max(STACK_BYTES // (8 * agents), min(64, (1 << 24) // agents))
        return Plan(max(1, numbers // columns), 1, DEEPEST)
    plan = dense_plan(agents, columns=columns, group=group)
    counts = features * plan.replicates + columns / agents
    fits = int((COUNTED_BYTES / (8 * agents**2) - counts) / (1 + columns / agents))
    rounds = min(COUNTED_ROUNDS, stretch, fits)
    if agents <= COMPILED_AGENTS or features == 0 or rounds < 1:
        return plan
    # Powers of W are made twice, the last replicates being fewer.
    powers = 2 * COUNTING * rounds * agents / amount
    work = powers + counted_work(columns=columns, features=features, rounds=rounds)
    return replace(plan, counted=rounds if columns > 2 * work else 0)


def counted_work(*, columns: int, features: int, rounds: int) -> float:
    """Multiply-adds of a round by counts, for each agent that is heard; C without counts."""
    return columns * (1 + features) / rounds + COUNTING * features


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
    return plan.counted or max(1, rounds // plan.depth) * plan.depth


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
    engine: type[DensePropagation | CompiledPropagation]
    engine = CompiledPropagation if compiled else DensePropagation
    if plan.counted:
        engine = CountedPropagation
    return engine(network, table, replicates=replicates, plan=plan)


class DensePropagation:
    """Dense W: a matrix product a round, by a library.

    One of depth + 1 layers holds B; observations of the next rounds are looked up into layers
    beside it, and each takes in W times the layer before. Nothing is ever moved.
    """

    def __init__(
        self, network: Network, table: ObservationTable, *, replicates: int, plan: Plan
    ) -> None:
        self._weights = dense(network)
        self._table = table
        self._shape = (network.agents, replicates, table.columns)
        self._layers = aligned((plan.depth + 1, network.agents, replicates * table.columns))
        # As BLAS sees them.
        self._transposed = [layer.T for layer in self._layers]
        self._at = 0

    def start(self, prior: FloatArray, draws: Draws) -> None:
        """Set B_1 from the prior log-ratios, shape (N, C), and one round of draws."""
        self._at = 0
        self._table.look_up(draws.symbols, draws.noise, self._layers[:1])
        self._layers[0].reshape(self._shape)[:] += prior[:, None, :]

    def advance(self, draws: Draws) -> None:
        """Carry B on through the rounds of `draws`."""
        done, rounds = 0, len(draws.symbols)
        while done < rounds:
            above, below = len(self._layers) - 1 - self._at, self._at
            begin = self._at + 1 if above >= below else 0
            end = begin + min(rounds - done, max(above, below))
            part = slice(done, done + end - begin)
            self._table.look_up(draws.symbols[part], draws.noise[part], self._layers[begin:end])
            for layer in range(begin, end):
                self._hear(self._weights.T, layer, 1.0)
                self._at = layer
            done = part.stop

    def private(self) -> FloatArray:
        """W B, shape (N, R, C): valid until the next call."""
        self._hear(self._weights.T, self._at - 1, 0.0)
        return np.asarray(self._layers[self._at - 1].reshape(self._shape))

    def _hear(self, weights: FloatArray, layer: int, kept: float) -> None:
        """Put into a layer W B, for the transpose of W, and `kept` times what is there."""
        dgemm(1.0, self._transposed[self._at], weights, kept, self._transposed[layer], 0, 0, 1)


class CountedPropagation(DensePropagation):
    """Dense W: up to `plan.counted` rounds by counts of observations, where that is less work.

    A feature of agent j is the count of an outcome other than its first, or a sum of normal numbers
    at one; agents with fewer outcomes than others have features that stay zero. What first outcomes
    say is the same in all replicates.
    """

    def __init__(
        self, network: Network, table: ObservationTable, *, replicates: int, plan: Plan
    ) -> None:
        super().__init__(network, table, replicates=replicates, plan=plan)
        agents, columns = network.agents, table.columns
        power, first = np.eye(agents), table.offsets[table.begin]
        # [j, i, u] is Wᵘ[i, j]; [s] is what s rounds add where all observe their first outcome.
        self._reached = np.empty((agents, agents, plan.counted + 1))
        self._constant = np.zeros((plan.counted + 1, agents, columns))
        for u in range(plan.counted + 1):
            self._reached[:, :, u] = power.T
            if u < plan.counted:
                self._constant[u + 1] = self._constant[u] + power @ first
                power = self._weights @ power
        outcomes = range(table.outcomes.max())
        self._symbols = [table.begin + k for k in outcomes]
        rows = [
            self._rows(table.offsets, k) - first * (k < table.outcomes)[:, None]
            for k in outcomes[1:]
        ]
        for k in outcomes if table.slopes.size else ():
            rows += np.split(self._rows(table.slopes, k), table.channels, axis=1)
        self._said = np.concatenate(rows)
        self._counts = np.empty((len(rows), agents, agents, replicates))
        features, rounds = len(rows), range(1, plan.counted + 1)
        work = [counted_work(columns=columns, features=features, rounds=s) for s in rounds]
        self._least = 1 + sum(one > columns for one in work)

    def _rows(self, values: FloatArray, outcome: int) -> FloatArray:
        """The row of everyone's outcome of that number, shape (N, C); zero for whoever has none."""
        table = self._table
        has = outcome < table.outcomes
        return values[table.begin + outcome * has] * has[:, None]

    def advance(self, draws: Draws) -> None:
        """Carry B on through the rounds of `draws`."""
        most = self._reached.shape[2] - 1
        for begin in range(0, len(draws.symbols), most):
            part = slice(begin, begin + most)
            few = Draws(draws.symbols[part], draws.noise[part])
            if len(few.symbols) < self._least:
                super().advance(few)
            else:
                self._count(few)

    def _count(self, draws: Draws) -> None:
        # Agent by agent, the last round first.
        symbols = draws.symbols[::-1].transpose(1, 0, 2)
        noise = draws.noise[::-1].transpose(1, 0, 2)
        rounds, channels = len(draws.symbols), self._table.channels
        reached = self._reached[:, :, :rounds]
        is_outcome = [symbols == symbol[:, None, None] for symbol in self._symbols]
        seen = [one.astype(float) for one in is_outcome[1:]]
        if noise.size:
            seen += [one * noise[..., c::channels] for one in is_outcome for c in range(channels)]
        for one, counts in zip(seen, self._counts, strict=True):
            np.matmul(reached, one, out=counts)
        self._hear(np.asfortranarray(self._reached[:, :, rounds]), self._at - 1, 0.0)
        after = self._layers[self._at - 1]
        counts, out = self._counts.reshape(len(self._said), -1), after.reshape(-1, self._shape[2])
        dgemm(1.0, self._said.T, counts.T, 1.0, out.T, trans_b=True, overwrite_c=True)
        after.reshape(self._shape)[:] += self._constant[rounds][:, None, :]
        self._at = (self._at - 1) % len(self._layers)


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

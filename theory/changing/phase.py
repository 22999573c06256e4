"""One round of a network that changes: who observes, and who pools with whom.

In a round of phase s every active agent i first adds what it observes to its log-belief; then every
agent replaces its log-belief by the average that its row of W_s asks for:

    Λ_t = W_t (Λ_{t−1} + A_t z_t),   A_t the diagonal matrix of who observes in round t.

An agent that takes no part in a round has an identity row and is not active.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.network.network import Network
from theory.network.structure import Weights, as_dense, as_weights
from theory.scientific import sparse
from theory.showing import Value
from theory.validation import SUM_TOLERANCE, FloatArray, IntArray, as_integer, fail, read_only

# The rows of a stochastic matrix that do something -----------------------------------------------


@dataclass(frozen=True, eq=False)
class Rows(Value):
    """The rows of W that differ from the identity, in CSR form.

    Attributes
    ----------
    rows
        Shape (K,): the agents they belong to.
    indptr, indices, data
        Shapes (K + 1,), (E,), (E,): the weights of row k are data[indptr[k]:indptr[k + 1]].
    """

    rows: IntArray
    indptr: IntArray
    indices: IntArray
    data: FloatArray


def moving_rows(weights: Weights) -> Rows:
    """The rows that differ from the identity.

    Examples
    --------
    >>> moving_rows(np.array([[1.0, 0.0], [0.25, 0.75]])).rows
    array([1])
    """
    matrix = canonical(weights)
    count = np.diff(matrix.indptr)
    still = (count == 1) & (matrix.diagonal() == 1.0)
    rows = np.flatnonzero(~still)
    part = matrix[rows]
    return Rows(rows, as_index(part.indptr), as_index(part.indices), part.data.astype(np.float64))


def stacked(parts: Sequence[Rows]) -> tuple[Rows, IntArray]:
    """The rows of several phases one after the other; where each begins has shape (S + 1,)."""
    entries = np.concatenate([[0], np.cumsum([part.data.size for part in parts])])
    begin = np.concatenate([[0], np.cumsum([part.rows.size for part in parts])])
    indptr = [part.indptr[:-1] + entries[s] for s, part in enumerate(parts)]
    every = Rows(
        np.concatenate([part.rows for part in parts]),
        as_index(np.concatenate([*indptr, entries[-1:]])),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.data for part in parts]),
    )
    return every, as_index(begin)


def canonical(weights: Weights) -> sparse.csr_array:
    """W in CSR form, sorted, without stored zeros."""
    matrix = sparse.csr_array(weights, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def as_index(values: object) -> IntArray:
    """Indices as 64-bit integers, the one type the kernels are compiled for."""
    return np.asarray(values, dtype=np.int64)


# One round of a network that changes -------------------------------------------------------------


BoolArray = NDArray[np.bool_]

# Up to this many agents the weights of a phase are stored as a dense array.
DENSE_PHASE = 64
# A transition matrix of more phases would take more than 128 MiB.
MOST_PHASES = 4096
# A product of BLAS does as many operations in the time of one that looks up its row.
_DENSE_SPEED = 8


@dataclass(frozen=True, eq=False)
class Phase(Value):
    """The weights of one round, and who observes in it.

    Parameters
    ----------
    weights
        W, shape (N, N), row-stochastic; unlike those of a :class:`theory.Network` they need not
        connect anybody. Array-like (fractions in strings are welcome) or scipy sparse; stored
        read-only.
    active
        Who observes: truth values of shape (N,), or a list of agents; everybody if left out.
        Stored as a mask.

    Raises
    ------
    ValueError
        If the weights are no stochastic matrix, or `active` names unknown agents.

    Examples
    --------
    >>> Phase([[0.5, 0.5], [0.0, 1.0]], active=[0]).active.tolist()
    [True, False]
    """

    weights: Weights
    active: ArrayLike | None = None

    if TYPE_CHECKING:

        def __init__(self, weights: Any, active: ArrayLike | None = None) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", as_weights(self.weights))
        object.__setattr__(self, "active", as_mask("active", self.active, agents=self.agents))

    def _title(self) -> str:
        return f"Phase of {self.agents} agents"

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        return int(self.weights.shape[0])

    @property
    def observes(self) -> BoolArray:
        """Who observes, shape (N,)."""
        return np.asarray(self.active, dtype=np.bool_)

    @cached_property
    def observers(self) -> IntArray:
        """The agents that observe, in increasing order."""
        return np.flatnonzero(self.observes)

    @cached_property
    def moving(self) -> Rows:
        """The rows of W that are not the identity's."""
        return moving_rows(self.weights)

    @property
    def keeps_some(self) -> bool:
        """Whether every agent keeps a positive weight on itself."""
        rows = self.moving
        own = rows.indices == np.repeat(rows.rows, np.diff(rows.indptr))
        return bool(np.count_nonzero(rows.data[own] > 0) == rows.rows.size)

    def pool(self, values: FloatArray) -> None:
        """Replace one row of values for each agent, shape (N, M), by W times them, in place."""
        if self._is_full:
            values[...] = np.asarray(self.weights @ values)
            return
        moving = self.moving
        shape = (moving.rows.size, self.agents)
        rows = sparse.csr_array((moving.data, moving.indices, moving.indptr), shape=shape)
        values[moving.rows] = np.asarray(rows @ values)

    def carry_back(self, rows: FloatArray) -> None:
        """Replace contiguous rows, of shape (…, N), by their products with W, in place."""
        if self._is_full:
            rows[...] = np.asarray(rows @ self.weights)
            return
        moving = self.moving
        flat = rows.reshape(-1, self.agents)  # a view, as rows are contiguous
        for row in flat:
            sent = np.repeat(row[moving.rows], np.diff(moving.indptr)) * moving.data
            row[moving.rows] = 0.0
            np.add.at(row, moving.indices, sent)

    @cached_property
    def _is_full(self) -> bool:
        """Whether W has so many entries that a product with all of it is the quickest."""
        return self.moving.data.size * _DENSE_SPEED > self.agents**2


class PartialPhase(Phase):
    """A phase in which few of many agents take part: it stores what these do, and no more.

    Parameters
    ----------
    agents
        N.
    moving
        The rows of W that are not the identity's, agents in increasing order.
    observers
        Who observes, in increasing order.

    Raises
    ------
    ValueError
        If an agent is unknown or named twice, or a row is negative or does not sum to one.

    Examples
    --------
    >>> row = Rows(np.array([1]), np.array([0, 2]), np.array([0, 1]), np.array([0.5, 0.5]))
    >>> phase = PartialPhase(3, row, np.array([0]))
    >>> phase.weights.toarray().tolist(), phase.active.tolist()
    ([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], [True, False, False])
    """

    def __init__(self, agents: int, moving: Rows, observers: IntArray) -> None:
        for argument, named in (("moving", moving.rows), ("observers", observers)):
            if named.size and not (
                named[0] >= 0 and named[-1] < agents and (np.diff(named) > 0).all()
            ):
                raise fail(
                    argument, f"increasing agents from 0 to {agents - 1}", named[:6], "sort them"
                )
        if moving.data.size:
            sums = np.add.reduceat(moving.data, moving.indptr[:-1])
            low, high = moving.indices.min(), moving.indices.max()
            right = np.abs(sums - 1.0).max() <= SUM_TOLERANCE + moving.data.size * _HALF_UNITS
            if not (right and moving.data.min() >= 0 and low >= 0 and high < agents):
                raise fail(
                    "moving",
                    f"weights of at least 0 on agents 0 to {agents - 1} that sum to 1 in each row",
                    f"sums from {sums.min():.12g} to {sums.max():.12g}",
                    "rescale the rows",
                )
        self.__dict__.update(_agents=agents, moving=moving, observers=observers)

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        return int(self.__dict__["_agents"])

    def _parts(self) -> tuple[object, ...]:
        return self.agents, self.moving, self.observers

    @property
    def weights(self) -> Weights:
        """W in full, made anew each time."""
        rows = self.moving
        count = np.ones(self.agents, dtype=np.int64)
        count[rows.rows] = np.diff(rows.indptr)
        indptr = np.concatenate([[0], np.cumsum(count)])
        moves = np.zeros(self.agents, dtype=np.bool_)
        moves[rows.rows] = True
        inside = np.repeat(moves, count)
        indices = np.repeat(np.arange(self.agents), count)
        data = np.ones(indices.size)
        indices[inside], data[inside] = rows.indices, rows.data
        return sparse.csr_array((data, indices, indptr), shape=(self.agents, self.agents))

    @property
    def active(self) -> BoolArray:
        """Who observes, as a mask made anew each time."""
        return as_mask("active", self.observers, agents=self.agents)


# A sum of n rounded numbers that add up to one is off by at most n half units.
_HALF_UNITS = float(np.finfo(np.float64).eps)


def as_mask(argument: str, values: Any, *, agents: int) -> BoolArray:
    """A read-only mask of shape (N,) from truth values, a list of agents, or None for all.

    Raises
    ------
    ValueError
        If truth values are not one for each agent, or an agent is unknown.
    """
    if values is None:
        return np.asarray(read_only(np.ones(agents, dtype=np.bool_)))
    array = np.asarray(values)
    if array.dtype == np.bool_:
        if array.shape != (agents,):
            raise fail(
                argument,
                f"one truth value for each of {agents} agents",
                f"shape {array.shape}",
                "give one for each agent, or list the agents' numbers",
            )
        return np.asarray(read_only(array.copy()))
    mask = np.zeros(agents, dtype=np.bool_)
    for value in np.atleast_1d(array).tolist():
        mask[as_integer(argument, value, minimum=0, maximum=agents - 1)] = True
    return np.asarray(read_only(mask))


def as_phases(phases: Sequence[Any]) -> tuple[Phase, ...]:
    """At least one phase, all of equally many agents; bare weight matrices become phases.

    Raises
    ------
    ValueError
        If there is none, or their numbers of agents differ.
    """
    made = tuple(phase if isinstance(phase, Phase) else Phase(phase) for phase in phases)
    if not made:
        raise fail("phases", "at least one phase", "none", "describe one round at least")
    for index, phase in enumerate(made):
        if phase.agents != made[0].agents:
            raise fail(
                f"phases[{index}]",
                f"as many agents as the first phase, {made[0].agents}",
                phase.agents,
                "give agents that rest in a phase an identity row",
            )
    return made


def weighted_sum(
    phases: Sequence[Phase], shares: Sequence[float] | FloatArray, *, observed: bool = False
) -> sparse.csr_array[np.float64]:
    """Σ_s share_s W_s, or Σ_s share_s W_s A_s if `observed`; shape (N, N)."""
    agents = phases[0].agents
    rows, columns, entries = [], [], []
    resting = np.zeros(agents) if observed else _resting(phases, shares)
    for phase, share in zip(phases, shares, strict=True):
        moving, data = phase.moving, float(share) * phase.moving.data
        if observed:
            data[~np.isin(moving.indices, phase.observers)] = 0.0
            resting[np.setdiff1d(phase.observers, moving.rows, assume_unique=True)] += share
        rows.append(np.repeat(moving.rows, np.diff(moving.indptr)))
        columns.append(moving.indices)
        entries.append(data)
    every = np.arange(agents)
    places = (np.concatenate([every, *rows]), np.concatenate([every, *columns]))
    total = sparse.csr_array((np.concatenate([resting, *entries]), places), shape=(agents, agents))
    total.eliminate_zeros()
    return total


def _resting(phases: Sequence[Phase], shares: Sequence[float] | FloatArray) -> FloatArray:
    """The shares of the phases in which an agent's row is the identity's, shape (N,)."""
    moved = np.zeros(phases[0].agents)
    for phase, share in zip(phases, shares, strict=True):
        moved[phase.moving.rows] += share
    whole = float(np.sum(shares))
    resting = whole - moved
    # Where little is left the difference has lost its digits, and the sum is taken itself.
    busy = np.flatnonzero(moved > whole / 2)
    resting[busy] = 0.0
    for phase, share in zip(phases, shares, strict=True):
        if busy.size:
            resting[busy[~np.isin(busy, phase.moving.rows)]] += share
    return resting


def phase_of_few(agents: int, moving: Rows, observers: IntArray) -> Phase:
    """The phase with these moving rows and observers; dense where there are few agents."""
    phase = PartialPhase(agents, moving, observers)
    return Phase(as_dense(phase.weights), phase.active) if agents <= DENSE_PHASE else phase


def awake_phases(network: Network) -> tuple[Phase, ...]:
    """Phase j: agent j observes and pools with its row; all others rest."""
    size = network.agents
    if size > MOST_PHASES:
        raise fail("agents", f"at most {MOST_PHASES}, one phase each", size, "use fewer")
    table = canonical(network.weights)
    found = []
    for agent in range(size):
        inside = slice(table.indptr[agent], table.indptr[agent + 1])
        heard, weights = as_index(table.indices[inside]), table.data[inside]
        only = np.array([agent])
        rows = Rows(only, np.array([0, heard.size]), heard, weights)
        found.append(phase_of_few(size, rows, only))
    return tuple(found)

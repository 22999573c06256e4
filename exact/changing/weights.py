"""Weights as the loops over rounds want them: rows that do something, and links.

Two views of a stochastic matrix W. *Moving rows* are those that are not the identity's: in a round
where two of a thousand agents talk, two rows cost anything. *Links* are the entries off the
diagonal, each of which can be up or down, late or lost, while W_ii is an agent's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from exact.limits import NUMBER, gibibytes, memory_limit
from theory.network.structure import Weights
from theory.validation import FloatArray, IntArray, fail

# A product of BLAS does as many operations in the time of one that looks up its row.
DENSE_SPEED = 8
# Weights and ages, and two results on the way to them.
KEPT_A_PAIR = 4


@dataclass(frozen=True, eq=False)
class Rows:
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


@dataclass(frozen=True, eq=False)
class Links:
    """W taken apart into W_ii and the links i ← j, i ≠ j, in the order of rows.

    Attributes
    ----------
    own
        Shape (N,): W_ii.
    listener, indices, data
        Shape (E,): i, j and W_ij.
    indptr
        Shape (N + 1,): the links of agent i are indptr[i] to indptr[i + 1] − 1.
    """

    own: FloatArray
    listener: IntArray
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


def links_of(weights: Weights) -> Links:
    """W_ii and the links of W.

    Examples
    --------
    >>> links = links_of(np.array([[1.0, 0.0], [0.25, 0.75]]))
    >>> links.own.tolist(), links.listener.tolist(), links.indices.tolist()
    ([1.0, 0.75], [1], [0])
    """
    matrix = canonical(weights)
    own = np.asarray(matrix.diagonal(), dtype=np.float64)
    listener = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    off = listener != matrix.indices
    indptr = np.concatenate([[0], np.cumsum(np.bincount(listener[off], minlength=len(own)))])
    return Links(
        own,
        as_index(listener[off]),
        as_index(indptr),
        as_index(matrix.indices[off]),
        matrix.data[off].astype(np.float64),
    )


def check_pairs(rounds: int, agents: int) -> None:
    """Refuse a run that keeps some numbers for each round and pair of agents, if they do not fit.

    Raises
    ------
    ValueError
        If they would take more than :func:`exact.limits.memory_limit`.
    """
    size, limit = KEPT_A_PAIR * NUMBER * rounds * agents**2, memory_limit()
    if size > limit:
        raise fail(
            "network",
            f"few enough agents for {rounds} × agents² weights in {gibibytes(limit)} GiB",
            f"{agents} agents, about {gibibytes(size)} GiB",
            "take fewer agents or rounds; simulate_changing takes many",
        )


def worth_dense(weights: Weights) -> bool:
    """Whether a dense product with W is quicker than one over its entries."""
    agents = weights.shape[0]
    return bool(moving_rows(weights).data.size * DENSE_SPEED > agents * agents)


def canonical(weights: Weights) -> sparse.csr_array:
    """W in CSR form, sorted, without stored zeros."""
    matrix = sparse.csr_array(weights, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def as_index(values: object) -> IntArray:
    """Indices as 64-bit integers, the one type the kernels are compiled for."""
    return np.asarray(values, dtype=np.int64)

"""Weights as the loops over rounds want them: rows that do something, and links.

Two views of a stochastic matrix W. *Moving rows* (:mod:`theory.changing.moving_rows`) are those
that are not the identity's. *Links* are the entries off the diagonal, each of which can be up or
down, late or lost, while W_ii is an agent's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exact.limits import NUMBER, gibibytes, memory_limit
from theory.changing.moving_rows import Rows, as_index, canonical
from theory.network.structure import Weights
from theory.validation import FloatArray, IntArray, fail

# A product of BLAS does as many operations in the time of one that looks up its row.
DENSE_SPEED = 8
# Weights and ages, and two results on the way to them.
KEPT_A_PAIR = 4


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
            "take fewer agents or rounds; simulate takes many",
        )


def worth_dense(rows: Rows, agents: int) -> bool:
    """Whether a dense product with W is quicker than one over the entries of its moving rows."""
    return rows.data.size * DENSE_SPEED > agents * agents

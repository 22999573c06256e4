"""The rows of a stochastic matrix that do something.

In a round where two of a thousand agents talk, two rows of W are not the identity's, and two rows
are all that has to be stored, multiplied or followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theory.network.structure import Weights
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray
from theory.values import Value


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

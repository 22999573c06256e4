"""The inner loops of regression, compiled by numba; imported only where it runs."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from theory.validation import FloatArray, IntArray


@njit(cache=True, nogil=True)
def observe(
    inputs: FloatArray,
    noise: FloatArray,
    owner: IntArray,
    start: IntArray,
    coordinates: IntArray,
    weight: FloatArray,
    noise_std: FloatArray,
    follows: FloatArray,
    theta: FloatArray,
    column: IntArray,
    pairs: int,
    out: FloatArray,
) -> None:
    """Add a round's w x xᵀ and w x y to the rows of their owners.

    `inputs` has shape (rows, R) or (rows, 1), `noise` (S, R). A row of `out` holds the precision,
    `pairs` columns of as many numbers as an input has, then the information, d columns of R:
    column[a, b] is where the product of coordinates a and b goes.
    """
    copies = inputs.shape[1]
    replicates = noise.shape[1]
    base = pairs * copies
    label = np.empty(replicates)
    for s in range(owner.size):
        row = out[owner[s]]
        first, last = start[s], start[s + 1]
        for r in range(replicates):
            label[r] = noise_std[s] * noise[s, r]
        for i in range(first, last):
            slope = follows[s] * theta[coordinates[i]]
            if copies == replicates:
                for r in range(replicates):
                    label[r] += slope * inputs[i, r]
            else:
                for r in range(replicates):
                    label[r] += slope * inputs[i, 0]
        for i in range(first, last):
            a = coordinates[i]
            for j in range(i, last):
                at = column[a, coordinates[j]] * copies
                for r in range(copies):
                    row[at + r] += weight[s] * inputs[i, r] * inputs[j, r]
            at = base + a * replicates
            if copies == replicates:
                for r in range(replicates):
                    row[at + r] += weight[s] * inputs[i, r] * label[r]
            else:
                for r in range(replicates):
                    row[at + r] += weight[s] * inputs[i, 0] * label[r]


@njit(cache=True, nogil=True)
def add_sparse_product(
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    data: FloatArray,
    state: FloatArray,
    out: FloatArray,
) -> None:
    """Add W B to `out` for W in CSR form: no copy is made, and a row of `out` stays in cache."""
    for i in range(out.shape[0]):
        row = out[i]
        for e in range(indptr[i], indptr[i + 1]):
            weight, heard = data[e], state[indices[e]]
            for c in range(row.size):
                row[c] += weight * heard[c]

"""Pooling of stacked beliefs in one sweep through memory, compiled by numba.

Columns are taken in pieces that stay in a core's cache. Sums are in float64 whatever the beliefs
are in, in the order of a row's entries: the same numbers however the agents are spread over
processes.

A row is its own agent's weight and entries[start[i]:start[i+1]], the rows of the heard parameters
with their weights. An agent that hears nobody keeps its belief bit by bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from theory.validation import FloatArray, IntArray

Beliefs = NDArray[Any]  # float32 or float64
Flags = NDArray[np.bool_]

# Columns in a piece: the float64 sums of one row take 16 kB, a third of a core's nearest cache.
PIECE = 1024


@njit(cache=True, nogil=True, error_model="numpy")
def first_improper(precision: Beliefs, shift: Beliefs) -> int:
    """The first row of natural parameters that are no Gaussian's; −1 if there is none."""
    for row in range(precision.shape[0]):
        good = True
        p, s = precision[row], shift[row]
        for c in range(p.size):
            # What is finite is 0 less itself. No branch: it vectorises.
            good &= (p[c] > 0) & (p[c] - p[c] == 0) & (s[c] - s[c] == 0)
        if not good:
            return row
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def to_natural(mean: Beliefs, variance: Beliefs, precision: Beliefs, shift: Beliefs) -> bool:
    """Write one agent's natural parameters; whether all are those of a Gaussian."""
    good = True
    one = variance.dtype.type(1)
    for c in range(mean.size):
        p = one / variance[c]
        s = p * mean[c]
        precision[c] = p
        shift[c] = s
        good &= (p > 0) & (p - p == 0) & (s - s == 0)
    return good


@njit(cache=True, nogil=True, error_model="numpy")
def pool_row(
    own_weight: float,
    entries: IntArray,
    weights: FloatArray,
    precision: Beliefs,
    shift: Beliefs,
    at: int,
    mean: Beliefs,
    variance: Beliefs,
    total_precision: FloatArray,
    total_shift: FloatArray,
    out_mean: Beliefs,
    out_variance: Beliefs,
) -> bool:
    """Pool one agent's columns; whether what it had itself was a Gaussian's.

    `out_mean` and `out_variance` may be `mean` and `variance`.
    """
    good = True
    for c in range(mean.size):
        p = 1.0 / np.float64(variance[c])
        s = p * np.float64(mean[c])
        good &= (p > 0) & (p - p == 0) & (s - s == 0)
        total_precision[c] = own_weight * p
        total_shift[c] = own_weight * s
    end = at + mean.size
    # Four at a time, in the same order of additions: sums stay in registers four times as long.
    fours = entries.size // 4 * 4
    for e in range(0, fours, 4):
        w0, w1, w2, w3 = weights[e], weights[e + 1], weights[e + 2], weights[e + 3]
        j0, j1, j2, j3 = entries[e], entries[e + 1], entries[e + 2], entries[e + 3]
        for table, total in ((precision, total_precision), (shift, total_shift)):
            h0, h1 = table[j0, at:end], table[j1, at:end]
            h2, h3 = table[j2, at:end], table[j3, at:end]
            for c in range(mean.size):
                some = total[c] + w0 * np.float64(h0[c])
                some += w1 * np.float64(h1[c])
                some += w2 * np.float64(h2[c])
                total[c] = some + w3 * np.float64(h3[c])
    for e in range(fours, entries.size):
        weight, j = weights[e], entries[e]
        p_heard, s_heard = precision[j, at:end], shift[j, at:end]
        for c in range(mean.size):
            total_precision[c] += weight * np.float64(p_heard[c])
            total_shift[c] += weight * np.float64(s_heard[c])
    for c in range(mean.size):
        pooled = 1.0 / total_precision[c]
        out_mean[c] = pooled * total_shift[c]
        out_variance[c] = pooled
    return good


@njit(cache=True, nogil=True, error_model="numpy")
def pool_all(
    own_weights: FloatArray,
    start: IntArray,
    entries: IntArray,
    weights: FloatArray,
    involved: Flags,
    mean: Beliefs,
    variance: Beliefs,
    out_mean: Beliefs,
    out_variance: Beliefs,
) -> int:
    """Pool the beliefs of all agents, who hear each other's natural parameters in these dtypes.

    Returns the first agent whose numbers are no Gaussian's, among those involved; −1 if none.
    """
    agents, columns = mean.shape
    precision = np.empty((agents, PIECE), mean.dtype)
    shift = np.empty((agents, PIECE), mean.dtype)
    total_precision, total_shift = np.empty(PIECE), np.empty(PIECE)
    for first in range(0, columns, PIECE):
        last = min(first + PIECE, columns)
        n = last - first
        for j in range(agents):
            if involved[j] and not to_natural(
                mean[j, first:last], variance[j, first:last], precision[j, :n], shift[j, :n]
            ):
                return j
        for i in range(agents):
            if start[i] == start[i + 1]:
                out_mean[i, first:last] = mean[i, first:last]
                out_variance[i, first:last] = variance[i, first:last]
            else:
                pool_row(
                    own_weights[i],
                    entries[start[i] : start[i + 1]],
                    weights[start[i] : start[i + 1]],
                    precision,
                    shift,
                    0,
                    mean[i, first:last],
                    variance[i, first:last],
                    total_precision[:n],
                    total_shift[:n],
                    out_mean[i, first:last],
                    out_variance[i, first:last],
                )
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def pool_heard(
    own_weights: FloatArray,
    start: IntArray,
    entries: IntArray,
    weights: FloatArray,
    precision: Beliefs,
    shift: Beliefs,
    mean: Beliefs,
    variance: Beliefs,
    out_mean: Beliefs,
    out_variance: Beliefs,
) -> int:
    """Pool the beliefs of some agents with parameters they heard, shape (heard, d).

    Returns the first row whose own numbers are no Gaussian's; −1 if none.
    """
    columns = mean.shape[1]
    total_precision, total_shift = np.empty(PIECE), np.empty(PIECE)
    for first in range(0, columns, PIECE):
        last = min(first + PIECE, columns)
        n = last - first
        for i in range(own_weights.size):
            if start[i] == start[i + 1]:
                out_mean[i, first:last] = mean[i, first:last]
                out_variance[i, first:last] = variance[i, first:last]
            elif not pool_row(
                own_weights[i],
                entries[start[i] : start[i + 1]],
                weights[start[i] : start[i + 1]],
                precision,
                shift,
                first,
                mean[i, first:last],
                variance[i, first:last],
                total_precision[:n],
                total_shift[:n],
                out_mean[i, first:last],
                out_variance[i, first:last],
            ):
                return i
    return -1

"""Compiled inner loops of simulations: draws of outcomes, sparse rounds, dense rounds.

Several rounds B ← z + W B of a small dense W go in one sweep. The columns of B do not meet in a
product with W: a band of them is carried through all rounds of a block while it stays in the core's
first cache, and only the observations z stream in:

    band of columns → round → some rows of W at a time → strip of columns → neighbour j,

of which the last two are :mod:`exact.microkernel`. Libraries of linear algebra reach their best
rates at hundreds of rows; this does from four agents on, and on some processors it takes wider
vectors than they do (docs: benchmarks). An entry is z_i + W_i0 B_0 + W_i1 B_1 + ..., added in this
order, and does not depend on the other columns.

Imported only where it runs.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from exact.microkernel import DOUBLE, add_double
from theory.validation import FloatArray, IntArray

# The two inner loops that numpy has no words for, compiled by numba ------------------------------

Words = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def alias_symbols(
    words: Words,
    bits: Words,
    columns: Words,
    thresholds: Words,
    choices: IntArray,
    symbols: IntArray,
) -> None:
    """Turn uniform 64-bit words, shape (T, N, R), into outcomes by Walker's alias method.

    Agent i has 2**bits[i] columns from columns[i] on: the high bits of a word choose one, the
    others, against its threshold, one of the column's two choices.
    """
    for t in range(words.shape[0]):
        for i in range(words.shape[1]):
            low, first = bits[i], columns[i]
            high = np.uint64(64) - low
            for r in range(words.shape[2]):
                word = words[t, i, r]
                column = first + (word >> high)
                # The comparison is an index: a branch would be mispredicted half the time.
                below = np.uint64((word << low) < thresholds[column])
                symbols[t, i, r] = choices[column, below]


@njit(cache=True, nogil=True)
def sparse_rounds(
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    data: FloatArray,
    lag: int,
    tile: int,
    symbols: IntArray,
    offsets: FloatArray,
    slopes: FloatArray,
    noise: FloatArray,
    state: FloatArray,
    first: int,
) -> None:
    """Several rounds B ← L + W B for sparse W in one sweep through memory.

    `state` holds two copies of B, shape (2, N, R·M); the current one is state[first], and round k
    reads one copy and writes the other. Round k follows `lag` ≥ max |i − j| agents behind round
    k − 1: whatever it reads is then complete, whatever it overwrites no longer needed, and both
    are still in cache.
    """
    rounds, agents, replicates = symbols.shape
    width = offsets.shape[1]
    noisy = noise.size > 0
    channels = noise.shape[2] // replicates if noisy else 0
    for front in range(0, agents + (rounds - 1) * lag, tile):
        for k in range(rounds):
            old = state[(first + k) % 2]
            new = state[(first + k + 1) % 2]
            for i in range(max(0, front - k * lag), min(agents, front - k * lag + tile)):
                out = new[i]
                e, end = indptr[i], indptr[i + 1]
                # Passes over a row take longer than operations: three neighbours share one, and
                # a lone replicate's observation goes with them.
                if replicates == 1 and not noisy and e + 2 < end:
                    row = offsets[symbols[k, i, 0]]
                    a, b, c = data[e], data[e + 1], data[e + 2]
                    u, v, w = old[indices[e]], old[indices[e + 1]], old[indices[e + 2]]
                    for m in range(width):
                        out[m] = row[m] + a * u[m] + b * v[m] + c * w[m]
                    e += 3
                else:
                    for r in range(replicates):
                        row = offsets[symbols[k, i, r]]
                        for m in range(width):
                            out[r * width + m] = row[m]
                        if noisy:
                            slope = slopes[symbols[k, i, r]]
                            for c in range(channels):
                                n = noise[k, i, r * channels + c]
                                for m in range(width):
                                    out[r * width + m] += n * slope[c * width + m]
                while e + 2 < end:
                    a, b, c = data[e], data[e + 1], data[e + 2]
                    u, v, w = old[indices[e]], old[indices[e + 1]], old[indices[e + 2]]
                    for m in range(out.size):
                        out[m] = out[m] + a * u[m] + b * v[m] + c * w[m]
                    e += 3
                if e + 1 < end:
                    a, b = data[e], data[e + 1]
                    u, v = old[indices[e]], old[indices[e + 1]]
                    for m in range(out.size):
                        out[m] = out[m] + a * u[m] + b * v[m]
                elif e < end:
                    a, u = data[e], old[indices[e]]
                    for m in range(out.size):
                        out[m] += a * u[m]


# Several rounds B ← z + W B of a small dense W in one sweep --------------------------------------

_CACHE_LINE = 8
ROWS, STRIP = DOUBLE.rows, DOUBLE.strip
# Bands of up to 16 agents, old and new, stay in 32 KiB.
BAND = 4 * STRIP


def work_space(agents: int, columns: int) -> int:
    """How many numbers :func:`dense_rounds` needs as `memory`: its bands begin a cache line."""
    copies = -(-2 * agents * columns // _CACHE_LINE) * _CACHE_LINE
    return copies + 2 * agents * BAND


@njit(cache=True, nogil=True)
def dense_rounds(weights: FloatArray, rows: FloatArray, memory: FloatArray, at: int) -> None:
    """Carry B, shape (N, K), through T ≥ 1 rounds.

    Parameters
    ----------
    weights
        W, shape (N, N).
    rows
        z of the rounds, shape (T, N, K).
    memory
        :func:`work_space` numbers, of which two copies of B come first.
    at
        Which copy is B, 0 or 1. The other is written.
    """
    rounds, agents, columns = rows.shape
    blocks = (agents + ROWS - 1) // ROWS
    size, bands = agents * columns, memory.size - 2 * agents * BAND
    w, z, b = weights.ctypes.data, rows.ctypes.data, memory.ctypes.data
    for column in range(0, columns, BAND):
        old, old_step = at * size + column, columns
        for t in range(rounds):
            new, new_step = (1 - at) * size + column, columns
            if t + 1 < rounds:
                new, new_step = bands + t % 2 * agents * BAND, BAND
            first = 0
            for block in range(blocks):
                # Blocks as equal as can be: short of rows, sums wait for each other.
                count = (agents - first + blocks - block - 1) // (blocks - block)
                add_double((
                    count, w + 8 * first * agents, agents, 1, b + 8 * old, old_step,
                    z + 8 * ((t * agents + first) * columns + column), columns,
                    b + 8 * (new + first * new_step), new_step,
                    agents, min(BAND, columns - column),
                ))  # fmt: skip
                first += count
            old, old_step = new, new_step

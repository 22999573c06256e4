"""The two inner loops that numpy has no words for, compiled by numba.

Imported only where they run: compiling and importing numba takes longer than a small simulation.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from theory.validation import FloatArray, IntArray

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

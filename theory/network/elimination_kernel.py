"""The loops of Grassmann–Taksar–Heyman elimination, compiled by numba.

They do what :mod:`theory.network.stationary` does with whole rows of numpy, operation by operation
and in the same order, sums included: the digits are equal. Imported only where numba is loaded
anyway, which takes longer than thousands of small eliminations.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from theory.network.structure import MODERATE
from theory.validation import FloatArray

# numpy adds up to so many numbers in eight interleaved sums, and halves longer rows.
_BLOCK = 128


@njit(cache=True, nogil=True)
def _short_sum(values: FloatArray, begin: int, end: int) -> float:
    if end - begin < 8:
        total = 0.0
        for i in range(begin, end):
            total += values[i]
        return total
    a, b, c, d = values[begin], values[begin + 1], values[begin + 2], values[begin + 3]
    e, f, g, h = values[begin + 4], values[begin + 5], values[begin + 6], values[begin + 7]
    whole = end - (end - begin) % 8
    for i in range(begin + 8, whole, 8):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(whole, end):
        total += values[i]
    return float(total)


@njit("float64(float64[::1], int64, int64)", cache=True, nogil=True)
def pairwise_sum(values: FloatArray, begin: int, end: int) -> float:
    """The sum of values[begin:end] to the last bit as `numpy.sum` of contiguous numbers gives it.

    The numbers are not negative.
    """
    size = end - begin
    if size <= _BLOCK:
        return float(_short_sum(values, begin, end))
    middle = begin + size // 2 - size // 2 % 8
    return float(pairwise_sum(values, begin, middle) + pairwise_sum(values, middle, end))


@njit(cache=True, nogil=True)
def remove(A: FloatArray, start: int, stop: int) -> int:
    """As :func:`theory.network.stationary.remove`."""
    for k in range(stop - 1, start - 1, -1):
        passed = A[k]
        leaving = pairwise_sum(passed, 0, k)
        if not leaving > 0:
            return k
        for i in range(k):
            row = A[i]
            share = row[k] / leaving
            row[k] = share
            for j in range(0 if i >= start else start, k):
                row[j] += share * passed[j]
    return 0


@njit(cache=True, nogil=True)
def add_up(A: FloatArray, v: FloatArray) -> bool:
    """As :func:`theory.network.stationary.add_up`."""
    terms = np.empty(v.size)
    lowest = v[0] = 1.0
    for k in range(1, v.size):
        for i in range(k):
            share = A[i, k]
            if 0 < share < lowest:
                lowest = share
            terms[i] = v[i] * share
        v[k] = pairwise_sum(terms, 0, k)
        # Written so that a number that is none is refused.
        if not MODERATE < v[k] < 1 / MODERATE:
            return False
    if not lowest > MODERATE:
        return False
    total = pairwise_sum(v, 0, v.size)
    for k in range(v.size):
        v[k] /= total
    return True


@njit(cache=True, nogil=True)
def eliminate_at_once(A: FloatArray, v: FloatArray) -> int:
    """Both of the above, for so few agents that one panel holds all but agent 0.

    Returns an agent whose weights underflow, 0 if there is none, −1 if v is out of scale.
    """
    failed = remove(A, 1, v.size)
    return failed if failed or add_up(A, v) else -1

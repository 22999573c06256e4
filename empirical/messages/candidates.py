"""Candidates that both ends can draw from a seed, and the choice of one: compiled.

Candidate j of block b is a vector of standard normal numbers on a grid of 2⁻¹⁰, functions of
(seed, b, j, coordinate) by Threefry and a table of 4 096 quantiles: integers from first to last.
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from empirical.train.kernels.threefry import words
from theory.validation import IntArray

UNIT = 1 << 10
_QUANTILES = 4096
_SHIFT = np.uint32(20)  # leaves the 12 leading bits
_U = np.uint32


@functools.lru_cache(maxsize=1)
def quantiles() -> NDArray[np.int32]:
    """Φ⁻¹((k + ½)/4096) in units of 2⁻¹⁰, rounded, shape (4096,).

    None is within 1e-6 of a rounding boundary, and the library's error is below 1e-12: the table
    is the same on every machine.
    """
    normal = NormalDist()
    half = [normal.inv_cdf((k + 0.5) / _QUANTILES) for k in range(_QUANTILES // 2)]
    lower = np.rint(np.array(half) * UNIT).astype(np.int32)
    return np.concatenate([lower, -lower[::-1]])


def key_of(seed: int) -> NDArray[np.uint32]:
    """The key of a message's seed, shape (4,)."""
    return np.random.SeedSequence(seed).generate_state(4, np.uint32).astype(np.uint32)


def drawn(starts: IntArray, indices: IntArray, size: int, seed: int) -> NDArray[np.int32]:
    """The chosen candidate of each block, in units of 2⁻¹⁰, shape (size,).

    Parameters
    ----------
    starts
        First coordinate of each block, shape (b,).
    indices
        Number of its candidate, from 0, shape (b,).
    size
        Of all blocks together.
    seed
        Of the message.
    """
    out = np.empty(size, dtype=np.int32)
    _draw(starts, indices, key_of(seed), quantiles(), out)
    return out


def chosen(
    starts: IntArray,
    limits: IntArray,
    centre: NDArray[np.float32],
    narrow: NDArray[np.float32],
    seed: int,
) -> IntArray:
    """For each block the number of a candidate that is nearly a sample of N(centre, narrow).

    The Poisson functional representation (Li & El Gamal 2018): the candidate with the largest
    log density ratio less the logarithm of its arrival time, exact where no limit is met.

    Parameters
    ----------
    starts
        First coordinate of each block, shape (b,).
    limits
        How many candidates are looked at, at most, shape (b,).
    centre, narrow
        Mean and variance of each coordinate in units of its prior's, narrow below 1, shape (n,).
    seed
        Of the message.
    """
    found = np.empty(len(starts), dtype=np.int64)
    key = key_of(seed)
    _choose(starts, limits, centre, narrow, key, quantiles().astype(np.float32) / UNIT, found)
    return found


@numba.njit(cache=True)
def _draw(starts: Any, indices: Any, key: Any, table: Any, out: Any) -> None:
    four = (key[0], key[1], key[2], key[3])
    for block in range(len(starts)):
        start = starts[block]
        end = starts[block + 1] if block + 1 < len(starts) else len(out)
        j = _U(indices[block])
        for first in range(start, end, 4):
            a, b, c, d = words((_U(first - start), j, _U(block), _U(0)), four)
            out[first] = table[a >> _SHIFT]
            if first + 1 < end:
                out[first + 1] = table[b >> _SHIFT]
            if first + 2 < end:
                out[first + 2] = table[c >> _SHIFT]
            if first + 3 < end:
                out[first + 3] = table[d >> _SHIFT]


@numba.njit(cache=True, fastmath=True)
def _choose(
    starts: Any, limits: Any, centre: Any, narrow: Any, key: Any, table: Any, found: Any
) -> None:
    four = (key[0], key[1], key[2], key[3])
    size = len(centre)
    # log q/p = ½ z² − (z − y)²/(2v), but for what all candidates share: a z² + b z.
    square = (np.float32(0.5) - np.float32(0.5) / narrow).astype(np.float32)
    linear = (centre / narrow).astype(np.float32)
    for block in range(len(starts)):
        start = starts[block]
        end = starts[block + 1] if block + 1 < len(starts) else size
        most = 0.0
        for i in range(start, end):
            most -= linear[i] * linear[i] / (4 * square[i])
        best, taken, time = -math.inf, 0, 0.0
        for j in range(limits[block]):
            a, b, c, d = words((_U(j), _U(0), _U(block), _U(1)), four)
            time -= math.log((a + 0.5) * 2.0**-32)
            late = math.log(time)
            if most - late < best:
                break
            score: Any = np.float32(0.0)
            for first in range(start, end, 4):
                a, b, c, d = words((_U(first - start), _U(j), _U(block), _U(0)), four)
                z = table[a >> _SHIFT]
                score += z * (square[first] * z + linear[first])
                if first + 1 < end:
                    z = table[b >> _SHIFT]
                    score += z * (square[first + 1] * z + linear[first + 1])
                if first + 2 < end:
                    z = table[c >> _SHIFT]
                    score += z * (square[first + 2] * z + linear[first + 2])
                if first + 3 < end:
                    z = table[d >> _SHIFT]
                    score += z * (square[first + 3] * z + linear[first + 3])
            if score - late > best:
                best, taken = score - late, j
        found[block] = taken


@numba.njit(cache=True)
def _cut(cost: Any, budget: float, longest: int, out: Any) -> int:
    count, spent, length = 0, 0.0, longest
    for i in range(len(cost)):
        if length == longest or spent + cost[i] > budget:
            out[count] = i
            count, spent, length = count + 1, 0.0, 0
        spent += cost[i]
        length += 1
    return count


def cut(cost: NDArray[np.float64], budget: float, longest: int) -> IntArray:
    """First coordinates of blocks that cost at most a budget each, or hold one coordinate.

    Parameters
    ----------
    cost
        Of each coordinate, shape (n,).
    budget
        Of a block.
    longest
        Coordinates in a block, at most.
    """
    out = np.empty(len(cost), dtype=np.int64)
    return out[: _cut(cost, float(budget), longest, out)]

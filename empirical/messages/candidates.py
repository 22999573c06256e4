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

from empirical.kernels.noise import uniform, words
from theory.validation import IntArray

UNIT = 1 << 10
_QUANTILES = 4096
_SHIFT = np.uint32(20)  # leaves the 12 leading bits
_U = np.uint32
# Candidates that are scored together; coordinates of one draw of words.
_LANES, _QUARTER = 32, 4
# Below every score; sums are compiled without infinities.
_LEAST = np.float32(-1e30)


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


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _choose(
    starts: Any, limits: Any, centre: Any, narrow: Any, key: Any, table: Any, found: Any
) -> None:
    size, four = len(centre), (key[0], key[1], key[2], key[3])
    longest = 0
    for block in range(len(starts)):
        end = starts[block + 1] if block + 1 < len(starts) else size
        longest = max(longest, end - starts[block])
    # log q/p = ½ z² − (z − y)²/(2v), but for what all candidates share: a z² + b z.
    square = np.zeros(longest + _QUARTER, dtype=np.float32)
    linear = np.zeros(longest + _QUARTER, dtype=np.float32)
    scores = np.empty(_LANES, dtype=np.float32)
    gaps = np.empty(_LANES, dtype=np.float32)
    drawn = np.empty(_QUARTER * _LANES, dtype=np.int32)
    for block in range(len(starts)):
        start = starts[block]
        end = starts[block + 1] if block + 1 < len(starts) else size
        most = 0.0
        for i in range(end - start):
            square[i] = np.float32(0.5) - np.float32(0.5) / narrow[start + i]
            linear[i] = centre[start + i] / narrow[start + i]
            most -= linear[i] * linear[i] / (4 * square[i])
        square[end - start : end - start + _QUARTER] = np.float32(0.0)
        linear[end - start : end - start + _QUARTER] = np.float32(0.0)
        best, taken, time, j = _LEAST, 0, 0.0, 0
        while j < limits[block]:
            # No later candidate is taken with less.
            least = best + (math.log(time) if j else 0.0)
            if most < least:
                break
            _arrivals(gaps, _U(j), _U(block), four)
            _scored(scores, drawn, _U(j), _U(block), four, square, linear, end - start, table)
            for lane in range(min(_LANES, limits[block] - j)):
                time += gaps[lane]
                if scores[lane] > least:
                    score = scores[lane] - math.log(time)
                    if score > best:
                        best, taken = score, j + lane
            j += _LANES
        found[block] = taken


@numba.njit(forceinline=True, fastmath=True)
def _arrivals(gaps: Any, j: Any, block: Any, four: Any) -> None:
    """Exponential times between candidates j, …."""
    for lane in range(_LANES // 4):
        a, b, c, d = words((_U(j + _U(lane)), _U(0), block, _U(1)), four)
        gaps[4 * lane], gaps[4 * lane + 1] = uniform(a), uniform(b)
        gaps[4 * lane + 2], gaps[4 * lane + 3] = uniform(c), uniform(d)
    for lane in range(_LANES):
        gaps[lane] = -np.log(gaps[lane])


@numba.njit(forceinline=True, fastmath=True)
def _scored(
    scores: Any, drawn: Any, j: Any, block: Any, four: Any, square: Any, linear: Any,
    length: Any, table: Any,
) -> None:  # fmt: skip
    """Log density ratios of candidates j, …, four coordinates at a time."""
    scores[:] = np.float32(0.0)
    for first in range(0, length, 4):
        for lane in range(_LANES):
            a, b, c, d = words((_U(first), _U(j + _U(lane)), block, _U(0)), four)
            drawn[lane] = a >> _SHIFT
            drawn[_LANES + lane] = b >> _SHIFT
            drawn[2 * _LANES + lane] = c >> _SHIFT
            drawn[3 * _LANES + lane] = d >> _SHIFT
        for quarter in range(_QUARTER):
            s, t = square[first + quarter], linear[first + quarter]
            for lane in range(_LANES):
                z = table[drawn[quarter * _LANES + lane]]
                scores[lane] += z * (s * z + t)


@numba.njit(cache=True, nogil=True)
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

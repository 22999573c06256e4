"""Pooling by rules that sort and clip, compiled by numba.

Imported only where it runs: see :mod:`exact.dense_kernel`.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from theory.validation import FloatArray, IntArray

AVERAGE, TRIMMED, MEDIAN, CLIP = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def pool(
    rule: int,
    tolerate: int,
    renormalise: bool,
    radius: float,
    own: FloatArray,
    said: FloatArray,
    useless: NDArray[np.bool_],
    pointers: IntArray,
    sources: IntArray,
    weights: FloatArray,
    own_weights: FloatArray,
    agents: IntArray,
    out: FloatArray,
    discarded: IntArray,
) -> None:
    """Write every pooling agent's new log-ratios to `out`, shape (N, R, C).

    Agent i hears rows sources[e] of `said`, shape (S, R, C), for e from pointers[i] to
    pointers[i + 1] − 1, with weights[e], except those marked in `useless`, shape (S, R), which
    are counted in discarded[i, r].
    """
    most = 1
    for i in agents:
        most = max(most, pointers[i + 1] - pointers[i])
    value = np.empty(most + 1)
    weight = np.empty(most + 1)
    for i in agents:
        begin, end = pointers[i], pointers[i + 1]
        for r in range(own.shape[1]):
            # What is thrown away was worth as much as one's own belief, for every rule.
            self_weight = own_weights[i]
            for e in range(begin, end):
                if useless[sources[e], r]:
                    discarded[i, r] += 1
                    self_weight += weights[e]
            for c in range(own.shape[2]):
                x = own[i, r, c]
                if rule in (AVERAGE, CLIP):
                    move = 0.0
                    for e in range(begin, end):
                        if not useless[sources[e], r]:
                            gap = said[sources[e], r, c] - x
                            if rule == CLIP:
                                gap = max(-radius, min(radius, gap))
                            move += weights[e] * gap
                    out[i, r, c] = x + move
                    continue
                # Sorted by value and, where these are equal, by weight, the largest first: an
                # order that does not depend on how agents are numbered.
                count = 0
                for e in range(begin, end):
                    if useless[sources[e], r]:
                        continue
                    m, w = said[sources[e], r, c], weights[e]
                    k = count
                    while k > 0 and (value[k - 1] > m or (value[k - 1] == m and weight[k - 1] < w)):
                        value[k], weight[k] = value[k - 1], weight[k - 1]
                        k -= 1
                    value[k], weight[k] = m, w
                    count += 1
                if rule == MEDIAN:
                    k = count
                    while k > 0 and value[k - 1] > x:
                        value[k] = value[k - 1]
                        k -= 1
                    value[k] = x
                    # count + 1 numbers; the middle ones are the same if their number is odd.
                    low, high = value[count // 2], value[(count + 1) // 2]
                    out[i, r, c] = low + (high - low) / 2
                    continue
                low = 0
                while low < min(tolerate, count) and value[low] < x:
                    low += 1
                high = count
                while high > max(count - tolerate, 0) and value[high - 1] > x:
                    high -= 1
                # At the upper edge, of equal numbers the heaviest come first: drop those.
                if high < count and high > low and value[high - 1] == value[high]:
                    edge = value[high]
                    first = high
                    while first > 0 and value[first - 1] == edge:
                        first -= 1
                    last = high
                    while last < count and value[last] == edge:
                        last += 1
                    gone = last - high
                    for k in range(first, high):
                        weight[k] = weight[k + gone]
                total = self_weight
                move = 0.0
                for k in range(low, high):
                    move += weight[k] * (value[k] - x)
                    total += weight[k]
                if renormalise and total > 0:
                    move /= total
                out[i, r, c] = x + move

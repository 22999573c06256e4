"""Product grids: coverings of the cube [−1, 1]^d by equal cells along its own axes.

Wasteful where features are correlated, but where all agents' second moments are diagonal every
agent rounds each coordinate by itself, so that all agree on the nearest point and Θ* is not empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil, prod

import numpy as np

from theory.risk.domains import corners, log_ball_volume
from theory.risk.lattices import middles
from theory.validation import FloatArray

# Counts beyond this are given up.
_MOST = 64_000_000


def grid_density(k: int) -> float:
    """The same for a grid of cubes, (√k/2)^k times the volume of the unit ball."""
    return float(np.exp(log_ball_volume(k) + k * np.log(np.sqrt(k) / 2)))


def grid_counts(metric: FloatArray, limit: float) -> list[int] | None:
    """Points on each axis of the cube [−1, 1]^d, so few that cells are within √limit of corners.

    A corner δ of the cell has the squared length δᵀ·metric·δ, a convex function, so that the
    farthest points of a cell are corners. Tries to leave the shortest axes whole, gives the others
    equal shares, and then takes points away where that is possible. None beyond 64 million points.
    """
    signs = corners(len(metric))

    def fits(counts: list[int]) -> bool:
        ends = signs / np.array(counts, dtype=float)
        return bool(((ends @ metric) * ends).sum(axis=1).max() <= limit)

    lengths = np.sqrt(np.diag(metric))
    order = [int(axis) for axis in np.argsort(lengths) if lengths[axis] > 0]
    best: list[int] | None = None
    for whole in range(len(order)):
        left = limit - float((lengths[order[:whole]] ** 2).sum())
        if left <= 0:
            break
        cut = order[whole:]
        counts = [1] * len(metric)
        for axis in cut:
            counts[axis] = max(1, ceil(lengths[axis] / np.sqrt(left / len(cut))))
        # Correlated features make the corners longer than their coordinates tell.
        while prod(counts) <= _MOST and not fits(counts):
            for axis in cut:
                counts[axis] += max(1, counts[axis] // 50)
        if prod(counts) <= _MOST:
            counts = _thinned(counts, fits)
            if best is None or prod(counts) < prod(best):
                best = counts
    return best


def _thinned(counts: list[int], fits: Callable[[list[int]], bool]) -> list[int]:
    """Take points away, on one axis or on one for another, while the cells still fit."""
    axes = range(len(counts))
    moves = [{i: -1} for i in axes]
    for fewer, more in ((-1, 1), (-2, 1), (-1, 2)):
        moves += [{i: fewer, j: more} for i in axes for j in axes if i != j]

    def tried() -> Iterator[list[int]]:
        for move in moves:
            changed = [count + move.get(axis, 0) for axis, count in enumerate(counts)]
            if min(changed) >= 1 and prod(changed) < prod(counts):
                yield changed

    while (better := next((one for one in tried() if fits(one)), None)) is not None:
        counts = better
    return counts


def grid_points(counts: list[int]) -> FloatArray:
    """The centres of the cells, shape (Π counts, d)."""
    axes = [middles(count) for count in counts]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

"""Where the interior-point method is, where it goes, and how far it may go.

A point holds both sides: the unknowns g and r with the constraints' values Z₁, Z₂ and slack, and
the multipliers X₁, X₂, x and prices. All are positive, or positive definite, at all times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.mixing.newton import Matrix, is_positive_definite
from theory.network.structure import as_dense
from theory.validation import FloatArray

Pair = tuple[FloatArray, FloatArray]

# Steps to the boundary are found to about this power of one half of themselves.
_BISECTIONS = 6
_MOST_BISECTIONS = 40


@dataclass(frozen=True, eq=False)
class Point:
    """Unknowns, values of the constraints, and multipliers.

    Attributes
    ----------
    g, r
        Shape (F,), and the bound on all eigenvalues.
    Z, slack
        Two of shape (N, N), and (m,): what is left of the constraints.
    X, x, prices
        Two of shape (N, N), (F,) and (m,): multipliers of Z ⪰ 0, g ≥ 0 and slack ≥ 0.
    """

    g: FloatArray
    r: float
    Z: Pair
    slack: FloatArray
    X: Pair
    x: FloatArray
    prices: FloatArray

    @property
    def gap(self) -> float:
        """The sum of all constraints times their multipliers: primal minus dual objective."""
        blocks = sum(float(np.vdot(X, Z)) for X, Z in zip(self.X, self.Z, strict=True))
        return blocks + float(self.x @ self.g + self.prices @ self.slack)

    @property
    def mean_product(self) -> float:
        """The gap shared out over the barrier's parameter: μ."""
        return self.gap / (2 * len(self.X[0]) + len(self.g) + len(self.slack))


@dataclass(frozen=True, eq=False)
class Direction:
    """What changes by how much; Z sparse in large graphs: only edges and diagonal change."""

    g: FloatArray
    r: float
    Z: tuple[Matrix, Matrix]
    slack: FloatArray
    X: Pair
    x: FloatArray
    prices: FloatArray


def primal_length(point: Point, by: Direction, *, limit: float) -> float:
    """Nearly the largest step up to `limit` that keeps Z, g and the slack positive."""
    limit = min(limit, _ratio(point.g, by.g), _ratio(point.slack, by.slack))
    return _length(point.Z, (as_dense(by.Z[0]), as_dense(by.Z[1])), limit)


def dual_length(point: Point, by: Direction, *, limit: float) -> float:
    """Nearly the largest step up to `limit` that keeps X, x and the prices positive."""
    limit = min(limit, _ratio(point.x, by.x), _ratio(point.prices, by.prices))
    return _length(point.X, by.X, limit)


def _ratio(value: FloatArray, change: FloatArray) -> float:
    """The largest step that keeps `value` at 0 or more."""
    falling = change < 0
    return float(np.min(value[falling] / -change[falling], initial=np.inf))


def _length(matrices: Pair, changes: Pair, limit: float) -> float:
    def inside(step: float) -> bool:
        return all(
            is_positive_definite(matrix + step * change)
            for matrix, change in zip(matrices, changes, strict=True)
        )

    if inside(limit):
        return limit
    low, high = 0.0, limit
    for done in range(1, _MOST_BISECTIONS + 1):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if inside(middle) else (low, middle)
        if low > 0 and done >= _BISECTIONS:
            break
    return low

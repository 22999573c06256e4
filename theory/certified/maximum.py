"""Enclose the maximum of a concave function, by tangents.

f is concave on [0, ∞) with f(0) = 0 and f'(0) > 0. Wherever balls prove f'(a) > 0 > f'(b), the
maximum is attained between a and b, and

    max(f(a), f(b)) ≤ max f ≤ min(f(a) + f'(a)(b − a), f(b) − f'(b)(b − a)) :

below by its values, above by its tangents. Newton's method in balls puts a and b so close to the
maximum that the two sides differ by about f''·(b − a)². No step needs to be trusted: the signs of
f' are proved at a and b, however these were found.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import flint
from flint import arb

from theory.certified.cumulant import Jet, Weighed
from theory.numbers import precision

# W, W², … in balls, until their rows agree -------------------------------------------------------


SETTLED_BITS = 40
"""Rows have settled where each column's hull is a ball of this relative accuracy."""


@dataclass(eq=False)
class BallPowers:
    """Powers of a rational W in balls of `bits` bits, computed when they are first asked for.

    Attributes
    ----------
    most
        At most this many are computed; the hull of the last stands for later ones, however wide.
    settled
        The first k at which the rows agree; None as long as it has not been reached.
    """

    matrix: flint.fmpq_mat
    bits: int
    most: int
    settled: int | None = None
    _tables: list[list[list[arb]]] = field(default_factory=list)
    _last: flint.arb_mat | None = None

    @property
    def agents(self) -> int:
        """N."""
        return int(self.matrix.nrows())

    def reach(self, rounds: int) -> int:
        """Compute powers up to `rounds`, or until the rows agree; how many there are then."""
        wanted = min(rounds, self.most)
        with precision(self.bits):
            W = flint.arb_mat(self.matrix)
            while len(self._tables) < wanted and self.settled is None:
                self._last = W if self._last is None else self._last * W
                self._tables.append(self._last.table())
                if all(h.rel_accuracy_bits() >= SETTLED_BITS for h in self.hull(len(self._tables))):
                    self.settled = len(self._tables)
        return min(wanted, len(self._tables))

    def table(self, k: int) -> list[list[arb]]:
        """The entries of W^k, for a k that was reached."""
        return self._tables[k - 1]

    def hull(self, k: int) -> list[arb]:
        """One ball a column that contains that column of W^l in every row, for all l ≥ k."""
        with precision(self.bits):
            rows = self.table(k)
            hull = list(rows[0])
            for row in rows[1:]:
                hull = [a.union(b) for a, b in zip(hull, row, strict=True)]
            return hull


# Enclose the maximum of a concave function, by tangents ------------------------------------------


# Steps of Newton's method, halvings and growth together; a handful suffice but for wild cases.
_MOST_STEPS = 400
_GROWTH = 16


@dataclass(frozen=True)
class Maximum:
    """lower ≤ max f ≤ upper and left ≤ argmax ≤ right, all proved; the attributes are balls."""

    lower: arb
    upper: arb
    left: arb
    right: arb

    @property
    def value(self) -> arb:
        """One ball around max f."""
        return self.lower.union(self.upper)

    @property
    def argument(self) -> arb:
        """One ball around the maximiser."""
        return self.left.union(self.right)


def concave_maximum(
    objective: Weighed, *, closeness: int, guess: arb | None = None
) -> Maximum | None:
    """Enclose max_{t ≥ 0} f(t), f(t) = −log E e^{−tS}, to about 2^(−2·closeness) relative.

    E S must be positive and S be negative at times. None where the present precision does not
    suffice to prove the signs.
    """
    if not objective.mean > 0:
        return None
    start = guess if guess is not None else _normal_guess(objective)
    located = _locate(objective, start, closeness)
    if located is None:
        return None
    middle, known = located
    width = arb(2) ** -closeness
    for _ in range(4):
        left, right = (middle * (1 - width)).mid(), (middle * (1 + width)).mid()
        low, high = objective.jet(left), objective.jet(right)
        if low.slope > 0 > high.slope:
            return _between(left, low, right, high)
        if low.slope < 0 or high.slope > 0:  # not yet close enough: on the wrong side
            width *= 16
        else:
            width *= 256
    return known


def _between(left: arb, low: Jet, right: arb, high: Jet) -> Maximum:
    gap = right - left
    lower = low.value.max(high.value)
    upper = (low.value + low.slope * gap).min(high.value - high.slope * gap)
    return Maximum(lower, upper, left, right)


def _normal_guess(objective: Weighed) -> arb:
    """The maximiser if S were normal, E S/Var S; 1/E S where the variance is not resolved."""
    mean, variance = objective.mean.mid(), objective.variance.mid()
    return (mean / variance).mid() if variance > 0 else (1 / mean).mid()


def _locate(objective: Weighed, guess: arb, closeness: int) -> tuple[arb, Maximum | None] | None:
    """A point near the maximiser, by Newton's method kept between points of proven sign."""
    left: tuple[arb, Jet] | None = None
    right: tuple[arb, Jet] | None = None
    point = guess
    tolerance = arb(2) ** -(closeness + 2)
    for _ in range(_MOST_STEPS):
        jet = objective.jet(point)
        if jet.slope > 0:
            left = (point, jet)
        elif jet.slope < 0:
            right = (point, jet)
        elif jet.slope.is_finite():
            break  # as near as this precision tells
        else:
            return None
        following = _next_point(point, jet, left, right)
        moved = abs(following - point)
        point = following
        if moved < tolerance * point:
            break
    else:
        return None
    known = _between(*left, *right) if left is not None and right is not None else None
    return point, known


def _next_point(
    point: arb, jet: Jet, left: tuple[arb, Jet] | None, right: tuple[arb, Jet] | None
) -> arb:
    low = left[0] if left is not None else point / _GROWTH
    high = right[0] if right is not None else point * _GROWTH
    curvature = jet.curvature.mid()
    if curvature < 0:
        step = (point - jet.slope.mid() / curvature).mid()
        if low < step < high:
            return step
    return (low * high).mid().sqrt().mid()

"""K and E with one agent silent, for all agents at once.

K loses one term of a sum. E is a maximum over a tilt t of a sum from which one term goes; the tilts
that are best without agent 1, agent 2, … lie close to the one that is best with everybody, so that
a few Newton steps, taken for all agents together, are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theory.learning import FiniteModel
from theory.learning.log_ratio import LogRatioLaw
from theory.learning.rate import largest_decay
from theory.validation import FloatArray, IntArray

# Numbers handled at a time: 64 MiB.
_BLOCK = 1 << 23
# A tilt off by a share e costs the exponent a share of about e²: below the rounding of the sums.
_TILT_TOLERANCE = 1e-9
_MOST_STEPS = 200
# Terms that cancel to less than this share of their sum are looked at one agent at a time.
_CANCELLED = 1e-12
# Below this, squares of weights come near the smallest double.
_SMALLEST = 1e-140


@dataclass(frozen=True, eq=False)
class Leaving:
    """The smallest value over wrong hypotheses with each agent missing, and where it is attained.

    Shapes (N,) each; infinite and −1 if no hypothesis is wrong.
    """

    values: FloatArray
    binding: IntArray


def information(model: FiniteModel, target: int) -> FloatArray:
    """I(θ*, θ) of each kind, shape (K, M), zero where doubles do not tell its sign."""
    return model.comparison(target).settled


def silent_rates(model: FiniteModel, v: FloatArray, *, target: int, wrong: IntArray) -> Leaving:
    """Min over `wrong` of Σ_{i≠j} v_i I_i(θ*, θ), for every agent j.

    The sum without j is added up without j, and not by subtracting: where nobody else rejects θ it
    is exactly zero. Where terms of both signs cancel to rounding, it is set to zero.
    """
    agents = v.size
    values = np.full(agents, np.inf)
    binding = np.full(agents, -1, dtype=np.int64)
    gaps = information(model, target)
    step = max(1, _BLOCK // agents)
    for start in range(0, wrong.size, step):
        part = wrong[start : start + step]
        terms = gaps[:, part][model.assignment] * v[:, None]
        sums, sizes = _without_each(terms), _without_each(np.abs(terms))
        sums[np.abs(sums) <= _CANCELLED * sizes] = 0.0
        lowest = sums.argmin(axis=1)
        found = sums[np.arange(agents), lowest]
        better = found < values
        values[better], binding[better] = found[better], part[lowest[better]]
    return Leaving(values, binding)


def _without_each(terms: FloatArray) -> FloatArray:
    """For each row j the sum of all other rows, by sums from either end."""
    sums = np.zeros_like(terms)
    np.cumsum(terms[:-1], axis=0, out=sums[1:])
    sums[:-1] += np.cumsum(terms[:0:-1], axis=0)[::-1]
    return sums


def silent_exponents(model: FiniteModel, v: FloatArray, *, target: int, wrong: IntArray) -> Leaving:
    """Min over `wrong` of max_{t ≥ 0} −Σ_{i≠j} κ_i(−t v_i), for every agent j.

    Agents of one kind and one weight are looked at once. A hypothesis is skipped where a bound
    shows that another one is worse: the sum at any t bounds its maximum from below.
    """
    pairs = np.column_stack([model.assignment.astype(np.float64), v])
    distinct, first, group, counts = np.unique(
        pairs, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    group = group.ravel()
    kinds, weights = distinct[:, 0].astype(np.int64), distinct[:, 1]
    gaps = information(model, target)
    decays = [
        _Decay(
            model.log_ratio_laws(target, int(theta)),
            kinds,
            weights,
            counts,
            _without_each(gaps[model.assignment, theta][:, None] * v[:, None])[first, 0],
        )
        for theta in wrong
    ]
    size = weights.size
    values, binding = np.full(size, np.inf), np.full(size, -1, dtype=np.int64)
    if not decays:
        return Leaving(values[group], binding[group])
    lower = np.array([decay.lower_bounds for decay in decays])
    while (open_ := lower.min(axis=0) < values).any():
        candidate = lower.argmin(axis=0)
        for c in np.unique(candidate[open_]):
            who = np.flatnonzero(open_ & (candidate == c))
            found = decays[c].without(who)
            better = (found < values[who]) | (binding[who] < 0)
            values[who[better]], binding[who[better]] = found[better], wrong[c]
            lower[c, who] = np.inf
    return Leaving(values[group], binding[group])


class _Decay:
    """max_{t ≥ 0} −Σ κ(−t v) for one wrong hypothesis, with one agent of each group missing.

    Groups g are agents of one kind and one weight; `means` holds Σ_{i≠j} v_i I_i for an agent j of
    each group.
    """

    def __init__(
        self,
        laws: tuple[LogRatioLaw, ...],
        kinds: IntArray,
        weights: FloatArray,
        counts: IntArray,
        means: FloatArray,
    ) -> None:
        self.laws, self.kinds, self.weights, self.counts = laws, kinds, weights, counts
        self.means = means
        full = largest_decay(laws, np.repeat(kinds, counts), np.repeat(weights, counts))
        self.tilt = full.tilt if np.isfinite(full.tilt) else 0.0

    @property
    def lower_bounds(self) -> FloatArray:
        """A lower bound on each group's value: the sum at the tilt that is best for everybody."""
        if not self.tilt > 0:
            return np.zeros(self.weights.size)
        terms = self._each(LogRatioLaw.cumulant, np.array([self.tilt]))[0]
        return np.asarray(np.maximum(terms - terms @ self.counts, 0.0), dtype=np.float64)

    def without(self, groups: IntArray) -> FloatArray:
        """The maximum without one agent of each of `groups`."""
        values = np.zeros(groups.size)
        alone = self._needs_care()[groups]
        for k in np.flatnonzero(alone):
            values[k] = self._one_by_one(int(groups[k]))
        usual = np.flatnonzero(~alone & (self.means[groups] > 0))
        for start in range(0, usual.size, step := max(1, _BLOCK // self.weights.size)):
            part = usual[start : start + step]
            values[part] = self._newton(groups[part])
        return values

    def _needs_care(self) -> NDArray[np.bool_]:
        """Groups without which there may be no best tilt, or weights whose squares underflow."""
        lowest = np.array([self.laws[k].minimum for k in self.kinds]) * self.weights
        unbounded = np.isinf(lowest)
        finite = np.where(unbounded, 0.0, lowest)
        # Σ v z bounded below by zero has no best tilt.
        misled = self._others(finite) < -_CANCELLED * self._others(np.abs(finite))
        misled |= self._others(unbounded.astype(np.float64)) > 0
        return np.asarray(~misled | (self._others(self.weights) < _SMALLEST))

    def _others(self, values: FloatArray) -> FloatArray:
        """For one agent of each group the sum of a number of the group over all other agents."""
        rest = _without_each((values * self.counts)[:, None])[:, 0]
        return np.asarray(rest + values * (self.counts - 1), dtype=np.float64)

    def _one_by_one(self, group: int) -> float:
        counts = self.counts.copy()
        counts[group] -= 1
        if not counts.any():
            return 0.0
        return largest_decay(
            self.laws, np.repeat(self.kinds, counts), np.repeat(self.weights, counts)
        ).value

    def _newton(self, groups: IntArray) -> FloatArray:
        """The zeros of the slope, by Newton's method kept between brackets."""
        variances = np.array([self.laws[k].variance for k in self.kinds])
        # What would be best if every z were normal.
        tilts = self.means[groups] / self._others(variances * self.weights**2)[groups]
        low = np.zeros(groups.size)
        high = np.full(groups.size, np.inf)
        left = np.arange(groups.size)
        for _ in range(_MOST_STEPS):
            t = tilts[left]
            slope = self._sum(LogRatioLaw.cumulant_slope, t, groups[left], power=1)
            curvature = self._sum(LogRatioLaw.cumulant_curvature, t, groups[left], power=2)
            rising = slope < 0  # of Σ κ in t: below the best tilt
            low[left[rising]], high[left[~rising]] = t[rising], t[~rising]
            with np.errstate(divide="ignore", invalid="ignore"):
                new = t - slope / curvature
            lo, hi = low[left], high[left]
            middle = np.where(np.isinf(hi), 2 * t, (lo + hi) / 2)
            inside = (new > lo) & (new < np.where(np.isinf(hi), 4 * t, hi))
            new = np.where(inside, new, middle)
            tilts[left] = new
            left = left[np.abs(new - t) > _TILT_TOLERANCE * t]
            if not left.size:
                break
        return np.maximum(-self._sum(LogRatioLaw.cumulant, tilts, groups, power=0), 0.0)

    def _sum(
        self,
        function: Callable[..., FloatArray],
        tilts: FloatArray,
        groups: IntArray,
        *,
        power: int,
    ) -> FloatArray:
        """Σ over agents but one of the `power`-th derivative of κ(−t v) in t, one t a group."""
        terms = self._each(function, tilts) * (-self.weights) ** power
        counts = np.tile(self.counts.astype(np.float64), (groups.size, 1))
        counts[np.arange(groups.size), groups] -= 1
        return np.asarray((terms * counts).sum(axis=1), dtype=np.float64)

    def _each(self, function: Callable[..., FloatArray], tilts: FloatArray) -> FloatArray:
        """function(law, −t v) for every tilt and group, shape (T, G)."""
        terms = np.empty((tilts.size, self.weights.size))
        for kind in np.unique(self.kinds):
            mine = self.kinds == kind
            terms[:, mine] = function(
                self.laws[kind], -np.multiply.outer(tilts, self.weights[mine])
            )
        return terms

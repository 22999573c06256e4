"""Tilts along a ray: where a budget is used up, and where the exponent is attained.

Along u = t v the cost Σ_s n_s KL(tilted ‖ law) rises and the mean Σ_s n_s v_s m_s falls with t;
both are solved for t by Newton's method between points of known sign, for many rows at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.exponent.log_ratio_table import LogRatioTable, Tilted
from theory.validation import FloatArray, IntArray

# Newton's method on these smooth monotone functions takes three to six steps; halving and
# doubling a few hundred, between numbers 1e100 apart.
_MOST_STEPS = 400
_GROWTH = 8.0
# Where a rise of t by 1 in 1 changes the cost by less than this, relatively, t is a limit.
_SETTLED = 1e-15


@dataclass(frozen=True, eq=False)
class BudgetTilt:
    """The tilts t of some rows at which the cost is the budget, and the laws tilted by t v."""

    tilts: FloatArray
    tilted: Tilted


@dataclass(frozen=True, eq=False)
class Exponents:
    """E_θ(v) of some rows and the maximising t: infinite where the maximum is a limit."""

    values: FloatArray
    tilts: FloatArray


def budget_tilts(
    table: LogRatioTable, rows: IntArray, v: FloatArray, budget: float, *, guess: FloatArray
) -> BudgetTilt:
    """Where Σ_s n_s KL(law tilted by t v_s ‖ law) = `budget`, to about 1e-13 of the budget.

    Where no tilt costs as much, the tilt is so large that the law has settled at its least values.
    """
    n = table.counts
    t = guess.copy()
    low, high = np.zeros_like(t), np.full_like(t, np.inf)
    shape = (rows.size, v.size)
    result = Tilted(np.empty(shape), np.empty(shape), np.empty(shape))
    open_rows = np.arange(rows.size)
    root = np.sqrt(budget)
    for _ in range(_MOST_STEPS):
        u = t[open_rows, None] * v
        found = table.tilted(rows[open_rows], u)
        for name in ("values", "means", "variances"):
            getattr(result, name)[open_rows] = getattr(found, name)
        cost = np.maximum(found.costs(u) @ n, 0.0)
        energy = t[open_rows] ** 2 * (found.variances @ (n * v * v))  # d cost / d log t
        over = cost > budget
        here = t[open_rows]
        high[open_rows[over]], low[open_rows[~over]] = here[over], here[~over]
        done = np.abs(cost - budget) <= 1e-13 * budget
        done |= ~over & (energy <= _SETTLED * budget) & (here > 0)
        done |= high[open_rows] <= low[open_rows] * (1 + 1e-15)
        if done.all():
            break
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = here * (1 + 2 * np.sqrt(cost) * (root - np.sqrt(cost)) / energy)
        t[open_rows] = _between(step, here, low[open_rows], high[open_rows])
        open_rows = open_rows[~done]
    return BudgetTilt(t, result)


def exponents(
    table: LogRatioTable,
    rows: IntArray,
    v: FloatArray,
    *,
    guess: FloatArray | None = None,
    enough: float = np.inf,
    steps: int = _MOST_STEPS,
) -> Exponents:
    """max_{t ≥ 0} Σ_s n_s h_s(t v_s) of each row: 0 where Σ v E z ≤ 0, else E_θ(v).

    `v` has shape (S,), or (R, S) where each row has its own, of largest entry about one.

    A row is not pursued once its value is above `enough`, nor any after so many `steps`: what is
    returned then is a lower bound, attained at the tilt returned.
    """
    n = table.counts
    values, tilts = np.zeros(rows.size), np.zeros(rows.size)
    t = np.zeros(rows.size) if guess is None else np.where(np.isfinite(guess), guess, 0.0)
    open_rows = np.arange(rows.size)
    unknown = np.flatnonzero(t <= 0)
    if unknown.size:
        ray = v if v.ndim == 1 else v[unknown]
        at_zero = table.tilted(rows[unknown], np.zeros((unknown.size, v.shape[-1])))
        mean = _sums(at_zero.means, n * ray)
        # Exact for normal z. Without variance z is a constant, and any tilt tells its sign.
        spread = _sums(at_zero.variances, n * ray * ray)
        t[unknown] = np.abs(mean) / np.where(spread > 0, spread, mean * mean + (mean == 0))
        open_rows = np.delete(open_rows, unknown[mean <= 0])
    low, high = np.zeros_like(t), np.full_like(t, np.inf)
    for _ in range(steps):
        if not open_rows.size:
            break
        here = t[open_rows]
        ray = v if v.ndim == 1 else v[open_rows]
        found = table.tilted(rows[open_rows], here[:, None] * ray)
        value = found.values @ n
        slope = here * _sums(found.means, n * ray)
        bend = here * here * _sums(found.variances, n * ray * ray)
        better = value > values[open_rows]
        values[open_rows[better]], tilts[open_rows[better]] = value[better], here[better]
        rising = slope > 0
        low[open_rows[rising]], high[open_rows[~rising]] = here[rising], here[~rising]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # To second order the maximum is slope²/2 bend above: below rounding.
            left = np.where(bend > 0, slope * slope / bend, np.inf)
            step = here * (1 + slope / bend)
        done = (left <= 1e-16 * value) | (value > enough)
        done |= high[open_rows] <= low[open_rows] * (1 + 1e-15)
        # The laws have settled at their least values: the maximum is the limit, or there is none.
        settled = rising & (bend <= _SETTLED * value)
        limit = settled & (slope <= _SETTLED * value)
        tilts[open_rows[limit]] = np.inf
        endless = settled & ~limit
        values[open_rows[endless]], tilts[open_rows[endless]] = np.inf, np.inf
        t[open_rows] = _between(step, here, low[open_rows], high[open_rows])
        open_rows = open_rows[~(done | settled)]
    return Exponents(values, tilts)


def _sums(parts: FloatArray, weights: FloatArray) -> FloatArray:
    """Σ_s of each row of `parts` with the weights, shape (S,), or its row of them, shape (R, S)."""
    if weights.ndim == 1:
        return np.asarray(parts @ weights)
    return np.asarray(np.einsum("rs,rs->r", parts, weights))


def _between(step: FloatArray, here: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Newton's step, kept inside (low, high) and a factor of 8 from where it starts."""
    bottom, top = np.maximum(low, here / _GROWTH), np.minimum(high, here * _GROWTH)
    inside = (step > bottom) & (step < top)
    halfway = np.where(
        step >= top,
        np.where(np.isfinite(high) & (high <= here * _GROWTH), np.sqrt(here * top), top),
        np.where(low >= here / _GROWTH, np.sqrt(here * bottom), bottom),
    )
    fallback = np.where(np.isnan(step), np.where(np.isfinite(high), halfway, top), halfway)
    return np.where(inside, step, fallback)

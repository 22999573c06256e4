"""What no v exceeds: a bound on every error exponent, from a few tilted laws.

Take tilts u^θ ≥ 0 of shape (N,) for some wrong hypotheses, and multipliers λ_θ > 0. With m^θ_j the
mean of z_j under its law tilted by u^θ_j, and cost_θ = Σ_j KL(tilted law of z_j ‖ law of z_j),

    max_{v ∈ V} Σ_j v_j Σ_θ λ_θ m^θ_j ≤ 0   implies   E(v) ≤ max_θ cost_θ   for every v ∈ V

(docs: mathematics/best-exponent). In words: an adversary who bends the data of hypothesis θ by
cost_θ nats makes the evidence against one of these θ vanish on average, whichever v is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.exponent.exponent_tilts import budget_tilts
from theory.design.exponent.log_ratio_table import LogRatioTable
from theory.design.influences.influence_set import InfluenceSet
from theory.validation import FloatArray, IntArray

# Multipliers smaller than this, in proportion, are taken for zeros. As small as they are they may
# spoil a bound, or make it, where nothing else weighs on some agent: the first that gives a bound
# within `_MET` of the exponent is taken, else the best.
_NEGLIGIBLE = (1e-11, 1e-8, 1e-5, 1e-2)
_MET = 1e-9
# Newton's steps for a convex function from the left end short of its root: each is lengthened.
_LENGTHENED = 1e-6
_MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class ExponentBound:
    """E(v) ≤ `value` for every v of the set, valid up to the rounding of sums.

    Attributes
    ----------
    value
        The bound in nats: the largest cost; infinite if no bound was found.
    rows, multipliers
        Which pairs of hypotheses it rests on, and λ, of sum one.
    shares
        Shape (rows,), of sum one: by how much the largest exponent would rise, to first order, if
        the exponent of that pair alone rose by one for every v.
    tilts
        Shape (rows, S): u^θ, by slot.
    support
        Shape (N,): a v that maximises Σ_j v_j Σ_θ λ_θ m^θ_j at the budget that was given first.
    """

    value: float
    rows: IntArray
    multipliers: FloatArray
    shares: FloatArray
    tilts: FloatArray
    support: FloatArray


def exponent_bound(
    table: LogRatioTable,
    influences: InfluenceSet,
    rows: IntArray,
    multipliers: FloatArray,
    v: FloatArray,
    budget: float,
    *,
    guess: FloatArray,
) -> ExponentBound:
    """The least budget from `budget` on whose tilts along v, shape (S,), prove a bound."""
    share = multipliers / guess
    best: ExponentBound | None = None
    size = -1
    for negligible in _NEGLIGIBLE:
        kept = share > negligible * share.sum()
        if int(kept.sum()) == size:
            continue
        size = int(kept.sum())
        found = _bound(table, influences, rows[kept], multipliers[kept], v, budget, guess[kept])
        best = found if best is None or found.value < best.value else best
        if best.value <= budget * (1 + _MET):
            break
    assert best is not None
    return best


def _bound(
    table: LogRatioTable,
    influences: InfluenceSet,
    rows: IntArray,
    multipliers: FloatArray,
    v: FloatArray,
    budget: float,
    t: FloatArray,
) -> ExponentBound:
    """The bound of all the multipliers given.

    All m^θ_j fall as the budget rises, and so does the largest value that must not be positive.
    """
    weights = multipliers / multipliers.sum()
    support, step, value = None, 0.0, np.inf
    for attempt in range(_MOST_STEPS):
        found = budget_tilts(table, rows, v, budget, guess=t)
        t = found.tilts
        highest = influences.maximise((weights @ found.tilted.means)[table.slots])
        support = highest.point if support is None else support
        if highest.bound <= 0:
            value = float((found.tilted.costs(t[:, None] * v) @ table.counts).max())
            break
        # Doubling from the tenth step on ends any approach that rounding slows down.
        newton = highest.bound / float(weights @ (1 / t))
        step = newton * (1 + _LENGTHENED) + (2 * step if attempt > 10 else 0.0)
        budget += step
    assert support is not None
    shares = weights / t
    return ExponentBound(value, rows, weights, shares / shares.sum(), t[:, None] * v, support)

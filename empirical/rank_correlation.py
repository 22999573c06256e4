"""Rank correlation of few points, each measured a few times, with honest intervals.

A prediction that orders networks is judged by the order alone: by Spearman's ρ, the correlation of
ranks, and Kendall's τ, the probability of a pair in the predicted order less that of a pair out of
order. There are few points (a network each) and a few replicates of each (a seed each), and three
different questions about chance, which have three answers:

=============  ============================================================================
field          what it says
=============  ============================================================================
``seeds``      Were the same networks trained again with other seeds, where would ρ fall? A
               bootstrap over the replicates of each point: an estimate.
``points``     Were other networks drawn as these were? A bootstrap over points, and over
               the replicates of each: an estimate, and a poor one below some 10 points.
``certain``    The same question for τ, with an interval that covers at any number of points,
               derived below; wide, since few points *are* little evidence.
``p_value``    Were the measurements exchangeable among the points (no relation at all), how
               often would |ρ| be at least as large? All n! orders are gone through if they are
               few enough: exact.
=============  ============================================================================

**A bootstrap of a perfect order** has no width: each resample is in perfect order too, and the
interval is [1, 1], of 3 points as of 300. That is why ``certain`` is there.

**The certain interval.** τ = E h for a pair of independent points, h = sign(Δx) sign(Δy) in
[−1, 1]. The average of h over all pairs is a mean over all permutations of averages of ⌊n/2⌋
*independent* terms, and so has at most their moment generating function (Hoeffding 1963, section
5); with p = (1 + τ)/2 and p̂ likewise, Chernoff's inequality in its sharp form is

    P(p̂ ≥ q) ≤ exp(−⌊n/2⌋ kl(q, p))  for q ≥ p,   and likewise below,

kl being the relative entropy of two coins. The interval is all τ with ⌊n/2⌋ kl(p̂, p) ≤ log(2/α).
For a perfect order it ends at 2 (α/2)^{1/⌊n/2⌋} − 1: 7 points say τ ≥ −.42 and 40 say τ ≥ .66. It
takes points to be independent draws from one law; for networks that somebody chose, no interval
can say what the next one that somebody chooses will do.

Measurements may be infinite ("never reached"): ranks do not mind, and such points tie.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import kendalltau, rankdata

from theory.showing import Shown
from theory.validation import FloatArray, as_integer, as_probability, fail

# All orders of 8 points, 40 320, are ranked in a fraction of a second.
_MOST_ORDERS = 40_320


@dataclass(frozen=True)
class Interval(Shown):
    """Both ends, in [−1, 1]; `method` says how they were found."""

    lower: float
    upper: float
    method: str


@dataclass(frozen=True)
class RankCorrelation(Shown):
    """How well the order of n points was predicted.

    Attributes
    ----------
    spearman, kendall
        ρ, and τ_b (which is corrected for ties), of the prediction and the median of each point's
        replicates.
    points, replicates
        n and S.
    confidence
        Of each interval.
    seeds, over_points
        For ρ: bootstrap percentiles, estimates; see the module. None with a single replicate.
    certain
        For τ_a (ties count as zero): covers whatever the law of the points is.
    p_value, exact
        Two-sided, of no relation between prediction and measurement; exact if all orders were gone
        through, otherwise an upper estimate from as many random ones as there are resamples.
    """

    spearman: float
    kendall: float
    points: int
    replicates: int
    confidence: float
    seeds: Interval | None
    over_points: Interval
    certain: Interval
    p_value: float
    exact: bool

    def as_json(self) -> dict[str, Any]:
        """The JSON object of a rank correlation."""
        return asdict(self)


def rank_correlation(
    predicted: ArrayLike,
    measured: ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int,
) -> RankCorrelation:
    """Spearman's ρ and Kendall's τ of a prediction and what was measured, with intervals.

    Parameters
    ----------
    predicted
        Shape (n,), finite, not all equal; n ≥ 3.
    measured
        Shape (n,), or (n, S) for S replicates of each point, whose median counts; infinities are
        welcome, NaN is not.
    confidence
        In (0, 1).
    resamples
        Of the bootstraps, at least 100.
    seed
        Of the bootstraps, and of random orders where n! are too many.

    Raises
    ------
    ValueError
        If there are fewer than three points, shapes differ, a number is NaN, or either side has
        one value only, which has no order.

    Examples
    --------
    >>> found = rank_correlation([1, 2, 3, 4, 5], [10, 20, 40, 30, 50], seed=0)
    >>> round(found.spearman, 3), round(found.kendall, 3), round(found.p_value, 3), found.exact
    (0.9, 0.8, 0.083, True)
    """
    x = np.asarray(predicted, dtype=np.float64)
    y = np.asarray(measured, dtype=np.float64)
    y = y[:, None] if y.ndim == 1 else y
    if x.ndim != 1 or x.size < 3 or y.ndim != 2 or y.shape[0] != x.size or y.shape[1] < 1:
        wanted = "shape (points,) or (points, replicates), for at least 3 predicted points"
        got, remedy = f"shape {y.shape} for {x.shape}", "give each predicted point its measurements"
        raise fail("measured", wanted, got, remedy)
    for name, values, bad in (("predicted", x, ~np.isfinite(x)), ("measured", y, np.isnan(y))):
        if bad.any():
            wanted = "finite numbers" if name == "predicted" else "numbers, infinite at most"
            got = f"{values[bad][0]} at {np.argwhere(bad)[0].tolist()}"
            remedy = "write inf for what was never reached, and leave out what was not measured"
            raise fail(name, wanted, got, remedy)
    middle = _median(y)
    for name, values in (("predicted", x), ("measured", middle)):
        if (values == values[0]).all():
            raise fail(name, "at least two different values", f"{values[0]:g} everywhere",
                       "what does not differ has no order")  # fmt: skip
    confidence = as_probability("confidence", confidence)
    resamples = as_integer("resamples", resamples, minimum=100)
    generator = np.random.default_rng(as_integer("seed", seed, minimum=0))
    rho = _spearman(x[None], middle[None])[0]
    exact, p_value = _permutation_test(x, middle, rho, resamples, generator)
    resampled = partial(_bootstrap, x, y, confidence, resamples, generator)
    return RankCorrelation(
        spearman=float(rho),
        kendall=float(kendalltau(rankdata(x), rankdata(middle)).statistic),
        points=x.size,
        replicates=y.shape[1],
        confidence=confidence,
        seeds=None if y.shape[1] == 1 else resampled(redraw_points=False),
        over_points=resampled(redraw_points=True),
        certain=kendall_interval(_concordance(x, middle), x.size, confidence=confidence),
        p_value=p_value,
        exact=exact,
    )


def kendall_interval(tau: float, points: int, *, confidence: float = 0.95) -> Interval:
    """All τ that a measured τ_a of independent points does not exclude.

    Covers with at least the stated probability, whatever the law and the number of points (see
    the module).

    Parameters
    ----------
    tau
        In [−1, 1].
    points
        n ≥ 2.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> found = kendall_interval(1.0, 7)
    >>> round(found.lower, 4), found.upper  # 2 · .025^(1/3) − 1
    (-0.4152, 1.0)
    """
    if not -1 <= tau <= 1:
        raise fail("tau", "a number in [-1, 1]", tau, "give Kendall's tau")
    pairs = as_integer("points", points, minimum=2) // 2
    allowed = math.log(2 / (1 - as_probability("confidence", confidence))) / pairs
    lower, upper = _lowest((1 + tau) / 2, allowed), 1 - _lowest((1 - tau) / 2, allowed)
    return Interval(2 * lower - 1, 2 * upper - 1, f"Chernoff, {pairs} pairs")


def _lowest(q: float, allowed: float) -> float:
    """The smallest p ≤ q with kl(q, p) ≤ `allowed`."""
    if q == 0:
        return 0.0

    def excess(log_p: float) -> float:
        heads = q * (math.log(q) - log_p)
        tails = (1 - q) * (math.log1p(-q) - math.log1p(-math.exp(log_p))) if q < 1 else 0.0
        return heads + tails - allowed

    # kl(q, p) ≥ q log(q/p) − log 2 bounds the root from below; at p = q there is no entropy.
    largest = math.log(q) if q < 1 else -1e-300
    return math.exp(brentq(excess, math.log(q) - (allowed + 1) / q, largest, xtol=1e-14))


def _median(values: FloatArray) -> FloatArray:
    """Along the last axis; of two middle values the larger, so that ∞ − ∞ never comes up."""
    return np.sort(values, axis=-1)[..., values.shape[-1] // 2]


def _spearman(x: FloatArray, y: FloatArray) -> FloatArray:
    """ρ of each row; NaN where a row has one value only."""
    a, b = (rankdata(v, axis=-1) for v in (x, y))
    a, b = (v - v.mean(axis=-1, keepdims=True) for v in (a, b))
    below = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    with np.errstate(invalid="ignore"):
        return np.asarray((a * b).sum(axis=-1) / np.where(below == 0, np.nan, below))


def _concordance(x: FloatArray, y: FloatArray) -> float:
    """τ_a: the mean of sign(Δx) sign(Δy) over all pairs."""
    a, b = rankdata(x), rankdata(y)
    products = np.sign(a[:, None] - a) * np.sign(b[:, None] - b)
    return float(products.sum() / (x.size * (x.size - 1)))


def _permutation_test(
    x: FloatArray, y: FloatArray, rho: float, resamples: int, generator: np.random.Generator
) -> tuple[bool, float]:
    exact = math.factorial(x.size) <= _MOST_ORDERS
    if exact:
        orders = np.array(list(permutations(range(x.size))))
    else:
        orders = np.array([generator.permutation(x.size) for _ in range(resamples)])
    values = np.abs(_spearman(np.broadcast_to(x, orders.shape), y[orders]))
    # Equal correlations may differ by the rounding of a sum of n products.
    extreme = int((values >= abs(rho) - 1e-12).sum())
    if exact:
        return True, extreme / len(orders)
    return False, (extreme + 1) / (len(orders) + 1)  # the order that was seen is one of them


def _bootstrap(
    x: FloatArray,
    y: FloatArray,
    confidence: float,
    resamples: int,
    generator: np.random.Generator,
    *,
    redraw_points: bool,
) -> Interval:
    """Percentiles of ρ; resamples of one value only have no order and are left out."""
    points, replicates = y.shape
    if redraw_points:
        chosen = generator.integers(points, size=(resamples, points))
    else:
        chosen = np.broadcast_to(np.arange(points), (resamples, points))
    seeds = generator.integers(replicates, size=(resamples, points, replicates))
    values = _spearman(x[chosen], _median(y[chosen[..., None], seeds]))
    values = values[~np.isnan(values)]
    tail = (1 - confidence) / 2
    lower, upper = np.quantile(values, [tail, 1 - tail]) if values.size else (-1.0, 1.0)
    what = "points and replicates" if redraw_points else "replicates"
    return Interval(float(lower), float(upper), f"bootstrap of {what}")

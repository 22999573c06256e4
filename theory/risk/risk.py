"""How far apart in total variation two laws can be, given their divergence.

TV(P, Q) = ½ ∫ |p − q| decides how much the mean of a bounded function can differ, KL(P ‖ Q) is
what learning makes small. Three bounds of one by the other, r = KL(P ‖ Q) in nats:

====================  ==================  =====================================================
Pinsker               √(r/2)              equality in the limit r → 0
Bretagnolle–Huber     √(1 − e^{−r})       equality in the limit r → ∞; always below 1
sharp                 F(r)                the largest TV there is, attained by two coins
====================  ==================  =====================================================

F(r) = min_{t>0} (r + ψ(t))/t with ψ(t) = log((eᵗ − 1)/t) − 1 + t/(eᵗ − 1), and along the curve

    V = ψ'(t),   r = tψ'(t) − ψ(t),   q = 1/t − 1/(eᵗ − 1),   p = q + V

the coins p and q have divergence r and total variation V = F(r). All three are concave in r, so
that they hold for averages over inputs and agents as well (docs: mathematics/risk).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from flint import arb

from theory.numbers import as_ball, precision
from theory.showing import Shown
from theory.validation import as_float_array, as_positive, fail

# How far apart in total variation two laws can be, given their divergence ------------------------


# ψ(t) is a difference of numbers near 1 that is as small as t²/8: these many bits are left.
_BITS = 128
# F(r) agrees with Pinsker's bound to r/36 below this, and with 1 to 1e-300 above that.
_SMALLEST, _LARGEST = 1e-250, 600.0


@dataclass(frozen=True)
class LargestTotalVariation(Shown):
    """F(r): the supremum of TV over all pairs of laws with KL(P ‖ Q) ≤ r.

    Attributes
    ----------
    divergence
        r in nats.
    lower, upper
        lower ≤ F(r) ≤ upper, certified in ball arithmetic.
    coins
        P(heads) of two coins p > q with KL(p ‖ q) ≤ r and p − q ≥ `lower`.
    """

    divergence: float
    lower: float
    upper: float
    coins: tuple[float, float]


def largest_total_variation(divergence: float) -> LargestTotalVariation:
    """Enclose F(r), certified; the width is below 2e-15 absolute.

    Each end is proved by itself: `upper` is (r + ψ(t))/t at one t, `lower` the distance of two
    coins, in doubles, whose divergence was checked to be at most r.

    Raises
    ------
    ValueError
        If `divergence` is negative or not a number.

    Examples
    --------
    >>> found = largest_total_variation(0.5)
    >>> round(found.lower, 8), round(found.upper, 8)
    (0.48556679, 0.48556679)
    """
    r = as_divergence(divergence)
    if r == 0:
        return LargestTotalVariation(r, 0.0, 0.0, (0.5, 0.5))
    if r > _LARGEST:
        return LargestTotalVariation(r, 1 - 2.0**-53, 1.0, (1.0, 2.0**-53))
    if r < _SMALLEST:
        upper = float(np.nextafter(np.sqrt(r / 2), np.inf))
        return LargestTotalVariation(r, 0.0, upper, (0.5, 0.5))
    tilt = _tilt(r)
    with precision(_BITS + _lost_bits(tilt)):
        t = arb(tilt)
        upper = min(1.0, _above((arb(r) + _psi(t)) / t))
        p, q = _coins(tilt, r)
    return LargestTotalVariation(r, float(p - q) * (1 - 2.0**-50), upper, (p, q))


def as_divergence(value: object, argument: str = "divergence") -> float:
    """A divergence in nats: a number of at least zero, infinity included.

    Raises
    ------
    ValueError
        If it is not one, as nan and text are not.
    """
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = np.nan
    if not number >= 0:
        raise fail(argument, "a divergence of at least 0 nats", repr(value), "give r in nats")
    return number


def pinsker(divergence: float) -> float:
    """√(r/2), an upper bound on TV (above 1 for r > 2), in floating point."""
    return float(np.sqrt(as_divergence(divergence) / 2))


def bretagnolle_huber(divergence: float) -> float:
    """√(1 − e^{−r}), an upper bound on TV, in floating point."""
    return float(np.sqrt(-np.expm1(-as_divergence(divergence))))


def coin_divergence(p: Fraction | float, q: Fraction | float) -> arb:
    """KL(p ‖ q) of two coins in nats, as a ball at the present precision; 0 log 0 = 0.

    Floats are read as the exact binary values they are.
    """
    p, q = Fraction(p), Fraction(q)
    total = arb(0)
    if p != q:
        for a, b in ((p, q), (1 - p, 1 - q)):
            if a > 0:
                total += as_ball(a) * as_ball(a / b).log()
    return total


def _psi(t: arb) -> arb:
    """ψ(t) = max_q log(1 − q + q eᵗ) − tq, the largest cumulant of a centred event."""
    rest = 1 / t.expm1()
    return (t.expm1() / t).log() - 1 + t * rest


def _slope(t: arb) -> arb:
    rest = 1 / t.expm1()
    return 1 + 2 * rest - 1 / t - t * rest * (1 + rest)


def _lost_bits(tilt: float) -> int:
    return 4 * int(abs(np.log2(tilt)))


def _tilt(r: float) -> float:
    """The t with tψ'(t) − ψ(t) = r, by bisection of log t; right to about 1e-14.

    r ≤ t²/8 makes √(8r) a lower limit; from above, tψ' − ψ ≥ log t − 1 for t ≥ 1.
    """
    low, high = 0.5 * np.log(8 * r) - 1e-9, max(0.5 * np.log(16 * r), r + 1.0) + 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        tilt = float(np.exp(middle))
        with precision(_BITS + _lost_bits(tilt)):
            t = arb(tilt)
            above = float((t * _slope(t) - _psi(t)).mid()) > r
        low, high = (low, middle) if above else (middle, high)
    return float(np.exp(low))


def _coins(tilt: float, r: float) -> tuple[float, float]:
    """Coins on the sharp curve, moved together until their divergence is at most r for certain."""
    t = arb(tilt)
    rest = 1 / t.expm1()
    q = float((1 / t - rest).mid())
    p = min(1.0, float(((1 + rest) * (1 - t * rest)).mid()))
    for shrink in (0.0, *(2.0**-k for k in range(52, 0, -2))):
        closer = p - shrink * (p - q)
        if _above(coin_divergence(closer, q)) <= r:
            return closer, q
    return q, q


def _above(ball: arb) -> float:
    """A double at or above the whole ball."""
    return float(np.nextafter(float(ball.upper()), np.inf))


# Risk --------------------------------------------------------------------------------------------


SOURCES = MappingProxyType(
    {
        "printed": "P1 Corollary 1: B√r/2 (not a theorem)",
        "repaired": "Pinsker's inequality: (highest − lowest)·√(r/2), B√(2r) for losses in [−B, B]",
        "bretagnolle_huber": "Bretagnolle–Huber: (highest − lowest)·√(1 − e^{−r})",
        "best": "the smaller of the two, and of the trivial highest − lowest",
        "sharp": "(highest − lowest)·F(r): no smaller bound holds for all models",
    }
)


@dataclass(frozen=True)
class RiskBound(Shown):
    """Bounds on a mean difference of expected losses, in units of the loss.

    Attributes
    ----------
    divergence
        r in nats, averaged with the same weights as the differences of risk.
    loss_range
        (lowest, highest) value of the loss.
    printed
        B√r/2, B = max |loss|: reported because it is printed, **not** an upper bound.
    repaired, bretagnolle_huber, best
        Upper bounds, in floating point; `best` is the smaller one, at most highest − lowest.
    sharp
        The smallest upper bound that holds for all models; certified up to one rounding.

    Notes
    -----
    `printed` is an upper bound for every model if and only if highest − lowest ≤ B/√2, and for
    r ≥ 16, where it says no more than that losses lie in [−B, B] (docs: mathematics/risk).
    """

    divergence: float
    loss_range: tuple[float, float]
    printed: float
    repaired: float
    bretagnolle_huber: float
    best: float
    sharp: float

    @property
    def sources(self) -> MappingProxyType[str, str]:
        """Where each number comes from, by its name."""
        return SOURCES

    @property
    def print_is_theorem(self) -> bool:
        """Whether the printed form bounds the risk of every model, for this loss range and r."""
        return self.sharp <= self.printed


def risk_bound(divergence: float, *, loss_range: Sequence[float] = (-1.0, 1.0)) -> RiskBound:
    """Bound Σ_j u_j |R_j(θ*) − R_j(θ̂)| by r = Σ_j u_j E KL(ℓ_j(θ*) ‖ ℓ_j(θ̂)).

    Parameters
    ----------
    divergence
        r ≥ 0 in nats (infinity is allowed).
    loss_range
        Smallest and largest value of the loss; (−B, B) is P1's assumption, (0, B) is that of a
        quadratic loss clipped at B and halves every theorem's bound.

    Raises
    ------
    ValueError
        If r is negative, or the range is not two increasing finite numbers.

    Examples
    --------
    Two coins .5 ± .05 and the loss ±1: their risks differ by 0.2.

    >>> bound = risk_bound(0.1 * np.log(11 / 9))
    >>> round(bound.printed, 4), round(bound.repaired, 4), round(bound.sharp, 4)
    (0.0708, 0.2003, 0.2001)
    """
    r = as_divergence(divergence)
    ends = as_float_array("loss_range", loss_range, ndim=1).tolist()
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise fail(
            "loss_range", "two increasing numbers", list(loss_range), "give (lowest, highest)"
        )
    low, high = ends
    span, largest = high - low, max(abs(low), abs(high))
    repaired, huber = span * pinsker(r), span * bretagnolle_huber(r)
    return RiskBound(
        divergence=r,
        loss_range=(low, high),
        printed=float(largest * np.sqrt(r) / 2),
        repaired=repaired,
        bretagnolle_huber=huber,
        best=min(repaired, huber, span),
        sharp=span * largest_total_variation(r).upper,
    )


def reversal_factor(log_ratio_bound: float) -> float:
    """g(C): KL(P ‖ Q) ≤ g(C) · KL(Q ‖ P) where dP/dQ ≤ e^C. An upper bound, the best possible.

    P1 (eq. 5) covers with KL(ℓ(θ) ‖ ℓ(θ*)), while the proof uses KL(ℓ(θ*) ‖ ℓ(θ)): with
    likelihoods in (α, L) and C = log(L/α), a covering of radius r in the printed direction has
    radius g(C)·r in the one that is needed,

        g(C) = (C e^C − e^C + 1)/(e^C − 1 − C),

    which is 1 + C/3 + O(C²) for small C, and about C − 1 for large C.

    Examples
    --------
    >>> round(reversal_factor(1e-9), 6), round(reversal_factor(30.0), 6)
    (1.0, 29.0)
    """
    C = as_positive("log_ratio_bound", log_ratio_bound)
    if C < 1e-3:
        # The quotient of the Taylor series; the next term is below 1e-9.
        return 1.0 + C / 3 + C * C / 18
    if C > 30:
        return C - 1 + (C * C + 1) * float(np.exp(-C))
    return float((C * np.exp(C) - np.expm1(C)) / (np.expm1(C) - C))

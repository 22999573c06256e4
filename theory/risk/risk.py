"""Risk: what a small divergence says about losses (P1 Corollary 1; docs: mathematics/risk).

A loss r(x, y) with values in [lowest, highest] has the expected value R_j(θ) = E_x ∫ r ℓ_j(y|θ,x)
at agent j if θ is the truth. If agents learn θ̂ while θ* is true, and u_j are any weights,

    Σ_j u_j |R_j(θ*) − R_j(θ̂)|  ≤  (highest − lowest) · F(r),   r = Σ_j u_j E KL(ℓ_j(θ*) ‖ ℓ_j(θ̂)),

F as in :mod:`theory.risk.total_variation`. P1 prints B√r/2 for losses in [−B, B]: false, by a
factor of up to 2√2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from theory.risk.total_variation import (
    as_divergence,
    bretagnolle_huber,
    largest_total_variation,
    pinsker,
)
from theory.showing import Shown
from theory.validation import as_float_array, as_positive, fail

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

"""Bounds by weak duality, every rounding accounted for.

A sum of n products, computed in doubles in any order, is within γ_n Σ|a||b| of the truth, where
γ_n = nu/(1 − nu) and u = 2⁻⁵³ (Higham 2002, section 3.1). So the value of a v, and the bound that
multipliers prove, come as intervals in about the time of two matrix products; what they enclose is
meant for the doubles given, read as the numbers they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from theory.numbers import Enclosure
from theory.validation import FloatArray, IntArray

if TYPE_CHECKING:
    from theory.design.flow_rows import LinearRows
    from theory.design.influence_set import InfluenceSet

_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class OutwardProduct:
    """Bounds on every entry of a product, rounding included."""

    lower: FloatArray
    upper: FloatArray


def outward_product(left: FloatArray, right: FloatArray) -> OutwardProduct:
    """Left @ right, for `left` of shape (n,) or (m, n) and `right` of shape (n,) or (n, m)."""
    terms = right.shape[0] + 2
    middle = left @ right
    # Twice γ: the sum of sizes is itself rounded, and so are the two ends.
    reach = 2.0 * terms * _UNIT * (np.abs(left) @ np.abs(right)) + terms * np.finfo(float).tiny
    reach = reach + _UNIT * np.abs(middle)
    return OutwardProduct(
        np.nextafter(middle - reach, -np.inf), np.nextafter(middle + reach, np.inf)
    )


def simplex_bound(floor: Fraction, coefficients: FloatArray) -> float:
    """An upper bound on max c·v over {v ≥ floor, Σ v = 1}: floor Σ c + (1 − N floor) max c."""
    agents = coefficients.size
    total = Fraction(math.fsum(coefficients.tolist()))
    # math.fsum rounds once.
    total += abs(total) * Fraction(1, 2**52)
    exact = floor * total + (1 - agents * floor) * Fraction(float(coefficients.max()))
    return Enclosure.from_rational(exact).upper


def lagrangian_bound(rows: LinearRows, coefficients: FloatArray, multipliers: FloatArray) -> float:
    """An upper bound on max c·v over a set of rows, from any multipliers y (y ≥ 0 for A_ub).

    c·x ≤ y·b + Σ_k max_{lower_k ≤ x_k ≤ 1} (c − Aᵀy)_k x_k.
    """
    first = rows.b_ub.size
    above, equal = np.maximum(multipliers[:first], 0.0), multipliers[first:]
    c = np.zeros(rows.variables)
    c[: rows.agents] = coefficients
    used = rows.A_ub.T @ above + rows.A_eq.T @ equal
    sizes = abs(rows.A_ub).T @ above + abs(rows.A_eq).T @ np.abs(equal)
    terms = first + rows.b_eq.size + 4
    rest = c - used
    reach = 2.0 * terms * _UNIT * (sizes + np.abs(c)) + terms * np.finfo(float).tiny
    most = rest + reach
    parts = np.where(most > 0, most, most * rows.lower)
    sides = [*(above * rows.b_ub).tolist(), *(equal * rows.b_eq).tolist(), *parts.tolist()]
    # Each product is rounded once, and so is the sum.
    total = math.fsum(sides)
    return math.nextafter(total + 4 * _UNIT * math.fsum(map(abs, sides)), math.inf)


def achieved(payoffs: FloatArray, shares: FloatArray) -> Enclosure:
    """min_θ Σ_g u_g I_gθ / Σ_g u_g, enclosed; payoffs of shape (G, M'), shares of shape (G,)."""
    used = shares != 0  # the fewer terms, the less rounding
    rates = outward_product(shares[used], payoffs[used])
    total = math.fsum(shares.tolist())
    lower, upper = float(rates.lower.min()), float(rates.upper.min())
    return Enclosure(_quotient(lower, total, up=False), _quotient(upper, total, up=True))


def proved_bound(
    influences: InfluenceSet,
    payoffs: FloatArray,
    multipliers: FloatArray,
    *,
    membership: IntArray | None = None,
) -> float:
    """An upper bound on max_v min_θ Σ_j v_j I_jθ, from any multipliers λ ≥ 0 that are not all 0.

    min_θ Σ_j v_j I_jθ ≤ Σ_θ λ_θ Σ_j v_j I_jθ / Σ_θ λ_θ, whose maximum over v is a support function.

    Parameters
    ----------
    payoffs
        I_jθ against every wrong hypothesis, shape (N, M'); of groups of agents, shape (G, M'),
        where `membership`, of shape (N,), says to which group each agent belongs.
    multipliers
        λ, shape (M',).
    """
    used = multipliers != 0
    worth = outward_product(payoffs[:, used], multipliers[used]).upper
    each = worth if membership is None else worth[membership]
    return _quotient(influences.maximise(each).bound, math.fsum(multipliers.tolist()), up=True)


def _quotient(value: float, total: float, *, up: bool) -> float:
    """Value / total, rounded outward, where `total` is right to a unit in its last place."""
    found = value / total
    slack = 4 * _UNIT * abs(found)
    return (
        math.nextafter(found + slack, math.inf) if up else math.nextafter(found - slack, -math.inf)
    )

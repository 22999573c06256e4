"""Bounds on linear programs over influences, every rounding accounted for.

A sum of n products, computed in doubles in any order, is within γ_n Σ|a||b| of the truth, where
γ_n = nu/(1 − nu) and u = 2⁻⁵³ (Higham 2002, section 3.1). So a product, and the bound that
multipliers prove, come as intervals in about the time of two matrix products; what they enclose is
meant for the doubles given, read as the numbers they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from theory.design.influences.flow_rows import LinearRows
from theory.numbers import Enclosure
from theory.validation import FloatArray

UNIT = 2.0**-53


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
    reach = 2.0 * terms * UNIT * (np.abs(left) @ np.abs(right)) + terms * np.finfo(float).tiny
    reach = reach + UNIT * np.abs(middle)
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
    reach = 2.0 * terms * UNIT * (sizes + np.abs(c)) + terms * np.finfo(float).tiny
    most = rest + reach
    parts = np.where(most > 0, most, most * rows.lower)
    sides = [*(above * rows.b_ub).tolist(), *(equal * rows.b_eq).tolist(), *parts.tolist()]
    # Each product is rounded once, and so is the sum.
    total = math.fsum(sides)
    return math.nextafter(total + 4 * UNIT * math.fsum(map(abs, sides)), math.inf)

"""Sums that almost cancel, to all their digits.

Where two hypotheses claim nearly the same, z is of the size d of what they differ by, while its
mean I and its cumulants κ are of the size d²: terms of the size d cancel. With

    φ(x) = e^x − 1 − x ≥ 0,

which has no term of the size d, nothing is left to cancel in

    κ(u) = log1p(u I + Σ_o p_o [φ(u m_o) + e^{u m_o} (e^{u² s_o²/2} − 1)]),

given that the mean I has its digits (:mod:`theory.learning.tables`).
"""

from __future__ import annotations

import math

import numpy as np

from theory.validation import FloatArray

SMALL = 1e-3
"""Values below this, of sums whose terms are of size one, are summed again without cancellation."""

HALF = 0.5
"""Up to this φ is its power series; beyond it e^x − 1 and x share hardly a digit."""

SERIES = tuple(1.0 / math.factorial(k) for k in range(16, 1, -1))
"""Coefficients of φ(x)/x², the highest power first: enough of them for |x| ≤ 1/2."""


def second_order(x: FloatArray) -> FloatArray:
    """φ(x) = e^x − 1 − x of each entry, correct to a few roundings; inf where e^x overflows."""
    near = np.abs(x) < HALF
    with np.errstate(over="ignore"):
        values = np.expm1(x) - x
    small = x[near]
    series = np.full_like(small, SERIES[0])
    for coefficient in SERIES[1:]:
        series *= small
        series += coefficient
    values[near] = series * small * small
    return np.asarray(values)


def beyond_mean(means: FloatArray, variances: FloatArray | None, u: FloatArray) -> FloatArray:
    """E e^{uz} − 1 − u m for normals z of given means m and variances, at u; arrays broadcast.

    Never negative; inf where it overflows. Points where `variances` is None.
    """
    x = u * means
    values = second_order(x)
    if variances is not None:
        spread = 0.5 * u * u * variances
        with np.errstate(over="ignore", invalid="ignore"):
            small = np.exp(x) * np.expm1(spread)
            values += np.where(spread < 1.0, small, np.exp(x + spread) - np.exp(x))
    return values

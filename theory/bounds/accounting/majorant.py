"""The smallest band-limited functions above, and the largest below, a one-sided exponential.

For λ > 0 let g(x) = e^{−λx} for x ≥ 0 and 0 for x < 0. Among the functions whose Fourier transform
lives on [−1, 1] there is a least one above g and a greatest one below it (Graham and Vaaler 1981):

    M(x) = (sin πx / π)² (Σ_{n≥0} e^{−λn}/(x−n)² − λ Σ_{n≥1} e^{−λn}/(x−n) + B(λ)/x),
    m(x) = M(x) − (sin πx / πx)²,                                    B(λ) = λ/(e^λ − 1).

Because their transforms end at 1, an expectation of either is an integral of a characteristic
function over a bounded interval, and a sum over a grid of frequencies is an expectation of the
periodised function: nothing is truncated (docs: mathematics/certified-samples).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theory.validation import FloatArray

EPS = float(np.finfo(np.float64).eps)


def majorant_transform(s: FloatArray, rate: float) -> NDArray[np.complex128]:
    """∫ M(x) e^{−2πisx} dx for 0 ≤ `s` ≤ 1 and λ = `rate` > 0, in floating point.

    The transform at −s is the conjugate; beyond 1 it is zero. That of m is this, less 1 − s.
    `transform_error` bounds the rounding.
    """
    # q = e^{−λ−2πis} with 1 − q free of cancellation for small λ and s.
    turn = 2.0 * np.pi * s
    decay = np.exp(-rate)
    gap = -np.expm1(-rate) + decay * 2.0 * np.sin(turn / 2) ** 2 + 1j * decay * np.sin(turn)
    ratio = (1.0 - gap) / gap
    values: NDArray[np.complex128] = (1.0 - s) / gap + rate / (2j * np.pi) * (
        1.0 / np.expm1(rate) - ratio
    )
    return values


def transform_error(rate: float) -> float:
    """An upper bound on the absolute rounding error of `majorant_transform`, for λ ≤ 1.

    |1 − q| ≥ 1 − e^{−λ} ≥ λ/2, each quotient has a numerator below one and is right to a dozen
    units in the last place over |1 − q|².
    """
    return 64.0 * EPS / rate**2


def majorant(x: FloatArray, rate: float) -> FloatArray:
    """M(x), summed term by term; for tests and pictures."""
    return _by_series(x, rate)


def minorant(x: FloatArray, rate: float) -> FloatArray:
    """m(x), summed term by term; for tests and pictures."""
    values: FloatArray = _by_series(x, rate) - np.sinc(x) ** 2
    return values


def _by_series(x: FloatArray, rate: float) -> FloatArray:
    """The two series in one, with sinc in place of quotients so that integers are no exception."""
    points = np.asarray(x, dtype=np.float64)
    most = int(np.ceil(40.0 / rate))
    flat = points.ravel()
    total = np.sinc(flat) ** 2 + rate / np.expm1(rate) * flat * np.sinc(flat) ** 2
    for start in range(1, most + 1, 1024):
        n = np.arange(start, min(start + 1024, most + 1))
        distance = np.subtract.outer(flat, n)
        weights = np.exp(-rate * n)
        total += (np.sinc(distance) ** 2 * (1.0 - rate * distance)) @ weights
    return np.asarray(total.reshape(points.shape))

"""Beliefs of two doubles a number, and what is solved for of them in balls."""

from __future__ import annotations

import flint
import numpy as np

from theory.numbers import precision as bits_of_balls
from theory.regression.expansion import double_of, doubles_of, inverse_of
from theory.validation import FloatArray

BITS = 400
"""Bits of the balls; two doubles have 106."""

Pair = tuple[FloatArray, FloatArray]
"""Numbers as doubles, and what these leave out."""


def in_balls(high: FloatArray, low: FloatArray | None = None) -> flint.arb_mat:
    """Doubles of two axes, or pairs of them, as balls; exact at present."""
    matrix = flint.arb_mat(np.asarray(high).tolist())
    return matrix if low is None else matrix + flint.arb_mat(np.asarray(low).tolist())


def as_pair(matrix: flint.arb_mat) -> Pair:
    """The nearest doubles, and what they leave out."""
    high = doubles_of(matrix)
    return high, doubles_of(matrix - in_balls(high))


def inverse_pair(covariance: FloatArray, mean: FloatArray) -> tuple[Pair, Pair]:
    """Ω and Ω μ as pairs."""
    with bits_of_balls(BITS):
        inverse = inverse_of(in_balls(covariance))
        return as_pair(inverse), as_pair(inverse * in_balls(mean[:, None]))


def log_densities(points: FloatArray, P: flint.arb_mat, h: flint.arb_mat) -> FloatArray:
    """Log densities at the rows of `points` of the belief of precision P and information h."""
    gaps = in_balls(points.T)
    mean = P.solve(h)
    gaps = gaps - mean * flint.arb_mat([[1] * len(points)])
    found = np.diag(doubles_of(gaps.transpose() * P * gaps))
    constant = double_of(P.det().log()) - P.nrows() * np.log(2 * np.pi)
    return np.asarray((constant - found) / 2)

"""Solves with many symmetric positive definite matrices at once, by Cholesky factors.

No matrix is inverted where a solve does. A matrix is first scaled to a unit diagonal, since
coordinates in different units should cost no digits, and a solution is refined with residuals in
twice the precision until it no longer changes. At a condition number of 10¹² a plain solve keeps
four digits; a refined one keeps all of them, as long as the factorisation exists (up to a
condition number of about 10¹⁵).
"""

from __future__ import annotations

from dataclasses import dataclass

import flint
import numpy as np

from theory.numbers import precision as bits_of_balls
from theory.regression.expansion import double_of, doubles_of, inverse_of
from theory.regression.positive import SHIFT, cholesky, is_positive
from theory.validation import FloatArray, fail

# Solves with many symmetric positive definite matrices at once, by Cholesky factors --------------


# Each step gains as many digits as the condition number leaves: three at 10¹², when they are few.
STEPS = 6
# Entries of a sum of squares agree across the diagonal up to this share of their size.
SYMMETRY = 1e-10


@dataclass(frozen=True, eq=False)
class Factors:
    """Cholesky factors of a stack of matrices A: diag(s) A diag(s) = L Lᵀ.

    Attributes
    ----------
    matrix, lower
        A and L, shape (..., d, d).
    scale
        s, shape (..., d): powers of two, which scale without rounding.
    """

    matrix: FloatArray
    lower: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> Factors:
        """Factor positive definite matrices, shape (..., d, d).

        Raises
        ------
        numpy.linalg.LinAlgError
            If one of them is not positive definite to working precision.
        """
        diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
        if not (diagonal > 0).all():
            raise np.linalg.LinAlgError("a diagonal entry is not positive")
        # The exponent of the square root, without forming numbers that over- or underflow.
        scale = np.ldexp(1.0, -(np.frexp(diagonal)[1] // 2))
        scaled = matrix * scale[..., :, None] * scale[..., None, :]
        return cls(matrix, cholesky(scaled), scale)

    def solve(self, right: FloatArray) -> FloatArray:
        """A⁻¹ B for B of shape (..., d, k), refined: correct to the last digits or so."""
        solution = self.solve_once(right)
        before = np.inf
        for _ in range(STEPS):
            step = self.solve_once(residual(self.matrix, solution, right))
            size = self._relative(step, solution)
            if not size < before / 2:
                break
            solution, before = solution + step, size
        return solution

    def whiten(self, right: FloatArray) -> FloatArray:
        """L⁻¹ diag(s) B, of which the squares of a column sum to bᵀ A⁻¹ b; not refined."""
        return forward(self.lower, self.scale[..., :, None] * right)

    @property
    def smallest(self) -> FloatArray:
        """About the smallest eigenvalue of A scaled to a unit diagonal, shape (...); at least it.

        The least pivot over its diagonal entry, which is the share of a coordinate's precision that
        the coordinates before it do not explain.
        """
        pivots = np.diagonal(self.lower, axis1=-2, axis2=-1) ** 2
        diagonal = np.diagonal(self.matrix, axis1=-2, axis2=-1) * self.scale**2
        return np.asarray((pivots / diagonal).min(axis=-1))

    @property
    def log_determinant(self) -> FloatArray:
        """Log det A, shape (...)."""
        logs = np.log(np.diagonal(self.lower, axis1=-2, axis2=-1)) - np.log(self.scale)
        return np.asarray(2 * logs.sum(axis=-1))

    def _relative(self, step: FloatArray, solution: FloatArray) -> float:
        """The largest change of a column, in the scaled coordinates, over the column's size."""
        scale = self.scale[..., :, None]
        change = np.abs(step / scale).max(axis=-2)
        whole = np.abs(solution / scale).max(axis=-2)
        return float(np.max(change / np.maximum(whole, TINY), initial=0.0))

    def solve_once(self, right: FloatArray) -> FloatArray:
        """A⁻¹ B, not refined."""
        return self.scale[..., :, None] * backward(self.lower, self.whiten(right))


TINY = np.finfo(np.float64).tiny
SPLITTER = 2.0**27 + 1


def residual(matrix: FloatArray, solution: FloatArray, right: FloatArray) -> FloatArray:
    """B − A X in twice the precision, rounded once, by error-free sums and products.

    Ogita, Rump and Oishi (2005): the rounding of each product (Dekker) and of each sum (Knuth) is
    itself a float, and these are added up as well.
    """
    lead = np.broadcast_shapes(matrix.shape[:-2], solution.shape[:-2], right.shape[:-2])
    total = np.broadcast_to(right, (*lead, matrix.shape[-2], solution.shape[-1]))
    rest = np.zeros(total.shape)
    for j in range(matrix.shape[-1]):
        a, x = -matrix[..., :, j, None], solution[..., j, None, :]
        product = a * x
        a_high, x_high = high(a), high(x)
        a_low, x_low = a - a_high, x - x_high
        lost = a_low * x_low - (product - a_high * x_high - a_low * x_high - a_high * x_low)
        grown = total + product
        part = grown - total
        rest += (total - (grown - part)) + (product - part) + lost
        total = grown
    return np.asarray(total + rest)


def squares(matrix: FloatArray, columns: FloatArray) -> FloatArray:
    """xᵀ A x of each column x of X, shape (..., d, k): shape (..., k).

    A x is formed in twice the precision: along a direction in which A is flat it is what is left
    of numbers κ times as large.
    """
    image = residual(matrix, -columns, np.zeros(1))
    return np.asarray((columns * image).sum(axis=-2))


def high(values: FloatArray) -> FloatArray:
    """The upper half of the digits of numbers, so that products of halves are exact (Veltkamp)."""
    bent = SPLITTER * values
    return np.asarray(bent - (bent - values))


def forward(lower: FloatArray, right: FloatArray) -> FloatArray:
    """L⁻¹ B for stacks of lower triangles, shape (..., d, d), row by row over the whole stack."""
    d = lower.shape[-1]
    shape = np.broadcast_shapes(lower.shape[:-2], right.shape[:-2])
    solution = np.array(np.broadcast_to(right, (*shape, *right.shape[-2:])))
    for row in range(d):
        if row:
            known = lower[..., row, None, :row] @ solution[..., :row, :]
            solution[..., row, :] -= known[..., 0, :]
        solution[..., row, :] /= lower[..., row, row, None]
    return solution


def backward(lower: FloatArray, right: FloatArray) -> FloatArray:
    """L⁻ᵀ B, likewise."""
    turned = lower[..., ::-1, ::-1].swapaxes(-1, -2)
    return forward(turned, right[..., ::-1, :])[..., ::-1, :]


def as_symmetric(argument: str, values: FloatArray) -> FloatArray:
    """Matrices of shape (..., d, d), made exactly symmetric.

    Raises
    ------
    ValueError
        If one of them is not square, or not symmetric.
    """
    if values.ndim < 2 or values.shape[-1] != values.shape[-2] or values.shape[-1] == 0:
        raise fail(
            argument, "shape (..., d, d)", f"shape {values.shape}", "give d rows of d numbers"
        )
    turned = values.swapaxes(-1, -2)
    # An off-diagonal entry is at most the root of the product of the diagonal ones.
    diagonal = np.sqrt(np.abs(np.diagonal(values, axis1=-2, axis2=-1)))
    size = diagonal[..., :, None] * diagonal[..., None, :]
    wrong = np.abs(values - turned) > SYMMETRY * np.maximum(size, np.abs(values))
    if wrong.any():
        *place, i, j = (int(k) for k in np.argwhere(wrong)[0])
        pair = values[(*place, i, j)], values[(*place, j, i)]
        raise fail(
            argument + named(place),
            "a symmetric matrix",
            f"{pair[0]:g} at [{i}, {j}] and {pair[1]:g} at [{j}, {i}]",
            "make the two equal",
        )
    return np.asarray((values + turned) / 2)


def factor(argument: str, values: FloatArray, remedy: str) -> Factors:
    """Factor symmetric matrices of shape (..., d, d), or say which one is not positive definite.

    Raises
    ------
    ValueError
        If one of them is not positive definite to working precision.
    """
    try:
        return Factors.of(values)
    except np.linalg.LinAlgError:
        for index in np.ndindex(*values.shape[:-2]):
            try:
                Factors.of(values[index])
            except np.linalg.LinAlgError:
                low = float(np.linalg.eigvalsh(values[index]).min())
                rounded = is_positive(values[index], strict=False)
                raise fail(
                    argument + named(index),
                    "a positive definite matrix",
                    f"a smallest eigenvalue of {low:.3g}" + ", up to rounding" * rounded,
                    f"{remedy}, or {SHIFT}" if rounded else remedy,
                ) from None
        raise


def named(place: tuple[int, ...] | list[int]) -> str:
    """Where in a stack of agents: the last index is the agent, those before it replicates."""
    if not place:
        return ""
    *before, agent = place
    return f" of agent {agent}" + (f" at {list(before)}" if before else "")


# Beliefs of two doubles a number, and what is solved for of them in balls ------------------------


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

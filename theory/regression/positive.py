"""Checks that matrices are symmetric and positive, and solves with those that are.

Everything goes through Cholesky factors of the matrix scaled to a unit diagonal: coordinates in
wildly different units then cost no digits, since the factorisation commutes with such a scaling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory.validation import FloatArray, as_float_array, fail

# What typing a matrix in decimals, or summing rows of data, may do to its symmetry.
_SYMMETRY = 1e-12


# Digits that a smallest eigenvalue must have for a solve.
LEAST_DIGITS = 3
# What brings digits back where coordinates are nearly proportional.
SHIFT = (
    "subtract from a column of inputs its mean, or a multiple of another column: that changes no"
    " prediction"
)


def as_symmetric(argument: str, values: ArrayLike) -> FloatArray:
    """A finite symmetric matrix, shape (d, d), made exactly symmetric.

    Raises
    ------
    ValueError
        If it is not square, or not symmetric up to 1e-12 of its entries' sizes.
    """
    matrix = as_float_array(argument, values, ndim=2)
    if matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise fail(argument, "a square matrix", f"shape {matrix.shape}", "give d rows of d numbers")
    size = np.abs(matrix)
    wrong = np.abs(matrix - matrix.T) > _SYMMETRY * np.maximum(size, size.T)
    if wrong.any():
        i, j = (int(k) for k in np.argwhere(wrong)[0])
        raise fail(
            argument,
            "a symmetric matrix",
            f"{matrix[i, j]:g} at [{i}, {j}] and {matrix[j, i]:g} at [{j}, {i}]",
            "make the two equal",
        )
    return np.asarray((matrix + matrix.T) / 2)


def as_positive_definite(argument: str, values: ArrayLike) -> FloatArray:
    """A symmetric positive definite matrix, shape (d, d).

    Raises
    ------
    ValueError
        If it is not symmetric, or not positive definite beyond rounding.
    """
    matrix = as_symmetric(argument, values)
    _check_diagonal(argument, matrix, strict=True)
    if not is_positive(matrix, strict=True):
        lowest = float(np.linalg.eigvalsh(_unit_diagonal(matrix)).min())
        raise fail(
            argument,
            "a positive definite matrix",
            f"a smallest eigenvalue of {lowest:.3g} (scaled to a unit diagonal)",
            "make every variance positive and every correlation below 1",
        )
    return matrix


def as_positive_semidefinite(argument: str, values: ArrayLike) -> FloatArray:
    """A symmetric positive semidefinite matrix, shape (d, d), up to rounding.

    Raises
    ------
    ValueError
        If it is not symmetric, or has a negative eigenvalue beyond rounding.
    """
    matrix = as_symmetric(argument, values)
    _check_diagonal(argument, matrix, strict=False)
    if not is_positive(matrix, strict=False):
        raise fail(
            argument,
            "a positive semidefinite matrix",
            f"a smallest eigenvalue of {float(np.linalg.eigvalsh(matrix).min()):.3g}",
            "give E x xᵀ of some x",
        )
    return matrix


def is_positive(matrix: FloatArray, *, strict: bool) -> bool:
    """Whether a symmetric matrix is positive definite (`strict`) or semidefinite, up to rounding.

    Eigenvalues are those of the matrix scaled to a unit diagonal: units make no difference.
    """
    diagonal, tolerance = np.diag(matrix), rank_tolerance(len(matrix))
    lowest = float(np.linalg.eigvalsh(_unit_diagonal(matrix)).min())
    if strict:
        return bool((diagonal > 0).all()) and lowest > tolerance
    return bool((diagonal >= 0).all()) and lowest >= -tolerance and not matrix[diagonal == 0].any()


def rank_tolerance(dimension: int) -> float:
    """Eigenvalues of a matrix with unit diagonal below this are rounding."""
    # Entries of E x xᵀ carry a few roundings each; so does each of d steps of the eigensolver.
    return 8 * dimension * float(np.finfo(float).eps)


def rank_of(matrix: FloatArray) -> int:
    """The rank of a positive semidefinite matrix of rounded numbers, whatever its units."""
    return int((np.linalg.eigvalsh(_unit_diagonal(matrix)) > rank_tolerance(len(matrix))).sum())


def scales(matrix: FloatArray) -> FloatArray:
    """Factors d, shape (..., d), with d_a d_b M_ab of unit diagonal; 1 where that is zero."""
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    return np.asarray(1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)))


def cholesky(matrix: FloatArray) -> FloatArray:
    """The lower Cholesky factor of matrices of unit diagonal or near it, shape (..., d, d).

    Raises
    ------
    numpy.linalg.LinAlgError
        If one of them is not positive definite, or its entries' rounding leaves fewer than three
        digits of its smallest eigenvalue; in one line, with a remedy.
    """
    digits = 0.0
    try:
        lower = np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        pass
    else:
        digits = digits_left(matrix, lower)
        if digits >= LEAST_DIGITS:
            return lower
    error = fail(
        "precision",
        f"a positive definite matrix whose rounding leaves {LEAST_DIGITS} digits",
        f"{digits:.1f} digits left" if digits else "one that is singular to working precision",
        f"{SHIFT}, bring noise levels closer together, or drop a coordinate that others imply",
    )
    raise np.linalg.LinAlgError(str(error)) from None


def digits_left(matrix: FloatArray, lower: FloatArray) -> float:
    """How many digits the rounding of its entries leaves the smallest eigenvalue of a matrix.

    The least share of a diagonal entry that the coordinates before it do not explain is about that
    eigenvalue, scaled to a unit diagonal.
    """
    shares = np.diagonal(lower, axis1=-2, axis2=-1) ** 2 / np.diagonal(matrix, axis1=-2, axis2=-1)
    lost = matrix.shape[-1] * float(np.finfo(float).eps)
    return float(np.log10(max(1.0, shares.min(initial=1.0) / lost)))


def check_test_digits(values: ArrayLike, terms: ArrayLike, where: str = "") -> None:
    """Check that rounding the numbers of a test law leaves digits of sums whose terms cancel.

    `values` are the sums, and `terms` those of their terms' sizes.

    Raises
    ------
    ValueError
        If fewer than three digits are left of one that is not zero.
    """
    value, lost = np.atleast_1d(values), np.atleast_1d(terms) * np.finfo(float).eps / 2
    bad = (lost * 10**LEAST_DIGITS > value) & (value != 0)
    if bad.any():
        digits = float(np.log10(np.maximum(value, lost)[bad] / lost[bad]).min())
        raise fail(
            "test_second_moment",
            f"numbers whose rounding leaves the error at least {LEAST_DIGITS} digits",
            f"{digits:.1f} digits left{where}",
            SHIFT,
        )


@dataclass(frozen=True, eq=False)
class Factor:
    """The Cholesky factor of one or many positive definite matrices, shape (..., d, d).

    `scale` of shape (..., d) and `lower` of shape (..., d, d): diag(scale) M diag(scale) is
    lower · lowerᵀ.
    """

    scale: FloatArray
    lower: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> Factor:
        """Factor a positive definite matrix.

        Raises
        ------
        numpy.linalg.LinAlgError
            If it is not positive definite.
        """
        scale = scales(matrix)
        scaled = scale[..., :, None] * matrix * scale[..., None, :]
        return cls(scale, cholesky(scaled))

    def half(self, right: FloatArray) -> FloatArray:
        """R⁻ᵀ·right for M = RᵀR, so that xᵀM⁻¹y is half(x)ᵀ half(y); right: (..., d, c)."""
        return _lower_solve(self.lower, self.scale[..., None] * right)

    def solve(self, right: FloatArray) -> FloatArray:
        """M⁻¹·right, for a right side of shape (..., d, c)."""
        inner = _lower_solve(self.lower, self.scale[..., None] * right)
        return np.asarray(self.scale[..., None] * _upper_solve(self.lower, inner))

    def sandwich(self, middle: FloatArray) -> FloatArray:
        """M⁻¹·middle·M⁻¹ for a symmetric middle, symmetric to the last digit."""
        left = self.solve(middle)
        both = self.solve(left.swapaxes(-1, -2))
        return np.asarray((both + both.swapaxes(-1, -2)) / 2)

    def inverse(self) -> FloatArray:
        """M⁻¹, where the matrix itself is what is asked for (a reported covariance)."""
        inner = self.half(np.broadcast_to(np.eye(self.lower.shape[-1]), self.lower.shape))
        return np.asarray(inner.swapaxes(-1, -2) @ inner)


# Up to this dimension a stack is solved coordinate by coordinate, all matrices at once; beyond,
# LAPACK solves them one by one, which takes some 10 µs each for the call.
_SMALL = 8


def _lower_solve(lower: FloatArray, right: FloatArray) -> FloatArray:
    return _triangular_solve(lower, right, transposed=False)


def _upper_solve(lower: FloatArray, right: FloatArray) -> FloatArray:
    return _triangular_solve(lower, right, transposed=True)


def _triangular_solve(lower: FloatArray, right: FloatArray, *, transposed: bool) -> FloatArray:
    """L⁻¹·right or L⁻ᵀ·right for stacks of lower triangles L."""
    stack = np.broadcast_shapes(lower.shape[:-2], right.shape[:-2])
    d = lower.shape[-1]
    if stack and d <= _SMALL:
        if not transposed:
            return _substitute(lower, right)
        # Reversing rows and columns of the transpose gives a lower triangle again.
        flipped = lower.swapaxes(-1, -2)[..., ::-1, ::-1]
        return np.asarray(_substitute(flipped, right[..., ::-1, :])[..., ::-1, :])
    triangles = np.broadcast_to(lower, (*stack, d, d))
    result = np.array(np.broadcast_to(right, (*stack, *right.shape[-2:])))
    from scipy.linalg import solve_triangular

    for index in np.ndindex(stack):
        result[index] = solve_triangular(
            triangles[index],
            result[index],
            lower=True,
            trans=1 if transposed else 0,
            check_finite=False,
        )
    return result


def _substitute(lower: FloatArray, right: FloatArray) -> FloatArray:
    """Forward substitution for a stack of triangles: d steps, each over the whole stack."""
    shape = np.broadcast_shapes(lower.shape[:-2], right.shape[:-2])
    result = np.empty((*shape, *right.shape[-2:]))
    for k in range(lower.shape[-1]):
        known = lower[..., k, None, :k] @ result[..., :k, :]
        result[..., k, :] = (right[..., k, :] - known[..., 0, :]) / lower[..., k, k, None]
    return result


def _unit_diagonal(matrix: FloatArray) -> FloatArray:
    scale = scales(matrix)
    return np.asarray(scale[:, None] * matrix * scale)


def _check_diagonal(argument: str, matrix: FloatArray, *, strict: bool) -> None:
    diagonal = np.diag(matrix)
    wrong = diagonal <= 0 if strict else diagonal < 0
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise fail(
            f"{argument}[{k}][{k}]",
            "a number above 0" if strict else "a number of at least 0",
            f"{diagonal[k]:g}",
            "variances are positive" if strict else "a mean square is not negative",
        )

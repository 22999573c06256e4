"""One Newton system of the interior-point method: assembled once an iteration, solved twice.

The unknowns are y = (g_e of the free edges, r). Every edge enters the two semidefinite blocks
through a matrix of rank one, ±b_e b_eᵀ, so that the Schur complement of the direction of Helmberg,
Kojima and Monteiro needs no matrix an edge. It is

    H_ef = Σ_k (b_eᵀ X_k b_f)(b_eᵀ Z_k⁻¹ b_f) + (terms of the linear constraints),

products of entries of B X Bᵀ and B Z⁻¹ Bᵀ, each of which is a difference of rows of X. That is
O(F²) work and one F × F matrix, filled in panels that stay in cache (docs:
mathematics/fastest-mixing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from theory.network.structure import as_dense
from theory.scientific import sparse
from theory.validation import FloatArray

# Columns of the Schur complement made at a time: two panels of F × 128 stay in cache.
_PANEL = 128

# Patterns of at most so many entries, F × N, are dense: there the arithmetic is nothing beside the
# bookkeeping of sparse matrices.
_DENSE = 1 << 14

# Relative shifts of the diagonal tried in turn; the first is a few rounding errors.
_SHIFTS = (1e-15, 1e-13, 1e-11, 1e-9)

Matrix = FloatArray | sparse.csr_array[np.float64]
Pair = tuple[FloatArray, FloatArray]


class NotPositiveDefinite(ArithmeticError):  # noqa: N818 - a property, as it is called
    """A matrix that is positive definite in exact arithmetic is not so in floating point."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """The pattern of the problem in scaled variables, free edges only; B and A dense if small.

    Attributes
    ----------
    B
        Shape (F, N): rows √min(v_i, v_j) b_eᵀ.
    A
        Shape (F, m): what g_e takes from the budgets that are in play.
    first, second
        Shape (F,): the two ends of each edge.
    at_first, at_second
        Shape (F,): the entries of b_e there.
    """

    B: Matrix
    A: Matrix
    first: NDArray[np.integer]
    second: NDArray[np.integer]
    at_first: FloatArray
    at_second: FloatArray

    @classmethod
    def of(cls, B: sparse.csr_array[np.float64], A: sparse.csr_array[np.float64]) -> Blocks:
        """From the two sparse matrices, B with exactly two entries a row."""
        ends = B.indices.reshape(-1, 2)
        values = B.data.reshape(-1, 2)
        small = B.shape[0] * B.shape[1] <= _DENSE
        return cls(
            as_dense(B) if small else B,
            as_dense(A) if small else A,
            ends[:, 0],
            ends[:, 1],
            values[:, 0].copy(),
            values[:, 1].copy(),
        )

    def forms(self, T: FloatArray) -> FloatArray:
        """b_eᵀ T b_e for every edge and a T, shape (N, N), that need not be symmetric."""
        a, c, i, j = self.at_first, self.at_second, self.first, self.second
        diagonal = T.diagonal()
        return np.asarray(a * a * diagonal[i] + c * c * diagonal[j] + a * c * (T[i, j] + T[j, i]))

    def laplacian(self, g: FloatArray) -> Matrix:
        """Σ_e g_e b_e b_eᵀ, shape (N, N)."""
        if isinstance(self.B, np.ndarray):
            return np.asarray((self.B.T * g) @ self.B)
        return sparse.csr_array(self.B.T @ sparse.csr_array(self.B.multiply(g[:, None])))


# Of Σ g b bᵀ in Z₁ and Z₂.
SIGNS = (1.0, -1.0)


def product(left: Any, right: FloatArray) -> FloatArray:
    """A matrix that may be sparse, times an array."""
    return np.asarray(left @ right, dtype=np.float64)


def cholesky(matrix: FloatArray) -> FloatArray:
    """The lower factor of a symmetric matrix in the upper triangle of a transposed array.

    Raises
    ------
    NotPositiveDefinite
        If there is none.
    """
    factor, info = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=0)
    if info:
        raise NotPositiveDefinite
    return np.asarray(factor)


def is_positive_definite(matrix: FloatArray) -> bool:
    """Whether Cholesky's method goes through; `matrix` is overwritten."""
    return bool(lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)[1] == 0)


def inverse(matrix: FloatArray) -> FloatArray:
    """The inverse of a positive definite matrix, symmetric to the last bit."""
    found, info = lapack.dpotri(cholesky(matrix), lower=0, overwrite_c=1)
    if info:
        raise NotPositiveDefinite
    upper = np.triu(found)
    return np.ascontiguousarray(upper + np.triu(upper, 1).T)


class NewtonSystem:
    """The factorised Schur complement at one point.

    Parameters
    ----------
    X, inverses
        The two X_k and Z_k⁻¹.
    ratios
        x_e / g_e, shape (F,), and λ_i / slack_i, shape (m,): those of the linear constraints.
    """

    def __init__(self, blocks: Blocks, X: Pair, inverses: Pair, ratios: Pair) -> None:
        self.inverses, self.ratios = inverses, ratios
        for shift in _SHIFTS:
            matrix = schur_complement(blocks, X, inverses, ratios)
            matrix.flat[:: len(matrix) + 1] *= 1.0 + shift
            scale = 1.0 / np.sqrt(matrix.diagonal())
            # A unit diagonal: the shift then means the same for every edge.
            matrix *= scale
            matrix *= scale[:, None]
            factor, info = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
            if not info:
                self._factor, self._scale = factor, scale
                return
        raise NotPositiveDefinite

    def solve(self, right: FloatArray) -> FloatArray:
        """H⁻¹ times a vector, shape (F + 1,)."""
        found, _ = lapack.dpotrs(self._factor, right * self._scale, lower=0)
        return np.asarray(found * self._scale)


def schur_complement(blocks: Blocks, X: Pair, inverses: Pair, ratios: Pair) -> FloatArray:
    """H, shape (F + 1, F + 1), the last row and column for r; only the lower triangle is filled."""
    pairs = list(zip(X, inverses, strict=True))
    edge_ratio, budget_ratio = ratios
    count = len(blocks.first)
    H = np.zeros((count + 1, count + 1))
    B = blocks.B
    for begin in range(0, count, _PANEL):
        end = min(begin + _PANEL, count)
        here, below = B[begin:end], B[begin:]
        panel = np.zeros((count - begin, end - begin))
        for each, inverted in pairs:
            entries = product(below, np.ascontiguousarray(product(here, each).T))
            entries *= product(below, np.ascontiguousarray(product(here, inverted).T))
            panel += entries
        H[begin:count, begin:end] = panel
    everyone = np.arange(count)
    H[everyone, everyone] += edge_ratio
    if isinstance(blocks.A, np.ndarray):
        H[:count, :count] += (blocks.A * budget_ratio) @ blocks.A.T
    else:
        shared = sparse.coo_array(sparse.csr_array(blocks.A.multiply(budget_ratio)) @ blocks.A.T)
        row, column = shared.coords
        H[row, column] += shared.data
    for sign, (each, inverted) in zip(SIGNS, pairs, strict=True):
        # tr(b bᵀ X Z⁻¹) from the few entries of X Z⁻¹ that are needed.
        i, j, a, c = blocks.first, blocks.second, blocks.at_first, blocks.at_second
        diagonal = np.einsum("ij,ij->i", each, inverted)
        crossed = _row_products(each, inverted, i, j) + _row_products(each, inverted, j, i)
        H[count, :count] += sign * (a * a * diagonal[i] + c * c * diagonal[j] + a * c * crossed)
        H[count, count] += diagonal.sum()
    return H


def _row_products(
    left: FloatArray, right: FloatArray, i: NDArray[np.integer], j: NDArray[np.integer]
) -> FloatArray:
    """Σ_k left[i, k] right[j, k] for pairs (i, j), a few at a time."""
    found = np.empty(len(i))
    for begin in range(0, len(i), 1024):
        part = slice(begin, begin + 1024)
        found[part] = np.einsum("ij,ij->i", left[i[part]], right[j[part]])
    return found

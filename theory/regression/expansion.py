"""What a belief tends to when its precision grows like n·A, and how fast; A may be singular.

A belief of precision n·A + P holds the estimate θ* + (n·A + P)⁻¹(p + noise), where p is what the
prior gets wrong and the noise has the covariance n·B. Where A is singular nobody sees the
directions of its null space; there the estimate follows the prior, correlations included, for ever
(docs: regression). In coordinates x = U a + Z b, with Z spanning the null space,

    estimate − θ* → Z (ZᵀPZ)⁻¹ Zᵀp,        n · covariance → T (UᵀAU)⁻¹ (UᵀBU) (UᵀAU)⁻¹ Tᵀ,

with T = U − Z (ZᵀPZ)⁻¹ ZᵀPU.

Matrices are flint's, all fractions (`fmpq_mat`) or all balls (`arb_mat`), so that one machine
serves exact numbers and doubles: neither a change of units nor a column far from zero costs digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import flint
import numpy as np

from theory.numbers import as_fmpq
from theory.validation import FloatArray

# Bits that a variance must have: the sums it enters may cancel half of them.
_WANTED = 128
Matrix = TypeVar("Matrix", flint.fmpq_mat, flint.arb_mat)


@dataclass(frozen=True, eq=False)
class Directions:
    """A basis of ℝᵈ split into what is seen, d by r, and what is hidden, d by d − r; fractions.

    `seen` has unit vectors as columns.
    """

    seen: flint.fmpq_mat
    hidden: flint.fmpq_mat

    @classmethod
    def of(cls, rows: flint.fmpq_mat) -> Directions:
        """Split ℝᵈ by rows whose null space is what nobody sees: exactly."""
        d = rows.ncols()
        reduced, rank = rows.rref()
        pivots = [next(c for c in range(d) if reduced[r, c] != 0) for r in range(rank)]
        free = [c for c in range(d) if c not in pivots]
        seen, hidden = flint.fmpq_mat(d, rank), flint.fmpq_mat(d, d - rank)
        for r, c in enumerate(pivots):
            seen[c, r] = 1
        for k, c in enumerate(free):
            hidden[c, k] = 1
            for r, pivot in enumerate(pivots):
                hidden[pivot, k] = -reduced[r, c]
        return cls(seen, hidden)


@dataclass(frozen=True, eq=False)
class Expansion(Generic[Matrix]):
    """The limit of a belief and the coefficient of 1/n in what is left; vectors are d by 1.

    Attributes
    ----------
    offset
        The limit of estimate − θ*.
    covariance
        The limit of n times the estimate's covariance.
    drift
        n times the rest of the prior's pull, in the limit.
    reported_limit, reported
        What the belief's covariance tends to, and n times the rest.
    information, noise
        UᵀAU and UᵀBU.
    split
        U and Z.
    """

    offset: Matrix
    covariance: Matrix
    drift: Matrix
    reported_limit: Matrix
    reported: Matrix
    information: Matrix
    noise: Matrix
    split: Directions

    @property
    def is_identified(self) -> bool:
        """Whether nothing is hidden."""
        return not self.split.hidden.ncols()

    def error_limit(self, test: flint.fmpq_mat) -> Any:
        """The limit of the excess error under the second moment `test`."""
        return (self.offset.transpose() * test * self.offset)[0, 0]

    def error_constant(self, test: flint.fmpq_mat) -> Any:
        """The coefficient of 1/n in the excess error under `test`."""
        cross = (self.offset.transpose() * test * self.drift)[0, 0]
        return trace(test, self.covariance) + 2 * cross

    def coordinate_ratios(self) -> Iterator[Any]:
        """True over reported variance of each coefficient; None where nobody sees it."""
        hidden = self.split.hidden.table()
        for k, row in enumerate(hidden):
            kept = any(entry != 0 for entry in row)
            reported = self.reported[k, k]
            yield None if kept or reported == 0 else self.covariance[k, k] / reported


def expand(
    split: Directions,
    information: Matrix,
    noise: Matrix,
    prior: Matrix,
    prior_error: Matrix,
    pull: Matrix | None = None,
) -> Expansion[Matrix]:
    """The expansion for A = `information`, B = `noise`, P = `prior` and p = `prior_error`.

    `pull`, d by 1, is the mean of the noise per round, zero if left out: where labels do not
    follow θ*, the estimate's limit is moved by it, and the expansion is about that limit.

    Raises
    ------
    ZeroDivisionError
        If the matrices are balls of too few digits to be inverted.
    """
    kind = type(information)
    U, Z = kind(split.seen), kind(split.hidden)
    d = information.nrows()
    T, offset, kept = U, kind(d, 1), kind(d, d)
    if Z.ncols():
        inverse = inverse_of(Z.transpose() * prior * Z)
        if U.ncols():
            T = U - Z * (inverse * (Z.transpose() * prior * U))
        offset = Z * (inverse * (Z.transpose() * prior_error))
        kept = Z * inverse * Z.transpose()
    core, inner = U.transpose() * information * U, U.transpose() * noise * U
    if not U.ncols():
        none = kind(d, d)
        return Expansion(offset, none, kind(d, 1), kept, none, core, inner, split)
    left = T * inverse_of(core)
    if pull is not None:
        offset = offset + left * (U.transpose() * pull)
    return Expansion(
        offset,
        left * inner * left.transpose(),
        left * (T.transpose() * prior_error),
        kept,
        left * T.transpose(),
        core,
        inner,
        split,
    )


def inverse_of(matrix: Matrix) -> Matrix:
    """The inverse of a positive definite matrix.

    Raises
    ------
    ZeroDivisionError
        If balls leave a variance fewer than 128 bits.
    """
    inverse = matrix.inv()
    for k in range(inverse.nrows()):
        variance = inverse[k, k]
        if isinstance(variance, flint.arb) and variance.rel_accuracy_bits() < _WANTED:
            raise ZeroDivisionError
    return inverse


def trace(left: Any, right: Any) -> Any:
    """The trace of a product, tr(left · right)."""
    product = left * right
    return sum((product[k, k] for k in range(1, product.nrows())), product[0, 0])


def cholesky_of(matrix: flint.arb_mat) -> flint.arb_mat:
    """The lower triangle L of a positive definite matrix of balls, L Lᵀ.

    Raises
    ------
    ZeroDivisionError
        If the balls have too few digits.
    """
    rows = matrix.table()
    for j, row in enumerate(rows):
        for k, above in enumerate(rows[: j + 1]):
            rest = row[k] - sum((a * b for a, b in zip(row[:k], above, strict=False)), flint.arb())
            row[k] = rest / above[k] if k < j else rest.sqrt()
        row[j + 1 :] = [flint.arb()] * (len(rows) - j - 1)
        if not row[j] > 0:
            raise ZeroDivisionError
    return flint.arb_mat(rows)


def fractions_of(rows: Any) -> flint.fmpq_mat:
    """Nested rows of doubles as the fractions they are."""
    return flint.fmpq_mat([[as_fmpq(x) for x in row] for row in np.asarray(rows).tolist()])


def double_of(ball: flint.arb) -> float:
    """The nearest double; 0 for a ball of hundreds of bits that zero is in."""
    return 0.0 if ball.contains(0) else float(ball)


def doubles_of(matrix: flint.fmpq_mat | flint.arb_mat) -> FloatArray:
    """The nearest doubles, of the same shape."""
    rows = flint.arb_mat(matrix).table()
    numbers = [double_of(x) for row in rows for x in row]
    return np.array(numbers).reshape(matrix.nrows(), matrix.ncols())

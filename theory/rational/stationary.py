"""The stationary distribution in rationals: v = vW, Σ v = 1, with nothing rounded.

One equation of v(I − W) = 0 follows from the others, since the columns of I − W sum to zero. The
first is replaced by Σ v = 1; the matrix that results is invertible for every irreducible W. The
solution is found by flint, modulo primes and by p-adic lifting, with rational reconstruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from theory.numbers import as_fraction


def stationary_distribution(matrix: flint.fmpq_mat) -> tuple[Fraction, ...]:
    """The v of an irreducible rational W, exactly; length N, positive, sums to one."""
    return tuple(as_fraction(entry) for (entry,) in stationary_column(matrix).table())


def stationary_column(matrix: flint.fmpq_mat) -> flint.fmpq_mat:
    """The same v as a column of flint rationals, shape (N, 1)."""
    equations = stationary_equations(matrix)
    return equations.system.solve(equations.right)


@dataclass(frozen=True, eq=False)
class StationaryEquations:
    """A v = b, exactly: v = vW without its first equation, and Σ v = 1 in its place.

    Attributes
    ----------
    system
        A, shape (N, N), regular for every irreducible W.
    right
        b, shape (N, 1).
    """

    system: flint.fmpq_mat
    right: flint.fmpq_mat


def stationary_equations(matrix: flint.fmpq_mat) -> StationaryEquations:
    """The equations of a stochastic W, shape (N, N), for whatever arithmetic solves them."""
    agents = matrix.nrows()
    system = matrix.transpose()
    for i in range(agents):
        system[i, i] -= 1
        system[0, i] = 1
    right = flint.fmpq_mat(agents, 1)
    right[0, 0] = 1
    return StationaryEquations(system, right)

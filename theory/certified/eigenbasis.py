"""All eigenvalues of a matrix at once, from a basis that nearly diagonalises it.

Let X be any regular matrix and T = X⁻¹AX. T has the eigenvalues of A, and Gershgorin's discs
|z − T_ii| ≤ Σ_{j≠i} |T_ij| contain them; a set of k discs that touch no others holds exactly k of
them. With X from an ordinary eigenvalue routine the discs are about as small as rounding times
the condition of X, and two steps make them as small as the precision allows:

- apart: X ← X(I + E), E_ij = T_ij/(T_jj − T_ii), squares what is off the diagonal;
- together: eigenvalues too close for that form a block of T, whose difference from its mean is
  scaled up and diagonalised by the ordinary routine once more.

Nothing here is assumed of A: whatever X is, the enclosure of X⁻¹ proves that it is regular and
the discs are true. Only their size needs A to be diagonalisable with a decent X; a Jordan block
makes them wide. Touching discs need no separation, so multiple eigenvalues do no harm.
(docs: mathematics/certified)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from theory.numbers import Enclosure, precision
from theory.rational import RationalNetwork
from theory.rational.network import stationary_equations
from theory.scientific import csgraph
from theory.validation import FloatArray, fail

# Precision that rises by itself until an interval is as narrow as was asked ----------------------


FIRST_BITS = 64
"""Where precision starts: a few guard bits above a double's 53."""

MOST_BITS = 4096
"""Where precision stops."""

# Ends are rounded outward to doubles, which leaves an interval of two or three units.
_NARROWEST = 1e-15


@dataclass(frozen=True, eq=False)
class Refined:
    """Balls as narrow as was asked, or as the limit of bits allowed.

    Attributes
    ----------
    balls
        Each contains its true number.
    bits
        The precision of the last computation.
    met
        Whether every ball has the relative width asked for.
    """

    balls: tuple[flint.arb, ...]
    bits: int
    met: bool


def check_relative_width(relative_width: float) -> float:
    """A relative width that intervals of doubles can have.

    Raises
    ------
    ValueError
        If it is not a number in [1e-15, 1).
    """
    try:
        width = float(relative_width)
    except (TypeError, ValueError):
        width = math.nan
    if not _NARROWEST <= width < 1:
        raise fail(
            "relative_width",
            f"a number in [{_NARROWEST:g}, 1)",
            repr(relative_width),
            "use 1e-12, or exact rationals if doubles are too coarse",
        )
    return width


def rising_bits(first: int = FIRST_BITS, most: int = MOST_BITS) -> Iterator[int]:
    """`first`, twice that, and so on; the last is at most `most`."""
    bits = first
    while bits <= most:
        yield bits
        bits *= 2


def refine(
    compute: Callable[[], Sequence[flint.arb]],
    *,
    relative_width: float,
    first_bits: int = FIRST_BITS,
    most_bits: int = MOST_BITS,
) -> Refined:
    """`compute` at rising precision; a division by a ball around zero means: not enough bits.

    Raises
    ------
    ZeroDivisionError
        If the computation fails at every precision.
    """
    best: Refined | None = None
    failure: ZeroDivisionError | None = None
    for bits in rising_bits(first_bits, most_bits):
        try:
            with precision(bits):
                balls = tuple(compute())
        except ZeroDivisionError as error:
            failure = error
            continue
        best = Refined(balls, bits, all(is_narrow(ball, relative_width) for ball in balls))
        if best.met:
            return best
    if best is None:
        raise failure or ZeroDivisionError("no precision was tried")
    return best


def is_narrow(ball: flint.arb, relative_width: float) -> bool:
    """Whether the interval of doubles around the ball has the relative width asked for."""
    return Enclosure.from_ball(ball).relative_width <= relative_width


# The stationary distribution in balls ------------------------------------------------------------


def stationary_balls(network: RationalNetwork) -> list[flint.arb]:
    """V in balls at the present precision; each contains the true v_j, and is above zero.

    Raises
    ------
    ZeroDivisionError
        If the present precision is too low to prove that the equations have one solution.
    """
    if network.is_balanced:
        return [1 / flint.arb(network.agents)] * network.agents
    equations = stationary_equations(network.matrix)
    system, right = flint.arb_mat(equations.system), flint.arb_mat(equations.right)
    solution = system.solve(right, algorithm="precond")
    # v > 0 is a theorem: what a ball holds below zero may be cut off.
    return [entry.nonnegative_part() for entry in solution.entries()]


def certified_stationary(network: RationalNetwork, *, relative_width: float) -> Refined:
    """V in balls of the relative width asked for, entry by entry, if 4096 bits reach it."""
    return refine(lambda: stationary_balls(network), relative_width=relative_width)


def stationary_to_bits(network: RationalNetwork, bits: int) -> list[flint.arb]:
    """V in balls of relative radius 2^-bits at most, however small the entry.

    Computed at a precision that exceeds `bits` by what the smallest entry and the conditioning
    of the equations cost.

    Raises
    ------
    ZeroDivisionError
        If 64 times as many bits are not enough.
    """
    narrow = flint.arb(2) ** -bits
    for working in rising_bits(bits + 32, 64 * (bits + 32)):
        try:
            with precision(working):
                balls = stationary_balls(network)
                if all(ball.rad() <= narrow * abs(ball.mid()) for ball in balls):
                    return balls
        except ZeroDivisionError:
            continue
    raise ZeroDivisionError("the stationary distribution needs more bits")


# All eigenvalues of a matrix at once, from a basis that nearly diagonalises it -------------------


# One double operation on non-negative numbers, with what a conversion adds; all bounds in
# doubles are multiplied by one plus a few of these.
_SLACK = 2.0**-50
_TINY = 1e-300

# Off-diagonal parts above this share of the distance of two eigenvalues are not a small change.
_APART = 0.05

# Up to this precision a step may be rounded to doubles: it leaves 2^-52 of what it takes away.
_BITS_OF_DOUBLES = 160

# A block whose own eigenvectors are worse conditioned is left as it is.
_WORST_CONDITION = 1e8


@dataclass(frozen=True, eq=False)
class Eigenbasis:
    """T = X⁻¹AX in balls for a fixed X, and the discs that follow.

    Attributes
    ----------
    vectors, inverse
        X, exact, and an enclosure of X⁻¹; `arb_mat` if A is symmetric, else `acb_mat`.
    similar
        T.
    values
        The balls T_ii.
    radii
        Upper bounds on Σ_{j≠i} |T_ij|, length n: exact balls, as doubles do not go below 1e-308.
    bits
        The precision of the balls.
    """

    vectors: Any
    inverse: Any
    similar: Any
    values: tuple[Any, ...]
    radii: tuple[flint.arb, ...]
    bits: int

    def components(self) -> NDArray[np.int32]:
        """The label of each disc's connected set of discs; sets may be joined too generously."""
        middles = np.array([complex(value) for value in self.values])
        own = upper_bounds([value.rad() for value in self._as_balls()])
        reach = upper_bounds(self.radii) + own + 4 * _SLACK * np.abs(middles)
        close = np.abs(middles[:, None] - middles[None, :]) <= (
            (reach[:, None] + reach[None, :]) * (1 + _SLACK) + _TINY
        )
        labels: NDArray[np.int32] = csgraph.connected_components(close, directed=False)[1]
        return labels

    def moduli(self) -> list[flint.arb]:
        """|z| over each disc, as a ball."""
        return [
            (abs(value) + flint.arb(0, radius)).nonnegative_part()
            for value, radius in zip(self.values, self.radii, strict=True)
        ]

    def real_parts(self) -> list[flint.arb]:
        """Re z over each disc, as a ball."""
        return [
            flint.acb(value).real + flint.arb(0, radius)
            for value, radius in zip(self.values, self.radii, strict=True)
        ]

    def _as_balls(self) -> list[flint.arb]:
        # The radius of a complex ball: its real part's and its imaginary part's together.
        parts = [flint.acb(value) for value in self.values]
        return [flint.arb(0, part.real.rad() + part.imag.rad()) for part in parts]


def upper_bounds(values: Any) -> FloatArray:
    """Doubles that are not below |value| for balls `value`; shape (n,)."""
    near = np.array([float(value.abs_upper()) for value in values], dtype=np.float64)
    return np.asarray(near * (1 + _SLACK) + _TINY)


def magnitudes(matrix: Any, *, unit: int = 0) -> FloatArray:
    """Doubles that are not below the moduli of a ball matrix's entries, in units of 2^unit."""
    entries = matrix.entries()
    if unit:
        scale = flint.arb(2) ** -unit
        entries = [entry * scale for entry in entries]
    return upper_bounds(entries).reshape(matrix.nrows(), matrix.ncols())


def first_basis(matrix: Any, *, symmetric: bool) -> Any:
    """Eigenvectors by the ordinary routine, as exact midpoints; the entries are scaled first."""
    table = scaled_doubles(matrix)
    if symmetric:
        _, vectors = np.linalg.eigh((table.real + table.real.T) / 2)
        return flint.arb_mat(vectors.tolist())
    _, vectors = np.linalg.eig(table.real)
    return flint.acb_mat(vectors.astype(complex).tolist())


def scaled_doubles(matrix: Any) -> NDArray[np.complex128]:
    """The midpoints over the largest of them, so that tiny matrices keep their digits."""
    entries = [flint.acb(entry).mid() for entry in matrix.entries()]
    largest = max((abs(entry) for entry in entries), key=lambda ball: ball.mid())
    if largest.is_zero():
        return np.zeros((matrix.nrows(), matrix.ncols()), dtype=np.complex128)
    scale = largest.mid()
    return np.array([complex(entry / scale) for entry in entries]).reshape(
        matrix.nrows(), matrix.ncols()
    )


def eigenbasis(matrix: Any, vectors: Any, *, bits: int) -> Eigenbasis:
    """The discs of `matrix`, a ball matrix, in the basis of the columns of `vectors`.

    Raises
    ------
    ZeroDivisionError
        If `vectors` cannot be proved to be regular at this precision.
    """
    with precision(bits):
        size = vectors.nrows()
        identity = type(vectors)([[int(i == j) for j in range(size)] for i in range(size)])
        inverse = vectors.solve(identity, algorithm="precond")
        similar = inverse * (matrix * vectors)
        values = tuple(similar[i, i] for i in range(size))
        radii = tuple(
            sum((t.abs_upper() for j, t in enumerate(row) if j != i), flint.arb(0)).upper()
            for i, row in enumerate(similar.table())
        )
    return Eigenbasis(vectors, inverse, similar, values, radii, bits)


def improved_vectors(basis: Eigenbasis, *, bits: int, symmetric: bool) -> Any:
    """A better X: close eigenvalues are taken apart in blocks, the others by one Newton step."""
    with precision(bits):
        size = len(basis.values)
        off = _doubles(basis.similar)
        gap = _gaps(basis.values)
        np.fill_diagonal(off, 0.0)
        together = np.abs(off) > _APART * np.abs(gap)
        np.fill_diagonal(together, False)
        blocks = csgraph.connected_components(together, directed=False)[1]
        same = blocks[:, None] == blocks[None, :]
        vectors = basis.vectors
        alone = ~same & (gap != 0)
        if bits > _BITS_OF_DOUBLES:
            vectors = vectors * _exact_step(basis, alone)
        else:
            change = np.where(alone, off / np.where(gap == 0, 1.0, gap), 0.0)
            np.fill_diagonal(change, 1.0)
            vectors = vectors * _matrix(change, symmetric)
        turn = np.eye(size, dtype=np.complex128)
        for block in np.unique(blocks):
            members = np.flatnonzero(blocks == block)
            if len(members) > 1:
                turn[np.ix_(members, members)] = _block_vectors(
                    basis.similar, members, symmetric=symmetric
                )
        if not np.array_equal(turn, np.eye(size)):
            vectors = vectors * _matrix(turn, symmetric)
        return vectors.mid()


def _exact_step(basis: Eigenbasis, alone: NDArray[np.bool_]) -> Any:
    """I + E at the present precision: each step doubles the digits, where doubles add 16."""
    middles = [value.mid() for value in basis.values]
    rows = [
        [
            (entry.mid() / (middles[j] - middles[i])).mid() if alone[i, j] else int(i == j)
            for j, entry in enumerate(row)
        ]
        for i, row in enumerate(basis.similar.table())
    ]
    return type(basis.similar)(rows)


def _block_vectors(
    similar: Any, members: NDArray[np.int64], *, symmetric: bool
) -> NDArray[np.complex128]:
    picked = members.tolist()
    mean = sum((similar[i, i] for i in picked), flint.arb(0)) / len(picked)
    block = type(similar)(
        [[similar[i, j] - (mean if i == j else 0) for j in picked] for i in picked]
    )
    table = scaled_doubles(block)
    if symmetric:
        return np.asarray(np.linalg.eigh((table + table.conj().T) / 2)[1], dtype=np.complex128)
    vectors = np.linalg.eig(table)[1]
    if not np.linalg.cond(vectors) < _WORST_CONDITION:
        return np.eye(len(picked), dtype=np.complex128)
    return np.asarray(vectors, dtype=np.complex128)


def _doubles(matrix: Any) -> NDArray[np.complex128]:
    return np.array([complex(flint.acb(entry).mid()) for entry in matrix.entries()]).reshape(
        matrix.nrows(), matrix.ncols()
    )


def _gaps(values: tuple[Any, ...]) -> NDArray[np.complex128]:
    """T_jj − T_ii; from balls where doubles would cancel."""
    middles = [flint.acb(value).mid() for value in values]
    near = np.array([complex(middle) for middle in middles])
    gap = near[None, :] - near[:, None]
    close = np.abs(gap) < 1e-6 * np.abs(near[:, None])
    for i, j in np.argwhere(close).tolist():
        gap[i, j] = complex(middles[j] - middles[i])
    return np.asarray(gap)


def _matrix(values: NDArray[np.complex128], symmetric: bool) -> Any:
    if symmetric:
        return flint.arb_mat(values.real.tolist())
    return flint.acb_mat(values.tolist())

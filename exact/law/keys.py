"""States as whole numbers: one key for each value that a vector of log-ratios can take.

The vectors of coefficients that a sum of independent terms can reach lie in a lattice of some
rank r. A choice of r coordinates tells its points apart; each, cleared of denominators, runs over
a finite range, and all r together are the digits of one whole number, in mixed radix. Adding
vectors is adding keys. So merging equal states is merging equal whole numbers: exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm, prod
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from theory.numbers import as_fmpq, as_fraction
from theory.validation import fail

# States as whole numbers -------------------------------------------------------------------------


# Keys up to this many bits are machine words, and their sums too.
_WORD_BITS = 62

Keys = NDArray[Any]  # int64, or Python's whole numbers


@dataclass(frozen=True, eq=False)
class Step:
    """What one observation adds, relative to its first outcome, and how likely it is.

    Attributes
    ----------
    start
        The vector of the first outcome, length D.
    moves
        For each outcome, the vector from there, length D.
    weights
        Probabilities: doubles, or whole numbers over `denominator`.
    denominator
        1 for doubles.
    """

    start: tuple[Fraction, ...]
    moves: tuple[tuple[Fraction, ...], ...]
    weights: tuple[float, ...] | tuple[int, ...]
    denominator: int


@dataclass(frozen=True, eq=False)
class EncodedStep:
    """A step in keys: distinct keys, their weights, and the vector that key 0 stands for."""

    keys: tuple[int, ...]
    weights: tuple[float, ...] | tuple[int, ...]
    zero: tuple[Fraction, ...]
    denominator: int


@dataclass(frozen=True, eq=False)
class KeySpace:
    """Keys for all sums of given steps.

    Attributes
    ----------
    pivots
        The r coordinates that tell vectors apart.
    rows
        r vectors of length D: a vector is Σ_p (its coordinate at pivot p) · row p.
    units
        r positive fractions: coordinates are whole multiples of them.
    radices
        r numbers of values of each coordinate.
    """

    pivots: tuple[int, ...]
    rows: tuple[tuple[Fraction, ...], ...]
    units: tuple[Fraction, ...]
    radices: tuple[int, ...]

    @classmethod
    def of(cls, steps: Sequence[Step], counts: Sequence[int]) -> KeySpace:
        """The space of sums of steps, each taken so many times."""
        moves = {move for step in steps for move in step.moves if any(move)}
        if not moves:
            return cls((), (), (), ())
        pivots, rows = _echelon(list(moves))
        units, radices = [], []
        for p in pivots:
            values = [move[p] for move in moves if move[p]]
            below = lcm(*(value.denominator for value in values))
            above = gcd(*(int(value * below) for value in values))
            unit = Fraction(above, below)
            spans = [
                (max(move[p] for move in s.moves) - min(move[p] for move in s.moves)) for s in steps
            ]
            total = sum((c * span for c, span in zip(counts, spans, strict=True)), Fraction(0))
            units.append(unit)
            radices.append(int(total / unit) + 1)
        return cls(pivots, rows, tuple(units), tuple(radices))

    @property
    def size(self) -> int:
        """How many keys there are: no sum takes more values."""
        return prod(self.radices)

    @cached_property
    def dtype(self) -> type[Any]:
        """Machine words where they are wide enough, else Python's whole numbers."""
        return np.int64 if self.size.bit_length() <= _WORD_BITS else object

    @cached_property
    def places(self) -> tuple[int, ...]:
        """What a digit of each coordinate is worth."""
        return tuple(prod(self.radices[:index]) for index in range(len(self.radices)))

    def encode(self, step: Step) -> EncodedStep:
        """The step in keys; outcomes that are the same are joined."""
        lowest = [min(move[p] for move in step.moves) for p in self.pivots]
        joined: dict[int, Any] = {}
        for move, weight in zip(step.moves, step.weights, strict=True):
            key = sum(
                int((move[p] - low) / unit) * place
                for p, low, unit, place in zip(
                    self.pivots, lowest, self.units, self.places, strict=True
                )
            )
            joined[key] = joined.get(key, 0) + weight
        zero = tuple(
            start
            + sum((low * row[d] for low, row in zip(lowest, self.rows, strict=True)), Fraction(0))
            for d, start in enumerate(step.start)
        )
        keys = sorted(joined)
        return EncodedStep(tuple(keys), tuple(joined[k] for k in keys), zero, step.denominator)

    def digits(self, keys: Keys) -> list[Keys]:
        """The r coordinates of each key, in units."""
        found, rest = [], keys
        for radix in self.radices:
            found.append(rest % radix)
            rest = rest // radix
        return found

    def vector(self, key: int) -> tuple[Fraction, ...]:
        """The vector of a key, length D, up to what key 0 stands for."""
        parts = []
        for radix, unit in zip(self.radices, self.units, strict=True):
            parts.append((key % radix) * unit)
            key //= radix
        width = len(self.rows[0]) if self.rows else 0
        return tuple(
            sum((x * row[d] for x, row in zip(parts, self.rows, strict=True)), Fraction(0))
            for d in range(width)
        )


def _echelon(
    vectors: list[tuple[Fraction, ...]],
) -> tuple[tuple[int, ...], tuple[tuple[Fraction, ...], ...]]:
    """Pivots and rows of a reduced echelon form of some vectors that are not all zero.

    The form is exact whatever the pivots. They are chosen so that the entries of the rows stay
    small, and a vector is no small difference of large terms: vectors that rounding to a grid has
    made independent are nearly dependent in most coordinates.
    """
    order = _largest_first(np.array([[float(x) for x in vector] for vector in vectors]))
    matrix = flint.fmpq_mat([[as_fmpq(vector[d]) for d in order] for vector in vectors])
    reduced, rank = matrix.rref()
    table = reduced.table()[:rank]
    pivots = tuple(order[next(d for d, x in enumerate(row) if x != 0)] for row in table)
    place = {d: index for index, d in enumerate(order)}
    return pivots, tuple(
        tuple(as_fraction(row[place[d]]) for d in range(len(order))) for row in table
    )


def _largest_first(matrix: NDArray[np.float64]) -> list[int]:
    """The columns in the order in which elimination with complete pivoting takes them."""
    rest = matrix / max(float(np.abs(matrix).max()), np.finfo(np.float64).tiny)
    order: list[int] = []
    for _ in range(min(rest.shape)):
        row, column = np.unravel_index(int(np.abs(rest).argmax()), rest.shape)
        pivot = rest[row, column]
        # What is left is rounding.
        if abs(pivot) <= rest.shape[1] * np.finfo(np.float64).eps:
            break
        order.append(int(column))
        rest = rest - np.outer(rest[:, column] / pivot, rest[row])
        rest[:, column] = 0.0
    return order + [d for d in range(rest.shape[1]) if d not in order]


# Probabilities on keys, and their convolution ----------------------------------------------------


# Sums of a state and an outcome are laid out before they are merged.
_ROOM = 8


class TooManyStatesError(ValueError):
    """More states than the limit allows."""


@dataclass(frozen=True, eq=False)
class Masses:
    """Distinct keys in increasing order, and their weights over `denominator`."""

    keys: Keys
    weights: NDArray[Any]
    denominator: int

    @classmethod
    def start(cls, space: KeySpace, *, exact: bool) -> Masses:
        """All mass on key 0."""
        one = np.array([1], dtype=object) if exact else np.ones(1)
        return cls(np.zeros(1, dtype=space.dtype), one, 1)

    def add(self, step: EncodedStep) -> Masses:
        """The law of the sum with one independent step.

        Equal keys are joined. Weights that are doubles carry one rounding for each product and
        each sum, all of positive numbers: the relative error is below (factors + depth of sums)
        units of 2⁻⁵³.
        """
        if len(step.keys) == 1:
            keys = self.keys + step.keys[0]
            return Masses(keys, self.weights * step.weights[0], self.denominator * step.denominator)
        keys = np.concatenate([self.keys + key for key in step.keys])
        weights = np.concatenate([self.weights * weight for weight in step.weights])
        # Timsort merges the runs, which are in order.
        order = np.argsort(keys, kind="stable")
        keys, weights = keys[order], weights[order]
        first = np.concatenate([[True], keys[1:] != keys[:-1]]).astype(bool)
        starts = np.flatnonzero(first)
        joined = np.add.reduceat(weights, starts)
        return Masses(keys[starts], joined, self.denominator * step.denominator)


def check_size(
    masses: Masses, step: EncodedStep, *, limit: int, done: int, terms: int, foreseen: int
) -> None:
    """Refuse the next step if it may lead to too many states.

    Raises
    ------
    TooManyStatesError
        Saying how far it got and how many states are foreseen at the end.
    """
    if masses.keys.size <= limit and masses.keys.size * len(step.keys) <= _ROOM * limit:
        return
    message = fail(
        "limit",
        f"at most {limit} different states",
        f"{masses.keys.size} after {done} of {terms} observations and up to {_short(foreseen)} "
        "at the end",
        "ask for fewer rounds or agents, or a coarser merge_within, or estimate by "
        "exact.rare_errors or exact.simulate",
    )
    raise TooManyStatesError(*message.args)


def _short(number: int) -> str:
    digits = str(number)
    return digits if len(digits) <= 7 else f"{digits[0]}.{digits[1]}e{len(digits) - 1}"

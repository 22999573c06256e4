"""From keys back to log-ratios, and who is wrong: decided, where the numbers are exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exact.law.keys import Keys
from exact.law.law_problem import Problem
from exact.law.terms import Flat, Terms
from theory.numbers import LogSum
from theory.validation import FloatArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Verdict:
    """Which states are errors.

    Attributes
    ----------
    wrong, surely
        Shape (S, A): whether the agent errs in the state, ties included; and whether it does so
        whatever rounding has done. The two are equal where nothing was rounded.
    """

    wrong: BoolArray
    surely: BoolArray


@dataclass(frozen=True, eq=False)
class Decoder:
    """Log-ratios of keys; see :class:`exact.law.terms.Terms`."""

    problem: Problem
    terms: Terms

    @cached_property
    def _slopes(self) -> FloatArray:
        """What one unit of each coordinate adds to each log-ratio, shape (r, A·C)."""
        space = self.terms.space
        rows = [
            self._values(tuple(unit * x for x in row))
            for row, unit in zip(space.rows, space.units, strict=True)
        ]
        agents, columns, _ = self.terms.shape
        return np.array(rows).reshape(len(rows), agents * columns)

    def _number(self, vector: Flat, index: int) -> LogSum:
        """Entry `index` of the A·C log-ratios that a vector of coefficients stands for."""
        width = self.terms.shape[2]
        rational, *powers = vector[index * width : (index + 1) * width]
        logs = zip(self.problem.base, powers, strict=True)
        return LogSum(rational, tuple((b, q) for b, q in logs if q))

    def _values(self, vector: Flat) -> FloatArray:
        agents, columns, _ = self.terms.shape
        sizes = [self._number(vector, i).enclosure() for i in range(agents * columns)]
        return np.array([(e.lower + e.upper) / 2 for e in sizes])

    def log_ratios(self, keys: Keys, zero: Flat) -> FloatArray:
        """Shape (S, A, C), right to a few roundings of the terms summed."""
        agents, columns, _ = self.terms.shape
        digits = self._digits(keys)
        values = self._values(zero) + digits @ self._slopes
        return np.asarray(values.reshape(-1, agents, columns))

    def _digits(self, keys: Keys) -> FloatArray:
        found = [d.astype(np.float64) for d in self.terms.space.digits(keys)]
        return np.stack(found, axis=1) if found else np.zeros((keys.size, 0))

    def verdict(self, keys: Keys, zero: Flat) -> Verdict:
        """Who is wrong in each state.

        An agent errs if some wrong θ has Λ(best, θ) ≤ Λ(best, r) for every r that is no error.
        """
        agents, columns, _ = self.terms.shape
        reference = self.problem.reference
        place = {theta: c for c, theta in enumerate(reference.columns)}
        digits = self._digits(keys)
        wrong = np.zeros((keys.size, agents), dtype=bool)
        surely = np.zeros_like(wrong)
        for a in range(agents):
            for theta in reference.wrong:
                beats = np.ones(keys.size, dtype=bool)
                proved = np.ones(keys.size, dtype=bool)
                for rival in (None, *(place[m] for m in reference.others)):
                    other = None if rival is None else a * columns + rival
                    found = self._at_most_zero(
                        keys, digits, zero, a * columns + place[theta], other
                    )
                    beats &= found.wrong[:, 0]
                    proved &= found.surely[:, 0]
                wrong[:, a] |= beats
                surely[:, a] |= proved
        return Verdict(wrong, surely)

    def _at_most_zero(
        self, keys: Keys, digits: FloatArray, zero: Flat, index: int, other: int | None
    ) -> Verdict:
        """Whether entry `index`, less entry `other` if given, is at most 0."""
        start, slopes = self._values(zero), self._slopes
        base, slope = start[index], slopes[:, index]
        sizes = np.abs(slope)
        reach = abs(base)
        if other is not None:
            base, slope = base - start[other], slope - slopes[:, other]
            sizes = sizes + np.abs(slopes[:, other])
            reach += abs(start[other])
        values = base + digits @ slope
        # Each term is off by two roundings or so, and so is each sum.
        slack = (digits @ sizes + reach) * (8 + 2 * slope.size) * 2.0**-53
        if not self.problem.is_rational:
            moved = self.terms.displacement * (1 if other is None else 2) + slack
            return Verdict((values <= moved)[:, None], (values <= -moved)[:, None])
        decided = values <= 0
        for state in np.flatnonzero(np.abs(values) <= slack):
            vector = self._vector(int(keys[state]), zero)
            number = self._number(vector, index)
            if other is not None:
                number = number - self._number(vector, other)
            decided[state] = number.sign() <= 0
        return Verdict(decided[:, None], decided[:, None])

    def _vector(self, key: int, zero: Flat) -> Flat:
        moved = self.terms.space.vector(key)
        return tuple(z + m for z, m in zip(zero, moved, strict=True)) if moved else zero


def add(first: Flat, second: Flat) -> Flat:
    """The sum of two vectors."""
    return tuple(x + y for x, y in zip(first, second, strict=True))


def nothing(size: int) -> Flat:
    """The zero vector."""
    return (Fraction(0),) * size

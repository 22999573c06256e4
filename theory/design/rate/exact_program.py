"""The linear program of the best rate in rationals, from a basis that floating point ends with.

The program is that of :mod:`theory.design.rate.rate_program`, and so is its solver: a basis says
which variables are off their least values and which rows are tight. Solved in rationals it gives a
point and multipliers, and whether they are optimal is decided. Where they are not, because
something is smaller than doubles can tell, what is missing is magnified till it is not, and HiGHS
says which basis is better: iterative refinement (Gleixner, Steffy and Wolter 2016).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import flint
import numpy as np

from theory.design.influences.flow_rows import Basis, LinearProgram
from theory.design.influences.influence_set import UNIT, InfluenceSet
from theory.design.rate.rate_program import Groups, LeastProgram, Model, RateTarget
from theory.learning import FiniteModel
from theory.numbers import Enclosure, LogSum, as_fmpq, as_fraction, precision
from theory.validation import FloatArray

# What the program is made of, in rationals -------------------------------------------------------


Number: TypeAlias = Any
"""A fraction of flint's, `flint.fmpq`, which is faster than Python's."""

_ZERO = flint.fmpq(0)


@dataclass(frozen=True, eq=False)
class Information:
    """I of each kind against each wrong hypothesis: rationals, and doubles next to them.

    Attributes
    ----------
    floats
        Shape (K, M').
    table
        The rationals; None if the doubles are meant.
    error
        No true entry is farther from its rational.
    """

    floats: FloatArray
    table: Sequence[Sequence[Number]] | None
    error: Fraction

    def exact(self, kind: int, place: int) -> Number:
        if self.table is None:
            return as_fmpq(float(self.floats[kind, place]))
        return self.table[kind][place]

    @property
    def keys(self) -> list[object]:
        """Equal for kinds of equal rows."""
        if self.table is None:
            return [row.tobytes() for row in self.floats]
        return [tuple(map(str, row)) for row in self.table]


def exact_information(model: Model, aim: RateTarget, bits: int) -> Information:
    wrong = aim.wrong.tolist()
    if isinstance(model, FiniteModel):
        found = model.comparison(aim.target).values
        return Information(found[:, aim.wrong], None, Fraction(0))
    sums = [[row[m] - row[aim.target] for m in wrong] for row in model.kind_divergences]
    near = [[_rational_near(entry, bits) for entry in row] for row in sums]
    table = [[entry for entry, _ in row] for row in near]
    error = max((radius for row in near for _, radius in row), default=Fraction(0))
    floats = np.array([_doubles(row) for row in table])
    return Information(floats, table, error)


def _rational_near(number: LogSum, bits: int) -> tuple[Number, Fraction]:
    """A rational and its distance from the number, or more."""
    if number.is_rational:
        return as_fmpq(number.rational), Fraction(0)
    with precision(bits):
        ball = number.ball()
        mantissa, exponent = ball.mid().man_exp()
        radius = Fraction(Enclosure.from_ball(ball.rad()).upper)
    return flint.fmpq(mantissa) * flint.fmpq(2) ** exponent, radius


def _doubles(numbers: Iterable[Number]) -> FloatArray:
    return np.array([float(as_fraction(x)) for x in numbers])


# A basis in rationals ----------------------------------------------------------------------------


# A step of refinement magnifies at most so much more than the one before it; and what it makes
# larger than this no solver need tell apart.
_MAGNIFIED = 2.0**40
_LARGE = 1e15


class BasisError(ArithmeticError):
    """A basis that is none, or is not optimal after as many refinements as are allowed."""


@dataclass(frozen=True, eq=False)
class BasicPoint:
    """What a basis stands for, exactly. The columns are x, t, and the slack of every row.

    Attributes
    ----------
    point
        x and t.
    multipliers
        Of the rows; they sum to one over the hypotheses.
    room
        Of each column but t, 0: what it is above its least value; not negative in a solution, and
        zero for the slack of an equation.
    gains
        Of each column: what t gains for a unit of it; zero for t itself and for slacks of
        equations, and not positive in a solution.
    short, over
        By how much that is missed, at most: of `room`, and of `gains`.
    """

    point: list[Number]
    multipliers: list[Number]
    room: list[Number]
    gains: list[Number]
    short: Number
    over: Number


@dataclass(frozen=True, eq=False)
class Game:
    """The linear program in rationals: t as large as can be, its rows in the order of HiGHS's.

    Attributes
    ----------
    program
        The same in doubles; it grows.
    kinds
        Shape (G,): a kind for each group, in the rows of `information`.
    lower
        The least values of x, the groups' shares and then flows.
    rows, above
        Those of the polytope, as mappings from variable to coefficient: so many that are ≤ 0, then
        Σ v = 1, then some that are = 0.
    """

    program: LeastProgram
    information: Information
    kinds: list[int]
    lower: list[Number]
    rows: list[dict[int, Number]]
    above: int

    @classmethod
    def of(
        cls, allowed: InfluenceSet, groups: Groups, program: LeastProgram, information: Information
    ) -> Game:
        floor, kinds = as_fmpq(allowed.floor), groups.kinds.tolist()
        if allowed.is_simple:
            counts = [int(n) for n in groups.counts]
            ones = dict.fromkeys(range(len(counts)), flint.fmpq(1))
            lower = [n * floor for n in counts]
            return cls(program, information, kinds, lower, [ones], 0)
        exact = allowed.exact_rows
        lower = [floor] * exact.agents + [_ZERO] * (exact.variables - exact.agents)
        both = (*exact.inequalities, *exact.equalities)
        rows = [{k: as_fmpq(c) for k, c in row.items()} for row in both]
        return cls(program, information, kinds, lower, rows, len(exact.inequalities))

    def solve(self, start: Basis, most: int) -> tuple[BasicPoint, int]:
        """The optimum over all hypotheses, and how often it was refined.

        Raises
        ------
        BasisError
            If a basis is singular, or `most` refinements are not enough.
        """
        found, magnified = start, [1.0, 1.0]
        for refined in range(most + 1):
            point = self.at(found)
            if more := self._violated(point):
                self.program.add(np.array(more))
                again = self.program.program.solve()
                better = None if again is None else again.basis
            elif not (point.short or point.over):
                return point, refined
            else:
                for side, off in enumerate((point.short, point.over)):
                    if off:
                        most_now = _MAGNIFIED * magnified[side]
                        magnified[side] = min(most_now, 1 / max(float(as_fraction(off)), 1e-300))
                better = self._refined(point, *magnified)
            if better is None:
                break
            found = better
        raise BasisError(f"not optimal after {most} refinements")

    def at(self, basis: Basis) -> BasicPoint:
        """The point and the multipliers of a basis.

        Raises
        ------
        BasisError
            If it is singular.
        """
        table, sides, last = self._table(), self._sides(), len(self.lower)
        basic, tight = basis.basic_variables.tolist(), basis.tight_rows.tolist()
        x = [*self.lower, _ZERO]
        for k in basic:
            x[k] = _ZERO
        left = (sides - table * _column(x)).entries()
        goal = [flint.fmpq(int(k == last)) for k in range(last + 1)]
        try:
            system = flint.fmpq_mat([[table[r, k] for k in basic] for r in tight])
            values = system.solve(_column([left[r] for r in tight])).entries()
            prices = system.transpose().solve(_column([goal[k] for k in basic])).entries()
        except (ValueError, ZeroDivisionError):
            raise BasisError("the basis is singular") from None
        for k, value in zip(basic, values, strict=True):
            x[k] = value
        multipliers = [_ZERO] * len(left)
        for r, price in zip(tight, prices, strict=True):
            multipliers[r] = price
        slack = (sides - table * _column(x)).entries()
        used = (table.transpose() * _column(multipliers)).entries()
        room = [*(a - b for a, b in zip(x, self.lower, strict=False)), _ZERO, *slack]
        # As for a row, so for its slack: one that gains is a row of the wrong sign.
        equal = range(self.above, len(self.rows))
        lost = [_ZERO if r in equal else -price for r, price in enumerate(multipliers)]
        gains = [*(a - b for a, b in zip(goal, used, strict=True)), *lost]
        both_ways = [abs(slack[r]) for r in equal]
        short, over = max([_ZERO, *(-a for a in room), *both_ways]), max(abs(gains[last]), *gains)
        return BasicPoint(x, multipliers, room, gains, short, over)

    def _refined(self, point: BasicPoint, nearer: float, dearer: float) -> Basis | None:
        """The basis that HiGHS ends with where the point is the origin, and its faults are large.

        For steps z from it, A z + slack = 0: so many times `nearer` it to the bounds, and gains
        `dearer`. None if there is no solution.
        """
        program, last = self.program, len(self.lower)
        table = self._table()
        rows, equal = table.nrows(), slice(self.above, len(self.rows))
        sizes = np.ones(rows)
        sizes[len(self.rows) :] = program.sizes[program.generated]
        units = np.concatenate([np.ones(last), [program.unit], sizes])
        free = np.delete(np.arange(rows), equal)
        columns = np.concatenate([np.arange(last + 1), last + 1 + free])
        room, gains = _doubles(point.room), _doubles(point.gains)
        least = np.clip(-nearer * room / units, -_LARGE, _LARGE)
        least[last] = -np.inf
        better = np.clip(dearer * gains * units / program.unit, -_LARGE, _LARGE)
        matrix = _doubles(table.entries()).reshape(rows, last + 1)
        matrix = np.hstack([matrix * units[: last + 1] / sizes[:, None], np.eye(rows)[:, free]])
        magnified = LinearProgram(better[columns], least[columns])
        sides = np.zeros(rows)
        sides[equal] = nearer * room[last + 1 :][equal]
        magnified.add(matrix, sides, sides)
        found = magnified.solve()
        if found is None:
            return None
        basic = columns[found.basis.basic_variables]
        tight = np.setdiff1d(found.basis.tight_rows, basic - last - 1)
        return Basis(basic[basic <= last], tight)

    def _table(self) -> flint.fmpq_mat:
        """The rows' coefficients of x and t: Σ_j x_j G_jθ ≥ t reads t − Σ_j x_j G_jθ ≤ 0."""
        last, rows = len(self.lower), [*self.rows]
        for m in self.program.generated:
            row = {j: -g for j, g in enumerate(self._row(m))}
            rows.append(row | {last: flint.fmpq(1)})
        return flint.fmpq_mat([[row.get(k, _ZERO) for k in range(last + 1)] for row in rows])

    def _sides(self) -> flint.fmpq_mat:
        sides = [_ZERO] * (len(self.rows) + len(self.program.generated))
        sides[self.above] = flint.fmpq(1)
        return _column(sides)

    def _row(self, m: int) -> list[Number]:
        return [self.information.exact(k, m) for k in self.kinds]

    def _violated(self, found: BasicPoint) -> list[int]:
        """The hypotheses left out that the point violates: decided."""
        payoffs, value = self.program.payoffs, found.point[-1]
        shares = found.point[: len(payoffs)]
        u, top = _doubles(shares), float(as_fraction(value))
        # Rounding of shares, of entries, of products and of their sum.
        reach = 4 * (u.size + 4) * UNIT * (np.abs(u) @ np.abs(payoffs))
        low = u @ payoffs - reach <= top + 4 * UNIT * abs(top)
        return [
            m
            for m in np.flatnonzero(low & self.program.missing).tolist()
            if sum((g * x for g, x in zip(self._row(m), shares, strict=True)), _ZERO) < value
        ]


def _column(values: Sequence[Number]) -> flint.fmpq_mat:
    return flint.fmpq_mat(len(values), 1, list(values))

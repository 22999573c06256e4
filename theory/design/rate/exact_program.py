"""Linear programs in rationals, from a basis that floating point found.

    maximise c·y  subject to  B y ≤ b,  E y = e,  y ≥ 0.

A basis is a set S of variables and a set T of tight inequalities with |S| = |T| + rows of E, such
that the square system of the rows T and E in the columns S is regular. It gives a point y, and
multipliers π; the point is optimal if y ≥ 0, no inequality is violated, π_T ≥ 0 and no variable
outside S is worth more than it costs. All four are decided in exact arithmetic.

A basis that fails is repaired by simplex pivots, in exact arithmetic too: by the primal method if
the point is feasible, by the dual method if the multipliers are. If neither, the right-hand sides
are first moved to where the point is feasible, the primal method leaves multipliers that are, and
the dual method goes on from there with the true ones. Bland's rule excludes cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import flint

Number = flint.fmpq
_ZERO = flint.fmpq(0)


@dataclass(frozen=True, eq=False)
class ExactProgram:
    """The program: c of length V, B of I rows, E of rows that are independent.

    The feasible set is neither empty nor unbounded in the direction of c.
    """

    objective: Sequence[Number]
    inequalities: Sequence[Sequence[Number]]
    limits: Sequence[Number]
    equalities: Sequence[Sequence[Number]]
    sides: Sequence[Number]


@dataclass(frozen=True)
class Basis:
    """S and T, sorted."""

    variables: tuple[int, ...]
    tight: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ExactSolution:
    """An optimal point and its proof, exactly.

    Attributes
    ----------
    point
        y, length V.
    multipliers
        Of the inequalities, length I, at least 0; zero off T.
    side_multipliers
        Of the equalities.
    value
        c·y, the maximum.
    basis
        Where it is.
    pivots
        How many pivots the basis given was away from it.
    """

    point: tuple[Number, ...]
    multipliers: tuple[Number, ...]
    side_multipliers: tuple[Number, ...]
    value: Number
    basis: Basis
    pivots: int


class BasisError(ArithmeticError):
    """The basis given is no basis, or too many pivots away from the optimum."""


def solve_exactly(program: ExactProgram, basis: Basis, *, most_pivots: int) -> ExactSolution:
    """The exact optimum, from a basis that is optimal or nearly so.

    Raises
    ------
    BasisError
        If the basis is singular or of the wrong size, or `most_pivots` are not enough.
    """
    now = _State.at(program, basis)
    pivots = 0
    if not now.is_feasible and not now.is_dual_feasible:
        moved = now.made_feasible()
        now, pivots = _improve(moved, primal=True, most_pivots=most_pivots, pivots=pivots)
        now = _State.at(program, now.basis)
    now, pivots = _improve(now, primal=now.is_feasible, most_pivots=most_pivots, pivots=pivots)
    return now.solution(pivots)


def _improve(state: _State, *, primal: bool, most_pivots: int, pivots: int) -> tuple[_State, int]:
    while not (state.is_dual_feasible if primal else state.is_feasible):
        if pivots == most_pivots:
            raise BasisError(f"not optimal after {pivots} pivots")
        basis = state.primal_pivot() if primal else state.dual_pivot()
        state = _State.at(state.program, basis)
        pivots += 1
    return state, pivots


@dataclass(frozen=True, eq=False)
class _State:
    """A basis with all that follows from it.

    Variables are numbered 0 … V − 1, the slack of inequality i is V + i.

    Attributes
    ----------
    values
        Of the basic variables: number → value.
    prices
        Of the others: number → reduced cost, what the objective gains for each unit.
    """

    program: ExactProgram
    basis: Basis
    system: flint.fmpq_mat
    others: tuple[int, ...]
    values: dict[int, Number]
    prices: dict[int, Number]
    duals: tuple[Number, ...]

    @classmethod
    def at(cls, program: ExactProgram, basis: Basis) -> _State:
        chosen, tight = basis.variables, basis.tight
        if len(chosen) != len(tight) + len(program.equalities) or not chosen:
            raise BasisError(f"{len(chosen)} variables for {len(tight)} tight rows")
        rows = [program.inequalities[i] for i in tight] + list(program.equalities)
        system = flint.fmpq_mat([[row[k] for k in chosen] for row in rows])
        right = [program.limits[i] for i in tight] + list(program.sides)
        try:
            y = _column(system.solve(_as_column(right)))
            duals = _column(
                system.transpose().solve(_as_column([program.objective[k] for k in chosen]))
            )
        except ZeroDivisionError:
            raise BasisError("the basis is singular") from None
        count = len(program.objective)
        inside = set(tight)
        others = tuple(i for i in range(len(program.inequalities)) if i not in inside)
        values = dict(zip(chosen, y, strict=True))
        for i, used in zip(others, _times(program, others, chosen, y), strict=True):
            values[count + i] = program.limits[i] - used
        prices = {}
        basic = set(chosen)
        outside = [k for k in range(count) if k not in basic]
        if outside:
            table = flint.fmpq_mat([[row[k] for row in rows] for k in outside])
            for k, cost in zip(outside, _column(table * _as_column(duals)), strict=True):
                prices[k] = program.objective[k] - cost
        for place, i in enumerate(tight):
            prices[count + i] = -duals[place]
        return cls(program, basis, system, others, values, prices, tuple(duals))

    @property
    def is_feasible(self) -> bool:
        return all(value >= 0 for value in self.values.values())

    @property
    def is_dual_feasible(self) -> bool:
        return all(price <= 0 for price in self.prices.values())

    def made_feasible(self) -> _State:
        """The same basis in a program whose right-hand sides suit it."""
        program, chosen = self.program, self.basis.variables
        y = [max(self.values[k], _ZERO) for k in chosen]
        limits = list(program.limits)
        every = range(len(limits))
        tight = set(self.basis.tight)
        for i, used in zip(every, _times(program, every, chosen, y), strict=True):
            limits[i] = used if i in tight else max(limits[i], used)
        sides = [
            sum((row[k] * value for k, value in zip(chosen, y, strict=True)), _ZERO)
            for row in program.equalities
        ]
        return _State.at(replace(program, limits=limits, sides=sides), self.basis)

    def primal_pivot(self) -> Basis:
        enters = min(k for k, price in self.prices.items() if price > 0)
        change = self._change(enters)
        ratios = [(self.values[k] / -rate, k) for k, rate in change.items() if rate < 0]
        if not ratios:
            raise BasisError("the program is unbounded")
        return self._exchanged(enters, min(ratios)[1])

    def dual_pivot(self) -> Basis:
        leaves = min(k for k, value in self.values.items() if value < 0)
        ratios = []
        for k, price in self.prices.items():
            if (rate := self._change(k)[leaves]) > 0:
                ratios.append((-price / rate, k))
        if not ratios:
            raise BasisError("the program has no feasible point")
        return self._exchanged(min(ratios)[1], leaves)

    def _change(self, enters: int) -> dict[int, Number]:
        """By how much each basic variable changes when `enters` rises by one."""
        program, chosen = self.program, self.basis.variables
        count = len(program.objective)
        steps = [-x for x in _column(self.system.solve(_as_column(self._enters(enters))))]
        change = dict(zip(chosen, steps, strict=True))
        for i, used in zip(self.others, _times(program, self.others, chosen, steps), strict=True):
            own = program.inequalities[i][enters] if enters < count else _ZERO
            change[count + i] = -used - own
        return change

    def _enters(self, k: int) -> list[Number]:
        """The column of variable or slack k in the rows of the system."""
        program, tight = self.program, self.basis.tight
        count = len(program.objective)
        if k >= count:
            unit = [flint.fmpq(int(i == k - count)) for i in tight]
            return unit + [_ZERO] * len(program.equalities)
        return [program.inequalities[i][k] for i in tight] + [r[k] for r in program.equalities]

    def _exchanged(self, enters: int, leaves: int) -> Basis:
        count = len(self.program.objective)
        variables, tight = set(self.basis.variables), set(self.basis.tight)
        if enters < count:
            variables.add(enters)
        else:
            tight.remove(enters - count)
        if leaves < count:
            variables.remove(leaves)
        else:
            tight.add(leaves - count)
        return Basis(tuple(sorted(variables)), tuple(sorted(tight)))

    def solution(self, pivots: int) -> ExactSolution:
        program, tight = self.program, self.basis.tight
        multipliers = [_ZERO] * len(program.inequalities)
        for place, i in enumerate(tight):
            multipliers[i] = self.duals[place]
        point = tuple(self.values.get(k, _ZERO) for k in range(len(program.objective)))
        value = sum((c * y for c, y in zip(program.objective, point, strict=True)), _ZERO)
        sides = self.duals[len(tight) :]
        return ExactSolution(point, tuple(multipliers), sides, value, self.basis, pivots)


def _times(
    program: ExactProgram, rows: Sequence[int], columns: Sequence[int], y: Sequence[Number]
) -> list[Number]:
    """B y for some rows, where only some columns have a y."""
    if not rows:
        return []
    table = flint.fmpq_mat([[program.inequalities[i][k] for k in columns] for i in rows])
    return _column(table * _as_column(y))


def _as_column(values: Sequence[Number]) -> flint.fmpq_mat:
    return flint.fmpq_mat(len(values), 1, list(values))


def _column(matrix: flint.fmpq_mat) -> list[Number]:
    return matrix.entries()

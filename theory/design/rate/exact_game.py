"""The linear program of the best rate in rationals, as a basis of it is verified.

Hypotheses that floating point never looked at are checked as well: in doubles with their rounding,
and in rationals where that does not decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import flint
import numpy as np

from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.agent_groups import Groups
from theory.design.rate.exact_program import (
    Basis,
    BasisError,
    ExactProgram,
    ExactSolution,
    solve_exactly,
)
from theory.design.rate.rate_program import RateSolution
from theory.design.rate.rate_target import Model, RateTarget
from theory.learning import FiniteModel
from theory.numbers import Enclosure, LogSum, as_fmpq, as_fraction, precision
from theory.validation import FloatArray

Table: TypeAlias = "list[list[flint.fmpq]]"

_UNIT = 2.0**-53


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
    table: Table | None
    error: Fraction

    def exact(self, kind: int, place: int) -> flint.fmpq:
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
    error = Fraction(0)
    table: Table = []
    for row in sums:
        entries = []
        for entry in row:
            near, radius = _rational_near(entry, bits)
            entries.append(near)
            error = max(error, radius)
        table.append(entries)
    floats = np.array([[float(as_fraction(x)) for x in row] for row in table])
    return Information(floats, table, error)


def _rational_near(number: LogSum, bits: int) -> tuple[flint.fmpq, Fraction]:
    """A rational and its distance from the number, or more."""
    if number.is_rational:
        return as_fmpq(number.rational), Fraction(0)
    with precision(bits):
        ball = number.ball()
        mantissa, exponent = ball.mid().man_exp()
        radius = Fraction(Enclosure.from_ball(ball.rad()).upper)
    return flint.fmpq(mantissa) * flint.fmpq(2) ** exponent, radius


@dataclass(frozen=True, eq=False)
class Game:
    """The linear program in rationals: y = (x − lower, t − t₀), t₀ below every entry of I.

    Attributes
    ----------
    lower
        Of x, the groups' shares and then flows.
    inequalities, equalities
        Of x, as mappings from variable to coefficient; the first equality is that of the sum.
    """

    groups: Groups
    information: Information
    lower: list[flint.fmpq]
    inequalities: list[dict[int, flint.fmpq]]
    equalities: list[dict[int, flint.fmpq]]

    @classmethod
    def of(cls, allowed: InfluenceSet, groups: Groups, information: Information) -> Game:
        floor = as_fmpq(allowed.floor)
        if allowed.is_simple:
            counts = [int(n) for n in groups.counts]
            ones = dict.fromkeys(range(len(counts)), flint.fmpq(1))
            return cls(groups, information, [n * floor for n in counts], [], [ones])
        rows = allowed.exact_rows
        lower = [floor] * rows.agents + [flint.fmpq(0)] * (rows.variables - rows.agents)
        above = [{k: as_fmpq(c) for k, c in row.items()} for row in rows.inequalities]
        equal = [{k: as_fmpq(c) for k, c in row.items()} for row in rows.equalities]
        return cls(groups, information, lower, above, equal)

    def solve(self, start: RateSolution, most_pivots: int) -> tuple[ExactSolution, list[int]]:
        """The optimum over all hypotheses, and those that were in the program."""
        generated = start.generated.tolist()
        first = len(self.inequalities)
        place = {m: first + k for k, m in enumerate(generated)}
        rows = start.tight_rows
        tight = [int(r) for r in rows if r < first] + [place[m] for m in start.tight.tolist()]
        if np.count_nonzero(rows >= first) < len(self.equalities):
            raise BasisError("an equation is not in the basis")
        last = len(self.lower)
        basis = Basis((*start.basic_variables.tolist(), last), tuple(sorted(tight)))
        pivots = 0
        while True:
            found = solve_exactly(self._program(generated), basis, most_pivots=most_pivots - pivots)
            pivots += found.pivots
            more = self._violated(found, generated)
            if not more:
                return replace(found, pivots=pivots), generated
            # A further row leaves the multipliers feasible: the dual method goes on.
            generated, basis = [*generated, *more], found.basis

    def value(self, solution: ExactSolution) -> Fraction:
        return as_fraction(solution.point[-1] + self.least)

    def shares(self, solution: ExactSolution) -> list[Fraction]:
        """The groups' shares."""
        size = self.groups.counts.size
        pairs = zip(solution.point[:size], self.lower[:size], strict=True)
        return [as_fraction(a + b) for a, b in pairs]

    @property
    def least(self) -> flint.fmpq:
        """A rational below every entry of I, so that t − t₀ is positive."""
        return as_fmpq(float(np.floor(self.groups.payoffs.min()) - 1.0))

    def _row(self, m: int) -> list[flint.fmpq]:
        return [self.information.exact(k, m) for k in self.groups.kinds.tolist()]

    def _program(self, generated: list[int]) -> ExactProgram:
        zero, one = flint.fmpq(0), flint.fmpq(1)
        variables, size = len(self.lower), self.groups.counts.size
        table = []
        limits = []
        for row in self.inequalities:
            table.append([row.get(k, zero) for k in range(variables)] + [zero])
            limits.append(-_product(row, self.lower))
        for m in generated:
            gains = self._row(m)
            table.append([-g for g in gains] + [zero] * (variables - size) + [one])
            base = sum((g * u for g, u in zip(gains, self.lower[:size], strict=True)), zero)
            limits.append(base - self.least)
        equal = [[row.get(k, zero) for k in range(variables)] + [zero] for row in self.equalities]
        sides = [
            (one if place == 0 else zero) - _product(row, self.lower)
            for place, row in enumerate(self.equalities)
        ]
        return ExactProgram([zero] * variables + [one], table, limits, equal, sides)

    def _violated(self, found: ExactSolution, generated: list[int]) -> list[int]:
        """The hypotheses left out that the solution violates: decided."""
        payoffs = self.groups.payoffs
        shares = self.shares(found)
        value = self.value(found)
        u = np.array([float(x) for x in shares])
        # Rounding of shares, of entries, of products and of their sum.
        reach = 4 * (u.size + 4) * _UNIT * (np.abs(u) @ np.abs(payoffs))
        top = float(value)
        doubtful = np.flatnonzero(u @ payoffs - reach <= top + 4 * _UNIT * abs(top))
        known = set(generated)
        return [
            int(m)
            for m in doubtful
            if int(m) not in known
            and sum(
                (as_fraction(g) * x for g, x in zip(self._row(int(m)), shares, strict=True)),
                Fraction(0),
            )
            < value
        ]


def _product(row: dict[int, flint.fmpq], x: list[flint.fmpq]) -> flint.fmpq:
    return sum((c * x[k] for k, c in row.items()), flint.fmpq(0))

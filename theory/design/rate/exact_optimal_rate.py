"""The best learning rate as a fraction, or enclosed where it is a sum of logarithms.

The linear program is that of :mod:`theory.design.rate.rate_program`, and so is its solver: a basis
says which variables are off their least values and which rows are tight. Solved in rationals it
gives a point and multipliers, and whether they are optimal is decided. Where they are not, because
something is smaller than doubles can tell, what is missing is magnified till it is not, and HiGHS
says which basis is better: iterative refinement (Gleixner, Steffy and Wolter 2016).

Where the divergences are sums of logarithms the program is solved exactly for rationals next to
them: K is the value of a game, and moves by at most ε if no entry moves by more (docs:
mathematics/optimal-rate).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import flint
import numpy as np

from theory.design.influences.flow_rows import Basis, LinearProgram, simplex_rows
from theory.design.influences.influence_set import UNIT, InfluenceSet
from theory.design.rate.optimal_rate import achieved, proved_bound
from theory.design.rate.rate_program import (
    Groups,
    LeastProgram,
    Model,
    RateSolution,
    RateTarget,
    group_rows,
    influences_for,
    named,
    rate_target,
)
from theory.design.search import Certificate, DesignFailed, Kind
from theory.learning import FiniteModel
from theory.numbers import Enclosure, LogSum, as_fmpq, as_fraction, precision
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, fail

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
        exact = allowed.exact_rows
        if allowed.is_simple:
            exact = simplex_rows([int(n) * allowed.floor for n in groups.counts])
        rows = [{k: as_fmpq(c) for k, c in row.items()} for row in exact.rows]
        lower = list(map(as_fmpq, exact.lower))
        return cls(program, information, groups.kinds.tolist(), lower, rows, exact.inequalities)

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


# Sums of logarithms are first replaced by rationals of so many bits.
_START_BITS = 128
_MOST_BITS = 4096
# An enclosure of this relative width is as narrow as doubles are.
_WIDTH = 2.0**-50


@dataclass(frozen=True, eq=False)
class ExactOptimalRate(Shown):
    """The best K, proved; nats per round.

    Attributes
    ----------
    rate
        K, if it is rational and the basis was verified; else None.
    enclosure
        An interval that contains K, whichever way it was found.
    stationary_distribution
        Length N: a v that attains K (to within the width of `enclosure`, if `rate` is None).
    multipliers
        Length M: the weights λ of the hypotheses that prove it.
    binding
        The hypotheses with positive multipliers, the largest first.
    target, reference
        As for `OptimalRate`.
    certificate
        ``"exact"`` if the basis was verified for the very program, else ``"certified"``.
    refinements
        How often what floating point ended with had to be refined.
    """

    rate: Fraction | None
    enclosure: Enclosure
    stationary_distribution: tuple[Fraction, ...]
    multipliers: tuple[Fraction, ...]
    binding: tuple[int, ...]
    target: int
    reference: tuple[int, ...]
    certificate: Certificate
    refinements: int


@typed
def exact_optimal_rate(
    model: Model,
    *,
    target: int | str | None = None,
    influences: InfluenceSet | None = None,
    most_refinements: int = 20,
) -> ExactOptimalRate:
    """The best rate, exactly: as a fraction, or as an enclosure of relative width below 2⁻⁵⁰.

    The I_j of a `FiniteModel` count as the binary fractions they are. Those of a `RationalModel`
    are exact; where they are not rational, K is enclosed.

    Parameters
    ----------
    target, influences
        As for `optimal_rate`.
    most_refinements
        After so many the interval that weak duality proves takes the optimum's place; the
        certificate's note says so. One or two are enough as a rule, if any is needed.

    Raises
    ------
    ValueError, DesignFailed
        As for `optimal_rate`.

    Examples
    --------
    >>> from theory import FiniteModel, GaussianAgent
    >>> first = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [2.0], [0.0]], 1.0)
    >>> second = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.0], [1.0]], 1.0)
    >>> best = exact_optimal_rate(FiniteModel.from_agents(["zero", "a", "b"], [first, second]))
    >>> str(best.rate), [str(v) for v in best.stationary_distribution], best.certificate.kind
    ('2/5', ['1/5', '4/5'], 'exact')
    """
    allowed = influences_for(model, influences)
    aim = rate_target(model, target)
    bits = _START_BITS
    while True:
        information = exact_information(model, aim, bits)
        assignment = np.array(model.assignment, dtype=np.int64)
        groups = group_rows(allowed, assignment, information.floats, information.keys)
        program = groups.program()
        start = program.solve()
        try:
            game = Game.of(allowed, groups, program, information)
            proof = _verified(game, groups, *game.solve(start.solution.basis, most_refinements))
        except (BasisError, DesignFailed) as reason:
            proof = _bracket(allowed, groups, start, information, str(reason))
        found = _result(model, aim, groups, proof)
        if proof.refinements is None:
            break
        width = found.enclosure.relative_width
        if information.error == 0 or width <= _WIDTH or bits >= _MOST_BITS:
            break
        bits *= 2
    if not model.optimal_hypotheses and found.enclosure.lower <= 0:
        raise fail(
            "target",
            "a hypothesis that some allowed influence makes the network settle on",
            f"{model.hypotheses[aim.target]!r}, whose rate is at most "
            f"{found.enclosure.upper:.6g} for every v; "
            f"{named(model.hypotheses, found.binding)} stands in the way",
            "choose another target, or lower minimum_influence",
        )
    return found


@dataclass(frozen=True, eq=False)
class _Proof:
    """What is proved of K: its two ends, the groups' shares, and multipliers by place in `wrong`.

    `refinements` is None if no basis was verified.
    """

    ends: tuple[Fraction, Fraction]
    shares: list[Fraction]
    multipliers: Mapping[int, Fraction]
    note: str
    refinements: int | None


def _verified(game: Game, groups: Groups, found: BasicPoint, refinements: int) -> _Proof:
    """What a verified basis proves."""
    value, error = as_fraction(found.point[-1]), game.information.error
    shares = [as_fraction(x) for x in found.point[: groups.counts.size]]
    weights = map(as_fraction, found.multipliers[-len(game.program.generated) :])
    multipliers = dict(zip(game.program.generated, weights, strict=True))
    how = "for rationals next to the divergences" if error else "in exact arithmetic"
    ends = (value - error, value + error)
    return _Proof(ends, shares, multipliers, f"basis verified {how}", refinements)


def _bracket(
    allowed: InfluenceSet, groups: Groups, start: RateSolution, information: Information, why: str
) -> _Proof:
    """What weak duality proves of the floating-point solution."""
    shares = start.point[: groups.counts.size]
    shares = shares / shares.sum()
    # The doubles are within half a unit of the rationals, these within `error` of the truth.
    apart, below, above = information.error, groups.payoffs, groups.payoffs
    if information.table is not None:
        below, above = np.nextafter(below, -np.inf), np.nextafter(above, np.inf)
    low = Fraction(achieved(below, shares).lower) - apart
    bound = proved_bound(allowed, above, start.multipliers, membership=groups.membership)
    multipliers = {m: Fraction(x) for m, x in enumerate(start.multipliers.tolist())}
    note = f"weak duality, as the basis was not verified: {why}"
    ends = (low, max(low, Fraction(bound) + apart))
    return _Proof(ends, [Fraction(x) for x in shares.tolist()], multipliers, note, None)


def _result(model: Model, aim: RateTarget, groups: Groups, proof: _Proof) -> ExactOptimalRate:
    whole = [Fraction(0)] * len(model.hypotheses)
    for place, weight in proof.multipliers.items():
        whole[aim.wrong[place]] = weight
    each = [u / int(n) for u, n in zip(proof.shares, groups.counts, strict=True)]
    is_exact = proof.refinements is not None and proof.ends[0] == proof.ends[1]
    least, most = map(Enclosure.from_rational, proof.ends)
    low, high = (float(proof.ends[0]),) * 2 if is_exact else (least.lower, most.upper)
    kind: Kind = "exact" if is_exact else "certified"
    return ExactOptimalRate(
        rate=proof.ends[0] if is_exact else None,
        enclosure=Enclosure(least.lower, most.upper),
        stationary_distribution=tuple(each[g] for g in groups.membership.tolist()),
        multipliers=tuple(whole),
        binding=tuple(sorted((m for m, w in enumerate(whole) if w > 0), key=lambda m: -whole[m])),
        target=aim.target,
        reference=aim.reference,
        certificate=Certificate(low, high, "maximise", kind, proof.note),
        refinements=proof.refinements or 0,
    )

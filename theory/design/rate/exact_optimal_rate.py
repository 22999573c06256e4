"""The best learning rate as a fraction, or enclosed where it is a sum of logarithms.

The basis that floating point ends with is verified, and repaired if need be, in exact arithmetic
(:mod:`theory.design.rate.exact_program`). Where the divergences are sums of logarithms the program
is solved exactly for rationals next to them: K is the value of a game, and moves by at most ε if no
entry moves by more (docs: mathematics/optimal-rate).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import flint
import numpy as np

from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.exact_program import (
    Basis,
    BasisError,
    ExactProgram,
    ExactSolution,
    solve_exactly,
)
from theory.design.rate.optimal_rate import achieved, proved_bound
from theory.design.rate.rate_program import (
    Groups,
    Model,
    RateSolution,
    RateTarget,
    group_rows,
    influences_for,
    named,
    rate_target,
)
from theory.design.search import Certificate
from theory.learning import FiniteModel
from theory.numbers import Enclosure, LogSum, as_fmpq, as_fraction, precision
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, fail

# The linear program of the best rate in rationals, as a basis of it is verified ------------------


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


# The best learning rate as a fraction, or enclosed where it is a sum of logarithms ---------------


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
    pivots
        How many exact pivots mended the basis that floating point ended with.
    """

    rate: Fraction | None
    enclosure: Enclosure
    stationary_distribution: tuple[Fraction, ...]
    multipliers: tuple[Fraction, ...]
    binding: tuple[int, ...]
    target: int
    reference: tuple[int, ...]
    certificate: Certificate
    pivots: int


@typed
def exact_optimal_rate(
    model: Model,
    *,
    target: int | str | None = None,
    influences: InfluenceSet | None = None,
    most_pivots: int = 100,
) -> ExactOptimalRate:
    """The best rate, exactly: as a fraction, or as an enclosure of relative width below 2⁻⁵⁰.

    The I_j of a `FiniteModel` count as the binary fractions they are. Those of a `RationalModel`
    are exact; where they are not rational, K is enclosed.

    Parameters
    ----------
    target, influences
        As for `optimal_rate`.
    most_pivots
        After so many exact pivots the interval that weak duality proves takes the optimum's place;
        the certificate's note says so.

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
        start = groups.program().solve()
        try:
            game = Game.of(allowed, groups, information)
            solution, generated = game.solve(start, most_pivots)
        except BasisError as reason:
            found = _interval(allowed, groups, start, information, model, aim, str(reason))
            break
        found = _proved(game, solution, generated, model, aim)
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


def _proved(
    game: Game,
    solution: ExactSolution,
    generated: list[int],
    model: Model,
    aim: RateTarget,
) -> ExactOptimalRate:
    """What a verified basis proves."""
    value, error = game.value(solution), game.information.error
    multipliers = [Fraction(0)] * aim.wrong.size
    first = len(solution.multipliers) - len(generated)
    for place, m in enumerate(generated):
        multipliers[m] = as_fraction(solution.multipliers[first + place])
    note = "basis verified in exact arithmetic"
    if error:
        note = "basis verified for rationals next to the divergences"
    return _result(
        None if error else value,
        Enclosure(
            Enclosure.from_rational(value - error).lower,
            Enclosure.from_rational(value + error).upper,
        ),
        _of_agents(game.groups, game.shares(solution)),
        multipliers,
        note,
        model,
        aim,
        pivots=solution.pivots,
    )


def _interval(
    allowed: InfluenceSet,
    groups: Groups,
    start: RateSolution,
    information: Information,
    model: Model,
    aim: RateTarget,
    reason: str,
) -> ExactOptimalRate:
    """What weak duality proves of the floating-point solution."""
    shares = start.point[: groups.counts.size]
    shares = shares / shares.sum()
    # The doubles are within half a unit of the rationals, these within `error` of the truth.
    apart, below, above = information.error, groups.payoffs, groups.payoffs
    if information.table is not None:
        below, above = np.nextafter(below, -np.inf), np.nextafter(above, np.inf)
    low = Fraction(achieved(below, shares).lower) - apart
    high = apart + Fraction(
        proved_bound(allowed, above, start.multipliers, membership=groups.membership)
    )
    v = (shares / groups.counts)[groups.membership]
    return _result(
        None,
        Enclosure(
            Enclosure.from_rational(low).lower, Enclosure.from_rational(max(low, high)).upper
        ),
        tuple(Fraction(x) for x in v.tolist()),
        [Fraction(x) for x in start.multipliers.tolist()],
        f"weak duality, as the basis was not verified: {reason}",
        model,
        aim,
        pivots=0,
    )


def _of_agents(groups: Groups, shares: list[Fraction]) -> tuple[Fraction, ...]:
    """What each agent has of its group's share."""
    each = [u / int(n) for u, n in zip(shares, groups.counts, strict=True)]
    return tuple(each[g] for g in groups.membership.tolist())


def _result(
    value: Fraction | None,
    enclosure: Enclosure,
    influence: tuple[Fraction, ...],
    multipliers: list[Fraction],
    note: str,
    model: Model,
    aim: RateTarget,
    *,
    pivots: int,
) -> ExactOptimalRate:
    """The result, from multipliers of the wrong hypotheses."""
    whole = [Fraction(0)] * len(model.hypotheses)
    for m, weight in zip(aim.wrong.tolist(), multipliers, strict=True):
        whole[m] = weight
    order = sorted(range(len(multipliers)), key=lambda m: -multipliers[m])
    low, high = enclosure.lower, enclosure.upper
    if value is not None:
        low = high = float(value)
    return ExactOptimalRate(
        rate=value,
        enclosure=enclosure,
        stationary_distribution=influence,
        multipliers=tuple(whole),
        binding=tuple(int(aim.wrong[m]) for m in order if multipliers[m] > 0),
        target=aim.target,
        reference=aim.reference,
        certificate=Certificate(
            low, high, "maximise", "certified" if value is None else "exact", note
        ),
        pivots=pivots,
    )

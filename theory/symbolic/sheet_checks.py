"""Bounds as formulas against arithmetic that knows nothing of the formulas.

A sample size solves its bound for n. So at random rational values the bound itself, written down
agent by agent from the exact W, is taken at the formula's n: it must be δ, to 2⁻²⁰⁰ in ball
arithmetic. Bounds on risk are turned back into the divergence they come from, and laid beside the
floating-point routes of `theory.risk`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import flint
import sympy

from theory.numbers import as_fmpq, precision
from theory.risk import interval_covering_number, risk_bound
from theory.symbolic import sample_sizes
from theory.symbolic.checks import Comparison, FormulaCheck, agree, at_fewer_agents, draw_member
from theory.symbolic.evaluation import Number, evaluate, to_ball
from theory.symbolic.formula import Formula, Member
from theory.symbolic.parameter import Parameter, Sheet

_BITS = 320
# Letters without an upper end are tried up to this.
_MOST = Fraction(8)
# The floating-point routes round a few times; the formulas are evaluated in balls.
_FLOAT = 1e-12

Values = dict[sympy.Symbol, Fraction]


def check_sample_sizes(
    formula: Formula, sheet: Sheet, *, points: int = 12, seed: int = 0
) -> FormulaCheck:
    """Compare the sample sizes of a family with exact arithmetic, whatever letters are given.

    As in `check_formula`, numbers of agents too large for that are drawn again, smaller; what holds
    at the given number alone is then left out.
    """
    source = random.Random(seed)
    formula, smaller = at_fewer_agents(formula)
    if smaller:
        sheet = sample_sizes.sample_size_formulas(formula)
    sheet = replace(sheet, values={})

    def point() -> Iterator[tuple[str, str, bool]]:
        member = draw_member(formula, source)
        values: Values = {**member.values, **_drawn(sheet, source)}
        information = [Fraction(source.randint(1, 40), 17) for _ in range(member.agents)]
        values |= {
            c.information: sum(
                (x for x, place in zip(information, _classes(member), strict=True) if place == k),
                Fraction(0),
            )
            for k, c in enumerate(formula.classes)
        }
        yield from _compare_rounds(member, sheet, values, information)

    return _checked(point, points, smaller=smaller)


def check_risk(sheet: Sheet, *, points: int = 12, seed: int = 0) -> FormulaCheck:
    """Compare the bounds on risk with the routes of `theory.risk`, whatever letters are given."""
    source = random.Random(seed)
    sheet = replace(sheet, values={})

    def point() -> Iterator[tuple[str, str, bool]]:
        yield from _compare_risks(sheet, _drawn(sheet, source))

    return _checked(point, points)


def _checked(
    point: Callable[[], Iterator[tuple[str, str, bool]]], points: int, *, smaller: bool = False
) -> FormulaCheck:
    counts: dict[tuple[str, str], int] = {}
    failures: dict[tuple[str, str], list[str]] = {}
    with precision(_BITS):
        for number in range(points):
            for quantity, method, holds in point():
                key = quantity, method
                counts[key] = counts.get(key, 0) + 1
                failures.setdefault(key, [])
                if not holds:
                    failures[key].append(f"point {number}")
    return FormulaCheck(
        points=tuple({} for _ in range(points)),
        comparisons=tuple(
            Comparison(*key, counts[key], tuple(failures[key])) for key in sorted(counts)
        ),
        smaller=smaller,
    )


def _drawn(sheet: Sheet, source: random.Random) -> Values:
    """A value for every letter."""
    return {letter.symbol: _draw(letter, source) for letter in sheet.letters}


def _draw(letter: Parameter, source: random.Random) -> Fraction:
    if letter.whole or letter.upper is not None:
        return letter.draw(source)
    return _MOST * Fraction(source.randint(1, 400), 401)


def _classes(member: Member) -> list[int]:
    return member.formula.members.class_of(member.values)


def _compare_rounds(
    member: Member, sheet: Sheet, values: Values, information: list[Fraction]
) -> Iterator[tuple[str, str, bool]]:
    n = {bound.name: to_ball(sheet.number(bound, values)) for bound in sheet.bounds}
    v = member.network().stationary_distribution
    letters = [sample_sizes.of_class("r", c.information) for c in member.formula.classes]
    ranges = [values[letters[place]] for place in _classes(member)]
    K = sum((x * y for x, y in zip(v, information, strict=True)), Fraction(0))
    V = sum((x * x * y * y for x, y in zip(v, ranges, strict=True)), Fraction(0))
    Q = sum((x * x * y for x, y in zip(v, information, strict=True)), Fraction(0))
    D = _deviation(member, values)
    M, delta = values[sample_sizes.M], values[sample_sizes.delta]
    R, J = values[sample_sizes.R], values[sample_sizes.J]
    once = to_ball((M - 1) / delta).log()
    all_agents = to_ball(member.agents * (M - 1) / (2 * delta)).log()

    size = n["n repaired"]
    margin = size * to_ball(K) - to_ball(R) * D / 2
    yield "n repaired", "balls", agree(2 * margin**2, size * to_ball(V) * once) and margin > 0
    size, extra = n["n normal"], to_ball(J) * D
    margin = size * to_ball(K) - extra / 2
    fits = agree(margin**2, 4 * all_agents * (size * to_ball(Q) + extra))
    yield "n normal", "balls", fits and margin > 0
    for name in ("n coins", "n coins, best t"):
        if name in n:
            tilt = values[sample_sizes.t] if name == "n coins" else Fraction(member.agents, 2)
            yield name, "balls", _fits_coins(n[name], v, values, tilt, once, D)
    if "n printed" in n:
        second = evaluate(member.formula.second_eigenvalue or sympy.S.Zero, member.values)
        right = 16 * to_ball(values[sample_sizes.C]) * to_ball(member.agents * M / delta).log()
        left = n["n printed"] * to_ball(K) ** 2 * (1 - to_ball(second))
        yield "n printed", "balls", agree(left, right)
        # 8 C log(NM/δ) / (ε²(1 − λmax)) at ε = K/2.
        left = n["n printed, P2"] * (to_ball(K) / 2) ** 2 * (1 - to_ball(second))
        yield "n printed, P2", "balls", agree(left, right / 2)


def _fits_coins(
    n: flint.arb,
    v: Sequence[Fraction],
    values: Values,
    tilt: Fraction,
    once: flint.arb,
    D: flint.arb,
) -> bool:
    heads = values[sample_sizes.p]
    odds = to_ball(heads / (1 - heads)).log()
    cumulants = [
        (
            to_ball(heads) * (-odds * as_fmpq(tilt * x)).exp()
            + to_ball(1 - heads) * (odds * as_fmpq(tilt * x)).exp()
        ).log()
        for x in v
    ]
    return agree(-n * sum(cumulants, flint.arb(0)), once + odds * as_fmpq(tilt) * D)


def _deviation(member: Member, values: Values) -> flint.arb:
    """The largest D_i where it has a closed form, checked elsewhere; else the letter's value."""
    if sample_sizes.D in values:
        return to_ball(values[sample_sizes.D])
    found = [to_ball(x) for x in member.deviation if x is not None]
    largest = found[0]
    for one in found[1:]:
        largest = largest.max(one)
    return largest


def _compare_risks(sheet: Sheet, values: Values) -> Iterator[tuple[str, str, bool]]:
    found = {bound.name: sheet.number(bound, values) for bound in sheet.bounds}
    given = {p.name: values[p.symbol] for p in sheet.letters}
    r, span, largest = given["radius"], given["span"], given["largest_loss"]
    balls = {name: to_ball(number) for name, number in found.items()}
    for name, divergence in (
        ("risk printed", (2 * balls["risk printed"] / as_fmpq(largest)) ** 2),
        ("risk, Pinsker", 2 * (balls["risk, Pinsker"] / as_fmpq(span)) ** 2),
        (
            "risk, Bretagnolle-Huber",
            -(1 - (balls["risk, Bretagnolle-Huber"] / as_fmpq(span)) ** 2).log(),
        ),
        ("loss of acting", (balls["loss of acting"] / as_fmpq(span)) ** 2 / 2),
    ):
        yield name, "balls", agree(divergence, as_fmpq(r))
    known = risk_bound(float(r), loss_range=(-float(largest), float(span - largest)))
    if span <= 2 * largest:  # else no loss has both
        yield "risk printed", "floats", _near(found["risk printed"], known.printed)
    for name, value in (
        ("risk, Pinsker", known.repaired),
        ("risk, Bretagnolle-Huber", known.bretagnolle_huber),
        ("loss of acting", 2 * known.repaired),
    ):
        yield name, "floats", _near(found[name], value)
    above = float(balls["risk, every t"]) >= known.sharp * (1 - _FLOAT)
    yield "risk, every t", "bracket", above
    back = risk_bound(float(balls["radius for a risk"]), loss_range=(0, float(span)))
    yield "radius for a risk", "floats", abs(back.repaired - float(given["risk"])) < _FLOAT * 10
    points = interval_covering_number(
        given["length"], given["second_moment"], given["noise_std"] ** 2, r
    )
    ball = balls["points of an interval"]
    yield "points of an interval", "exact", ball <= points and ball > points - 1


def _near(number: Number, value: float) -> bool:
    return abs(float(to_ball(number)) - value) <= _FLOAT * max(1.0, abs(value))

"""Every family's closed forms against arithmetic that knows nothing of them, at random rationals.

`check_formula` is the program's own check, tested by breaking formulas; here the same statements
are also tried by other routes: rules of weights, powers of W, and values known from elsewhere.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.numbers import as_fmpq, precision
from theory.rational.network import RationalNetwork
from theory.symbolic import FAMILIES, Formula, closed_form
from theory.symbolic.checks import agree, check_formula, draw_member
from theory.symbolic.lattice import N, a


@pytest.mark.parametrize("name", FAMILIES)
def test_formulas_agree_with_exact_arithmetic(name: str) -> None:
    formula = closed_form(name)
    assert vars(pickle.loads(pickle.dumps(formula))) == vars(formula)
    check = check_formula(formula, points=4, seed=1)
    assert check.passed, [c for c in check.comparisons if c.failures]
    compared = {(c.quantity, c.method) for c in check.comparisons}
    assert {("v", "exact"), ("K", "exact"), ("E (normal)", "exact"), ("v", "floats")} <= compared
    assert {"eigenvalues", "slem", "second eigenvalue", "Z"} <= {q for q, _ in compared}
    assert len(check.points) == 4
    sizes = [p for p in formula.parameters if p.whole]
    if sizes:
        assert len({point[str(sizes[0].symbol)] for point in check.points}) > 1


@settings(max_examples=25)
@given(name=st.sampled_from(list(FAMILIES)), seed=st.integers(0, 2**32))
def test_the_sum_from_one_and_the_limit_of_powers(name: str, seed: int) -> None:
    """Z is the sum it is defined by: (I − W) Z = I − 1vᵀ and vZ = 0, entry by entry."""
    with precision(320):
        member = draw_member(closed_form(name), random.Random(seed))
        size = range(member.agents)
        W, v, Z = member.weights, member.stationary_distribution, member.deviation_matrix
        assert all(sum(row) == 1 for row in W)
        assert min(min(row) for row in W) >= 0
        for j in random.Random(seed).sample(size, min(3, member.agents)):
            column = [_ball(Z[i][j]) for i in size]
            zero = sum((_ball(v[i]) * column[i] for i in size), flint.arb(0))
            assert agree(zero, flint.fmpq(0))
            for i in size:
                flow = sum((_ball(W[i][k]) * column[k] for k in size if W[i][k]), flint.arb(0))
                assert agree(column[i] - flow, as_fmpq(Fraction(int(i == j)) - _fraction(v[j])))


def _ball(number: Any) -> flint.arb:
    return number if isinstance(number, flint.arb) else flint.arb(as_fmpq(number))


def _fraction(number: Any) -> Fraction:
    assert isinstance(number, Fraction)
    return number


RULES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("star", {"agents": 7, "edge_confidence": "1/2"}, {"topology": "star", "agents": 7}),
    (
        "star",
        {"agents": 7, "edge_confidence": "1/7"},
        {"topology": "star", "agents": 7, "rule": "metropolis"},
    ),
    (
        "star",
        {"agents": 7, "edge_confidence": "1/12", "centre_confidence": "1/2"},
        {"topology": "star", "agents": 7, "rule": "lazy-metropolis"},
    ),
    ("complete", {"agents": 5, "self_confidence": "1/5"}, {"topology": "complete", "agents": 5}),
    ("ring", {"agents": 6, "self_confidence": "1/3"}, {"topology": "ring", "agents": 6}),
    (
        "torus",
        {"rows": 3, "columns": 4, "self_confidence": "1/5"},
        {"topology": "torus", "shape": [3, 4]},
    ),
    (
        "hypercube",
        {"dimension": 3, "self_confidence": "1/4"},
        {"topology": "hypercube", "dimension": 3},
    ),
    (
        "path",
        {"agents": 6, "neighbour_weight": "1/3"},
        {"topology": "path", "agents": 6, "rule": "metropolis"},
    ),
    (
        "grid",
        {"rows": 3, "columns": 4, "neighbour_weight": "1/5"},
        {"topology": "grid", "shape": [3, 4], "rule": "max-degree"},
    ),
]


@pytest.mark.parametrize(("name", "values", "topology"), RULES)
def test_weights_are_those_of_the_rules(
    name: str, values: dict[str, Any], topology: dict[str, Any]
) -> None:
    assert closed_form(name).weights(**values) == RationalNetwork.from_topology(**topology).rows


def test_the_wheel_is_the_uniform_rule_on_its_graph() -> None:
    rim = [[i, i % 5 + 1] for i in range(1, 6)]
    edges = rim + [[0, i] for i in range(1, 6)]
    assert (
        closed_form("wheel").member(N=6).weights == RationalNetwork.from_edges(edges, agents=6).rows
    )


def test_numbers_that_are_known_from_elsewhere() -> None:
    star = closed_form("star").substitute(N=9)
    centre = star.shown(star.classes[0].stationary)
    assert sympy.cancel(centre - 9 * a / (9 * a + 8)) == 0
    assert star.substitute(a="1/2").shown(star.classes[0].stationary) == sympy.Rational(9, 25)
    pair = closed_form("two-agents").member(a="1/10", b="3/5")
    assert pair.stationary_distribution == [Fraction(6, 7), Fraction(1, 7)]
    assert pair.eigenvalues == [1, Fraction(3, 10)]
    # theory: the first counterexample to the printed bound on D
    swap = closed_form("two-agents").member(a="0.99", b="0.99")
    assert swap.deviation == [49, 49]
    square = closed_form("ring").member(N=4, a="1/2")
    assert sorted(float(_ball(x)) for x in square.eigenvalues) == pytest.approx([0, 0.5, 0.5, 1])


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_the_deviation_of_the_star_is_inside_the_bracket_and_tight(seed: int) -> None:
    source = random.Random(seed)
    member = draw_member(closed_form("star"), source)
    bracket = member.network().as_network().deviation
    for i, value in enumerate(member.deviation):
        if value is None:
            # No closed form: the edges, where c − a is the larger eigenvalue.
            assert i > 0
            assert 2 * member.values[a] > 1 + member.values[sympy.Symbol("c", nonnegative=True)]
            continue
        number = float(_ball(value))
        # Rounding that the bracket allows for, over the rounds of slow mixing.
        room = 1e-8 * max(1.0, *map(float, bracket.upper))
        assert bracket.lower[i] - room <= number <= bracket.upper[i] + room
        assert bracket.upper[i] - bracket.lower[i] <= room


def test_where_the_rate_of_the_star_rises() -> None:
    star = closed_form("star")
    slope = next(s for s in star.statements if s.name == "dK/da").expression
    I_1, S = star.classes[0].information, star.classes[1].information
    difference = sympy.diff(star.rate, a) - slope
    assert sympy.simplify(difference) == 0
    # The sign is that of the centre's divergence less the edges' average, for every a and c.
    quotient = sympy.cancel(slope / (I_1 - S / (N - 1)))
    assert not quotient.free_symbols & {I_1, S}
    for values in ({N: 9, a: sympy.Rational(1, 3)}, {N: 4, a: sympy.Rational(9, 10)}):
        assert star.shown(quotient).subs(values) > 0


def test_the_exponent_of_normal_evidence_on_the_star() -> None:
    star = closed_form("star")
    I_1, S = star.classes[0].information, star.classes[1].information
    exponent = star.shown(star.gaussian_exponent)
    best = next(s for s in star.statements if s.name == "best a for E").expression
    slope = sympy.cancel(sympy.diff(exponent, a))
    assert sympy.cancel(slope.subs(a, star.shown(best))) == 0
    values = {N: 9, I_1: 2, S: 3}
    assert slope.subs(values).subs(a, sympy.Rational(1, 20)) > 0
    assert slope.subs(values).subs(a, sympy.Rational(1, 2)) < 0
    assert sympy.cancel(exponent.subs(S, 0) - I_1 / 4) == 0


def _other(expression: sympy.Expr) -> sympy.Expr:
    return expression * sympy.Rational(1001, 1000)


def _broken_deviation(formula: Formula) -> Formula:
    first, *rest = formula.deviation_matrix
    return replace(formula, deviation_matrix=(replace(first, value=_other(first.value)), *rest))


BREAKS: dict[str, Callable[[Formula], Formula]] = {
    "v": lambda f: replace(
        f, classes=(*f.classes[1:], replace(f.classes[0], stationary=1 - f.classes[0].stationary))
    ),
    "eigenvalues": lambda f: replace(
        f,
        spectrum=(*f.spectrum[:-1], replace(f.spectrum[-1], value=_other(f.spectrum[-1].value))),
    ),
    "slem": lambda f: replace(f, slem=_other(f.slem)),
    "second eigenvalue": lambda f: replace(f, second_eigenvalue=_other(f.second_eigenvalue)),
    "Z": _broken_deviation,
    "D": lambda f: replace(
        f,
        classes=tuple(
            c if c.deviation is None else replace(c, deviation=_other(c.deviation))
            for c in f.classes
        ),
    ),
}


@pytest.mark.parametrize("quantity", BREAKS)
@pytest.mark.parametrize("name", ["star", "hub-and-ring", "two-agents"])
def test_a_broken_formula_is_found(name: str, quantity: str) -> None:
    check = check_formula(BREAKS[quantity](closed_form(name)), points=4)
    assert not check.passed
    assert quantity in {c.quantity for c in check.comparisons if c.failures}


def test_a_wrong_number_of_eigenvalues_is_found() -> None:
    ring = closed_form("ring")
    assert not check_formula(replace(ring, spectrum=ring.spectrum * 2), points=2).passed


def test_large_numbers_of_agents_are_checked_smaller() -> None:
    check = check_formula(closed_form("star").substitute(N=10**6, a="1/3"), points=3)
    assert check.passed
    assert check.smaller
    assert {point["a"] for point in check.points} == {"1/3"}
    assert all(int(point["N"]) < 100 for point in check.points)
    small = check_formula(closed_form("star").substitute(N=9, a="1/3", c="1/9"), points=3)
    assert not small.smaller
    assert len(small.points) == 1

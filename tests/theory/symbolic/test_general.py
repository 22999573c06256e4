"""Any small W: what is read, what is refused, and the exact answers."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory.rational.networks import reset_chain
from theory.rational.network import RationalNetwork
from theory.symbolic.checks import check_formula
from theory.symbolic.general import parse_entry, parse_text, weights_formula
from theory.symbolic.lattice import x

a, b, c = sympy.symbols("a b c", positive=True)


@st.composite
def rational_rows(draw: st.DrawFn, *, most: int = 6) -> list[list[Fraction]]:
    """Irreducible, aperiodic rational W, sparse and dense."""
    agents = draw(st.integers(1, most))
    rows = []
    for i in range(agents):
        parts = draw(st.lists(st.integers(0, 6), min_size=agents, max_size=agents))
        parts[(i + 1) % agents] += 1
        if i == 0:
            parts[0] += 1
        rows.append([Fraction(part, sum(parts)) for part in parts])
    return rows


@settings(max_examples=20)
@given(rows=rational_rows())
def test_rational_weights(rows: list[list[Fraction]]) -> None:
    formula = weights_formula(rows)
    check = check_formula(formula)
    assert check.passed, check.comparisons
    assert len(check.points) == 1
    member = formula.member()
    assert tuple(map(tuple, rows)) == member.weights
    assert tuple(member.stationary_distribution) == RationalNetwork(rows).stationary_distribution
    # Z by its definition: the powers' own sum, tested in test_families; here its row sums.
    assert all(sum(map(Fraction, map(str, row))) == 0 for row in member.deviation_matrix)


@pytest.mark.parametrize(
    "text",
    [
        "1-a a; b 1-b",
        "1-a a 0; 0 1-b b; c 0 1-c",
        "1-a-b a b; c 1-c-a a; b c 1-b-c",
        "0 1 0; 0 0 1; 1-a 0 a",
        "1/2 a/2 (1-a)/2; 1/3 1/3 1/3; a**2 0 1-a**2",
    ],
)
def test_weights_with_letters(text: str) -> None:
    check = check_formula(weights_formula(parse_text(text)), points=3)
    assert check.passed, check.comparisons
    assert len(check.points) == 3


def test_two_agents_are_the_family() -> None:
    formula = weights_formula([["1-a", "a"], ["b", "1-b"]])
    assert [k.stationary for k in formula.classes] == [b / (a + b), a / (a + b)]
    assert sympy.expand(formula.characteristic - (x - 1) * (x - 1 + a + b)) == 0
    assert formula.slem == sympy.Abs(a + b - 1)


def test_all_eigenvalues_of_the_reset_chain_are_zero() -> None:
    """Floats read 0.1 for these; here their multiplicity is decided."""
    agents = 20
    formula = weights_formula(reset_chain(agents).rows)
    assert sympy.expand(formula.characteristic - (x - 1) * x ** (agents - 1)) == 0
    assert {e.value: e.multiplicity for e in formula.spectrum} == {1: 1, 0: agents - 1}
    assert (formula.slem, formula.second_eigenvalue) == (0, 0)


def test_real_quadratic_factors_are_solved_and_complex_ones_are_not() -> None:
    real = weights_formula([["1/2", "1/2", 0], ["1/2", 0, "1/2"], [0, "1/4", "3/4"]])
    assert len(real.spectrum) == 3
    assert not all(e.value.is_Rational for e in real.spectrum)
    assert check_formula(real).passed
    swirl = weights_formula([["1/2", "1/2", 0], [0, "1/2", "1/2"], ["1/2", 0, "1/2"]])
    assert swirl.spectrum == ()
    assert swirl.slem is None
    assert swirl.characteristic is not None


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("1/3", sympy.Rational(1, 3)),
        ("0.1", sympy.Rational(1, 10)),
        (".5", sympy.Rational(1, 2)),
        ("1e-1", sympy.Rational(1, 10)),
        ("(1-a)/2", (1 - a) / 2),
        ("1-a-b", 1 - a - b),
        ("a*b**2", a * b**2),
        ("-a+1", 1 - a),
        (Fraction(2, 3), sympy.Rational(2, 3)),
        (0, sympy.Integer(0)),
        (1 - c, 1 - c),
    ],
)
def test_entries_are_read_exactly(entry: object, expected: sympy.Expr) -> None:
    assert parse_entry(entry, place="w") == expected


@pytest.mark.parametrize(
    "entry",
    [
        "__import__('os')",
        "f(a)",
        "a**b",
        "a[0]",
        "x",
        "I",
        "1/0",
        "é",
        "",
        "((((" * 60,
        "1" * 500,
        0.5,
        1 - sympy.I,
        sympy.pi / 4,
        sympy.sin(a),
        1 / sympy.Symbol("x"),
        a**b,
        sympy.nan,
    ],
)
def test_entries_that_are_refused(entry: object) -> None:
    with pytest.raises(ValueError, match=r"^w: expected .*; ") as info:
        parse_entry(entry, place="w")
    assert "\n" not in str(info.value)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "at least one row"),
        ([["1"], ["1"]], "2 entries"),
        ([["1/2", "1/3"], ["1/2", "1/2"]], "sum of exactly 1, got 5/6"),
        ([["a", "a"], ["1/2", "1/2"]], "sum of exactly 1"),
        ([["3/2", "-1/2"], ["1/2", "1/2"]], "at least 0"),
        ([["1", "0"], ["0", "1"]], "irreducible"),
        ([["0", "1"], ["1", "0"]], "period"),
        ([["1/2", 0.5], ["1/2", "1/2"]], "the float 0.5"),
        ([["1/25"] * 25] * 25, "at most 24 agents"),
        ([[f"1-{s}", s] for s in "ab"] * 4, "2 entries|8 entries"),
    ],
)
def test_weights_that_are_refused(rows: list[list[object]], words: str) -> None:
    with pytest.raises(ValueError, match=words) as info:
        weights_formula(rows)
    assert "\n" not in str(info.value)


def test_letters_of_one_name_are_one_letter() -> None:
    loose = sympy.Symbol("a")
    formula = weights_formula([[1 - loose, loose], [a, "1-a"]])
    assert [str(letter) for letter in formula.parameters[0].symbol.free_symbols] == ["a"]
    assert [c.stationary for c in formula.classes] == [sympy.Rational(1, 2)] * 2


@pytest.mark.parametrize("nothing", ["(a+b)**2-a**2-2*a*b-b**2", "(a**2-1)/(a-1)-a-1"])
def test_what_is_zero_whatever_the_letters_is_no_link(nothing: str) -> None:
    with pytest.raises(ValueError, match="irreducible"):
        weights_formula([["1", nothing], ["1/2", "1/2"]])
    formula = weights_formula([[nothing, "1"], ["b", "1-b"]])
    assert formula.member(b="1/3").weights == ((0, 1), (Fraction(1, 3), Fraction(2, 3)))


def test_too_many_letters_are_refused() -> None:
    letters = "abcdef"
    rows = [
        [f"1-{letters[i]}" if i == j else letters[i] if j == (i + 1) % 6 else 0 for j in range(6)]
        for i in range(6)
    ]
    with pytest.raises(ValueError, match="at most 4 letters for 6 agents, got 6"):
        weights_formula(rows)


def test_a_domain_that_random_values_miss_is_said() -> None:
    formula = weights_formula([["1-1000*a", "1000*a"], ["1/2", "1/2"]])
    with pytest.raises(ValueError, match="random values meet"):
        check_formula(formula)
    assert check_formula(formula.substitute(a="1/2000")).passed


def test_letters_in_denominators() -> None:
    formula = weights_formula([["1/(1+a)", "a/(1+a)"], ["1/2", "1/2"]])
    assert len(formula.spectrum) == 2
    assert check_formula(formula, points=4, seed=1).passed

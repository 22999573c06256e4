"""Parameters, substitution, evaluation, and how expressions are shown."""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction

import flint
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.numbers import as_fmpq, precision
from theory.symbolic import FAMILIES, closed_form
from theory.symbolic.checks import draw_member
from theory.symbolic.evaluation import evaluate, tidy
from theory.symbolic.parameter import exact_number

p, q, n = sympy.symbols("p q n", positive=True)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"N": 2}, "agents: expected whole number, N >= 3, got 2"),
        ({"N": "7/2"}, "whole number"),
        ({"a": 0}, "0 < a < 1, got 0"),
        ({"a": "1"}, "0 < a < 1"),
        ({"a": 0.5}, "an exact number, got the float 0.5"),
        ({"a": "half"}, "an exact number"),
        ({"a": "1/0"}, "mend the denominator"),
        ({"a": True}, "an exact number"),
        ({"centre_confidence": "-1/3"}, "0 <= c < 1"),
        ({"self_confidence": "1/2"}, "a parameter of 'star'"),
    ],
)
def test_values_that_are_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as info:
        closed_form("star").substitute(**values)  # type: ignore[arg-type]
    assert "\n" not in str(info.value)


def test_values_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a \+ b < 2"):
        closed_form("two-agents").substitute(a=1, b=1)
    with pytest.raises(ValueError, match="h \\+ 2s <= 1"):
        closed_form("hub-and-ring").substitute(h="1/2", s="1/3")
    closed_form("hub-and-ring").substitute(h="1/2")
    with pytest.raises(ValueError, match="a parameter of 'wheel'"):
        closed_form("wheel").substitute(hub_weight="1/2")
    with pytest.raises(ValueError, match="edge_confidence: expected 0 < a < 1, got none"):
        closed_form("star").member(N=9)
    with pytest.raises(ValueError, match="did you mean 'ring'"):
        closed_form("rign")


def test_defaults_stand_until_they_are_given() -> None:
    star = closed_form("star")
    edge = star.classes[1].stationary
    assert star.shown(edge).free_symbols == {s.symbol for s in star.parameters[:2]}
    assert star.substitute(N=4, a="1/2").shown(edge) == sympy.Rational(1, 5)
    assert star.substitute(N=4, a="1/2", c="1/2").shown(edge) == sympy.Rational(1, 6)
    assert star.substitute(N=4).substitute(a="1/2").is_numeric
    assert not star.substitute(N=4).is_numeric


@settings(max_examples=12)
@given(name=st.sampled_from(list(FAMILIES)), seed=st.integers(0, 2**32))
def test_what_is_shown_has_the_value_of_what_is_stored(name: str, seed: int) -> None:
    """Tidying and substitution change no value: shown expressions are evaluated again."""
    source = random.Random(seed)
    formula = closed_form(name)
    with precision(200):
        member = draw_member(formula, source)
        # A parameter with a default must be given, or else what is shown is the default's formula.
        view = formula.substitute(
            **{
                q.name: member.values[q.symbol]
                for q in formula.parameters
                if not q.fixed and (q.default is not None or source.random() < 0.5)
            }
        )
        expressions = [c.stationary for c in formula.classes]
        expressions += [formula.slem, formula.second_eigenvalue]
        expressions += [c.deviation for c in formula.classes if c.deviation is not None]
        for expression in expressions:
            shown = evaluate(view.shown(expression), member.values)
            assert _ball(shown).overlaps(_ball(evaluate(expression, member.values)))


def _ball(number: Fraction | flint.arb) -> flint.arb:
    return number if isinstance(number, flint.arb) else flint.arb(as_fmpq(number))


@pytest.mark.parametrize(
    "expression",
    [
        (p - q) / (p - 1),
        -(p - 1) / (4 * q),
        sympy.Abs(p - 1 / n) / (1 - sympy.Abs(p - 1 / n)) - 3 * q,
        sympy.Max(p / 2 + q / 2, 1 - p),
        sympy.cos(p) * (1 - p) / 2 + p,
        sympy.Piecewise((p / q - 1, 2 * p <= q), (1, True)),
        sympy.Sum(p**2, (sympy.Symbol("k"), 1, 3)) / (q - 1),
    ],
)
def test_tidying_changes_no_value(expression: sympy.Expr) -> None:
    values = {p: Fraction(2, 7), q: Fraction(11, 5), n: Fraction(9)}
    before, after = evaluate(expression, values), evaluate(tidy(expression), values)
    assert _ball(before).overlaps(_ball(after))
    assert type(before) is type(after)


def test_minus_signs_are_taken_in() -> None:
    assert str(tidy((1 - p) / 4)) == "(1 - p)/4"
    assert str(tidy((p - 1) / (n - 2))) == "(p - 1)/(n - 2)"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (sympy.chebyshevt(n, p), math.cosh(5 * math.acosh(2.5))),
        (sympy.chebyshevu(n - 1, p), math.sinh(5 * math.acosh(2.5)) / math.sinh(math.acosh(2.5))),
        (sympy.chebyshevu(n - 6, p), 0.0),
        (sympy.chebyshevt(n - 5, p), 1.0),
        (sympy.binomial(n, 2), 10.0),
        (sympy.floor(p), 2.0),
        (sympy.sqrt(p), math.sqrt(2.5)),
        (sympy.Min(p, n) + sympy.Max(p, 1) * sympy.KroneckerDelta(n, 5), 5.0),
        (sympy.cos(sympy.pi * p), math.cos(2.5 * math.pi)),
        (sympy.Piecewise((1, (p > 1) & (p < 2)), (7, sympy.Ne(p, 2)), (8, True)), 7.0),
    ],
)
def test_evaluation_against_floats(expression: sympy.Basic, value: float) -> None:
    found = evaluate(expression, {p: Fraction(5, 2), n: Fraction(5)})
    # cosh and sinh of a five-fold angle lose a few units in the last place.
    assert float(_ball(found)) == pytest.approx(value, rel=1e-12, abs=1e-15)


def test_evaluation_keeps_what_is_rational() -> None:
    assert evaluate(p**2 / 3 - 1, {p: Fraction(1, 2)}) == Fraction(-11, 12)
    assert isinstance(evaluate(sympy.sqrt(p), {p: Fraction(4)}), flint.arb)
    with pytest.raises(NotImplementedError, match="sin"):
        evaluate(sympy.sin(p), {p: Fraction(1)})
    with pytest.raises(KeyError):
        evaluate(p, {})


def test_nested_sums() -> None:
    i, j = sympy.symbols("i j", integer=True)
    nested = sympy.Sum(sympy.Sum(i * j, (j, 1, i)), (i, 1, n))
    double = sympy.Sum(i * j, (j, 1, i), (i, 1, n))
    expected = sum(s * t for s in range(1, 5) for t in range(1, s + 1))
    assert evaluate(nested, {n: Fraction(4)}) == expected
    assert evaluate(double, {n: Fraction(4)}) == expected


@pytest.mark.parametrize("text", ["1/3", "0.25", ".5", "5", "1e-3", " 2/4 "])
def test_exact_numbers(text: str) -> None:
    assert exact_number("a", text) == Fraction(text.strip())


# A reader of the LaTeX that rational functions are written in, independent of sympy's own.
def _read_latex(text: str) -> str:
    text = text.replace(r"\left", "").replace(r"\right", "").replace(r"\cdot", " ")
    while (match := re.search(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", text)) is not None:
        text = text[: match.start()] + f"(({match[1]})/({match[2]}))" + text[match.end() :]
    text = re.sub(r"\^\{(\d+)\}", r"**\1", text)
    return re.sub(r"(?<=[\w)])\s+(?=[\w(])|(?<=[\w)])(?=\()|(?<=\))(?=\w)", "*", text)


@pytest.mark.parametrize("name", ["star", "complete", "two-agents"])
def test_latex_says_the_same(name: str) -> None:
    formula = closed_form(name)
    values = draw_member(formula, random.Random(3)).values
    expressions = [c.stationary for c in formula.classes]
    expressions += [z.value for z in formula.deviation_matrix]
    for expression in expressions:
        text = formula.latex(expression)
        while re.search(r"\^\{\d+\}", text):
            text = re.sub(r"\^\{(\d+)\}", r"**\1", text)
        names = {str(s): v for s, v in values.items()}
        if "c" in names:
            names["c"] = 1 / names["N"]
        exact = evaluate(formula.shown(expression), values)
        code = re.sub(r"(?<![\w*])(\d+)(?!\w)", r"Fraction(\1)", _read_latex(text))
        assert eval(code, {"Fraction": Fraction, **names}) == exact


@pytest.mark.parametrize("name", FAMILIES)
def test_latex_is_balanced_and_clean(name: str) -> None:
    formula = closed_form(name)
    everything = [formula.rate, formula.gaussian_exponent, formula.slem, formula.second_eigenvalue]
    everything += [z.value for z in formula.deviation_matrix] + [e.value for e in formula.spectrum]
    everything += [s.expression for s in formula.statements]
    for expression in everything:
        text = formula.latex(expression)
        assert text.count("{") == text.count("}")
        assert text.count(r"\left") == text.count(r"\right")
        assert "Dummy" not in text
        assert "_{_" not in text

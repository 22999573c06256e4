"""The parameters of a family of networks: a name, a letter, and the domain of its values.

A value is exact: a whole number, a `fractions.Fraction`, or text such as ``"9/10"`` or ``"0.9"``.
Floats are refused, since a closed form at 0.1 and at the double nearest to 0.1 are two things.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import sympy

from theory.showing import Shown
from theory.symbolic.evaluation import Number, evaluate, tidy
from theory.validation import fail

# The parameters of a family of networks ----------------------------------------------------------


Value = int | Fraction | str
"""What a parameter takes: exact numbers only."""

_EXACT = re.compile(
    r"[+-]?(\d{1,300}/\d{1,300}|(\d{1,300}\.?\d{0,300}|\.\d{1,300})(e[+-]?\d{1,2})?)",
    re.ASCII | re.IGNORECASE,
)
# Denominators of random values: large enough that no two terms cancel by chance, small enough
# that determinants of twenty agents stay short.
_DENOMINATORS = (7, 60)


@dataclass(frozen=True)
class Parameter(Shown):
    """One parameter of a family.

    Parameters
    ----------
    name
        What the command line calls it (underscores there are hyphens).
    symbol
        The letter of the formulas.
    meaning
        A few words.
    lower, upper
        The ends of the domain; None where there is none.
    open_lower, open_upper
        Whether an end is left out.
    whole
        Whether only whole numbers are in the domain.
    default
        An expression in other parameters that stands for this one where it is not given.
    fixed
        Whether the default is all it can be.
    largest_tried
        The largest value that random checks take, for whole numbers.
    """

    name: str
    symbol: sympy.Symbol
    meaning: str
    lower: Fraction | None = None
    upper: Fraction | None = None
    open_lower: bool = False
    open_upper: bool = False
    whole: bool = False
    default: sympy.Expr | None = None
    fixed: bool = False
    largest_tried: int = 12

    @property
    def domain(self) -> str:
        """The domain in words, such as ``0 < a <= 1``."""
        if self.whole:
            return f"whole number, {self.symbol} >= {self.lower}"
        left = "" if self.lower is None else f"{self.lower} {'<' if self.open_lower else '<='} "
        right = "" if self.upper is None else f" {'<' if self.open_upper else '<='} {self.upper}"
        return f"{left}{self.symbol}{right}"

    def read(self, value: Value) -> Fraction:
        """The value as a fraction.

        Raises
        ------
        ValueError
            If it is not exact, not a number, or outside the domain.
        """
        number = exact_number(self.name, value)
        inside = number.denominator == 1 or not self.whole
        if self.lower is not None:
            inside &= number > self.lower if self.open_lower else number >= self.lower
        if self.upper is not None:
            inside &= number < self.upper if self.open_upper else number <= self.upper
        if not inside:
            raise fail(self.name, self.domain, value, "choose another value")
        return number

    def draw(self, source: random.Random) -> Fraction:
        """A random value of the domain: small and whole, or of a small denominator."""
        if self.whole:
            assert self.lower is not None
            return Fraction(source.randint(int(self.lower), self.largest_tried))
        assert self.lower is not None
        assert self.upper is not None
        denominator = source.randint(*_DENOMINATORS)
        share = Fraction(source.randint(1, denominator - 1), denominator)
        return self.lower + (self.upper - self.lower) * share


def exact_number(name: str, value: Value) -> Fraction:
    """An exact number as a fraction; `name` is what an error message calls it.

    Raises
    ------
    ValueError
        For a float, and for anything that is no number.

    Examples
    --------
    >>> exact_number("a", "0.9"), exact_number("a", 3)
    (Fraction(9, 10), Fraction(3, 1))
    """
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, float):
        raise fail(name, "an exact number", f"the float {value!r}",
                   'write a fraction or text, such as "9/10"')  # fmt: skip
    if isinstance(value, str) and _EXACT.fullmatch(value.strip()):
        try:
            return Fraction(value.strip())
        except ZeroDivisionError:
            raise fail(name, "an exact number", repr(value), "mend the denominator") from None
    raise fail(name, 'an exact number, such as 1/2 or "0.5"', repr(value)[:80],
               "write a decimal or a fraction")  # fmt: skip


@dataclass(frozen=True)
class Constraint(Shown):
    """What several parameters must satisfy together: a relation, and the same in words."""

    relation: sympy.Basic
    words: str

    def check(self, values: Mapping[sympy.Symbol, Fraction]) -> None:
        """Check the values, if none of those it needs is missing.

        Raises
        ------
        ValueError
            If the values break it.
        """
        if not self.holds(values):
            given = ", ".join(f"{symbol}={values[symbol]}" for symbol in self._symbols())
            names = " and ".join(str(symbol) for symbol in self._symbols())
            raise fail(names, self.words, given, "choose values that satisfy it")

    def holds(self, values: Mapping[sympy.Symbol, Fraction]) -> bool:
        """Whether the values satisfy it, or are too few to tell."""
        if not set(self._symbols()) <= set(values):
            return True
        exact = {s: sympy.Rational(v.numerator, v.denominator) for s, v in values.items()}
        return bool(self.relation.subs(exact))

    def _symbols(self) -> list[sympy.Symbol]:
        return sorted(self.relation.free_symbols, key=str)


# A sheet of bounds as formulas -------------------------------------------------------------------


@dataclass(frozen=True)
class Where(Shown):
    """A letter that stands for an expression, and what it is."""

    symbol: sympy.Symbol
    expression: sympy.Expr
    words: str


@dataclass(frozen=True)
class Bound(Shown):
    """One bound.

    Attributes
    ----------
    name, words
        What it is called, and what it says of what.
    expression
        In the sheet's letters.
    is_theorem
        Whether there is a proof; the papers' printed forms have none.
    counts
        Whether it says how many: its value is then rounded up.
    """

    name: str
    expression: sympy.Expr
    words: str
    is_theorem: bool = True
    counts: bool = False


@dataclass(frozen=True, eq=False)
class Sheet(Shown):
    """Bounds of one subject; exact expressions.

    Attributes
    ----------
    title
        The subject.
    letters
        The parameters that are the sheet's own, such as M and δ.
    where
        Letters that stand for expressions, each in terms of those before it.
    bounds
        The bounds.
    assumptions
        What they hold under, a sentence each.
    docs
        Where the proofs are.
    values
        Of letters that have been given, by symbol.
    """

    title: str
    letters: tuple[Parameter, ...]
    where: tuple[Where, ...]
    bounds: tuple[Bound, ...]
    assumptions: tuple[str, ...]
    docs: str
    values: Mapping[sympy.Symbol, Fraction] = field(default_factory=dict)

    def knows(self, name: str) -> bool:
        """Whether this names one of the sheet's letters."""
        return any(name in (p.name, str(p.symbol)) for p in self.letters)

    def substitute(self, **values: Value) -> Sheet:
        """The same with some letters given, by name or letter.

        Raises
        ------
        ValueError
            If a value is not exact or outside its domain, or a letter is foreign.
        """
        given = dict(self.values)
        for name, value in values.items():
            found = [p for p in self.letters if name in (p.name, str(p.symbol))]
            if not found:
                names = ", ".join(p.name for p in self.letters)
                raise fail(name, f"a letter of the bounds ({names})", "another", "leave it out")
            given[found[0].symbol] = found[0].read(value)
        return replace(self, values=given)

    def shown(self, expression: sympy.Basic) -> Any:
        """The expression with the given letters put in."""
        return tidy(expression.subs(self._exact()))

    def expanded(self, bound: Bound) -> Any:
        """A bound in the parameters alone, given letters put in."""
        found = bound.expression
        for one in reversed(self.where):
            found = found.subs(one.symbol, one.expression)
        return found.subs(self._exact())

    def number(self, bound: Bound, values: Mapping[sympy.Symbol, Fraction]) -> Number:
        """A bound's value, a fraction or a ball; `values` has every letter that it still needs."""
        known: dict[sympy.Symbol, Any] = {**values, **self.values}
        needed = set(bound.expression.free_symbols)
        for one in reversed(self.where):
            if one.symbol in needed:
                needed |= one.expression.free_symbols
        for one in self.where:
            if one.symbol in needed:
                known[one.symbol] = evaluate(one.expression, known)
        return evaluate(bound.expression, known)

    def _exact(self) -> dict[sympy.Symbol, sympy.Rational]:
        return {s: sympy.Rational(v.numerator, v.denominator) for s, v in self.values.items()}


# Risk from divergence, and rounds from risk, as formulas (docs -----------------------------------


B, s, r, t, eps, c, w, m, sigma, top, delta, E = (
    sympy.Symbol(letter, positive=True)
    for letter in ("B", "s", "r", "t", "epsilon", "c", "w", "m_2", "sigma", "v_max", "delta", "E")
)
M, N = (sympy.Symbol(letter, integer=True, positive=True) for letter in "MN")
psi = sympy.Symbol("psi", positive=True)

_ZERO, _ONE = Fraction(0), Fraction(1)
_LETTERS = (
    Parameter("largest_loss", B, "largest modulus of the loss", _ZERO, open_lower=True),
    Parameter("span", s, "largest loss less smallest", _ZERO, open_lower=True),
    Parameter("radius", r, "divergence, nats, in the average of the weights", _ZERO,
              open_lower=True),
    Parameter("tilt", t, "any positive number", _ZERO, open_lower=True),
    Parameter("risk", eps, "difference of expected losses that is allowed", _ZERO,
              open_lower=True),
    Parameter("slack", c, "hypotheses within (1 + c) r are acceptable", _ZERO, open_lower=True),
    Parameter("length", w, "length of the interval of parameters", _ZERO, open_lower=True),
    Parameter("second_moment", m, "second moment of the inputs", _ZERO, open_lower=True),
    Parameter("noise_std", sigma, "standard deviation of the labels", _ZERO, open_lower=True),
    Parameter("largest_influence", top, "largest v_j", _ZERO, _ONE, open_lower=True),
    Parameter("agents", N, "number of agents", _ONE, whole=True),
    Parameter("hypotheses", M, "number of hypotheses", Fraction(2), whole=True),
    Parameter("delta", delta, "chance of an error that is allowed", _ZERO, _ONE,
              open_lower=True, open_upper=True),
)  # fmt: skip
_ASSUMPTIONS = (
    "losses lie in an interval of length s, and between -B and B",
    "E and the last line: normal labels, one input value an agent; c > 0",
)


def risk_formulas() -> Sheet:
    """All of them; every letter is free.

    Examples
    --------
    >>> sheet = risk_formulas()
    >>> {bound.name: str(bound.expression) for bound in sheet.bounds}["risk, Pinsker"]
    'sqrt(2)*sqrt(r)*s/2'
    """
    return Sheet(
        title="risk of what is learned within a divergence r",
        letters=_LETTERS,
        where=(
            Where(
                psi,
                sympy.log((sympy.exp(t) - 1) / t) - 1 + t / (sympy.exp(t) - 1),
                "largest cumulant of a centred coin at t",
            ),
            Where(
                E,
                (sympy.sqrt(1 + c) - 1) ** 2 * r / (4 * top),
                "exponent, at least, of all that is not acceptable",
            ),
        ),
        bounds=(
            Bound("risk printed", B * sympy.sqrt(r) / 2, "as P1 Corollary 1 prints it: no bound",
                  is_theorem=False),
            Bound("risk, Pinsker", s * sympy.sqrt(r / 2), "best as r goes to 0"),
            Bound("risk, Bretagnolle-Huber", s * sympy.sqrt(1 - sympy.exp(-r)),
                  "best as r grows"),
            Bound("risk, every t", s * (r + psi) / t, "its smallest value over t is sharp"),
            Bound("loss of acting", 2 * s * sympy.sqrt(r / 2),
                  "of the action that is best under what was learned"),
            Bound("radius for a risk", 2 * eps**2 / s**2, "r that is small enough for epsilon"),
            Bound("points of an interval", w * sympy.sqrt(m / (8 * sigma**2 * r)),
                  "so many, rounded up, cover it with radius r, and no fewer",
                  counts=True),
            Bound("rounds, leading order", sympy.log(N * M / delta) / E,
                  "as delta goes to 0; the risk is then within that of (1 + c) r",
                  is_theorem=False, counts=True),
        ),
        assumptions=_ASSUMPTIONS,
        docs="mathematics/risk",
    )  # fmt: skip

"""The parameters of a family of networks: a name, a letter, and the domain of its values.

A value is exact: a whole number, a `fractions.Fraction`, or text such as ``"9/10"`` or ``"0.9"``.
Floats are refused, since a closed form at 0.1 and at the double nearest to 0.1 are two things.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import sympy

from theory.showing import Shown
from theory.validation import fail

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

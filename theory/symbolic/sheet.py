"""A sheet of bounds as formulas: letters, what stands for what, and the bounds themselves.

A bound is written in a few letters, such as K and V; `where` says what these are in terms of the
sheet's parameters, and `expanded` puts them in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import sympy

from theory.showing import Shown
from theory.symbolic.evaluation import Number, evaluate
from theory.symbolic.parameter import Parameter, Value
from theory.symbolic.tidying import tidy
from theory.validation import fail


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

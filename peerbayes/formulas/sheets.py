"""Sheets of bounds as results: sample sizes of a family, and risk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import sympy

from peerbayes.documents import Documented
from peerbayes.formulas.documents import (
    BoundDocument,
    Checks,
    ComparisonDocument,
    Expression,
    Parameter,
    SheetDocument,
    WhereDocument,
)
from theory.numbers import precision
from theory.symbolic.checks import FormulaCheck
from theory.symbolic.evaluation import to_ball
from theory.symbolic import Formula
from theory.symbolic.parameter import Bound, Sheet, risk_formulas
from theory.symbolic.parameter import Parameter as Letter
from theory.symbolic.sample_sizes import sample_size_formulas
from theory.symbolic.sheet_checks import check_risk, check_sample_sizes

if TYPE_CHECKING:
    from rich.console import RenderableType

Values = Mapping[sympy.Symbol, Fraction]
# Of the balls that a bound's value is computed in.
_BITS = 200


@dataclass(frozen=True, eq=False)
class SheetResult(Documented):
    """Bounds as formulas, with the outcome of their check.

    Attributes
    ----------
    family
        Of sample sizes: the networks they are of; None for risk.
    """

    sheet: Sheet
    check: FormulaCheck
    seed: int
    family: Formula | None = None

    @property
    def passed(self) -> bool:
        """Whether no formula disagrees with what it was compared with."""
        return self.check.passed

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "title", self.sheet.title
        for bound in self.sheet.bounds:
            yield bound.name, self.sheet.shown(bound.expression)
        yield "passed", self.passed

    def document(self) -> SheetDocument:
        """What `formula` prints of them; expressions are sympy's text."""
        sheet = self.sheet
        return SheetDocument(
            title=sheet.title,
            letters=[parameter_of(letter, sheet.values) for letter in sheet.letters],
            where=[
                WhereDocument(
                    symbol=str(one.symbol), words=one.words, **forms(self._shown(one.expression))
                )
                for one in sheet.where
            ],
            bounds=[
                BoundDocument(
                    name=bound.name,
                    words=bound.words,
                    is_theorem=bound.is_theorem,
                    expanded=Expression(**forms(self._shown(sheet.expanded(bound)))),
                    value=self._value(bound),
                    **forms(self._shown(bound.expression)),
                )
                for bound in sheet.bounds
            ],
            docs=sheet.docs,
            checks=checks_of(self.check, self.seed),
            notes=list(sheet.assumptions),
        )

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        from peerbayes.formulas.text import sheet_parts

        return sheet_parts(self.document())

    def _shown(self, expression: sympy.Basic) -> sympy.Basic:
        shown: sympy.Basic = self.sheet.shown(expression)
        return shown if self.family is None else self.family.shown(shown)

    def _value(self, bound: Bound) -> float | None:
        """Where every letter that it needs has a value; what counts something is rounded up."""
        known: Values = {}
        if self.family is not None:
            known = self.family.complete(self.family.values)
        free = self.sheet.expanded(bound).free_symbols
        if not free <= {*known, *self.sheet.values}:
            return None
        with precision(_BITS):
            try:
                ball = to_ball(self.sheet.number(bound, known))
            except ZeroDivisionError:  # nobody learns anything
                return None
            if not ball.is_finite():
                return None
            return float(ball.upper().ceil() if bound.counts else ball)


def sizes_of(family: Formula, values: Mapping[str, str], *, points: int, seed: int) -> SheetResult:
    """The sample sizes of a family, checked; `values` are of their own letters.

    Raises
    ------
    ValueError
        If a value is not exact or outside its domain, or the family's letters are theirs too.
    """
    sheet = sample_size_formulas(family).substitute(**values)
    check = check_sample_sizes(family, sheet, points=points, seed=seed)
    return SheetResult(sheet, check, seed, family)


def risk_of(values: Mapping[str, str], *, points: int, seed: int) -> SheetResult:
    """The bounds on risk, checked.

    Raises
    ------
    ValueError
        If a value is not exact or outside its domain, or a letter is foreign.
    """
    sheet = risk_formulas().substitute(**values)
    return SheetResult(sheet, check_risk(sheet, points=points, seed=seed), seed)


def forms(expression: sympy.Basic) -> dict[str, str]:
    """An expression for programs, for people, and as LaTeX."""
    from peerbayes.formulas.text import FormulaPrinter

    return {
        "expression": str(expression),
        "text": str(FormulaPrinter().doprint(expression)),
        "latex": str(sympy.latex(expression)),
    }


def parameter_of(letter: Letter, values: Values) -> Parameter:
    """A letter, and its value if it was given."""
    return Parameter(
        name=letter.name,
        symbol=str(letter.symbol),
        meaning=letter.meaning,
        domain=letter.domain,
        value=str(values[letter.symbol]) if letter.symbol in values else None,
        default=None if letter.default is None else str(letter.default),
    )


def checks_of(check: FormulaCheck, seed: int) -> Checks:
    """How formulas were checked."""
    return Checks(
        points=len(check.points),
        seed=seed,
        passed=check.passed,
        values=[dict(point) for point in check.points],
        comparisons=[
            ComparisonDocument(
                quantity=c.quantity, method=c.method, points=c.points, failures=list(c.failures)
            )
            for c in check.comparisons
        ],
    )

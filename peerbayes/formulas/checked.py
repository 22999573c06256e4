"""`peerbayes formula`: closed forms of one network or family, checked before they are shown.

Value objects in, a result object out; nothing is printed here. The JSON keys are described in docs:
reference/json.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import sympy

from peerbayes.documents import Documented
from peerbayes.formulas.documents import (
    AgentClassDocument,
    DeviationEntry,
    Eigenvalue,
    Expression,
    Families,
    Family,
    FormulaDocument,
    Index,
    NamedStatement,
    Weight,
)
from peerbayes.formulas.sheets import (
    SheetResult,
    checks_of,
    forms,
    parameter_of,
    risk_of,
    sizes_of,
)
from peerbayes.messages import choose
from theory.symbolic import FAMILIES, Formula, closed_form
from theory.symbolic.checks import FormulaCheck, check_formula
from theory.symbolic.formula import AgentClass, Eigenvalues
from theory.symbolic.general import parse_text, weights_formula
from theory.symbolic.sample_sizes import sample_size_formulas
from theory.validation import fail

if TYPE_CHECKING:
    from rich.console import RenderableType

POINTS = 12
"""How many random parameter values every formula is tried at before it is shown."""

RISK = "risk"
"""What is a topology to the command, but of no network."""

# Numbers of agents that can be printed: elsewhere an entry is a fraction of a few digits, here
# Chebyshev polynomials and powers of two grow by a digit or so for each agent or dimension.
_LARGEST = {"hub-and-ring": 100, "wheel": 100, "hypercube": 64}
_LARGEST_ELSEWHERE = 10**9
# W itself is given, in JSON, up to this number of agents.
_MOST_WEIGHTS = 25
# Classes of agents whose weight v is printed.
_MOST_SHOWN = 4


@dataclass(frozen=True, eq=False)
class FormulaResult(Documented):
    """The formulas of a family or of one matrix, with the outcome of their check."""

    formula: Formula
    check: FormulaCheck
    seed: int
    samples: SheetResult | None = None

    @property
    def passed(self) -> bool:
        """Whether no formula disagrees with exact arithmetic."""
        return self.check.passed and (self.samples is None or self.samples.passed)

    def _title(self) -> str:
        return f"{type(self).__name__} of {self.formula.name!r}"

    def _facts(self) -> Iterator[tuple[str, object]]:
        formula = self.formula
        yield "title", formula.title
        for agents in formula.classes[:_MOST_SHOWN]:
            yield f"v ({agents.name})", formula.shown(agents.stationary)
        if len(formula.classes) > _MOST_SHOWN:
            yield "classes", len(formula.classes)
        if formula.slem is not None:
            yield "slem", formula.shown(formula.slem)
        yield "rate K", formula.shown(formula.rate)
        yield "checked at", f"{len(self.check.points)} points"
        yield "passed", self.passed
        if self.samples is not None:
            for bound in self.samples.sheet.bounds:
                yield bound.name, self.samples.sheet.shown(bound.expression)

    @property
    def notes(self) -> list[str]:
        """What is missing, and why; one sentence each."""
        formula = self.formula
        notes = list(formula.assumptions)
        names = [c.name for c in formula.classes if self._deviation(c) is None]
        if names:
            who = "any agent" if len(names) == len(formula.classes) else " and ".join(names)
            notes.append(f"no closed form of D_i is known for {who}")
        for c in formula.classes:
            where = formula.shown(c.condition)
            if where not in (sympy.true, sympy.false):
                text = forms(where)["text"]
                notes.append(f"D ({c.name}) holds where {text}; beyond, no closed form")
        if formula.slem is None and formula.spectrum:
            notes.append("one agent has no other eigenvalue")
        elif formula.slem is None:
            notes.append(
                "no subdominant modulus: the eigenvalues are roots of the characteristic polynomial"
            )
        if self.check.smaller:
            notes.append("checked at smaller numbers of agents than the one given")
        return notes

    def document(self) -> FormulaDocument:
        """What `formula` prints; expressions are sympy's text, numbers exact strings."""
        formula = self.formula
        return FormulaDocument(
            topology=formula.name,
            title=formula.title,
            parameters=[parameter_of(p, formula.values) for p in formula.parameters if not p.fixed],
            weights=[
                Weight(entry=w.name, meaning=w.words, **self._forms(w.expression))
                for w in formula.weights_text
            ],
            matrix=self._matrix(),
            classes=[self._class(agents) for agents in formula.classes],
            eigenvalues=[self._eigenvalue(one) for one in formula.spectrum],
            characteristic_polynomial=self._optional(formula.characteristic),
            slem=self._optional(formula.slem),
            second_eigenvalue=self._optional(formula.second_eigenvalue),
            deviation_matrix=[
                DeviationEntry(
                    pair=p.name,
                    symbols={str(symbol): words for symbol, words in p.symbols},
                    **self._forms(p.value),
                )
                for p in formula.deviation_matrix
            ],
            rate=self._expression(formula.rate),
            gaussian_exponent=self._expression(formula.gaussian_exponent),
            statements=[
                NamedStatement(name=s.name, words=s.words, **self._forms(s.expression))
                for s in formula.statements
            ],
            docs=formula.docs,
            checks=checks_of(self.check, self.seed),
            notes=self.notes,
            samples=None if self.samples is None else self.samples.document(),
        )

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        from peerbayes.formulas.text import formula_parts

        return formula_parts(self.document())

    def _class(self, agents: AgentClass) -> AgentClassDocument:
        condition = self.formula.shown(agents.condition)
        return AgentClassDocument(
            name=agents.name,
            size=self._expression(agents.size),
            stationary=self._expression(agents.stationary),
            information=str(agents.information),
            deviation=self._optional(self._deviation(agents)),
            condition=None if condition in (sympy.true, sympy.false) else str(condition),
        )

    def _eigenvalue(self, one: Eigenvalues) -> Eigenvalue:
        return Eigenvalue(
            **self._forms(one.value),
            multiplicity=self._expression(one.multiplicity),
            indices=[
                Index(
                    symbol=str(index.symbol),
                    first=str(self.formula.shown(index.first)),
                    last=str(self.formula.shown(index.last)),
                )
                for index in one.indices
            ],
        )

    def _forms(self, expression: sympy.Basic) -> dict[str, str]:
        return forms(self.formula.shown(expression))

    def _expression(self, expression: sympy.Basic) -> Expression:
        return Expression(**self._forms(expression))

    def _deviation(self, agents: AgentClass) -> sympy.Expr | None:
        """D_i where it has a closed form, or has one under a condition."""
        return None if self.formula.shown(agents.condition) == sympy.false else agents.deviation

    def _optional(self, expression: sympy.Expr | None) -> Expression | None:
        return None if expression is None else self._expression(expression)

    def _matrix(self) -> list[list[str]] | None:
        """W as exact strings, where all parameters are given and it is small."""
        if not self.formula.is_numeric:
            return None
        member = self.formula.member()
        if member.agents > _MOST_WEIGHTS:
            return None
        return [[str(weight) for weight in row] for row in member.weights]


def formulas(
    topology: str,
    values: Mapping[str, str],
    *,
    weights: str | None = None,
    seed: int = 0,
    samples: bool = False,
) -> FormulaResult | SheetResult:
    """What `peerbayes formula` shows: of a network (:func:`formula_of`), or of risk.

    Raises
    ------
    ValueError
        As of :func:`formula_of`.
    """
    if topology != RISK:
        return formula_of(topology, values, weights=weights, seed=seed, samples=samples)
    if weights is not None or samples:
        option, got = ("--samples", "it") if samples else ("--weights", "a matrix")
        raise fail(option, "none, for risk: it is of no network", got, "leave it out")
    return risk_of(values, points=POINTS, seed=seed)


def formula_of(
    topology: str,
    values: Mapping[str, str],
    *,
    weights: str | None = None,
    seed: int = 0,
    samples: bool = False,
) -> FormulaResult:
    """The closed forms of a family, of a matrix, or of a problem's network; checked.

    Parameters
    ----------
    topology
        A family of `theory.symbolic.FAMILIES`; "weights"; or a problem's file or name.
    values
        Exact values of parameters, as text, by name or letter.
    weights
        For "weights": the matrix, such as ``"1-a a; b 1-b"``.
    seed
        Of the random parameter values at which the formulas are checked.
    samples
        Whether to add the sample sizes; `values` may then be of their letters too.

    Raises
    ------
    ValueError
        In one line, if the topology is unknown, a value is not exact or outside its domain, a
        parameter is foreign, or a number of agents is too large to print.
    """
    family = _formula(topology, weights)
    own = {
        name: value
        for name, value in values.items()
        if not samples or not _of_samples(family, name)
    }
    formula = family.substitute(**own)
    largest = _LARGEST.get(formula.name, _LARGEST_ELSEWHERE)
    for parameter in formula.parameters:
        value = formula.values.get(parameter.symbol, Fraction(0))
        if parameter.whole and value > largest:
            raise fail(parameter.name, f"at most {largest}, so that the result can be printed",
                       value, "leave it out: the formulas hold for all")  # fmt: skip
    sizes = None
    if samples:
        rest = {name: value for name, value in values.items() if name not in own}
        sizes = sizes_of(formula, rest, points=POINTS, seed=seed)
    return FormulaResult(formula, check_formula(formula, points=POINTS, seed=seed), seed, sizes)


def _of_samples(family: Formula, name: str) -> bool:
    """Whether a value is for the sample sizes: the family's own letters come first."""
    if any(name in (p.name, str(p.symbol)) for p in family.parameters):
        return False
    return sample_size_formulas(family).knows(name)


def _formula(topology: str, weights: str | None) -> Formula:
    if topology == "weights":
        if weights is None:
            raise fail("--weights", "a matrix such as '1-a a; b 1-b'", "none", "give it")
        return weights_formula(parse_text(weights))
    if weights is not None:
        raise fail("--weights", "none, for any topology but 'weights'", "a matrix", "leave it out")
    if topology not in FAMILIES:
        from peerbayes.formulas.problem_formula import names_a_problem, problem_formula

        if names_a_problem(topology):
            return problem_formula(topology)
    known = [*FAMILIES, "weights", RISK]
    wanted = f"a problem, or one of {', '.join(known)}"
    choose("TOPOLOGY", topology, known, wanted=wanted, otherwise="see 'peerbayes formula list'")
    return closed_form(topology)


def read_settings(named: Mapping[str, str | None], settings: Sequence[str]) -> dict[str, str]:
    """All values given on the command line, by name or letter.

    Raises
    ------
    ValueError
        If a setting is not written as letter=value, or a parameter is given twice.
    """
    values = {name: value for name, value in named.items() if value is not None}
    for setting in settings:
        name, sign, value = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not (sign and name):
            raise fail("--set", "LETTER=VALUE, such as a=1/2", repr(setting[:60]), "correct it")
        if name in values:
            raise fail("--set", "each parameter once", f"{name[:60]} twice", "leave one out")
        values[name] = value
    return values


def families(values: Mapping[str, str] | None = None, *, weights: str | None = None) -> Families:
    """What there is: for each family its name, title and parameters.

    Raises
    ------
    ValueError
        If there are values, which mean nothing here.
    """
    if values or weights is not None:
        raise fail("TOPOLOGY", "a name, to which the values belong", "none",
                   f"choose one of {', '.join(FAMILIES)}, weights")  # fmt: skip
    entries = [
        Family(
            name=name,
            title=formula.title,
            parameters=[p.name for p in formula.parameters if not p.fixed],
        )
        for name, formula in ((name, closed_form(name)) for name in FAMILIES)
    ]
    title = "any small matrix of fractions and letters, such as '1-a a; b 1-b'"
    any_matrix = Family(name="weights", title=title, parameters=["weights"])
    return Families(families=[*entries, any_matrix])

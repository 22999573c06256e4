"""`peerbayes formula`: closed forms of one network or family, checked before they are shown.

A result holds the formulas and the outcome of their check; what is said of them is declared in
`peerbayes.formulas.quantities`. Nothing is printed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sympy

from peerbayes.formulas.quantities import ALL_FAMILIES, DECIDED, FORMULA, SHEET
from peerbayes.formulas.text import formula_parts, latex_text, plain_text, sheet_parts
from peerbayes.messages import choose
from peerbayes.quantities.showing import Result
from theory.numbers import precision
from theory.symbolic import FAMILIES, Formula, closed_form
from theory.symbolic.checks import FormulaCheck, check_formula
from theory.symbolic.evaluation import to_ball
from theory.symbolic.formula import AgentClass
from theory.symbolic.general import parse_text, weights_formula
from theory.symbolic.parameter import Bound, Parameter, Sheet, risk_formulas
from theory.symbolic.sample_sizes import sample_size_formulas
from theory.symbolic.sheet_checks import check_risk, check_sample_sizes
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
# Of the balls that a bound's value is computed in.
_BITS = 200

# Results ----------------------------------------------------------------------------------------


class _Formulas(Result):
    """Formulas that notebooks can show as such."""

    def _repr_latex_(self) -> str:
        """What the option ``--latex`` prints."""
        return f"$$\n{latex_text(self.document())}$$"


@dataclass(frozen=True, eq=False)
class SheetResult(_Formulas):
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

    quantities = SHEET

    @property
    def passed(self) -> bool:
        """Whether no formula disagrees with what it was compared with."""
        return self.check.passed

    @property
    def values(self) -> Mapping[sympy.Symbol, Fraction]:
        """Of the letters that were given."""
        return self.sheet.values

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "title", self.sheet.title
        for bound in self.sheet.bounds:
            yield bound.name, self.sheet.shown(bound.expression)
        yield "passed", self.passed

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return sheet_parts(self.document())

    def shown(self, expression: sympy.Basic) -> sympy.Basic:
        """An expression, given values put in."""
        shown: sympy.Basic = self.sheet.shown(expression)
        return shown if self.family is None else self.family.shown(shown)

    def value_of(self, bound: Bound) -> float | None:
        """Where every letter that it needs has a value; what counts something is rounded up."""
        known: Mapping[sympy.Symbol, Fraction] = {}
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


@dataclass(frozen=True, eq=False)
class FormulaResult(_Formulas):
    """The formulas of a family or of one matrix, with the outcome of their check."""

    formula: Formula
    check: FormulaCheck
    seed: int
    samples: SheetResult | None = None

    quantities = FORMULA

    @property
    def passed(self) -> bool:
        """Whether no formula disagrees with exact arithmetic."""
        return self.check.passed and (self.samples is None or self.samples.passed)

    @property
    def values(self) -> Mapping[sympy.Symbol, Fraction]:
        """Of the parameters that were given."""
        return self.formula.values

    @property
    def letters(self) -> list[Parameter]:
        """The parameters that may be given."""
        return [parameter for parameter in self.formula.parameters if not parameter.fixed]

    @property
    def matrix(self) -> list[list[str]] | None:
        """W as exact strings, where all parameters are given and it is small."""
        if not self.formula.is_numeric:
            return None
        member = self.formula.member()
        if member.agents > _MOST_WEIGHTS:
            return None
        return [[str(weight) for weight in row] for row in member.weights]

    def shown(self, expression: sympy.Basic) -> Any:
        """An expression, given values put in."""
        return self.formula.shown(expression)

    def deviation_of(self, agents: AgentClass) -> sympy.Expr | None:
        """D_i as shown, where it has a closed form, or has one under a condition."""
        if agents.deviation is None or self.shown(agents.condition) == sympy.false:
            return None
        return self.shown(agents.deviation)

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
        names = [c.name for c in formula.classes if self.deviation_of(c) is None]
        if names:
            who = "any agent" if len(names) == len(formula.classes) else " and ".join(names)
            notes.append(f"no closed form of D_i is known for {who}")
        for c in formula.classes:
            where = formula.shown(c.condition)
            if where not in DECIDED:
                text = plain_text(where)
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

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return formula_parts(self.document())


# Questions --------------------------------------------------------------------------------------


def formulas(
    topology: str,
    values: Mapping[str, str],
    *,
    weights: str | None = None,
    seed: int = 0,
    samples: bool = False,
) -> FormulaResult | SheetResult:
    """What `peerbayes formula` shows: closed forms of a network, or bounds on risk; checked.

    Parameters
    ----------
    topology
        A family of `theory.symbolic.FAMILIES`; "weights"; a problem's file or name; or "risk".
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
    if topology == RISK:
        if weights is not None or samples:
            option, got = ("--samples", "it") if samples else ("--weights", "a matrix")
            raise fail(option, "none, for risk: it is of no network", got, "leave it out")
        sheet = risk_formulas().substitute(**values)
        return SheetResult(sheet, check_risk(sheet, points=POINTS, seed=seed), seed)
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
        sheet = sample_size_formulas(formula).substitute(**rest)
        found = check_sample_sizes(formula, sheet, points=POINTS, seed=seed)
        sizes = SheetResult(sheet, found, seed, formula)
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
        from peerbayes.problem.builtins.loading import names_a_problem

        if names_a_problem(topology):
            return _of_problem(topology)
    known = [*FAMILIES, "weights", RISK]
    wanted = f"a problem, or one of {', '.join(known)}"
    choose("TOPOLOGY", topology, known, wanted=wanted, otherwise="see 'peerbayes formula list'")
    return closed_form(topology)


def _of_problem(name: str) -> Formula:
    """The formula of a problem's network: its exact weights, or the family it belongs to.

    Raises
    ------
    ValueError
        If the problem cannot be read, has no exact weights, or is too large.
    """
    from peerbayes.problem.builtins.families import family_of, of_images
    from peerbayes.problem.builtins.loading import load_problem
    from peerbayes.problem.changes_section import SequenceNetwork

    remedy = "name its topology, such as 'star'"
    family = family_of(name)
    if family is not None and family.make is of_images:
        raise fail("TOPOLOGY", "a problem that is written as a file", repr(name), remedy)
    problem = load_problem(name)
    section = None if problem.specification is None else problem.specification.network
    if section is None or isinstance(section, SequenceNetwork) or section.changes is not None:
        got = "one without a file" if section is None else "one on a network that changes"
        wanted = "a problem whose network is fixed and written down"
        raise fail(name, wanted, got, remedy)
    confidence = getattr(section, "edge_confidence", None)
    if isinstance(confidence, float):
        place, remedy = f"{name}: network.edge_confidence", 'write it as text, such as "1/2"'
        raise fail(place, "an exact number", confidence, remedy)
    if confidence is not None:
        agents: Any = getattr(section, "agents", None)
        return closed_form("star").substitute(agents=agents, edge_confidence=confidence)
    rows = getattr(section, "weights", None) or section.build_rational(problem.name).rows
    return weights_formula(rows, name=problem.name)


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


def families(values: Mapping[str, str] | None = None, *, weights: str | None = None) -> Any:
    """What there is, as `formula list` prints it: each family's name, title and parameters.

    Raises
    ------
    ValueError
        If there are values, which mean nothing here.
    """
    if values or weights is not None:
        raise fail("TOPOLOGY", "a name, to which the values belong", "none",
                   f"choose one of {', '.join(FAMILIES)}, weights")  # fmt: skip
    formulas = [(name, closed_form(name)) for name in FAMILIES]
    title = "any small matrix of fractions and letters, such as '1-a a; b 1-b'"
    return ALL_FAMILIES.document(
        [(n, f.title, [p.name for p in f.parameters if not p.fixed]) for n, f in formulas]
        + [("weights", title, ["weights"])]
    )

"""What is said of closed forms, each quantity declared once.

Expressions are sympy's text, numbers exact strings. The JSON keys are described in docs:
reference/json.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any, TypeAlias

import sympy
from pydantic import Field

from peerbayes.formulas.text import plain_text
from peerbayes.quantities.quantity import Quantity, Table, part

Exact: TypeAlias = Annotated[str, Field(pattern="^-?[0-9]+(/[0-9]+)?$")]
"""An exact number, such as ``3/4``."""


# Conditions on which nothing depends any more.
DECIDED = (sympy.true, sympy.false)


class _Part:
    """A part of a result's formulas: its own attributes, and one of its expressions as shown."""

    def __init__(self, part: Any, result: Any, expression: str) -> None:
        self.part, self.result, self.shown = part, result, result.shown
        self.expression = result.shown(getattr(part, expression)) if expression else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.part, name)


def _forms(get: Callable[[Any], Any]) -> tuple[Quantity, ...]:
    """An expression in three ways."""
    words = "for people: powers with ^, moduli with bars, cases in words"
    return (
        Quantity("expression", str, "as sympy reads it", lambda one: str(get(one))),
        Quantity("text", str, words, lambda one: plain_text(get(one))),
        Quantity("latex", str, get=lambda one: str(sympy.latex(get(one)))),
    )


EXPRESSION = Table(
    "Expression",
    "A formula in three ways: for programs, for people, and as LaTeX.",
    _forms(lambda expression: expression),
)


def _with_forms(name: str, meaning: str, *quantities: Quantity) -> Table:
    """The table of a part's expression, and of what else is said of it."""
    return Table(name, meaning, (*_forms(lambda one: one.expression), *quantities))


def _text(key: str, of: str = "", meaning: str | None = None) -> Quantity:
    """An attribute of a part as text."""
    get = attrgetter(of or key)
    return Quantity(key, str, meaning, lambda one: str(get(one)))


def _expression(
    key: str, meaning: str | None = None, *, of: str = "", may_lack: bool = False
) -> Quantity:
    """An expression that is an attribute."""
    get = attrgetter(of or key)

    def shown(one: Any) -> Any:
        expression = get(one)
        return None if expression is None else one.shown(expression)

    return part(key, EXPRESSION, shown, meaning=meaning, may_lack=may_lack)


def _many(table: Table, *, least: int) -> Any:
    """The type of a list of objects."""
    several = GenericAlias(list, table.type)
    return Annotated[several, Field(min_length=least)] if least else several


def _parts(
    key: str, table: Table, of: str, expression: str = "expression", *, least: int = 0
) -> Quantity:
    """All parts of one kind, at least so many, with an expression of each."""
    get = attrgetter(of)
    return Quantity(
        key,
        _many(table, least=least),
        get=lambda result: [table(_Part(one, result, expression)) for one in get(result)],
    )


PARAMETER = Table(
    "Parameter",
    "A letter of a family.",
    (
        _text("name"),
        _text("symbol"),
        _text("meaning"),
        _text("domain"),
        Quantity(
            "value",
            Exact | None,
            "as given; null where it stays a letter",
            lambda letter: letter.result.values.get(letter.symbol),
        ),
        Quantity(
            "default",
            str | None,
            get=lambda letter: None if letter.default is None else str(letter.default),
        ),
    ),
)
WEIGHT = _with_forms(
    "Weight", "A positive entry of W.", _text("entry", "name"), _text("meaning", "words")
)
AGENT_CLASS = Table(
    "AgentClassDocument",
    "Agents that a symmetry of the network maps to each other.",
    (
        _text("name"),
        _expression("size", "how many agents"),
        _expression("stationary", "v of one of them"),
        _text("information", meaning="the letter of their divergence I_j, or of its sum"),
        part(
            "deviation",
            EXPRESSION,
            lambda one: one.result.deviation_of(one.part),
            meaning="D_i; null where no closed form is known",
            may_lack=True,
        ),
        Quantity(
            "condition",
            str | None,
            "where the closed form of D_i holds; null: always",
            lambda one: None if one.expression in DECIDED else str(one.expression),
        ),
    ),
)
INDEX = Table(
    "Index",
    "What an eigenvalue's index runs over.",
    (
        _text("symbol"),
        Quantity("first", str, get=lambda index: str(index.shown(index.first))),
        Quantity("last", str, get=lambda index: str(index.shown(index.last))),
    ),
)
EIGENVALUE = _with_forms(
    "Eigenvalue",
    "An eigenvalue of W, or one for each value of its indices.",
    _expression("multiplicity"),
    Quantity(
        "indices",
        _many(INDEX, least=0),
        get=lambda one: [INDEX(_Part(index, one.result, "")) for index in one.indices],
    ),
)
DEVIATION = _with_forms(
    "DeviationEntry",
    "An entry of the deviation matrix Z, the sum of W^k − 1v' over k ≥ 0.",
    _text("pair", "name"),
    Quantity(
        "symbols",
        dict[str, str],
        "meanings of the letters that only it has",
        lambda one: dict(one.symbols),
    ),
)
STATEMENT = _with_forms(
    "NamedStatement",
    "A statement on the family, such as where its rate is largest.",
    _text("name"),
    _text("words"),
)
COMPARISON = Table(
    "ComparisonDocument",
    "One quantity compared with arithmetic at every point.",
    (
        _text("quantity"),
        Quantity("method", Annotated[str, Field(pattern="^(exact|balls|floats|bracket)$")]),
        Quantity("points", Annotated[int, Field(ge=1)]),
        Quantity("failures", list[str]),
    ),
)
CHECKS = Table(
    "Checks",
    "How the formulas were checked before they were shown.",
    (
        Quantity(
            "points",
            Annotated[int, Field(ge=1)],
            "how many random rational values of the parameters",
            lambda result: len(result.check.points),
        ),
        Quantity("seed", Annotated[int, Field(ge=0)]),
        Quantity("passed", bool, get=attrgetter("check.passed")),
        Quantity("values", list[dict[str, Exact]], get=attrgetter("check.points")),
        Quantity(
            "comparisons",
            _many(COMPARISON, least=1),
            get=lambda result: [COMPARISON(one) for one in result.check.comparisons],
        ),
    ),
)
WHERE = _with_forms(
    "WhereDocument", "A letter that stands for an expression.", _text("symbol"), _text("words")
)
BOUND = _with_forms(
    "BoundDocument",
    "A bound, in the letters of its sheet.",
    _text("name"),
    _text("words"),
    Quantity("is_theorem", bool, "false for what is only printed, or for leading order"),
    part(
        "expanded",
        EXPRESSION,
        lambda one: one.shown(one.result.sheet.expanded(one.part)),
        meaning="in the parameters alone",
    ),
    Quantity(
        "value",
        float | None,
        "where every letter has a value; what counts something is rounded up",
        lambda one: one.result.value_of(one.part),
    ),
)
_CHECKS = part("checks", CHECKS, lambda result: result)
SHEET = Table(
    "SheetDocument",
    "Bounds as formulas: sample sizes, or risk.",
    (
        _text("title", "sheet.title"),
        _parts("letters", PARAMETER, "sheet.letters", ""),
        _parts("where", WHERE, "sheet.where"),
        _parts("bounds", BOUND, "sheet.bounds", least=1),
        _text("docs", "sheet.docs"),
        _CHECKS,
        Quantity(
            "notes",
            list[str],
            "what the bounds hold under; one sentence each",
            attrgetter("sheet.assumptions"),
        ),
    ),
)
FORMULA = Table(
    "FormulaDocument",
    "The closed forms of one network or family.",
    (
        _text("topology", "formula.name"),
        _text("title", "formula.title"),
        _parts("parameters", PARAMETER, "letters", ""),
        _parts("weights", WEIGHT, "formula.weights_text", least=1),
        Quantity(
            "matrix", list[list[Exact]] | None, "W where all parameters are given and it is small"
        ),
        _parts("classes", AGENT_CLASS, "formula.classes", "condition", least=1),
        _parts("eigenvalues", EIGENVALUE, "formula.spectrum", "value"),
        _expression("characteristic_polynomial", of="formula.characteristic", may_lack=True),
        _expression(
            "slem", "second largest modulus of an eigenvalue", of="formula.slem", may_lack=True
        ),
        _expression(
            "second_eigenvalue",
            "largest but 1, signed",
            of="formula.second_eigenvalue",
            may_lack=True,
        ),
        _parts("deviation_matrix", DEVIATION, "formula.deviation_matrix", "value", least=1),
        _expression("rate", "K, in nats a round", of="formula.rate"),
        _expression(
            "gaussian_exponent", "E of normal log-likelihood ratios", of="formula.gaussian_exponent"
        ),
        _parts("statements", STATEMENT, "formula.statements"),
        _text("docs", "formula.docs"),
        _CHECKS,
        Quantity("notes", list[str], "what is missing, and why; one sentence each"),
        part(
            "samples",
            SHEET,
            attrgetter("samples"),
            meaning="rounds that are enough, if asked for",
            optional=True,
        ),
    ),
)
FAMILY = Table(
    "Family",
    "A family of networks that has closed forms.",
    (_text("name"), _text("title"), Quantity("parameters", list[str])),
)
ALL_FAMILIES = Table(
    "Families",
    "Every family, as `formula list` prints them.",
    (
        Quantity(
            "families",
            _many(FAMILY, least=1),
            get=lambda listed: [FAMILY(one) for one in listed.families],
        ),
    ),
)

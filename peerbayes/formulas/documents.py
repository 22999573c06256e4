"""What `formula` prints with ``--json``, as types; expressions are sympy's text, numbers exact."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from peerbayes.documents import Document

ExactText: TypeAlias = Annotated[str, Field(pattern="^-?[0-9]+(/[0-9]+)?$")]
"""An exact number, such as ``3/4``."""


class Expression(Document):
    """A formula in three ways: for programs, for people, and as LaTeX."""

    expression: str = Field(description="as sympy reads it")
    text: str = Field(description="for people: powers with ^, moduli with bars, cases in words")
    latex: str


class Parameter(Document):
    """A letter of a family."""

    name: str
    symbol: str
    meaning: str
    domain: str
    value: ExactText | None = Field(description="as given; null where it stays a letter")
    default: str | None


class Weight(Expression):
    """A positive entry of W."""

    entry: str
    meaning: str


class AgentClassDocument(Document):
    """Agents that a symmetry of the network maps to each other."""

    name: str
    size: Expression = Field(description="how many agents")
    stationary: Expression = Field(description="v of one of them")
    information: str = Field(description="the letter of their divergence I_j, or of its sum")
    deviation: Expression | None = Field(description="D_i; null where no closed form is known")
    condition: str | None = Field(description="where the closed form of D_i holds; null: always")


class Index(Document):
    """What an eigenvalue's index runs over."""

    symbol: str
    first: str
    last: str


class Eigenvalue(Expression):
    """An eigenvalue of W, or one for each value of its indices."""

    multiplicity: Expression
    indices: list[Index]


class DeviationEntry(Expression):
    """An entry of the deviation matrix Z, the sum of W^k − 1v' over k ≥ 0."""

    pair: str
    symbols: dict[str, str] = Field(description="meanings of the letters that only it has")


class NamedStatement(Expression):
    """A statement on the family, such as where its rate is largest."""

    name: str
    words: str


class ComparisonDocument(Document):
    """One quantity compared with arithmetic at every point."""

    quantity: str
    method: str = Field(pattern="^(exact|balls|floats|bracket)$")
    points: int = Field(ge=1)
    failures: list[str]


class Checks(Document):
    """How the formulas were checked before they were shown."""

    points: int = Field(ge=1, description="how many random rational values of the parameters")
    seed: int = Field(ge=0)
    passed: bool
    values: list[dict[str, ExactText]]
    comparisons: list[ComparisonDocument] = Field(min_length=1)


class WhereDocument(Expression):
    """A letter that stands for an expression."""

    symbol: str
    words: str


class BoundDocument(Expression):
    """A bound, in the letters of its sheet."""

    name: str
    words: str
    is_theorem: bool = Field(description="false for what is only printed, or for leading order")
    expanded: Expression = Field(description="in the parameters alone")
    value: float | None = Field(
        description="where every letter has a value; what counts something is rounded up"
    )


class SheetDocument(Document):
    """Bounds as formulas: sample sizes, or risk."""

    title: str
    letters: list[Parameter]
    where: list[WhereDocument]
    bounds: list[BoundDocument] = Field(min_length=1)
    docs: str
    checks: Checks
    notes: list[str] = Field(description="what the bounds hold under; one sentence each")


class FormulaDocument(Document):
    """The closed forms of one network or family."""

    left_out = frozenset({"samples"})
    topology: str
    title: str
    parameters: list[Parameter]
    weights: list[Weight] = Field(min_length=1)
    matrix: list[list[ExactText]] | None = Field(
        description="W where all parameters are given and it is small"
    )
    classes: list[AgentClassDocument] = Field(min_length=1)
    eigenvalues: list[Eigenvalue]
    characteristic_polynomial: Expression | None
    slem: Expression | None = Field(description="second largest modulus of an eigenvalue")
    second_eigenvalue: Expression | None = Field(description="largest but 1, signed")
    deviation_matrix: list[DeviationEntry] = Field(min_length=1)
    rate: Expression = Field(description="K, in nats a round")
    gaussian_exponent: Expression = Field(description="E of normal log-likelihood ratios")
    statements: list[NamedStatement]
    docs: str
    checks: Checks
    notes: list[str] = Field(description="what is missing, and why; one sentence each")
    samples: SheetDocument | None = Field(
        default=None, description="rounds that are enough, if asked for"
    )


class Family(Document):
    """A family of networks that has closed forms."""

    name: str
    title: str
    parameters: list[str]


class Families(Document):
    """Every family, as `formula list` prints them."""

    families: list[Family] = Field(min_length=1)

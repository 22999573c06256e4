"""Numbers of every arithmetic, as results hold them and as JSON takes them.

A result holds floats (arithmetic in doubles), enclosures (certified), or, in exact arithmetic,
fractions, and expressions beside an enclosure where a number is no fraction:

========================  ==========================================
in Python                 in JSON
========================  ==========================================
float                     a number, null where it is not finite
`fractions.Fraction`      ``"6/7"``
`Expression`              ``{"expression": …, "lower": …, "upper": …}``
`Enclosure`               ``{"lower": …, "upper": …}``
`RoundsBetween`           the same, in whole rounds
========================  ==========================================

An infinite end is null. This is the one place where they are written; `kept` and `restored` are
for records of unfinished proofs, from which the very same numbers are read back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import ConfigDict, Field

from peerbayes import documents
from peerbayes.documents import Document, Number, Rounds
from peerbayes.records import plain
from theory.showing import Value

if TYPE_CHECKING:
    from theory.numbers import Enclosure, LogSum
    from theory.rational.algebraic import AlgebraicNumber


@dataclass(frozen=True, eq=False)
class Expression(Value):
    """An exact number that is no fraction, and doubles around it.

    `text` is its closed form; None where it has none. An end may be infinite.
    """

    text: str | None
    lower: float
    upper: float

    def as_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {"expression": self.text, **_ends(self.lower, self.upper)}


@dataclass(frozen=True, eq=False)
class RoundsBetween(Value):
    """A whole number of rounds between two, both included; `upper` None: not known to be finite."""

    lower: int
    upper: int | None

    def as_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {"lower": self.lower, "upper": self.upper}


def exact_number(value: LogSum | AlgebraicNumber) -> Fraction | Expression:
    """A fraction if the number is one, else its closed form with doubles around it."""
    from theory.numbers import LogSum

    rational: Fraction | None = value.rational
    if isinstance(value, LogSum) and not value.is_rational:
        rational = None
    if rational is not None:
        return rational
    found = value.enclosure()
    return Expression(str(value), found.lower, found.upper)


def without_form(value: Enclosure) -> Fraction | Expression:
    """An exact number of which an enclosure is all that is known; 0 is a fraction."""
    if value.lower == value.upper == 0:
        return Fraction(0)
    return Expression(None, value.lower, value.upper)


def written(value: Any) -> Any:
    """A value as JSON takes it: numbers of any arithmetic, containers of them, parts of results.

    Raises
    ------
    TypeError
        If something has no JSON form.

    Examples
    --------
    >>> written({"rates": (0.5, float("inf")), "share": Fraction(6, 7)})
    {'rates': [0.5, None], 'share': '6/7'}
    >>> written(Expression("log(2)", 0.69, 0.7))
    {'expression': 'log(2)', 'lower': 0.69, 'upper': 0.7}
    """
    if hasattr(value, "as_json"):
        return value.as_json()
    if isinstance(value, list | tuple):
        return [written(entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): written(entry) for key, entry in value.items()}
    return plain(value)


def _ends(lower: float, upper: float) -> dict[str, float | None]:
    # Adding zero turns −0.0 into 0.0.
    return {"lower": plain(lower + 0.0), "upper": plain(upper + 0.0)}


# Kept and read back -----------------------------------------------------------------------------


def kept(value: Any) -> Any:
    """A value as a record of an unfinished proof keeps it: nothing is lost, unlike in JSON."""
    from theory.numbers import Enclosure

    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, Enclosure):
        return {"enclosure": [repr(value.lower), repr(value.upper)]}
    if isinstance(value, Expression):
        return {"expression": [value.text, repr(value.lower), repr(value.upper)]}
    if isinstance(value, RoundsBetween):
        return {"rounds": [value.lower, value.upper]}
    if isinstance(value, list | tuple):
        return [kept(entry) for entry in value]
    if isinstance(value, Mapping):
        return {"entries": [[key, kept(entry)] for key, entry in value.items()]}
    return plain(value)


def restored(tree: Any) -> Any:
    """The value that `kept` made a tree of; sequences are tuples.

    >>> restored(kept({"rate": Fraction(1, 3), "ends": (1, None)}))
    {'rate': Fraction(1, 3), 'ends': (1, None)}
    """
    from theory.numbers import Enclosure

    if isinstance(tree, list):
        return tuple(restored(entry) for entry in tree)
    if not isinstance(tree, Mapping):
        return tree
    ((tag, inside),) = tree.items()
    match tag:
        case "fraction":
            return Fraction(inside)
        case "enclosure":
            return Enclosure(*map(float, inside))
        case "expression":
            return Expression(inside[0], *map(float, inside[1:]))
        case "rounds":
            return RoundsBetween(*inside)
        case _:
            return {key: restored(entry) for key, entry in inside}


# What JSON may hold -----------------------------------------------------------------------------


class IntervalDocument(Document):
    """An interval that contains the truth; null stands for infinite."""

    model_config = ConfigDict(extra="forbid")

    lower: Number
    upper: Number


class ExpressionDocument(Document):
    """An exact number and an interval around it; the expression is null without closed form."""

    model_config = ConfigDict(extra="forbid")

    expression: str | None
    lower: Number
    upper: Number


class RoundsInterval(Document):
    """A number of rounds between two; null: not known to be finite."""

    model_config = ConfigDict(extra="forbid")

    lower: Rounds
    upper: Rounds | None


FractionText: TypeAlias = Annotated[str, Field(pattern="^-?[0-9]+(/[0-9]+)?$")]
"""An exact rational."""

Proved: TypeAlias = FractionText | ExpressionDocument | IntervalDocument
"""A number that is proved: a fraction, an expression with an interval, or an interval."""


class Shape(Enum):
    """How many numbers a quantity is; their types follow from the arithmetic."""

    NUMBER = "one number, or null"
    NUMBERS = "a list of them"
    PER_AGENT = "a list of them, of one agent at least"
    SHARES = "numbers between 0 and 1, one an agent"
    NAMED = "one number, or null, of each name"
    NAMED_LISTS = "a list of numbers of each name"
    ROUNDS = "a number of rounds, or null"


NUMBER, NUMBERS, PER_AGENT, SHARES, NAMED, NAMED_LISTS, ROUNDS = Shape
Numbers: TypeAlias = Mapping[Shape, Any]
"""The JSON types of one arithmetic's numbers."""

IN_DOUBLES: Numbers = {
    NUMBER: documents.Number,
    NUMBERS: documents.Numbers,
    PER_AGENT: documents.PerAgent,
    SHARES: Annotated[list[documents.Probability], Field(min_length=1)],
    NAMED: dict[str, documents.Number],
    NAMED_LISTS: dict[str, documents.Numbers],
    ROUNDS: Rounds | None,
}
PROVED: Numbers = {
    NUMBER: Proved | None,
    NUMBERS: list[Proved],
    PER_AGENT: Annotated[list[Proved], Field(min_length=1)],
    SHARES: Annotated[list[Proved], Field(min_length=1)],
    NAMED: dict[str, Proved | None],
    NAMED_LISTS: dict[str, list[Proved]],
    ROUNDS: Rounds | RoundsInterval | None,
}

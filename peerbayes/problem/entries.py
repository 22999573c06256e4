"""Numbers, rows and tables as a problem file writes them, and what its sections are made of.

A number written as a string (``"9/10"``, ``"0.9"``) is an exact rational and becomes a
`fractions.Fraction`; a bare number is a float. A distribution sums to one: exactly if all its
numbers are exact, else up to rounding. Each type here checks itself, knows how to be written
again, and has a JSON schema.

A section is a pydantic class whose fields are declared by `key`: from the one declaration come
what is read, what is written, the JSON schema, and what messages suggest. Where one key of a table
says which section it is, the section's type is marked `OneOf`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import MISSING, dataclass
from fractions import Fraction
from functools import lru_cache, partial, reduce
from operator import or_
from typing import Annotated, Any, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    PlainValidator,
    Tag,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError
from typing_extensions import TypeAliasType

from peerbayes.messages import TAG, Place, describe, guessed, problem_error, shorten
from peerbayes.settings.declared import Settings, declared_in
from theory.validation import SUM_TOLERANCE

_UNSIGNED = r"(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?)"
_RATIONAL = re.compile("[+-]?" + _UNSIGNED, re.ASCII)
# Python refuses to read integers of more than 4300 digits, to bound the time it takes.
_LONGEST_NUMBER = 4000
_SHORT = 40
# Inside this range a rational has a double that is neither zero nor infinite.
_SMALLEST, _LARGEST = Fraction(1, 10**300), Fraction(10**300)
_NUMBER = 'a number, or a string such as "9/10" or "0.9"'

Rational = Fraction | float


# Sections ---------------------------------------------------------------------------------------


class Section(BaseModel):
    """A table of the file: immutable, with no unknown keys and no silent conversions."""

    # Built when first used: most problem files have few of the sections.
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True
    )


def key(meaning: str, default: Any = ..., **ends: Any) -> Any:
    """A key of a section: what it means, its value if left out, and the ends of its domain."""
    return Field(default, description=meaning, **ends)


def key_of(settings: Callable[..., Settings], name: str, **also: Any) -> Any:
    """The key of a section that is a setting too: default, ends and meaning are the setting's.

    Parameters
    ----------
    also
        What the file has otherwise, such as another ``default``.

    Examples
    --------
    >>> from peerbayes.settings.nets import Examples
    >>> key_of(Examples, "batch").default
    50
    """
    declared = {one.name: one for one in declared_in(settings)}[name]
    assert declared.setting is not None
    default = {} if declared.default is MISSING else {"default": declared.default}
    meaning = {"description": declared.setting.help}
    return Field(**default | meaning | declared.setting.domain.bounds | also)


def by_word(key: str, *sections: type[Section]) -> dict[str, type[Section]]:
    """Sections by the word that each of them has under `key`."""
    return {get_args(section.model_fields[key].annotation)[0]: section for section in sections}


@dataclass(frozen=True, eq=False)
class OneOf:
    """Marks a type as one of several sections, which the word under `key` tells apart.

    Attributes
    ----------
    key, sections
        The key, and the section of each word.
    place, remedy
        Where such a table is written, and what to do if it does not have the key.
    """

    key: str
    sections: Mapping[str, type[Section]]
    place: str
    remedy: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The union of the sections, each with its tag."""
        known = partial(
            known_table, key=self.key, known=self.sections, place=self.place, remedy=self.remedy
        )
        return handler.generate_schema(
            Annotated[
                tagged(self.sections),
                Discriminator(lambda value: tag_of(value, key=self.key)),
                BeforeValidator(known),
            ]
        )


def tagged(sections: Mapping[str, type[Section]]) -> Any:
    """The union of sections, each tagged by its word."""
    return reduce(or_, (Annotated[one, Tag(TAG + word)] for word, one in sections.items()))


def known_table(
    value: object, *, key: str, known: Mapping[str, object], place: str, remedy: str
) -> object:
    """The value, if it is a table whose `key` is one of `known`, or a section that was read.

    Parameters
    ----------
    place, remedy
        Where such a table is written, and what to do if it does not have the key.

    Raises
    ------
    PydanticCustomError
        If it is not.
    """
    if isinstance(value, Section):
        return value
    if not isinstance(value, Mapping):
        raise problem_error((), "a table", describe(value), f"write it under {place}")
    wanted, word = f"one of {', '.join(known)}", value.get(key)
    if word is None:
        raise problem_error((key,), wanted, "none", remedy)
    if not isinstance(word, str) or word not in known:
        advice = guessed(word if isinstance(word, str) else "", known, otherwise="choose one")
        raise problem_error((key,), wanted, describe(word), advice)
    return value


def tag_of(value: object, *, key: str) -> str:
    """The tag by which a union tells its tables apart: what stands under `key`."""
    word = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
    return f"{TAG}{word}"


@contextmanager
def worded(change: Callable[[str], str]) -> Iterator[None]:
    """Change the messages of the packages below, most often to put a place in front of them."""
    try:
        yield
    except ValueError as error:
        raise ValueError(change(str(error))) from None


def placed(source: str, place: str, section: Section) -> AbstractContextManager[None]:
    """Put file and table in front of the messages of the packages below."""

    def change(text: str) -> str:
        key = text.partition(":")[0].partition("[")[0]
        joint = "." if key in type(section).model_fields else ": "
        prefix = f"{source}: " if source else ""
        return f"{prefix}{place}{joint}{text}"

    return worded(change)


@contextmanager
def inside(*place: str | int) -> Iterator[None]:
    """Put a place in front of that of what a section's own check refuses."""
    try:
        yield
    except PydanticCustomError as error:
        context = dict(error.context or {})
        raise problem_error((*place, *context.pop("place")), **context) from None


def entry(index: int) -> AbstractContextManager[None]:
    """Put an entry of a list of agents in front of the messages of the packages below."""
    return worded(lambda text: f"agents[{index}]: {text}")


# What several sections check --------------------------------------------------------------------


def check_length(place: Place, row: Sequence[object], size: int, meaning: str) -> None:
    """Refuse a list of another length; `meaning` says what its entries are."""
    if len(row) != size:
        wanted = f"a list of {size} ({meaning})"
        raise problem_error(place, wanted, len(row), f"make it {size} long")


def check_square(place: Place, rows: Sequence[Sequence[object]]) -> None:
    """Refuse a matrix with a row that is not as long as there are rows."""
    size = len(rows)
    for i, row in enumerate(rows):
        if len(row) != size:
            wanted = f"{size} numbers, one for each of the {size} rows"
            raise problem_error((*place, i), wanted, len(row), "make the matrix square")


def check_agent(place: Place, agent: int, agents: int, *, remedy: str = "correct it") -> None:
    """Refuse a number that no agent has."""
    if not 0 <= agent < agents:
        raise problem_error(place, f"an agent from 0 to {agents - 1}", agent, remedy)


def check_distinct(place: Place, names: Sequence[str]) -> None:
    """Refuse a name that stands twice."""
    for k, name in enumerate(names):
        if name in names[:k]:
            got = describe(name)
            raise problem_error((*place, k), "names that differ", got, "rename one of the two")


def check_one(wanted: str, first: object, second: object, *, neither: str) -> None:
    """Refuse two keys of which not exactly one is given; `neither` is the remedy for none."""
    if (first is None) == (second is None):
        got, remedy = ("neither", neither) if first is None else ("both", "keep one of them")
        raise problem_error((), wanted, got, remedy)


# JSON schemas of sections -----------------------------------------------------------------------


def given(key: str) -> dict[str, Any]:
    """The JSON schema of a table that has this key; null stands for one that is left out."""
    return {"required": [key], "properties": {key: {"not": {"type": "null"}}}}


def exactly_one(*keys: str) -> dict[str, Any]:
    """The JSON schema of a table that has exactly one of these keys.

    >>> exactly_one("a")
    {'oneOf': [{'required': ['a'], 'properties': {'a': {'not': {'type': 'null'}}}}]}
    """
    return {"oneOf": [given(key) for key in keys]}


def at_most_one(*keys: str) -> dict[str, Any]:
    """The JSON schema of a table that has one of these keys, or none."""
    present = [given(key) for key in keys]
    return {"oneOf": [*present, {"not": {"anyOf": present}}]}


def only_with(key: str, other: str, *values: str) -> dict[str, Any]:
    """The JSON schema of a table that has `key` if `other` has one of these values, else not."""
    return {"if": _is(other, *values), "then": given(key), "else": {"not": given(key)}}


def allowed_with(key: str, other: str, *values: str) -> dict[str, Any]:
    """The JSON schema of a table that may have `key` if `other` has one of these values."""
    return {"if": given(key), "then": _is(other, *values)}


def _is(key: str, *values: str) -> dict[str, Any]:
    one = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return {"required": [key], "properties": {key: one}}


def without_agents(schema: dict[str, Any]) -> None:
    """Change a JSON schema: the number of agents may be left out where they have names."""
    schema["required"].remove("agents")
    key = schema["required"][0]
    named = {"type": "array", "contains": {"type": "array", "contains": {"type": "string"}}}
    schema["anyOf"] = [given("agents"), given("names"), {"properties": {key: named}}]


def by_agent(schema: dict[str, Any]) -> None:
    """Change the JSON schema of a list, one entry an agent: a table by agent will do."""
    kinds = [kind for one in schema["anyOf"] for kind in one.get("oneOf", [one])]
    entry = next(kind["items"] for kind in kinds if "items" in kind)
    table = {"type": "object", "minProperties": 1, "additionalProperties": entry}
    schema["anyOf"].append(table)


# Numbers ----------------------------------------------------------------------------------------


def parse_number(value: object) -> Rational:
    """A file's number: a `Fraction` if written as a string, else a finite float.

    >>> parse_number("9/10"), parse_number("0.25"), parse_number(2)
    (Fraction(9, 10), Fraction(1, 4), 2.0)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            real = float(value)
        except OverflowError:
            real = math.inf
        if not math.isfinite(real):
            raise problem_error((), "a finite number", real, "replace it by a finite number")
        _check_size(real)
        return real
    if isinstance(value, str):
        return _parse_short(value) if len(value) <= _SHORT else _parse_text(value)
    if not isinstance(value, Fraction):
        raise problem_error((), _NUMBER, describe(value), "give a number")
    _check_size(value)
    return value


def _parse_text(value: str) -> Fraction:
    """The rational that a text writes."""
    text = value.strip()
    if len(text) > _LONGEST_NUMBER:
        raise problem_error((), _NUMBER, f"{len(text)} characters", "use fewer digits")
    if not _RATIONAL.fullmatch(text):
        raise problem_error((), _NUMBER, describe(value), "write a decimal or a fraction")
    try:
        number = Fraction(text)
    except ZeroDivisionError:
        raise problem_error((), _NUMBER, describe(value), "mend the denominator") from None
    _check_size(number)
    return number


# The zeros and the thirds of a table are read once.
_parse_short = lru_cache(maxsize=4096)(_parse_text)


def _check_size(number: Rational) -> None:
    if isinstance(number, float) and (number == 0 or 1e-290 < abs(number) < 1e290):
        return  # comparing with fractions takes longer
    size = -number if number < 0 else number
    if size and not _SMALLEST <= size <= _LARGEST:
        got = number_text(number)
        raise problem_error((), "0 or a size of 1e-300 to 1e300", got, "rescale it")


def number_text(value: Rational) -> str:
    """A number for a message."""
    return shorten(str(value)) if isinstance(value, Fraction) else f"{value:g}"


def dumped(value: Rational) -> str | float:
    """A number as a file writes it."""
    return str(value) if isinstance(value, Fraction) else value


def _parse_probability(value: object) -> Rational:
    number = parse_number(value)
    if number < 0:
        got = number_text(number)
        raise problem_error((), "a number of at least 0", got, "make it non-negative")
    return number


def _parse_positive(value: object) -> Rational:
    number = parse_number(value)
    if number <= 0:
        raise problem_error((), "a number above 0", number_text(number), "make it positive")
    return number


def sums_to_one(
    row: tuple[Rational, ...], place: tuple[str | int, ...] = (), *, of: str = ""
) -> tuple[Rational, ...]:
    """The row, if it sums to one: exactly if all of it is exact, else up to rounding.

    Raises
    ------
    PydanticCustomError
        If it does not; `place` says where, and `of` whose numbers they are.
    """
    remedy = 'mend the row, or write fractions such as "1/3"'
    size = total_of(row)
    if not is_one(size, len(row)):
        wanted, got = f"numbers that sum to 1{of}", f"a sum of {float(size):.12g}"
        if isinstance(size, Fraction):
            wanted = f"exact numbers that sum to exactly 1{of}"
            got = f"a sum of {shorten(str(size))} = {float(size):.12g}"
        raise problem_error(place, wanted, got, remedy)
    return row


def total_of(numbers: Collection[Rational]) -> Rational:
    """The sum, exactly if all numbers are exact."""
    if all(isinstance(number, Fraction) for number in numbers):
        return sum((number for number in numbers if number), Fraction(0))
    return math.fsum(map(float, numbers))


def is_one(total: Rational, count: int) -> bool:
    """Whether a sum of `count` numbers is 1: exactly if it is exact, else up to rounding."""
    if isinstance(total, Fraction):
        return total == 1
    # A decimal typed in full is off by at most half a unit in the last place, hence the second
    # term; the first is the tolerance of every distribution in the project.
    return abs(total - 1) <= SUM_TOLERANCE + count * 2.0**-52


def list_only(value: object) -> object:
    """A list with something in it: checked before anything else, for a plainer message."""
    if not isinstance(value, list | tuple):
        raise problem_error((), "a list", describe(value), "put it in square brackets")
    if not value:
        raise problem_error((), "at least one entry", "an empty list", "fill it in")
    return value


def json_number(*, signed: bool, **bounds: float) -> WithJsonSchema:
    """The JSON schema of a number, exact or not."""
    text: dict[str, Any] = {
        "type": "string",
        "pattern": rf"^\s*{'[+-]?' if signed else '[+]?'}{_UNSIGNED}\s*$",
        "description": "an exact rational",
    }
    return WithJsonSchema({"anyOf": [{"type": "number", **bounds}, text]})


Number = TypeAliasType(
    "Number",
    Annotated[
        Fraction | float,
        PlainValidator(parse_number),
        PlainSerializer(dumped),
        json_number(signed=True),
    ],
)
PositiveNumber = TypeAliasType(
    "PositiveNumber",
    Annotated[
        Fraction | float,
        PlainValidator(_parse_positive),
        PlainSerializer(dumped),
        json_number(signed=False, exclusiveMinimum=0),
    ],
)
Probability = TypeAliasType(
    "Probability",
    Annotated[
        Fraction | float,
        PlainValidator(_parse_probability),
        PlainSerializer(dumped),
        json_number(signed=False, minimum=0, maximum=1),
    ],
)

# Rows, names and agents -------------------------------------------------------------------------

Item = TypeVar("Item")
# Strict mode would ask for a Python tuple; files give lists.
Row = Annotated[tuple[Item, ...], Field(strict=False, min_length=1), BeforeValidator(list_only)]
Several = Annotated[tuple[Item, ...], Field(strict=False)]
"""A list that may be empty."""
Name = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Name, ...], Field(strict=False, min_length=2), BeforeValidator(list_only)]
"""Two names or more."""
_NAME: dict[str, Any] = {"type": "string", "minLength": 1, "description": "an agent's name"}
_OF_AGENT = WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, _NAME]})
Agent = Annotated[int, Field(ge=0), _OF_AGENT]
"""An agent's number; its name in a file (`peerbayes.problem.agents_by_name`)."""
Agents = Several[Agent]
NameOrNumber = Annotated[
    Annotated[int, Field(ge=0), Tag(TAG + "number")] | Annotated[Name, Tag(TAG + "name")],
    Discriminator(lambda value: TAG + ("name" if isinstance(value, str) else "number")),
]
"""An agent of a network that is not known yet."""
Pair = Annotated[
    tuple[Annotated[int, _OF_AGENT], ...],
    Field(strict=False, min_length=2, max_length=2),
    BeforeValidator(list_only),
]
"""Two agents' numbers; their names in a file."""
Distribution = TypeAliasType(
    "Distribution", Annotated[Row[Probability], AfterValidator(lambda row: sums_to_one(row))]
)
"""Probabilities that sum to one."""
Table = Row[Distribution]
"""A distribution over y for each x."""

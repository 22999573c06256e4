"""Numbers, rows and tables as a problem file writes them.

A number written as a string (``"9/10"``, ``"0.9"``) is an exact rational and becomes a
`fractions.Fraction`; a bare number is a float. A distribution sums to one: exactly if all its
numbers are exact, else up to rounding. Each type here checks itself, knows how to be written
again, and has a JSON schema.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    Tag,
    WithJsonSchema,
)
from typing_extensions import TypeAliasType

from peerbayes.messages import TAG, describe, guessed, problem_error, shorten
from peerbayes.settings.declared import Settings, declared_in
from theory.validation import SUM_TOLERANCE

# Numbers, rows and tables as a problem file writes them ------------------------------------------


_UNSIGNED = r"(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?)"
_RATIONAL = re.compile("[+-]?" + _UNSIGNED, re.ASCII)
# Python refuses to read integers of more than 4300 digits, to bound the time it takes.
_LONGEST_NUMBER = 4000
_SHORT = 40
# Inside this range a rational has a double that is neither zero nor infinite.
_SMALLEST, _LARGEST = Fraction(1, 10**300), Fraction(10**300)

Rational = Fraction | float


class Section(BaseModel):
    """A table of the file: immutable, with no unknown keys and no silent conversions."""

    # Built when first used: most problem files have few of the sections.
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True
    )


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


def only_with(key: str, others: Mapping[str, str]) -> dict[str, Any]:
    """The JSON schema of a table that has `key` if others have these values, and only then."""
    values = {name: {"const": value} for name, value in others.items()}
    named = {"required": list(others), "properties": values}
    return {"if": named, "then": given(key), "else": {"not": given(key)}}


def allowed_with(key: str, others: Mapping[str, str]) -> dict[str, Any]:
    """The JSON schema of a table that may have `key` if others have these values, and only then."""
    values = {name: {"const": value} for name, value in others.items()}
    return {"if": given(key), "then": {"required": list(others), "properties": values}}


def without_agents(schema: dict[str, Any]) -> None:
    """Change a JSON schema: the number of agents may be left out where they have names."""
    schema["required"].remove("agents")
    key = schema["required"][0]
    named = {"type": "array", "contains": {"type": "array", "contains": {"type": "string"}}}
    schema["anyOf"] = [given("agents"), given("names"), {"properties": {key: named}}]


def by_agent(entry: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a table with one entry an agent, by name."""
    return {"type": "object", "minProperties": 1, "additionalProperties": entry}


def parse_number(value: object) -> Rational:
    """A file's number: a `Fraction` if written as a string, else a finite float.

    >>> parse_number("9/10"), parse_number("0.25"), parse_number(2)
    (Fraction(9, 10), Fraction(1, 4), 2.0)
    """
    wanted = 'a number, or a string such as "9/10" or "0.9"'
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
        raise problem_error((), wanted, describe(value), "give a number")
    _check_size(value)
    return value


def _parse_text(value: str) -> Fraction:
    """The rational that a text writes."""
    wanted = 'a number, or a string such as "9/10" or "0.9"'
    text = value.strip()
    if len(text) > _LONGEST_NUMBER:
        raise problem_error((), wanted, f"{len(text)} characters", "use fewer digits")
    if not _RATIONAL.fullmatch(text):
        raise problem_error((), wanted, describe(value), "write a decimal or a fraction")
    try:
        number = Fraction(text)
    except ZeroDivisionError:
        raise problem_error((), wanted, describe(value), "mend the denominator") from None
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


def _dump_number(value: Rational) -> str | float:
    return str(value) if isinstance(value, Fraction) else value


def _parse_probability(value: object) -> Rational:
    number = parse_number(value)
    if number < 0:
        raise problem_error(
            (), "a number of at least 0", number_text(number), "make it non-negative"
        )
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
    exact = [entry for entry in row if isinstance(entry, Fraction)]
    if len(exact) == len(row):
        total = sum((entry for entry in exact if entry), Fraction(0))
        if total != 1:
            got = f"a sum of {shorten(str(total))} = {float(total):.12g}"
            raise problem_error(place, f"exact numbers that sum to exactly 1{of}", got, remedy)
        return row
    size = math.fsum(float(entry) for entry in row)
    # A decimal typed in full is off by at most half a unit in the last place, hence the second
    # term; the first is the tolerance of every distribution in the project.
    if abs(size - 1) > SUM_TOLERANCE + len(row) * 2.0**-52:
        raise problem_error(place, f"numbers that sum to 1{of}", f"a sum of {size:.12g}", remedy)
    return row


def _distribution(row: tuple[Rational, ...]) -> tuple[Rational, ...]:
    return sums_to_one(row)


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
        PlainSerializer(_dump_number),
        json_number(signed=True),
    ],
)
PositiveNumber = TypeAliasType(
    "PositiveNumber",
    Annotated[
        Fraction | float,
        PlainValidator(_parse_positive),
        PlainSerializer(_dump_number),
        json_number(signed=False, exclusiveMinimum=0),
    ],
)
Probability = TypeAliasType(
    "Probability",
    Annotated[
        Fraction | float,
        PlainValidator(_parse_probability),
        PlainSerializer(_dump_number),
        json_number(signed=False, minimum=0, maximum=1),
    ],
)

Item = TypeVar("Item")
# Strict mode would ask for a Python tuple; files give lists.
Row = Annotated[tuple[Item, ...], Field(strict=False, min_length=1), BeforeValidator(list_only)]
Names = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    Field(strict=False, min_length=2),
    BeforeValidator(list_only),
]
"""Two names or more."""
_NAME: dict[str, Any] = {"type": "string", "minLength": 1, "description": "an agent's name"}
_OF_AGENT = WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, _NAME]})
Agent = Annotated[int, Field(ge=0), _OF_AGENT]
"""An agent's number; its name in a file (`peerbayes.problem.agents_by_name`)."""
Agents = Annotated[tuple[Agent, ...], Field(strict=False)]
NameOrNumber = Annotated[
    Annotated[int, Field(ge=0), Tag(TAG + "number")]
    | Annotated[str, Field(min_length=1), Tag(TAG + "name")],
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
    "Distribution", Annotated[Row[Probability], AfterValidator(_distribution)]
)
"""Probabilities that sum to one."""
Table = Row[Distribution]
"""A distribution over y for each x."""


@contextmanager
def placed(source: str, place: str, section: Section) -> Iterator[None]:
    """Put file and table in front of the messages of the packages below."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        key = text.partition(":")[0].partition("[")[0]
        joint = "." if key in type(section).model_fields else ": "
        prefix = f"{source}: " if source else ""
        raise ValueError(f"{prefix}{place}{joint}{text}") from None


# Keys of files that are settings too -------------------------------------------------------------


def key_of(settings: Callable[..., Settings], name: str, **also: Any) -> Any:
    """The field of a section for the setting of a name.

    Parameters
    ----------
    also
        What the file has otherwise, such as another ``default``.

    Examples
    --------
    >>> from peerbayes.settings.nets import Train
    >>> key_of(Train, "batch").default
    50
    """
    declared = {one.name: one for one in declared_in(settings)}[name]
    assert declared.setting is not None
    default = {} if declared.default is MISSING else {"default": declared.default}
    meaning = {"description": declared.setting.help}
    return Field(**default | meaning | declared.setting.domain.bounds | also)

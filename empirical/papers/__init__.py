"""The papers as data: rows, recipes, what is printed of them, in TOML files of this folder.

A file is read once (`tables`). Its entries are made into frozen dataclasses (`built`), by which
their keys and values are checked: what is misspelt or of another type is refused in one line.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from theory.validation import fail

T = TypeVar("T")


@cache
def tables(name: str) -> Mapping[str, Any]:
    """What a file says, by its name without an ending.

    >>> sorted(tables("rows"))
    ['federated', 'recipes', 'rows', 'schedule']
    """
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def built(kind: type[T], table: Mapping[str, Any], **more: Any) -> T:
    """A frozen dataclass from a table of its fields; lists are tuples where its fields are.

    `more` are fields that stand elsewhere.

    Raises
    ------
    ValueError
        If a key is none of its fields or lacks, or a value is of another type; in one line.
    """
    hints = get_type_hints(kind)
    values = {}
    for key, value in table.items():
        if key not in hints:
            raise fail(
                f"{kind.__name__} {dict(table)}", f"one of {', '.join(hints)}", key, "mend it"
            )
        values[key] = _value(hints[key], value, f"{kind.__name__}.{key}")
    try:
        return kind(**{**values, **more})
    except TypeError as error:
        raise ValueError(f"{kind.__name__} {dict(table)}: {error}") from None


def _value(hint: Any, value: Any, where: str) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        return built(hint, value)
    if get_origin(hint) is tuple and isinstance(value, list):
        inner = get_args(hint)
        each = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_value(*pair, where) for pair in zip(each, value, strict=True))
    if hint in (str, int, float, bool) and type(value) is not hint:
        raise fail(where, f"of type {hint.__name__}", repr(value), "mend the file")
    return value

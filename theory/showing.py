"""How objects show themselves: a few lines in a terminal, a small table in a notebook.

Numbers have six digits; an array is abbreviated by its shape and the range of its entries.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

LINES = 12
"""No object takes more lines than this."""
COLUMNS = 80
"""No line is longer than this."""
# Entries of an array, members of a sequence or a mapping that are written out.
_FEW = 6
# Digits of a fraction that is written out.
_DIGITS = 24


class Words(str):
    """A text that is shown without quotation marks, as it is no name."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The text itself."""
        return str(self)


class Shown:
    """Base of dataclasses that print as at most 12 lines of 80 columns, and as HTML tables."""

    def __init_subclass__(cls) -> None:
        """Keep `dataclass` from making a text of its own."""
        super().__init_subclass__()
        if "__repr__" not in vars(cls):
            cls.__repr__ = Shown.__repr__  # type: ignore[method-assign]

    def _title(self) -> str:
        """What this is, in a few words; a class that overrides it shows as the words in others."""
        return type(self).__name__

    def _facts(self) -> Iterable[tuple[str, object]]:
        """Names and values to show: the fields."""
        return facts_of(self)

    def __repr__(self) -> str:
        """One line if it fits, like a call, or a line for each fact."""
        title = self._title()
        if title == type(self).__name__:
            line = _call(self)
            if len(line) <= COLUMNS:
                return line
        rows = rows_of(self)
        width = max((len(name) for name, _ in rows), default=0)
        lines = [title, *(f"  {name:<{width}}  {text}" for name, text in rows)]
        return "\n".join(_cut(line, COLUMNS) for line in lines)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: not what can be computed again."""
        kind = type(self)
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }

    def _repr_html_(self) -> str:
        """The same rows as a table, for notebooks."""
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>"
            for name, text in rows_of(self)
        )
        return f"<table><caption>{escape(self._title())}</caption>{rows}</table>"


def facts_of(value: object) -> list[tuple[str, object]]:
    """The public fields of a dataclass, by name."""
    fields = dataclasses.fields(value)  # type: ignore[arg-type]
    return [(f.name, getattr(value, f.name)) for f in fields if f.repr and f.name[0] != "_"]


def rows_of(value: Shown) -> list[tuple[str, str]]:
    """Names and texts of an object's facts: at most 11 rows, the last names what is left out."""
    facts = list(value._facts())
    kept = facts if len(facts) < LINES else facts[: LINES - 2]
    rows = [(name, _cut(brief(fact), COLUMNS)) for name, fact in kept]
    if len(kept) < len(facts):
        rows.append(("and", ", ".join(name for name, _ in facts[len(kept) :])))
    return rows


def _entries_stored(value: Any) -> str:
    """A sparse array in words."""
    return f"{_array_range(value.data, value.shape)}, {value.nnz} entries stored"


def brief(value: object) -> str:
    """A value in one short line: numbers with six digits, arrays by shape and range.

    Examples
    --------
    >>> brief(np.linspace(0.05, 0.55, 9))
    '9 values, 0.05 to 0.55'
    >>> brief(np.zeros((1000, 50)))
    '1000 x 50, all 0'
    >>> brief(("fair", "loaded")), brief(0.14384103622589042)
    ("('fair', 'loaded')", '0.143841')
    """
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, int | np.integer):
        return _whole(int(value))
    if isinstance(value, Fraction):
        return _fraction(value)
    if isinstance(value, np.ndarray):
        return _array(value)
    if hasattr(value, "nnz"):
        return _entries_stored(value)
    if isinstance(value, Mapping):
        keys = _first(value)
        return _members([f"{_key(key)}: {brief(value[key])}" for key in keys], value, "{}")
    if isinstance(value, tuple | list):
        ends = "()" if isinstance(value, tuple) else "[]"
        return _members([brief(member) for member in _first(value)], value, ends)
    if isinstance(value, Shown) and value._title() != type(value).__name__:
        return value._title()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # A class with a text of its own, such as a number, is shown by it.
        own = type(value).__str__ is not object.__str__
        return _cut(str(value), COLUMNS) if own else _call(value)
    if hasattr(value, "nrows") and hasattr(value, "ncols"):
        return f"{value.nrows()} x {value.ncols()}"
    return _cut(" ".join(repr(value).split()), COLUMNS)


def _call(value: object) -> str:
    facts = value._facts() if isinstance(value, Shown) else facts_of(value)
    inside = ", ".join(f"{name}={brief(fact)}" for name, fact in facts)
    return f"{type(value).__name__}({inside})"


def _first(members: Iterable[object]) -> list[object]:
    return list(itertools.islice(members, _FEW))


def _members(texts: list[str], whole: Sequence[object] | Mapping[object, object], ends: str) -> str:
    if len(whole) > len(texts):
        return f"{len(whole)} entries: {', '.join(texts)}, …"
    comma = "," if ends == "()" and len(texts) == 1 else ""
    return f"{ends[0]}{', '.join(texts)}{comma}{ends[1]}"


def _key(value: object) -> str:
    return value if isinstance(value, str) else brief(value)


def _whole(number: int) -> str:
    if number.bit_length() > 80:
        return f"a whole number of about {number.bit_length() * 0.30103:.0f} digits"
    return str(number)


def _fraction(number: Fraction) -> str:
    if number.numerator.bit_length() + number.denominator.bit_length() > _DIGITS * 3.33:
        try:
            return f"about {float(number):.6g}"
        except OverflowError:
            return "a fraction beyond 1e308"
    return str(number)


def _array(values: np.ndarray) -> str:
    if values.ndim == 0:
        return brief(values.item())
    if values.ndim == 1 and values.size <= _FEW:
        return f"[{', '.join(brief(entry) for entry in values.tolist())}]"
    if values.dtype == np.bool_:
        return f"{_shape(values.shape)}, {np.count_nonzero(values)} true"
    return _array_range(values, values.shape)


def _array_range(values: np.ndarray, shape: tuple[int, ...]) -> str:
    if values.dtype.kind not in "iuf" or not values.size:
        return _shape(shape)
    finite = values[np.isfinite(values)]
    rest = "" if finite.size == values.size else ", some not finite"
    if not finite.size:
        return f"{_shape(shape)}, none finite"
    low, high = brief(finite.min()), brief(finite.max())
    return f"{_shape(shape)}, {f'all {low}' if low == high else f'{low} to {high}'}{rest}"


def _shape(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} values" if len(shape) == 1 else " x ".join(map(str, shape))


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: columns - 1] + "…"

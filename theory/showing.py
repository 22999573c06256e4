"""How objects show themselves: a few lines in a terminal, a small table in a notebook.

Numbers have six digits; an array is abbreviated by its shape and the range of its entries.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from html import escape
from typing import TYPE_CHECKING, Any

from theory.lazy import later

if TYPE_CHECKING:
    import numpy as np
else:
    np = later("numpy")

# How objects show themselves ---------------------------------------------------------------------


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


# Value objects -----------------------------------------------------------------------------------


# Members of a sequence that a hash reads.
_MEMBERS = 64
# What a sparse array in rows is made of.
_SPARSE = ("indptr", "indices", "data")


class Value(Shown):
    """Base of dataclasses (frozen, eq=False) that are equal and hash alike by what they hold."""

    def _parts(self) -> tuple[object, ...]:
        """What must be equal for two objects of this type to be equal."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return tuple(getattr(self, field.name) for field in fields)

    @cached_property
    def _hash(self) -> int:
        digest = hashlib.blake2b(type(self).__qualname__.encode(), digest_size=8)
        for part in self._parts():
            for piece in _pieces(part):
                digest.update(piece)
        return int.from_bytes(digest.digest(), "big")

    def __eq__(self, other: object) -> bool:
        """Whether both are of one type and hold the same, arrays to the last bit."""
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Value)
        pairs = zip(self._parts(), other._parts(), strict=True)
        return all(_same(one, two) for one, two in pairs)

    def __hash__(self) -> int:
        """The same for equal objects, in every process."""
        return hash(self._hash)


def _same(one: Any, two: Any) -> bool:
    if one is two:
        return True
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return _same_arrays(one, two)
    if _is_sparse(one):
        return one.shape == two.shape and all(
            _same_arrays(getattr(one, name), getattr(two, name)) for name in _SPARSE
        )
    if isinstance(one, tuple | list) and isinstance(two, tuple | list):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return one.keys() == two.keys() and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, float):
        return repr(one) == repr(two)
    if isinstance(one, partial) and isinstance(two, partial):
        return one.func == two.func and _same(one.args, two.args)
    if _is_compared_by_fields(one):
        names = [field.name for field in dataclasses.fields(one) if field.compare]
        return all(_same(getattr(one, name), getattr(two, name)) for name in names)
    return bool(one == two)


def _is_sparse(one: object) -> bool:
    """Whether it is a sparse array in rows; SciPy is not imported to see that."""
    return type(one).__name__ == "csr_array"


def _is_compared_by_fields(one: object) -> bool:
    """Whether it is a dataclass that does not say itself when two are equal."""
    kind: Any = type(one)
    how = getattr(kind, "__dataclass_params__", None)
    if how is None or isinstance(one, Value):
        return False
    return kind.__eq__ is object.__eq__ or bool(how.eq)


def _same_arrays(one: np.ndarray, two: np.ndarray) -> bool:
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    if one.dtype.hasobject:
        return bool(np.array_equal(one, two))
    return bool(np.array_equal(_bytes(one), _bytes(two)))


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _pieces(part: Any) -> Iterator[bytes | memoryview]:
    """What a hash reads: equal parts give equal pieces."""
    yield type(part).__name__.encode()
    if isinstance(part, np.ndarray):
        yield f"{part.dtype.str}{part.shape}".encode()
        if not part.dtype.hasobject:
            yield _bytes(part).data
    elif _is_sparse(part):
        yield f"{part.shape}".encode()
        for name in _SPARSE:
            yield _bytes(getattr(part, name)).data
    elif isinstance(part, tuple | list):
        yield f"{len(part)}".encode()
        for member in part[:_MEMBERS]:
            yield from _pieces(member)
    elif isinstance(part, Mapping):
        yield f"{len(part)}".encode()
    elif isinstance(part, Value):
        yield f"{part._hash}".encode()
    elif hasattr(part, "nrows") and hasattr(part, "ncols"):
        yield f"{part.nrows()} {part.ncols()}".encode()
        for k in range(min(part.nrows(), part.ncols(), _MEMBERS)):
            yield f"{part[k, 0]} {part[0, k]} {part[k, k]};".encode()
    elif isinstance(part, bool | int | float | str | Fraction):
        yield repr(part).encode()

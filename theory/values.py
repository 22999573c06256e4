"""Value objects: frozen dataclasses of arrays that are equal where all they hold is equal.

Arrays are equal if they have the same type, shape and bytes. A hash is computed when first asked
for, then kept; of a long sequence it reads the first members only, so that a network of a million
phases has its hash as quickly as a small one.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from theory.showing import Shown

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
        names = [field.name for field in dataclasses.fields(one)]
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

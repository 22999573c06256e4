"""Examples as learners take them: inputs, and what is to be said of each."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.validation import fail, read_only

Kind = Literal["classes", "numbers", "counts"]


@dataclass(frozen=True)
class Target:
    """One thing that a net is to say of each input.

    Attributes
    ----------
    name
        The column's name, or ``"label"`` where there are no columns.
    kind
        ``"classes"``, ``"numbers"`` (real), or ``"counts"`` (whole numbers from 0).
    classes
        The names of the classes, in the order of their numbers; None of a number or a count.
    """

    name: str = "label"
    kind: Kind = "classes"
    classes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if (self.kind == "classes") != bool(self.classes):
            wanted = "names of classes for kind 'classes', and for no other"
            raise fail("classes", wanted, f"{self.classes} for {self.kind!r}", "change one of them")
        if self.classes is not None and len(set(self.classes)) < len(self.classes):
            raise fail("classes", "distinct names", list(self.classes), "name each class once")


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and labels.

    Parameters
    ----------
    inputs
        Shape (n, …): real numbers, kept as float32, or tokens, kept as int64.
    labels
        Shape (n,), or (n, k) of k targets: int64 class numbers, or float64 numbers in the units of
        the data. No examples, n = 0, are examples too: an agent may have none for validation.

    Raises
    ------
    ValueError
        If there is not one label an input, or an entry is no finite number.
    """

    inputs: NDArray[Any]
    labels: NDArray[Any]

    def __post_init__(self) -> None:
        inputs = as_inputs("inputs", self.inputs)
        labels = _numbers("labels", self.labels)
        if labels.dtype.kind != "i":
            labels = labels.astype(np.float64, copy=False)
        if labels.ndim not in (1, 2) or labels.shape[:1] != inputs.shape[:1]:
            raise fail(
                "labels",
                f"shape ({inputs.shape[0]},) or ({inputs.shape[0]}, k), one for each input",
                f"shape {labels.shape}",
                "give one label an input",
            )
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise fail("labels", "finite numbers", "NaN or infinity", "leave those examples out")
        object.__setattr__(self, "inputs", _frozen(inputs))
        object.__setattr__(self, "labels", _frozen(labels))

    def __len__(self) -> int:
        return int(self.inputs.shape[0])

    def take(self, rows: ArrayLike) -> Examples:
        """Some of the examples, by their positions."""
        positions = np.asarray(rows, dtype=np.int64)
        return Examples(self.inputs[positions], self.labels[positions])


def as_finite(argument: str, values: ArrayLike, *, missing: bool = False) -> NDArray[Any]:
    """Inputs in the type they have, floating point or int64; shape (n, …).

    Parameters
    ----------
    missing
        Whether NaN may stand for missing ones.

    Raises
    ------
    ValueError
        If they are not numbers, not finite, or have no axis but the first.
    """
    array = _numbers(argument, values)
    if array.ndim < 2:
        wanted = "shape (n, …), one row an input"
        raise fail(argument, wanted, f"shape {array.shape}", "reshape single numbers to (n, 1)")
    wrong = np.isinf(array) if missing else ~np.isfinite(array)
    if wrong.any():
        place = [int(k) for k in np.argwhere(wrong)[0]]
        got = f"{array[tuple(place)]} at {place}"
        raise fail(argument, "finite numbers", got, "replace it, or leave the row out")
    return array


def as_inputs(argument: str, values: ArrayLike) -> NDArray[Any]:
    """Inputs as nets take them: float32, or int64 where they are of a whole-number type.

    Raises
    ------
    ValueError
        As :func:`as_finite`, or if one is too large for float32.
    """
    array = as_finite(argument, values)
    if array.dtype.kind == "i":
        return array
    with np.errstate(over="ignore"):
        single = array.astype(np.float32, copy=False)
    if not np.isfinite(single).all():
        place = [int(k) for k in np.argwhere(~np.isfinite(single))[0]]
        got = f"{array[tuple(place)]:g} at {place}"
        raise fail(argument, "numbers below 3e38", got, "standardise the inputs, or rescale them")
    return single


def _numbers(argument: str, values: Any) -> NDArray[Any]:
    try:
        array = plain(values)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "fiub":
        got, odd = "ragged or no values", _odd_entry(array)
        if odd is not None:
            entry = array[odd].item() if isinstance(array[odd], np.generic) else array[odd]
            got = f"entries of type {type(entry).__name__}: {entry!r} at {list(odd)}"
        raise fail(argument, "an array of numbers", got, "give rows of one length, in numbers")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        return array.astype(np.float64)
    return array if array.dtype.kind == "f" else array.astype(np.int64, copy=False)


def plain(values: Any) -> NDArray[Any]:
    """An array of what tensors, masked arrays, frames and lists hold; NaN where a mask hides it.

    Raises
    ------
    TypeError, ValueError, OverflowError
        If they hold no array.
    """
    if hasattr(values, "detach"):  # a tensor
        tensor = values.detach().cpu()
        values = tensor.float().numpy() if "bfloat" in str(tensor.dtype) else tensor.numpy()
    if np.ma.is_masked(values):
        values = values.astype(np.float64).filled(np.nan)
    return unboxed(np.asarray(values))


def unboxed(array: NDArray[Any]) -> NDArray[Any]:
    """Entries of type object as what all of them are: truth values, whole or other numbers.

    None and pandas' NA among numbers become NaN. What is none of these is given back as it is.

    >>> unboxed(np.array([True, 2, 0.5], dtype=object))
    array([1. , 2. , 0.5])
    """
    if array.dtype != object or not array.size:
        return array
    entries = array.ravel().tolist()
    if all(isinstance(one, bool | np.bool_) for one in entries):
        return array.astype(bool)
    if all(isinstance(one, Integral | np.bool_) for one in entries):
        whole = np.array([int(one) for one in entries])
        return (whole.astype(np.float64) if whole.dtype == object else whole).reshape(array.shape)
    if not all(_is_number(one) or _is_absent(one) for one in entries):
        return array
    numbers = [np.nan if _is_absent(one) else float(one) for one in entries]
    return np.array(numbers).reshape(array.shape)


def _is_number(entry: object) -> bool:
    return isinstance(entry, Real | Decimal | np.bool_)


def _is_absent(entry: object) -> bool:
    """Whether an entry is None or pandas' NA."""
    return entry is None or type(entry).__name__ == "NAType"


def _odd_entry(array: NDArray[Any]) -> tuple[int, ...] | None:
    """The place of the first entry that is no number."""
    places = np.ndindex(array.shape)
    return next((place for place in places if not _is_number(array[place])), None)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array as nobody can change it: a copy, if somebody else could."""
    return array if not array.flags.writeable else read_only(array.copy())

"""Examples as learners take them: inputs, and what is to be said of each."""

from __future__ import annotations

from dataclasses import dataclass
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


def as_finite(argument: str, values: ArrayLike) -> NDArray[Any]:
    """Inputs in the type they have, floating point or int64; shape (n, …).

    Raises
    ------
    ValueError
        If they are not numbers, not finite, or have no axis but the first.
    """
    array = _numbers(argument, values)
    if array.ndim < 2:
        wanted = "shape (n, …), one row an input"
        raise fail(argument, wanted, f"shape {array.shape}", "reshape single numbers to (n, 1)")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        place = [int(k) for k in np.argwhere(~np.isfinite(array))[0]]
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
    if hasattr(values, "detach"):  # a tensor
        values = values.detach().cpu().numpy()
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "fiub":
        got = f"entries of type {array.dtype}" if array.size else "ragged or no values"
        raise fail(argument, "an array of numbers", got, "give rows of one length, in numbers")
    return array if array.dtype.kind == "f" else array.astype(np.int64, copy=False)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array as nobody can change it: a copy, if somebody else could."""
    return array if not array.flags.writeable else read_only(array.copy())


def is_number(text: object) -> bool:
    """Whether a text could be a number, such as ``"1e3"``."""
    try:
        float(str(text))
    except ValueError:
        return False
    return True

"""Examples as learners take them: inputs, and what is to be said of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail, read_only

# Examples as learners take them ------------------------------------------------------------------


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
            wanted = f"shape ({inputs.shape[0]},) or ({inputs.shape[0]}, k), one for each input"
            raise fail("labels", wanted, f"shape {labels.shape}", "give one label an input")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise fail("labels", "finite numbers", "NaN or infinity", "leave those examples out")
        object.__setattr__(self, "inputs", _frozen(inputs))
        object.__setattr__(self, "labels", _frozen(labels))

    def __len__(self) -> int:
        return int(self.inputs.shape[0])

    @property
    def kind(self) -> str:
        """Shapes and types of one input and one label, in words."""
        inputs, labels = self.inputs, self.labels
        return f"{inputs.shape[1:]} of {inputs.dtype}, labels {labels.shape[1:]} of {labels.dtype}"


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


def listed(names: Sequence[str], most: int = 8) -> str:
    """The first names, and an ellipsis where there are more.

    >>> listed("abc", 2)
    'a, b, …'
    """
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array as nobody can change it: a copy, if somebody else could."""
    return array if not array.flags.writeable else read_only(array.copy())


# Means and variances of all agents' inputs, from sums that each agent takes of its own -----------


# Rows that are turned to float64 at a time.
_BLOCK = 1024
# Numbers that differ by less, relatively, are one number: a few roundings apart.
_LAST_BITS = 4 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Moments:
    """What an agent tells of its inputs.

    Attributes
    ----------
    count
        How many numbers there are of each feature.
    mean, squares
        Of each feature the mean, and the sum of squared deviations from the mean; shaped so that
        they fit an input: (features,), (channels, 1, 1) or ().
    """

    count: int
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, inputs: ArrayLike) -> Moments:
        """The moments of inputs of shape (n, …), n ≥ 1, in two passes over a block of rows each.

        Examples
        --------
        >>> moments = Moments.of([[1.0, 5.0], [3.0, 5.0]])
        >>> moments.count, moments.mean.tolist(), moments.squares.tolist()
        (2, [2.0, 5.0], [2.0, 0.0])
        """
        array = np.asarray(inputs)
        if array.ndim < 1 or not array.size:
            raise fail("inputs", "at least one row", f"shape {array.shape}", "give some")
        blocks = (array[start : start + _BLOCK] for start in range(0, len(array), _BLOCK))
        return pooled(cls._of_block(block.astype(np.float64)) for block in blocks)

    @classmethod
    def _of_block(cls, block: FloatArray) -> Moments:
        kept = block.ndim in (2, 4)
        shape = (block.shape[1], *(1 for _ in block.shape[2:])) if kept else ()
        # Features first in two axes: the sums below then run along the other.
        features = block.shape[1] if kept else 1
        flat = np.moveaxis(block.reshape(len(block), features, -1), 1, 0).reshape(features, -1)
        mean = flat.mean(axis=1, keepdims=True)
        mean += (flat - mean).mean(axis=1, keepdims=True)  # what the first pass rounded away
        squares = np.square(flat - mean).sum(axis=1)
        return cls(flat.shape[1], mean.reshape(shape), squares.reshape(shape))

    def merge(self, other: Moments) -> Moments:
        """The moments of both agents' inputs together."""
        if self.mean.shape != other.mean.shape:
            wanted = f"moments of shape {self.mean.shape}"
            raise fail("other", wanted, other.mean.shape, "take them of the same features")
        count = self.count + other.count
        gap = other.mean - self.mean
        mean = self.mean + gap * (other.count / count)
        squares = self.squares + other.squares + gap**2 * (self.count / count * other.count)
        return Moments(count, mean, squares)

    @property
    def std(self) -> FloatArray:
        """Standard deviation of each feature, the root of the mean squared deviation."""
        return np.asarray(np.sqrt(self.squares / self.count))

    @property
    def is_constant(self) -> NDArray[np.bool_]:
        """Which features have one value everywhere, up to the last bits of a double.

        What rounding makes of a constant, .3 and .1 + .2, is no scale to measure others by.
        """
        return np.asarray(self.std <= _LAST_BITS * np.abs(self.mean))


def pooled(moments: Iterable[Moments]) -> Moments:
    """The moments of all agents' inputs together."""
    return reduce(Moments.merge, moments)


def pooled_moments(
    what: str, arrays: Sequence[NDArray[Any]], names: Sequence[str] | None
) -> Moments:
    """The moments of all agents' numbers together; `names` of the features are for messages.

    Raises
    ------
    ValueError
        If numbers are so large that a mean or a sum of squares is not finite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        moments = pooled(Moments.of(array) for array in arrays)
        wild = np.flatnonzero(~np.isfinite(moments.mean + moments.squares))
    if wild.size:
        place = f"{what}, {names[wild[0]] if names else f'number {wild[0]}'}"
        wanted = "numbers whose squares are finite, to standardise them"
        raise fail(place, wanted, "larger ones", "correct or rescale them")
    return moments


# Parts of an agent's examples --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of examples that are kept and that are held out: sorted, together all of them."""

    kept: IntArray
    held: IntArray


def generator(seed: int, *words: str) -> np.random.Generator:
    """The random numbers of one purpose, such as ``"validation"`` for agent ``"mast"``.

    Raises
    ------
    ValueError
        If the seed is no whole number of at least 0.
    """
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).digest()
    key = int.from_bytes(digest[:16], "little")
    return np.random.default_rng([as_integer("seed", seed, minimum=0), key])


def split_rows(size: int, share: float, rng: np.random.Generator) -> Split:
    """Hold out round(share · size) of the rows at random, one at least and not all.

    A single row is kept.

    Raises
    ------
    ValueError
        If the share is not in [0, 1).

    Examples
    --------
    >>> split = split_rows(10, 0.2, np.random.default_rng(0))
    >>> len(split.kept), len(split.held)
    (8, 2)
    """
    held = _held(size, share, size - 1)
    order = rng.permutation(size)
    return Split(np.sort(order[held:]), np.sort(order[:held]))


def split_by_class(labels: ArrayLike, share: float, rng: np.random.Generator) -> Split:
    """Hold out round(share · n) examples, of each class in proportion.

    Every class keeps one example at least. One of each class that has two is held out too, if as
    many are held out as there are such classes. The numbers held out are otherwise those nearest to
    the proportional ones; fewer than round(share · n) only where too many classes have a single
    example.

    Parameters
    ----------
    labels
        Shape (n,): the class of each example.

    Raises
    ------
    ValueError
        If the share is not in [0, 1).
    """
    values, numbers = np.unique(np.asarray(labels), return_inverse=True)
    counts = np.bincount(numbers, minlength=len(values))
    held = _held(len(numbers), share, int((counts - 1).sum()))
    each = _allotted(counts, held, share)
    chosen = [
        rng.permutation(np.flatnonzero(numbers == label))[:number]
        for label, number in enumerate(each)
    ]
    out = np.sort(np.concatenate(chosen)) if held else np.empty(0, dtype=np.int64)
    return Split(np.setdiff1d(np.arange(len(numbers)), out, assume_unique=True), out)


def _held(size: int, share: float, most: int) -> int:
    if share == 0:
        return 0
    return min(max(round(as_probability("share", share) * size), 1), most)


def _allotted(counts: IntArray, held: int, share: float) -> IntArray:
    """How many of each class are held out, in all `held` ≤ Σ (count − 1)."""
    most = counts - 1
    fair = share * counts
    least = np.minimum(most, 1) if held >= (most > 0).sum() else np.zeros_like(counts)
    each = np.clip(np.floor(fair).astype(np.int64), least, most)
    while (missing := held - int(each.sum())) != 0:
        step = 1 if missing > 0 else -1
        movable = each < most if step > 0 else each > least
        need = np.where(movable, step * (fair - each), -np.inf)
        each[np.argsort(-need, kind="stable")[: min(abs(missing), int(movable.sum()))]] += step
    return np.asarray(each)

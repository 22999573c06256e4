"""Checks of arguments, in one place, so that every message has the same form.

Each function names the argument, says what was expected and what came, and how to fix it.
Messages are one line: the command line prints them as they are.
"""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from theory.lazy import later

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]
else:
    np = later("numpy")

    def __getattr__(name: str) -> Any:
        """The types of arrays, made when they are first asked for."""
        if name not in ("FloatArray", "IntArray"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from numpy.typing import NDArray

        return NDArray[np.float64 if name == "FloatArray" else np.int64]


# Sums of probabilities typed as decimals or computed as quotients: each entry carries at most
# half a unit in the last place, so that anything beyond this was not meant to sum to one.
SUM_TOLERANCE = 1e-12

# In bits: Python refuses to write integers of more than 4300 digits.
_LONGEST_INTEGER = 4000

# Names that a message lists.
_NAMED = 12


def fail(argument: str, expected: str, got: object, remedy: str) -> ValueError:
    """A ``ValueError`` with the project's one-line message; the caller raises it."""
    if isinstance(got, int) and got.bit_length() > _LONGEST_INTEGER:
        got = f"a whole number of about {got.bit_length() * 0.30103:.0f} digits"
    text = f"{argument}: expected {expected}, got {got}; {remedy}"
    return ValueError(" ".join(text.split()))


def install_extra(name: str) -> str:
    """A remedy: how to get the packages of an extra; peerbayes itself is on no index.

    >>> install_extra("empirical")
    "install what is missing, in a checkout: pip install -c constraints.txt '.[empirical]'"
    """
    return f"install what is missing, in a checkout: pip install -c constraints.txt '.[{name}]'"


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, marked as not writeable."""
    array.setflags(write=False)
    return array


def as_float_array(argument: str, values: ArrayLike, *, ndim: int) -> FloatArray:
    """A fresh, finite, read-only float64 array with `ndim` axes.

    Raises
    ------
    ValueError
        If `values` is ragged, not numeric, of another number of axes, or not finite.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except OverflowError:
        raise fail(argument, "numbers below 1e308", "a larger one", "rescale it") from None
    except (TypeError, ValueError):
        raise fail(
            argument,
            f"a rectangular array of numbers with {ndim} axes",
            "ragged or non-numeric values",
            "give every row the same number of numbers",
        ) from None
    if array.ndim != ndim:
        raise fail(
            argument,
            f"an array with {ndim} axes",
            f"shape {array.shape}",
            "add or remove a level of brackets",
        )
    if not np.isfinite(array).all():
        where = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        raise fail(
            argument,
            "finite numbers",
            f"{array[tuple(where)]} at {where}",
            "replace it by a finite number",
        )
    read_only(array)
    return array


def as_distribution(argument: str, values: ArrayLike, *, ndim: int = 1) -> FloatArray:
    """A probability distribution along the last axis, for each index of the others.

    Raises
    ------
    ValueError
        If an entry is negative, or a sum differs from one by more than rounding.
    """
    array = as_float_array(argument, values, ndim=ndim)
    if array.size == 0:
        raise fail(argument, "at least one probability", "none", "list the probabilities")
    if (array < 0).any():
        where = [int(i) for i in np.argwhere(array < 0)[0]]
        raise fail(
            argument,
            "probabilities of at least 0",
            f"{array[tuple(where)]:g} at {where}",
            "make it non-negative",
        )
    sums = array.sum(axis=-1)
    wrong = np.abs(sums - 1.0) > SUM_TOLERANCE + array.shape[-1] * np.finfo(float).eps
    if np.any(wrong):
        where = [int(i) for i in np.argwhere(np.atleast_1d(wrong))[0]]
        got = np.atleast_1d(sums)[tuple(where)]
        place = f" at {where}" if ndim > 1 else ""
        raise fail(
            argument,
            "probabilities that sum to 1",
            f"a sum of {got:.12g}{place}",
            'rescale them, or write fractions such as "1/3"',
        )
    return array


def as_integer(argument: str, value: object, *, minimum: int, maximum: int | None = None) -> int:
    """A whole number of at least `minimum` and at most `maximum`, if there is one.

    Raises
    ------
    ValueError
        If `value` is not a whole number, as truth values are not, or out of range.
    """
    wanted = f"a whole number of at least {minimum}"
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise fail(argument, wanted, repr(value), "give a whole number") from None
    if number < minimum:
        raise fail(argument, wanted, number, f"use {minimum} or more")
    if maximum is not None and number > maximum:
        wanted = f"a whole number of at most {maximum}"
        raise fail(argument, wanted, number, f"use {maximum} or fewer")
    return number


def meant(word: str, words: Iterable[str], *, otherwise: str) -> str:
    """A remedy for a word that is none of `words`: the one that is spelt nearly so, or `otherwise`.

    >>> meant("rign", ["ring", "star"], otherwise="choose one of them")
    "did you mean 'ring'?"
    """
    guess = difflib.get_close_matches(word, list(words), n=1)
    return f"did you mean {guess[0]!r}?" if guess else otherwise


def as_position(argument: str, value: object, names: Sequence[str]) -> int:
    """Where something stands in a list of names: given by name, or by its number from 0.

    Raises
    ------
    ValueError
        If there is no such name or number.

    Examples
    --------
    >>> as_position("target", "loaded", ("fair", "loaded"))
    1
    """
    if not isinstance(value, str):
        return as_integer(argument, value, minimum=0, maximum=len(names) - 1)
    if value not in names:
        shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        remedy = meant(value, names, otherwise="name one of them")
        raise fail(argument, f"one of {shown}", repr(value), remedy)
    return list(names).index(value)


def as_probability(argument: str, value: object, *, open_interval: bool = True) -> float:
    """A number in (0, 1), or in [0, 1] if not `open_interval`.

    Raises
    ------
    ValueError
        If `value` is not a number, or not in the interval.
    """
    interval = "(0, 1)" if open_interval else "[0, 1]"
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        raise fail(
            argument, f"a number in {interval}", value, f"choose one in {interval}"
        ) from None
    except (TypeError, ValueError):
        raise fail(argument, f"a number in {interval}", repr(value), "give a number") from None
    inside = 0 < number < 1 if open_interval else 0 <= number <= 1
    if not inside or math.isnan(number):
        raise fail(argument, f"a number in {interval}", f"{number:g}", f"choose one in {interval}")
    return number


def as_positive(argument: str, value: object) -> float:
    """A finite number above zero.

    Raises
    ------
    ValueError
        If `value` is not one.
    """
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        raise fail(argument, "a finite number above 0", value, "make it smaller") from None
    except (TypeError, ValueError):
        raise fail(argument, "a positive number", repr(value), "give a number") from None
    if not (math.isfinite(number) and number > 0):
        raise fail(argument, "a finite number above 0", f"{number:g}", "make it positive")
    return number

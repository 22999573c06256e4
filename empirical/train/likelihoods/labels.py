"""Labels as they come from files: checked, and brought to the types that tensors have."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from theory.validation import fail

# Whole numbers above this one are not all float32.
_LARGEST_WHOLE = 2**24


def as_numbers(argument: str, labels: NDArray[Any], *, size: int) -> NDArray[np.float32]:
    """Finite float32 numbers, shape (n,) for `size` 1, else (n, size).

    Raises
    ------
    ValueError
        If there are none, or they are text, missing, too large, or of another shape.
    """
    array = np.asarray(labels)
    if array.size == 0:
        raise fail(argument, "at least one label", "none", "give labels")
    if array.dtype.kind not in "biuf":
        raise fail(
            argument,
            "numbers",
            f"{array.flat[0]!r}" if array.size else "none",
            "replace text by numbers",
        )
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != size:
        raise fail(
            argument,
            "one number a label" if size == 1 else f"{size} numbers a label",
            f"shape {np.asarray(labels).shape}",
            "change the labels or the likelihood",
        )
    with np.errstate(over="ignore"):
        found = array.astype(np.float32)
    if not np.isfinite(found).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(found))[0])
        raise fail(
            argument,
            "finite numbers below 1e38",
            f"{array[row, column]} in label {row}",
            "leave that example out, or rescale",
        )
    return found[:, 0] if size == 1 else found


def as_whole(
    argument: str, labels: NDArray[Any], *, size: int, below: int | None = None
) -> NDArray[np.int64]:
    """Whole numbers of at least 0, shape (n,) for `size` 1, else (n, size).

    Parameters
    ----------
    below
        All are less than this, for class numbers.

    Raises
    ------
    ValueError
        As :func:`as_numbers`; and if one is not whole, negative, or too large.
    """
    as_numbers(argument, labels, size=size)
    array = np.asarray(labels).reshape(-1) if size == 1 else np.asarray(labels)
    limit = _LARGEST_WHOLE if below is None else below - 1
    wrong = (array != np.floor(array)) | (array < 0) | (array > limit)
    if wrong.any():
        first = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise fail(
            argument,
            f"whole numbers from 0 to {limit}",
            f"{array[first]} in label {first[0]}",
            "count events from 0" if below is None else "number the classes from 0",
        )
    return array.astype(np.int64)


def columns(labels: Tensor, size: int) -> Tensor:
    """Labels as a tensor of shape (N, B, size), whether or not that axis was written."""
    return labels.reshape(*labels.shape[:2], size)


def within(values: Tensor, bound: float) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs kept within ±`bound`, and where they are at or beyond its ends, below and above."""
    return values.clamp(-bound, bound), values <= -bound, values >= bound


def pointing_in(grad: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """A derivative at values kept :func:`within` bounds, zero where a step would lead out.

    Descent goes against the derivative: at the lower end a positive one leads out, at the upper
    end a negative one.
    """
    out = (low & (grad > 0)) | (high & (grad < 0))
    return torch.where(out, 0.0, grad)

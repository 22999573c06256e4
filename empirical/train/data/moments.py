"""Means and variances of all agents' inputs, from sums that each agent takes of its own.

An agent tells how many numbers it has of each feature, their mean, and the sum of their squared
deviations from it. Two such summaries merge into that of all numbers together (Chan, Golub and
LeVeque, 1983, "Algorithms for computing the sample variance"), in any order and any grouping: the
result is that of all rows in one place, up to rounding, and nobody shows a row.

A feature of inputs with two axes (n, features) is a column; of images (n, channels, height, width)
a channel; of inputs with any other axes all entries together are one feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.validation import FloatArray, fail

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

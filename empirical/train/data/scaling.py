"""Inputs and labels in units in which they have mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from empirical.train.data.examples import as_inputs
from empirical.train.data.moments import Moments, pooled_moments
from theory.validation import FloatArray, fail, read_only

# Rows that are standardised at a time.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Scaling:
    """How inputs, or the labels of a regression, are standardised: (x − mean) / std.

    Parameters
    ----------
    mean, std
        Of each feature, in the units of the data; shaped so that they fit one input. std is above
        zero: 1 where a feature is constant.

    Raises
    ------
    ValueError
        If a mean is not finite, or a standard deviation not a finite number above zero.
    """

    mean: FloatArray
    std: FloatArray

    def __post_init__(self) -> None:
        mean, std = (np.array(value, dtype=np.float64) for value in (self.mean, self.std))
        if mean.shape != std.shape or not np.isfinite(mean).all():
            raise fail("mean", f"finite numbers, shape {std.shape}", mean, "give one a feature")
        if not (np.isfinite(std) & (std > 0)).all():
            raise fail("std", "finite numbers above 0", std, "use 1 for constant features")
        object.__setattr__(self, "mean", read_only(mean))
        object.__setattr__(self, "std", read_only(std))

    @classmethod
    def from_moments(cls, moments: Moments) -> Scaling:
        """The scaling that gives mean 0 and variance 1; constant features keep their unit."""
        return cls(moments.mean, np.where(moments.is_constant, 1.0, moments.std))

    def apply(self, values: ArrayLike) -> FloatArray:
        """Standardised values, float64, shape (n, …); further axes may come before.

        Raises
        ------
        ValueError
            If they have another number of features.
        """
        return np.asarray((self._checked(values) - self.mean) / self.std)

    def undo(self, values: ArrayLike) -> FloatArray:
        """Values in the units of the data again, from standardised ones."""
        return np.asarray(self._checked(values) * self.std + self.mean)

    def _checked(self, values: ArrayLike) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        axes = self.mean.ndim
        if axes and (array.ndim <= axes or array.shape[-axes] != self.mean.shape[0]):
            rest = ", …, …" if axes == 3 else ""
            wanted = f"shape (n, {self.mean.shape[0]}{rest}), as the training data"
            raise fail("inputs", wanted, f"shape {array.shape}", "give the same features")
        return array

    @property
    def document(self) -> dict[str, Any]:
        """Mean and standard deviation as JSON has them, for a record."""
        return {"mean": self.mean.tolist(), "std": self.std.tolist()}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Scaling:
        """The scaling that a record has."""
        return cls(np.array(document["mean"]), np.array(document["std"]))


@dataclass(frozen=True, eq=False)
class Filling:
    """What stands for missing inputs: the mean, and a 1 in a column of its own.

    Parameters
    ----------
    mean
        Shape (m,): what fills each column.
    columns
        The columns that have another one of zeros and ones behind all of them, which says where a
        value is missing.
    """

    mean: FloatArray
    columns: tuple[int, ...]

    @classmethod
    def of(
        cls,
        where: str,
        parts: Sequence[NDArray[Any]],
        training: Sequence[NDArray[Any]],
        names: Sequence[str] | None,
    ) -> Filling:
        """The means of the numbers that are there in all agents' training data.

        They are pooled as moments are: agents tell how many numbers they have of a column, and
        their mean and squared deviations, and in which columns they miss some.

        Parameters
        ----------
        parts, training
            Each agent's inputs, shape (n, m), NaN where they are missing; and those to train on.
        names
            Of the columns, for messages.

        Raises
        ------
        ValueError
            If inputs have no columns, or there is no number in one of them.
        """
        if parts[0].ndim != 2:
            remedy = "leave missing out"
            raise fail("missing", "inputs of shape (n, columns)", f"those of {where}", remedy)
        mean = np.empty(parts[0].shape[1])
        for column in range(len(mean)):
            own = [part[~np.isnan(part[:, column]), column][:, None] for part in training]
            called = names[column] if names else f"column {column}"
            if not any(map(len, own)):
                wanted = "a number of some agent's in its training data"
                raise fail(f"inputs, {called}", wanted, "none", "leave the column out")
            mean[column] = pooled_moments("inputs", [x for x in own if len(x)], [called]).mean[0]
        gaps = np.any([np.isnan(part).any(axis=0) for part in parts], axis=0)
        return cls(mean, tuple(np.flatnonzero(gaps).tolist()))

    def apply(self, values: NDArray[Any]) -> FloatArray:
        """Inputs without gaps, shape (n, m + columns), from those of shape (n, m)."""
        gaps = np.isnan(values)
        whole = np.where(gaps, self.mean, values)
        return np.concatenate([whole, gaps[:, self.columns]], axis=1)

    def names(self, features: Sequence[str]) -> tuple[str, ...]:
        """The names of all columns."""
        return (*features, *(f"{features[column]}=missing" for column in self.columns))

    @property
    def document(self) -> dict[str, Any]:
        """Means and columns as JSON has them, for a record."""
        return {"mean": self.mean.tolist(), "columns": list(self.columns)}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Filling:
        """The filling that a record has."""
        return cls(np.array(document["mean"]), tuple(document["columns"]))


@dataclass(frozen=True, eq=False)
class Dressing:
    """How the examples of agents are stored: standardised where there is a scaling.

    Attributes
    ----------
    scaling, target_scaling
        Of inputs, and of labels.
    """

    scaling: Scaling | None
    target_scaling: Scaling | None

    def inputs(self, where: str, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Arrays one after the other as nets take them, read-only; `where` is for messages.

        Raises
        ------
        ValueError
            If a number is too large for float32.
        """
        blocks = [
            as_inputs(where, block if self.scaling is None else self.scaling.apply(block))
            for array in arrays
            for block in np.split(array, range(_BLOCK, len(array), _BLOCK))
        ]
        return read_only(np.concatenate(blocks))

    def labels(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Labels one after the other, read-only."""
        labels = np.concatenate(arrays)
        scaled = labels if self.target_scaling is None else self.target_scaling.apply(labels)
        return read_only(scaled)

"""Inputs and labels in units in which they have mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from empirical.train.data.examples import as_inputs
from empirical.train.data.moments import Moments
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

"""The data of all agents: training, validation, and test data for the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from empirical.train.data.examples import Examples, Moments, Target, pooled_moments
from empirical.train.data.source_files import Sources
from theory.network.labels import as_names
from theory.validation import FloatArray, fail, read_only

# Inputs and labels in units in which they have mean 0 and variance 1 -----------------------------


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


# The data of all agents --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AgentsData:
    """What each agent learns from, what chooses between settings, and what judges at the end.

    Inputs are standardised already if `scaling` is there, labels if `target_scaling` is.

    Parameters
    ----------
    names
        What the agents are called, N distinct texts.
    train
        Each agent's training examples, at least one.
    validation
        Each agent's examples for validation; of some agents there may be none.
    test
        Examples that nobody looks at before the end; None if there are none.
    features
        The names of the inputs' columns, if they have names.
    other
        Inputs of another data set, shape (n, …), to see whether nets know what they do not know.
    sources
        Pairs of a file and its SHA-256.
    targets
        What the labels are, one for each of their columns.
    scaling, target_scaling
        How inputs and labels were standardised; None if they were not. Labels that are classes or
        counts have mean 0 and std 1 in it.
    notes
        What a reader of the results should know: one sentence each.
    filling
        How missing inputs were filled; None if they may not be missing.

    Raises
    ------
    ValueError
        If an agent has no training example or two have one name; if examples differ in the shape or
        type of inputs or labels.
    """

    names: tuple[str, ...]
    train: tuple[Examples, ...]
    validation: tuple[Examples, ...]
    test: Examples | None = None
    features: tuple[str, ...] | None = None
    other: NDArray[np.float32 | np.int64] | None = None
    sources: Sources = ()
    targets: tuple[Target, ...] = (Target("label", "numbers"),)
    scaling: Scaling | None = None
    target_scaling: Scaling | None = None
    notes: tuple[str, ...] = ()
    filling: Filling | None = None

    def __post_init__(self) -> None:
        agents = len(self.train)
        if not agents or len(self.validation) != agents:
            wanted = "examples of at least one agent, and for validation, or none, of each"
            got = f"{agents} and {len(self.validation)}"
            raise fail("train, validation", wanted, got, "give empty examples where there are none")
        as_names(self.names, agents=agents)
        for name, own in zip(self.names, self.train, strict=True):
            if not len(own):
                remedy = "give it data, or take it out of the network"
                raise fail(f"train of agent {name!r}", "at least one example", "none", remedy)
        parts = (*self.train, *self.validation, *([] if self.test is None else [self.test]))
        kinds = {part.kind for part in parts}
        if len(kinds) > 1:
            wanted, got = "inputs and labels of one shape and type", "; ".join(sorted(kinds))
            raise fail("examples", wanted, got, "give all agents the same kind of data")
        if self.other is not None and self.other.shape[1:] != self.input_shape:
            wanted, got = f"inputs of shape (n, {self.input_shape})", f"shape {self.other.shape}"
            raise fail("other", f"{wanted}, as in training", got, "use data of the same shape")
        columns = self.train[0].labels[:1].size
        if columns != len(self.targets):
            wanted = f"one target for each of {columns} columns of labels"
            raise fail("targets", wanted, len(self.targets), "describe every column")

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The names of the classes, if there is one target and it is a class."""
        return self.targets[0].classes if len(self.targets) == 1 else None

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return len(self.names)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return tuple(self.train[0].inputs.shape[1:])

    @property
    def given_shape(self) -> tuple[int, ...]:
        """The shape of one input before missing ones were filled."""
        shape = self.input_shape
        return shape if self.filling is None else (shape[0] - len(self.filling.columns),)

    @property
    def given_features(self) -> tuple[str, ...] | None:
        """The names of its columns, if they have names."""
        return self.features if self.features is None else self.features[: self.given_shape[0]]

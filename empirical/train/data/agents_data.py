"""The data of all agents: training, validation, and test data for the end."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from empirical.train.data.examples import Examples, Moments, Target, as_inputs, pooled_moments
from empirical.train.data.source_files import Sources
from theory.network.labels import as_names
from theory.validation import FloatArray, fail, read_only

if TYPE_CHECKING:
    from empirical.nets.shares import Shares


# Inputs and labels in units in which they have mean 0 and variance 1 -----------------------------


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
    classes
        The names of the classes, if there is one target and it is a class.
    features
        The names of the inputs' columns, if they have names.
    other
        Inputs of another data set, shape (n, …), to see whether nets know what they do not know.
    sources
        Pairs of a file and its SHA-256.
    targets
        What the labels are, one for each of their columns; left out: a class, or a number.
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
        type of inputs or labels, or a label is no class.
    """

    names: tuple[str, ...]
    train: tuple[Examples, ...]
    validation: tuple[Examples, ...]
    test: Examples | None = None
    classes: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    other: NDArray[np.float32 | np.int64] | None = None
    sources: Sources = ()
    targets: tuple[Target, ...] = ()
    scaling: Scaling | None = None
    target_scaling: Scaling | None = None
    notes: tuple[str, ...] = ()
    filling: Filling | None = None

    def __post_init__(self) -> None:
        agents = len(self.train)
        if not agents:
            raise fail("train", "examples of at least one agent", "none", "give some")
        as_names(self.names, agents=agents)
        if len(self.validation) != agents:
            wanted = f"examples, or none of them, for each of {agents} agents"
            raise fail("validation", wanted, len(self.validation), "give empty examples")
        for name, own in zip(self.names, self.train, strict=True):
            if not len(own):
                raise fail(
                    f"train of agent {name!r}",
                    "at least one example",
                    "none",
                    "give it data, or take it out of the network",
                )
        if not self.targets:
            one = Target("label", "classes" if self.classes else "numbers", self.classes)
            object.__setattr__(self, "targets", (one,))
        if self.classes != (self.targets[0].classes if len(self.targets) == 1 else None):
            wanted = "the classes of the only target, else none"
            raise fail("classes", wanted, self.classes, "leave classes out")
        self._check_alike()
        self._check_classes()

    def _check_alike(self) -> None:
        first = self.train[0]
        for place, part in self._parts():
            for what in ("inputs", "labels"):
                here, there = getattr(part, what), getattr(first, what)
                if here.shape[1:] != there.shape[1:] or here.dtype != there.dtype:
                    raise fail(
                        f"{what} in {place}",
                        f"shape (n, …) = (n, {_inner(there)}) of {there.dtype}, as in the first",
                        f"(n, {_inner(here)}) of {here.dtype}",
                        "give all agents the same kind of data",
                    )
        if self.other is not None and self.other.shape[1:] != first.inputs.shape[1:]:
            wanted = f"inputs of shape (n, {_inner(first.inputs)}), as in training"
            got = f"(n, {_inner(self.other)})"
            raise fail("other", wanted, got, "use data of the same shape")
        columns = first.labels.shape[1] if first.labels.ndim == 2 else 1
        if columns != len(self.targets):
            wanted = f"one target for each of {columns} columns of labels"
            raise fail("targets", wanted, len(self.targets), "describe every column")

    def _check_classes(self) -> None:
        for place, part in self._parts():
            columns = part.labels if part.labels.ndim == 2 else part.labels[:, None]
            for target, labels in zip(self.targets, columns.T, strict=True):
                count = len(target.classes or ())
                if target.kind == "classes" and labels.size:
                    wrong = (labels < 0) | (labels >= count) | (labels != np.floor(labels))
                    if wrong.any():
                        wanted = f"classes of {target.name!r} from 0 to {count - 1}"
                        got = f"{labels[wrong][0]:g}"
                        raise fail(f"labels in {place}", wanted, got, "name every class")
                if target.kind == "counts" and ((labels < 0) | (labels != np.floor(labels))).any():
                    wanted = f"whole numbers from 0 of {target.name!r}"
                    raise fail(f"labels in {place}", wanted, "others", "count from 0")

    def _parts(self) -> Sequence[tuple[str, Examples]]:
        named = zip(self.names, self.train, self.validation, strict=True)
        parts = [
            (f"{what} of agent {name!r}", part)
            for name, *both in named
            for what, part in zip(("train", "validation"), both, strict=True)
        ]
        return parts if self.test is None else [*parts, ("test", self.test)]

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

    def shares(self) -> Shares:
        """The training examples as tensors, on the CPU; needs torch."""
        return _shares(self.train)

    def validation_shares(self) -> Shares:
        """The examples for validation as tensors, on the CPU; needs torch.

        Raises
        ------
        ValueError
            If an agent has none.
        """
        for name, part in zip(self.names, self.validation, strict=True):
            if not len(part):
                remedy = "give it more data, or a larger share for validation"
                wanted = "examples for validation"
                raise fail(f"validation of agent {name!r}", wanted, "none", remedy)
        return _shares(self.validation)


def _inner(array: NDArray[np.generic]) -> str:
    return ", ".join(str(size) for size in array.shape[1:])


def _shares(parts: Sequence[Examples]) -> Shares:
    """Examples one agent after the other: inputs float32 or int64, labels int64 or float32."""
    import torch  # here, so that data are read without it

    from empirical.nets.shares import Shares

    labels = np.concatenate([part.labels for part in parts])
    if labels.dtype.kind == "f":
        labels = labels.astype(np.float32)
    ends = np.cumsum([0, *(len(part) for part in parts)])
    return Shares(
        torch.from_numpy(np.concatenate([part.inputs for part in parts])),
        torch.from_numpy(labels),
        tuple(torch.arange(low, high) for low, high in itertools.pairwise(ends.tolist())),
    )

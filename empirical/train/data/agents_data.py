"""The data of all agents: training, validation, and test data for the end."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from empirical.train.data.examples import Examples, Target
from empirical.train.data.scaling import Filling, Scaling
from empirical.train.data.source_files import Sources
from theory.network.labels import as_names
from theory.validation import fail

if TYPE_CHECKING:
    from empirical.nets.shares import Shares


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

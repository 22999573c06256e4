"""Labelled inputs as tensors: who holds which, and the order in which each goes through its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from empirical.data import Images
from empirical.nets.architecture import Architecture
from empirical.partition import Partition
from theory.typed import require
from theory.validation import IntArray, fail

# Shares, and the order of batches -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shares:
    """The data of all agents.

    Parameters
    ----------
    inputs
        Shape (n, ...), float32; shared, not copied for each agent.
    labels
        Shape (n,) or (n, k): class numbers (int64), or real numbers (float32) for a regression.
    indices
        One int64 tensor per agent: rows of `inputs`. Two agents may hold the same row.

    Raises
    ------
    ValueError
        If an agent holds nothing, or a row that does not exist.
    """

    inputs: Tensor
    labels: Tensor
    indices: tuple[Tensor, ...]

    def __post_init__(self) -> None:
        if self.labels.ndim not in (1, 2) or self.labels.shape[:1] != self.inputs.shape[:1]:
            self._refuse_labels("or several numbers each, ")
        if not self.indices:
            raise fail("indices", "one share for each agent", "none", "name the agents' rows")
        for agent, rows in enumerate(self.indices):
            if rows.ndim != 1 or rows.numel() == 0:
                raise fail(
                    "indices",
                    "at least one example for each agent",
                    f"none for agent {agent}",
                    "leave that agent out, or split the data so that it holds some",
                )
            if rows.min() < 0 or rows.max() >= self.inputs.shape[0]:
                raise fail(
                    "indices",
                    f"rows from 0 to {self.inputs.shape[0] - 1}",
                    f"{int(rows.min())} to {int(rows.max())} for agent {agent}",
                    "name rows of the inputs",
                )

    @classmethod
    def from_images(
        cls,
        images: Images,
        partition: Partition,
        *,
        input_shape: tuple[int, ...],
        device: str = "cpu",
    ) -> Shares:
        """Grey values divided by the white one, so that they lie in [0, 1].

        Parameters
        ----------
        input_shape
            (height · width,), or (1, height, width).
        """
        inputs = as_inputs(images, input_shape=input_shape, device=device)
        labels = as_labels(images, device=device)
        indices = tuple(torch.tensor(own, device=device) for own in partition.indices)
        return cls(inputs, labels, indices)

    @property
    def agents(self) -> int:
        """N."""
        return len(self.indices)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many examples each agent holds."""
        return tuple(int(rows.numel()) for rows in self.indices)

    def check_fits(self, architecture: Architecture) -> None:
        """Raise a ``ValueError`` if inputs or labels are not of the shape that a net takes."""
        if self.labels.ndim != 1:
            self._refuse_labels()
        if tuple(self.inputs.shape[1:]) != architecture.input_shape:
            raise fail(
                "architecture",
                f"inputs of shape {tuple(self.inputs.shape[1:])}, as the data",
                architecture.input_shape,
                "change input_shape",
            )

    def _refuse_labels(self, others: str = "") -> NoReturn:
        raise fail(
            "labels",
            f"shape ({self.inputs.shape[0]},), {others}for as many inputs",
            f"shape {tuple(self.labels.shape)}",
            "give one label an input",
        )

    def of(self, agents: Sequence[int]) -> Shares:
        """The shares of some agents."""
        return Shares(self.inputs, self.labels, tuple(self.indices[agent] for agent in agents))

    def together(self) -> Shares:
        """All data at a single agent: what a central learner has."""
        rows = torch.unique(torch.cat(self.indices))
        return Shares(self.inputs, self.labels, (rows,))


def as_inputs(images: Images, *, input_shape: tuple[int, ...], device: str = "cpu") -> Tensor:
    """Grey values of images as float32 in [0, 1], shape (n, ...)."""
    pixels = np.asarray(images.pixels, dtype=np.float32) / np.float32(images.white)
    return torch.tensor(pixels, device=device).reshape(len(images), *input_shape)


def as_labels(images: Images, *, device: str = "cpu") -> Tensor:
    """Class numbers of images, int64, shape (n,)."""
    return torch.tensor(images.labels, device=device)


class Order:
    """Goes through an agent's examples in batches, in a new random order each epoch.

    Batch s is a function of the seed, the agent and s alone, so that a run can begin anywhere. In
    an epoch no example comes twice, and fewer than a batch are left out; an agent with fewer
    examples than a batch goes through all of them again and again until a batch is full.

    Parameters
    ----------
    size, batch
        How many examples the agent holds, and how many a batch has.
    seed, agent
        What the order depends on.
    """

    def __init__(self, size: int, batch: int, *, seed: int, agent: int) -> None:
        self._size, self._batch = size, batch
        self._key = (seed, agent)
        self._batches = max(size // batch, 1)
        self._epoch = -1
        self._order: IntArray = np.empty(0, dtype=np.int64)

    def rows(self, first: int, count: int = 1) -> IntArray:
        """Positions, among the agent's own, of batches from `first` on; shape (count, batch)."""
        parts = []
        while count:
            epoch, place = divmod(first, self._batches)
            if epoch != self._epoch:
                rng = np.random.default_rng([*self._key, epoch])
                repeats = -(-self._batch // self._size)
                self._order = np.concatenate([rng.permutation(self._size) for _ in range(repeats)])
                self._epoch = epoch
            some = min(count, self._batches - place)
            own = self._order[place * self._batch : (place + some) * self._batch]
            parts.append(own.reshape(some, self._batch))
            first, count = first + some, count - some
        return np.concatenate(parts)


# Data of one's own as the shares of agents that train nets ---------------------------------------


def shares_of(
    data: Sequence[tuple[ArrayLike, ArrayLike]],
    architecture: Architecture,
    *,
    real_labels: bool = False,
) -> Shares:
    """The shares of agents, each with inputs and labels of its own.

    Parameters
    ----------
    data
        One pair for each agent: inputs of shape (n, …), as the architecture takes them, and n
        labels, numbers of classes from 0 to the net's outputs − 1. Stored as float32 and int64.
    architecture
        The net that the data are for.
    real_labels
        Whether labels are real numbers, for a regression; then they are stored as float32.

    Raises
    ------
    ValueError
        If the architecture is something else, such as a torch module; if inputs have another
        shape, are not finite or none; if there is not one label for each, or a label is no class
        of the net.

    Examples
    --------
    >>> from empirical.nets.architecture import perceptron
    >>> rng = np.random.default_rng(0)
    >>> data = [(rng.normal(size=(n, 4)), rng.integers(3, size=n)) for n in (10, 20)]
    >>> shares_of(data, perceptron(4, 8, outputs=3)).sizes
    (10, 20)
    """
    # Here, so that the package is imported without torch.
    import torch

    from empirical.nets.architecture import Architecture

    require("architecture", architecture, Architecture)
    if not len(data):
        raise fail("data", "inputs and labels of at least one agent", "none", "give some")
    inputs, labels, rows, start = [], [], [], 0
    for agent, pair in enumerate(data):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise fail(
                f"data[{agent}]",
                "a pair of inputs and labels",
                type(pair).__name__,
                "give one pair for each agent",
            )
        x = _inputs(f"data[{agent}][0]", pair[0], architecture)
        y = _labels(f"data[{agent}][1]", pair[1], len(x), None if real_labels else architecture)
        inputs.append(x)
        labels.append(y)
        rows.append(torch.arange(start, start + len(x)))
        start += len(x)
    return Shares(
        torch.from_numpy(np.concatenate(inputs)),
        torch.from_numpy(np.concatenate(labels)),
        tuple(rows),
    )


def _numbers(argument: str, values: Any) -> NDArray[np.float64]:
    if hasattr(values, "detach"):  # a tensor
        values = values.detach().cpu().numpy()
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise fail(
            argument, "an array of numbers", "ragged or other values", "give rows of one length"
        ) from None
    if not np.isfinite(array).all():
        raise fail(argument, "finite numbers", "some that are not", "replace them")
    return array


def _inputs(argument: str, values: Any, architecture: Architecture) -> NDArray[np.float32]:
    array = _numbers(argument, values)
    if array.shape[1:] != architecture.input_shape or not len(array):
        shape = ", ".join(str(size) for size in architecture.input_shape)
        raise fail(
            argument,
            f"inputs of shape (n, {shape}), as the architecture takes",
            f"shape {array.shape}",
            "reshape the inputs, or change input_shape",
        )
    return array.astype(np.float32)


def _labels(
    argument: str, values: Any, count: int, architecture: Architecture | None
) -> NDArray[Any]:
    """Labels as float32, or as classes of the architecture, int64."""
    array = _numbers(argument, values)
    if array.shape != (count,):
        raise fail(
            argument, f"one label for each of {count} inputs", f"shape {array.shape}", "match them"
        )
    if architecture is None:
        return array.astype(np.float32)
    wrong = np.flatnonzero(
        (array != np.floor(array)) | (array < 0) | (array >= architecture.outputs)
    )
    if wrong.size:
        raise fail(
            argument,
            f"classes from 0 to {architecture.outputs - 1}, the architecture's outputs",
            f"{array[wrong[0]]:g} at {wrong[0]}",
            "number the classes from 0, or give the net more outputs; for a regression set "
            "real_labels",
        )
    return array.astype(np.int64)

"""Labelled inputs as tensors: who holds which, and the order in which each goes through its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import torch
from torch import Tensor

from empirical.data import Images
from empirical.nets.architecture import Architecture
from empirical.partition import Partition
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


class EpochsAnew:
    """An agent's batches where each round goes through its examples in a new random order.

    An epoch takes every example once; its last batch is as short as it comes. The batches of a
    round are a function of the seed, the agent and the round alone.

    Parameters
    ----------
    size, batch, seed, agent
        As of :class:`Order`.

    Examples
    --------
    >>> batches = EpochsAnew(5, 2, seed=0, agent=0).rows(1, 3)
    >>> sorted(batches.ravel().tolist())
    [-1, 0, 1, 2, 3, 4]
    """

    def __init__(self, size: int, batch: int, *, seed: int, agent: int) -> None:
        self._size, self._batch, self._seed, self._agent = size, batch, seed, agent

    def rows(self, round: int, count: int) -> IntArray:
        """Positions, among the agent's own, shape (count, batch); −1 fills a short batch up."""
        key = np.random.SeedSequence(self._seed, spawn_key=(round, self._agent))
        rng, each = np.random.default_rng(key), -(-self._size // self._batch)
        order = np.full((-(-count // each), each * self._batch), -1, dtype=np.int64)
        for row in order:
            row[: self._size] = rng.permutation(self._size)
        return order.reshape(-1, self._batch)[:count]


class Drawn:
    """The batches of some agents, which may be drawn while a device works on those before them.

    Parameters
    ----------
    orders
        One for each agent.
    """

    def __init__(self, orders: Sequence[Order | EpochsAnew]) -> None:
        self._orders = orders
        self._ahead: tuple[tuple[list[int], list[int], int], IntArray] | None = None

    def rows(self, some: list[int], since: list[int], count: int) -> IntArray:
        """Positions among each one's own examples, shape (count, k, batch), from batch `since`."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == (some, since, count):
            return ahead[1]
        each = zip(some, since, strict=True)
        return np.stack([self._orders[k].rows(first, count) for k, first in each], axis=1)

    def ahead(self, some: list[int], since: list[int], count: int) -> None:
        """Draw now what :meth:`rows` will most likely be asked for next."""
        self._ahead = (some, since, count), self.rows(some, since, count)

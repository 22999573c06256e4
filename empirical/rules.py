"""Rules by which labelled images are dealt to agents.

A rule says who gets what: all images of given labels, equal shares at random, one informative
agent beside others that share few labels, or shards of the images sorted by label. A rule is a
value; it deals any array of labels, so that the same rule serves a data set and a thinned one.

Shares that the papers print as equal are equal: 12 665 images shared by eight agents are 1 583
each, and the one left over goes to nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from empirical.partition import Partition, star_partition
from theory.validation import IntArray, as_integer, fail


class Rule(Protocol):
    """Who gets which images."""

    @property
    def agents(self) -> int:
        """The number N of agents."""

    def deal(self, labels: ArrayLike, *, seed: int) -> Partition:
        """The shares of images with these labels, shape (n,); the same seed, the same shares."""


@dataclass(frozen=True)
class ByLabels:
    """Agent j gets every image whose label is in `groups[j]` (P1 section 5.2); nothing is random.

    Images of labels in no group are held by nobody.

    Raises
    ------
    ValueError
        If there are no groups, a group is empty, or a label is in two.

    Examples
    --------
    >>> ByLabels(((0, 1), (2,))).deal([2, 0, 1, 0, 7], seed=0).sizes
    (3, 1)
    """

    groups: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.groups or not all(self.groups):
            raise fail("groups", "labels for every agent", self.groups, "give each agent a label")
        named = [as_integer("groups", label, minimum=0) for own in self.groups for label in own]
        twice = sorted({label for label in named if named.count(label) > 1})
        if twice:
            raise fail("groups", "each label once", f"{twice} twice", "give a label to one agent")

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return len(self.groups)

    def deal(self, labels: ArrayLike, *, seed: int) -> Partition:
        """Each agent's images.

        Raises
        ------
        ValueError
            If a label of a group occurs in no image.
        """
        values = as_labels(labels)
        as_integer("seed", seed, minimum=0)
        for agent, own in enumerate(self.groups):
            absent = sorted(set(own) - set(values.tolist()))
            if absent:
                raise fail(
                    f"groups[{agent}]",
                    "labels that occur in the data",
                    f"{absent}, which do not",
                    "choose labels of the data set",
                )
        return Partition(tuple(np.flatnonzero(np.isin(values, own)) for own in self.groups))


@dataclass(frozen=True)
class Evenly:
    """Shuffled, and dealt in equal shares of ⌊n/N⌋ images (P2 supplement 1.4.3; FedAvg's IID).

    The n mod N images left over are held by nobody.

    Raises
    ------
    ValueError
        If there is no agent.

    Examples
    --------
    >>> Evenly(3).deal([5] * 20, seed=1).sizes
    (6, 6, 6)
    """

    agents: int

    def __post_init__(self) -> None:
        as_integer("agents", self.agents, minimum=1)

    def deal(self, labels: ArrayLike, *, seed: int) -> Partition:
        """Each agent's images.

        Raises
        ------
        ValueError
            If there are fewer images than agents.
        """
        images = as_labels(labels).size
        generator = np.random.default_rng(as_integer("seed", seed, minimum=0))
        share = _share("agents", images, self.agents)
        shuffled = generator.permutation(images)[: share * self.agents]
        return Partition(tuple(shuffled.reshape(self.agents, share)))


@dataclass(frozen=True)
class Informative:
    """One agent with every image of the labels `centre`; the others share those of `edges`.

    The shares are those of :func:`empirical.star_partition`, less the image by which some are
    larger than others: P2 prints the same size for all of them (supplement, tables 1 and 2).

    Parameters
    ----------
    centre, edges
        Disjoint sets of labels.
    others
        How many agents share the labels `edges`.
    place
        The number of the informative agent: 0 for a star's centre, 4 in the middle of a 3 × 3
        grid.

    Raises
    ------
    ValueError
        If there are no others, or `place` is no agent; what is wrong with labels shows when they
        are dealt.

    Examples
    --------
    >>> Informative((7,), (1, 2), others=2, place=1).deal([1, 7, 2, 7, 7, 1, 2, 1], seed=0).sizes
    (2, 3, 2)
    """

    centre: tuple[int, ...]
    edges: tuple[int, ...]
    others: int = 8
    place: int = 0

    def __post_init__(self) -> None:
        others = as_integer("others", self.others, minimum=1)
        as_integer("place", self.place, minimum=0, maximum=others)

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return self.others + 1

    def deal(self, labels: ArrayLike, *, seed: int) -> Partition:
        """Each agent's images.

        Raises
        ------
        ValueError
            If a label is on both sides or occurs in no image, or the others have too few images.
        """
        star = star_partition(
            as_labels(labels),
            centre_labels=self.centre,
            edge_labels=self.edges,
            edges=self.others,
            seed=seed,
        )
        share = min(star.sizes[1:])
        shares = (star.indices[0], *(own[:share] for own in star.indices[1:]))
        return Partition(shares).placed_at(self.place)


@dataclass(frozen=True)
class Shards:
    """Sorted by label, cut into clients × each shards, and `each` shards at random per client.

    McMahan et al. (2017), section 3, "pathological non-IID": 200 shards of 300 images, two for
    each of 100 clients, so that most clients hold two labels. Where n is no multiple of the number
    of shards, their sizes differ by one, and every image is held.

    Raises
    ------
    ValueError
        If a number is less than one.

    Examples
    --------
    >>> Shards(clients=2, each=2).deal([1, 0, 1, 0, 0, 1, 0, 1], seed=0).sizes
    (4, 4)
    """

    clients: int = 100
    each: int = 2

    def __post_init__(self) -> None:
        as_integer("clients", self.clients, minimum=1)
        as_integer("each", self.each, minimum=1)

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return self.clients

    def deal(self, labels: ArrayLike, *, seed: int) -> Partition:
        """Each client's images.

        Raises
        ------
        ValueError
            If there are fewer images than shards.
        """
        values = as_labels(labels)
        generator = np.random.default_rng(as_integer("seed", seed, minimum=0))
        count = self.clients * self.each
        _share("clients × each", values.size, count)
        shards = np.array_split(np.argsort(values, kind="stable"), count)
        dealt = generator.permutation(count).reshape(self.clients, self.each)
        return Partition(tuple(np.concatenate([shards[k] for k in own]) for own in dealt))


def as_labels(labels: ArrayLike) -> IntArray:
    """One whole number per image, shape (n,), n ≥ 1; anything else is refused."""
    try:
        values = np.asarray(labels)
    except ValueError:
        values = np.empty((0, 0))
    if values.ndim != 1 or values.size == 0:
        raise fail(
            "labels", "shape (n,), n ≥ 1", f"shape {values.shape}", "give one label per image"
        )
    if values.dtype.kind not in "iu":
        raise fail("labels", "whole numbers", f"{values.dtype} entries", "number the labels")
    return values.astype(np.int64)


def _share(argument: str, images: int, shares: int) -> int:
    """How many images each of equal shares has: at least one."""
    if images < shares:
        raise fail(
            argument,
            f"at most {images}, the number of images",
            shares,
            "use fewer, or more images",
        )
    return images // shares

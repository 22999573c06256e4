"""Who gets which labelled images: rules of dealing, and that of every published experiment.

A rule is a value; it deals any array of labels, so that the same rule serves a data set and a
thinned one. All images of given labels, equal shares at random, one informative agent beside others
that share few labels, shards of the images sorted by label: these are the papers'. Shares that the
papers print as equal are equal: 12 665 images shared by eight agents are 1 583 each, and the one
left over goes to nobody. Balanced shares, those drawn from a Dirichlet distribution, and shares of
given sizes deal every example.

:data:`DEALINGS` holds the rule of each experiment with neural networks by name:

- P1 section 5.2: two nodes on Fashion-MNIST;
- P2 section 4.2 and supplement 1.4: stars, grids, and networks that change with time;
- McMahan et al. (2017), "Communication-efficient learning of deep networks from decentralized
  data", section 3: federated averaging.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from empirical.partition import (
    GRID_PLACEMENTS,
    LABEL_SPLITS,
    Partition,
    as_labels,
    in_proportion,
    occurring,
    star_partition,
)
from theory.validation import IntArray, as_integer, as_positive, fail, read_only

# Tries to give every agent enough; where they fail, α is far too small for so few examples.
_TRIES = 1000


class Rule(Protocol):
    """Who gets which images."""

    @property
    def agents(self) -> int:
        """The number N of agents."""

    def deal(self, labels: ArrayLike, *, seed: int) -> Partition:
        """The shares of images with these labels, shape (n,); the same seed, the same shares.

        Raises
        ------
        ValueError
            If there are too few images, or not those that the rule asks for.
        """


class _Rule(ABC):
    """A rule that deals by random numbers of one seed."""

    def deal(self, labels: ArrayLike, *, seed: int) -> Partition:
        """As :meth:`Rule.deal` says."""
        generator = np.random.default_rng(as_integer("seed", seed, minimum=0))
        return Partition(tuple(self._shares(as_labels(labels), generator)))

    @abstractmethod
    def _shares(self, labels: IntArray, rng: np.random.Generator) -> Sequence[IntArray]:
        """Each agent's images."""


# The papers' rules -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ByLabels(_Rule):
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

    def _shares(self, labels: IntArray, rng: np.random.Generator) -> Sequence[IntArray]:
        for agent, own in enumerate(self.groups):
            occurring(f"groups[{agent}]", own, labels)
        return [np.flatnonzero(np.isin(labels, own)) for own in self.groups]


@dataclass(frozen=True)
class Evenly(_Rule):
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

    def _shares(self, labels: IntArray, rng: np.random.Generator) -> Sequence[IntArray]:
        share = _share("agents", labels.size, self.agents)
        return list(rng.permutation(labels.size)[: share * self.agents].reshape(-1, share))


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
        """As :meth:`Rule.deal` says."""
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
class Shards(_Rule):
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

    def _shares(self, labels: IntArray, rng: np.random.Generator) -> Sequence[IntArray]:
        count = self.clients * self.each
        _share("clients × each", labels.size, count)
        shards = np.array_split(np.argsort(labels, kind="stable"), count)
        dealt = rng.permutation(count).reshape(self.clients, self.each)
        return [np.concatenate([shards[k] for k in own]) for own in dealt]


# Rules that deal every example ------------------------------------------------------------------


@dataclass(frozen=True)
class Balanced(_Rule):
    """Every agent gets its share of every class: numbers of a class differ by at most one.

    So do the numbers of examples in all. Within a class, who gets which is random.

    Raises
    ------
    ValueError
        If there is no agent.

    Examples
    --------
    >>> Balanced(2).deal([0, 1, 0, 1, 0, 1, 0], seed=0).sizes
    (4, 3)
    """

    agents: int

    def __post_init__(self) -> None:
        as_integer("agents", self.agents, minimum=1)

    def _shares(self, labels: IntArray, rng: np.random.Generator) -> Sequence[IntArray]:
        _share("agents", labels.size, self.agents)
        shuffled = rng.permutation(labels.size)
        ranked = shuffled[np.argsort(labels[shuffled], kind="stable")]
        return [ranked[agent :: self.agents] for agent in range(self.agents)]


@dataclass(frozen=True)
class Dirichlet(_Rule):
    """Each class is dealt in proportions drawn from the symmetric Dirichlet distribution.

    For each class p ~ Dirichlet(α, …, α) over the agents, independently (Hsu, Qi and Brown, 2019,
    "Measuring the effects of non-identical data distribution for federated visual classification",
    with the roles of classes and agents exchanged, as in Yurochkin et al., 2019). A draw that
    leaves an agent with fewer than `minimum` examples is drawn again.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> sizes = Dirichlet(4, alpha=0.5).deal([0, 1] * 50, seed=0).sizes
    >>> sum(sizes), min(sizes) >= 2
    (100, True)
    """

    agents: int
    alpha: float
    minimum: int = 2

    def __post_init__(self) -> None:
        as_integer("agents", self.agents, minimum=1)
        as_positive("alpha", self.alpha)
        as_integer("minimum", self.minimum, minimum=1)

    def _shares(self, labels: IntArray, rng: np.random.Generator) -> Sequence[IntArray]:
        _share("agents", labels.size // self.minimum, self.agents)
        classes = [np.flatnonzero(labels == label) for label in np.unique(labels)]
        for _ in range(_TRIES):
            shares = rng.dirichlet([self.alpha] * self.agents, size=len(classes))
            dealt = [
                _cut(rng.permutation(own), share)
                for own, share in zip(classes, shares, strict=True)
            ]
            sizes = np.sum([[part.size for part in parts] for parts in dealt], axis=0)
            if sizes.min() >= self.minimum:
                return [np.concatenate(own) for own in zip(*dealt, strict=True)]
        wanted = f"a Dirichlet that leaves each of {self.agents} agents {self.minimum} examples"
        got = f"{self.alpha:g}, with which {_TRIES} draws did not"
        remedy = "make alpha larger, or use fewer agents or a smaller minimum"
        raise fail("alpha", wanted, got, remedy)


@dataclass(frozen=True)
class Sizes(_Rule):
    """Shuffled, and dealt in shares of given proportions.

    Raises
    ------
    ValueError
        If there is no share, or one is not positive.

    Examples
    --------
    >>> Sizes((8, 1, 1)).deal([0] * 20, seed=0).sizes
    (16, 2, 2)
    """

    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.shares:
            raise fail("sizes", "one number for each agent", "none", "say who gets how much")
        for k, share in enumerate(self.shares):
            as_positive(f"sizes[{k}]", share)

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return len(self.shares)

    def _shares(self, labels: IntArray, rng: np.random.Generator) -> Sequence[IntArray]:
        total = sum(self.shares)
        parts = _cut(rng.permutation(labels.size), np.array(self.shares) / total)
        for agent, part in enumerate(parts):
            if not part.size:
                got = f"{self.shares[agent]:g} of {total:g}, of {labels.size} examples"
                raise fail(f"sizes[{agent}]", "an example for every agent", got, "make it larger")
        return parts


def _cut(rows: IntArray, shares: ArrayLike) -> list[IntArray]:
    """Rows in their order, cut in proportion; all of them."""
    ends = np.rint(np.cumsum(np.asarray(shares)) * rows.size).astype(np.int64)
    ends[-1] = rows.size
    return [rows[low:high] for low, high in itertools.pairwise([0, *ends.tolist()])]


def _share(argument: str, images: int, shares: int) -> int:
    """How many images each of equal shares has: at least one."""
    if images < shares:
        wanted = f"at most {images}, for so few examples"
        raise fail(argument, wanted, shares, "use fewer, or more examples")
    return images // shares


# The published experiments -----------------------------------------------------------------------


@dataclass(frozen=True)
class Dealing:
    """The training images of one experiment: which data set, and who gets what of it."""

    name: str
    dataset: str
    rule: Rule

    def deal(self, labels: ArrayLike, *, seed: int) -> Partition:
        """The shares of images with these labels, by the rule."""
        return self.rule.deal(labels, seed=seed)


def _dealings() -> dict[str, Dealing]:
    everyone = tuple(range(10))
    rules: dict[str, Rule] = {
        "fmnist-central": Evenly(1),
        "fmnist-2-iid": Evenly(2),
        "fmnist-2-balanced-a": ByLabels((everyone[:5], everyone[5:])),
        "fmnist-2-balanced-b": ByLabels(((0, 2, 3, 4, 6), (1, 5, 7, 8, 9))),
        "fmnist-2-unbalanced": ByLabels((everyone[:8], everyone[8:])),
        **{name: Informative(split.centre, split.edges) for name, split in LABEL_SPLITS.items()},
        **{
            f"grid-mnist-{where}": Informative(everyone[2:], everyone[:2], place=place)
            for where, place in GRID_PLACEMENTS.items()
        },
        "timevarying-25": Evenly(26),
        "timevarying-100": Evenly(101),
        "fedavg-iid": Evenly(100),
        "fedavg-shards": Shards(),
    }
    return {
        name: Dealing(name, "fashion-mnist" if "fmnist" in name else "mnist", rule)
        for name, rule in rules.items()
    }


# Every experiment with neural networks; both placements of the grid have a name of their own.
DEALINGS: Mapping[str, Dealing] = MappingProxyType(_dealings())


def held_labels(partition: Partition, labels: ArrayLike) -> tuple[tuple[int, ...], ...]:
    """The labels in each agent's own data, sorted: P2's *in-domain* labels.

    Raises
    ------
    ValueError
        If the partition names an image that is not there.

    Examples
    --------
    >>> held_labels(Partition(([0, 2], [1])), [4, 3, 0])
    ((0, 4), (3,))
    """
    values = as_labels(labels)
    last = max(int(own[-1]) for own in partition.indices)
    if last >= values.size:
        remedy = "give the labels that were dealt"
        raise fail("labels", f"more than {last} labels", values.size, remedy)
    return tuple(tuple(np.unique(values[own]).tolist()) for own in partition.indices)


def stratified_subset(labels: ArrayLike, size: int, *, seed: int) -> IntArray:
    """Positions of `size` images at random with every label in proportion, sorted, read-only.

    Numbers per label are rounded by the method of largest remainders. A slice would not do as a
    sample: the first half of MNIST's test images is cleaner than the second.

    Raises
    ------
    ValueError
        If there are fewer than `size` images, or `size` is less than one.

    Examples
    --------
    >>> labels = [0] * 60 + [1] * 40
    >>> [labels[k] for k in stratified_subset(labels, 5, seed=0)]
    [0, 0, 0, 1, 1]
    """
    values = as_labels(labels)
    size = as_integer("size", size, minimum=1, maximum=values.size)
    generator = np.random.default_rng(as_integer("seed", seed, minimum=0))
    present, counts = np.unique(values, return_counts=True)
    chosen = [
        generator.choice(np.flatnonzero(values == label), count, replace=False)
        for label, count in zip(present, in_proportion(counts, size), strict=True)
    ]
    return read_only(np.sort(np.concatenate(chosen)))

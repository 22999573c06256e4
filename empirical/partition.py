"""Who holds which labels.

P2's networks have one *informative* agent, which alone sees most classes, and eight others that
share the images of the remaining classes without overlap. The informative agent is the centre of
a star (P2 section 4.2), or sits in the middle or a corner of a 3 x 3 grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from theory.validation import IntArray, as_integer, fail, read_only


@dataclass(frozen=True)
class LabelSplit:
    """The labels of the informative agent (`centre`) and those the others share (`edges`)."""

    name: str
    centre: tuple[int, ...]
    edges: tuple[int, ...]


# P2 section 4.2: the label splits of its star networks.
LABEL_SPLITS: Mapping[str, LabelSplit] = MappingProxyType(
    {
        split.name: split
        for split in (
            LabelSplit("star-mnist-1", (2, 3, 4, 5, 6, 7, 8, 9), (0, 1)),
            LabelSplit("star-mnist-2", (0, 1, 2, 3, 4, 5, 6, 7), (8, 9)),
            LabelSplit("star-mnist-3", (0, 1, 2, 3, 5, 6, 7, 8), (4, 9)),
            LabelSplit("star-fmnist-1", (0, 2, 3, 4, 6, 8), (1, 5, 7, 9)),
            LabelSplit("star-fmnist-2", (0, 1, 3, 4, 6, 8), (2, 5, 7, 9)),
        )
    }
)

# Where the informative agent sits in a 3 x 3 grid whose agents are numbered row by row.
GRID_PLACEMENTS: Mapping[str, int] = MappingProxyType({"corner": 0, "centre": 4})


@dataclass(frozen=True, eq=False)
class Partition:
    """Which images each agent holds.

    Parameters
    ----------
    indices
        One array per agent: positions in the data set, sorted, disjoint between agents.
    informative
        The agent that holds the centre's labels.

    Raises
    ------
    ValueError
        If an agent holds nothing, an image is held twice, or `informative` is no agent.
    """

    indices: tuple[IntArray, ...]
    informative: int = 0

    def __post_init__(self) -> None:
        held = tuple(np.sort(np.array(own, dtype=np.int64)) for own in self.indices)
        for agent, own in enumerate(held):
            if own.ndim != 1 or own.size == 0 or own[0] < 0:
                wanted, remedy = "at least one image, by its position", "give every agent an image"
                raise fail(f"indices[{agent}]", wanted, f"shape {own.shape}", remedy)
        everything = np.sort(np.concatenate(held)) if held else np.array([], dtype=np.int64)
        twice = everything[1:][np.diff(everything) == 0]
        if everything.size == 0 or twice.size:
            got = f"image {twice[0]} more than once" if twice.size else "no agents"
            raise fail("indices", "disjoint sets of images", got, "give each image to one agent")
        if as_integer("informative", self.informative, minimum=0) >= len(held):
            wanted = f"an agent from 0 to {len(held) - 1}"
            raise fail("informative", wanted, self.informative, "name one of them")
        object.__setattr__(self, "indices", tuple(read_only(own) for own in held))

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return len(self.indices)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many images each agent holds."""
        return tuple(int(own.size) for own in self.indices)

    def placed_at(self, agent: int) -> Partition:
        """The same shares with the informative agent at `agent`, the others in their order.

        Raises
        ------
        ValueError
            If there is no such agent.

        Examples
        --------
        >>> Partition(([0, 1, 2], [3], [4])).placed_at(1).sizes
        (1, 3, 1)
        """
        if not 0 <= as_integer("agent", agent, minimum=0) < self.agents:
            raise fail("agent", f"0 to {self.agents - 1}", agent, "name an agent")
        others = [own for k, own in enumerate(self.indices) if k != self.informative]
        others.insert(agent, self.indices[self.informative])
        return Partition(tuple(others), agent)


def star_partition(
    labels: ArrayLike,
    *,
    centre_labels: Iterable[int],
    edge_labels: Iterable[int],
    edges: int = 8,
    seed: int,
) -> Partition:
    """All images of `centre_labels` to agent 0, those of `edge_labels` dealt to the others.

    The edges' images are shuffled and dealt in `edges` shares that do not overlap and whose sizes
    differ by at most one. Images of other labels are held by nobody.

    Parameters
    ----------
    labels
        Shape (n,): the label of each image.
    centre_labels, edge_labels
        Disjoint sets of labels.
    edges
        How many agents share the edge labels.
    seed
        Of the shuffle; the same seed gives the same shares.

    Raises
    ------
    ValueError
        If a label is on both sides or occurs in no image, or there are fewer images than edges.

    Examples
    --------
    >>> shares = star_partition(
    ...     [7, 3, 3, 7, 3, 5], centre_labels=[7], edge_labels=[3, 5], edges=2, seed=0
    ... )
    >>> shares.sizes
    (2, 2, 2)
    """
    values = as_labels(np.asarray(labels, dtype=np.int64))
    edges = as_integer("edges", edges, minimum=1)
    seed = as_integer("seed", seed, minimum=0)
    centre, rim = (np.unique(np.fromiter(side, np.int64)) for side in (centre_labels, edge_labels))
    occurring("centre_labels", centre, values)
    occurring("edge_labels", rim, values)
    both = np.intersect1d(centre, rim)
    if both.size:
        wanted, got = "labels other than the centre's", f"{both.tolist()} on both sides"
        raise fail("edge_labels", wanted, got, "give each label to one side")
    shared = np.flatnonzero(np.isin(values, rim))
    if shared.size < edges:
        wanted = f"at most {shared.size}, the number of images to share"
        raise fail("edges", wanted, edges, "use fewer edges")
    dealt = np.array_split(np.random.default_rng(seed).permutation(shared), edges)
    return Partition((np.flatnonzero(np.isin(values, centre)), *dealt))


def as_labels(labels: ArrayLike) -> IntArray:
    """One whole number per image, shape (n,), n ≥ 1; anything else is refused."""
    try:
        values = np.asarray(labels)
    except ValueError:
        values = np.empty((0, 0))
    if values.ndim != 1 or values.size == 0:
        got = f"shape {values.shape}"
        raise fail("labels", "shape (n,), n ≥ 1", got, "give one label per image")
    if values.dtype.kind not in "iu":
        raise fail("labels", "whole numbers", f"{values.dtype} entries", "number the labels")
    return values.astype(np.int64)


def occurring(argument: str, wanted: ArrayLike, labels: IntArray) -> None:
    """See that labels, one at least, are among those of the images.

    Raises
    ------
    ValueError
        If not; the line names those that are missing.
    """
    absent = np.setdiff1d(wanted, labels).tolist()
    if absent or not np.size(wanted):
        got = f"{absent}, which do not" if absent else "none"
        raise fail(argument, "labels that occur in the data", got, "choose labels of the data set")


def in_proportion(counts: IntArray, size: int) -> IntArray:
    """`size` things in proportion to counts, rounded by the method of largest remainders.

    >>> in_proportion(np.array([60, 40, 7]), 5).tolist()
    [3, 2, 0]
    """
    total = int(counts.sum())
    rounded = counts * size // total
    left = size - int(rounded.sum())
    rounded[np.argsort(-(counts * size % total), kind="stable")[:left]] += 1
    return rounded

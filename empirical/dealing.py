"""How the training images are dealt in every experiment with neural networks.

:data:`DEALINGS` holds the rule of each experiment by name:

- P1 section 5.2: two nodes on Fashion-MNIST;
- P2 section 4.2 and supplement 1.4: stars, grids, and networks that change with time;
- McMahan et al. (2017), "Communication-efficient learning of deep networks from decentralized
  data", section 3: federated averaging.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from empirical.partition import GRID_PLACEMENTS, LABEL_SPLITS, Partition
from empirical.rules import ByLabels, Evenly, Informative, Rule, Shards, as_labels
from theory.validation import IntArray, as_integer, fail, read_only


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
        raise fail(
            "labels", f"more than {last} labels", values.size, "give the labels that were dealt"
        )
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
    wanted = counts * size // values.size
    remainders = counts * size % values.size
    wanted[np.argsort(-remainders, kind="stable")[: size - int(wanted.sum())]] += 1
    chosen = [
        generator.choice(np.flatnonzero(values == label), count, replace=False)
        for label, count in zip(present, wanted, strict=True)
    ]
    return read_only(np.sort(np.concatenate(chosen)))

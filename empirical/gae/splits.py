"""Who holds which images: the paper's balanced and "unbalanced" splits, and one that wastes none.

What the paper calls unbalanced is balanced in sizes: what differs is which digits a node holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from empirical.gae.recipe import SPLITS
from theory.validation import IntArray, as_integer, fail

# Of the ten digits, each node holds so many; the rarest of MNIST has so many training images.
HELD_DIGITS, DIGITS, RAREST = 8, 10, 5421


@dataclass(frozen=True, eq=False)
class Split:
    """Images by node.

    Attributes
    ----------
    shares
        Each node's images, as indices.
    digits
        Each node's digits, in order.
    """

    shares: tuple[IntArray, ...]
    digits: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Images of each node."""
        return tuple(len(share) for share in self.shares)

    @property
    def missing(self) -> tuple[int, ...]:
        """Digits that nobody holds."""
        return tuple(sorted(set(range(DIGITS)) - {d for own in self.digits for d in own}))


def split_of(kind: str, labels: IntArray, nodes: int, random: np.random.Generator) -> Split:
    """The split of a name.

    Parameters
    ----------
    kind
        ``"balanced"``: consecutive chunks of equal size. ``"unbalanced"``: each node draws 8 of
        the 10 digits, and ⌊r/M⌋ images of each, where r is the size of the rarest digit (5 421 in
        MNIST: 72 % of the images are used). ``"unbalanced-all"``: the same draw of digits, and
        every image goes to one of the nodes that hold its digit, in turns.
    labels
        Shape (n,), digits.
    random
        Draws digits; of "balanced" nothing.

    Raises
    ------
    ValueError
        If there is no such split, or `nodes` does not divide the images of a balanced one.
    """
    nodes = as_integer("nodes", nodes, minimum=1)
    if kind not in SPLITS:
        raise fail("split", " or ".join(map(repr, SPLITS)), repr(kind), "choose one of them")
    if kind == "balanced":
        return _chunks(labels, nodes)
    digits = tuple(
        tuple(sorted(int(d) for d in random.choice(DIGITS, HELD_DIGITS, replace=False)))
        for _ in range(nodes)
    )
    places = [np.flatnonzero(labels == digit) for digit in range(DIGITS)]
    each = min(len(own) for own in places) // nodes
    shares: list[list[IntArray]] = [[] for _ in range(nodes)]
    for digit, own in enumerate(places):
        holders = [node for node, held in enumerate(digits) if digit in held]
        for turn, node in enumerate(holders):
            if kind == "unbalanced":
                shares[node].append(own[turn * each : (turn + 1) * each])
            else:
                shares[node].append(own[turn :: len(holders)])
    if each == 0:
        wanted = f"at most {min(len(own) for own in places)}, the images of the rarest digit"
        raise fail("nodes", wanted, nodes, "take fewer nodes or more images")
    return Split(tuple(np.sort(np.concatenate(share)) for share in shares), digits)


def _chunks(labels: IntArray, nodes: int) -> Split:
    size, left = divmod(len(labels), nodes)
    if left or not size:
        wanted = f"a number that divides {len(labels)} images"
        raise fail("nodes", wanted, nodes, "choose another number of nodes")
    shares = tuple(np.arange(m * size, (m + 1) * size) for m in range(nodes))
    digits = tuple(tuple(int(d) for d in np.unique(labels[share])) for share in shares)
    return Split(shares, digits)

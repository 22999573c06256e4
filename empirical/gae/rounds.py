"""Rounds of GAE: every node trains alone, all encode at once, and each merges what it hears.

    θ_m ← (1 − α) θ_m + α · received

What a message does not speak of counts as 0 (`merge` "zeros"), so that such weights shrink by 1 − α
in every round, or stays as it is ("masked"). Where a codec has replicas ŷ of what was said,

    θ_m ← θ_m + α γ (ŷ_{m'} − ŷ_m),

so that what it left out stays with its owner. The losses that messages carry, and their mean
u (eq. 8), steer nothing: they are kept beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from empirical.gae.messages import (
    LOSS_BITS,
    check_computed,
    computed,
    computed_bits,
    largest_places,
)
from empirical.gae.net import WEIGHTS, Moments, Passes, epoch, side_by_side, stream
from empirical.gae.recipe import SPLITS, Recipe
from empirical.messages.codec import Coder, Heard, Memory, Replicating
from theory.validation import IntArray, as_integer, fail

# Rounds of GAE -----------------------------------------------------------------------------------


# Purposes of random numbers, the first place of a stream.
TRAINING, LISTENING = 0, 1


@dataclass(frozen=True)
class Edge:
    """What stands at an edge of the ring after a round (eq. 7).

    Attributes
    ----------
    sender, receiver
        Its ends.
    bandwidth
        Bits that it carried: b_k. Of the codec's body alone, as eqs 4 to 6 count.
    beside
        Bits that it carried besides: the sender's loss.
    loss
        The sender's loss in this round, in nats.
    """

    sender: int
    receiver: int
    bandwidth: int
    beside: int
    loss: float


@dataclass(eq=False)
class Nodes:
    """All nodes of a run.

    Attributes
    ----------
    weights
        Shape (M, d), float32.
    moments
        Adam's.
    losses
        Of each round so far and each node, in nats: means over the round's training.
    edges
        Of the last round.
    memories
        What each node and all who hear it remember of its messages, where a codec remembers
        anything.
    sent_bits
        Of each round so far: bits of all bodies.
    """

    weights: Tensor
    moments: Moments
    losses: list[list[float]] = field(default_factory=list)
    edges: tuple[Edge, ...] = ()
    memories: list[Memory] = field(default_factory=list)
    sent_bits: list[int] = field(default_factory=list)

    @classmethod
    def begin(cls, weights: Tensor, nodes: int) -> Nodes:
        """All with the same weights, shape (d,)."""
        rows = weights.repeat(nodes, 1)
        return cls(rows, Moments.none(rows))

    @property
    def mean_loss(self) -> float:
        """U of eq. 8; infinite before the first round."""
        return float(np.mean(self.losses[-1])) if self.losses else np.inf


def one_round(
    nodes: Nodes,
    passes: Passes,
    shares: Sequence[IntArray],
    coder: Coder | None,
    recipe: Recipe,
    *,
    seed: int,
    workers: int = 1,
    closing_coder: Coder | None = None,
    look: Callable[[int], None] | None = None,
) -> None:
    """One round of all nodes, in place; of the last one, closing exchanges are part.

    Parameters
    ----------
    shares
        Each node's images.
    coder
        Of the exchange; None: nothing is sent.
    workers
        Threads that train nodes side by side; no bit depends on them.
    closing_coder
        Of the closing exchanges; None: the same.
    look
        Called before each closing exchange with how many there have been.

    Raises
    ------
    ValueError
        If training breaks down.
    """
    number = len(nodes.losses)

    def trained(node: int) -> float:
        random = stream(seed, TRAINING, number, node)
        return epoch(passes, nodes.weights, nodes.moments, node, shares[node], recipe, random)

    nodes.losses.append(side_by_side(trained, range(len(shares)), workers=workers))
    nodes.sent_bits.append(0)
    nodes.edges = ()
    if coder is not None:
        due = int((number + 1) % recipe.every == 0)
        if due:
            exchange(nodes, coder, recipe, number, seed=seed, workers=workers)
        for more in range(recipe.closing if number + 1 == recipe.rounds else 0):
            if look is not None:
                look(more)
            last = closing_coder or coder
            exchange(nodes, last, recipe, number + due + more, seed=seed, workers=workers)


def exchange(
    nodes: Nodes, coder: Coder, recipe: Recipe, number: int, *, seed: int, workers: int = 1
) -> None:
    """All say what they have learnt, and merge what they hear, in place.

    `number` is its time; by so many threads messages are written and read, and no bit depends on
    them.
    """
    heard_by = sources(recipe, stream(seed, LISTENING, number))
    if not nodes.memories:
        nodes.memories = [coder.memory() for _ in nodes.weights]
    bits = computed_bits(nodes.weights, recipe)
    if bits is None:
        sizes, said = _exchanged(nodes, coder, {*heard_by}, number, workers)
    else:
        sizes = [bits] * recipe.nodes
        said = {node: computed(own, coder, recipe) for node, own in enumerate(nodes.weights)}
        if (number + 1).bit_count() == 1:
            check_computed(nodes.weights[0], said[0], coder, bits)
    if recipe.aliased:
        prune(nodes.weights[0], recipe)
    for node, sender in enumerate(heard_by):
        if isinstance(coder, Replicating):
            towards(nodes.weights[node], nodes.memories, node, sender, coder, recipe)
        else:
            merge(nodes.weights[node], said[sender], recipe)
    nodes.edges = tuple(
        Edge(sender, node, sizes[sender], LOSS_BITS, nodes.losses[-1][sender])
        for node, sender in enumerate(heard_by)
    )
    nodes.sent_bits[-1] += sum(edge.bandwidth for edge in nodes.edges)


def _exchanged(
    nodes: Nodes, coder: Coder, senders: set[int], number: int, workers: int
) -> tuple[list[int], dict[int, Heard]]:
    """Bits of all bodies, and what those of `senders` say to who has heard all before.

    Raises
    ------
    ValueError
        If a reader remembers anything else than the writer.
    """

    def one(node: int) -> tuple[int, Heard | None]:
        memory = nodes.memories[node]
        heard = {name: values.clone() for name, values in memory.items()}
        body = coder.encode({WEIGHTS: nodes.weights[node].cpu()}, memory, seed=number)
        if node not in senders:
            return 8 * len(body), None
        said = coder.decode(body, heard, seed=number)
        if not all(torch.equal(memory[name], values) for name, values in heard.items()):
            remedy = "this is a fault of the codec"
            raise fail(f"memory of node {node}", "the same at both ends", "two", remedy)
        return 8 * len(body), said

    everyone = range(len(nodes.weights))
    sizes, said = zip(*side_by_side(one, everyone, workers=workers), strict=True)
    return list(sizes), {node: heard for node, heard in enumerate(said) if heard is not None}


def towards(
    own: Tensor,
    memories: Sequence[Memory],
    node: int,
    sender: int,
    coder: Replicating,
    recipe: Recipe,
) -> None:
    """θ ← θ + α γ (ŷ_sender − ŷ_node), in place; `own` has shape (d,)."""
    there, here = (coder.replica(memories[one])[WEIGHTS] for one in (sender, node))
    own.add_((there - here).to(own.device), alpha=recipe.mixing * coder.mixing)


def sources(recipe: Recipe, random: np.random.Generator) -> list[int]:
    """Whom each node hears: the one before it, or one of its two neighbours on the ring."""
    steps = np.full(recipe.nodes, -1)
    if recipe.neighbour == "random":
        steps = random.choice((-1, 1), recipe.nodes)
    return [int(node + by) % recipe.nodes for node, by in enumerate(steps)]


def merge(own: Tensor, heard: Heard, recipe: Recipe) -> None:
    """θ ← (1 − α) θ + α · received, in place; `own` has shape (d,)."""
    received = heard.vectors[WEIGHTS].to(own.device)
    if heard.sent is not None:
        sent = heard.sent.to(own.device)
        unsaid = own if recipe.merge == "masked" else torch.zeros_like(own)
        received = torch.where(sent, received, unsaid)
    own.lerp_(received, recipe.mixing)


def prune(own: Tensor, recipe: Recipe) -> None:
    """Sets all but the largest weights of a node to 0, in place; nothing where none are pruned."""
    if recipe.exchange in ("none", "full", "codec"):
        return
    places = largest_places(own, recipe.kept)
    own.copy_(torch.zeros_like(own).scatter(0, places, own[places]))


def accuracies(nodes: Nodes, test: Passes, images: int, *, workers: int = 1) -> list[float]:
    """Each node's share of test images that it puts into their class; by so many threads."""
    everyone = range(len(nodes.weights))
    right = side_by_side(lambda node: test.right(nodes.weights[node]), everyone, workers=workers)
    return [one / images for one in right]


# Who holds which images --------------------------------------------------------------------------


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

"""Rounds of GAE: every node trains alone, all encode at once, and each merges what it hears.

    θ_m ← (1 − α) θ_m + α · received

What a message does not speak of counts as 0 (`merge` "zeros"), so that such weights shrink by 1 − α
in every round, or stays as it is ("masked"). Where a codec has replicas ŷ of what was said,

    θ_m ← θ_m + α γ (ŷ_{m'} − ŷ_m),

so that what it left out stays with its owner. The losses that messages carry, and their mean
u (eq. 8), steer nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.gae.net import WEIGHTS, Passes, epoch, layout, side_by_side, stream
from empirical.gae.net import begin as begin_training
from empirical.gae.recipe import SPLITS, Recipe
from empirical.messages.autoencoder import Autoencoder
from empirical.messages.codec import Coder, Heard, Memory, Replicating
from empirical.messages.codecs import codec_from_words
from empirical.messages.codecs.pruned import AutoencoderCoder, index_bits
from empirical.train.history import RoundReport
from empirical.train.pooling import restore_tensors
from theory.validation import IntArray, as_integer, fail

# What nodes send ---------------------------------------------------------------------------------


FLOAT_BITS = 32
# Each message also carries its sender's loss (eq. 3), which eqs 4 to 6 leave out.
LOSS_BITS = FLOAT_BITS
# Of a message on two devices: the largest difference, over the size of what it says.
_ROUNDING = 1e-3


def coder_of(recipe: Recipe, begin: Tensor, *, autoencoder: Path | None) -> Coder | None:
    """The coder of a recipe's exchange; None where nothing is sent.

    Parameters
    ----------
    begin
        The weights that all nodes begin with, shape (d,).
    autoencoder
        The file of a trained autoencoder, where the exchange needs one.

    Raises
    ------
    ValueError
        If it is missing, or made for other nets or another recipe; more weights are to be kept
        than there are; or a codec does not fit, or remembers what was said to nodes that change.
    """
    if recipe.exchange == "none" or recipe.nodes == 1:
        return None
    if recipe.exchange == "autoencoder" and autoencoder is None:
        remedy = "train it by 'peerbayes run gae --part autoencoder'"
        raise fail("autoencoder", "a trained autoencoder", "none", remedy)
    kept, exact, latent = recipe.kept, recipe.exact, recipe.latent
    words: Any = {
        "full": {"codec": "plain"},
        "pruned": {"codec": "pruned", "kept": kept},
        "spline": {"codec": "spline", "kept": kept, "exact": exact, "knots": latent},
        "autoencoder": {"codec": "autoencoder", "file": str(autoencoder)},
        "codec": recipe.codec,
    }[recipe.exchange]
    coder = codec_from_words(words).coder(layout(begin))
    if isinstance(coder, AutoencoderCoder):
        own = coder.autoencoder
        if (own.kept, own.exact, own.latent) != (kept, exact, latent):
            wanted = f"one for (kept, exact, latent) = {kept, exact, latent}"
            got = own.kept, own.exact, own.latent
            raise fail(str(autoencoder), wanted, got, "train one by this recipe")
    if recipe.neighbour == "random" and coder.memory():
        wanted = f"'fixed', for {words['codec']!r} needs every message of a sender"
        raise fail("neighbour", wanted, "'random'", "use a codec that remembers nothing")
    return coder


def closing_coder_of(recipe: Recipe, begin: Tensor, coder: Coder | None) -> Coder | None:
    """The coder of the exchanges after the last round; that of the others, if none is named.

    Raises
    ------
    ValueError
        If it does not fit, or remembers something that the other does not.
    """
    if recipe.closing_codec is None or coder is None:
        return coder
    closing = codec_from_words(recipe.closing_codec).coder(layout(begin))
    kept = coder.memory().keys()
    if not closing.memory().keys() <= kept:
        wanted = f"one that remembers no more than {sorted(kept)}, as 'codec' does"
        remedy = "put both into the same outer codec, such as 'replica'"
        raise fail("closing_codec", wanted, sorted(closing.memory()), remedy)
    return closing


def printed_bits(recipe: Recipe, size: int) -> Mapping[str, int]:
    """Bits of a message of a net of `size` weights, by exchange, as eqs 4 to 6 count them.

    A codec's are counted when it has written; eq. 5, which it competes with, stands for it.
    """
    index, few = index_bits(size), 2 * recipe.exact + recipe.latent + 1
    coded = recipe.kept * index + few * FLOAT_BITS
    pruned = recipe.kept * (index + FLOAT_BITS)
    return {
        "none": 0,
        "full": size * FLOAT_BITS,
        "pruned": pruned,
        "codec": pruned,
        "autoencoder": coded,
        "spline": coded,
    }


# What messages say, computed on the device -------------------------------------------------------


def computed_bits(weights: Tensor, recipe: Recipe) -> int | None:
    """Bits of each message where none has to be written to be heard; None elsewhere."""
    if weights.device.type == "cpu" or recipe.exchange not in ("full", "pruned", "autoencoder"):
        return None
    return -(-printed_bits(recipe, weights.shape[1])[recipe.exchange] // 8) * 8


def computed(own: Tensor, coder: Coder, recipe: Recipe) -> Heard:
    """What a node's message says, computed on its device, for which nothing here waits."""
    if recipe.exchange == "full":
        return Heard({WEIGHTS: own.clone()})
    places = largest_places(own, recipe.kept)
    curve, w = own[places], recipe.exact
    sent = torch.ones_like(curve, dtype=torch.bool)
    if isinstance(coder, AutoencoderCoder):
        curve, order = curve.sort(stable=True)
        places, least = places[order], curve.square().min()
        autoencoder = _placed(coder.autoencoder, own.device)
        middle = autoencoder.decode(autoencoder.encode(curve[w : recipe.kept - w]))
        curve = torch.cat([curve[:w], middle, curve[recipe.kept - w :]])
        sent = curve.square() >= least
    vector = torch.zeros_like(own).scatter(0, places, torch.where(sent, curve, 0.0))
    return Heard(
        {WEIGHTS: vector}, torch.zeros_like(own, dtype=torch.bool).scatter(0, places, sent)
    )


@lru_cache(maxsize=1)
def _placed(autoencoder: Autoencoder, device: torch.device) -> Autoencoder:
    layers = tuple(
        (weights.to(device), biases.to(device)) for weights, biases in autoencoder.layers
    )
    return replace(autoencoder, layers=layers)


def check_computed(own: Tensor, heard: Heard, coder: Coder, bits: int) -> None:
    """Write and read one message: it must say the same within rounding, in as many bits.

    Raises
    ------
    ValueError
        If it does not.
    """
    body = coder.encode({WEIGHTS: own.cpu()}, {}, seed=0)
    read = coder.decode(body, {}, seed=0).vectors[WEIGHTS]
    # The smallest values of a decoded curve may be sent or not by their last digit.
    apart = float((read - heard.vectors[WEIGHTS].cpu()).norm() / read.norm())
    if 8 * len(body) != bits or not apart <= _ROUNDING:
        got = f"{8 * len(body)} bits and a relative difference of {apart:.1g}"
        wanted = f"{bits} bits and at most {_ROUNDING:g}"
        raise fail("message as computed on the device", wanted, got, "use --device cpu")


def largest_places(own: Tensor, count: int) -> Tensor:
    """Coordinates of the `count` largest squares, ascending; of equal ones the first."""
    order = own.square().sort(descending=True, stable=True).indices
    return order[:count].sort().values


# Rounds of GAE -----------------------------------------------------------------------------------


# Purposes of random numbers, the first place of a stream.
TRAINING, LISTENING = 0, 1


class Gossip:
    """A run of GAE, between two rounds.

    Parameters
    ----------
    passes, shares
        The images, and those of each node.
    coder
        Of the exchange; None: nothing is sent.
    recipe
        What is done in each of its rounds.
    begin
        The weights that all nodes begin with, shape (d,).
    workers
        Threads that train nodes, write and read side by side; no bit depends on them. On a GPU all
        is done by one.
    closing_coder
        Of the exchanges after the last round; None: the same.

    Attributes
    ----------
    nodes
        Weights and moments, rows (M, d).
    memories
        What each node and all who hear it remember of its messages.
    round
        How many are done.
    sent_bits
        Of the last round that has begun: bits of all bodies.
    """

    def __init__(
        self,
        passes: Passes,
        shares: Sequence[IntArray],
        coder: Coder | None,
        recipe: Recipe,
        *,
        begin: Tensor,
        seed: int,
        workers: int = 1,
        closing_coder: Coder | None = None,
    ) -> None:
        self._passes, self._shares, self._recipe = passes, shares, recipe
        self._coder, self._closing = coder, closing_coder or coder
        self._seed, self._workers = seed, workers if begin.device.type == "cpu" else 1
        self.nodes = begin_training(begin.repeat(recipe.nodes, 1))
        self.memories = [] if coder is None else [coder.memory() for _ in range(recipe.nodes)]
        self.round = self.sent_bits = 0

    def run_round(self, *, before: Callable[[int], None] | None = None) -> RoundReport:
        """Every node trains alone and all exchange; of the last round, closing exchanges are part.

        Parameters
        ----------
        before
            Called before each closing exchange with how many there have been.

        Raises
        ------
        ValueError
            If training breaks down.
        """
        begin, number, recipe = time.perf_counter(), self.round, self._recipe

        def trained(node: int) -> float:
            random = stream(self._seed, TRAINING, number, node)
            return epoch(self._passes, self.nodes, node, self._shares[node], recipe, random)

        losses = side_by_side(trained, range(recipe.nodes), workers=self._workers)
        self.sent_bits = 0
        if self._coder is not None and self._closing is not None:
            due = int((number + 1) % recipe.every == 0)
            if due:
                self._exchange(self._coder, number)
            for more in range(recipe.closing if number + 1 == recipe.rounds else 0):
                if before is not None:
                    before(more)
                self._exchange(self._closing, number + due + more)
        self.round += 1
        steps = sum(recipe.steps(len(own)) for own in self._shares)
        seconds = time.perf_counter() - begin
        return RoundReport(self.round, np.array(losses), steps, self.sent_bits // 8, seconds)

    def accuracies(self, test: Passes) -> list[float]:
        """Each node's share of test images that it puts into their class."""
        weights, everyone = self.nodes["weights"], range(self._recipe.nodes)
        return side_by_side(lambda m: test.accuracy(weights[m]), everyone, workers=self._workers)

    def state(self) -> dict[str, Tensor]:
        """All that the rest of the run depends on, between two rounds; views, not copies."""
        memories = {
            f"memory.{node}.{name}": values
            for node, memory in enumerate(self.memories)
            for name, values in memory.items()
        }
        return {**self.nodes, **memories, "round": torch.tensor([self.round])}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`."""
        mine = self.state()
        restore_tensors(mine, state)
        self.round = int(mine["round"][0])

    def _exchange(self, coder: Coder, number: int) -> None:
        """All say what they have learnt, and merge what they hear; `number` is its time."""
        recipe, weights = self._recipe, self.nodes["weights"]
        heard_by = sources(recipe, stream(self._seed, LISTENING, number))
        bits = computed_bits(weights, recipe)
        if bits is None:
            sizes, said = self._written(coder, {*heard_by}, number)
        else:
            sizes = [bits] * recipe.nodes
            said = {node: computed(own, coder, recipe) for node, own in enumerate(weights)}
            if (number + 1).bit_count() == 1:
                check_computed(weights[0], said[0], coder, bits)
        if recipe.aliased:
            prune(weights[0], recipe)
        for node, sender in enumerate(heard_by):
            if isinstance(coder, Replicating):
                towards(weights[node], self.memories, node, sender, coder, recipe)
            else:
                merge(weights[node], said[sender], recipe)
        self.sent_bits += sum(sizes[sender] for sender in heard_by)

    def _written(
        self, coder: Coder, senders: set[int], number: int
    ) -> tuple[list[int], dict[int, Heard]]:
        """Bits of all bodies, and what those of `senders` say to who has heard all before.

        Raises
        ------
        ValueError
            If a reader remembers anything else than the writer.
        """

        def one(node: int) -> tuple[int, Heard | None]:
            memory = self.memories[node]
            heard = {name: values.clone() for name, values in memory.items()}
            said = {WEIGHTS: self.nodes["weights"][node].cpu()}
            body = coder.encode(said, memory, seed=number)
            if node not in senders:
                return 8 * len(body), None
            read = coder.decode(body, heard, seed=number)
            if not all(torch.equal(memory[name], values) for name, values in heard.items()):
                remedy = "this is a fault of the codec"
                raise fail(f"memory of node {node}", "the same at both ends", "two", remedy)
            return 8 * len(body), read

        everyone = range(self._recipe.nodes)
        sizes, said = zip(*side_by_side(one, everyone, workers=self._workers), strict=True)
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


# Who holds which images --------------------------------------------------------------------------


# Of the ten digits, each node holds so many.
HELD_DIGITS, DIGITS = 8, 10


@dataclass(frozen=True, eq=False)
class Split:
    """Images by node.

    Parameters
    ----------
    shares
        Each node's images, as indices.
    labels
        Of all images, digits.
    """

    shares: tuple[IntArray, ...]
    labels: IntArray

    @property
    def digits(self) -> tuple[tuple[int, ...], ...]:
        """Each node's digits, in order."""
        return tuple(tuple(np.unique(self.labels[share]).tolist()) for share in self.shares)

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
        size, left = divmod(len(labels), nodes)
        if left or not size:
            wanted = f"a number that divides {len(labels)} images"
            raise fail("nodes", wanted, nodes, "choose another number of nodes")
        return Split(tuple(np.arange(len(labels)).reshape(nodes, size)), labels)
    held = [{*random.choice(DIGITS, HELD_DIGITS, replace=False)} for _ in range(nodes)]
    places = [np.flatnonzero(labels == digit) for digit in range(DIGITS)]
    each = min(len(own) for own in places) // nodes
    if each == 0:
        wanted = f"at most {min(len(own) for own in places)}, the images of the rarest digit"
        raise fail("nodes", wanted, nodes, "take fewer nodes or more images")
    shares: list[list[IntArray]] = [[] for _ in range(nodes)]
    for digit, own in enumerate(places):
        holders = [node for node in range(nodes) if digit in held[node]]
        for turn, node in enumerate(holders):
            some = slice(turn * each, (turn + 1) * each)
            shares[node].append(
                own[some if kind == "unbalanced" else slice(turn, None, len(holders))]
            )
    return Split(tuple(np.sort(np.concatenate(share)) for share in shares), labels)

"""Codecs on trial: what a message costs and loses, beside the least that it can cost.

A trial says all messages of an agent but the last, so that a codec's memory is what it would be,
and measures the last. It is laid beside the curve of normal moves (:mod:`empirical.messages.limit`)
since the replica that the codec has, or, where it has none, since the message before, with one size
for each class of rows and columns. No codec here extrapolates: what its replica lacks of the
message before only adds to the moves, so that the curve since the message before does for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from empirical.messages.codec import Codec, Coder, Layout, Memory, Remembering, Said
from empirical.messages.frame import HEADER_BYTES
from empirical.messages.limit import Limit, groups_limit, measured, moves, shannon_limit
from empirical.messages.scales import Scales
from theory.validation import FloatArray, IntArray, fail

# Moves are put into classes by their size in such steps, and histograms have bins as wide as these.
_UNIT, _BIN = 0.08, 0.02


@dataclass(frozen=True)
class Trial:
    """The last message of a codec.

    Attributes
    ----------
    bits
        A weight: the whole frame over d.
    nats
        A weight: the mean of KL(what is heard ‖ what was said), in closed form. Of what a message
        says nothing of, what was heard last stands in.
    limit
        Bits a weight on the curve of the codec's own replica at that divergence; infinite where
        nothing is lost.
    common
        The same on the curve since the message before.
    """

    bits: float
    nats: float
    limit: float
    common: float


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves of one message, given the message before.

    Attributes
    ----------
    normal
        Of normal moves, one size for each class.
    shannon
        Shannon's lower bound, an estimate from histograms.
    """

    normal: Limit
    shannon: Limit


def curves(layout: Layout, said: Sequence[Said]) -> Curves:
    """The curves of the last of some messages.

    Raises
    ------
    ValueError
        If there are fewer than two messages, or they are of no Gaussian beliefs.
    """
    _check(layout, said)
    moved = moves(said[-1], said[-2], examples=layout.examples)
    groups = _classes(moved, layout)
    return Curves(groups_limit(moved, groups), shannon_limit(moved, groups, width=_BIN))


@dataclass(frozen=True, eq=False)
class Primed:
    """A stream after some messages.

    Attributes
    ----------
    memory
        What both ends remember.
    known
        What was last heard of each coordinate, or what all begin with: vectors of shape (d,).
    """

    memory: Memory
    known: Said


def primed(coder: Coder, layout: Layout, said: Sequence[Said], *, seed: int) -> Primed:
    """Say some messages; number k, from 0, has the seed `seed` + k."""
    here, there = coder.memory(), coder.memory()
    known: Said = layout.begin
    for number, message in enumerate(said):
        body = coder.encode(message, here, seed=seed + number)
        heard = coder.decode(body, there, seed=seed + number)
        sent = heard.sent
        known = {
            name: values if sent is None else values.where(sent, known[name])
            for name, values in heard.vectors.items()
        }
    return Primed(there, known)


def trial(codec: Codec, layout: Layout, said: Sequence[Said], *, seed: int) -> Trial:
    """Say some messages by a codec, and measure the last.

    Parameters
    ----------
    said
        Two or more messages of one agent, of Gaussian beliefs, in order.
    seed
        Of messages; each has its own.

    Raises
    ------
    ValueError
        If the codec does not fit, or as :func:`curves`.
    """
    common = curves(layout, said).normal
    coder = codec.coder(layout)
    before = primed(coder, layout, said[:-1], seed=seed)
    own = common
    if isinstance(coder, Remembering):
        moved = moves(said[-1], coder.replica(before.memory), examples=layout.examples)
        own = groups_limit(moved, _classes(moved, layout))
    point = measured(
        coder, before.memory, said[-1],
        seed=seed + len(said), examples=layout.examples, known=before.known,
    )  # fmt: skip
    limits = [one.bits(point.nats) if point.nats > 0 else float("inf") for one in (own, common)]
    return Trial(point.bits + 8 * HEADER_BYTES / layout.size, point.nats, *limits)


def _classes(moved: FloatArray, layout: Layout) -> IntArray:
    """A number for each weight: the class of its row and column, by how far they moved."""
    scales = Scales(layout.blocks)
    return scales.contexts(scales.of(np.rint(moved / _UNIT).astype(np.int64)))


def _check(layout: Layout, said: Sequence[Said]) -> None:
    if len(said) < 2:
        raise fail("said", "two or more messages", len(said), "overhear more rounds")
    if not {"precision", "shift"} <= set(layout.names):
        wanted = "messages of Gaussian beliefs, with precision and shift"
        raise fail("layout", wanted, ", ".join(layout.names), "take a learner that keeps beliefs")

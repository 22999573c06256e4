"""The least that a message about Gaussian beliefs can cost: bits against nats of divergence.

A belief N(m, σ²) is to be said to somebody who has a replica of it. What the receiver ends with,
N(m', s²), is D = KL(N(m', s²) ‖ N(m, σ²)) ≥ (m − m')²/(2σ²) nats away. Where the means moved by
independent normal amounts of standard deviations τ_i since the replica, no code of any kind,
memory and shared randomness included, has a mean divergence of D nats a weight with fewer bits, on
average, than

    (1/d) Σ_i max(0, ½ log₂(ρ_i / θ)),    (1/d) Σ_i min(θ, ρ_i) = D,    ρ_i = τ_i²/(2 σ_i²):

reverse water-filling. Of a weight with ρ_i ≤ θ nothing is said. Proofs, and what this says of moves
that are not normal, stand on docs: mathematics/message-limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import e, log, pi

import numpy as np
from numpy.typing import ArrayLike

from empirical.messages.beliefs import Scales, double
from empirical.messages.codec import Codec, Coder, Heard, Layout, Memory, Remembering, Said
from empirical.messages.streams import HEADER_BYTES
from theory.validation import FloatArray, IntArray, as_float_array, as_positive, fail

# What a uniform quantiser with entropy coding wastes at high rate, in bits: ½ log₂(πe/6).
UNIFORM_LOSS = 0.5 * log(pi * e / 6, 2)


@dataclass(frozen=True)
class Bounds:
    """A number between two others.

    Attributes
    ----------
    lower, upper
        Computed in floating point from a dual and a primal feasible point: right up to rounding,
        about 1e-15 times the number of weights.
    """

    lower: float
    upper: float


class Limit:
    """The curve of a Gaussian source: bits a weight against nats a weight.

    Parameters
    ----------
    signals
        ρ_i in nats, at least 0, shape (k,): what saying nothing of the weight costs.
    shares
        How many weights each stands for, positive, shape (k,); left out: one each.

    Raises
    ------
    ValueError
        If a number is out of range, or shapes differ.
    """

    def __init__(self, signals: ArrayLike, shares: ArrayLike | None = None) -> None:
        given = as_float_array("signals", signals, ndim=1)
        if not len(given) or (given < 0).any():
            raise fail("signals", "one or more numbers of at least 0", "others", "square them")
        weights = np.ones(len(given)) if shares is None else shares
        counts = as_float_array("shares", weights, ndim=1)
        if counts.shape != given.shape or (counts <= 0).any():
            raise fail("shares", "a positive number a signal", "others", "leave out empty groups")
        order = np.argsort(given)
        self._signals: FloatArray = given[order]
        self._shares: FloatArray = counts[order] / counts.sum()

    @property
    def silence(self) -> float:
        """Nats a weight if nothing is said: the mean signal. From here on no bit is needed."""
        return float(self._signals @ self._shares)

    def bits(self, nats: float) -> float:
        """The least mean number of bits a weight for a mean divergence of so many nats a weight.

        Raises
        ------
        ValueError
            If `nats` is not positive.
        """
        return self._rate(self._water(nats))

    def nats(self, bits: float) -> float:
        """The least mean divergence, nats a weight, that so many bits a weight can reach.

        Raises
        ------
        ValueError
            If `bits` is negative or not finite.
        """
        if not 0.0 <= bits < float("inf"):
            raise fail("bits", "a finite number of at least 0", bits, "give such a rate")
        useful = self._signals > 0
        if bits == 0.0 or not useful.any():
            return self.silence
        shares, logs = self._shares[useful], np.log2(self._signals[useful])
        heard = np.cumsum(shares[::-1])[::-1]
        above = np.cumsum((shares * logs)[::-1])[::-1]
        rates = 0.5 * (above - heard * logs)
        # Those from the first whose own level needs no more bits are spoken of.
        first = int(np.argmax(rates <= bits)) if rates[-1] <= bits else len(rates) - 1
        level = 2.0 ** ((above[first] - 2 * bits) / heard[first])
        return float(np.minimum(level, self._signals) @ self._shares)

    def certified_bits(self, nats: float) -> Bounds:
        """:meth:`bits`, with a lower end that weak duality proves for the computed water level.

        For every level θ, the rate at D nats is at least the rate at θ plus
        (the divergence at θ − D)/(2 ln 2 · θ); and a feasible point has at most the rate at θ
        where its divergence is at most D.
        """
        level = self._water(nats)
        found = float(np.minimum(level, self._signals) @ self._shares)
        rate = self._rate(level)
        dual = max(0.0, rate + (found - nats) / (2 * log(2) * level))
        # A level lower by the excess is feasible: the divergence falls at most as fast as θ.
        share = min(1.0, nats / found) if found > 0 else 1.0
        return Bounds(dual, max(dual, self._rate(level * share)))

    def _rate(self, level: float) -> float:
        above = self._signals > level
        return float(0.5 * self._shares[above] @ np.log2(self._signals[above] / level))

    def _water(self, nats: float) -> float:
        """θ for a divergence of D."""
        if not nats > 0.0:
            raise fail("nats", "a number above 0", nats, "give such a divergence")
        signals, shares = self._signals, self._shares
        if nats >= self.silence:
            return float(max(signals[-1], nats))
        under = np.concatenate([[0.0], np.cumsum(shares * signals)[:-1]])
        heard = np.cumsum(shares[::-1])[::-1]
        # The divergence at a level of each signal rises; the level lies above those before place.
        place = int(np.searchsorted(under + signals * heard, nats))
        return float((nats - under[place]) / heard[place])


# From messages --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """A message of a codec, beside the curve.

    Attributes
    ----------
    bits
        A weight: the whole body over d, nothing estimated.
    nats
        A weight: the mean of KL(what is heard ‖ what was said), in closed form.
    """

    bits: float
    nats: float

    def above(self, limit: Limit) -> float:
        """Bits a weight beyond the curve at the same divergence; below 0: better than it."""
        return self.bits - limit.bits(self.nats)


def moves(said: Said, replica: Said, *, examples: float = 1.0) -> FloatArray:
    """How far means moved since the replica, in standard deviations of what is said; shape (d,).

    Parameters
    ----------
    said, replica
        Messages with ``precision`` and ``shift``.
    examples
        How many examples the posterior has seen for each that a precision counts.
    """
    precision, mean = _belief(said)
    return np.asarray((mean - _belief(replica)[1]) * np.sqrt(examples * precision))


def divergence(heard: Said, said: Said, *, examples: float = 1.0) -> FloatArray:
    """KL(heard ‖ said) of each weight in nats, in closed form; arguments as of :func:`moves`."""
    ratio = _belief(said)[0] / _belief(heard)[0]
    moved = moves(said, heard, examples=examples)
    return np.asarray((ratio - 1 - np.log(ratio) + moved**2) / 2)


def groups_limit(moved: ArrayLike, groups: ArrayLike) -> Limit:
    """The curve of normal moves with the mean squares of these ones, group by group.

    For moves of any other law with these mean squares it is what some code can reach, if it codes
    many weights of a group at once, and not what it can at best.

    Parameters
    ----------
    moved
        From :func:`moves`, shape (d,).
    groups
        What both ends know of each weight, numbers from 0, shape (d,).
    """
    moved, groups = as_float_array("moved", moved, ndim=1), np.asarray(groups)
    counts = np.bincount(groups)
    squares = np.bincount(groups, moved**2)
    some = counts > 0
    return Limit(squares[some] / counts[some] / 2, counts[some].astype(np.float64))


def shannon_limit(moved: ArrayLike, groups: ArrayLike, *, width: float) -> Limit:
    """Shannon's lower bound for independent moves with the histograms of these ones.

    Each group's variance gives way to its entropy power, 2^(2h)/(2πe), with h the entropy of its
    histogram plus log₂ of the width of a bin. An **estimate**: histograms of few weights look more
    orderly than their law is, so that the bound is too low by about .7 bits a bin over the number
    of weights in the group, and too high by what the density changes within a bin.

    Parameters
    ----------
    moved, groups
        As of :func:`groups_limit`.
    width
        Of a bin, in standard deviations; positive.
    """
    moved, groups = as_float_array("moved", moved, ndim=1), np.asarray(groups)
    bins = np.rint(moved / width).astype(np.int64)
    powers, counts = [], []
    for group in np.unique(groups).tolist():
        own = np.unique(bins[groups == group], return_counts=True)[1]
        shares = own / own.sum()
        bits = float(-(shares * np.log2(shares)).sum()) + log(width, 2)
        powers.append(2.0 ** (2 * bits) / (2 * pi * e))
        counts.append(own.sum())
    return Limit(np.array(powers) / 2, np.array(counts, dtype=np.float64))


def measured(
    coder: Coder,
    memory: Memory,
    said: Said,
    *,
    seed: int,
    examples: float = 1.0,
    known: Said | None = None,
) -> Point:
    """What one message costs, and how far from the belief what is heard is.

    Parameters
    ----------
    coder, memory, said, seed
        The codec, what both ends remember, what is to be said; `memory` moves on by the message.
    examples
        As of :func:`moves`.
    known
        What the receiver believes of coordinates that the message says nothing of.

    Raises
    ------
    ValueError
        If coordinates are left out and nothing is known of them.
    """
    examples = as_positive("examples", examples)
    other = {name: values.clone() for name, values in memory.items()}
    body = coder.encode(said, memory, seed=seed)
    heard = _filled(coder.decode(body, other, seed=seed), known)
    nats = divergence(heard, said, examples=examples)
    return Point(8 * len(body) / len(nats), float(nats.mean()))


def _filled(heard: Heard, known: Said | None) -> Said:
    """What is heard, and what is known of coordinates that the message says nothing of."""
    if heard.sent is None:
        return heard.vectors
    if known is None:
        raise fail("known", "what the receiver has of the rest", None, "give a message")
    return {k: v.where(heard.sent, known[k]) for k, v in heard.vectors.items()}


def _belief(message: Said) -> tuple[FloatArray, FloatArray]:
    """Precision and mean."""
    precision = double(message["precision"])
    return precision, double(message["shift"]) / precision


# Codecs on trial ---------------------------------------------------------------------------------


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
    if len(said) < 2:
        raise fail("said", "two or more messages", len(said), "overhear more rounds")
    if not {"precision", "shift"} <= set(layout.names):
        wanted = "messages of Gaussian beliefs, with precision and shift"
        raise fail("layout", wanted, ", ".join(layout.names), "take a learner that keeps beliefs")
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
        known = _filled(coder.decode(body, there, seed=seed + number), known)
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

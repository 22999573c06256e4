"""Samples of Gaussian beliefs: relative entropy coding in blocks against the replica.

What the receiver gets of a mean is a normal number around it, of c standard deviations of the
posterior. Both ends can draw candidates from N(replica, c² + τ²), with τ how far means of the
weight's row and column move; a message says which candidate to take, which costs little more than
the divergence between the two laws: ½ log₂(1 + τ²/c²) bits a weight on average, and nothing for
rows that did not move. Blocks hold about the same divergence each (MIRACLE, Havasi et al. 2019;
KLMS, Isik et al. 2023, arXiv:2306.12625). A mean that moved by more than three standard deviations
of its prior is first brought within them by whole multiples of six.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from empirical.messages.beliefs import BeliefReplica, Float32
from empirical.messages.codec import Heard, Layout, Memory, Said, check_fraction, words_of
from empirical.messages.entropy import Reader, Tape, Writer, integers, naturals
from empirical.messages.selected import nearest, powers
from theory.validation import IntArray, as_integer, as_positive, fail

# Samples of Gaussian beliefs ---------------------------------------------------------------------


# Prior standard deviations are c 2^(k/4), and moves beyond half of so many are multiples of them.
_DIVISIONS, _WRAP = 4, 6
# Coordinates of a block at most, and candidates beyond 2^(its bits).
_LONGEST, _SPARE = 256, 3


@dataclass(frozen=True)
class Samples:
    """One posterior sample a message, or a sharper one.

    Parameters
    ----------
    width
        c: the standard deviation of what is sent in units of the posterior's; positive.
    block_bits
        Bits of divergence of a block, from 1 to 14. A block takes 2^(so many bits) candidates and
        more to encode, and about three bits beside its divergence.
    gradient_step
        The step of a vector ``gradient``, in units of what moves a mean by c standard deviations;
        positive.
    mixing
        γ of the replica form of pooling; in (0, 1].

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    width: float = 0.5
    block_bits: float = 8.0
    gradient_step: float = 0.25
    mixing: float = 1.0

    name = "samples"

    def __post_init__(self) -> None:
        as_positive("width", self.width)
        as_positive("gradient_step", self.gradient_step)
        if not 1.0 <= self.block_bits <= 14.0:
            raise fail("block_bits", "1 to 14 bits", self.block_bits, "more take too long")
        check_fraction("mixing", self.mixing, "1 takes in all that was said")

    words = words_of

    def coder(self, layout: Layout) -> SamplesCoder:
        """See :class:`~empirical.messages.codec.Codec`; messages must be of Gaussian beliefs."""
        return SamplesCoder(self, layout)


class SamplesCoder:
    """The codec for messages of one layout; its memory is that of a :class:`BeliefReplica`."""

    def __init__(self, codec: Samples, layout: Layout) -> None:
        self._codec, self._layout, self.mixing = codec, layout, codec.mixing
        self._belief = BeliefReplica(layout, codec.name, step=codec.width)
        self.memory, self.replica = self._belief.memory, self._belief.replica

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """See :class:`~empirical.messages.codec.Coder`."""
        self._belief.check(said)
        writer = Writer()
        self._pass(writer, memory, said, seed)
        return writer.done()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """See :class:`~empirical.messages.codec.Coder`; the replica after the message."""
        reader = Reader(body)
        self._pass(reader, memory, None, seed)
        reader.end()
        return Heard(self.replica(memory))

    def _pass(self, tape: Tape, memory: Memory, said: Said | None, seed: int) -> None:
        """Write or read one message: widths, how far rows move, and one candidate a block."""
        from empirical.messages.candidates import UNIT, drawn

        width, c = self._belief.widths(tape, memory, said), np.float32(self._codec.width)
        unit = width * c
        moved = rounded = None
        if said is not None:
            moved = (self._belief.mean(said) - memory["mean"].numpy()) / unit
            rounded = np.rint(np.clip(moved, -(2**30), 2**30)).astype(np.int64)
        scales = self._belief.scales
        classes = scales.classes(tape, rounded, self._belief.classes(memory, "mean"))
        self._belief.remember(memory, "mean", classes)
        contexts = scales.contexts(classes)
        some = np.flatnonzero(contexts)
        own = None if moved is None else moved[some]
        prior = self._priors(tape, own, contexts[some])
        whole = None
        if own is not None:
            whole = np.rint(own / (_WRAP * prior)).astype(np.int64)
        whole = integers(tape, whole, count=len(some), contexts=contexts[some])
        centre = None if own is None else own / prior - _WRAP * whole
        starts, indices = self._blocks(tape, centre, prior, seed)
        z = drawn(starts, indices, len(some), seed).astype(np.float32) / np.float32(UNIT)
        by = np.zeros(self._layout.size, dtype=np.float32)
        by[some] = unit[some] * prior * (z + np.float32(_WRAP) * whole.astype(np.float32))
        self._belief.move(memory, "mean", by)
        self._belief.gradient(tape, memory, said, np.float32(self._codec.gradient_step) * c / width)

    def _priors(self, tape: Tape, moved: NDArray[np.float64] | None, contexts: IntArray) -> Float32:
        """√(1 + τ²/c²) of each coordinate, on the grid, shape (n,)."""
        kinds, place = np.unique(contexts, return_inverse=True)
        exponents = None
        if moved is not None:
            # Beyond the wrap a move costs whole multiples, not width.
            squares = np.bincount(place, np.minimum(moved**2, 1e12), minlength=len(kinds))
            spread = np.sqrt(1 + squares / np.bincount(place, minlength=len(kinds)))
            exponents = np.maximum(1, np.rint(nearest(spread, _DIVISIONS))).astype(np.int64)
        exponents = naturals(tape, exponents, count=len(kinds))
        if (exponents < 1).any() or (exponents > 20 * _DIVISIONS).any():
            raise fail("body", "widths of priors", "others", "send it again")
        return powers(exponents, _DIVISIONS)[place]

    def _blocks(
        self, tape: Tape, centre: NDArray[np.float64] | None, prior: Float32, seed: int
    ) -> tuple[IntArray, IntArray]:
        """First coordinates and candidates of all blocks."""
        lengths = indices = None
        if centre is not None:
            from empirical.messages.candidates import chosen, cut

            narrow = prior.astype(np.float64) ** -2
            bits = (narrow + centre**2 - 1 - np.log(narrow)) / (2 * log(2))
            starts = cut(bits, self._codec.block_bits, _LONGEST)
            lengths = np.diff(starts, append=len(prior))
            spent = np.add.reduceat(bits, starts) if len(starts) else np.zeros(0)
            limits = np.ceil(2.0 ** (np.minimum(spent, 17.0) + _SPARE)).astype(np.int64)
            indices = chosen(
                starts, limits, centre.astype(np.float32), narrow.astype(np.float32), seed
            )
        count = naturals(tape, None if lengths is None else np.array([len(lengths)]), count=1)
        if count[0] > len(prior):
            raise fail("body", f"at most {len(prior)} blocks", int(count[0]), "send it again")
        less = None if lengths is None else lengths - 1
        lengths = 1 + naturals(tape, less, count=int(count[0]))
        if lengths.sum() != len(prior):
            raise fail("body", f"blocks of {len(prior)} weights", "others", "send it again")
        return np.cumsum(lengths) - lengths, naturals(tape, indices, count=int(count[0]))


# Gaussian beliefs in steps of their own uncertainty, against what was said before ----------------


_MOST_HALVINGS = 15


@dataclass(frozen=True)
class Posterior:
    """Means in steps of the posterior's own standard deviation.

    Parameters
    ----------
    step
        c: the step of a mean in standard deviations of the posterior; positive.
    halvings
        How often a sender halves its steps, 0 to 15: each time its learning rate has fallen by
        another factor of four. Where rates fall, moves do: agents whose data differ drift apart by
        what they do not say, and come back when steps are small. 0: steps stay.
    gradient_step
        The step of a vector ``gradient``, in units of what moves a mean by c standard deviations;
        positive.
    mixing
        γ of the replica form of pooling; in (0, 1].

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    step: float = 1.0
    halvings: int = 0
    gradient_step: float = 0.25
    mixing: float = 1.0

    name = "posterior"

    def __post_init__(self) -> None:
        as_positive("step", self.step)
        as_positive("gradient_step", self.gradient_step)
        if as_integer("halvings", self.halvings, minimum=0) > _MOST_HALVINGS:
            raise fail("halvings", f"0 to {_MOST_HALVINGS}", self.halvings, "2 or 3 are enough")
        check_fraction("mixing", self.mixing, "1 takes in all that was said")

    words = words_of

    def coder(self, layout: Layout) -> PosteriorCoder:
        """See :class:`~empirical.messages.codec.Codec`; messages must be of Gaussian beliefs."""
        return PosteriorCoder(self, layout)


class PosteriorCoder:
    """The codec for messages of one layout; its memory is that of a :class:`BeliefReplica`.

    See :class:`~empirical.messages.codec.Paced` and
    :class:`~empirical.messages.codec.Replicating`.
    """

    def __init__(self, codec: Posterior, layout: Layout) -> None:
        self._codec, self.mixing = codec, codec.mixing
        self._belief = BeliefReplica(layout, codec.name, step=codec.step)
        self.memory, self.replica = self._belief.memory, self._belief.replica

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """See :class:`~empirical.messages.codec.Coder`; `seed` is not used."""
        return self.encode_paced(said, memory, seed=seed, pace=1.0)

    def encode_paced(self, said: Said, memory: Memory, *, seed: int, pace: float) -> bytes:
        """The body of a message whose step has been halved as often as `pace` wants."""
        self._belief.check(said)
        writer = Writer()
        self._pass(writer, memory, said, pace)
        return writer.done()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """See :class:`~empirical.messages.codec.Coder`; the replica after the message."""
        reader = Reader(body)
        self._pass(reader, memory, None, 1.0)
        reader.end()
        return Heard(self.replica(memory))

    def _pass(self, tape: Tape, memory: Memory, said: Said | None, pace: float) -> None:
        """Write or read all vectors, the standard deviations first, and move the replica."""
        width, step = self._belief.widths(tape, memory, said), np.float32(self._codec.step)
        mean = None if said is None else self._belief.mean(said)
        unit = width * step
        if self._codec.halvings:
            own = None if said is None else np.array([halvings(pace, self._codec.halvings)])
            (often,) = tape.plain(own, 1, bits=4)
            unit = unit * np.float32(2.0 ** -int(often))
        self._belief.moved(tape, memory, mean, "mean", unit)
        self._belief.gradient(
            tape, memory, said, np.float32(self._codec.gradient_step) * step / width
        )


def halvings(pace: float, most: int) -> int:
    """How often steps are halved where rates have fallen to a share `pace` of the highest.

    Examples
    --------
    >>> [halvings(pace, 3) for pace in (1.0, 0.26, 0.25, 0.06, 0.01, 0.0)]
    [0, 0, 1, 2, 3, 3]
    """
    return next((k for k in range(most) if pace > 0.25 ** (k + 1)), most)

"""Gaussian beliefs against a replica: means in steps of their own uncertainty, or as samples.

A sample: what the receiver gets of a mean is a normal number around it, of c standard deviations of
the posterior. Both ends can draw candidates from N(replica, c² + τ²), with τ how far means of the
weight's row and column move; a message says which candidate to take, which costs little more than
the divergence between the two laws: ½ log₂(1 + τ²/c²) bits a weight on average, and nothing for
rows that did not move. Blocks hold about the same divergence each (MIRACLE, Havasi et al. 2019;
KLMS, Isik et al. 2023, arXiv:2306.12625). A mean that moved by more than three standard deviations
of its prior is first brought within them by whole multiples of six.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from empirical.messages.beliefs import BeliefCoder, Float32
from empirical.messages.codec import Layout, Memory, Said
from empirical.messages.entropy import Tape, integers, naturals
from empirical.messages.selected import nearest, powers
from empirical.messages.skeleton import Settings, fraction
from theory.validation import IntArray, as_integer, as_positive, fail

_MIXING = fraction("1 takes in all that was said")

# Samples of Gaussian beliefs: relative entropy coding in blocks ----------------------------------


# Prior standard deviations are c 2^(k/4), and moves beyond half of so many are multiples of them.
_DIVISIONS, _WRAP = 4, 6
# Coordinates of a block at most, and candidates beyond 2^(its bits).
_LONGEST, _SPARE = 256, 3


class SamplesCoder(BeliefCoder):
    """The codec for messages of one layout."""

    codec: Samples

    def __init__(self, codec: Samples, layout: Layout) -> None:
        super().__init__(codec, layout, step=codec.width)

    def means(
        self,
        tape: Tape,
        memory: Memory,
        said: Said | None,
        unit: Float32,
        *,
        seed: int,
        pace: float,
    ) -> None:
        """How far rows move, and one candidate a block."""
        from empirical.messages.candidates import UNIT, drawn

        moved = rounded = None
        if said is not None:
            moved = (self.mean(said) - memory["mean"].numpy()) / unit
            rounded = np.rint(np.clip(moved, -(2**30), 2**30)).astype(np.int64)
        row = self.row(memory, "mean")
        row[:] = classes = self.scales.classes(tape, rounded, row.astype(np.int64))
        contexts = self.scales.contexts(classes)
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
        by = np.zeros(self.layout.size, dtype=np.float32)
        by[some] = unit[some] * prior * (z + np.float32(_WRAP) * whole.astype(np.float32))
        self.move(memory, "mean", by)

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
            starts = cut(bits, self.codec.block_bits, _LONGEST)
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


def _block_bits(name: str, value: float) -> None:
    """The domain of a block's bits."""
    if not 1.0 <= value <= 14.0:
        raise fail(name, "1 to 14 bits", value, "more take too long")


@dataclass(frozen=True)
class Samples(Settings):
    """One posterior sample a message, or a sharper one; messages must be of Gaussian beliefs.

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
    """

    width: float = 0.5
    block_bits: float = 8.0
    gradient_step: float = 0.25
    mixing: float = 1.0

    name = "samples"
    domains: ClassVar = {
        "width": as_positive,
        "gradient_step": as_positive,
        "block_bits": _block_bits,
        "mixing": _MIXING,
    }
    writes = SamplesCoder


# Gaussian beliefs in steps of their own uncertainty ----------------------------------------------


class PosteriorCoder(BeliefCoder):
    """The codec for messages of one layout."""

    codec: Posterior

    def __init__(self, codec: Posterior, layout: Layout) -> None:
        super().__init__(codec, layout, step=codec.step)

    def means(
        self,
        tape: Tape,
        memory: Memory,
        said: Said | None,
        unit: Float32,
        *,
        seed: int,
        pace: float,
    ) -> None:
        """Steps, after how often they are halved."""
        if self.codec.halvings:
            own = None if said is None else np.array([halvings(pace, self.codec.halvings)])
            (often,) = tape.plain(own, 1, bits=4)
            unit = unit * np.float32(2.0 ** -int(often))
        self.moved(tape, memory, None if said is None else self.mean(said), "mean", unit)


def halvings(pace: float, most: int) -> int:
    """How often steps are halved where rates have fallen to a share `pace` of the highest.

    Examples
    --------
    >>> [halvings(pace, 3) for pace in (1.0, 0.26, 0.25, 0.06, 0.01, 0.0)]
    [0, 0, 1, 2, 3, 3]
    """
    return next((k for k in range(most) if pace > 0.25 ** (k + 1)), most)


_MOST_HALVINGS = 15


def _halvings(name: str, value: int) -> None:
    """The domain of a number of halvings."""
    if as_integer(name, value, minimum=0) > _MOST_HALVINGS:
        raise fail(name, f"0 to {_MOST_HALVINGS}", value, "2 or 3 are enough")


@dataclass(frozen=True)
class Posterior(Settings):
    """Means in steps of the posterior's own standard deviation; messages must be of beliefs.

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
    """

    step: float = 1.0
    halvings: int = 0
    gradient_step: float = 0.25
    mixing: float = 1.0

    name = "posterior"
    domains: ClassVar = {
        "step": as_positive,
        "gradient_step": as_positive,
        "halvings": _halvings,
        "mixing": _MIXING,
    }
    writes = PosteriorCoder

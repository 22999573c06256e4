"""Every coordinate, rounded: a uniform or a Lloyd quantiser, with entropy coding.

What is rounded is by how much a message differs from what all begin with, in units of its block's
root mean square. A uniform quantiser with entropy coding wastes the fewest bits; Lloyd's levels
have the least squared error that so many levels can have, and are sent along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import from_numpy

from empirical.messages.checks import check_said, words_of
from empirical.messages.codec import Heard, Layout, Memory, Said, Written
from empirical.messages.coordinates import bound, free, free_layout
from empirical.messages.entropy import Reader, Tape, Writer, floats, integers
from empirical.messages.grids import nearest, powers
from empirical.messages.scales import Scales, worth_sending
from theory.validation import FloatArray, IntArray, as_integer, as_positive, fail

KINDS = ("uniform", "lloyd")
# Units are 2^(k/4).
_DIVISIONS = 4
# Rounds of Lloyd's algorithm; the error falls by less than a per cent afterwards.
_ROUNDS = 30

Float32 = NDArray[np.float32]
# Of a vector: exponents of its blocks' units, levels if it has some, and a number a coordinate.
Part = tuple[IntArray, Float32 | None, IntArray]


@dataclass(frozen=True)
class Quantised:
    """All coordinates with a relative error.

    Parameters
    ----------
    kind
        ``"uniform"`` or ``"lloyd"``.
    step
        Of the uniform quantiser, over its block's root mean square; positive.
    levels
        Of Lloyd's quantiser: an odd number of at least 3.

    Raises
    ------
    ValueError
        If a setting is out of range.
    """

    kind: str = "uniform"
    step: float = 0.5
    levels: int = 15

    name = "quantised"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise fail("kind", f"one of {', '.join(KINDS)}", repr(self.kind), "choose one of them")
        as_positive("step", self.step)
        if as_integer("levels", self.levels, minimum=3) % 2 == 0 or self.levels > 1023:
            raise fail("levels", "an odd number to 1023", self.levels, "one level is for zero")

    words = words_of

    def coder(self, layout: Layout) -> QuantisedCoder:
        """See :class:`~empirical.messages.codec.Codec`."""
        return QuantisedCoder(self, layout)


class QuantisedCoder:
    """The codec for messages of one layout; it remembers nothing."""

    def __init__(self, codec: Quantised, layout: Layout) -> None:
        self._codec, self._layout = codec, layout
        begin = free_layout(layout).begin
        self._begin = {name: values.numpy() for name, values in begin.items()}
        self._scales = Scales(layout.blocks)
        self._starts = np.array([block.start for block in layout.blocks])
        self._sizes = np.diff(self._starts, append=layout.size)

    def memory(self) -> Memory:
        """Nothing."""
        return {}

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """See :class:`~empirical.messages.codec.Coder`; `seed` is not used."""
        return self._written(said)[0]

    def encode_heard(self, said: Said, memory: Memory, *, seed: int) -> Written:
        """See :class:`~empirical.messages.codec.Hearing`."""
        body, parts = self._written(said)
        return Written(body, self._heard(parts))

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """See :class:`~empirical.messages.codec.Coder`."""
        reader, parts = Reader(body), {}
        for name in self._begin:
            exponents, levels = self._units(reader, None), None
            if self._codec.kind == "lloyd":
                levels = floats(reader, None, count=self._codec.levels, dtype=np.float32)
            parts[name] = exponents, levels, self._numbers(reader, None)
        heard = self._heard(parts)
        reader.end()
        return heard

    def _written(self, said: Said) -> tuple[bytes, dict[str, Part]]:
        check_said(said, self._layout)
        writer, parts = Writer(), {}
        for name, values in free(said).items():
            moved = values.numpy().astype(np.float64) - self._begin[name]
            exponents = self._exponents(moved)
            self._units(writer, exponents)
            relative = moved / np.repeat(powers(exponents, _DIVISIONS), self._sizes)
            levels = None
            if self._codec.kind == "uniform":
                numbers = worth_sending(relative / self._codec.step, self._scales)
            else:
                levels = lloyd_levels(relative, self._codec.levels)
                places = np.searchsorted((levels[1:] + levels[:-1]) / 2, relative)
                floats(writer, levels, count=len(levels), dtype=np.float32)
                numbers = places - len(levels) // 2
            self._numbers(writer, numbers)
            parts[name] = exponents, levels, numbers
        return writer.done(), parts

    def _heard(self, parts: Mapping[str, Part]) -> Heard:
        """What is said of each vector: begin, and numbers in units of their blocks."""
        found = {}
        for name, (exponents, levels, numbers) in parts.items():
            unit = np.repeat(powers(exponents, _DIVISIONS), self._sizes)
            with np.errstate(over="ignore", invalid="ignore"):
                relative = self._relative(levels, numbers)
                found[name] = from_numpy(self._begin[name] + unit * relative)
            if not found[name].isfinite().all():
                raise fail("body", "finite numbers", "others", "send it again")
        return Heard(bound(found, self._layout.names))

    def _relative(self, levels: Float32 | None, numbers: IntArray) -> Float32:
        """The numbers in units of their blocks."""
        if levels is None:
            return numbers.astype(np.float32) * np.float32(self._codec.step)
        places = numbers + len(levels) // 2
        if (places < 0).any() or (places >= len(levels)).any():
            raise fail("body", f"one of {len(levels)} levels", "others", "send it again")
        return levels[places]

    def _exponents(self, moved: FloatArray) -> IntArray:
        """Of each block's unit: its root mean square, rounded up."""
        squares = np.add.reduceat(moved**2, self._starts) / self._sizes
        sizes = np.sqrt(np.maximum(squares, 2.0**-80))
        return np.ceil(nearest(sizes, _DIVISIONS)).astype(np.int64)

    def _units(self, tape: Tape, exponents: IntArray | None) -> IntArray:
        return integers(tape, exponents, count=len(self._starts))

    def _numbers(self, tape: Tape, values: IntArray | None) -> IntArray:
        before = np.zeros(self._scales.count, dtype=np.int64)
        return self._scales.integers(tape, values, before, count=self._layout.size)[0]


def lloyd_levels(values: FloatArray, count: int) -> Float32:
    """Levels with a least squared error, one of them 0, in ascending order.

    Lloyd's algorithm from quantiles: a local minimum, after 30 rounds within a per cent of it.

    Parameters
    ----------
    values
        Shape (d,).
    count
        An odd number of levels, shape of what is returned.
    """
    ordered = np.sort(values)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    shares = (np.arange(count) + 0.5) / count
    # Half quantiles, half even steps: tails have levels from the start.
    even = ordered[0] + shares * (ordered[-1] - ordered[0])
    levels = np.sort((np.quantile(ordered, shares) + even) / 2)
    levels[count // 2] = 0.0
    for _ in range(_ROUNDS):
        levels = np.sort(levels)
        ends = np.searchsorted(ordered, (levels[1:] + levels[:-1]) / 2)
        edges = np.concatenate([[0], ends, [len(ordered)]])
        own = np.diff(edges)
        means = np.diff(sums[edges]) / np.maximum(own, 1)
        levels = np.where(own > 0, means, levels)
        levels[np.argmin(np.abs(levels))] = 0.0
    return np.sort(levels).astype(np.float32)

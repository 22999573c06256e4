"""Every coordinate, rounded: a uniform or a Lloyd quantiser, with entropy coding.

What is rounded is by how much a message differs from what all begin with, in units of its block's
root mean square. A uniform quantiser with entropy coding wastes the fewest bits; Lloyd's levels
have the least squared error that so many levels can have, and are sent along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import from_numpy

from empirical.messages.beliefs import Scales, worth_sending
from empirical.messages.codec import (
    Block,
    Heard,
    Layout,
    Memory,
    Said,
    Written,
    check_said,
    share_of,
    words_of,
)
from empirical.messages.entropy import Reader, Tape, Writer, floats, integers
from empirical.messages.selected import (
    PRECISION,
    SHIFT,
    Flags,
    Selected,
    bound,
    check_values,
    free,
    free_layout,
    is_belief,
    largest,
    nearest,
    powers,
)
from theory.validation import FloatArray, IntArray, as_integer, as_positive, fail, install_extra

# The largest weights alone -----------------------------------------------------------------------


@dataclass(frozen=True)
class TopK:
    """The largest coordinates of each message.

    Parameters
    ----------
    share
        Of the coordinates, in (0, 1]; rounded up to a whole number of them.
    values
        ``"float32"`` or ``"float16"``, or ``"steps"``: rounded to multiples of a step.
    step
        Where values travel in steps: over the root mean square of those sent; positive. Of a log
        precision the step itself.

    Raises
    ------
    ValueError
        If a setting is out of range.
    """

    share: float = 0.1
    values: str = "steps"
    step: float = 0.1

    name = "topk"

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise fail("share", "a number above 0 and at most 1", self.share, "give such a share")
        check_values(self.values, self.step)

    words = words_of

    def coder(self, layout: Layout) -> TopKCoder:
        """See :class:`~empirical.messages.codec.Codec`."""
        return TopKCoder(self, layout)


class TopKCoder:
    """The codec for messages of one layout; its memory is what was said, and what is in the set."""

    def __init__(self, codec: TopK, layout: Layout) -> None:
        self._layout, self._free = layout, codec.values == "steps"
        self._k = share_of(layout, codec.share)
        own = free_layout(layout) if self._free else layout
        self._selected = Selected(own, codec.values, codec.step)
        self.memory = self._selected.memory

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """See :class:`~empirical.messages.codec.Coder`; `seed` is not used."""
        return self._written(said, memory)[0]

    def encode_heard(self, said: Said, memory: Memory, *, seed: int) -> Written:
        """See :class:`~empirical.messages.codec.Hearing`."""
        body, members = self._written(said, memory)
        return Written(body, self._heard(memory, members))

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """See :class:`~empirical.messages.codec.Coder`."""
        reader = Reader(body)
        members = self._selected.coded(reader, memory, None, None)
        reader.end()
        if members.sum() != self._k:
            raise fail("body", f"{self._k} coordinates", int(members.sum()), "send it again")
        return self._heard(memory, members)

    def _written(self, said: Said, memory: Memory) -> tuple[bytes, Flags]:
        check_said(said, self._layout)
        writer = Writer()
        given = {name: v.numpy() for name, v in (free(said) if self._free else said).items()}
        members = self._selected.coded(writer, memory, given, largest(_scores(said), self._k))
        return writer.done(), members

    def _heard(self, memory: Memory, members: Flags) -> Heard:
        """What a memory says after a message, of those in its set."""
        vectors = {name: values.clone() for name, values in self._selected.said(memory).items()}
        return Heard(
            bound(vectors, self._layout.names) if self._free else vectors, from_numpy(members)
        )


def _scores(said: Said) -> NDArray[np.float64]:
    found = {name: values.numpy().astype(np.float64) for name, values in said.items()}
    if is_belief(tuple(said)):
        return np.asarray(found[SHIFT] ** 2 / found[PRECISION])
    squares = [values**2 for values in found.values()]
    return np.asarray(sum(one / max(one.mean(), 1e-300) for one in squares))


# Coefficients of a wavelet transform that moved most since they were last sent -------------------


@dataclass(frozen=True)
class Wavelet:
    """The wavelet coefficients that changed most.

    Parameters
    ----------
    share
        Of the coefficients, in (0, 1]; rounded up to a whole number of them.
    wavelet
        A discrete wavelet of PyWavelets.
    depth
        Levels of the transform at most, at least 1; short vectors have fewer.
    values, step
        As of :class:`~empirical.messages.codecs.quantised.TopK`.

    Raises
    ------
    ValueError
        If a setting is out of range.
    """

    share: float = 0.1
    wavelet: str = "sym2"
    depth: int = 4
    values: str = "steps"
    step: float = 0.1

    name = "wavelet"

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise fail("share", "a number above 0 and at most 1", self.share, "give such a share")
        as_integer("depth", self.depth, minimum=1)
        check_values(self.values, self.step)

    words = words_of

    def coder(self, layout: Layout) -> WaveletCoder:
        """See :class:`~empirical.messages.codec.Codec`."""
        return WaveletCoder(self, layout)


class WaveletCoder:
    """The codec for messages of one layout; its memory is the coefficients that were said."""

    def __init__(self, codec: Wavelet, layout: Layout) -> None:
        self._codec, self._layout = codec, layout
        if codec.wavelet not in _pywt().wavelist(kind="discrete"):
            known = "a discrete wavelet of PyWavelets"
            raise fail("wavelet", known, repr(codec.wavelet), "such as 'sym2', 'haar' or 'db4'")
        # Coefficients of zeros are zeros on every machine; those of first values might not agree.
        sizes = [len(band) for band in self._bands(np.zeros(layout.size))]
        starts = np.cumsum([0, *sizes]).tolist()
        self._cuts = starts[1:-1]
        blocks = tuple(
            Block(f"band {number}", start, (size,))
            for number, (start, size) in enumerate(zip(starts, sizes, strict=False))
        )
        zeros = {name: torch.zeros(starts[-1]) for name in free_layout(layout).names}
        own = Layout(zeros, blocks)
        self._k = share_of(own, codec.share)
        self._selected = Selected(own, codec.values, codec.step)
        self.memory = self._selected.memory

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """See :class:`~empirical.messages.codec.Coder`; `seed` is not used."""
        check_said(said, self._layout)
        given, scores = {}, np.zeros(1)
        for name, values in free(said).items():
            moved = values.numpy().astype(np.float64) - self._begin[name]
            given[name] = np.concatenate(self._bands(moved)).astype(np.float32)
            squares = (given[name] - memory[f"said {name}"].numpy()).astype(np.float64) ** 2
            scores = scores + squares / max(float(squares.mean()), 1e-300)
        writer = Writer()
        self._selected.coded(writer, memory, given, largest(scores, self._k))
        return writer.done()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """See :class:`~empirical.messages.codec.Coder`."""
        reader = Reader(body)
        self._selected.coded(reader, memory, None, None)
        reader.end()
        found = {}
        for name, coefficients in self._selected.said(memory).items():
            bands = np.split(coefficients.numpy().astype(np.float64), self._cuts)
            with np.errstate(over="ignore"):
                back = _pywt().waverec(bands, self._codec.wavelet, mode="periodization")
                values = (back[: self._layout.size] + self._begin[name]).astype(np.float32)
            if not np.isfinite(values).all():
                raise fail("body", "finite numbers", "others", "send it again")
            found[name] = torch.from_numpy(values)
        return Heard(bound(found, self._layout.names))

    @cached_property
    def _begin(self) -> dict[str, NDArray[np.float32]]:
        begin = free_layout(self._layout).begin
        return {name: values.numpy() for name, values in begin.items()}

    def _bands(self, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        pywt, wavelet = _pywt(), self._codec.wavelet
        depth = min(self._codec.depth, pywt.dwt_max_level(len(values), wavelet))
        bands: list[NDArray[np.float64]] = pywt.wavedec(
            values, wavelet, mode="periodization", level=depth
        )
        return bands


def _pywt() -> Any:
    """PyWavelets, loaded when first used."""
    try:
        import pywt
    except ModuleNotFoundError:
        raise ImportError(
            f"the codec 'wavelet' needs PyWavelets; {install_extra('messages')}"
        ) from None
    return pywt


# Every coordinate, rounded -----------------------------------------------------------------------


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

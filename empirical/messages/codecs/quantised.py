"""Every coordinate, rounded, or the largest alone: with entropy coding.

What is rounded is by how much a message differs from what all begin with, in units of its block's
root mean square. A uniform quantiser with entropy coding wastes the fewest bits; Lloyd's levels
have the least squared error that so many levels can have, and are sent along.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from empirical.messages.beliefs import Scales, worth_sending
from empirical.messages.codec import (
    SHARE,
    Block,
    Codec,
    Domains,
    Heard,
    Layout,
    Memory,
    Said,
    TwoWay,
    count_of,
    one_of,
)
from empirical.messages.entropy import LARGEST, Tape, floats, integers
from empirical.messages.selected import (
    FORMER,
    LOG_PRECISION,
    MEMBER,
    PRECISION,
    SHIFT,
    Flags,
    Kinds,
    bound,
    free,
    free_layout,
    is_belief,
    nearest,
    powers,
    subset,
)
from theory.validation import FloatArray, IntArray, as_integer, as_positive, fail, install_extra

# The largest numbers alone: of a message, or of its wavelet transform -----------------------------


VALUES = ("steps", "float32", "float16")
# Steps are 2^(k/8).
_FINE = 8

Float32 = NDArray[np.float32]
Vectors = dict[str, Float32]
# What some numbers of a message can be.
_SELECTED: Domains = {"share": SHARE, "values": one_of(VALUES), "step": as_positive}


def arrays(vectors: Any) -> Vectors:
    """The same numbers as arrays, which share the tensors' memory."""
    return {name: values.numpy() for name, values in vectors.items()}


def largest(scores: NDArray[Any], k: int) -> Flags:
    """The k coordinates with the largest scores, shape (d,)."""
    found = np.zeros(len(scores), dtype=np.bool_)
    found[np.argpartition(scores, len(scores) - k)[len(scores) - k :]] = True
    return found


class SelectedCoder(TwoWay):
    """What codecs of some numbers share: a set, and values with a memory.

    Values travel to the last bit, in float32 or float16, or in steps. A value in steps is a
    multiple of its vector's step, and what is written is by how many steps it differs from what was
    last said of its coordinate, or at first from what all begin with.

    Parameters
    ----------
    codec
        It has `share`, `values` and `step`: where values travel in steps, the step of a vector over
        the root mean square of those that are sent; of a log precision the step itself.
    own
        The layout of the numbers that are sent or not; finite, and may be rounded.
    """

    def __init__(self, codec: TopK | Wavelet, layout: Layout, own: Layout) -> None:
        super().__init__(codec, layout)
        self.own, self.count = own, count_of(own, codec.share)
        self._kinds = Kinds(own, self._ranked(arrays(own.begin)))

    def memory(self) -> Memory:
        """What was last said of each number, and whether just now, before or never."""
        said = {f"said {name}": values.clone() for name, values in self.own.begin.items()}
        return {**said, "state": torch.zeros(self.own.size, dtype=torch.uint8)}

    def said(self, memory: Memory) -> Vectors:
        """What was last said, by name; views of the memory."""
        return {name: memory[f"said {name}"].numpy() for name in self.own.names}

    @abstractmethod
    def picked(self, said: Said, memory: Memory) -> tuple[Vectors, Flags]:
        """The numbers of a message, and those of most worth."""

    def told(
        self, tape: Tape, memory: Memory, said: Said | None, *, seed: int, pace: float
    ) -> Flags:
        """The set; the memory becomes what was said of its members."""
        given = chosen = None
        if said is not None:
            given, chosen = self.picked(said, memory)
        last, state = self.said(memory), memory["state"].numpy()
        members = subset(tape, chosen, self._kinds.of(self._ranked(last), state))
        some = np.flatnonzero(members)
        for name, values in last.items():
            own = None if given is None else given[name][some]
            if self.codec.values == "steps":
                values[some] = self._in_steps(tape, own, values[some], state[some], name)
            else:
                values[some] = self._as_floats(tape, own, len(some))
        state[state == MEMBER] = FORMER
        state[some] = MEMBER
        return members

    def _ranked(self, vectors: Vectors) -> Float32:
        """What coordinates are ranked by: the mean, if there is one."""
        if SHIFT in vectors and PRECISION in vectors:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(np.nan_to_num(vectors[SHIFT] / vectors[PRECISION]))
        return vectors.get("mean", vectors[self.own.names[0]])

    def _as_floats(self, tape: Tape, values: Float32 | None, count: int) -> Float32:
        half = self.codec.values == "float16"
        own: Any = values
        if values is not None and half:
            with np.errstate(over="ignore"):
                own = values.astype(np.float16)
            if not np.isfinite(own).all():
                raise fail("values", "numbers that float16 holds", "larger ones", "use 'float32'")
        found = floats(tape, own, count=count, dtype=np.float16 if half else np.float32)
        return np.asarray(found, dtype=np.float32)

    def _in_steps(
        self,
        tape: Tape,
        values: Float32 | None,
        before: Float32,
        state: NDArray[np.uint8],
        name: str,
    ) -> Float32:
        exponent = None
        if values is not None:
            exponent = np.array([self._exponent(values.astype(np.float64), before, name)])
        exponent = integers(tape, exponent, count=1)
        step = powers(exponent, _FINE)[0]
        with np.errstate(over="ignore"):
            guess = np.clip(np.rint(before / step), -LARGEST, LARGEST).astype(np.int64)
        moved = None
        if values is not None:
            moved = np.rint(values.astype(np.float64) / float(step)).astype(np.int64) - guess
        moved = integers(tape, moved, count=len(before), contexts=state)
        with np.errstate(over="ignore"):
            found = (guess + moved).astype(np.float32) * step
        if not np.isfinite(found).all():
            raise fail("body", "finite numbers", "others", "send it again")
        return np.asarray(found)

    def _exponent(self, values: FloatArray, before: Float32, name: str) -> int:
        """Of the step, which is rounded down; 2²⁸ steps reach from 0 to any value."""
        size = 1.0 if name == LOG_PRECISION else float(np.sqrt((values**2).mean()))
        reach = max(float(np.abs(some).max(initial=0.0)) for some in (values, before))
        wanted = max(self.codec.step * size, 2.0**-28 * reach, 2.0**-50)
        return int(np.floor(nearest(np.array([wanted]), _FINE)[0]))


class TopKCoder(SelectedCoder):
    """The codec for messages of one layout."""

    def __init__(self, codec: TopK, layout: Layout) -> None:
        self._free = codec.values == "steps"
        super().__init__(codec, layout, free_layout(layout) if self._free else layout)

    def picked(self, said: Said, memory: Memory) -> tuple[Vectors, Flags]:
        """By squares; of beliefs, by squared means over the variance."""
        found = {name: values.numpy().astype(np.float64) for name, values in said.items()}
        if is_belief(self.layout.names):
            scores = found[SHIFT] ** 2 / found[PRECISION]
        else:
            scores = _relative_squares(found)
        return arrays(free(said) if self._free else said), largest(scores, self.count)

    def heard(self, memory: Memory, parts: Flags) -> Heard:
        """What a memory says after a message, of those in its set."""
        if parts.sum() != self.count:
            raise fail("body", f"{self.count} coordinates", int(parts.sum()), "send it again")
        said = {name: torch.from_numpy(values.copy()) for name, values in self.said(memory).items()}
        vectors = bound(said, self.layout.names) if self._free else said
        return Heard(vectors, torch.from_numpy(parts))


@dataclass(frozen=True)
class TopK(Codec):
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
    """

    share: float = 0.1
    values: str = "steps"
    step: float = 0.1

    name = "topk"
    domains: ClassVar = _SELECTED
    writes = TopKCoder


class WaveletCoder(SelectedCoder):
    """The codec for messages of one layout; its memory is of coefficients."""

    codec: Wavelet

    def __init__(self, codec: Wavelet, layout: Layout) -> None:
        if codec.wavelet not in _pywt().wavelist(kind="discrete"):
            known = "a discrete wavelet of PyWavelets"
            raise fail("wavelet", known, repr(codec.wavelet), "such as 'sym2', 'haar' or 'db4'")
        self.codec = codec
        # Coefficients of zeros are zeros on every machine; those of first values might not agree.
        sizes = [len(band) for band in self._bands(np.zeros(layout.size))]
        starts = np.cumsum([0, *sizes]).tolist()
        self._cuts = starts[1:-1]
        blocks = tuple(
            Block(f"band {number}", start, (size,))
            for number, (start, size) in enumerate(zip(starts, sizes, strict=False))
        )
        self._begin = arrays(free_layout(layout).begin)
        zeros = {name: torch.zeros(starts[-1]) for name in self._begin}
        super().__init__(codec, layout, Layout(zeros, blocks))

    def picked(self, said: Said, memory: Memory) -> tuple[Vectors, Flags]:
        """By squares of what coefficients moved by since they were last said."""
        given, moved, last = {}, {}, self.said(memory)
        for name, values in free(said).items():
            change = values.numpy().astype(np.float64) - self._begin[name]
            given[name] = np.concatenate(self._bands(change)).astype(np.float32)
            moved[name] = (given[name] - last[name]).astype(np.float64)
        return given, largest(_relative_squares(moved), self.count)

    def heard(self, memory: Memory, parts: Flags) -> Heard:
        """All coordinates, by what was last said of coefficients."""
        found = {}
        for name, coefficients in self.said(memory).items():
            bands = np.split(coefficients.astype(np.float64), self._cuts)
            with np.errstate(over="ignore"):
                back = _pywt().waverec(bands, self.codec.wavelet, mode="periodization")
                found[name] = (back[: self.layout.size] + self._begin[name]).astype(np.float32)
        return _finite(found, self.layout)

    def _bands(self, values: FloatArray) -> list[FloatArray]:
        pywt, wavelet = _pywt(), self.codec.wavelet
        depth = min(self.codec.depth, pywt.dwt_max_level(len(values), wavelet))
        bands: list[FloatArray] = pywt.wavedec(values, wavelet, mode="periodization", level=depth)
        return bands


@dataclass(frozen=True)
class Wavelet(Codec):
    """The wavelet coefficients that changed most since they were last sent.

    Parameters
    ----------
    share
        Of the coefficients, in (0, 1]; rounded up to a whole number of them.
    wavelet
        A discrete wavelet of PyWavelets.
    depth
        Levels of the transform at most, at least 1; short vectors have fewer.
    values, step
        As of :class:`TopK`.
    """

    share: float = 0.1
    wavelet: str = "sym2"
    depth: int = 4
    values: str = "steps"
    step: float = 0.1

    name = "wavelet"
    domains: ClassVar = {**_SELECTED, "depth": partial(as_integer, minimum=1)}
    writes = WaveletCoder


def _relative_squares(vectors: Mapping[str, FloatArray]) -> FloatArray:
    """Squares of each number over its vector's mean square, all vectors together."""
    squares = [values**2 for values in vectors.values()]
    return np.asarray(sum(one / max(float(one.mean()), 1e-300) for one in squares))


def _finite(vectors: Vectors, layout: Layout) -> Heard:
    """What is heard of vectors in free coordinates, if all numbers are finite."""
    if not all(np.isfinite(values).all() for values in vectors.values()):
        raise fail("body", "finite numbers", "others", "send it again")
    found = {name: torch.from_numpy(values) for name, values in vectors.items()}
    return Heard(bound(found, layout.names))


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

# Of a vector: exponents of its blocks' units, levels if it has some, and a number a coordinate.
Part = tuple[IntArray, Float32 | None, IntArray]


class QuantisedCoder(TwoWay):
    """The codec for messages of one layout; it remembers nothing."""

    codec: Quantised

    def __init__(self, codec: Quantised, layout: Layout) -> None:
        super().__init__(codec, layout)
        self._begin = arrays(free_layout(layout).begin)
        self._scales = Scales(layout.blocks)
        self._starts = np.array([block.start for block in layout.blocks])
        self._sizes = np.diff(self._starts, append=layout.size)

    def told(
        self, tape: Tape, memory: Memory, said: Said | None, *, seed: int, pace: float
    ) -> dict[str, Part]:
        """Exponents, levels and numbers of each vector."""
        given, parts = None if said is None else free(said), {}
        no_classes = np.zeros(self._scales.count, dtype=np.int64)
        for name, begin in self._begin.items():
            exponents = levels = numbers = None
            if given is not None:
                moved = given[name].numpy().astype(np.float64) - begin
                exponents, levels, numbers = self._rounded(moved)
            exponents = integers(tape, exponents, count=len(self._starts))
            if self.codec.kind == "lloyd":
                levels = floats(tape, levels, count=self.codec.levels, dtype=np.float32)
            numbers, _ = self._scales.integers(tape, numbers, no_classes)
            parts[name] = exponents, levels, numbers
        return parts

    def _rounded(self, moved: FloatArray) -> Part:
        """What is said of a vector; units are the blocks' root mean squares, rounded up."""
        squares = np.add.reduceat(moved**2, self._starts) / self._sizes
        sizes = np.sqrt(np.maximum(squares, 2.0**-80))
        exponents = np.ceil(nearest(sizes, _DIVISIONS)).astype(np.int64)
        relative = moved / np.repeat(powers(exponents, _DIVISIONS), self._sizes)
        if self.codec.kind == "uniform":
            return exponents, None, worth_sending(relative / self.codec.step, self._scales)
        levels = lloyd_levels(relative, self.codec.levels)
        places = np.searchsorted((levels[1:] + levels[:-1]) / 2, relative)
        return exponents, levels, places - len(levels) // 2

    def heard(self, memory: Memory, parts: Mapping[str, Part]) -> Heard:
        """What is said of each vector: begin, and numbers in units of their blocks."""
        found = {}
        for name, (exponents, levels, numbers) in parts.items():
            unit = np.repeat(powers(exponents, _DIVISIONS), self._sizes)
            with np.errstate(over="ignore", invalid="ignore"):
                if levels is None:
                    relative = numbers.astype(np.float32) * np.float32(self.codec.step)
                else:
                    places = numbers + len(levels) // 2
                    if (places < 0).any() or (places >= len(levels)).any():
                        wanted = f"one of {len(levels)} levels"
                        raise fail("body", wanted, "others", "send it again")
                    relative = levels[places]
                found[name] = self._begin[name] + unit * relative
        return _finite(found, self.layout)


def _levels(name: str, value: int) -> None:
    """The domain of a number of levels."""
    if as_integer(name, value, minimum=3) % 2 == 0 or value > 1023:
        raise fail(name, "an odd number to 1023", value, "one level is for zero")


@dataclass(frozen=True)
class Quantised(Codec):
    """All coordinates with a relative error.

    Parameters
    ----------
    kind
        ``"uniform"`` or ``"lloyd"``.
    step
        Of the uniform quantiser, over its block's root mean square; positive.
    levels
        Of Lloyd's quantiser: an odd number of at least 3.
    """

    kind: str = "uniform"
    step: float = 0.5
    levels: int = 15

    name = "quantised"
    domains: ClassVar = {"kind": one_of(KINDS), "step": as_positive, "levels": _levels}
    writes = QuantisedCoder


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

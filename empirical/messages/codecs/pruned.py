"""The weights of largest square, each with its coordinate: the codecs of the paper on GAE.

A body is a list of coordinates, and numbers from which those weights are made again: the weights
themselves, knots of their sorted curve, or what an autoencoder makes of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.messages.autoencoder import Autoencoder, load_autoencoder
from empirical.messages.codec import Codec, Heard, Layout, Memory, Said
from empirical.messages.codecs.plain import Packed, PackedTape
from theory.validation import IntArray, as_integer, fail

# Lists of coordinates, with as many bits each as the largest needs -------------------------------


def index_bits(size: int) -> int:
    """Bits of a coordinate below `size`.

    >>> index_bits(613_514)
    20
    """
    return max(1, (size - 1).bit_length())


def list_bytes(count: int, size: int) -> int:
    """Bytes of a list of so many coordinates; the last byte may be filled up with zeros.

    >>> list_bytes(50_000, 613_514)
    125000
    """
    return -(-count * index_bits(size) // 8)


def pack(indices: IntArray, size: int) -> bytes:
    """The list in its order, bit after bit, the highest of each first."""
    width = index_bits(size)
    shifts = np.arange(width - 1, -1, -1, dtype=np.uint32)
    bits = (np.asarray(indices, np.uint32)[:, None] >> shifts) & np.uint32(1)
    return np.packbits(bits.astype(np.uint8).ravel()).tobytes()


def unpack(body: bytes | memoryview, count: int, size: int) -> NDArray[np.int64]:
    """The list that :func:`pack` wrote.

    Raises
    ------
    ValueError
        If the length is another, a coordinate is not below `size` or occurs twice.

    Examples
    --------
    >>> unpack(pack(np.array([5, 0, 9]), 10), 3, 10)
    array([5, 0, 9])
    """
    if len(body) != list_bytes(count, size):
        wanted = f"{list_bytes(count, size)} bytes"
        raise fail("list of coordinates", wanted, len(body), "ask for the message again")
    width = index_bits(size)
    bits = np.unpackbits(np.frombuffer(body, np.uint8), count=count * width).reshape(count, width)
    powers = np.int64(1) << np.arange(width - 1, -1, -1, dtype=np.int64)
    found: NDArray[np.int64] = bits.astype(np.int64) @ powers
    seen = np.zeros(size, bool)
    if count and found.max() < size:
        seen[found] = True
    if int(seen.sum()) != count:
        wanted = f"{count} different coordinates below {size}"
        raise fail("list of coordinates", wanted, "others", "ask for the message again")
    return found


# A list of coordinates, and numbers --------------------------------------------------------------


Values = NDArray[np.float32]
Flags = NDArray[np.bool_]
_PAPERS_KEPT, _PAPERS_SIZE = 50_000, 613_514
_AT_LEAST_0 = partial(as_integer, minimum=0)


def largest(values: Values, count: int) -> IntArray:
    """Coordinates of the `count` largest squares, ascending; of equal ones the first.

    Examples
    --------
    >>> largest(np.float32([1, -3, 2, 3]), 2)
    array([1, 3])
    """
    squares = np.square(values)
    least = np.partition(squares, values.size - count)[values.size - count]
    above, equal = np.flatnonzero(squares > least), np.flatnonzero(squares == least)
    chosen: IntArray = np.sort(np.concatenate([above, equal[: count - above.size]]))
    return chosen


def ascending(values: Values, count: int) -> IntArray:
    """Coordinates of the `count` largest squares in the order of their signed values."""
    places = largest(values, count)
    ordered: IntArray = places[np.argsort(values[places], kind="stable")]
    return ordered


class ListCoder(Packed):
    """What these codecs share, for messages of one layout; they remember nothing.

    The list names the largest numbers: their curve. Of it the first and last `exact` numbers are
    sent, those between as a few numbers and a few bytes behind them.

    Attributes
    ----------
    ranked
        The list of a message, from its numbers and `kept`.
    """

    ranked: Callable[[Values, int], IntArray] = staticmethod(ascending)

    def __init__(
        self, codec: Any, layout: Layout, kept: int, *, exact: int, few: int, more: int = 0
    ) -> None:
        super().__init__(codec, layout)
        self.kept, self.exact, self._floats, self._more = kept, exact, 2 * exact + few, more
        self.body_bytes = list_bytes(kept, layout.size) + 4 * self._floats + more

    @abstractmethod
    def few(self, curve: Values) -> tuple[Values, bytes]:
        """What is said of the numbers between the ends of a curve."""

    @abstractmethod
    def between(self, few: Values, more: bytes) -> tuple[Values, float]:
        """The numbers between the ends, and a square below which nothing is said of a number."""

    def told(
        self, tape: PackedTape, memory: Memory, said: Said | None, *, seed: int, pace: float
    ) -> tuple[IntArray, Values, bytes]:
        """The list, the numbers, and the bytes behind them."""
        size, w = self.layout.size, self.exact
        packed: Any = None
        floats: Tensor | None = None
        if said is not None:
            (vector,) = said.values()
            values = vector.detach().cpu().numpy().astype(np.float32, copy=False)
            places = self.ranked(values, self.kept)
            curve, packed = values[places], pack(places, size)
            few, more = self.few(curve)
            floats = torch.from_numpy(np.concatenate([curve[:w], curve[self.kept - w :], few]))
        packed = tape.raw(packed, list_bytes(self.kept, size))
        if said is None:
            places = unpack(packed, self.kept, size)
        floats = tape.numbers(floats, self._floats, torch.float32)
        if said is None:
            self.check(floats)
        more = bytes(tape.raw(None if said is None else more, self._more))
        return places, floats.numpy(), more

    def heard(self, memory: Memory, parts: tuple[IntArray, Values, bytes]) -> Heard:
        """Numbers at their coordinates; of the others nothing is said."""
        (places, floats, more), w = parts, self.exact
        vector, sent = np.zeros(self.layout.size, np.float32), np.zeros(self.layout.size, bool)
        middle, least = self.between(floats[2 * w :], more)
        curve = np.concatenate([floats[:w], middle, floats[w : 2 * w]])
        kept: Flags | bool = True
        if least:
            kept = np.square(curve) >= least
            curve = np.where(kept, curve, np.float32(0))
        vector[places], sent[places] = curve, kept
        return Heard({self.layout.names[0]: torch.from_numpy(vector)}, torch.from_numpy(sent))


def kept_of(codec: str, kept: int, layout: Layout) -> int:
    """How many numbers of a message are kept; `kept` 0: as large a share as the paper's.

    Raises
    ------
    ValueError
        If there is more than one vector, or fewer numbers than are to be kept.

    Examples
    --------
    >>> from empirical.messages.codec import Block
    >>> one = Layout({"mean": torch.zeros(100)}, (Block("all", 0, (100,)),))
    >>> kept_of("pruned", 0, one)
    9
    """
    if len(layout.names) != 1:
        got, remedy = ", ".join(layout.names), "use it for nets without uncertainty"
        raise fail(f"codec {codec!r}", "messages of one vector", got, remedy)
    if kept > layout.size:
        wanted = f"at most {layout.size}, the weights of the net"
        raise fail("kept", wanted, kept, "keep fewer")
    return kept or -(-layout.size * _PAPERS_KEPT // _PAPERS_SIZE)


# The weights themselves --------------------------------------------------------------------------


class PrunedCoder(ListCoder):
    """The codec for messages of one vector, of at least `kept` numbers."""

    ranked = staticmethod(largest)

    def __init__(self, codec: Pruned, layout: Layout) -> None:
        kept = kept_of(codec.name, codec.kept, layout)
        super().__init__(codec, layout, kept, exact=0, few=kept)

    def few(self, curve: Values) -> tuple[Values, bytes]:
        """All of them."""
        return curve, b""

    def between(self, few: Values, more: bytes) -> tuple[Values, float]:
        """All of them."""
        return few, 0.0


@dataclass(frozen=True)
class Pruned(Codec):
    """The `kept` numbers of largest square in float32, after the list of their coordinates.

    A coordinate takes as many bits as the largest needs, and the body kept · (bits + 32), filled
    up to whole bytes: N_p (b_int + b_float) of the paper's eq. 5. Numbers of equal square are
    kept in the order of their coordinates. Of the others the message says nothing.

    Parameters
    ----------
    kept
        How many. 0: as large a share of them as the paper's, ⌈50 000 d / 613 514⌉.
    """

    kept: int = 0

    name = "pruned"
    domains: ClassVar = {"kept": _AT_LEAST_0}
    writes = PrunedCoder


# The sorted weights as a curve through a few of its points ---------------------------------------


class SplineCoder(ListCoder):
    """The codec for messages of one vector, of at least `kept` numbers."""

    def __init__(self, codec: Spline, layout: Layout) -> None:
        kept, exact, self._knots = kept_of(codec.name, codec.kept, layout), codec.exact, codec.knots
        if not codec.kept:
            exact = min(exact, kept // 200)
            self._knots = min(self._knots, kept - 2 * exact)
        super().__init__(codec, layout, kept, exact=exact, few=self._knots, more=4)

    def few(self, curve: Values) -> tuple[Values, bytes]:
        """The knots, and how many numbers are negative."""
        middle = curve[self.exact : self.kept - self.exact]
        below = int((middle < 0).sum())
        return middle[knot_ranks(middle.size, below, self._knots)], below.to_bytes(4, "little")

    def between(self, few: Values, more: bytes) -> tuple[Values, float]:
        """Numbers on lines."""
        size, below = self.kept - 2 * self.exact, int.from_bytes(more, "little")
        if below > size:
            raise self.bad_body(f"at most {size} negative numbers", below)
        return on_lines(knot_ranks(size, below, self._knots), few, size, below), 0.0


def knot_ranks(size: int, below: int, knots: int) -> IntArray:
    """The ranks of the knots: both ends of either sign's part, and between them ever closer
    towards the outer end, where the curve is steep. A part without numbers has none.
    """
    if below in (0, size):
        left = knots if below else 0
    else:
        share = round(knots * below / size)
        left = min(max(share, min(2, below)), knots - min(2, size - below))
    parts = []
    if left:
        parts.append(_towards_start(below, left))
    if knots - left:
        parts.append(size - 1 - _towards_start(size - below, knots - left)[::-1])
    ranks: IntArray = np.concatenate(parts)
    return ranks


def _towards_start(size: int, knots: int) -> IntArray:
    """Ranks from 0 to size − 1 at squares of equal steps, or the next that is free."""
    steps = np.arange(knots, dtype=np.int64)
    last = max(knots - 1, 1)
    ranks: IntArray = np.maximum(steps, (steps * steps * (size - 1)) // (last * last))
    return ranks


def on_lines(ranks: IntArray, knots: Values, size: int, below: int) -> Values:
    """The curve through the knots, shape (size,), without a line across the jump at 0."""
    curve = np.interp(np.arange(size), ranks, knots).astype(np.float32)
    if 0 < below < size:  # a part with one knot is constant
        left = ranks < below
        curve[:below] = np.interp(np.arange(below), ranks[left], knots[left])
        curve[below:] = np.interp(np.arange(below, size), ranks[~left], knots[~left])
    return curve


@dataclass(frozen=True)
class Spline(Codec):
    """The numbers of largest square by their rank: some exact, the rest on straight lines.

    The body is the list of coordinates in the order of signed values; the `exact` lowest and
    `exact` highest of these; how many are negative; and `knots` of those between, part of them on
    each side of 0 and more of them where the curve is steep. With the settings of the paper on
    GAE these are the bits of its message, kept · 20 + (2 · 250 + 50 + 1) · 32: the count of
    negative numbers stands where the threshold did.

    Parameters
    ----------
    kept
        How many; at least 2 · exact + knots. 0: as large a share as the paper's, and of few
        weights fewer exact ones, kept // 200 at each end, and at most as many knots as are left.
    exact, knots
        How many; at least 0 and 4.
    """

    kept: int = 0
    exact: int = 250
    knots: int = 50

    name = "spline"
    domains: ClassVar = {
        "kept": _AT_LEAST_0,
        "exact": _AT_LEAST_0,
        "knots": partial(as_integer, minimum=4),
    }
    writes = SplineCoder

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0 < self.kept < 2 * self.exact + self.knots:
            wanted = f"at most kept = {self.kept}"
            got = f"2 · {self.exact} + {self.knots} exact values and knots"
            raise fail("kept", wanted, got, "keep more, or take fewer knots")


# The sorted weights by an autoencoder that all nodes were given ----------------------------------


class AutoencoderCoder(ListCoder):
    """The codec for the nets that an autoencoder was trained for.

    Raises
    ------
    ValueError
        If its file is missing or damaged, or it was trained for other nets.
    """

    def __init__(
        self, codec: Autoencoded, layout: Layout, autoencoder: Autoencoder | None = None
    ) -> None:
        self.autoencoder = own = autoencoder or codec.trained()
        kept_of(codec.name, 1, layout)
        if own.size != layout.size:
            wanted = f"one trained for nets of {layout.size} weights"
            raise fail("autoencoder", wanted, f"one for {own.size}", "train one for these nets")
        super().__init__(codec, layout, own.kept, exact=own.exact, few=own.latent + 1)

    @classmethod
    def of(cls, autoencoder: Autoencoder, layout: Layout) -> AutoencoderCoder:
        """The codec with an autoencoder at hand."""
        return cls(Autoencoded(), layout, autoencoder)

    def few(self, curve: Values) -> tuple[Values, bytes]:
        """The autoencoder's numbers, and the smallest square of all."""
        middle = torch.from_numpy(curve[self.exact : self.kept - self.exact].copy())
        latent = self.autoencoder.encode(middle).numpy()
        return np.concatenate([latent, np.square(curve).min(keepdims=True)]), b""

    def between(self, few: Values, more: bytes) -> tuple[Values, float]:
        """Numbers with a square below the smallest one are 0, and count as not sent."""
        return self.autoencoder.decode(torch.from_numpy(few[:-1].copy())).numpy(), few[-1]


@dataclass(frozen=True)
class Autoencoded(Codec):
    """The numbers of largest square by their rank: some exact, the rest by an autoencoder.

    The body is the list of coordinates in the order of signed values; the w lowest and the w
    highest of these; the autoencoder's N_l numbers for those between; and the smallest square of
    all. A decoded value whose square is below that is set to 0, and counts as not sent. These are
    the N_p b_int + (2w + N_l + 1) b_float bits of the paper's eq. 6. How many are negative is not
    sent: with the list in this order it is not needed.

    Parameters
    ----------
    file
        The trained autoencoder (:func:`load_autoencoder`); it says how many numbers are kept and
        sent as they are.
    """

    file: str = ""

    name = "autoencoder"
    writes = AutoencoderCoder

    def trained(self) -> Autoencoder:
        """What the file holds; see :func:`load_autoencoder`."""
        if not self.file:
            remedy = "train it by 'peerbayes run gae --part autoencoder' and name its file"
            raise fail("file", "a trained autoencoder", "none", remedy)
        return load_autoencoder(Path(self.file))

"""The weights of largest size, each with its coordinate: the baseline of the paper on GAE."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from empirical.messages.autoencoder import Autoencoder, load_autoencoder
from empirical.messages.codec import Heard, Layout, Memory, Said, bad_body, check_said, words_of
from empirical.messages.index_lists import list_bytes, pack, unpack
from theory.validation import IntArray, as_integer, fail

# The weights of largest size, each with its coordinate -------------------------------------------


Values = NDArray[np.float32]
FLOAT = np.dtype("<f4")
_PAPERS_KEPT, _PAPERS_SIZE = 50_000, 613_514


@dataclass(frozen=True)
class Pruned:
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
    name: ClassVar[str] = "pruned"

    def __post_init__(self) -> None:
        as_integer("kept", self.kept, minimum=0)

    def words(self) -> dict[str, Any]:
        """Name and settings."""
        return words_of(self)

    def coder(self, layout: Layout) -> _PrunedCoder:
        """Fits layouts of one vector, of at least `kept` numbers."""
        return _PrunedCoder(kept_of(self.name, self.kept, layout), layout)


@dataclass(frozen=True, eq=False)
class _PrunedCoder:
    kept: int
    layout: Layout

    def memory(self) -> Memory:
        return {}

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        check_said(said, self.layout)
        values = numbers_of(said)
        places = largest(values, self.kept)
        return pack(places, values.size) + values[places].astype(FLOAT).tobytes()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        head = split_body(Pruned.name, body, self.kept, self.layout.size, floats=self.kept)
        return scattered(self.layout, head.places, head.floats)


@dataclass(frozen=True, eq=False)
class Body:
    """A list of coordinates, and the numbers behind it."""

    places: IntArray
    floats: Values


def split_body(codec: str, body: bytes, kept: int, size: int, *, floats: int) -> Body:
    """The two parts of a body; there are `floats` numbers, all of them finite.

    Raises
    ------
    ValueError
        If no encoder wrote it.
    """
    head = list_bytes(kept, size)
    if len(body) != head + 4 * floats:
        raise bad_body(codec, f"{head + 4 * floats} bytes", len(body))
    places = unpack(body[:head], kept, size)
    numbers = np.frombuffer(body, FLOAT, offset=head).astype(np.float32)
    if not np.isfinite(numbers).all():
        raise bad_body(codec, "finite numbers", "others")
    return Body(places, numbers)


def scattered(
    layout: Layout, places: IntArray, values: Values, *, said: NDArray[np.bool_] | None = None
) -> Heard:
    """What is heard: values at their coordinates; `said` marks those that the message speaks of."""
    vector, sent = np.zeros(layout.size, np.float32), np.zeros(layout.size, bool)
    vector[places] = values
    sent[places] = True if said is None else said
    return Heard({layout.names[0]: torch.from_numpy(vector)}, torch.from_numpy(sent))


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


def numbers_of(said: Said) -> Values:
    """The one vector of a message as an array, shape (d,)."""
    (vector,) = said.values()
    found: Values = vector.detach().cpu().numpy().astype(np.float32, copy=False)
    return found


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


# The sorted weights by an autoencoder that all nodes were given ----------------------------------


@dataclass(frozen=True)
class Autoencoded:
    """The numbers of largest square by their rank: some exact, the rest by an autoencoder.

    The body is the list of coordinates in the order of signed values; the w lowest and the w
    highest of these; the autoencoder's N_l numbers for those between; and the smallest square of
    all. A decoded value whose square is below that is set to 0, and counts as not sent. These are
    the N_p b_int + (2w + N_l + 1) b_float bits of the paper's eq. 6. How many are negative is not
    sent: with the list in this order it is not needed.

    Parameters
    ----------
    file
        The trained autoencoder (:func:`empirical.messages.autoencoder.load_autoencoder`); it says
        how many numbers are kept and sent as they are.
    """

    file: str = ""
    name: ClassVar[str] = "autoencoder"

    def words(self) -> dict[str, Any]:
        """Name and settings."""
        return words_of(self)

    def coder(self, layout: Layout) -> AutoencoderCoder:
        """Fits the nets that the autoencoder was trained for.

        Raises
        ------
        ValueError
            If the file is missing or damaged, or the nets are others.
        """
        if not self.file:
            remedy = "train it by 'peerbayes run gae --part autoencoder' and name its file"
            raise fail("file", "a trained autoencoder", "none", remedy)
        return AutoencoderCoder.of(load_autoencoder(Path(self.file)), layout)


@dataclass(frozen=True, eq=False)
class AutoencoderCoder:
    """The codec with its autoencoder at hand."""

    autoencoder: Autoencoder
    layout: Layout

    @classmethod
    def of(cls, autoencoder: Autoencoder, layout: Layout) -> AutoencoderCoder:
        """The codec for the messages of one run.

        Raises
        ------
        ValueError
            If the autoencoder was trained for other nets.
        """
        kept_of(Autoencoded.name, 1, layout)
        if autoencoder.size != layout.size:
            wanted = f"one trained for nets of {layout.size} weights"
            got, remedy = f"one for {autoencoder.size}", "train one for these nets"
            raise fail("autoencoder", wanted, got, remedy)
        return cls(autoencoder, layout)

    def memory(self) -> Memory:
        """Nothing."""
        return {}

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """The body; see :class:`Autoencoded`."""
        check_said(said, self.layout)
        values, w = numbers_of(said), self.autoencoder.exact
        places = ascending(values, self.autoencoder.kept)
        curve = values[places]
        middle = torch.from_numpy(curve[w : curve.size - w].copy())
        latent = self.autoencoder.encode(middle).numpy()
        threshold = np.square(curve).min(keepdims=True)
        floats = np.concatenate([curve[:w], curve[curve.size - w :], latent, threshold])
        return pack(places, values.size) + floats.astype(FLOAT).tobytes()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """What it says; see :class:`Autoencoded`."""
        own, w = self.autoencoder, self.autoencoder.exact
        number = 2 * w + own.latent + 1
        head = split_body(Autoencoded.name, body, own.kept, self.layout.size, floats=number)
        latent, threshold = torch.from_numpy(head.floats[2 * w : -1].copy()), head.floats[-1]
        middle = own.decode(latent).numpy()
        curve = np.concatenate([head.floats[:w], middle, head.floats[w : 2 * w]])
        kept = np.square(curve) >= threshold
        return scattered(self.layout, head.places, np.where(kept, curve, np.float32(0)), said=kept)


# The sorted weights as a curve through a few of its points ---------------------------------------


@dataclass(frozen=True)
class Spline:
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
    name: ClassVar[str] = "spline"

    def __post_init__(self) -> None:
        as_integer("kept", self.kept, minimum=0)
        as_integer("exact", self.exact, minimum=0)
        as_integer("knots", self.knots, minimum=4)
        if 0 < self.kept < 2 * self.exact + self.knots:
            wanted = f"at most kept = {self.kept}"
            got = f"2 · {self.exact} + {self.knots} exact values and knots"
            raise fail("kept", wanted, got, "keep more, or take fewer knots")

    def words(self) -> dict[str, Any]:
        """Name and settings."""
        return words_of(self)

    def coder(self, layout: Layout) -> _SplineCoder:
        """Fits layouts of one vector, of at least `kept` numbers."""
        kept, exact, knots = kept_of(self.name, self.kept, layout), self.exact, self.knots
        if not self.kept:
            exact = min(exact, kept // 200)
            knots = min(knots, kept - 2 * exact)
        return _SplineCoder(kept, exact, knots, layout)


@dataclass(frozen=True, eq=False)
class _SplineCoder:
    kept: int
    exact: int
    knots: int
    layout: Layout

    def memory(self) -> Memory:
        return {}

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        check_said(said, self.layout)
        values = numbers_of(said)
        places = ascending(values, self.kept)
        curve, w = values[places], self.exact
        middle = curve[w : curve.size - w]
        below = int((middle < 0).sum())
        ranks = knot_ranks(middle.size, below, self.knots)
        floats = np.concatenate([curve[:w], curve[curve.size - w :], middle[ranks]])
        count = np.array([below], "<u4")
        return pack(places, values.size) + floats.astype(FLOAT).tobytes() + count.tobytes()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        w, number = self.exact, 2 * self.exact + self.knots
        head = split_body(Spline.name, body[:-4], self.kept, self.layout.size, floats=number)
        below, between = int.from_bytes(body[-4:], "little"), self.kept - 2 * w
        if below > between:
            raise bad_body(Spline.name, f"at most {between} negative numbers", below)
        ranks = knot_ranks(between, below, self.knots)
        middle = on_lines(ranks, head.floats[2 * w :], between, below)
        curve = np.concatenate([head.floats[:w], middle, head.floats[w : 2 * w]])
        return scattered(self.layout, head.places, curve)


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

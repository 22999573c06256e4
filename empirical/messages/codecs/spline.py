"""The sorted weights as a curve through a few of its points: no training, and nothing to ship."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from empirical.messages.checks import bad_body, check_said, words_of
from empirical.messages.codec import Heard, Layout, Memory, Said
from empirical.messages.codecs.pruned import (
    FLOAT,
    Values,
    ascending,
    kept_of,
    numbers_of,
    scattered,
    split_body,
)
from empirical.messages.index_lists import pack
from theory.validation import IntArray, as_integer, fail


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

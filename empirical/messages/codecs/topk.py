"""The largest weights alone: a coded set of coordinates, and their values.

Of a belief the coordinates are those with the largest means in units of their standard deviations;
of other messages those with the largest squares, summed over the vectors after each was divided by
its root mean square. The receiver learns nothing of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import from_numpy

from empirical.messages.checks import check_said, share_of, words_of
from empirical.messages.codec import Heard, Layout, Memory, Said, Written
from empirical.messages.coordinates import PRECISION, SHIFT, bound, free, free_layout, is_belief
from empirical.messages.entropy import Reader, Writer
from empirical.messages.selected import Selected, check_values, largest
from empirical.messages.sets import Flags
from theory.validation import fail


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

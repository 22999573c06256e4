"""Which of the weights a message speaks of: a set of coordinates, coded by what both ends know.

A set of k of d coordinates that nothing is known of takes log₂ C(d, k) bits. Much is known. Large
weights began large; layers differ; above all, what was large in the last message is large again,
the surer the larger it was. Each coordinate is coded as in or out by the frequencies of its own
kind: its block, the rank of its first value's size within the block, and, where it was spoken of
before, the rank of what was said last.
"""

from __future__ import annotations

from itertools import pairwise
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

from empirical.messages.codec import Layout
from empirical.messages.entropy import Tape, adaptive
from empirical.messages.range_coder import UNIT
from theory.validation import IntArray, as_integer, fail

# Classes of the first values, of what was said in the last message, and of what was said before.
FIRSTS, MEMBERS, FORMERS = 32, 32, 8
NEVER, MEMBER, FORMER = 0, 1, 2
# Members of a class at least, or classes are fewer.
LEAST = 256
_STRIDE = FIRSTS + MEMBERS + FORMERS * FIRSTS
# Blocks after these share their kinds.
_BLOCKS = 180

Flags = NDArray[np.bool_]


def enumeration_bits(d: int, k: int) -> float:
    """log₂ C(d, k): the bits of a set of k of d coordinates, all equally likely.

    Within 1e-9 of its size.

    Raises
    ------
    ValueError
        If k is not from 0 to d.
    """
    d = as_integer("d", d, minimum=0)
    if not 0 <= as_integer("k", k, minimum=0) <= d:
        raise fail("k", f"at most d = {d}", k, "choose fewer coordinates")
    return (lgamma(d + 1) - lgamma(k + 1) - lgamma(d - k + 1)) / log(2.0)


def ranks(values: NDArray[np.float32], classes: int) -> IntArray:
    """Classes of equal size by rank, fewer where values are few; ties by their order."""
    count = len(values)
    classes = min(classes, max(1, count // LEAST))
    found = np.empty(count, dtype=np.int64)
    found[np.argsort(values, kind="stable")] = np.arange(count) * classes // max(count, 1)
    return found


class Kinds:
    """The kinds of a layout's coordinates.

    Parameters
    ----------
    layout
        Of the messages.
    first
        What coordinates are ranked by before anything was said, shape (d,).
    """

    def __init__(self, layout: Layout, first: NDArray[np.float32]) -> None:
        self._base = np.empty(layout.size, dtype=np.int64)
        starts = [block.start for block in layout.blocks] + [layout.size]
        for number, (start, end) in enumerate(pairwise(starts)):
            own = ranks(np.abs(first[start:end]), FIRSTS)
            self._base[start:end] = min(number, _BLOCKS) * _STRIDE + own

    def of(self, said: NDArray[np.float32], state: NDArray[np.uint8]) -> IntArray:
        """The kind of each coordinate.

        Parameters
        ----------
        said
            What coordinates are ranked by that were spoken of: their last value, shape (d,).
        state
            ``NEVER``, ``MEMBER`` (of the last message's set) or ``FORMER``, shape (d,).
        """
        found = self._base.copy()
        now, former = np.flatnonzero(state == MEMBER), np.flatnonzero(state == FORMER)
        block = found[now] // _STRIDE * _STRIDE
        found[now] = block + FIRSTS + ranks(np.abs(said[now]), MEMBERS)
        found[former] += FIRSTS + MEMBERS + ranks(np.abs(said[former]), FORMERS) * FIRSTS
        return found


def subset(tape: Tape, chosen: Flags | None, kinds: IntArray) -> Flags:
    """A set of coordinates, shape (d,), each in or out.

    Parameters
    ----------
    tape
        Where it goes, or comes from.
    chosen
        The set; None for a reader.
    kinds
        From :meth:`Kinds.of`.
    """
    given = None if chosen is None else chosen.astype(np.int64)
    prior = (UNIT // 2, UNIT // 2)
    found = adaptive(tape, given, count=len(kinds), prior=prior, contexts=kinds)
    return found.astype(np.bool_)

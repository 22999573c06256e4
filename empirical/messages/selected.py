"""Some coordinates of a message, and what is said of them: sets and values with a memory.

Values travel to the last bit, in float32 or float16, or in steps. A value in steps is a multiple of
its vector's step, and what is written is by how many steps it differs from what was last said of
its coordinate, or at first from what all begin with.
"""

from __future__ import annotations

import functools
import sys
import zlib
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from math import isqrt, lgamma, log

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.messages.codec import Layout, Said
from empirical.messages.entropy import Tape, adaptive
from empirical.messages.range_coder import UNIT
from theory.validation import IntArray, as_integer, fail

# Which of the weights a message speaks of --------------------------------------------------------


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


# Coordinates in which a belief may be written with any loss and stays a belief -------------------


PRECISION, SHIFT = "precision", "shift"
MEAN, LOG_PRECISION = "mean", "log precision"


def is_belief(names: tuple[str, ...]) -> bool:
    """Whether messages of these names are natural parameters of Gaussians."""
    return PRECISION in names and SHIFT in names


def free(said: Said) -> Said:
    """Mean and log precision in place of shift and precision; all else as it is.

    Vectors of shape (d,); a message without a precision is returned as it is.
    """
    if not is_belief(tuple(said)):
        return said
    precision, shift = said[PRECISION], said[SHIFT]
    new = {PRECISION: (LOG_PRECISION, precision.log()), SHIFT: (MEAN, shift / precision)}
    return dict(new.get(name, (name, values)) for name, values in said.items())


def bound(vectors: Said, names: tuple[str, ...]) -> dict[str, torch.Tensor]:
    """The inverse of :func:`free`, up to rounding; precisions are positive normal numbers.

    `names` are those before :func:`free`, which changed nothing if they are of no belief.
    """
    if not is_belief(names):
        return dict(vectors)
    precision = vectors[LOG_PRECISION].clamp(-80.0, 80.0).exp()
    new = {LOG_PRECISION: (PRECISION, precision), MEAN: (SHIFT, vectors[MEAN] * precision)}
    return dict(new.get(name, (name, values)) for name, values in vectors.items())


def free_layout(layout: Layout) -> Layout:
    """The layout of messages in the free coordinates."""
    return replace(layout, begin=free(layout.begin))


# Powers of two on a logarithmic grid, the same bits on every machine -----------------------------


# Exponents beyond this are refused: their squares would leave the range of float32.
OCTAVES = 60


@functools.lru_cache(maxsize=16)
def _octave(divisions: int) -> NDArray[np.float64]:
    """2^(j/L) for j from 0 to L − 1, L a power of two: ⌊2^(j/L + 60)⌋ 2⁻⁶⁰, as float64."""
    roots = []
    for place in range(divisions):
        root = 1 << (place + OCTAVES * divisions)
        for _ in range(divisions.bit_length() - 1):
            root = isqrt(root)
        roots.append(root / 2**OCTAVES)
    return np.array(roots)


def powers(indices: IntArray, divisions: int) -> NDArray[np.float32]:
    """2^(k/L) in float32.

    Parameters
    ----------
    indices
        k, of any shape.
    divisions
        L: a power of two.

    Raises
    ------
    ValueError
        If a power is not a normal number of float32.
    """
    low, high = int(indices.min(initial=0)), int(indices.max(initial=0))
    if low < -2 * OCTAVES * divisions or high > 2 * OCTAVES * divisions:
        raise fail("body", "scales from 2^-120 to 2^120", "others", "send it again")
    some = np.arange(low, high + 1)
    whole = np.floor_divide(some, divisions)
    table = np.ldexp(_octave(divisions)[some - whole * divisions], whole).astype(np.float32)
    return np.asarray(table[indices - low])


def nearest(values: NDArray[np.float64], divisions: int) -> NDArray[np.float64]:
    """L log₂ of positive numbers, not rounded: for an encoder's choices alone.

    Raises
    ------
    ValueError
        If a number is not from 2⁻⁶⁰ to 2⁶⁰.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log2(values)
    if values.size and not (np.abs(logs) < OCTAVES).all():
        raise fail("message", "scales from 2^-60 to 2^60", "others", "rescale the net's inputs")
    return np.asarray(logs * divisions)


# Tensors as bytes in little-endian order, and back -----------------------------------------------


# Formats of real numbers, by the names that settings use.
KINDS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def to_bytes(values: Tensor) -> bytes:
    """The elements in C order, each in little-endian order."""
    return _little(values).tobytes()


def from_bytes(body: bytes | memoryview, kind: torch.dtype) -> Tensor:
    """A vector of its own memory, shape (len(body) / itemsize,); no more is checked than that.

    >>> from_bytes(to_bytes(torch.tensor([1.5, -2.0])), torch.float32).tolist()
    [1.5, -2.0]
    """
    raw = np.frombuffer(body, dtype=np.uint8).reshape(-1, kind.itemsize)
    if sys.byteorder == "big":
        raw = raw[:, ::-1]
    return torch.from_numpy(raw.copy().reshape(-1)).view(kind)


def digest(tensors: Mapping[str, Tensor]) -> int:
    """CRC-32 of all elements, in the order of the names; 0 of nothing."""
    found = 0
    for name in sorted(tensors):
        found = zlib.crc32(_little(tensors[name]).data, found)
    return found


def _little(values: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Bytes of the elements; a view where nothing has to be moved."""
    flat = values.detach().cpu().contiguous().reshape(-1)
    raw = flat.view(torch.uint8).numpy()
    if sys.byteorder == "big":
        raw = np.ascontiguousarray(raw.reshape(-1, values.dtype.itemsize)[:, ::-1]).reshape(-1)
    return raw

"""Powers of two on a logarithmic grid, the same bits on every machine.

Exponentials of a mathematical library differ in the last bit from one machine to the next. What
sender and receiver both compute must not: here 2^(k/L) is a root of an integer, rounded once.
"""

from __future__ import annotations

import functools
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from theory.validation import IntArray, fail

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

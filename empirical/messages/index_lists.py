"""Lists of coordinates as bytes, with as many bits each as the largest coordinate needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theory.validation import IntArray, fail


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


def unpack(body: bytes, count: int, size: int) -> NDArray[np.int64]:
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

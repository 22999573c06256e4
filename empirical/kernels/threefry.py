"""Random words that are a function of a key and a counter, compiled; and the same in torch.

Threefry-4x32 with 20 rounds (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as
1, 2, 3"): four words of 32 bits from 128 bits of key and as many of counter. No state is carried,
so any number can be drawn again, in any order and by any device. A round is additions, rotations
and exclusive ors, of which a processor does sixteen at a time where it does eight multiplications.
"""

from __future__ import annotations

import numba
import numpy as np
from torch import Tensor

PARITY = 0x1BD11BDA
# Rotations of a round's two pairs, in rounds 1 to 8; then again.
ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
ROUNDS = 20
_MASK = 0xFFFFFFFF

Four = tuple[np.uint32, np.uint32, np.uint32, np.uint32]
_PARITY = np.uint32(PARITY)


@numba.njit(forceinline=True)
def words(counter: Four, key: Four) -> Four:
    """The four words of a counter under a key; for compiled callers."""
    j, k, m, n = key
    o = np.uint32(np.uint32(np.uint32(j ^ k) ^ np.uint32(m ^ n)) ^ _PARITY)
    a, b, c, d = _added(counter, j, k, m, n)
    a, b, c, d = _added(_rounds_1_to_4(a, b, c, d), k, m, n, np.uint32(o + np.uint32(1)))
    a, b, c, d = _added(_rounds_5_to_8(a, b, c, d), m, n, o, np.uint32(j + np.uint32(2)))
    a, b, c, d = _added(_rounds_1_to_4(a, b, c, d), n, o, j, np.uint32(k + np.uint32(3)))
    a, b, c, d = _added(_rounds_5_to_8(a, b, c, d), o, j, k, np.uint32(m + np.uint32(4)))
    return _added(_rounds_1_to_4(a, b, c, d), j, k, m, np.uint32(n + np.uint32(5)))


@numba.njit(forceinline=True)
def _added(x: Four, j: np.uint32, k: np.uint32, m: np.uint32, n: np.uint32) -> Four:
    return np.uint32(x[0] + j), np.uint32(x[1] + k), np.uint32(x[2] + m), np.uint32(x[3] + n)


@numba.njit(forceinline=True)
def _rounds_1_to_4(a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32) -> Four:
    a, b, c, d = _mixed(a, b, c, d, 10, 26)
    a, d, c, b = _mixed(a, d, c, b, 11, 21)
    a, b, c, d = _mixed(a, b, c, d, 13, 27)
    a, d, c, b = _mixed(a, d, c, b, 23, 5)
    return a, b, c, d


@numba.njit(forceinline=True)
def _rounds_5_to_8(a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32) -> Four:
    a, b, c, d = _mixed(a, b, c, d, 6, 20)
    a, d, c, b = _mixed(a, d, c, b, 17, 11)
    a, b, c, d = _mixed(a, b, c, d, 25, 10)
    a, d, c, b = _mixed(a, d, c, b, 18, 20)
    return a, b, c, d


@numba.njit(forceinline=True)
def _mixed(a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32, left: int, right: int) -> Four:
    """A round: a mixes with b, and c with d. The casts keep numba from widening to 64 bits."""
    a, c = np.uint32(a + b), np.uint32(c + d)
    b = np.uint32(np.uint32(b << np.uint32(left)) | np.uint32(b >> np.uint32(32 - left)))
    d = np.uint32(np.uint32(d << np.uint32(right)) | np.uint32(d >> np.uint32(32 - right)))
    return a, np.uint32(b ^ a), c, np.uint32(d ^ c)


def words_by_torch(counter: tuple[Tensor, ...], key: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The same words in torch's operations, for any device.

    Parameters
    ----------
    counter, key
        Four int64 tensors each, of shapes that broadcast, with values from 0 to 2³² − 1.

    Returns
    -------
    tuple
        Four int64 tensors with such values.
    """
    j, k, m, n = key
    schedule = (j, k, m, n, j ^ k ^ m ^ n ^ PARITY)
    x = [(word + part) & _MASK for word, part in zip(counter, key, strict=True)]
    for turn in range(ROUNDS):
        second, fourth = (1, 3) if turn % 2 == 0 else (3, 1)
        for first, other, shift in zip((0, 2), (second, fourth), ROTATIONS[turn % 8], strict=True):
            x[first] = (x[first] + x[other]) & _MASK
            x[other] = (((x[other] << shift) | (x[other] >> (32 - shift))) & _MASK) ^ x[first]
        if turn % 4 == 3:
            done = turn // 4 + 1
            for place in range(4):
                x[place] = (x[place] + schedule[(done + place) % 5]) & _MASK
            x[3] = (x[3] + done) & _MASK
    return tuple(x)

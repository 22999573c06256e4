"""Random numbers that depend on a seed, an agent, its step and a coordinate, and on nothing else.

The key is a hash of (seed, agent); the counter is (block of coordinates, step). How agents
are grouped, in which order they are computed and how many coordinates are drawn changes no number,
so that a sweep over the weights draws its noise where it needs it, and draws it again later where
storing it would cost more.

The words (:func:`words`) are the same bits everywhere. A word x is the
uniform number u = 2⁻³² x + 2⁻³³ in float32. Two words make two independent normals (Box & Muller
1958),

    √(−2 log u) cos(π x' / 2³¹)   and   √(−2 log u) sin(π x' / 2³¹),

x' the second word. Compiled, logarithm and sines are polynomials: normals are within 4e-7 of their
size, at least of 1e-7, from the exact function of the words; by torch, within the same. The largest
normal is 6.8. Numbers at most 4e-3 from 0 lie on a grid whose steps are 1e-4 of a standard
deviation and less, which no moment sees.

On a GPU all is one launch where there is Triton (:mod:`empirical.kernels.noise_triton`), else some
four hundred of torch's operations, however many agents there are.
"""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import torch
from numba.extending import register_jitable
from numpy.typing import NDArray
from torch import Tensor

from theory.validation import as_integer

# Random words that are a function of a key and a counter, compiled; and the same in torch --------


PARITY = 0x1BD11BDA
# Rotations of a round's two pairs, in rounds 1 to 8; then again.
ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
ROUNDS = 20
_MASK = 0xFFFFFFFF

Four = tuple[np.uint32, np.uint32, np.uint32, np.uint32]
_U = np.uint32
_PARITY = _U(PARITY)


@register_jitable(forceinline=True)
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


@register_jitable(forceinline=True)
def _added(x: Four, j: np.uint32, k: np.uint32, m: np.uint32, n: np.uint32) -> Four:
    return np.uint32(x[0] + j), np.uint32(x[1] + k), np.uint32(x[2] + m), np.uint32(x[3] + n)


@register_jitable(forceinline=True)
def _rounds_1_to_4(a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32) -> Four:
    a, b, c, d = _mixed(a, b, c, d, _U(10), _U(26))
    a, d, c, b = _mixed(a, d, c, b, _U(11), _U(21))
    a, b, c, d = _mixed(a, b, c, d, _U(13), _U(27))
    a, d, c, b = _mixed(a, d, c, b, _U(23), _U(5))
    return a, b, c, d


@register_jitable(forceinline=True)
def _rounds_5_to_8(a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32) -> Four:
    a, b, c, d = _mixed(a, b, c, d, _U(6), _U(20))
    a, d, c, b = _mixed(a, d, c, b, _U(17), _U(11))
    a, b, c, d = _mixed(a, b, c, d, _U(25), _U(10))
    a, d, c, b = _mixed(a, d, c, b, _U(18), _U(20))
    return a, b, c, d


@register_jitable(forceinline=True)
def _mixed(
    a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32, left: np.uint32, right: np.uint32
) -> Four:
    """A round: a mixes with b, and c with d. The casts keep numba from widening to 64 bits.

    Rotations of uint32: literal ones would have the function compiled for each.
    """
    a, c = np.uint32(a + b), np.uint32(c + d)
    b = np.uint32(np.uint32(b << left) | np.uint32(b >> np.uint32(_U(32) - left)))
    d = np.uint32(np.uint32(d << right) | np.uint32(d >> np.uint32(_U(32) - right)))
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


# Random numbers that depend on a seed, an agent, its step and a coordinate, and on nothing else ---


Float32 = NDArray[np.float32]
UInt32 = NDArray[np.uint32]

LANES = 16
# Coordinates that share LANES counters: lane l of word w is coordinate LANES · w + l of its block.
BLOCK = 4 * LANES

_F = np.float32
_HALF_TURN = _F(math.pi * 2.0**-33)  # a quarter turn over 2³² parts


# Keys -----------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=65536)
def _key(seed: int, agent: int) -> tuple[int, int, int, int]:
    a, b, c, d = np.random.SeedSequence([seed, agent]).generate_state(4, np.uint32).tolist()
    return a, b, c, d


def keys(seed: int, agents: Sequence[int]) -> UInt32:
    """The keys of some agents, shape (N, 4).

    Raises
    ------
    ValueError
        If the seed or an agent's number is not an integer of at least 0.
    """
    seed = as_integer("seed", seed, minimum=0)
    rows = [_key(seed, as_integer("agents", agent, minimum=0)) for agent in agents]
    return np.array(rows, dtype=np.uint32).reshape(-1, 4)


Counts = Sequence[int] | NDArray[Any] | Tensor


def on(device: torch.device, values: Counts) -> Any:
    """Keys or counts as numbers are drawn by them: uint32 on a CPU, else tensors of int64."""
    if device.type == "cpu":
        return np.asarray(values, dtype=np.uint32)
    if isinstance(values, Tensor):
        return values
    return torch.from_numpy(np.asarray(values, dtype=np.int64)).to(device, non_blocking=True)


@dataclass(frozen=True, eq=False)
class Noise:
    """What some agents' noise in one step depends on.

    Parameters
    ----------
    keys
        From :func:`keys`, shape (N, 4).
    steps
        How many steps each has taken before; from 0, below 2³².
    """

    keys: UInt32 | Tensor
    steps: Counts

    def normals(self, out: Tensor) -> Tensor:
        """Standard normals of the agents.

        Parameters
        ----------
        out
            Shape (N, count), float32, each row contiguous: overwritten, and returned.
        """
        by, at = on(out.device, self.keys), on(out.device, self.steps)
        if out.device.type == "cpu":
            _sweep(by, at, out.numpy())
            return out
        if fused := _fused(out.device.type):
            return fused(by, at, out, lanes=LANES)
        return out.copy_(drawn_by_torch(by, at, out.shape[1]))


# On devices -----------------------------------------------------------------------------------


@functools.cache
def _fused(device: str) -> Callable[..., Tensor] | None:
    """What fills tensors of a device in one launch; None where nothing does.

    It is tried once in a process: it may be that there is no compiler for it.
    """
    if device != "cuda" or importlib.util.find_spec("triton") is None:
        return None
    from empirical.kernels.noise_triton import fill

    place, out = torch.device(device), torch.empty(2, 1000, device=device)
    by, at = on(place, keys(0, range(2))), on(place, [0, 2**32 - 1])
    try:
        tried = fill(by, at, out, lanes=LANES)
    except Exception:  # whatever keeps a compiler from its work
        return None
    expected = drawn_by_torch(by, at, out.shape[1])
    return fill if torch.allclose(tried, expected, rtol=1e-5, atol=1e-5) else None


def drawn_by_torch(keys: Tensor, steps: Tensor, count: int) -> Tensor:
    """What :meth:`Noise.normals` fills in, by torch's operations, shape (N, count).

    Parameters
    ----------
    keys, steps
        Shapes (N, 4) and (N,), int64, on the device where the numbers are wanted.
    """
    blocks = -(-count // BLOCK)
    place = torch.arange(blocks * LANES, device=keys.device)[None]
    counter = (place, steps[:, None], place * 0, place * 0)
    a, b, c, d = words_by_torch(counter, tuple(keys[:, k : k + 1] for k in range(4)))
    drawn = (*_pair_by_torch(a, b), *_pair_by_torch(c, d))
    together = torch.stack([part.reshape(-1, blocks, LANES) for part in drawn], dim=2)
    return together.reshape(-1, blocks * BLOCK)[:, :count]


def _uniform_by_torch(word: Tensor) -> Tensor:
    return word.to(torch.float32) * 2.0**-32 + 2.0**-33


def _pair_by_torch(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    radius = (-2.0 * _uniform_by_torch(first).log()).clamp_(min=0.0).sqrt_()
    quarter = ((second + (1 << 29)) >> 30) & 3
    rest = (second << 2) & 0xFFFFFFFF
    rest = rest - ((rest >> 31) << 32)
    angle = rest.to(torch.float32) * float(_HALF_TURN)
    sine, cosine = angle.sin(), angle.cos()
    odd = quarter % 2 == 1
    first_part = torch.where(odd, sine, cosine) * torch.where((quarter + 1) % 4 >= 2, -1.0, 1.0)
    other_part = torch.where(odd, cosine, sine) * torch.where(quarter >= 2, -1.0, 1.0)
    return radius * first_part, radius * other_part


# Compiled -------------------------------------------------------------------------------------


@register_jitable(forceinline=True)
def uniform(word: np.uint32) -> np.float32:
    """The uniform number of a word, in (0, 1]; for compiled callers."""
    return np.float32(np.float32(word) * _F(2.0**-32) + _F(2.0**-33))


@register_jitable(forceinline=True, fastmath=True)
def pair(first: np.uint32, second: np.uint32) -> tuple[np.float32, np.float32]:
    """Two independent normals of two words; for compiled callers."""
    # log u of u = 2^e (1 + m), m in [1/√2 − 1, √2 − 1]: Cephes' logf.
    bits = np.float32(uniform(first)).view(np.int32)
    e = np.int32(np.int32(bits - np.int32(0x3F3504F3)) >> np.int32(23))
    m = np.int32(bits - np.int32(e << np.int32(23))).view(np.float32) - _F(1.0)
    y = _F(7.0376836292e-2)
    y = y * m - _F(1.1514610310e-1)
    y = y * m + _F(1.1676998740e-1)
    y = y * m - _F(1.2420140846e-1)
    y = y * m + _F(1.4249322787e-1)
    y = y * m - _F(1.6668057665e-1)
    y = y * m + _F(2.0000714765e-1)
    y = y * m - _F(2.4999993993e-1)
    y = y * m + _F(3.3333331174e-1)
    log = m + (y * m * m * m - _F(0.5) * m * m) + np.float32(e) * _F(math.log(2.0))
    radius = np.sqrt(_F(-2.0) * min(log, _F(0.0)))
    # The nearest quarter turn, and sine and cosine of the rest, in [−π/4, π/4): Cephes' sinf, cosf.
    quarter = np.uint32(np.uint32(second + _U(0x20000000)) >> _U(30))
    x = np.float32(np.int32(np.uint32(second << _U(2)))) * _HALF_TURN
    z = x * x
    sine = _F(8.3321608736e-3) - z * _F(1.9515295891e-4)
    sine = x + x * z * (_F(-1.6666654611e-1) + z * sine)
    cosine = _F(-1.388731625493765e-3) + z * _F(2.443315711809948e-5)
    cosine = _F(1.0) - _F(0.5) * z + z * z * (_F(4.166664568298827e-2) + z * cosine)
    odd = (quarter & _U(1)) != 0
    one = sine if odd else cosine
    other = cosine if odd else sine
    one = -one if (quarter == 1 or quarter == 2) else one
    other = -other if quarter >= 2 else other
    return np.float32(radius * one), np.float32(radius * other)


@register_jitable(forceinline=True, fastmath=True)
def block_of_normals(out: Float32, block: int, step: np.uint32, key: Four) -> None:
    """Normals of the coordinates BLOCK · block, …, written to BLOCK numbers of `out`."""
    for lane in range(LANES):
        counter = (np.uint32(LANES * block + lane), step, _U(0), _U(0))
        a, b, c, d = words(counter, key)
        out[lane], out[LANES + lane] = pair(a, b)
        out[2 * LANES + lane], out[3 * LANES + lane] = pair(c, d)


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def _sweep(keys: UInt32, steps: UInt32, out: Float32) -> None:
    agents, count = out.shape
    last = np.empty(BLOCK, dtype=np.float32)
    for agent in range(agents):
        key = (keys[agent, 0], keys[agent, 1], keys[agent, 2], keys[agent, 3])
        row = out[agent]
        for block in range((count + BLOCK - 1) // BLOCK):
            first = block * BLOCK
            whole = first + BLOCK <= count
            here = row[first : first + BLOCK] if whole else last
            block_of_normals(here, block, steps[agent], key)
            if not whole:
                for k in range(count - first):
                    row[first + k] = last[k]

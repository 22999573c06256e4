"""The numbers of :mod:`empirical.kernels.noise` in one launch on a GPU, written for Triton.

A program draws for some counters of one agent, four numbers each. All is done in registers: what is
read is the agent's key and step, what is written are the numbers. Words, and the uniform numbers
that they stand for, are the bits of the CPU. Normals are the same function of them, by the device's
logarithm, root, sine and cosine, each right to a few units of float32's last place.

Triton comes with torch for CUDA. Without it these are functions of Python, which no machine can
launch; with another `tl` they can be tried.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

try:
    import triton
    from triton import language as tl
except ModuleNotFoundError:
    triton = tl = None

# Counters of a program: two for each thread of four warps.
PLACES = 256


def for_device(function: Any) -> Any:
    """The function as Triton compiles it, or itself where there is no Triton."""
    return function if triton is None else triton.jit(function)


@for_device
def _mixed(a, b, c, d, left: tl.constexpr, right: tl.constexpr):
    a, c = a + b, c + d
    b = (b << left) | (b >> (32 - left))
    d = (d << right) | (d >> (32 - right))
    return a, b ^ a, c, d ^ c


@for_device
def _rounds_1_to_4(a, b, c, d):
    a, b, c, d = _mixed(a, b, c, d, 10, 26)
    a, d, c, b = _mixed(a, d, c, b, 11, 21)
    a, b, c, d = _mixed(a, b, c, d, 13, 27)
    a, d, c, b = _mixed(a, d, c, b, 23, 5)
    return a, b, c, d


@for_device
def _rounds_5_to_8(a, b, c, d):
    a, b, c, d = _mixed(a, b, c, d, 6, 20)
    a, d, c, b = _mixed(a, d, c, b, 17, 11)
    a, b, c, d = _mixed(a, b, c, d, 25, 10)
    a, d, c, b = _mixed(a, d, c, b, 18, 20)
    return a, b, c, d


@for_device
def _words(a, b, c, d, j, k, m, n):
    """The words of counters (a, b, c, d) under the key (j, k, m, n), all uint32."""
    o = j ^ k ^ m ^ n ^ 0x1BD11BDA
    a, b, c, d = _rounds_1_to_4(a + j, b + k, c + m, d + n)
    a, b, c, d = _rounds_5_to_8(a + k, b + m, c + n, d + o + 1)
    a, b, c, d = _rounds_1_to_4(a + m, b + n, c + o, d + j + 2)
    a, b, c, d = _rounds_5_to_8(a + n, b + o, c + j, d + k + 3)
    a, b, c, d = _rounds_1_to_4(a + o, b + j, c + k, d + m + 4)
    return a + j, b + k, c + m, d + n + 5


@for_device
def _uniform(word):
    return word.to(tl.float32) * 2.3283064365386963e-10 + 1.1641532182693481e-10  # 2⁻³², 2⁻³³


@for_device
def _pair(first, second):
    """Two normals of two words: quarter turns apart, the angle is at most an eighth of a turn."""
    radius = tl.sqrt(tl.maximum(-2.0 * tl.log(_uniform(first)), 0.0))
    quarter = (second + 0x20000000) >> 30
    rest = (second << 2).to(tl.int32, bitcast=True).to(tl.float32)
    angle = rest * 3.657295198167899e-10  # π 2⁻³³
    sine, cosine = tl.sin(angle), tl.cos(angle)
    odd = (quarter & 1) == 1
    one = tl.where(odd, sine, cosine) * tl.where(((quarter + 1) & 2) == 2, -1.0, 1.0)
    other = tl.where(odd, cosine, sine) * tl.where(quarter >= 2, -1.0, 1.0)
    return radius * one, radius * other


@for_device
def _draw(
    keys, steps, out, blocks, count, apart, places: tl.constexpr, lanes: tl.constexpr
):  # fmt: skip
    """Some counters of one agent; `keys`, `steps` and `out` are addresses."""
    program = tl.program_id(0)
    agent = (program // blocks).to(tl.int64)
    place = program % blocks * places + tl.arange(0, places)
    zero = (place * 0).to(tl.uint32)
    key = keys + 4 * agent
    a, b, c, d = _words(
        place.to(tl.uint32), zero + tl.load(steps + agent).to(tl.uint32), zero, zero,
        tl.load(key).to(tl.uint32), tl.load(key + 1).to(tl.uint32),
        tl.load(key + 2).to(tl.uint32), tl.load(key + 3).to(tl.uint32),
    )  # fmt: skip
    p, q = _pair(a, b)
    r, s = _pair(c, d)
    first = place // lanes * (4 * lanes) + place % lanes
    row = out + agent * apart
    tl.store(row + first, p, mask=first < count)
    tl.store(row + first + lanes, q, mask=first + lanes < count)
    tl.store(row + first + 2 * lanes, r, mask=first + 2 * lanes < count)
    tl.store(row + first + 3 * lanes, s, mask=first + 3 * lanes < count)


def fill(keys: Tensor, steps: Tensor, out: Tensor, *, lanes: int) -> Tensor:
    """Fill and return `out` as :meth:`empirical.kernels.noise.Noise.normals` does.

    Parameters
    ----------
    keys, steps
        Shapes (N, 4) and (N,), int64, contiguous, on the device of `out`.
    lanes
        Coordinates of a block that stand beside each other.
    """
    agents, count = out.shape
    blocks = -(-count // (4 * PLACES))
    _draw[(agents * blocks,)](
        keys, steps, out, blocks, count, out.stride(0), places=PLACES, lanes=lanes
    )  # fmt: skip
    return out

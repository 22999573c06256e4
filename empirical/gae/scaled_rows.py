"""Backward through the net's second convolution and max-pool: sums of scaled rows.

The gradient of the convolution's output has at most one entry in four that is not zero, that of
the largest of its pool block, and fewer with ReLU and dropout. Both products of the backward pass
are sums over these entries alone,

    gradient of the weights of channel o  =  Σ over entries g of o:      g · (window of the input)
    gradient of a window of the input     =  Σ over entries g of pixel:  g · (weights of channel)

each a sum of scaled rows of 288 = 3 · 96 numbers, three stretches that lie apart in the input.

One loop does both, channel after channel, for a row of pool blocks at a time: the windows under it
and their gradients, 13 kB each, stay in the first cache, which a processor needs to keep up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.extending import intrinsic
from numpy.typing import NDArray

from empirical.gae.vector_code import (
    INDEX,
    INNER,
    OUTER,
    POINTER,
    STRETCH,
    VECTOR,
    WIDTH,
    Writer,
    called,
    index,
    new_function,
)
from empirical.gae.winograd import POOLED, Floats
from empirical.kernels.product import LANES

_WHOLE = ir.IntType(32).as_pointer()
# Of a stretch at once: its sums and its weights fill 12 of 32 registers with AVX-512, else 8 of 16.
_PART = STRETCH if LANES == 16 else INNER


@njit(cache=True, nogil=True)
def second_gradients(
    inner: Floats,
    weights: Floats,
    pooled: Floats,
    places: NDArray[np.uint8],
    upstream: Floats,
    into: Floats,
    summed: Floats,
    biases: Floats,
) -> None:
    """Adds an image's gradients of the input, of weights and of biases.

    Parameters
    ----------
    inner, into
        The input by pixel and channel, and its gradient, shape (676, 32).
    weights, summed
        Weights by channel and window, and their gradient, shape (64, 288).
    pooled, places, upstream
        As of :func:`empirical.gae.convolutions.backward`, of one image.
    biases
        Gradient of biases, shape (64,).
    """
    offsets = np.empty((OUTER, POOLED + 1), np.uint32)
    factors = np.empty((OUTER, POOLED + 1), np.float32)
    counts = np.empty(OUTER, np.int64)
    for y in range(POOLED):
        counts[:] = 0
        for x in range(POOLED):
            block, corner = y * POOLED + x, 2 * (y * WIDTH + x)
            for o in range(OUTER):
                # Written in any case, and counted if it is not zero: no branch to guess.
                place, at = np.int64(places[block, o]), counts[o]
                offsets[o, at] = (corner + (place >> 1) * WIDTH + (place & 1)) * INNER
                factors[o, at] = upstream[block, o]
                counts[o] = at + np.int64(pooled[block, o] > 0)
        for o in range(OUTER):
            for row in range(3):
                own = slice(row * STRETCH, (row + 1) * STRETCH)
                add_both(
                    inner[row * WIDTH :].ctypes.data, weights[o, own].ctypes.data,
                    offsets[o].ctypes.data, factors[o].ctypes.data, counts[o],
                    into[row * WIDTH :].ctypes.data, summed[o, own].ctypes.data,
                )  # fmt: skip
            total = np.float32(0.0)
            for k in range(counts[o]):
                total += factors[o, k]
            biases[o] += total


def _function(module: ir.Module) -> ir.Function:
    """Both sums of one stretch; arguments as :func:`add_both`."""
    name = "gae_add_both"
    kinds = [POINTER, POINTER, _WHOLE, POINTER, INDEX, POINTER, POINTER]
    function = new_function(module, name, kinds)
    if function is None:
        return module.globals[name]
    inner, weights, offsets, factors, count, into, summed = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    code = Writer(builder)
    some, none = (builder.append_basic_block() for _ in range(2))
    builder.cbranch(builder.icmp_signed(">", count, index(0)), some, none)
    builder.position_at_end(none)
    builder.ret_void()
    builder.position_at_end(some)
    for part in range(0, STRETCH, _PART):
        places = range(part, part + _PART, LANES)
        fixed = [code.load(weights, place) for place in places]
        held = [code.load(summed, place) for place in places]
        entry = builder.block
        loop, done = (builder.append_basic_block() for _ in range(2))
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(INDEX)
        sums = [builder.phi(VECTOR) for _ in places]
        offset = builder.zext(builder.load(builder.gep(offsets, [k]), align=4), INDEX)
        factor = code.everywhere(factors, k)
        source, target = builder.gep(inner, [offset]), builder.gep(into, [offset])
        made = []
        for place, weight, total in zip(places, fixed, sums, strict=True):
            made.append(code.fused(factor, code.load(source, place), total))
            code.store(code.fused(factor, weight, code.load(target, place)), target, place)
        following = builder.add(k, index(1))
        for phi, before, after in zip(
            [k, *sums], [index(0), *held], [following, *made], strict=True
        ):
            phi.add_incoming(before, entry)
            phi.add_incoming(after, loop)
        builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
        builder.position_at_end(done)
        for place, total in zip(places, made, strict=True):
            code.store(total, summed, place)
    builder.ret_void()
    return function


def _add_both_in_llvm(
    typing: Any,
    inner: Any,
    weights: Any,
    offsets: Any,
    factors: Any,
    count: Any,
    into: Any,
    summed: Any,
) -> Any:
    """For k < count, adds factors[k] · `inner` to `summed`, and factors[k] · `weights` to `into`.

    STRETCH numbers each, of `inner` and `into` from offsets[k] on. Addresses of float32, of
    `offsets` uint32.
    """
    pointers = dict.fromkeys((0, 1, 3, 5, 6), POINTER) | {2: _WHOLE}
    return called(_function, pointers, 7)


add_both: Any = intrinsic(_add_both_in_llvm)

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

from empirical.gae.winograd import (
    INDEX,
    INNER,
    OUTER,
    POINTER,
    POOLED,
    STRETCH,
    VECTOR,
    WIDTH,
    Floats,
    Writer,
    called,
    empty,
    index,
    largest,
    new_function,
)
from empirical.kernels.product import LANES

# Backward through the net's second convolution and max-pool --------------------------------------


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
        As of :func:`empirical.gae.scaled_rows.backward`, of one image.
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


# Both convolutions, ReLU and max-pool of one net, for a batch ------------------------------------


SIDE = 28
FEATURES = POOLED * POOLED * OUTER


@njit(cache=True, nogil=True, fastmath=True)
def _first(image: Floats, weights: Floats, biases: Floats, out: Floats) -> None:
    """The first convolution and its ReLU; `out` has shape (26 · 26, 32)."""
    for y in range(WIDTH):
        for x in range(WIDTH):
            a, b, c = image[y, x], image[y, x + 1], image[y, x + 2]
            d, e, f = image[y + 1, x], image[y + 1, x + 1], image[y + 1, x + 2]
            g, h, i = image[y + 2, x], image[y + 2, x + 1], image[y + 2, x + 2]
            line = out[y * WIDTH + x]
            for k in range(INNER):
                value = (
                    biases[k] + a * weights[0, k] + b * weights[1, k] + c * weights[2, k]
                    + d * weights[3, k] + e * weights[4, k] + f * weights[5, k]
                    + g * weights[6, k] + h * weights[7, k] + i * weights[8, k]
                )  # fmt: skip
                line[k] = max(value, np.float32(0.0))


@njit(cache=True, nogil=True, fastmath=True)
def _first_gradients(
    image: Floats, out: Floats, gradient: Floats, weights: Floats, biases: Floats
) -> None:
    """Adds the gradients of the first convolution's weights and biases."""
    for y in range(WIDTH):
        for x in range(WIDTH):
            a, b, c = image[y, x], image[y, x + 1], image[y, x + 2]
            d, e, f = image[y + 1, x], image[y + 1, x + 1], image[y + 1, x + 2]
            g, h, i = image[y + 2, x], image[y + 2, x + 1], image[y + 2, x + 2]
            line, into = out[y * WIDTH + x], gradient[y * WIDTH + x]
            for k in range(INNER):
                value = into[k] if line[k] > 0 else np.float32(0.0)
                biases[k] += value
                weights[0, k] += a * value
                weights[1, k] += b * value
                weights[2, k] += c * value
                weights[3, k] += d * value
                weights[4, k] += e * value
                weights[5, k] += f * value
                weights[6, k] += g * value
                weights[7, k] += h * value
                weights[8, k] += i * value


@njit(cache=True, nogil=True)
def forward(
    images: Floats,
    first: Floats,
    first_biases: Floats,
    filters: Floats,
    second_biases: Floats,
    pooled: Floats,
    places: NDArray[np.uint8],
) -> None:
    """What the max-pool leaves, and where in its block each largest stood.

    Parameters
    ----------
    images
        Shape (n, 28, 28).
    first, first_biases
        Weights by window and channel, and biases, shapes (9, 32) and (32,).
    filters, second_biases
        Of :func:`empirical.gae.winograd.transformed`, and shape (64,).
    pooled, places
        Filled: shape (n, 144, 64); places 0 to 3 within a block, row by row.
    """
    inner = empty(WIDTH * WIDTH, INNER)
    for n in range(images.shape[0]):
        _first(images[n], first, first_biases, inner)
        largest(inner, filters, second_biases, pooled[n], places[n])


@njit(cache=True, nogil=True)
def drop(pooled: Floats, drawn: NDArray[np.uint8], below: int, scale: np.float32) -> None:
    """Sets numbers to 0 whose byte is below a bound, and scales the others, in place; flat."""
    for k in range(pooled.size):
        pooled[k] = pooled[k] * scale if drawn[k] >= below else np.float32(0.0)


@njit(cache=True, nogil=True)
def backward(
    images: Floats,
    first: Floats,
    first_biases: Floats,
    second: Floats,
    pooled: Floats,
    places: NDArray[np.uint8],
    upstream: Floats,
    gradients: tuple[Floats, Floats, Floats, Floats],
) -> None:
    """Adds the gradients of weights and biases, in the order of :func:`forward`'s arguments.

    Parameters
    ----------
    pooled, places
        Of :func:`forward`. Where `pooled` is 0, by ReLU or by dropout, nothing flows back.
    upstream
        Gradient of the loss at `pooled`, same shape.
    """
    inner = empty(WIDTH * WIDTH, INNER)
    into = empty(WIDTH * WIDTH, INNER)
    weights, summed = empty(OUTER, 3 * STRETCH), empty(OUTER, 3 * STRETCH)
    weights[:], summed[:] = second.T, 0
    for n in range(images.shape[0]):
        _first(images[n], first, first_biases, inner)
        into[:] = 0
        second_gradients(
            inner, weights, pooled[n], places[n], upstream[n], into, summed, gradients[3]
        )
        _first_gradients(images[n], inner, into, gradients[0], gradients[1])
    gradients[2][:] += summed.T

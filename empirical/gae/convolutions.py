"""Both convolutions, ReLU and max-pool of one net, for a batch: forward and backward.

Images are 28 x 28, float32. The first convolution (32 channels) leaves 26 x 26 pixels, the second
(64 channels) 24 x 24, the max-pool 12 x 12. Channels come last. What the first convolution leaves
stays in the second cache, image by image; the backward pass computes it afresh.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from empirical.gae.scaled_rows import second_gradients
from empirical.gae.vector_code import INNER, OUTER, STRETCH, WIDTH, empty
from empirical.gae.winograd import POOLED, Floats, largest

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

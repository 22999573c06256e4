"""The local net: its weights as one vector, their initialisation, and passes over a batch.

Two 3 x 3 convolutions (32 and 64 channels, no padding, ReLU), max-pool of 2 x 2, dropout, dense
layers of 64 and 64 units (ReLU) and 10 outputs: 613 514 weights. Channels come last, as in the
library that the paper's authors used, and so the weights' order is theirs: by layer, weights before
biases, a convolution's by row, column, channel in, channel out. The nets of M nodes are the rows
of one tensor of shape (M, 613 514).

On a CPU the convolutions are compiled (:mod:`empirical.gae.scaled_rows`) and run over some images
at a time, so that nothing large leaves the caches; elsewhere torch differentiates
(:mod:`empirical.gae.passes`).
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.gae.scaled_rows import FEATURES, backward, drop, forward
from empirical.gae.winograd import POOLED, Floats, transformed
from empirical.messages.codec import Block, Layout

SHAPES: dict[str, tuple[int, ...]] = {
    "convolution-1.weight": (3, 3, 1, 32),
    "convolution-1.bias": (32,),
    "convolution-2.weight": (3, 3, 32, 64),
    "convolution-2.bias": (64,),
    "dense-1.weight": (FEATURES, 64),
    "dense-1.bias": (64,),
    "dense-2.weight": (64, 64),
    "dense-2.bias": (64,),
    "dense-3.weight": (64, 10),
    "dense-3.bias": (10,),
}
SIZE = sum(math.prod(shape) for shape in SHAPES.values())
CLASSES = 10
# Name of the one vector that a message of this net has.
WEIGHTS = "weights"
# Images at a time: 128 of what the max-pool leaves are 5 MB.
_SOME = 128
_WHITE = 255.0


def blocks() -> tuple[Block, ...]:
    """The tensors of the net, in the order of their weights."""
    found, start = [], 0
    for name, shape in SHAPES.items():
        found.append(Block(name, start, shape))
        start += math.prod(shape)
    return tuple(found)


def layout(begin: Tensor) -> Layout:
    """What messages of such nets look like; `begin` has the weights that all begin with, (d,)."""
    return Layout({WEIGHTS: begin}, blocks())


def initial(generator: np.random.Generator) -> Tensor:
    """Glorot's uniform weights and zero biases, shape (613 514,), float32."""
    weights = np.zeros(SIZE, np.float32)
    for name, view in tensors(weights).items():
        if name.endswith("weight"):
            window = math.prod(view.shape[:-2])
            limit = math.sqrt(6 / (window * (view.shape[-2] + view.shape[-1])))
            view[...] = generator.uniform(-limit, limit, view.shape)
    return torch.from_numpy(weights)


def tensors(weights: Floats) -> dict[str, Floats]:
    """The tensors of one net's weights, shape (613 514,), as views by name."""
    return {
        one.name: weights[one.start : one.start + math.prod(one.shape)].reshape(one.shape)
        for one in blocks()
    }


def as_inputs(pixels: NDArray[np.uint8]) -> Floats:
    """Grey values over 255, float32; shape (n, 28, 28) as given."""
    inputs: Floats = np.ascontiguousarray(pixels, np.float32) / np.float32(_WHITE)
    return inputs


def gradient(
    weights: Floats,
    images: Floats,
    labels: NDArray[np.int64],
    *,
    dropout: float,
    random: np.random.Generator,
    out: Floats,
) -> float:
    """Fills `out` with the gradient of a batch's mean cross-entropy; returns the sum of its losses.

    Parameters
    ----------
    weights, out
        Shape (613 514,).
    images, labels
        Shapes (n, 28, 28) and (n,).
    dropout
        Share of what the max-pool leaves that is set to 0, a multiple of 1/256; the rest is
        divided by one less the share.
    random
        Draws a byte for each of them.
    """
    out[:] = 0
    net, into = _Flat(tensors(weights)), _Flat(tensors(out))
    loss, size = 0.0, len(images)
    for start in range(0, size, _SOME):
        own = slice(start, start + _SOME)
        loss += _some(net, into, images[own], labels[own], dropout, random, size)
    return loss


def scores(weights: Floats, images: Floats) -> Floats:
    """What the output layer says of images, before softmax, without dropout; shape (n, 10)."""
    net = _Flat(tensors(weights))
    found = np.empty((len(images), CLASSES), np.float32)
    for start in range(0, len(images), _SOME):
        own = slice(start, start + _SOME)
        pooled, _ = net.convolved(images[own])
        found[own] = net.dense(pooled.reshape(len(pooled), FEATURES))[-1]
    return found


class _Flat:
    """One net's tensors with windows as rows."""

    def __init__(self, by_name: dict[str, Floats]) -> None:
        c1, b1, c2, b2, *dense = by_name.values()
        self.convolutions = (c1.reshape(9, 32), b1, c2.reshape(-1, 64), b2)
        self.layers = list(zip(dense[::2], dense[1::2], strict=True))

    @cached_property
    def filters(self) -> Floats:
        """Those of the second convolution as the forward pass takes them, made once a net."""
        return transformed(self.convolutions[2])

    def convolved(self, images: Floats) -> tuple[Floats, NDArray[np.uint8]]:
        shape = (len(images), POOLED * POOLED, 64)
        pooled, places = np.empty(shape, np.float32), np.empty(shape, np.uint8)
        first, first_biases, _, second_biases = self.convolutions
        forward(images, first, first_biases, self.filters, second_biases, pooled, places)
        return pooled, places

    def dense(self, features: Floats) -> list[Floats]:
        """What each dense layer is given, and what the last one says."""
        held = [features]
        for number, (weights, biases) in enumerate(self.layers, start=1):
            out = held[-1] @ weights + biases
            held.append(np.maximum(out, 0, out=out) if number < len(self.layers) else out)
        return held


def _some(
    net: _Flat,
    into: _Flat,
    images: Floats,
    labels: NDArray[np.int64],
    dropout: float,
    random: np.random.Generator,
    batch: int,
) -> float:
    """Adds the gradients of some images of a batch; returns the sum of their losses."""
    n, scale = len(images), np.float32(1 / (1 - dropout))
    pooled, places = net.convolved(images)
    if dropout:
        drawn = np.frombuffer(random.bytes(pooled.size), np.uint8)
        drop(pooled.reshape(-1), drawn, round(256 * dropout), scale)
    held = net.dense(pooled.reshape(n, FEATURES))
    shifted = held[-1] - held[-1].max(axis=1, keepdims=True)
    mass = np.exp(shifted)
    total = mass.sum(axis=1, keepdims=True)
    rows = np.arange(n)
    loss = float((np.log(total[:, 0]) - shifted[rows, labels]).sum(dtype=np.float64))
    flow = mass / total
    flow[rows, labels] -= 1
    flow /= np.float32(batch)
    for number in reversed(range(len(net.layers))):
        into.layers[number][0][...] += held[number].T @ flow
        into.layers[number][1][...] += flow.sum(axis=0)
        flow = flow @ net.layers[number][0].T
        if number:
            flow *= held[number] > 0
    if dropout:
        flow *= scale  # where nothing was kept, nothing flows
    first, first_biases, second, _ = net.convolutions
    upstream = flow.reshape(pooled.shape)
    backward(images, first, first_biases, second, pooled, places, upstream, into.convolutions)
    return loss

"""The shape of a neural net, and where each of its weights stands in one flat vector.

A net is a list of layers; a ReLU follows every layer with weights but the last. All weights of a
net are one vector of d numbers, layer by layer, first a layer's weights, then its biases, so that
agents' nets stack to tensors of shape (N, d) and pooling needs no word about layers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from theory.validation import as_integer, fail

# The shape of a neural net, and where each of its weights stands in one flat vector --------------


class _Sized:
    """Checks a layer's settings: whole numbers from 1 on, but padding from 0."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            as_integer(name, value, minimum=int(name != "padding"))


@dataclass(frozen=True)
class Dense(_Sized):
    """A fully connected layer; what comes before is flattened."""

    units: int


@dataclass(frozen=True)
class Convolution(_Sized):
    """A convolution of images of shape (channels, height, width) with square kernels."""

    channels: int
    kernel: int
    stride: int = 1
    padding: int = 0


@dataclass(frozen=True)
class MaxPool(_Sized):
    """The largest value in each square of `size` x `size` pixels; what is left over is dropped."""

    size: int


Layer = Dense | Convolution | MaxPool


@dataclass(frozen=True)
class Block:
    """Where a layer's weights and biases stand in the vector of all weights.

    Attributes
    ----------
    layer
        Which of the architecture's layers it is.
    weight
        The weights' place, a slice of the vector.
    bias
        The biases' place.
    shape
        Of the weights: (fan_in, units) of a dense layer, (channels out, channels in, kernel,
        kernel) of a convolution.
    fan_in
        How many inputs each output sums.
    """

    layer: int
    weight: slice
    bias: slice
    shape: tuple[int, ...]
    fan_in: int


@dataclass(frozen=True)
class Architecture:
    """A feed-forward net.

    Parameters
    ----------
    input_shape
        Of one input: (features,), or (channels, height, width) if convolutions begin.
    layers
        In order; the last is dense, and its units are the outputs.

    Raises
    ------
    ValueError
        If the last layer is not dense, or a layer does not fit what comes before it.

    Examples
    --------
    >>> perceptron(784, 200, 200, outputs=10).parameters
    199210
    >>> net = Architecture((1, 28, 28), (Convolution(8, 5), MaxPool(2), Dense(10)))
    >>> net.outputs, net.parameters
    (10, 11738)
    """

    input_shape: tuple[int, ...]
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "input_shape", tuple(self.input_shape))
        object.__setattr__(self, "layers", tuple(self.layers))
        if len(self.input_shape) not in (1, 3):
            raise fail(
                "input_shape",
                "(features,) or (channels, height, width)",
                self.input_shape,
                "describe one input",
            )
        for size in self.input_shape:
            as_integer("input_shape", size, minimum=1)
        if not self.layers or not isinstance(self.layers[-1], Dense):
            raise fail(
                "layers",
                "a dense layer at the end, one unit an output",
                self.layers[-1] if self.layers else "no layers",
                "end with Dense(classes)",
            )
        self.shapes  # noqa: B018  # fails if a layer does not fit

    @property
    def outputs(self) -> int:
        """How many numbers the net puts out."""
        last = self.layers[-1]
        assert isinstance(last, Dense)
        return last.units

    @property
    def parameters(self) -> int:
        """The number d of weights and biases."""
        return int(self.blocks[-1].bias.stop)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of what each layer puts out."""
        shapes: list[tuple[int, ...]] = []
        shape = self.input_shape
        for index, layer in enumerate(self.layers):
            shape = _after(layer, shape, argument=f"layers[{index}]")
            shapes.append(shape)
        return tuple(shapes)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The places of the weights of each layer that has any."""
        blocks, start, shape = [], 0, self.input_shape
        for index, (layer, after) in enumerate(zip(self.layers, self.shapes, strict=True)):
            if isinstance(layer, Dense):
                fan_in, units = math.prod(shape), layer.units
                form: tuple[int, ...] = (fan_in, units)
            elif isinstance(layer, Convolution):
                fan_in, units = shape[0] * layer.kernel**2, layer.channels
                form = (units, shape[0], layer.kernel, layer.kernel)
            if not isinstance(layer, MaxPool):
                middle = start + math.prod(form)
                end = middle + units
                places = slice(start, middle), slice(middle, end)
                blocks.append(Block(index, *places, form, fan_in))
                start = end
            shape = after
        return tuple(blocks)


def perceptron(inputs: int, *hidden: int, outputs: int) -> Architecture:
    """A multilayer perceptron with hidden layers of these widths.

    Examples
    --------
    >>> perceptron(784, 400, outputs=10).layers
    (Dense(units=400), Dense(units=10))
    """
    return Architecture((inputs,), tuple(Dense(units) for units in (*hidden, outputs)))


def _after(layer: Layer, shape: tuple[int, ...], *, argument: str) -> tuple[int, ...]:
    """The shape of a layer's output for one input of this shape."""
    if isinstance(layer, Dense):
        return (layer.units,)
    if len(shape) != 3:
        raise fail(
            argument,
            "an input of shape (channels, height, width)",
            f"shape {shape}",
            "put convolutions and pooling before dense layers",
        )
    if isinstance(layer, Convolution):
        sides = [(s + 2 * layer.padding - layer.kernel) // layer.stride + 1 for s in shape[1:]]
        channels = layer.channels
    else:
        sides = [s // layer.size for s in shape[1:]]
        channels = shape[0]
    if min(sides) < 1:
        raise fail(
            argument,
            "an image that leaves a pixel at least",
            f"{shape[1]} x {shape[2]} pixels for {layer}",
            "use a smaller kernel or larger images",
        )
    return (channels, *sides)


# Forward and backward passes of stacked layers, written out --------------------------------------


Back = Callable[[Tensor], Tensor]
"""From the gradient by what a layer puts out to that by its inputs."""

_convolution_backward = torch.ops.aten.convolution_backward


def linear(
    layer: Layer,
    block: Block,
    x: Tensor,
    values: Tensor,
    into: Tensor | None = None,
    *,
    inputs: bool = True,
) -> tuple[Tensor, Back]:
    """x·w + b of N agents, and the way back, which writes the gradient by w and b.

    Parameters
    ----------
    x
        Shape (N, B, ...).
    values, into
        Shape (N, d): all weights, of which `block` says the layer's; and where their gradient goes.
    inputs
        Whether the way back is asked for the gradient by `x`; if not, it returns what it got.
    """
    n, batch = x.shape[:2]

    def parts(of: Tensor) -> tuple[Tensor, Tensor]:
        return of[:, block.weight].view(n, *block.shape), of[:, block.bias]

    weight, bias = parts(values)
    if not isinstance(layer, Convolution):
        flat = x.flatten(2)

        def back(grad: Tensor) -> Tensor:
            assert into is not None
            weight_grad, bias_grad = parts(into)
            torch.bmm(flat.transpose(1, 2), grad, out=weight_grad)
            torch.sum(grad, dim=1, out=bias_grad)
            return torch.bmm(grad, weight.transpose(1, 2)).reshape(x.shape) if inputs else grad

        return torch.baddbmm(bias[:, None], flat, weight), back

    def merged(images: Tensor) -> Tensor:
        """Agents beside each other as groups of channels, (B, N·channels, height, width)."""
        return images.transpose(0, 1).reshape(batch, -1, *images.shape[3:])

    def apart(images: Tensor) -> Tensor:
        return images.reshape(batch, n, -1, *images.shape[2:]).transpose(0, 1)

    kernels, whole = weight.reshape(-1, *weight.shape[2:]), merged(x)
    sizes = {"stride": layer.stride, "padding": layer.padding}
    out = functional.conv2d(whole, kernels, bias.reshape(-1), groups=n, **sizes)

    def back_through_kernels(grad: Tensor) -> Tensor:
        assert into is not None
        outer = merged(grad)
        arguments = ([layer.stride] * 2, [layer.padding] * 2, [1, 1], False, [0, 0], n)
        found = _convolution_backward(
            outer, whole, kernels, [outer.shape[1]], *arguments, [inputs, True, True]
        )
        for place, values in zip(parts(into), found[1:], strict=True):
            place.copy_(values.reshape(place.shape))
        return apart(found[0]) if inputs else grad

    return apart(out), back_through_kernels


def max_pool(x: Tensor, size: int) -> tuple[Tensor, Back]:
    """Largest values of squares of `x`, shape (N, B, channels, height, width), and the way back."""
    merged = x.reshape(-1, *x.shape[2:])
    values, places = functional.max_pool2d(merged, size, return_indices=True)

    def back(grad: Tensor) -> Tensor:
        """To the places that were largest."""
        flat = grad.new_zeros(*merged.shape[:2], merged.shape[2:].numel())
        flat.scatter_(2, places.flatten(2), grad.reshape(*places.shape[:2], -1))
        return flat.reshape(x.shape)

    return values.reshape(*x.shape[:2], *values.shape[1:]), back


# Weights to begin from ----------------------------------------------------------------------------


def first_weights(architecture: Architecture, *, seed: int) -> Tensor:
    """Weights to begin from, shape (d,): He's random weights, biases zero.

    A layer's weights are normal with variance 2 / fan_in (He et al. 2015). Agents that pool begin
    at one point, as P2 section 1.4 asks: pooling means of nets that began apart averages unrelated
    features.

    Examples
    --------
    >>> first_weights(perceptron(2, 3, outputs=2), seed=0).shape
    torch.Size([17])
    """
    generator = torch.Generator().manual_seed(as_integer("seed", seed, minimum=0))
    weights = torch.zeros(architecture.parameters)
    for block in architecture.blocks:
        drawn = torch.randn(block.weight.stop - block.weight.start, generator=generator)
        weights[block.weight] = drawn * (2.0 / block.fan_in) ** 0.5
    return weights


def initialisations_apart(architecture: Architecture, agents: int, *, seed: int) -> Tensor:
    """First weights of agents who each begin elsewhere, shape (N, d).

    The first agent has :func:`first_weights` of `seed`; the others' seeds follow from it.
    """
    seeds = [seed]
    for agent in range(1, agents):
        state = np.random.SeedSequence(seed, spawn_key=(agent,)).generate_state(1, np.uint64)
        seeds.append(int(state[0] >> np.uint64(2)))
    return torch.stack([first_weights(architecture, seed=own) for own in seeds])

"""Forward and backward passes of stacked layers, written out.

A layer acts on the nets of N agents at once: x has shape (N, B, ...). Each function below comes in
two halves; the forward half returns what the backward half needs. Nothing is recorded by
autograd: the gradients with respect to means and variances go straight into two tensors of shape
(N, d), which is what the update reads.

Three ways to be random (Blundell et al. 2015; Kingma et al. 2015):

- *local reparameterisation*: given its inputs, a linear map with independent Gaussian weights puts
  out Gaussians, of mean x·μ and variance x²·σ²; these are drawn, one for each output and example.
  The pixels that a convolution puts out share their weights and are correlated; they are drawn as
  if they were not, so that there each pixel's law is right and their joint law an approximation;
- *sampled weights*: one draw of the weights for the whole batch, w = μ + σ ε;
- *point*: no noise; the nets are ordinary ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from empirical.nets.architecture import Block, Convolution

_convolution_backward = torch.ops.aten.convolution_backward


def weights_of(values: Tensor, block: Block) -> Tensor:
    """A layer's weights as a view of shape (N, ...)."""
    return values[:, block.weight].view(values.shape[0], *block.shape)


# Linear maps ----------------------------------------------------------------------------------


def linear(layer: object, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x·w + b of every agent.

    `x` has shape (N, B, ...), `weight` is a view of :func:`weights_of`, `bias` has shape
    (N, units).
    """
    if isinstance(layer, Convolution):
        n, batch = x.shape[:2]
        merged = x.transpose(0, 1).reshape(batch, n * x.shape[2], *x.shape[3:])
        kernels = weight.reshape(-1, *weight.shape[2:])
        flat = None if bias is None else bias.reshape(-1)
        out = functional.conv2d(
            merged, kernels, flat, stride=layer.stride, padding=layer.padding, groups=n
        )
        return out.reshape(batch, n, -1, *out.shape[2:]).transpose(0, 1)
    if bias is None:
        return torch.bmm(x, weight)
    return torch.baddbmm(bias[:, None], x, weight)


def linear_backward(
    layer: object,
    x: Tensor,
    weight: Tensor,
    grad: Tensor,
    *,
    into: tuple[Tensor, Tensor],
    inputs: bool,
) -> Tensor | None:
    """Gradients of :func:`linear`: those of weight and bias are written to `into`.

    Returns the gradient with respect to `x` if `inputs`, else None.
    """
    weight_grad, bias_grad = into
    if isinstance(layer, Convolution):
        n, batch = x.shape[:2]
        merged = x.transpose(0, 1).reshape(batch, n * x.shape[2], *x.shape[3:])
        outer = grad.transpose(0, 1).reshape(batch, n * grad.shape[2], *grad.shape[3:])
        kernels = weight.reshape(-1, *weight.shape[2:])
        arguments = ([layer.stride] * 2, [layer.padding] * 2, [1, 1], False, [0, 0], n)
        found = _convolution_backward(
            outer, merged, kernels, [outer.shape[1]], *arguments, [inputs, True, True]
        )
        weight_grad.copy_(found[1].reshape(weight_grad.shape))
        bias_grad.copy_(found[2].reshape(bias_grad.shape))
        if not inputs:
            return None
        back: Tensor = found[0]
        return back.reshape(batch, n, *x.shape[2:]).transpose(0, 1)
    torch.bmm(x.transpose(1, 2), grad, out=weight_grad)
    torch.sum(grad, dim=1, out=bias_grad)
    return torch.bmm(grad, weight.transpose(1, 2)) if inputs else None


# Shapes between layers ------------------------------------------------------------------------


def flattened(x: Tensor) -> Tensor:
    """Shape (N, B, features)."""
    return x.flatten(2) if x.ndim > 3 else x


@dataclass(frozen=True, eq=False)
class Pooled:
    """Largest values of squares, and where they stood."""

    values: Tensor
    places: Tensor
    before: tuple[int, ...]


def max_pool(x: Tensor, size: int) -> Pooled:
    """Largest values of squares of `x`, shape (N, B, channels, height, width)."""
    merged = x.reshape(-1, *x.shape[2:])
    values, places = functional.max_pool2d(merged, size, return_indices=True)
    return Pooled(values.reshape(*x.shape[:2], *values.shape[1:]), places, tuple(x.shape))


def max_pool_backward(pooled: Pooled, grad: Tensor) -> Tensor:
    """The gradient goes to the places that were largest."""
    before = pooled.before
    flat = grad.new_zeros(math.prod(before[:2]), before[2], before[3] * before[4])
    places = pooled.places.flatten(2)
    flat.scatter_(2, places, grad.reshape(places.shape))
    return flat.reshape(before)

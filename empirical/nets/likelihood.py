"""The likelihood of a batch under each agent's belief: forward, and its gradient.

For agent i with belief N(μ_i, diag σ_i²) and a batch of B examples the *local loss* is

    L_i = (1/B) Σ_b E[ −log ℓ(y_b | w, x_b) ],   w drawn from the belief.

:func:`gradient` draws the expectation once and writes the derivatives of the draw with respect to
μ_i and σ_i² into two tensors of shape (N, d). Both ways to draw have the derivatives of L_i as
their expectation (Blundell et al. 2015, section 3.2; Kingma et al. 2015, section 2.3); local
reparameterisation has the smaller variance, and needs two products with the weights where sampled
weights need one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from empirical.kernels.noise import Noise
from empirical.nets import dense_pass
from empirical.nets.architecture import (
    Architecture,
    Back,
    Block,
    Layer,
    MaxPool,
    linear,
    max_pool,
)
from empirical.nets.update import rows_of

Estimator = Literal["local", "weights", "point"]
ESTIMATORS: tuple[Estimator, ...] = ("local", "weights", "point")

_NO_NOISE = "estimators but 'point' need noise"
# Examples in one forward pass when predicting: small enough for a core's cache.
PREDICTED_AT_ONCE = 500


class Likelihood(Protocol):
    """What an agent makes of a net's outputs."""

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean of −log ℓ over a batch, shape (N,), and its derivative by `outputs`."""
        ...


def gradient(
    architecture: Architecture,
    mean: Tensor,
    variance: Tensor,
    inputs: Tensor,
    labels: Tensor,
    *,
    likelihood: Likelihood,
    estimator: Estimator,
    into: tuple[Tensor, Tensor],
    noise: Noise | None = None,
) -> Tensor:
    """The local loss of one draw, shape (N,), its gradient written to `into`.

    Parameters
    ----------
    mean, variance
        Shape (N, d).
    inputs
        Shape (N, B, ...).
    labels
        Shape (N, B).
    estimator
        ``"local"``, ``"weights"`` or ``"point"`` (the loss at the means; variances get none).
    into
        Two tensors of shape (N, d), for the derivatives with respect to means and variances; the
        second is left as it is by ``"point"``.
    noise
        What the agents' noise depends on, each one's on its own key and step alone; ``"point"``
        needs none.
    """
    values = mean
    if estimator == "weights":
        normals = _drawn(mean, mean.shape[1], noise)
        values = torch.addcmul(mean, variance.sqrt(), normals)
    if dense_pass.fits(architecture, mean, inputs):
        local = estimator == "local"
        passes = dense_pass.passes_of(architecture, *inputs.shape[:2], local=local)
        if local:
            assert noise is not None, _NO_NOISE
            noise.normals(passes.noise)
        rows = rows_of(values)
        outputs = passes.outputs(rows, rows_of(variance) if local else rows, inputs)
        nll, grad = likelihood.loss(outputs, labels)
        passes.gradient(grad, into)
    else:
        step = partial(linear, values=values, into=into[0])
        if estimator == "local":
            shapes = [architecture.shapes[block.layer] for block in architecture.blocks]
            sizes = [inputs.shape[1] * math.prod(shape) for shape in shapes]
            parts = torch.split_with_sizes(_drawn(mean, sum(sizes), noise), sizes, dim=1)
            step = partial(_drawn_linear, belief=(mean, variance), into=into, normals=iter(parts))
        ways: list[Back] = []
        nll, grad = likelihood.loss(_outputs(architecture, inputs, step, ways), labels)
        while ways:
            grad = ways.pop()(grad)
    if estimator == "weights":  # ∂w/∂σ² = ε / 2σ
        torch.mul(into[0], normals, out=into[1])
        into[1].mul_(variance.rsqrt().mul_(0.5))
    return nll


def _outputs(
    architecture: Architecture, x: Tensor, step: Any, ways: list[Back] | None = None
) -> Tensor:
    """Outputs of N nets whose layers with weights act by `step`; their ways back go to `ways`."""
    blocks = {block.layer: block for block in architecture.blocks}
    for index, layer in enumerate(architecture.layers):
        if isinstance(layer, MaxPool):
            x, back = max_pool(x, layer.size)
        else:
            x, back = step(layer, blocks[index], x, inputs=index > 0)
            if index < len(architecture.layers) - 1:
                x = x.relu_()
                back = partial(_through_relu, back, x)
        if ways is not None:
            ways.append(back)
    return x


def _through_relu(back: Back, after: Tensor, grad: Tensor) -> Tensor:
    return back(torch.ops.aten.threshold_backward(grad, after, 0.0))


def _drawn_linear(
    layer: Layer,
    block: Block,
    x: Tensor,
    *,
    belief: tuple[Tensor, Tensor],
    into: tuple[Tensor, Tensor],
    normals: Iterator[Tensor],
    inputs: bool,
) -> tuple[Tensor, Back]:
    """Local reparameterisation: x·μ + sqrt(x²·σ²) ε, and the way back."""
    pairs = zip((x, x * x), belief, into, strict=True)
    (centre, back), (squares, back_squares) = (
        linear(layer, block, *three, inputs=inputs) for three in pairs
    )
    std = squares.sqrt_()
    noise = next(normals).reshape(std.shape)

    def both(grad: Tensor) -> Tensor:
        own, through = back(grad), back_squares((grad * noise).div_(std).mul_(0.5))
        return torch.addcmul(own, through, x, value=2.0) if inputs else grad

    return torch.addcmul(centre, std, noise), both


def _drawn(like: Tensor, count: int, noise: Noise | None) -> Tensor:
    """Standard normal numbers, `count` for each agent."""
    assert noise is not None, _NO_NOISE
    drawn = torch.empty(like.shape[0], count, device=like.device)
    return noise.normals(drawn).to(like.dtype)


def logits(architecture: Architecture, weights: Tensor, inputs: Tensor) -> Tensor:
    """What N nets put out, shape (N, B, outputs).

    Parameters
    ----------
    weights
        Shape (N, d).
    inputs
        Shape (N, B, ...), or (1, B, ...) for the same inputs to all.
    """
    if inputs.shape[0] != weights.shape[0]:
        inputs = inputs.expand(weights.shape[0], *inputs.shape[1:])
    return _outputs(architecture, inputs, partial(linear, values=weights))

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
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from empirical.kernels.noise import Noise
from empirical.nets import dense_pass
from empirical.nets.architecture import (
    Architecture,
    Block,
    Layer,
    MaxPool,
    Pooled,
    flattened,
    linear,
    linear_backward,
    max_pool,
    max_pool_backward,
    weights_of,
)
from empirical.nets.update import rows_of

Estimator = Literal["local", "weights", "point"]
ESTIMATORS: tuple[Estimator, ...] = ("local", "weights", "point")

_relu_backward = torch.ops.aten.threshold_backward

# Examples in one forward pass when predicting: small enough for a core's cache.
PREDICTED_AT_ONCE = 500


class Likelihood(Protocol):
    """What an agent makes of a net's outputs."""

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean of −log ℓ over a batch, shape (N,), and its derivative by `outputs`."""
        ...


@dataclass(eq=False)
class _Kept:
    """What a layer's backward pass needs of its forward pass."""

    layer: Layer
    x: Tensor
    shape: tuple[int, ...]
    block: Block | None = None
    squared: Tensor | None = None
    std: Tensor | None = None
    noise: Tensor | None = None
    pooled: Pooled | None = None
    after: Tensor | None = None  # what the ReLU let through


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
    compiled = dense_pass.fits(architecture, mean, inputs)
    if estimator == "local":
        if compiled:
            return _local_gradient(
                architecture, mean, variance, inputs, labels, likelihood, noise, into
            )
        map: _Map = _LocalMap(architecture, mean, variance, inputs.shape[1], noise)
    elif estimator == "weights":
        map = _SampledMap(mean, variance, noise)
    else:
        map = _PlainMap(mean)
    if compiled and isinstance(map, _PlainMap):
        passes = dense_pass.passes_of(architecture, *inputs.shape[:2])
        weights = rows_of(map.weights)
        nll, grad = likelihood.loss(passes.outputs(weights, weights, inputs), labels)
        passes.gradient(grad, into)
        map.finish(into)
        return nll
    kept, outputs = _forward(architecture, map, inputs)
    nll, grad = likelihood.loss(outputs, labels)
    for index in range(len(kept) - 1, -1, -1):
        step = kept[index]
        if step.after is not None:
            grad = _relu_backward(grad, step.after, 0.0)
        if step.pooled is not None:
            grad = max_pool_backward(step.pooled, grad)
            continue
        back = map.backward(step, grad, into, inputs=index > 0)
        if back is not None:
            grad = back.reshape(step.shape)
    map.finish(into)
    return nll


def _local_gradient(
    architecture: Architecture,
    mean: Tensor,
    variance: Tensor,
    inputs: Tensor,
    labels: Tensor,
    likelihood: Likelihood,
    noise: Noise | None,
    into: tuple[Tensor, Tensor],
) -> Tensor:
    """By local reparameterisation, in compiled passes."""
    assert noise is not None, "estimators but 'point' need noise"
    passes = dense_pass.passes_of(architecture, *inputs.shape[:2], local=True)
    noise.normals(passes.noise)
    outputs = passes.outputs(rows_of(mean), rows_of(variance), inputs)
    nll, grad = likelihood.loss(outputs, labels)
    passes.gradient(grad, into)
    return nll


def _forward(
    architecture: Architecture, map: _Map, inputs: Tensor, *, keep: bool = True
) -> tuple[list[_Kept], Tensor]:
    """Outputs of N nets whose layers with weights act by `map`, and what goes back needs."""
    blocks = {block.layer: block for block in architecture.blocks}
    last = len(architecture.layers) - 1
    kept: list[_Kept] = []
    x = inputs
    for index, layer in enumerate(architecture.layers):
        if isinstance(layer, MaxPool):
            pooled = max_pool(x, layer.size)
            step, x = _Kept(layer, x, tuple(x.shape), pooled=pooled), pooled.values
        else:
            block = blocks[index]
            own = flattened(x) if len(block.shape) == 2 else x
            step = _Kept(layer, own, tuple(x.shape), block)
            x = map.forward(step)
            if index < last:
                x = step.after = x.relu_()
        if keep:
            kept.append(step)
    return kept, x


class _Map(Protocol):
    """How a layer with weights acts, and how its gradient comes back."""

    def forward(self, step: _Kept) -> Tensor:
        """What the layer puts out for `step.x`."""
        ...

    def backward(
        self, step: _Kept, grad: Tensor, into: tuple[Tensor, Tensor], *, inputs: bool
    ) -> Tensor | None:
        """Writes the gradient by the layer's parameters; returns that by its inputs, if asked."""
        ...

    def finish(self, into: tuple[Tensor, Tensor]) -> None:
        """What is left to do when all layers are done."""
        ...


class _PlainMap:
    """Given weights, shape (N, d)."""

    def __init__(self, weights: Tensor) -> None:
        self.weights = weights

    def forward(self, step: _Kept) -> Tensor:
        return _linear(step, step.x, self.weights)

    def backward(
        self, step: _Kept, grad: Tensor, into: tuple[Tensor, Tensor], *, inputs: bool
    ) -> Tensor | None:
        return _linear_backward(step, step.x, self.weights, grad, into[0], inputs=inputs)

    def finish(self, into: tuple[Tensor, Tensor]) -> None:
        """The variances have no part in it."""


class _SampledMap(_PlainMap):
    """One draw of the weights for the batch: w = μ + σ ε."""

    def __init__(self, mean: Tensor, variance: Tensor, noise: Noise | None) -> None:
        self._noise = _drawn(mean, mean.shape[1], noise)
        self._variance = variance
        super().__init__(torch.addcmul(mean, variance.sqrt(), self._noise))

    def finish(self, into: tuple[Tensor, Tensor]) -> None:
        """∂w/∂σ² = ε / 2σ."""
        torch.mul(into[0], self._noise, out=into[1])
        into[1].mul_(self._variance.rsqrt().mul_(0.5))


class _LocalMap:
    """Local reparameterisation: out = x·μ + sqrt(x²·σ²) ε."""

    def __init__(
        self,
        architecture: Architecture,
        mean: Tensor,
        variance: Tensor,
        batch: int,
        noise: Noise | None,
    ) -> None:
        self._mean, self._variance = mean, variance
        sizes = [
            batch * math.prod(architecture.shapes[block.layer]) for block in architecture.blocks
        ]
        drawn = _drawn(mean, sum(sizes), noise)
        self._parts = iter(torch.split_with_sizes(drawn, sizes, dim=1))

    def forward(self, step: _Kept) -> Tensor:
        step.squared = step.x * step.x
        step.std = _linear(step, step.squared, self._variance).sqrt_()
        step.noise = next(self._parts).reshape(step.std.shape)
        return torch.addcmul(_linear(step, step.x, self._mean), step.std, step.noise)

    def backward(
        self, step: _Kept, grad: Tensor, into: tuple[Tensor, Tensor], *, inputs: bool
    ) -> Tensor | None:
        assert step.squared is not None
        assert step.std is not None
        assert step.noise is not None
        spread = (grad * step.noise).div_(step.std).mul_(0.5)
        back = _linear_backward(step, step.x, self._mean, grad, into[0], inputs=inputs)
        through = _linear_backward(
            step, step.squared, self._variance, spread, into[1], inputs=inputs
        )
        if back is None or through is None:
            return None
        return torch.addcmul(back, through, step.x, value=2.0)

    def finish(self, into: tuple[Tensor, Tensor]) -> None:
        """All is written."""


def _linear(step: _Kept, x: Tensor, values: Tensor) -> Tensor:
    assert step.block is not None
    return linear(step.layer, x, weights_of(values, step.block), values[:, step.block.bias])


def _linear_backward(
    step: _Kept, x: Tensor, values: Tensor, grad: Tensor, into: Tensor, *, inputs: bool
) -> Tensor | None:
    assert step.block is not None
    places = weights_of(into, step.block), into[:, step.block.bias]
    weights = weights_of(values, step.block)
    return linear_backward(step.layer, x, weights, grad, into=places, inputs=inputs)


def _drawn(like: Tensor, count: int, noise: Noise | None) -> Tensor:
    """Standard normal numbers, `count` for each agent."""
    assert noise is not None, "estimators but 'point' need noise"
    drawn = torch.empty(like.shape[0], count, device=like.device)
    return noise.normals(drawn).to(like.dtype)


# Prediction -----------------------------------------------------------------------------------


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
    return _forward(architecture, _PlainMap(weights), inputs, keep=False)[1]

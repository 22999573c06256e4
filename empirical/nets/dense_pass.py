"""Forward and backward passes of perceptrons in two compiled calls a step, for the CPU.

What :mod:`empirical.nets.layers` does in torch's operations, layer by layer, is done here agent
after agent, so that a net's weights are read from the cache by all products that need them. The
formulas are those of :mod:`empirical.nets.likelihood`; the products are
:func:`empirical.train.kernels.product.product`.
"""

from __future__ import annotations

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.nets.architecture import Architecture, Dense
from empirical.train.kernels.product import ADDRESS, multiply
from theory.validation import IntArray

Float32 = NDArray[np.float32]


def fits(architecture: Architecture, weights: Tensor, inputs: Tensor) -> bool:
    """Whether these passes serve: dense layers alone, in float32, on the CPU."""
    return (
        all(isinstance(layer, Dense) for layer in architecture.layers)
        and all(t.device.type == "cpu" and t.dtype == torch.float32 for t in (weights, inputs))
        and weights.stride(-1) == 1
    )


class DensePass:
    """One step's passes: :meth:`outputs`, then once :meth:`gradient`.

    Parameters
    ----------
    architecture
        Of dense layers alone.
    mean, variance
        Shape (N, d); without a variance the weights are the means.
    inputs
        Shape (N, B, ...).
    noise
        Standard normals, shape (N, B · units of all layers); with a variance.
    """

    def __init__(
        self,
        architecture: Architecture,
        mean: Tensor,
        inputs: Tensor,
        variance: Tensor | None = None,
        noise: Tensor | None = None,
    ) -> None:
        flat = inputs.flatten(2)
        self._local = variance is not None
        self._inputs = flat.contiguous().numpy()
        self._widths = np.array(
            [blocks_in.shape[0] for blocks_in in architecture.blocks] + [architecture.outputs]
        )
        self._mean = mean.numpy()
        self._variance = mean.numpy() if variance is None else variance.numpy()
        agents, batch = flat.shape[:2]
        self._noise = mean.numpy() if noise is None else noise.numpy()
        units = int(self._widths[1:].sum())
        numbers = units + self._local * (units + int(self._widths[:-1].sum()))
        self._kept = np.empty((agents, batch * numbers), dtype=np.float32)
        self._shape = agents, batch, architecture.outputs

    def outputs(self) -> Tensor:
        """Shape (N, B, outputs)."""
        out = torch.empty(self._shape)
        _forward(
            self._inputs, self._mean, self._variance, self._noise, self._widths, self._kept,
            out.numpy(), self._local, ADDRESS,
        )  # fmt: skip
        return out

    def gradient(self, grad: Tensor, into: tuple[Tensor, Tensor]) -> None:
        """Write the derivatives by means and variances, given that by the outputs."""
        _backward(
            self._inputs, self._mean, self._variance, self._noise, self._widths, self._kept,
            grad.contiguous().numpy(), into[0].numpy(), into[1].numpy(), self._local, ADDRESS,
        )  # fmt: skip


@numba.njit(forceinline=True)
def _linear(
    x: Float32, weights: Float32, first: int, fan_in: int, units: int, out: Float32, address: int
) -> None:
    """out = x·w + b, from a vector in which w and b begin at `first`."""
    batch = x.size // fan_in
    bias = weights[first + fan_in * units : first + (fan_in + 1) * units]
    for b in range(batch):
        for u in range(units):
            out[b * units + u] = bias[u]
    multiply(
        address, x.ctypes.data, fan_in, 1, weights.ctypes.data + 4 * first, units, out.ctypes.data, units,
        batch, units, fan_in, 0,
    )  # fmt: skip


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def _forward(
    inputs: Float32,
    mean: Float32,
    variance: Float32,
    noise: Float32,
    widths: IntArray,
    kept: Float32,
    outputs: Float32,
    local: bool,
    address: int,
) -> None:
    """Kept are, layer by layer, what it puts out, and if `local` its σ and its squared inputs."""
    agents, batch, _ = inputs.shape
    layers = widths.size - 1
    for agent in range(agents):
        first = place = drawn = 0
        x = inputs[agent].ravel()
        for layer in range(layers):
            fan_in, units = widths[layer], widths[layer + 1]
            size = batch * units
            out = kept[agent, place : place + size]
            _linear(x, mean[agent], first, fan_in, units, out, address)
            place += size
            floor = np.float32(0.0) if layer < layers - 1 else np.float32(-np.inf)
            if local:
                std = kept[agent, place : place + size]
                squared = kept[agent, place + size : place + size + batch * fan_in]
                for k in range(batch * fan_in):
                    squared[k] = x[k] * x[k]
                _linear(squared, variance[agent], first, fan_in, units, std, address)
                eps = noise[agent, drawn : drawn + size]
                for k in range(size):
                    std[k] = np.sqrt(std[k])
                    out[k] = max(out[k] + std[k] * eps[k], floor)
                place += size + batch * fan_in
                drawn += size
            else:
                for k in range(size):
                    out[k] = max(out[k], floor)
            first += (fan_in + 1) * units
            x = out
        outputs[agent] = x.reshape(batch, -1)


@numba.njit(forceinline=True)
def _weight_gradient(
    x: Float32, grad: Float32, fan_in: int, units: int, into: Float32, first: int, address: int
) -> None:
    batch = x.size // fan_in
    multiply(
        address, x.ctypes.data, 1, fan_in, grad.ctypes.data, units, into.ctypes.data + 4 * first, units,
        fan_in, units, batch, 1,
    )  # fmt: skip
    bias = into[first + fan_in * units : first + (fan_in + 1) * units]
    bias[:] = np.float32(0.0)
    for b in range(batch):
        for u in range(units):
            bias[u] += grad[b * units + u]


@numba.njit(forceinline=True)
def _input_gradient(
    grad: Float32, weights: Float32, first: int, fan_in: int, units: int, turned: Float32,
    out: Float32, address: int,
) -> None:  # fmt: skip
    """The transpose of grad·wᵀ, which is w·gradᵀ, so that rows are contiguous where they must."""
    batch = grad.size // units
    for u in range(units):
        for b in range(batch):
            turned[u * batch + b] = grad[b * units + u]
    multiply(
        address, weights.ctypes.data + 4 * first, units, 1, turned.ctypes.data, batch, out.ctypes.data,
        batch, fan_in, batch, units, 1,
    )  # fmt: skip


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def _backward(
    inputs: Float32,
    mean: Float32,
    variance: Float32,
    noise: Float32,
    widths: IntArray,
    kept: Float32,
    outer: Float32,
    mean_into: Float32,
    variance_into: Float32,
    local: bool,
    address: int,
) -> None:
    agents, batch, _ = inputs.shape
    layers = widths.size - 1
    largest = batch * widths.max()
    grads, spreads, turned, back, through = (
        np.empty(largest, np.float32), np.empty(largest, np.float32),
        np.empty(largest, np.float32), np.empty(largest, np.float32),
        np.empty(largest, np.float32),
    )  # fmt: skip
    half, two, zero = np.float32(0.5), np.float32(2.0), np.float32(0.0)
    for agent in range(agents):
        first, place, drawn = mean.shape[1], kept.shape[1], noise.shape[1]
        grads[: batch * widths[layers]] = outer[agent].ravel()
        for layer in range(layers - 1, -1, -1):
            fan_in, units = widths[layer], widths[layer + 1]
            size, entered = batch * units, batch * fan_in
            first -= (fan_in + 1) * units
            grad, spread = grads[:size], spreads[:size]
            if local:
                drawn -= size
                place -= 2 * size + entered
                std = kept[agent, place + size : place + 2 * size]
                squared = kept[agent, place + 2 * size : place + 2 * size + entered]
                eps = noise[agent, drawn : drawn + size]
                for k in range(size):
                    spread[k] = half * grad[k] * eps[k] / std[k]
            else:
                place -= size
            below = place - batch * fan_in - local * (batch * fan_in)
            if layer > 0:
                if local:
                    below -= batch * widths[layer - 1]
                x = kept[agent, below : below + entered]
            else:
                x = inputs[agent].ravel()
            _weight_gradient(x, grad, fan_in, units, mean_into[agent], first, address)
            if local:
                _weight_gradient(squared, spread, fan_in, units, variance_into[agent], first, address)
            if layer == 0:
                continue
            _input_gradient(grad, mean[agent], first, fan_in, units, turned, back, address)
            if local:
                _input_gradient(spread, variance[agent], first, fan_in, units, turned, through, address)
            for b in range(batch):
                for i in range(fan_in):
                    value, at = x[b * fan_in + i], i * batch + b
                    g = back[at]
                    if local:
                        g += two * value * through[at]
                    grads[b * fan_in + i] = g if value > zero else zero

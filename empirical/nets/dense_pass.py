"""Forward and backward passes of perceptrons in two compiled calls a step, for the CPU.

What :mod:`empirical.nets.architecture` does in torch's operations, layer by layer, is done here
agent after agent, so that a net's weights are read from the cache by all products that need them.
The formulas are those of :mod:`empirical.nets.likelihood`; the products are
:func:`empirical.kernels.product.product`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numba
import numpy as np
import torch
from numba.extending import register_jitable
from numpy.typing import NDArray
from torch import Tensor

from empirical.kernels.product import ADDRESS, multiply
from empirical.nets.architecture import Architecture, Dense
from empirical.nets.update import Adam, Rows, State, rows_of, step_of_range
from theory.validation import IntArray

Float32 = NDArray[np.float32]

# What a step moves, whether with a divergence, of variances too; and its numbers.
Step = tuple[State, bool, bool, Float32, Float32]


def knows(architecture: Architecture) -> bool:
    """Whether all layers are dense."""
    return all(isinstance(layer, Dense) for layer in architecture.layers)


def fits(architecture: Architecture, weights: Tensor, inputs: Tensor) -> bool:
    """Whether these passes serve: dense layers alone, in float32, on the CPU."""
    plain = all(t.device.type == "cpu" and t.dtype == torch.float32 for t in (weights, inputs))
    return knows(architecture) and plain and weights[0].is_contiguous()


class DensePass:
    """Passes of a few agents' perceptrons, in buffers that serve all steps.

    Each step is :meth:`outputs`, then :meth:`gradient` or :meth:`descend` once.

    Parameters
    ----------
    architecture
        Of dense layers alone.
    agents, batch
        N and B.
    local
        Whether weights are random and each output is drawn, given its inputs.
    """

    def __init__(
        self, architecture: Architecture, *, agents: int, batch: int, local: bool = False
    ) -> None:
        before = [block.shape[0] for block in architecture.blocks]
        self._widths = np.array([*before, architecture.outputs])
        self._local = local
        units = int(self._widths[1:].sum())
        numbers = units + local * (units + sum(before))
        self._kept = np.empty((agents, batch * numbers), dtype=np.float32)
        self._work = np.empty((5, batch * int(self._widths.max())), dtype=np.float32)
        largest = max((block.fan_in + 1) * block.shape[1] for block in architecture.blocks)
        self._gradients = tuple(np.empty(largest, dtype=np.float32) for _ in range(2))
        self.noise = torch.empty(agents, batch * units if local else 0)
        self._outputs = torch.empty(agents, batch, architecture.outputs)
        self._normals, self._put_out = self.noise.numpy(), self._outputs.flatten(1).numpy()

    def outputs(self, mean: Rows, variance: Rows, inputs: Tensor) -> Tensor:
        """What the nets put out, shape (N, B, outputs); overwritten by the next step.

        Parameters
        ----------
        mean, variance
            :func:`empirical.nets.update.rows_of` tensors of shape (N, d); the second is read if
            `local`, when :attr:`noise` holds standard normals.
        inputs
            Shape (N, B, ...).
        """
        self._inputs = inputs.flatten(1).contiguous().numpy()
        self._mean, self._variance = mean, variance
        for n in range(len(mean)):
            drawn = (variance[n], self._normals[n]) if self._local else None
            forward(
                self._inputs[n], mean[n], drawn, self._widths, self._kept[n], self._put_out[n],
                ADDRESS,
            )  # fmt: skip
        return self._outputs

    def gradient(self, grad: Tensor, into: tuple[Tensor, Tensor]) -> None:
        """Write the derivatives by means and, if `local`, variances, given that by the outputs."""
        given = zip(rows_of(into[0]), rows_of(into[1]), strict=True)
        for n, places in enumerate(given):
            self._back(n, grad, places, None)

    def descend(
        self, grad: Tensor, states: Sequence[State], adam: Adam, columns: Tensor, *, prior: bool
    ) -> None:
        """Take the step of :func:`empirical.nets.update.update` with the gradient at once.

        A layer's weights are moved as soon as their gradient is known and still in the cache.

        Parameters
        ----------
        states
            :func:`empirical.nets.update.states_of` what is moved.
        adam, columns, prior
            As of :func:`empirical.nets.update.update`.
        """
        own = columns.numpy()
        for n, state in enumerate(states):
            step = (state, prior, adam.scales, own[n], adam.numbers)
            self._back(n, grad, self._gradients, step)

    def _back(self, n: int, grad: Tensor, into: Sequence[Float32], step: Step | None) -> None:
        drawn = (self._variance[n], self._normals[n], into[1]) if self._local else None
        backward(
            self._inputs[n], self._mean[n], drawn, self._widths, self._kept[n],
            grad[n].flatten().numpy(), into[0], step, self._work, ADDRESS,
        )  # fmt: skip


_kept = threading.local()
# Shapes whose buffers a thread keeps: agents may have batches of different sizes.
_SHAPES = 4


def passes_of(
    architecture: Architecture, agents: int, batch: int, *, local: bool = False
) -> DensePass:
    """Passes for so many agents; this thread's own again, if it had some of this shape lately."""
    shape = architecture, agents, batch, local
    known: dict[object, DensePass] = _kept.__dict__.setdefault("passes", {})
    passes = known.pop(shape, None)
    if passes is None:
        passes = DensePass(architecture, agents=agents, batch=batch, local=local)
        if len(known) == _SHAPES:
            known.pop(next(iter(known)))
    known[shape] = passes  # the last of the dictionary is the last used
    return passes


# Compiled forward and backward passes of one agent, all arrays of one dimension ----------------
#
# Numbers are copied by loops: numba compiles `a[:] = b` with a message for shapes that differ, and
# that alone takes longer than all that stands here. What None is given for is not compiled.


@register_jitable(forceinline=True)
def _linear(
    x: Float32, weights: Float32, first: int, fan_in: int, units: int, out: Float32, address: int
) -> None:
    """Out = x·w + b, from a vector in which w and b begin at `first`."""
    batch = x.size // fan_in
    bias = weights[first + fan_in * units : first + (fan_in + 1) * units]
    for b in range(batch):
        for u in range(units):
            out[b * units + u] = bias[u]
    multiply(
        address, x.ctypes.data, fan_in, 1, weights.ctypes.data + 4 * first, units,
        out.ctypes.data, units, batch, units, fan_in, 0,
    )  # fmt: skip


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def forward(
    inputs: Float32,
    mean: Float32,
    drawn: tuple[Float32, Float32] | None,
    widths: IntArray,
    kept: Float32,
    outputs: Float32,
    address: int,
) -> None:
    """Kept are, layer by layer, what it puts out, and if `drawn` its σ and its squared inputs.

    `drawn` are the weights' variances and standard normals, where each output is drawn.
    """
    layers = widths.size - 1
    batch = inputs.size // widths[0]
    first = place = spent = 0
    x = inputs
    for layer in range(layers):
        fan_in, units = widths[layer], widths[layer + 1]
        size = batch * units
        out = kept[place : place + size]
        _linear(x, mean, first, fan_in, units, out, address)
        place += size
        floor = np.float32(0.0) if layer < layers - 1 else np.float32(-np.inf)
        if drawn is not None:
            variance, noise = drawn
            std = kept[place : place + size]
            squared = kept[place + size : place + size + batch * fan_in]
            for k in range(batch * fan_in):
                squared[k] = x[k] * x[k]
            _linear(squared, variance, first, fan_in, units, std, address)
            eps = noise[spent : spent + size]
            for k in range(size):
                std[k] = np.sqrt(std[k])
                out[k] = max(out[k] + std[k] * eps[k], floor)
            place += size + batch * fan_in
            spent += size
        else:
            for k in range(size):
                out[k] = max(out[k], floor)
        first += (fan_in + 1) * units
        x = out
    for k in range(outputs.size):
        outputs[k] = x[k]


@register_jitable(forceinline=True)
def _parameter_gradient(
    x: Float32, grad: Float32, fan_in: int, units: int, into: Float32, address: int
) -> None:
    """xᵀ·grad, then the sums of grad's columns."""
    batch = x.size // fan_in
    multiply(
        address, x.ctypes.data, 1, fan_in, grad.ctypes.data, units, into.ctypes.data, units,
        fan_in, units, batch, 1,
    )  # fmt: skip
    bias = into[fan_in * units :]
    for u in range(units):
        bias[u] = np.float32(0.0)
    for b in range(batch):
        for u in range(units):
            bias[u] += grad[b * units + u]


@register_jitable(forceinline=True)
def _input_gradient(
    grad: Float32, weights: Float32, fan_in: int, units: int, turned: Float32, out: Float32,
    address: int,
) -> None:  # fmt: skip
    """The transpose of grad·wᵀ, which is w·gradᵀ, so that rows are contiguous where they must."""
    batch = grad.size // units
    for u in range(units):
        for b in range(batch):
            turned[u * batch + b] = grad[b * units + u]
    multiply(
        address, weights.ctypes.data, units, 1, turned.ctypes.data, batch, out.ctypes.data,
        batch, fan_in, batch, units, 1,
    )  # fmt: skip


@register_jitable(forceinline=True)
def _carry_back(
    x: Float32, mean: Float32, variance: Float32 | None, units: int, work: Float32, size: int,
    address: int,
) -> None:  # fmt: skip
    """work[0], the gradient by what a layer put out, becomes that by what entered it.

    `mean` and `variance` are the layer's; with a variance, work[1] is the gradient by the variance
    of what it put out. The mask is that of the ReLU which `x` left.
    """
    batch = size // units
    fan_in = x.size // batch
    back, through, two, zero = work[3], work[4], np.float32(2.0), np.float32(0.0)
    _input_gradient(work[0][:size], mean, fan_in, units, work[2], back, address)
    if variance is not None:
        _input_gradient(work[1][:size], variance, fan_in, units, work[2], through, address)
    for b in range(batch):
        for i in range(fan_in):
            value, at = x[b * fan_in + i], i * batch + b
            g = back[at]
            if variance is not None:
                g += two * value * through[at]
            work[0][b * fan_in + i] = g if value > zero else zero


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def backward(
    inputs: Float32,
    mean: Float32,
    drawn: tuple[Float32, Float32, Float32] | None,
    widths: IntArray,
    kept: Float32,
    outer: Float32,
    into: Float32,
    step: Step | None,
    work: Float32,
    address: int,
) -> None:
    """Writes gradients, or with a `step` moves each layer's weights as soon as it has theirs.

    `drawn` are the weights' variances, the normals that outputs were drawn with, and where the
    gradient by variances goes.
    """
    layers = widths.size - 1
    batch = inputs.size // widths[0]
    end, place = mean.size, kept.size
    left = 0 if drawn is None else drawn[1].size
    for k in range(outer.size):
        work[0][k] = outer[k]
    for layer in range(layers - 1, -1, -1):
        fan_in, units = widths[layer], widths[layer + 1]
        size, entered = batch * units, batch * fan_in
        first = end - (fan_in + 1) * units
        place -= size
        before = place - entered
        if drawn is not None:
            place -= size + entered
            before = place - 2 * entered - batch * widths[max(layer - 1, 0)]
        x = kept[before : before + entered] if layer > 0 else inputs
        grad = work[0][:size]
        g = into[first:end] if step is None else into[: end - first]
        _parameter_gradient(x, grad, fan_in, units, g, address)
        h = g
        if drawn is not None:
            variance, noise, spread_into = drawn
            left -= size
            spread = work[1][:size]
            _spread(grad, noise[left:], kept[place + size :], spread)
            squared = kept[place + 2 * size : place + 2 * size + entered]
            h = spread_into[first:end] if step is None else spread_into[: end - first]
            _parameter_gradient(squared, spread, fan_in, units, h, address)
            if layer > 0:
                own = variance[first:end]
                _carry_back(x, mean[first:end], own, units, work, size, address)
        elif layer > 0:
            _carry_back(x, mean[first:end], None, units, work, size, address)
        if step is not None:
            state, divergence, scales, columns, common = step
            _step(state, first, end, g, h, divergence, scales, columns, common)
        end = first


@register_jitable(forceinline=True)
def _spread(grad: Float32, noise: Float32, std: Float32, out: Float32) -> None:
    """The gradient by the variance of what a layer put out, given that by the output itself."""
    half = np.float32(0.5)
    for k in range(grad.size):
        out[k] = half * grad[k] * noise[k] / std[k]


@register_jitable(forceinline=True)
def _step(
    state: tuple[Float32, ...], first: int, end: int, g: Float32, h: Float32,
    divergence: bool, scales: bool, columns: Float32, common: Float32,
) -> None:  # fmt: skip
    a, b, c, d, e, f, m, s = state
    step_of_range(
        a[first:end], b[first:end], c[first:end], d[first:end],
        e[first:end], f[first:end], m[first:end], s[first:end],
        g, h, divergence, scales, columns, common,
    )  # fmt: skip

"""Forward and backward passes of perceptrons in two compiled calls a step, for the CPU.

What :mod:`empirical.nets.architecture` does in torch's operations, layer by layer, is done here
agent after agent, so that a net's weights are read from the cache by all products that need them.
The formulas are those of :mod:`empirical.nets.likelihood`; the products are
:func:`empirical.kernels.product.product`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.kernels.product import ADDRESS
from empirical.nets.architecture import Architecture, Dense
from empirical.nets.dense_pass_kernel import backward, forward
from empirical.nets.update import Adam, Rows, State, rows_of

Float32 = NDArray[np.float32]

# Whether a step is taken, with a divergence, of variances too; and its numbers.
Step = tuple[bool, bool, bool, Float32, Float32]
_NO_STEP: Step = (False, False, False, np.zeros((1, 5), np.float32), np.zeros(6, np.float32))


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
        self._gradients = tuple(np.empty((1, largest), dtype=np.float32) for _ in range(2))
        self.noise = torch.empty(agents, batch * units if local else 0)
        self._outputs = torch.empty(agents, batch, architecture.outputs)
        self._normals, self._put_out = self.noise.numpy(), self._outputs.numpy()

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
        self._inputs = inputs.flatten(2).contiguous().numpy()
        self._mean, self._variance = mean, variance
        for n in range(len(mean)):
            own = slice(n, n + 1)
            forward(
                self._inputs[own], mean[n], variance[n], self._normals[own], self._widths,
                self._kept[own], self._put_out[own], self._local, ADDRESS,
            )  # fmt: skip
        return self._outputs

    def gradient(self, grad: Tensor, into: tuple[Tensor, Tensor]) -> None:
        """Write the derivatives by means and, if `local`, variances, given that by the outputs."""
        given = zip(rows_of(into[0]), rows_of(into[1]), strict=True)
        for n, places in enumerate(given):
            state = (self._mean[n], self._variance[n]) * 4
            self._back(n, grad, state, places, _NO_STEP)

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
            step = (True, prior, adam.scales, own[n : n + 1], adam.numbers)
            self._back(n, grad, state, self._gradients, step)

    def _back(
        self, n: int, grad: Tensor, state: State, into: Sequence[Float32], step: Step
    ) -> None:
        own = slice(n, n + 1)
        taken, divergence, scales, columns, common = step
        backward(
            self._inputs[own], self._normals[own], self._widths, self._kept[own],
            grad[own].contiguous().numpy(), state, into[0], into[1],
            taken, divergence, scales, columns, common, self._local, self._work, ADDRESS,
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

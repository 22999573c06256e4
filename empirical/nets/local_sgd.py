"""Plain stochastic gradient descent of many ordinary nets at once.

The nets of K clients are one tensor of shape (K, d). A step of all is, for each dense layer, one
batched product forward and two backward, and the one that makes the gradient by the weights adds
it to them at once (w ← w − η xᵀg): no gradient is ever stored, which halves what a step moves
through memory. Other architectures take the gradient of :mod:`empirical.nets.likelihood` and add
it afterwards.

Batches need not be full: each example has a *share* of its client's loss, 1/b in a batch of b
examples and 0 where a row is only padding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from empirical.nets.architecture import Architecture, Dense
from empirical.nets.layers import linear, weights_of
from empirical.nets.likelihood import gradient
from theory.validation import IntArray


@dataclass(frozen=True, eq=False)
class ShareOfLoss:
    """Cross-entropy of batches in which every example has a share; a `Likelihood`.

    Parameters
    ----------
    share
        Shape (K, B): what each example counts; a client's sum is 1.
    """

    share: Tensor

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Σ_b share · −log softmax(outputs)_y in nats, shape (K,), and its derivative."""
        logs = torch.log_softmax(outputs, dim=2)
        places = labels[:, :, None]
        nll = -(logs.gather(2, places)[:, :, 0] * self.share).sum(dim=1)
        grad = logs.exp_()
        grad.scatter_add_(2, places, grad.new_full((1, 1, 1), -1.0).expand_as(places))
        return nll, grad.mul_(self.share[:, :, None])


def descend(
    architecture: Architecture,
    weights: Tensor,
    inputs: Tensor,
    labels: Tensor,
    *,
    share: Tensor,
    rate: float,
) -> Tensor:
    r"""One step of every net down the gradient of its own batch's loss.

    Parameters
    ----------
    weights
        Shape (K, d); moved in place.
    inputs, labels, share
        Shapes (K, B, \\*input_shape), (K, B) and (K, B); see :class:`ShareOfLoss`.
    rate
        The learning rate η.

    Returns
    -------
    Tensor
        The losses before the step, shape (K,), in nats.
    """
    loss = ShareOfLoss(share)
    if all(isinstance(layer, Dense) for layer in architecture.layers):
        return _descend_dense(architecture, weights, inputs, labels, loss, rate)
    into = torch.empty_like(weights)
    nll = gradient(
        architecture,
        weights,
        weights,
        inputs,
        labels,
        likelihood=loss,
        estimator="point",
        into=(into, into),
    )
    weights.add_(into, alpha=-rate)
    return nll


def _descend_dense(
    architecture: Architecture,
    weights: Tensor,
    inputs: Tensor,
    labels: Tensor,
    loss: ShareOfLoss,
    rate: float,
) -> Tensor:
    blocks = architecture.blocks
    last = len(blocks) - 1
    entered = []
    x = inputs.flatten(2)
    for block in blocks:
        entered.append(x)
        out = linear(
            architecture.layers[block.layer],
            x,
            weights_of(weights, block),
            weights[:, block.bias],
        )
        x = out.relu_() if block.layer < last else out
    nll, grad = loss.loss(x, labels)
    grad.mul_(-rate)  # so that what is propagated is −η times the gradient
    for index in range(last, -1, -1):
        x, block = entered[index], blocks[index]
        weight = weights_of(weights, block)
        below = torch.bmm(grad, weight.transpose(1, 2)).mul_(x > 0) if index else grad
        weight.baddbmm_(x.transpose(1, 2), grad)
        weights[:, block.bias].add_(grad.sum(dim=1))
        grad = below
    return nll


def epochs_of_batches(size: int, batch: int, *, steps: int, rng: np.random.Generator) -> IntArray:
    """The batches of a client's next steps: its examples in a new random order each epoch.

    Returns
    -------
    IntArray
        Shape (steps, batch): positions among the client's own examples; −1 is padding, after the
        examples of an epoch's last batch if `size` is no multiple of `batch`.

    Examples
    --------
    >>> batches = epochs_of_batches(5, 2, steps=3, rng=np.random.default_rng(0))
    >>> sorted(batches.ravel().tolist())
    [-1, 0, 1, 2, 3, 4]
    """
    an_epoch = batches_in_an_epoch(size, batch)
    epochs = -(-steps // an_epoch)
    order = np.full((epochs, an_epoch * batch), -1, dtype=np.int64)
    for row in order:
        row[:size] = rng.permutation(size)
    return order.reshape(epochs * an_epoch, batch)[:steps]


def batches_in_an_epoch(size: int, batch: int) -> int:
    """⌈size / batch⌉."""
    return -(-size // batch)

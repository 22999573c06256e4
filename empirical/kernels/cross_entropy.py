"""Cross-entropy of classes and its derivative in one compiled call, for the CPU.

Ten classes of fifty examples are five hundred numbers; torch's operations take longer to be called
than to compute them.
"""

from __future__ import annotations

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from theory.validation import IntArray

Float32 = NDArray[np.float32]


def fits(outputs: Tensor, labels: Tensor) -> bool:
    """Whether :func:`cross_entropy` serves: float32 and int64, contiguous, on the CPU."""
    return (
        outputs.device.type == "cpu"
        and outputs.dtype == torch.float32
        and labels.dtype == torch.int64
        and outputs.is_contiguous()
    )


def cross_entropy(outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Mean of −log softmax(outputs)_y in nats, shape (N,), and its derivative by the outputs.

    Parameters
    ----------
    outputs, labels
        Shapes (N, B, classes) and (N, B); see :func:`fits`. A label that is no class makes the
        loss NaN.
    """
    grad = torch.empty_like(outputs)
    losses = torch.empty(outputs.shape[0])
    _sweep(outputs.detach().numpy(), labels.contiguous().numpy(), grad.numpy(), losses.numpy())
    return losses, grad


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _sweep(outputs: Float32, labels: IntArray, grad: Float32, losses: Float32) -> None:
    agents, batch, classes = outputs.shape
    share = np.float32(1.0) / np.float32(batch)
    for n in range(agents):
        loss = np.float32(0.0)
        for b in range(batch):
            row, out, label = outputs[n, b], grad[n, b], labels[n, b]
            largest = row[0]
            for c in range(1, classes):
                # So that a NaN stays one.
                largest = row[c] if not row[c] <= largest else largest
            total = np.float32(0.0)
            for c in range(classes):
                out[c] = np.exp(row[c] - largest)
                total += out[c]
            for c in range(classes):
                out[c] *= share / total
            if 0 <= label < classes:
                out[label] -= share
                loss += np.log(total) - (row[label] - largest)
            else:
                loss = np.float32(np.nan)
        losses[n] = loss * share

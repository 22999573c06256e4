"""Steps of ordinary nets in one sweep over memory: gradient descent with momentum, and Adam.

Torch's operations read and write every tensor again for each of them; compiled, a step reads and
writes each number once. The same in torch's operations serves other devices and other types, and
is the oracle of the first. Nothing here waits for a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.kernels.replayed import fused
from theory.validation import FloatArray

Float32 = NDArray[np.float32]
Columns = Sequence[float] | FloatArray | Tensor
# A learning rate; on a device it may stand there, where it changes without a new launch.
Rate = float | Tensor


def compiled(*tensors: Tensor) -> bool:
    """Whether a compiled sweep serves: float32 in contiguous rows, on the CPU."""
    return all(
        t.device.type == "cpu" and t.dtype == torch.float32 and t.is_contiguous() for t in tensors
    )


def column(values: Columns, like: Tensor) -> Tensor:
    """One number an agent as a column, shape (N, 1), on the device of `like`."""
    found = values if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values))
    return found.reshape(-1, 1).to(like, non_blocking=True)


def numbers(values: Columns) -> Float32:
    """One number an agent, shape (N,), float32."""
    if isinstance(values, Tensor):
        values = values.detach().reshape(-1).numpy()
    return np.ascontiguousarray(values, dtype=np.float32)


def momentum_step(
    mean: Tensor, momentum: Tensor, gradient: Tensor, *, weight: Columns, rate: Rate, decay: float
) -> None:
    """U ← decay u + a g, w ← w − rate u, in place.

    Parameters
    ----------
    mean, momentum, gradient
        w, u and g, shape (N, d).
    weight
        a, one number an agent.
    """
    if not compiled(mean, momentum, gradient):
        by_torch = fused(momentum_step_by_torch, mean)
        by_torch(mean, momentum, gradient, weight=weight, rate=rate, decay=decay)
        return
    arrays = (t.numpy() for t in (mean, momentum, gradient))
    given: Any = *arrays, numbers(weight), np.float32(float(rate)), np.float32(decay)
    _momentum(*given)


def momentum_step_by_torch(
    mean: Tensor, momentum: Tensor, gradient: Tensor, *, weight: Columns, rate: Rate, decay: float
) -> None:
    """:func:`momentum_step` in torch's operations."""
    momentum.mul_(decay).addcmul_(gradient, column(weight, gradient))
    mean.sub_(momentum * rate)


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def _momentum(
    mean: Float32,
    momentum: Float32,
    gradient: Float32,
    weight: Float32,
    rate: np.float32,
    decay: np.float32,
) -> None:
    for n in range(mean.shape[0]):
        w, u, g, a = mean[n], momentum[n], gradient[n], weight[n]
        for k in range(w.size):
            u[k] = decay * u[k] + a * g[k]
            w[k] -= rate * u[k]


def adam_step(
    mean: Tensor,
    moments: tuple[Tensor, Tensor],
    gradient: Tensor,
    *,
    weight: Columns,
    steps: Columns,
    rate: Rate,
    betas: tuple[float, float],
    epsilon: float,
) -> None:
    """A step of Adam (Kingma & Ba 2015) down a g, in place.

    Parameters
    ----------
    mean, moments, gradient
        w, the running averages of a g and its square, and g; shape (N, d).
    weight, steps
        a, and how many steps the averages have seen, this one included; one number an agent.
    """
    if not compiled(mean, *moments, gradient):
        adam_step_by_torch(
            mean, moments, gradient,
            weight=weight, steps=steps, rate=rate, betas=betas, epsilon=epsilon,
        )  # fmt: skip
        return
    taken = np.asarray(steps, dtype=np.float64).reshape(-1)
    first, second = (1.0 / (1.0 - beta**taken) for beta in betas)
    b1, b2 = betas
    # 1 − 0.999f would be wrong in its fifth digit.
    common = np.array([b1, 1.0 - b1, b2, 1.0 - b2, epsilon], dtype=np.float32)
    columns = np.stack([numbers(weight), numbers(float(rate) * first), numbers(second)], axis=1)
    given: Any = *(t.numpy() for t in (mean, *moments, gradient)), columns, common
    _adam(*given)


def adam_step_by_torch(
    mean: Tensor,
    moments: tuple[Tensor, Tensor],
    gradient: Tensor,
    *,
    weight: Columns,
    steps: Columns,
    rate: Rate,
    betas: tuple[float, float],
    epsilon: float,
) -> None:
    """:func:`adam_step` in torch's operations; what differs from step to step are tensors."""
    taken = column(steps, mean).double()
    first, second = ((1.0 / (1.0 - beta**taken)).to(mean) for beta in betas)
    fused(_adam_by_torch, mean)(
        mean, *moments, gradient, column(weight, gradient), first * rate, second,
        mean.new_full((), epsilon), betas=betas,
    )  # fmt: skip


def _adam_by_torch(
    mean: Tensor,
    first: Tensor,
    second: Tensor,
    gradient: Tensor,
    weight: Tensor,
    rate: Tensor,
    correction: Tensor,
    epsilon: Tensor,
    *,
    betas: tuple[float, float],
) -> None:
    g = gradient * weight
    first.mul_(betas[0]).add_(g, alpha=1.0 - betas[0])
    second.mul_(betas[1]).addcmul_(g, g, value=1.0 - betas[1])
    root = torch.mul(second, correction, out=g).sqrt_().add_(epsilon)
    mean.sub_(torch.div(first, root, out=g).mul_(rate))


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def _adam(
    mean: Float32,
    first: Float32,
    second: Float32,
    gradient: Float32,
    columns: Float32,
    common: Float32,
) -> None:
    b1, gain1, b2, gain2, epsilon = common[0], common[1], common[2], common[3], common[4]
    for n in range(mean.shape[0]):
        w, u, v, g = mean[n], first[n], second[n], gradient[n]
        a, rate, correction = columns[n, 0], columns[n, 1], columns[n, 2]
        for k in range(w.size):
            here = a * g[k]
            u[k] = b1 * u[k] + gain1 * here
            v[k] = b2 * v[k] + gain2 * here * here
            w[k] -= rate * u[k] / (np.sqrt(v[k] * correction) + epsilon)

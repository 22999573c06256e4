"""One step of every weight of every agent: the divergence to the prior added, then Adam.

With G the gradient of the mean loss of a batch (:mod:`empirical.nets.likelihood`) and the
objective L + c KL(q ‖ p), p = N(m, diag s²), the derivatives with respect to a mean μ and to
ρ = log σ are

    g_μ = G_μ + c (μ − m) / s²,      g_ρ = 2 σ² G_{σ²} + c (σ² / s² − 1).

Adam (Kingma & Ba 2015) turns each into a step; ρ ← ρ − δ is done as σ² ← σ² e^{−2δ}, so that
neither ρ nor a logarithm is kept. A step of ρ is held within ±¼.

All this is one sweep over memory, compiled by numba for the CPU. The same in torch's own
operations serves other devices, and is the oracle of the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Float32 = NDArray[np.float32]

# |2δ| at most: the polynomial for exp is then right to 1e-7, half a unit of float32's last place.
LARGEST_STEP = 0.5


@dataclass(eq=False)
class Moments:
    """Adam's running averages of N agents: of g_μ, g_μ², g_ρ, g_ρ²; each of shape (N, d)."""

    mean_first: Tensor
    mean_second: Tensor
    scale_first: Tensor
    scale_second: Tensor

    @classmethod
    def zeros(cls, like: Tensor) -> Moments:
        """No gradients seen yet."""
        return cls(*(torch.zeros_like(like) for _ in range(4)))


@dataclass(frozen=True)
class Numbers:
    """One step's numbers.

    Attributes
    ----------
    mean_rate, scale_rate
        Learning rates of the means and of log σ, after their schedule.
    mean_epsilon, scale_epsilon, first_beta, second_beta
        Adam's.
    steps
        How many have been taken since Adam's averages began, this one included.
    loss_weight, divergence_weight
        What the loss and the divergence are multiplied by; c is the second.
    scales
        Whether variances move.
    """

    mean_rate: float
    scale_rate: float
    mean_epsilon: float
    scale_epsilon: float
    first_beta: float
    second_beta: float
    steps: int
    loss_weight: float = 1.0
    divergence_weight: float = 0.0
    scales: bool = True

    @property
    def first_correction(self) -> float:
        """1 / (1 − β₁^steps)."""
        return 1.0 / (1.0 - self.first_beta**self.steps)

    @property
    def second_correction(self) -> float:
        """1 / (1 − β₂^steps)."""
        return 1.0 / (1.0 - self.second_beta**self.steps)


def update(
    mean: Tensor,
    variance: Tensor,
    gradients: tuple[Tensor, Tensor],
    moments: Moments,
    numbers: Numbers,
    prior: tuple[Tensor, Tensor] | None,
) -> None:
    """Take one step of one agent, in place.

    Parameters
    ----------
    mean, variance
        Shape (d,), like all tensors here.
    gradients
        Of the batch's mean loss, by mean and by variance; the second is not read without `scales`.
    prior
        Mean m and variance s² of the prior; None if it is the belief itself, where the gradient of
        the divergence is zero.
    """
    if mean.device.type != "cpu":
        update_by_torch(mean, variance, gradients, moments, numbers, prior)
        return
    m, s2 = prior if prior is not None else (mean, variance)
    _sweep(
        mean.numpy(),
        variance.numpy(),
        gradients[0].numpy(),
        gradients[1].numpy(),
        moments.mean_first.numpy(),
        moments.mean_second.numpy(),
        moments.scale_first.numpy(),
        moments.scale_second.numpy(),
        m.numpy(),
        s2.numpy(),
        prior is not None,
        numbers.scales,
        np.float32(numbers.loss_weight),
        np.float32(numbers.divergence_weight),
        np.float32(numbers.mean_rate * numbers.first_correction),
        np.float32(numbers.scale_rate * numbers.first_correction),
        np.float32(numbers.mean_epsilon),
        np.float32(numbers.scale_epsilon),
        np.float32(numbers.first_beta),
        np.float32(1.0 - numbers.first_beta),  # 1 − 0.999f would be wrong in its fifth digit
        np.float32(numbers.second_beta),
        np.float32(1.0 - numbers.second_beta),
        np.float32(numbers.second_correction),
    )


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def _sweep(
    mean: Float32,
    variance: Float32,
    mean_gradient: Float32,
    variance_gradient: Float32,
    mean_first: Float32,
    mean_second: Float32,
    scale_first: Float32,
    scale_second: Float32,
    prior_mean: Float32,
    prior_variance: Float32,
    divergence: bool,
    scales: bool,
    loss_weight: np.float32,
    weight: np.float32,
    mean_rate: np.float32,
    scale_rate: np.float32,
    mean_epsilon: np.float32,
    scale_epsilon: np.float32,
    b1: np.float32,
    gain1: np.float32,
    b2: np.float32,
    gain2: np.float32,
    correction: np.float32,
) -> None:
    one = np.float32(1.0)
    two = np.float32(2.0)
    limit = np.float32(LARGEST_STEP)
    for k in range(mean.size):
        g = loss_weight * mean_gradient[k]
        if divergence:
            g += weight * (mean[k] - prior_mean[k]) / prior_variance[k]
        first = b1 * mean_first[k] + gain1 * g
        second = b2 * mean_second[k] + gain2 * g * g
        mean_first[k] = first
        mean_second[k] = second
        if scales:
            s2 = variance[k]
            r = two * s2 * loss_weight * variance_gradient[k]
            if divergence:
                r += weight * (s2 / prior_variance[k] - one)
            rho_first = b1 * scale_first[k] + gain1 * r
            rho_second = b2 * scale_second[k] + gain2 * r * r
            scale_first[k] = rho_first
            scale_second[k] = rho_second
            x = -two * scale_rate * rho_first / (np.sqrt(rho_second * correction) + scale_epsilon)
            x = min(max(x, -limit), limit)
            tail = one / np.float32(120.0) + x * (
                one / np.float32(720.0) + x * (one / np.float32(5040.0))
            )
            tail = one / np.float32(24.0) + x * tail
            tail = one / np.float32(6.0) + x * tail
            variance[k] = s2 * (one + x * (one + x * (np.float32(0.5) + x * tail)))
        mean[k] -= mean_rate * first / (np.sqrt(second * correction) + mean_epsilon)


def update_by_torch(
    mean: Tensor,
    variance: Tensor,
    gradients: tuple[Tensor, Tensor],
    moments: Moments,
    numbers: Numbers,
    prior: tuple[Tensor, Tensor] | None,
) -> None:
    """:func:`update` in torch's operations, for any device."""
    b1, b2 = numbers.first_beta, numbers.second_beta
    g = numbers.loss_weight * gradients[0]
    if numbers.scales:
        r = 2.0 * numbers.loss_weight * variance * gradients[1]
    if prior is not None:
        m, s2 = prior
        g = g + numbers.divergence_weight * (mean - m) / s2
        if numbers.scales:
            r = r + numbers.divergence_weight * (variance / s2 - 1.0)
    moments.mean_first.mul_(b1).add_(g, alpha=1.0 - b1)
    moments.mean_second.mul_(b2).addcmul_(g, g, value=1.0 - b2)
    root = (moments.mean_second * numbers.second_correction).sqrt_().add_(numbers.mean_epsilon)
    if numbers.scales:
        moments.scale_first.mul_(b1).add_(r, alpha=1.0 - b1)
        moments.scale_second.mul_(b2).addcmul_(r, r, value=1.0 - b2)
        scale = (moments.scale_second * numbers.second_correction).sqrt_()
        scale.add_(numbers.scale_epsilon)
        rate = -2.0 * numbers.scale_rate * numbers.first_correction
        step = (moments.scale_first / scale).mul_(rate).clamp_(-LARGEST_STEP, LARGEST_STEP)
        variance.mul_(step.exp_())
    mean.addcdiv_(moments.mean_first, root, value=-numbers.mean_rate * numbers.first_correction)

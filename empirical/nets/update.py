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
from functools import cached_property

import numba
import numpy as np
import torch
from numba.extending import register_jitable
from numpy.typing import NDArray
from torch import Tensor

from empirical.kernels.replayed import fused
from empirical.kernels.sweeps import Rate

Float32 = NDArray[np.float32]

# |2δ| at most: the polynomial for exp is then right to 1e-7, half a unit of float32's last place.
LARGEST_STEP = 0.5


@dataclass(frozen=True)
class Adam:
    """What steps of all agents share.

    Attributes
    ----------
    mean_epsilon, scale_epsilon, first_beta, second_beta
        Of the means and of log σ.
    scales
        Whether variances move.
    """

    mean_epsilon: float
    scale_epsilon: float
    first_beta: float
    second_beta: float
    scales: bool = True

    @cached_property
    def numbers(self) -> Float32:
        """Both ε, β₁, 1 − β₁, β₂, 1 − β₂."""
        b1, b2 = self.first_beta, self.second_beta
        # 1 − 0.999f would be wrong in its fifth digit.
        found = [self.mean_epsilon, self.scale_epsilon, b1, 1.0 - b1, b2, 1.0 - b2]
        return np.array(found, dtype=np.float32)

    def columns(
        self,
        steps: Tensor,
        *,
        mean_rate: Rate,
        scale_rate: Rate,
        loss_weight: Tensor,
        divergence_weight: Tensor,
    ) -> Tensor:
        """What differs from agent to agent and step to step, float32, shape (…, N, 5).

        The loss's weight, the divergence's (c), both learning rates over 1 − β₁^steps, and
        1 / (1 − β₂^steps).

        Parameters
        ----------
        steps
            How many have been taken since the moments began, this one included, shape (…, N, 1),
            float64.
        mean_rate, scale_rate
            Learning rates of the means and of log σ, after their schedule.
        loss_weight, divergence_weight
            Shape (N, 1).
        """
        first = 1.0 / (1.0 - self.first_beta**steps)
        second = 1.0 / (1.0 - self.second_beta**steps)
        weights = (part.to(steps).expand_as(steps) for part in (loss_weight, divergence_weight))
        return torch.cat([*weights, mean_rate * first, scale_rate * first, second], dim=-1).float()


# What a step moves and reads, of N agents, each of shape (N, d): mean, variance, the running
# averages of g_μ, g_μ², g_ρ, g_ρ², and the prior's mean and variance.
Tensors = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
Rows = list[Float32]
# The same of one agent.
State = tuple[Float32, ...]


def update(
    tensors: Tensors,
    gradients: tuple[Tensor, Tensor],
    adam: Adam,
    columns: Tensor,
    *,
    prior: bool,
) -> None:
    """Take one step of all agents, in place.

    Parameters
    ----------
    tensors
        Shape (N, d) each.
    gradients
        Of the batch's mean loss, by mean and by variance; the second is not read where variances
        stay.
    columns
        :meth:`Adam.columns` of this step, shape (N, 5).
    prior
        Whether the belief may differ from its prior; where it does not, the gradient of the
        divergence is zero.
    """
    if tensors[0].device.type != "cpu":
        by_torch = fused(update_by_torch, tensors[0])
        by_torch(tensors, gradients, adam, columns, prior=prior)
        return
    given = zip(rows_of(gradients[0]), rows_of(gradients[1]), strict=True)
    own = columns.numpy()
    for n, (state, (g, h)) in enumerate(zip(states_of(tensors), given, strict=True)):
        _sweep(state, g, h, prior, adam.scales, own[n], adam.numbers)


def states_of(tensors: Tensors) -> list[State]:
    """What a step reads and writes, agent by agent, each array of shape (d,)."""
    return list(zip(*(rows_of(part) for part in tensors), strict=True))


def rows_of(values: Tensor) -> Rows:
    """The rows of a tensor of shape (N, d), each as an array of shape (d,)."""
    return [row.numpy() for row in values]


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def _sweep(
    state: State,
    mean_gradient: Float32,
    variance_gradient: Float32,
    divergence: bool,
    scales: bool,
    columns: Float32,
    common: Float32,
) -> None:
    a, b, c, d, e, f, m, s = state
    step_of_range(
        a, b, c, d, e, f, m, s, mean_gradient, variance_gradient, divergence, scales, columns,
        common,
    )  # fmt: skip


@register_jitable(fastmath=True, error_model="numpy")
def step_of_range(
    mean: Float32,
    variance: Float32,
    mean_first: Float32,
    mean_second: Float32,
    scale_first: Float32,
    scale_second: Float32,
    prior_mean: Float32,
    prior_variance: Float32,
    mean_gradient: Float32,
    variance_gradient: Float32,
    divergence: bool,
    scales: bool,
    columns: Float32,
    common: Float32,
) -> None:
    """The step of some of an agent's weights, all of shape (weights,); for compiled callers."""
    loss_weight, weight, mean_rate, scale_rate, correction = (
        columns[0], columns[1], columns[2], columns[3], columns[4],
    )  # fmt: skip
    mean_epsilon, scale_epsilon, b1, gain1, b2, gain2 = (
        common[0], common[1], common[2], common[3], common[4], common[5],
    )  # fmt: skip
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
    tensors: Tensors,
    gradients: tuple[Tensor, Tensor],
    adam: Adam,
    columns: Tensor,
    *,
    prior: bool,
) -> None:
    """:func:`update` in torch's operations, for any device; nothing is waited for."""
    mean, variance, mean_first, mean_second, scale_first, scale_second, m, s2 = tensors
    parts = torch.split(columns.to(mean.dtype), 1, dim=-1)
    loss_weight, weight, mean_rate, scale_rate, correction = parts
    b1, b2 = adam.first_beta, adam.second_beta
    g = loss_weight * gradients[0]
    if adam.scales:
        r = 2.0 * loss_weight * variance * gradients[1]
    if prior:
        g = g + weight * (mean - m) / s2
        if adam.scales:
            r = r + weight * (variance / s2 - 1.0)
    mean_first.mul_(b1).add_(g, alpha=1.0 - b1)
    mean_second.mul_(b2).addcmul_(g, g, value=1.0 - b2)
    root = (mean_second * correction).sqrt_().add_(adam.mean_epsilon)
    if adam.scales:
        scale_first.mul_(b1).add_(r, alpha=1.0 - b1)
        scale_second.mul_(b2).addcmul_(r, r, value=1.0 - b2)
        scale = (scale_second * correction).sqrt_().add_(adam.scale_epsilon)
        step = (scale_first / scale).mul_(-2.0 * scale_rate)
        variance.mul_(step.clamp_(-LARGEST_STEP, LARGEST_STEP).exp_())
    mean.sub_((mean_first / root).mul_(mean_rate))

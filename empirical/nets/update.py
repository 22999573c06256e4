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
from numpy.typing import NDArray
from torch import Tensor

from theory.validation import FloatArray, IntArray

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


@dataclass(frozen=True, eq=False)
class Numbers:
    """What steps depend on besides beliefs and gradients.

    Attributes
    ----------
    mean_rate, scale_rate
        Learning rates of the means and of log σ, after their schedule.
    mean_epsilon, scale_epsilon, first_beta, second_beta
        Adam's.
    steps
        How many have been taken since Adam's averages began, this one included: one number, one
        for each agent, or of several steps to come, shape (steps, N).
    loss_weight, divergence_weight
        What the loss and the divergence are multiplied by, one number or one for each agent; c is
        the second.
    scales
        Whether variances move.
    """

    mean_rate: float
    scale_rate: float
    mean_epsilon: float
    scale_epsilon: float
    first_beta: float
    second_beta: float
    steps: int | IntArray
    loss_weight: float | FloatArray = 1.0
    divergence_weight: float | FloatArray = 0.0
    scales: bool = True

    @cached_property
    def columns(self) -> Float32:
        """What differs from agent to agent and step to step, shape (..., N, 5).

        The loss's weight, the divergence's, both learning rates over 1 − β₁^steps, and
        1 / (1 − β₂^steps).
        """
        steps = np.atleast_1d(np.asarray(self.steps, dtype=np.float64))
        first = 1.0 / (1.0 - self.first_beta**steps)
        second = 1.0 / (1.0 - self.second_beta**steps)
        parts = (
            self.loss_weight,
            self.divergence_weight,
            self.mean_rate * first,
            self.scale_rate * first,
            second,
        )
        return np.stack(np.broadcast_arrays(*parts), axis=-1).astype(np.float32)

    @cached_property
    def common(self) -> Float32:
        """What all agents and steps share: both ε, β₁, 1 − β₁, β₂, 1 − β₂."""
        b1, b2 = self.first_beta, self.second_beta
        # 1 − 0.999f would be wrong in its fifth digit.
        found = [self.mean_epsilon, self.scale_epsilon, b1, 1.0 - b1, b2, 1.0 - b2]
        return np.array(found, dtype=np.float32)

    def columns_on(self, device: torch.device) -> Tensor:
        """The columns as a tensor of that device, moved there once."""
        if device not in self._moved:
            self._moved[device] = torch.from_numpy(self.columns).to(device, non_blocking=True)
        return self._moved[device]

    @cached_property
    def _moved(self) -> dict[torch.device, Tensor]:
        return {}


Prior = tuple[Tensor, Tensor]
Rows = list[Float32]
# Mean, variance, the four moments, and the prior's mean and variance of one agent.
State = tuple[Float32, ...]


def update(
    mean: Tensor,
    variance: Tensor,
    gradients: tuple[Tensor, Tensor],
    moments: Moments,
    numbers: Numbers,
    prior: Prior | None,
    *,
    at: int | None = None,
) -> None:
    """Take one step of all agents, in place.

    Parameters
    ----------
    mean, variance
        Shape (N, d), like all tensors here; or (d,) for one agent.
    gradients
        Of the batch's mean loss, by mean and by variance; the second is not read without `scales`.
    prior
        Mean m and variance s² of the prior; None if it is the belief itself, where the gradient of
        the divergence is zero.
    at
        Which of the steps, where `numbers` hold several.
    """
    if mean.device.type != "cpu":
        update_by_torch(mean, variance, gradients, moments, numbers, prior, at=at)
        return
    columns = numbers.columns if at is None else numbers.columns[at]
    given = zip(rows_of(gradients[0]), rows_of(gradients[1]), strict=True)
    states = states_of(mean, variance, moments, prior)
    for n, (state, (g, h)) in enumerate(zip(states, given, strict=True)):
        own = columns[min(n, len(columns) - 1)]
        _sweep(state, g, h, prior is not None, numbers.scales, own, numbers.common)


def states_of(mean: Tensor, variance: Tensor, moments: Moments, prior: Prior | None) -> list[State]:
    """What a step reads and writes, agent by agent, each array of shape (1, d)."""
    m, s2 = prior if prior is not None else (mean, variance)
    parts = (
        mean,
        variance,
        moments.mean_first,
        moments.mean_second,
        moments.scale_first,
        moments.scale_second,
        m,
        s2,
    )
    return list(zip(*(rows_of(part) for part in parts), strict=True))


def rows_of(values: Tensor) -> Rows:
    """The rows of a tensor of shape (N, d), or (d,), each as an array of shape (1, d)."""
    if values.ndim == 1:
        values = values[None]
    return [values[n : n + 1].numpy() for n in range(len(values))]


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
        a[0], b[0], c[0], d[0], e[0], f[0], m[0], s[0], mean_gradient[0], variance_gradient[0],
        divergence, scales, columns, common,
    )  # fmt: skip


@numba.njit(fastmath=True, nogil=True, error_model="numpy")
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
    mean: Tensor,
    variance: Tensor,
    gradients: tuple[Tensor, Tensor],
    moments: Moments,
    numbers: Numbers,
    prior: Prior | None,
    *,
    at: int | None = None,
) -> None:
    """:func:`update` in torch's operations, for any device; nothing is waited for."""
    columns = numbers.columns_on(mean.device)
    columns = (columns if at is None else columns[at]).to(mean.dtype)
    if mean.ndim == 1:
        columns = columns[0]
    loss_weight, weight, mean_rate, scale_rate, correction = torch.split(columns, 1, dim=-1)
    b1, b2 = numbers.first_beta, numbers.second_beta
    g = loss_weight * gradients[0]
    if numbers.scales:
        r = 2.0 * loss_weight * variance * gradients[1]
    if prior is not None:
        m, s2 = prior
        g = g + weight * (mean - m) / s2
        if numbers.scales:
            r = r + weight * (variance / s2 - 1.0)
    moments.mean_first.mul_(b1).add_(g, alpha=1.0 - b1)
    moments.mean_second.mul_(b2).addcmul_(g, g, value=1.0 - b2)
    root = (moments.mean_second * correction).sqrt_().add_(numbers.mean_epsilon)
    if numbers.scales:
        moments.scale_first.mul_(b1).add_(r, alpha=1.0 - b1)
        moments.scale_second.mul_(b2).addcmul_(r, r, value=1.0 - b2)
        scale = (moments.scale_second * correction).sqrt_().add_(numbers.scale_epsilon)
        step = (moments.scale_first / scale).mul_(-2.0 * scale_rate)
        variance.mul_(step.clamp_(-LARGEST_STEP, LARGEST_STEP).exp_())
    mean.sub_((moments.mean_first / root).mul_(mean_rate))

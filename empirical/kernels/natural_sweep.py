"""A natural-gradient step of Gaussian beliefs in one sweep, the next random weights included.

The variational learner of Shen et al. (2024, arXiv:2402.17641) keeps a mean m, a precision s for
one datum and a momentum u; with n data its belief is N(m, 1/(n s)). A step is taken at
w = m + ε/√(n s), ε standard normal, with the gradient g there times the agent's weight a:

    u ← β₁ u + (1 − β₁) a g
    ĥ = a g (w − m) n s,  or  a B g²                     (of B examples in a batch)
    s ← s + max((1 − β₂)(ĥ + p − s), −s/2),              p = δ + d, or the cavity's
    m ← m − r clip((ω u/(1 − β₁^t) + y + δ m + τ (p − δ − d)(m − m⁰)) / s)

where ω, y and m⁰ are the cavity's, and 1 and zero without one. The noise need not be kept or drawn
again: w − m is what the gradient has seen of it. One sweep reads m, s, u, g and w and writes m, s,
u and the w of the next step, nine passes over memory where a plain step of Adam takes seven.

The same in torch's operations serves other devices and types, and is the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.kernels.noise import BLOCK, Noise, UInt32, block_of_normals
from empirical.kernels.replayed import fused
from empirical.kernels.sweeps import Columns, Rate, column, compiled, numbers

Float32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Gaussians:
    """What steps move: mean m, precision s for one datum, momentum u; each of shape (N, d)."""

    mean: Tensor
    precision: Tensor
    momentum: Tensor


@dataclass(frozen=True, eq=False)
class Cavity:
    """What all but an agent's own data say, for learners with sites; tensors of shape (N, d).

    Attributes
    ----------
    total
        The sum of a g over the round's steps, moved on by each.
    gradient, precision
        y and p.
    mean
        m⁰, the mean of the last consensus.
    trust
        τ.
    scale
        ω: what an agent's own gradient counts in its steps; one number an agent.
    """

    total: Tensor
    gradient: Tensor
    precision: Tensor
    mean: Tensor
    trust: float
    scale: Columns = (1.0,)


@dataclass(frozen=True)
class Natural:
    """One step's numbers.

    Attributes
    ----------
    rate, momentum, memory, prior_precision
        r, β₁, β₂ and δ.
    damping, clip
        d, and what a coordinate moves by at most, in units of r; infinity for no limit.
    squares
        B for the second ĥ; 0 for the first.
    data
        n, over the temperature if the belief has one.
    weight, steps
        a, and t: how many steps the momentum has seen, this one included; one number an agent.
    """

    rate: Rate
    momentum: float
    memory: float
    prior_precision: float
    damping: float
    clip: float
    data: float
    weight: Columns
    steps: Columns
    squares: int = 0

    @property
    def least(self) -> float:
        """δ + d: the precision of what no datum speaks of."""
        return self.prior_precision + self.damping


def draw(mean: Tensor, precision: Tensor, *, data: float, noise: Noise, out: Tensor) -> Tensor:
    """Weights w = m + ε/√(n s) of every agent, shape (N, d), written to `out` and returned."""
    if not compiled(mean, precision, out):
        return draw_by_torch(mean, precision, data=data, noise=noise, out=out)
    keys, steps = np.asarray(noise.keys), np.asarray(noise.steps, dtype=np.uint32)
    _draw(mean.numpy(), precision.numpy(), out.numpy(), np.float32(data), keys, steps)
    return out


def draw_by_torch(
    mean: Tensor, precision: Tensor, *, data: float, noise: Noise, out: Tensor
) -> Tensor:
    """:func:`draw` in torch's operations."""
    drawn = torch.empty(mean.shape, dtype=torch.float32, device=mean.device)
    noise.normals(drawn)
    fused(_moved, mean)(mean, precision, data, drawn.to(mean), out)
    return out


def _moved(mean: Tensor, precision: Tensor, data: float, drawn: Tensor, out: Tensor) -> None:
    torch.mul(precision, data, out=out)
    out.rsqrt_().mul_(drawn).add_(mean)


def natural_step(
    beliefs: Gaussians,
    gradient: Tensor,
    weights: Tensor,
    step: Natural,
    *,
    cavity: Cavity | None = None,
    following: Noise | None = None,
) -> None:
    """Take a step in place.

    Parameters
    ----------
    gradient
        g at `weights`, shape (N, d).
    weights
        What :func:`draw` or the step before wrote; the next step's, where `following` is given.
    following
        The noise of the next step; left out after the last.
    """
    tensors = [beliefs.mean, beliefs.precision, beliefs.momentum, gradient, weights]
    if cavity is not None:
        tensors += [cavity.total, cavity.gradient, cavity.precision, cavity.mean]
    if not compiled(*tensors):
        by_torch = fused(natural_step_by_torch, weights)
        by_torch(beliefs, gradient, weights, step, cavity=cavity)
        if following is not None:
            now = beliefs.mean, beliefs.precision
            draw_by_torch(*now, data=step.data, noise=following, out=weights)
        return
    nothing = np.zeros((1, 4), dtype=np.uint32)
    keys: UInt32 = nothing if following is None else np.asarray(following.keys)
    steps = nothing[0] if following is None else np.asarray(following.steps, dtype=np.uint32)
    taken = np.asarray(step.steps, dtype=np.float64).reshape(-1)
    correction = numbers(1.0 / (1.0 - step.momentum**taken))
    if cavity is not None:
        correction = correction * numbers(cavity.scale)
    common = [step.momentum, 1.0 - step.momentum, 1.0 - step.memory, step.prior_precision]
    common += [step.least, step.clip, float(step.rate), step.data, float(step.squares)]
    common += [0.0 if cavity is None else cavity.trust]
    arrays: list[Float32] = [t.numpy() for t in tensors]
    # Places of their own: where compiled code sees two tensors overlap, it takes one by one.
    arrays += list(np.empty((9 - len(arrays), len(beliefs.mean), 2 * BLOCK), dtype=np.float32))
    columns = np.stack([numbers(step.weight), correction], axis=1)
    flags = cavity is not None, following is not None
    given: Any = *arrays, columns, np.array(common, dtype=np.float32), *flags, keys, steps
    _step(*given)


def natural_step_by_torch(
    beliefs: Gaussians,
    gradient: Tensor,
    weights: Tensor,
    step: Natural,
    *,
    cavity: Cavity | None = None,
    following: Noise | None = None,
) -> None:
    """:func:`natural_step` in torch's operations."""
    mean, precision, momentum = beliefs.mean, beliefs.precision, beliefs.momentum
    g = gradient * column(step.weight, gradient)
    if step.squares:
        target = (g * gradient).mul_(float(step.squares))
    else:
        target = (weights - mean).mul_(precision).mul_(step.data).mul_(g)
    momentum.mul_(step.momentum).add_(g, alpha=1.0 - step.momentum)
    taken = column(step.steps, mean).double()
    share = 1.0 / (1.0 - step.momentum**taken)
    if cavity is not None:
        share = share * column(cavity.scale, mean).double()
    direction = (momentum * share.to(mean)).add_(mean, alpha=step.prior_precision)
    if cavity is None:
        target.add_(step.least)
    else:
        target.add_(cavity.precision)
        cavity.total.add_(g)
        direction.add_(cavity.gradient)
        held = (cavity.precision - step.least).mul_(mean - cavity.mean)
        direction.add_(held, alpha=cavity.trust)
    move = target.sub_(precision).mul_(1.0 - step.memory)
    precision.add_(torch.maximum(move, precision * -0.5, out=move))
    direction.div_(precision).clamp_(-step.clip, step.clip)
    mean.sub_(direction.mul_(step.rate))
    if following is not None:
        draw_by_torch(mean, precision, data=step.data, noise=following, out=weights)


@numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def _draw(
    mean: Float32, precision: Float32, out: Float32, data: np.float32, keys: UInt32, steps: UInt32
) -> None:
    noise = np.empty(BLOCK, dtype=np.float32)
    for n in range(mean.shape[0]):
        key = (keys[n, 0], keys[n, 1], keys[n, 2], keys[n, 3])
        m, s, w = mean[n], precision[n], out[n]
        for block in range((m.size + BLOCK - 1) // BLOCK):
            block_of_normals(noise, block, steps[n], key)
            first = block * BLOCK
            for k in range(min(BLOCK, m.size - first)):
                w[first + k] = m[first + k] + noise[k] / np.sqrt(data * s[first + k])


# Infinity is allowed as a clip, and NaN must come through: no assumption that there is neither.
_FAST = {"contract", "arcp", "afn", "nsz", "reassoc"}


@numba.njit(fastmath=_FAST, nogil=True, cache=True, error_model="numpy")
def _step(
    mean: Float32,
    precision: Float32,
    momentum: Float32,
    gradient: Float32,
    weights: Float32,
    total: Float32,
    cavity_gradient: Float32,
    cavity_precision: Float32,
    cavity_mean: Float32,
    columns: Float32,
    common: Float32,
    cavity: bool,
    draws: bool,
    keys: UInt32,
    steps: UInt32,
) -> None:
    b1, gain1, gain2, delta, least = common[0], common[1], common[2], common[3], common[4]
    clip, rate, data, squares, trust = common[5], common[6], common[7], common[8], common[9]
    half = np.float32(-0.5)
    noise = np.zeros(BLOCK, dtype=np.float32)
    size = mean.shape[1]
    for n in range(mean.shape[0]):
        a, correction = columns[n, 0], columns[n, 1]
        key = (keys[0, 0], keys[0, 1], keys[0, 2], keys[0, 3])
        if draws:
            key = (keys[n, 0], keys[n, 1], keys[n, 2], keys[n, 3])
        for block in range((size + BLOCK - 1) // BLOCK):
            if draws:
                block_of_normals(noise, block, steps[n], key)
            first = block * BLOCK
            end = min(first + BLOCK, size)
            m, s, u = mean[n, first:end], precision[n, first:end], momentum[n, first:end]
            g, w = gradient[n, first:end], weights[n, first:end]
            c, y = total[n, first:end], cavity_gradient[n, first:end]
            p, start = cavity_precision[n, first:end], cavity_mean[n, first:end]
            for k in range(end - first):
                here = a * g[k]
                prior = least
                moved = gain1 * here + b1 * u[k]
                direction = moved * correction + delta * m[k]
                if cavity:
                    prior = p[k]
                    c[k] += here
                    direction += y[k] + trust * (prior - least) * (m[k] - start[k])
                seen = squares * g[k] if squares > 0 else (w[k] - m[k]) * data * s[k]
                change = gain2 * (here * seen + prior - s[k])
                # A NaN comes through each of these.
                change = half * s[k] if change < half * s[k] else change
                new = s[k] + change
                by = direction / new
                by = clip if by > clip else by
                by = -clip if by < -clip else by
                u[k] = moved
                s[k] = new
                m[k] -= rate * by
                if draws:
                    w[k] = m[k] + noise[k] / np.sqrt(data * new)

"""Mean-field Gaussian beliefs of all agents over the weights of one net.

q_i = N(μ_i, diag(σ_i²)),   natural parameters: precision 1/σ_i² and shift μ_i/σ_i²
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.keeping import load_tensors, save_tensors
from empirical.nets.architecture import Architecture
from theory.validation import as_integer, fail

# Mean-field Gaussian beliefs of all agents over the weights of one net ---------------------------


@dataclass(frozen=True, eq=False)
class Posterior:
    """Gaussians of N agents over d weights, independent in each coordinate.

    The tensors are not copied: training moves them in place.

    Parameters
    ----------
    architecture
        What the weights belong to.
    mean, variance
        Shape (N, d), float32 or float64, on one device; variances are positive.

    Raises
    ------
    ValueError
        If the shapes do not fit each other or the architecture, or an agent's numbers are not
        finite or its variances not positive; the message names the agent.
    """

    architecture: Architecture
    mean: Tensor
    variance: Tensor

    def __post_init__(self) -> None:
        shapes, d = (
            (tuple(self.mean.shape), tuple(self.variance.shape)),
            self.architecture.parameters,
        )
        for name, shape in zip(("mean", "variance"), shapes, strict=True):
            if len(shape) != 2 or shape[1] != d or shape[0] < 1:
                remedy = "give each agent a row, with one entry a weight of the architecture"
                raise fail(name, f"shape (agents, {d})", f"shape {shape}", remedy)
        if shapes[0] != shapes[1]:
            wanted, remedy = f"shape {shapes[0]}, as the mean", "give both for the same agents"
            raise fail("variance", wanted, f"shape {shapes[1]}", remedy)
        self.check("lower the learning rates, or start from smaller weights")

    @property
    def agents(self) -> int:
        """N."""
        return int(self.mean.shape[0])

    @property
    def std(self) -> Tensor:
        """σ, shape (N, d)."""
        return self.variance.sqrt()

    def of(self, agents: Sequence[int]) -> Posterior:
        """The beliefs of some agents, copied."""
        rows = torch.as_tensor(list(agents), device=self.mean.device)
        return Posterior(self.architecture, self.mean[rows], self.variance[rows])

    def check(self, remedy: str) -> None:
        """Refuse numbers that are not finite, and variances not above 0.

        Raises
        ------
        ValueError
            If an agent has some; the message names the first, and the remedy.
        """
        for agent in range(self.agents):
            low, high = torch.aminmax(self.variance[agent])
            # A sum is NaN or infinite if an entry is, at a fraction of the cost of isfinite.
            total = self.mean[agent].abs().sum(dtype=torch.float64)
            if not (low > 0 and torch.isfinite(high) and torch.isfinite(total)):
                wanted = "finite means, and finite variances above 0"
                raise fail("posterior", wanted, f"others at agent {agent}", remedy)


def first_weights(architecture: Architecture, *, seed: int) -> Tensor:
    """Weights to begin from, shape (d,): He's random weights, biases zero.

    A layer's weights are normal with variance 2 / fan_in (He et al. 2015). Agents that pool begin
    at one point, as P2 section 1.4 asks: pooling means of nets that began apart averages unrelated
    features.

    Examples
    --------
    >>> from empirical.nets.architecture import perceptron
    >>> first_weights(perceptron(2, 3, outputs=2), seed=0).shape
    torch.Size([17])
    """
    generator = torch.Generator().manual_seed(as_integer("seed", seed, minimum=0))
    weights = torch.zeros(architecture.parameters)
    for block in architecture.blocks:
        drawn = torch.randn(block.weight.stop - block.weight.start, generator=generator)
        weights[block.weight] = drawn * (2.0 / block.fan_in) ** 0.5
    return weights


def initialisations_apart(architecture: Architecture, agents: int, *, seed: int) -> Tensor:
    """First weights of agents who each begin elsewhere, shape (N, d).

    The first agent has :func:`first_weights` of `seed`; the others' seeds follow from it.
    """
    seeds = [seed]
    for agent in range(1, agents):
        state = np.random.SeedSequence(seed, spawn_key=(agent,)).generate_state(1, np.uint64)
        seeds.append(int(state[0] >> np.uint64(2)))
    return torch.stack([first_weights(architecture, seed=own) for own in seeds])


def kl_divergence(q: Posterior, p: Posterior) -> Tensor:
    """KL(q_i ‖ p_i) of each agent, shape (N,), float64, in nats; exact up to rounding.

        ½ Σ_k [ r_k − 1 − log r_k + (μ_k − m_k)² / s_k² ],   r_k = σ_k² / s_k²

    for q = N(μ, diag σ²) and p = N(m, diag s²).
    """
    if q.mean.shape != p.mean.shape:
        raise fail(
            "p",
            f"beliefs of shape {tuple(q.mean.shape)}, as q's",
            f"shape {tuple(p.mean.shape)}",
            "compare the same agents over the same weights",
        )
    total = torch.empty(q.agents, dtype=torch.float64, device=q.mean.device)
    for agent in range(q.agents):
        prior = p.variance[agent].double()
        ratio = q.variance[agent].double() / prior
        gap = q.mean[agent].double() - p.mean[agent].double()
        total[agent] = 0.5 * (ratio - 1.0 - ratio.log() + gap * gap / prior).sum()
    return total


# Beliefs of all agents on disk, in one file of tensors -------------------------------------------


def save_posterior(path: Path, posterior: Posterior, words: Mapping[str, Any]) -> str:
    """Keep beliefs as two tensors of shape (N, d), ``mean`` and ``variance``.

    Raises
    ------
    ValueError
        As :func:`empirical.keeping.save_tensors`.
    """
    return save_tensors(path, {"mean": posterior.mean, "variance": posterior.variance}, words)


def load_posterior(path: Path, architecture: Architecture) -> Posterior:
    """Read beliefs back, for the architecture they were trained with.

    Raises
    ------
    ValueError
        As :func:`empirical.keeping.load_tensors`, or if the tensors are not those of such beliefs.
    """
    tensors = load_tensors(path).tensors
    if tensors.keys() != {"mean", "variance"}:
        names = ", ".join(sorted(tensors)) or "none"
        raise fail(str(path), "the tensors mean and variance", names, "name a kept posterior")
    return Posterior(architecture, tensors["mean"], tensors["variance"])

"""Bayes by backprop with the last consensus as the prior: the papers' learner.

A belief N(μ, diag σ²) is trained by Adam on L(q) + c KL(q ‖ p), with p the belief after the last
consensus and c = `divergence`/n_i (P1 eq. 5; Blundell et al. 2015). The same data are counted
again in every round (docs: mathematics/bayesian-nets).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from empirical.nets.update import LARGEST_STEP
from empirical.train.learners.averaging import (
    Batch,
    Belief,
    Share,
    State,
    adam,
    at_least_zero,
    below_one,
    one_of,
    words_of,
)
from theory.validation import as_positive


@dataclass(frozen=True)
class Backprop:
    """Bayes by backprop; the numbers of :class:`empirical.nets.recipe.Recipe`.

    Parameters
    ----------
    initial_std
        σ of every weight before round 1. The divergence pulls a mean back to the last consensus by
        `divergence`/(n_i σ²) times its distance: with few data, a small σ allows no step.
    mean_rate, scale_rate
        Adam's rates of the means and of log σ.
    mean_epsilon, scale_epsilon, first_beta, second_beta
        Adam's. A `mean_epsilon` above most gradients makes steps nearly those of momentum SGD; with
        1e-8 all means move equally far, those that only noise moves too.
    divergence
        c n_i, at least 0.
    estimator
        ``"weights"``: one draw of the weights a step; ``"local"``: local reparameterisation where
        the net knows it (else as ``"weights"``).

    Raises
    ------
    ValueError
        If a number is out of range or a word unknown.
    """

    initial_std: float = 0.05
    mean_rate: float = 1e-2
    scale_rate: float = 1e-2
    mean_epsilon: float = 1e-2
    scale_epsilon: float = 1e-8
    first_beta: float = 0.9
    second_beta: float = 0.999
    divergence: float = 1.0
    estimator: Literal["local", "weights"] = "local"

    def __post_init__(self) -> None:
        for name in ("initial_std", "mean_rate", "mean_epsilon", "scale_epsilon"):
            as_positive(name, getattr(self, name))
        at_least_zero("scale_rate", self.scale_rate)
        at_least_zero("divergence", self.divergence)
        below_one("first_beta", self.first_beta)
        below_one("second_beta", self.second_beta)
        one_of("estimator", self.estimator, ("local", "weights"))

    name = "backprop"

    @property
    def vectors(self) -> Mapping[str, int]:
        """Mean, variance and Adam's four; prior, weights and two gradients; precision and shift."""
        return {"kept": 6, "steps": 6, "message": 2}

    words = words_of

    def start(self, weights: Tensor, share: Share) -> State:
        """All weights alike in σ."""
        mean = weights.repeat(len(share.held), 1)
        moments = ("mean_first", "mean_second", "scale_first", "scale_second")
        return {
            "mean": mean,
            "variance": torch.full_like(mean, self.initial_std**2),
            **{name: torch.zeros_like(mean) for name in moments},
        }

    def begin(self, state: State, share: Share) -> State:
        """The prior of this round."""
        mean = state["mean"]
        return {
            "prior_mean": mean.clone(),
            "prior_variance": state["variance"].clone(),
            "weights": torch.empty_like(mean),
            "gradient": torch.empty_like(mean),
            "by_variance": torch.empty_like(mean),
            "weight": (self.divergence / share.held).to(mean),
        }

    def step(self, state: State, work: State, batch: Batch, share: Share) -> Tensor:
        """One step of Adam of means and log σ."""
        mean, variance = state["mean"], state["variance"]
        gradient, scale = work["gradient"], work["by_variance"]
        loss = self._gradient(state, work, batch)
        scale.mul_(variance).mul_(2.0)  # by log σ
        if not batch.first and self.divergence:  # the belief is its own prior at first
            prior, weight = work["prior_variance"], work["weight"]
            gap = torch.sub(mean, work["prior_mean"], out=work["weights"])
            gradient.addcmul_(gap.div_(prior), weight)
            scale.addcmul_(torch.div(variance, prior, out=gap).sub_(1.0), weight)
        betas = self.first_beta, self.second_beta
        if self.scale_rate:
            moments = state["scale_first"], state["scale_second"]
            move = adam(scale, moments, batch.steps, betas=betas, epsilon=self.scale_epsilon)
            move.mul_(-2.0 * self.scale_rate * batch.rate).clamp_(-LARGEST_STEP, LARGEST_STEP)
            variance.mul_(move.exp_())
        moments = state["mean_first"], state["mean_second"]
        move = adam(gradient, moments, batch.steps, betas=betas, epsilon=self.mean_epsilon)
        mean.add_(move, alpha=-self.mean_rate * float(batch.rate))
        return loss

    def _gradient(self, state: State, work: State, batch: Batch) -> Tensor:
        """Losses, and the derivatives by mean and variance."""
        mean, variance = state["mean"], state["variance"]
        gradient, scale = work["gradient"], work["by_variance"]
        if self.estimator == "local":
            loss = batch.local_gradient(mean, variance, (gradient, scale))
            if loss is not None:
                return loss
        noise = batch.normals(mean)
        weights = torch.addcmul(mean, torch.sqrt(variance, out=scale), noise, out=work["weights"])
        loss = batch.gradient(weights, gradient)
        torch.mul(gradient, noise, out=weights)
        torch.mul(weights, torch.rsqrt(variance, out=scale).mul_(0.5), out=scale)
        return loss

    def end(self, state: State, work: State, share: Share) -> None:
        """Does nothing: a round leaves nothing to settle."""

    def message(self, state: State) -> dict[str, Tensor]:
        """Natural parameters: 1/σ² and μ/σ²."""
        precision = state["variance"].reciprocal()
        return {"precision": precision, "shift": precision * state["mean"]}

    def hear(self, state: State, pooled: Mapping[str, Tensor]) -> None:
        """Mean and variance of the product of Gaussians."""
        torch.reciprocal(pooled["precision"], out=state["variance"])
        torch.div(pooled["shift"], pooled["precision"], out=state["mean"])

    def belief(self, state: State) -> Belief:
        """N(μ, diag σ²)."""
        return Belief(state["mean"], state["variance"])

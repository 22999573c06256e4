"""Bayes by backprop: the papers' learner.

A belief N(μ, diag σ²) is trained by Adam on a_i L_i(q) + c_i KL(q ‖ p_i) (Blundell et al. 2015),
L_i the mean loss of a batch. Two priors are offered (docs: mathematics/bayesian-nets):

- the belief after the last consensus (P1 eq. 5): a_i = 1, c_i = `divergence`/n_i. The same data are
  counted again in every round;
- N(0, `prior_std`²) for ever: a_i = n_i/(v_i n), c_i = `divergence`/n, with n_i examples at agent
  i, n in all and v the influence of the agents, in shares of their sum. The network then lowers
  Σ_i v_i (…) = (1/n) [Σ over all data of loss + KL(q ‖ p)]: each datum counts once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from empirical.nets.update import Adam, Tensors, update
from empirical.train.averaging import (
    Belief,
    Learner,
    Share,
    State,
    at_least_zero,
    below_one,
    one_of,
    steps_of,
)
from empirical.train.steps import Steps
from theory.validation import as_positive

# What of a state a step moves, and what of a round's work it reads, in the order of `Tensors`.
_MOVED = ("mean", "variance", "mean_first", "mean_second", "scale_first", "scale_second")
_MOMENTS = _MOVED[2:]


@dataclass(frozen=True)
class Backprop(Learner):
    """Bayes by backprop; one draw of the noise a step.

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
    prior_std
        σ of a prior around 0 that stays; None: the last consensus is the prior.
    forget
        Whether Adam's averages begin anew after each consensus.

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
    prior_std: float | None = None
    forget: bool = False

    def __post_init__(self) -> None:
        for name in ("initial_std", "mean_rate", "mean_epsilon", "scale_epsilon"):
            as_positive(name, getattr(self, name))
        at_least_zero("scale_rate", self.scale_rate)
        at_least_zero("divergence", self.divergence)
        below_one("first_beta", self.first_beta)
        below_one("second_beta", self.second_beta)
        one_of("estimator", self.estimator, ("local", "weights"))
        if self.prior_std is not None:
            as_positive("prior_std", self.prior_std)

    name = "backprop"
    younger = ("prior_std", "forget")

    def start(self, weights: Tensor, share: Share) -> State:
        """All weights alike in σ."""
        mean = weights.expand(len(share.held), -1).clone()
        return {
            "mean": mean,
            "variance": torch.full_like(mean, self.initial_std**2),
            **{name: torch.zeros_like(mean) for name in _MOMENTS},
        }

    def begin(self, state: State, share: Share) -> State:
        """The prior of this round, and the weights a_i and c_i of loss and divergence."""
        if self.forget:
            for name in _MOMENTS:
                state[name].zero_()
        prior = self.prior(Belief(state["mean"], state["variance"]))
        assert prior.variance is not None
        stays = self.prior_std is not None
        return {
            "prior_mean": prior.mean.clone(),
            "prior_variance": prior.variance.clone(),
            "weights": torch.empty_like(prior.mean),
            "gradient": torch.empty_like(prior.mean),
            "by_variance": torch.empty_like(prior.mean),
            "loss_weight": share.weight if stays else torch.ones_like(share.held),
            "divergence_weight": torch.full_like(share.held, self.divergence / share.total)
            if stays
            else self.divergence / share.held,
        }

    def prior(self, before: Belief) -> Belief:
        """What a round's divergence is from, given what is believed before the round."""
        if self.prior_std is None:
            return before
        mean = torch.zeros_like(before.mean)
        return Belief(mean, torch.full_like(mean, self.prior_std**2))

    def step(self, state: State, work: State, batch: Steps, share: Share) -> Tensor:
        """One step of Adam of means and log σ (:mod:`empirical.nets.update`)."""
        tensors: Any = (
            *(state[name] for name in _MOVED), work["prior_mean"], work["prior_variance"],
        )  # fmt: skip
        adam = Adam(
            self.mean_epsilon, self.scale_epsilon, self.first_beta, self.second_beta,
            scales=self.scale_rate > 0.0,
        )  # fmt: skip
        if batch.first:  # of all steps of the round
            work["columns"] = adam.columns(
                steps_of(batch, forget=self.forget),
                mean_rate=self.mean_rate * batch.rate,
                scale_rate=self.scale_rate * batch.rate,
                loss_weight=work["loss_weight"],
                divergence_weight=work["divergence_weight"],
            )
        columns = work["columns"][batch.done - 1]
        # At the first step after a consensus the belief is its own prior: no gradient.
        counts = self.divergence > 0.0 and not (batch.first and self.prior_std is None)
        if self.estimator == "local":
            loss = batch.local_step(tensors, adam, columns, prior=counts)
            if loss is not None:
                return loss
        loss = self._gradient(tensors, work, batch)
        gradients = work["gradient"], work["by_variance"]
        update(tensors, gradients, adam, columns, prior=counts)
        return loss

    def _gradient(self, tensors: Tensors, work: State, batch: Steps) -> Tensor:
        """Losses, and the derivatives by mean and variance."""
        mean, variance = tensors[:2]
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

    def message(self, state: State, into: State | None = None) -> dict[str, Tensor]:
        """Natural parameters: 1/σ² and μ/σ²."""
        precision, shift = (None, None) if into is None else (into["precision"], into["shift"])
        precision = torch.reciprocal(state["variance"], out=precision)
        return {"precision": precision, "shift": torch.mul(precision, state["mean"], out=shift)}

    def hear(self, state: State, pooled: Mapping[str, Tensor]) -> None:
        """Mean and variance of the product of Gaussians."""
        torch.reciprocal(pooled["precision"], out=state["variance"])
        torch.div(pooled["shift"], pooled["precision"], out=state["mean"])

    def belief(self, state: State) -> Belief:
        """N(μ, diag σ²)."""
        return Belief(state["mean"], state["variance"])

"""Averaging: every agent descends on its own data, then weights are averaged.

No belief, no prior. What it converges to is on docs: mathematics/learners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from empirical.kernels.sweeps import adam_step, momentum_step
from empirical.train.learners.checks import below_one, one_of, words_of
from empirical.train.learners.learner import Batch, Belief, Share, State
from theory.validation import as_positive

Weighting = Literal["data", "agents"]


@dataclass(frozen=True)
class Averaging:
    """Stochastic gradient descent with momentum, weights averaged: u ← m u + a_i g, w ← w − r u.

    Parameters
    ----------
    rate
        r, positive.
    momentum
        m, in [0, 1).
    pool_momentum
        Whether u is averaged as well, at twice the bytes; otherwise each agent keeps its own.
    weighting
        ``"data"``: a_i = n_i / (v_i n), so that each datum counts the same; ``"agents"``: a_i = 1,
        so that an agent's mean loss counts by its influence.

    Raises
    ------
    ValueError
        If a number is out of range or a word unknown.
    """

    rate: float = 0.02
    momentum: float = 0.9
    pool_momentum: bool = False
    weighting: Weighting = "data"

    def __post_init__(self) -> None:
        as_positive("rate", self.rate)
        below_one("momentum", self.momentum)
        one_of("weighting", self.weighting, ("data", "agents"))

    name = "averaging"

    @property
    def vectors(self) -> Mapping[str, int]:
        """Weights and momentum; a gradient; one or both of the former."""
        return {"kept": 2, "steps": 1, "message": 2 if self.pool_momentum else 1}

    words = words_of

    def start(self, weights: Tensor, share: Share) -> State:
        """The weights, and no momentum."""
        mean = weights.repeat(len(share.held), 1)
        return {"mean": mean, "momentum": torch.zeros_like(mean)}

    def begin(self, state: State, share: Share) -> State:
        """An empty tensor for the gradient."""
        return {
            "gradient": torch.empty_like(state["mean"]),
            "weight": weight(self.weighting, share, state["mean"]),
        }

    def step(self, state: State, work: State, batch: Batch, share: Share) -> Tensor:
        """One step of descent."""
        gradient, momentum = work["gradient"], state["momentum"]
        loss = batch.gradient(state["mean"], gradient)
        momentum_step(
            state["mean"],
            momentum,
            gradient,
            weight=work["weight"],
            rate=self.rate * batch.rate,
            decay=self.momentum,
        )
        return loss

    def end(self, state: State, work: State, share: Share) -> None:
        """Does nothing: a round leaves nothing to settle."""

    def message(self, state: State) -> dict[str, Tensor]:
        """The weights, and the momentum if it is pooled."""
        names = ("mean", "momentum") if self.pool_momentum else ("mean",)
        return {name: state[name] for name in names}

    def hear(self, state: State, pooled: Mapping[str, Tensor]) -> None:
        """The averages take their place."""
        for name, values in pooled.items():
            state[name].copy_(values)

    def belief(self, state: State) -> Belief:
        """The weights."""
        return Belief(state["mean"], None)


@dataclass(frozen=True)
class AveragingAdam:
    """Adam (Kingma & Ba 2015) on each agent's own data, weights averaged, moments kept.

    Adam's normalisation is not linear: the average of many Adams is no Adam.

    Parameters
    ----------
    rate, first_beta, second_beta, epsilon
        Adam's.
    weighting
        As of :class:`Averaging`; with a small `epsilon` it hardly matters, since Adam takes steps
        of one length whatever a gradient is multiplied by.

    Raises
    ------
    ValueError
        If a number is out of range or a word unknown.
    """

    rate: float = 1e-3
    first_beta: float = 0.9
    second_beta: float = 0.999
    epsilon: float = 1e-8
    weighting: Weighting = "data"

    def __post_init__(self) -> None:
        as_positive("rate", self.rate)
        as_positive("epsilon", self.epsilon)
        below_one("first_beta", self.first_beta)
        below_one("second_beta", self.second_beta)
        one_of("weighting", self.weighting, ("data", "agents"))

    name = "averaging-adam"

    @property
    def vectors(self) -> Mapping[str, int]:
        """Weights and two moments; a gradient; the weights."""
        return {"kept": 3, "steps": 1, "message": 1}

    words = words_of

    def start(self, weights: Tensor, share: Share) -> State:
        """The weights; no moments yet."""
        mean = weights.repeat(len(share.held), 1)
        return {"mean": mean, "first": torch.zeros_like(mean), "second": torch.zeros_like(mean)}

    def begin(self, state: State, share: Share) -> State:
        """An empty tensor for the gradient."""
        return {
            "gradient": torch.empty_like(state["mean"]),
            "weight": weight(self.weighting, share, state["mean"]),
        }

    def step(self, state: State, work: State, batch: Batch, share: Share) -> Tensor:
        """One step of Adam."""
        gradient = work["gradient"]
        loss = batch.gradient(state["mean"], gradient)
        adam_step(
            state["mean"],
            (state["first"], state["second"]),
            gradient,
            weight=work["weight"],
            steps=batch.steps,
            rate=self.rate * batch.rate,
            betas=(self.first_beta, self.second_beta),
            epsilon=self.epsilon,
        )
        return loss

    def end(self, state: State, work: State, share: Share) -> None:
        """Does nothing: a round leaves nothing to settle."""

    def message(self, state: State) -> dict[str, Tensor]:
        """The weights."""
        return {"mean": state["mean"]}

    def hear(self, state: State, pooled: Mapping[str, Tensor]) -> None:
        """The average takes their place."""
        state["mean"].copy_(pooled["mean"])

    def belief(self, state: State) -> Belief:
        """The weights."""
        return Belief(state["mean"], None)


def weight(weighting: Weighting, share: Share, like: Tensor) -> Tensor:
    """a_i, shape (n, 1)."""
    if weighting == "agents":
        return torch.ones_like(share.weight).to(like)
    return share.weight.to(like)


def adam(
    gradient: Tensor,
    moments: tuple[Tensor, Tensor],
    steps: Tensor,
    *,
    betas: tuple[float, float],
    epsilon: float,
) -> Tensor:
    """Adam's direction, its moments moved on in place; `gradient` is overwritten and returned."""
    first, second = moments
    first.mul_(betas[0]).add_(gradient, alpha=1.0 - betas[0])
    second.mul_(betas[1]).addcmul_(gradient, gradient, value=1.0 - betas[1])
    root = torch.mul(second, (1.0 / (1.0 - betas[1] ** steps)).to(gradient), out=gradient)
    root.sqrt_().add_(epsilon)
    torch.div(first, root, out=gradient)
    return gradient.mul_((1.0 / (1.0 - betas[0] ** steps)).to(gradient))

"""Natural-gradient variational learning in the coordinates that pooling is linear in.

The belief of agent i is N(m, diag 1/(n s)), n the number of all data and s its *precision for one
datum*. One gradient a step, at sampled weights w = m + ε/√(n s) (IVON: Shen et al. 2024,
arXiv:2402.17641), with a_i = n_i/(v_i n), prior N(0, 1/(n δ)):

    g  = a_i ∇L(w),     ĥ = g ε √(n s)                                 E[ĥ] is the curvature
    u ← β₁ u + (1 − β₁) g,      s ← s + (1 − β₂)(ĥ + δ − s),
    m ← m − r (u / (1 − β₁^t) + δ m) / s.

So s and s m, which are what is pooled, move linearly in g and ĥ: where all agents hold the same
belief before a step, pooling after it is the same step with the v-weighted means of g and ĥ, the
step of the central learner, and the data of all agents count once (docs: mathematics/learners).
Two guards are not linear, and are idle unless steps are too long: a mean moves by `clip` · r at
most, and a step at most halves a precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from empirical.train.learners.checks import at_most_one, below_one, words_of
from empirical.train.learners.learner import Batch, Belief, Share, State
from theory.validation import as_positive


@dataclass(frozen=True)
class NaturalGradient:
    """Variational learning of one global posterior; each datum counts once.

    Parameters
    ----------
    rate
        r, positive.
    momentum, curvature_memory
        β₁ and β₂, in [0, 1).
    initial_curvature
        s − δ before round 1, positive.
    prior_precision
        δ: the prior's precision for one datum, positive; the prior is N(0, 1/(n δ)).
    clip
        |u/(…) + δ m| / s counts as this at most; positive, infinity for no limit.
    temperature
        Weights are drawn, and believed, with `temperature` times the variance; in (0, 1].

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    rate: float = 0.1
    momentum: float = 0.9
    curvature_memory: float = 0.99999
    initial_curvature: float = 0.3
    prior_precision: float = 1e-4
    clip: float = 0.1
    temperature: float = 1.0

    def __post_init__(self) -> None:
        for name in ("rate", "initial_curvature", "prior_precision"):
            as_positive(name, getattr(self, name))
        check_clip(self.clip)
        below_one("momentum", self.momentum)
        below_one("curvature_memory", self.curvature_memory)
        at_most_one("temperature", self.temperature)

    name = "natural-gradient"

    @property
    def vectors(self) -> Mapping[str, int]:
        """Mean, precision, momentum; weights, gradient and noise; precision and shift."""
        return {"kept": 3, "steps": 4, "message": 2}

    words = words_of

    def start(self, weights: Tensor, share: Share) -> State:
        """Sure of the first weights to the degree that `initial_curvature` says."""
        return begin_belief(weights, share, self.initial_curvature + self.prior_precision)

    def begin(self, state: State, share: Share) -> State:
        """Room for weights and a gradient."""
        return {
            "weights": torch.empty_like(state["mean"]),
            "gradient": torch.empty_like(state["mean"]),
            "weight": share.weight.to(state["mean"]),
        }

    def step(self, state: State, work: State, batch: Batch, share: Share) -> Tensor:
        """One step of the mean and the precision."""
        loss, curvature = sampled(state, work, batch, share.total / self.temperature)
        momentum, mean, precision = state["momentum"], state["mean"], state["precision"]
        momentum.lerp_(work["gradient"], 1.0 - self.momentum)
        forgotten = 1.0 - self.curvature_memory
        target = curvature.add_(self.prior_precision)
        halved = precision * 0.5
        precision.lerp_(target, forgotten)
        torch.maximum(precision, halved, out=precision)
        direction = torch.mul(momentum, corrected(self.momentum, batch, momentum), out=work["gradient"])
        direction.add_(mean, alpha=self.prior_precision)
        descend(mean, direction.div_(precision), self.rate * batch.rate, self.clip)
        return loss

    def end(self, state: State, work: State, share: Share) -> None:
        """Nothing."""

    def message(self, state: State) -> dict[str, Tensor]:
        """Natural parameters for one datum: s and s m."""
        return {"precision": state["precision"], "shift": state["precision"] * state["mean"]}

    def hear(self, state: State, pooled: Mapping[str, Tensor]) -> None:
        """Mean and precision of the product of Gaussians."""
        state["precision"].copy_(pooled["precision"])
        torch.div(pooled["shift"], pooled["precision"], out=state["mean"])

    def belief(self, state: State) -> Belief:
        """N(m, T/(n s))."""
        return gaussian(state, self.temperature)


def begin_belief(weights: Tensor, share: Share, precision: float) -> State:
    """The state of agents who all believe in the first weights, with one precision."""
    mean = weights.repeat(len(share.held), 1)
    scale = torch.full_like(mean, precision)
    # How many data a precision speaks for goes along, so that a belief needs nothing else.
    data = torch.full((len(mean), 1), float(share.total), dtype=mean.dtype, device=mean.device)
    return {"mean": mean, "precision": scale, "momentum": torch.zeros_like(mean), "data": data}


def sampled(state: State, work: State, batch: Batch, data: float) -> tuple[Tensor, Tensor]:
    """Losses at sampled weights, and ĥ; work's gradient becomes g, its weights are overwritten.

    `data` is n over the temperature.
    """
    weights, gradient = work["weights"], work["gradient"]
    noise = batch.normals(state["mean"])
    torch.mul(state["precision"], data, out=weights).rsqrt_().mul_(noise).add_(state["mean"])
    loss = batch.gradient(weights, gradient)
    gradient.mul_(work["weight"])
    curvature = torch.mul(state["precision"], data, out=weights).sqrt_().mul_(noise).mul_(gradient)
    return loss, curvature


def corrected(momentum: float, batch: Batch, like: Tensor) -> Tensor:
    """1 / (1 − β^t), shape (k, 1)."""
    return (1.0 / (1.0 - momentum**batch.steps)).to(like)


def descend(mean: Tensor, direction: Tensor, rate: float, clip: float) -> None:
    """Mean −= rate · direction held within ±clip; `direction` may be overwritten."""
    mean.add_(direction.clamp_(-clip, clip), alpha=-rate)


def gaussian(state: State, temperature: float) -> Belief:
    """N(m, T/(n s)) as a belief."""
    variance = (state["precision"] * (state["data"] / temperature)).reciprocal_()
    return Belief(state["mean"], variance)


def check_clip(clip: float) -> None:
    """Refuse what is no bound; infinity is none and allowed."""
    if clip != float("inf"):
        as_positive("clip", clip)

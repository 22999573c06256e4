"""Natural gradients with sites: every agent divides its own contribution out before it trains.

As partitioned variational inference (Ashman et al. 2022, arXiv:2202.12275) and Bayesian ADMM
(arXiv:2506.13150) do with a server, here on a graph. Each agent remembers its *site*, what its own
data say about the weights around the current belief: a gradient c_i and a curvature h_i, in
units in which the sum over agents is the mean over all data. What reaches everybody by consensus
is the sum,

    y_i ← Σ_j W_ij (y_j + Δc_j / v_j),        s_i ← Σ_j W_ij (s_j + Δh_j / v_j),

so that Σ_i v_i y_i = Σ_j c_j and Σ_i v_i s_i = δ + d + Σ_j h_j at all times, whatever the number of
local steps. With m⁰, s⁰ the belief of the last consensus, g the gradient of a batch's mean loss and
ω_i = n_i/n + κ (1 − n_i/n),

    ω_i g + (y_i − ω_i (n/n_i) c_i) + δ m + τ (1 − κ)(s⁰ − h_i − δ − d)(m − m⁰)

takes the place of a gradient of the whole objective. With κ = 0 that is own data and the *cavity*,
what others last said, as in partitioned variational inference; with κ = 1 own data stand for
theirs, corrected by what they said, as in SCAFFOLD (Karimireddy et al. 2020). Where agents agree
and nothing moves any more, it is the gradient of the whole: the stationary points are those of the
global objective (docs: mathematics/learners), where without sites they depend on the number of
local steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from empirical.kernels.natural_sweep import Cavity
from empirical.train.learners.checks import at_least_zero, words_of
from empirical.train.learners.learner import Batch, Belief, Share, State
from empirical.train.learners.natural_gradient import (
    PRIOR_STD,
    Curvature,
    begin_belief,
    check_settings,
    gaussian,
    least,
    natural,
    natural_descent,
    take_in,
)
from theory.validation import fail


@dataclass(frozen=True)
class Sites:
    """Variational learning of one global posterior, for many local steps.

    Parameters
    ----------
    rate, momentum, curvature_memory, initial_curvature, prior_std, prior_precision
        As of :class:`~empirical.train.learners.natural_gradient.NaturalGradient`.
    curvature, damping, clip, temperature
        Likewise.
    trust
        τ, at least 0: how much of the cavity's curvature holds an agent back; 1 is the cavity
        itself. The fixed point is the same for all.
    standing
        κ, in [0, 1]: how far own data stand for those of others within a round. The fixed point is
        the same for all; an agent with few of the data needs a large one, or it goes a long way by
        others' stale word alone.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    rate: float = 0.3
    momentum: float = 0.9
    curvature_memory: float = 0.99
    initial_curvature: float = 0.03
    prior_std: float = PRIOR_STD
    prior_precision: float | None = None
    curvature: Curvature = "squares"
    damping: float = 0.3
    clip: float = float("inf")
    trust: float = 1.0
    standing: float = 0.25
    temperature: float = 1.0

    def __post_init__(self) -> None:
        check_settings(self)
        at_least_zero("trust", self.trust)
        if not 0.0 <= self.standing <= 1.0:
            raise fail("standing", "a number from 0 to 1", self.standing, "give such a number")

    name = "sites"

    @property
    def vectors(self) -> Mapping[str, int]:
        """What is kept, in memory during steps, and sent, in vectors of d numbers."""
        return {"kept": 6, "steps": 9, "message": 3}

    words = words_of

    def start(self, weights: Tensor, share: Share) -> State:
        """What is believed before round 1 is spread over the sites in the proportion of the data.

        So the first weights' curvature is replaced by that of the data.
        """
        state = begin_belief(weights, share, self.initial_curvature + least(self, share))
        mean = state["mean"]
        site = torch.empty_like(mean).copy_(share.of_data * self.initial_curvature)
        state["site_curvature"] = site
        state["site_gradient"] = torch.zeros_like(mean)
        state["all_gradient"] = torch.zeros_like(mean)
        return state

    def begin(self, state: State, share: Share) -> State:
        """The cavity."""
        mean = state["mean"]
        # ω_i in units of n_i/n, which is what gradients and sites are weighted by.
        scale = (1.0 + self.standing * (1.0 / share.of_data - 1.0)).to(mean)
        return {
            "scale": scale,
            "weights": torch.empty_like(mean),
            "gradient": torch.empty_like(mean),
            "weight": share.of_data.to(mean),
            "total": torch.zeros_like(mean),
            "steps": torch.zeros_like(share.held),
            "first_mean": mean.clone(),
            "first_precision": state["precision"].clone(),
            "cavity_gradient": state["all_gradient"] - scale * state["site_gradient"],
            "cavity_precision": (state["precision"] - state["site_curvature"]).clamp_(
                min=least(self, share)
            ),
        }

    def step(self, state: State, work: State, batch: Batch, share: Share) -> Tensor:
        """One step towards cavity times own data."""
        work["steps"].add_(1.0)
        cavity = Cavity(
            work["total"],
            work["cavity_gradient"],
            work["cavity_precision"],
            work["first_mean"],
            self.trust * (1.0 - self.standing),
            work["scale"],
        )
        return natural_descent(self, state, work, batch, share, cavity)

    def end(self, state: State, work: State, share: Share) -> None:
        """The new site, and the sum that is said: s_i + Δh_i/v_i and y_i + Δc_i/v_i."""
        influence = share.influence.to(state["mean"])
        # The site moves by v_i of what the steps made of it: what is said is then the precision
        # after them, positive whatever happens.
        change = torch.sub(state["precision"], work["first_precision"])
        state["site_curvature"].addcmul_(change, influence)
        site = work["total"].div_(work["steps"].to(state["mean"]))
        change = torch.sub(site, state["site_gradient"], out=change)
        state["all_gradient"].addcdiv_(change, influence.expand_as(change))
        state["site_gradient"].copy_(site)

    def message(self, state: State) -> dict[str, Tensor]:
        """Natural parameters for one datum, s and s m, and y."""
        return {**natural(state), "gradient": state["all_gradient"]}

    def hear(self, state: State, pooled: Mapping[str, Tensor]) -> None:
        """The mean and precision that these are of, and the pooled sum of gradients."""
        take_in(state, pooled)
        state["all_gradient"].copy_(pooled["gradient"])

    def belief(self, state: State) -> Belief:
        """N(m, T/(n s))."""
        return gaussian(state, self.temperature)

"""Natural-gradient variational learning in the coordinates that pooling is linear in.

The belief of agent i is N(m, diag 1/(n s)), n the number of all data and s its *precision for one
datum*. One gradient a step, at sampled weights w = m + ε/√(n s) (IVON: Shen et al. 2024,
arXiv:2402.17641), with a_i = n_i/(v_i n), and the prior N(0, σ₀²) of every weight, which for one
datum has the precision δ = 1/(n σ₀²). With `weighting` "agents" a_i = 1: agents count by influence,
as in social learning over hypotheses.

    g  = a_i ∇L(w),     ĥ = g ε √(n s)    (or  a_i B (∇L(w))², B examples in a batch)
    u ← β₁ u + (1 − β₁) g,      s ← s + (1 − β₂)(ĥ + δ + d − s),
    m ← m − r (u / (1 − β₁^t) + δ m) / s.

The first ĥ has the curvature for its expectation; the second estimates Fisher's information, is
never negative and less noisy. With d = 0 it is the variational posterior; d > 0 keeps steps short
and beliefs narrow where the data say little.

s and s m, which are what is pooled, move linearly in g and ĥ: where all agents hold the same belief
before a step, pooling after it is the same step with the v-weighted means of g and ĥ, the step of
the central learner, and the data of all agents count once (docs: mathematics/learners). Two guards
are not linear, and are idle unless steps are too long: a mean moves by `clip` · r at most, and a
step at most halves a precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from empirical.kernels.natural_sweep import Cavity, Gaussians, Natural, draw, natural_step
from empirical.train.averaging import (
    Belief,
    Learner,
    Share,
    State,
    Weighting,
    at_least_zero,
    at_most_one,
    below_one,
    one_of,
    weight,
)
from empirical.train.steps import Steps
from theory.validation import as_positive, fail

# Natural-gradient variational learning in the coordinates that pooling is linear in --------------


Curvature = Literal["draws", "squares"]

# The prior of who names none; how it was chosen: docs/benchmarks.md, benchmarks/trained.py.
PRIOR_STD = 0.7


class Variational(Learner):
    """What natural gradients with and without sites have in common."""

    rate: float
    momentum: float
    curvature_memory: float
    initial_curvature: float
    prior_std: float
    prior_precision: float | None
    curvature: Curvature
    damping: float
    clip: float
    temperature: float

    def __post_init__(self) -> None:
        for name in ("rate", "initial_curvature", "prior_std"):
            as_positive(name, getattr(self, name))
        if self.prior_precision is not None:
            as_positive("prior_precision", self.prior_precision)
            if self.prior_std != PRIOR_STD:
                got = f"prior_std and prior_precision = {self.prior_precision}"
                raise fail("prior_std", "one prior", got, "leave prior_precision out")
        if self.clip != float("inf"):
            as_positive("clip", self.clip)
        at_least_zero("damping", self.damping)
        below_one("momentum", self.momentum)
        below_one("curvature_memory", self.curvature_memory)
        at_most_one("temperature", self.temperature)
        one_of("curvature", self.curvature, ("draws", "squares"))

    def least(self, share: Share) -> float:
        """δ + d: the precision of what no datum speaks of."""
        return self._prior_for_one(share.total) + self.damping

    def _prior_for_one(self, total: int) -> float:
        """δ: the precision of the prior for one of `total` data."""
        given = self.prior_precision
        return 1.0 / (total * self.prior_std**2) if given is None else given

    def start(self, weights: Tensor, share: Share) -> State:
        """Sure of the first weights to the degree that `initial_curvature` says."""
        mean = weights.expand(len(share.held), -1).clone()
        scale = torch.full_like(mean, self.initial_curvature + self.least(share))
        # How many data a precision speaks for goes along, so that a belief needs nothing else.
        data = torch.full((len(mean), 1), float(share.total), dtype=mean.dtype, device=mean.device)
        return {"mean": mean, "precision": scale, "momentum": torch.zeros_like(mean), "data": data}

    def descend(
        self, state: State, work: State, batch: Steps, share: Share, cavity: Cavity | None = None
    ) -> Tensor:
        """The losses at sampled weights, and the step that they ask for; the next are drawn."""
        weights, gradient = work["weights"], work["gradient"]
        data = share.total / self.temperature
        if batch.first:
            draw(state["mean"], state["precision"], data=data, noise=batch.noise(), out=weights)
        loss = batch.gradient(weights, gradient)
        step = Natural(
            rate=self.rate * batch.rate,
            momentum=self.momentum,
            memory=self.curvature_memory,
            prior_precision=self._prior_for_one(share.total),
            damping=self.damping,
            clip=self.clip,
            data=data,
            weight=work["weight"],
            steps=batch.steps,
            squares=batch.size if self.curvature == "squares" else 0,
        )
        beliefs = Gaussians(state["mean"], state["precision"], state["momentum"])
        natural_step(
            beliefs, gradient, weights, step, cavity=cavity, following=batch.noise(ahead=1)
        )
        return loss

    def message(self, state: State, into: State | None = None) -> dict[str, Tensor]:
        """Natural parameters for one datum: s and s m."""
        shift = None if into is None else into["shift"]
        precision = state["precision"]
        return {"precision": precision, "shift": torch.mul(precision, state["mean"], out=shift)}

    def hear(self, state: State, pooled: Mapping[str, Tensor]) -> None:
        """The mean and precision that these are natural parameters of."""
        torch.div(pooled["shift"], pooled["precision"], out=state["mean"])
        state["precision"].copy_(pooled["precision"])

    def belief(self, state: State) -> Belief:
        """N(m, T/(n s))."""
        variance = (state["precision"] * (state["data"] / self.temperature)).reciprocal_()
        return Belief(state["mean"], variance)


@dataclass(frozen=True)
class NaturalGradient(Variational):
    """Variational learning of one global posterior.

    Parameters
    ----------
    rate
        r, positive.
    momentum, curvature_memory
        β₁ and β₂, in [0, 1).
    initial_curvature
        s − δ − d before round 1, positive.
    prior_std
        σ₀: standard deviation of the prior of every weight, around 0; positive.
    prior_precision
        δ in place of 1/(n σ₀²), positive: a prior that narrows as data grow; None: `prior_std`.
    curvature
        ``"draws"`` or ``"squares"``: the first or the second ĥ.
    damping
        d, at least 0: how much surer agents are of every weight than prior and data make them.
    clip
        |u/(…) + δ m| / s counts as this at most; positive, infinity for no limit.
    temperature
        Weights are drawn, and believed, with `temperature` times the variance; in (0, 1].
    weighting
        As of :class:`~empirical.train.averaging.Averaging`: ``"data"``, each datum counts
        once, or ``"agents"``.

    Raises
    ------
    ValueError
        If a number is out of range, or a word unknown.
    """

    rate: float = 0.1
    momentum: float = 0.9
    curvature_memory: float = 0.99999
    initial_curvature: float = 0.3
    prior_std: float = PRIOR_STD
    prior_precision: float | None = None
    curvature: Curvature = "draws"
    damping: float = 0.0
    clip: float = 0.1
    temperature: float = 1.0
    weighting: Weighting = "data"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("weighting", self.weighting, ("data", "agents"))

    name = "natural-gradient"

    def begin(self, state: State, share: Share) -> State:
        """Empty tensors for weights and a gradient."""
        return {
            "weights": torch.empty_like(state["mean"]),
            "gradient": torch.empty_like(state["mean"]),
            "weight": weight(self.weighting, share, state["mean"]),
        }

    def step(self, state: State, work: State, batch: Steps, share: Share) -> Tensor:
        """One step of the mean and the precision."""
        return self.descend(state, work, batch, share)


# Natural gradients with sites --------------------------------------------------------------------


@dataclass(frozen=True)
class Sites(Variational):
    """Variational learning of one global posterior, for many local steps.

    Parameters
    ----------
    rate, momentum, curvature_memory, initial_curvature, prior_std, prior_precision
        As of :class:`~empirical.train.natural_gradient.NaturalGradient`.
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
        super().__post_init__()
        at_least_zero("trust", self.trust)
        if not 0.0 <= self.standing <= 1.0:
            raise fail("standing", "a number from 0 to 1", self.standing, "give such a number")

    name = "sites"

    def start(self, weights: Tensor, share: Share) -> State:
        """What is believed before round 1 is spread over the sites in the proportion of the data.

        So the first weights' curvature is replaced by that of the data.
        """
        state = super().start(weights, share)
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
                min=self.least(share)
            ),
        }

    def step(self, state: State, work: State, batch: Steps, share: Share) -> Tensor:
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
        return self.descend(state, work, batch, share, cavity)

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

    def message(self, state: State, into: State | None = None) -> dict[str, Tensor]:
        """Natural parameters for one datum, s and s m, and y."""
        return {**super().message(state, into), "gradient": state["all_gradient"]}

    def hear(self, state: State, pooled: Mapping[str, Tensor]) -> None:
        """The mean and precision that these are of, and the pooled sum of gradients."""
        super().hear(state, pooled)
        state["all_gradient"].copy_(pooled["gradient"])

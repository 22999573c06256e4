"""Averaging: every agent descends on its own data, then weights are averaged.

No belief, no prior. What it converges to is on docs: mathematics/learners.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, cast

import torch
from torch import Tensor

from empirical.kernels.sweeps import adam_step, momentum_step
from empirical.train.steps import Steps
from theory.validation import as_positive, fail

# What a learner has to say -----------------------------------------------------------------------


# An agent's tensors by name, one row for each agent: what a learner keeps from round to round.
State = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Share:
    """What each of n agents has of the data and of the influence, in columns of shape (n, 1).

    Attributes
    ----------
    held
        n_i: how many examples the agent holds.
    influence
        v_i, in shares: over all agents of the run they sum to one.
    total
        n: how many examples all agents of the run hold.
    """

    held: Tensor
    influence: Tensor
    total: int

    @property
    def of_data(self) -> Tensor:
        """n_i / n."""
        return self.held / self.total

    @property
    def weight(self) -> Tensor:
        """a_i = n_i / (v_i n): with it Σ_i v_i a_i L_i is the mean loss of all data."""
        return self.of_data / self.influence

    def of(self, rows: slice | Tensor) -> Share:
        """Those of some of the agents."""
        return Share(self.held[rows], self.influence[rows], self.total)

    def to(self, device: str) -> Share:
        """The same on a device."""
        return Share(self.held.to(device), self.influence.to(device), self.total)


@dataclass(frozen=True, eq=False)
class Belief:
    """What n agents believe of the weights.

    Attributes
    ----------
    mean
        Shape (n, d).
    variance
        Shape (n, d); None for learners that keep none.
    """

    mean: Tensor
    variance: Tensor | None

    def copy(self) -> Belief:
        """The same in tensors of its own."""
        variance = None if self.variance is None else self.variance.clone()
        return Belief(self.mean.clone(), variance)

    def of(self, agents: Sequence[int]) -> Belief:
        """That of some agents, copied."""
        rows = torch.as_tensor(list(agents), device=self.mean.device)
        return Belief(self.mean[rows], None if self.variance is None else self.variance[rows])

    def divergence(self, prior: Belief) -> Tensor:
        """KL(q_i ‖ p_i) of each agent, shape (n,), float64, in nats; exact up to rounding.

            ½ Σ_k [ r_k − 1 − log r_k + (μ_k − m_k)² / s_k² ],   r_k = σ_k² / s_k²

        for q = N(μ, diag σ²) and the prior p = N(m, diag s²).
        """
        assert self.variance is not None
        assert prior.variance is not None
        total = torch.empty(len(self.mean), dtype=torch.float64, device=self.mean.device)
        for agent, variance in enumerate(self.variance):
            narrow = prior.variance[agent].double()
            ratio = variance.double() / narrow
            gap = self.mean[agent].double() - prior.mean[agent].double()
            total[agent] = 0.5 * (ratio - 1.0 - ratio.log() + gap * gap / narrow).sum()
        return total


class Learner(ABC):
    """How agents learn: settings alone, no state.

    A round of an agent is :meth:`begin`, its local steps, :meth:`end`; then all agents'
    :meth:`message` are pooled and :meth:`hear` takes in the result. An agent that rests does
    neither begin nor step.
    """

    # One of LEARNERS.
    name: ClassVar[str]

    younger: ClassVar[tuple[str, ...]] = ()
    """Settings that records name only where they are not as they are by default."""

    def words(self) -> dict[str, Any]:
        """All settings in plain values, after the name: JSON, kept in records; None for infinity.

        Of the two ways to give a prior the one that counts.
        """
        found = asdict(cast(Any, self))
        if "prior_precision" in found:
            del found["prior_precision" if found["prior_precision"] is None else "prior_std"]
        plain = {
            name: None if value == math.inf else value
            for name, value in found.items()
            if name not in self.younger or value != getattr(type(self), name)
        }
        return {"learner": self.name, **plain}

    @abstractmethod
    def start(self, weights: Tensor, share: Share) -> State:
        """Before round 1, with these weights: shape (d,) for every agent alike, or (n, d)."""

    @abstractmethod
    def begin(self, state: State, share: Share) -> State:
        """What the coming local steps need besides the state; forgotten after the round."""

    @abstractmethod
    def step(self, state: State, work: State, batch: Steps, share: Share) -> Tensor:
        """One step of every agent, in place; the losses, shape (k,)."""

    def end(self, state: State, work: State, share: Share) -> None:  # noqa: B027  # most leave it
        """What follows the last local step of a round, in place; by default nothing."""

    @abstractmethod
    def message(self, state: State, into: State | None = None) -> dict[str, Tensor]:
        """What agents say, in coordinates that pooling is linear in; may be views of the state.

        `into` is an earlier message, which may be overwritten: fresh memory costs more than the
        sums.
        """

    @abstractmethod
    def hear(self, state: State, pooled: Mapping[str, Tensor]) -> None:
        """Take in Σ_j W_ij (message of j), in place."""

    @abstractmethod
    def belief(self, state: State) -> Belief:
        """Mean and variance of the weights; the mean is a view of the state."""


# Checks that the settings of learners share ------------------------------------------------------


def below_one(name: str, value: float) -> None:
    """Refuse what is not in [0, 1)."""
    if not 0.0 <= value < 1.0:
        raise fail(name, "a number of at least 0 and below 1", value, "give such a number")


def at_most_one(name: str, value: float) -> None:
    """Refuse what is not in (0, 1]."""
    if not 0.0 < value <= 1.0:
        raise fail(name, "a number above 0 and at most 1", value, "give such a number")


def at_least_zero(name: str, value: float) -> None:
    """Refuse what is negative or not finite."""
    if not (math.isfinite(value) and value >= 0.0):
        raise fail(name, "a finite number of at least 0", value, "give such a number")


def one_of(name: str, value: str, words: Sequence[str]) -> None:
    """Refuse an unknown word."""
    if value not in words:
        raise fail(name, " or ".join(map(repr, words)), repr(value), "choose one of them")


# Averaging ---------------------------------------------------------------------------------------


Weighting = Literal["data", "agents"]


class Averaged(Learner):
    """What learners have in common whose weights are averaged, and who keep no belief."""

    weighting: Weighting

    def begin(self, state: State, share: Share) -> State:
        """An empty tensor for the gradient."""
        return {
            "gradient": torch.empty_like(state["mean"]),
            "weight": weight(self.weighting, share, state["mean"]),
        }

    def message(self, state: State, into: State | None = None) -> dict[str, Tensor]:
        """The weights."""
        return {"mean": state["mean"]}

    def hear(self, state: State, pooled: Mapping[str, Tensor]) -> None:
        """The averages take their place."""
        for name, values in pooled.items():
            state[name].copy_(values)

    def belief(self, state: State) -> Belief:
        """The weights."""
        return Belief(state["mean"], None)


@dataclass(frozen=True)
class Averaging(Averaged):
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

    def start(self, weights: Tensor, share: Share) -> State:
        """The weights, and no momentum."""
        mean = weights.expand(len(share.held), -1).clone()
        return {"mean": mean, "momentum": torch.zeros_like(mean)}

    def step(self, state: State, work: State, batch: Steps, share: Share) -> Tensor:
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

    def message(self, state: State, into: State | None = None) -> dict[str, Tensor]:
        """The weights, and the momentum if it is pooled."""
        names = ("mean", "momentum") if self.pool_momentum else ("mean",)
        return {name: state[name] for name in names}


@dataclass(frozen=True)
class AveragingAdam(Averaged):
    """Adam (Kingma & Ba 2015) on each agent's own data, weights averaged, moments kept.

    Adam's normalisation is not linear: the average of many Adams is no Adam.

    Parameters
    ----------
    rate, first_beta, second_beta, epsilon
        Adam's.
    weighting
        As of :class:`Averaging`; with a small `epsilon` it hardly matters, since Adam takes steps
        of one length whatever a gradient is multiplied by.
    forget
        Whether the moments begin anew after each consensus.

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
    forget: bool = False

    def __post_init__(self) -> None:
        as_positive("rate", self.rate)
        as_positive("epsilon", self.epsilon)
        below_one("first_beta", self.first_beta)
        below_one("second_beta", self.second_beta)
        one_of("weighting", self.weighting, ("data", "agents"))

    name = "averaging-adam"
    younger = ("forget",)

    def start(self, weights: Tensor, share: Share) -> State:
        """The weights; no moments yet."""
        mean = weights.expand(len(share.held), -1).clone()
        return {"mean": mean, "first": torch.zeros_like(mean), "second": torch.zeros_like(mean)}

    def begin(self, state: State, share: Share) -> State:
        """An empty tensor for the gradient, and moments that begin anew if they do."""
        if self.forget:
            state["first"].zero_(), state["second"].zero_()
        return super().begin(state, share)

    def step(self, state: State, work: State, batch: Steps, share: Share) -> Tensor:
        """One step of Adam."""
        gradient = work["gradient"]
        loss = batch.gradient(state["mean"], gradient)
        steps = torch.full_like(batch.steps, batch.done) if self.forget else batch.steps
        adam_step(
            state["mean"],
            (state["first"], state["second"]),
            gradient,
            weight=work["weight"],
            steps=steps,
            rate=self.rate * batch.rate,
            betas=(self.first_beta, self.second_beta),
            epsilon=self.epsilon,
        )
        return loss


def weight(weighting: Weighting, share: Share, like: Tensor) -> Tensor:
    """a_i, shape (n, 1)."""
    if weighting == "agents":
        return torch.ones_like(share.weight).to(like)
    return share.weight.to(like)


def steps_of(batch: Steps, *, forget: bool) -> Tensor:
    """How many steps Adam's moments have seen at each step of a round, shape (steps, k, 1).

    Parameters
    ----------
    batch
        At the first of them.
    forget
        Whether moments begin anew in the round.
    """
    before = torch.zeros_like(batch.steps) if forget else batch.steps - 1.0
    ahead = torch.arange(1, batch.count + 1, dtype=before.dtype, device=before.device)
    return before + ahead[:, None, None]

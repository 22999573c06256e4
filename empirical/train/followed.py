"""What can be followed over rounds: a network in training, agents alone, a server with clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from empirical.nets.architecture import Architecture
from empirical.nets.posterior import Posterior, kl_divergence
from empirical.train.fedavg import FedAvg
from empirical.train.learners.averaging import Belief
from empirical.train.learners.backprop import Backprop
from empirical.train.run import TrainingRun
from theory.validation import FloatArray, fail

# σ of a net that is a point; predictions are made by its means alone.
POINT_STD = 1e-12


@dataclass(frozen=True, eq=False)
class Step:
    """What one round did.

    Attributes
    ----------
    loss
        Mean −log ℓ over each learner's batches, nats; NaN for who rested.
    divergence
        KL of each one's belief before the consensus from its prior of the round, nats; None where
        it was not asked for, or there are no beliefs.
    local_steps, bytes_sent, seconds
        Of the round: steps of all together, bytes over all links, seconds of work.
    before
        The beliefs before the consensus, of the agents asked for; None: nobody was, or there is
        no consensus.
    """

    loss: FloatArray
    divergence: FloatArray | None
    local_steps: int
    bytes_sent: int
    seconds: float
    before: Posterior | None


class Followed(Protocol):
    """What trains in rounds and has beliefs that can be measured."""

    @property
    def round(self) -> int:
        """How many rounds are done."""
        ...

    @property
    def posterior(self) -> Posterior:
        """The beliefs after them; a copy is not made."""
        ...

    @property
    def is_point(self) -> bool:
        """Whether the beliefs are single nets, of which samples say nothing more."""
        ...

    def advance(self, *, before: Sequence[int] = ()) -> Step:
        """The next round; `before` names agents whose beliefs before the consensus are wanted."""
        ...

    def state(self) -> dict[str, Tensor]:
        """All that the rest of the run depends on."""
        ...

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there."""
        ...


def posterior_of(belief: Belief, architecture: Architecture) -> Posterior:
    """Beliefs as evaluations take them; single nets have next to no width."""
    variance = belief.variance
    if variance is None:
        variance = torch.full_like(belief.mean, POINT_STD**2)
    return Posterior(architecture, belief.mean, variance)


class Together:
    """The agents of a network, by their training.

    Parameters
    ----------
    run, architecture
        The training, before its first round, and the net that it trains.
    """

    def __init__(self, run: TrainingRun, architecture: Architecture) -> None:
        self._run, self._architecture = run, architecture

    @property
    def round(self) -> int:
        """How many rounds are done."""
        return self._run.round

    @property
    def posterior(self) -> Posterior:
        """Of all agents, after the last consensus."""
        return posterior_of(self._run.belief(), self._architecture)

    @property
    def is_point(self) -> bool:
        """Whether nets are averaged, and not beliefs."""
        return self._run.belief().variance is None

    def advance(self, *, before: Sequence[int] = ()) -> Step:
        """Local steps, then consensus."""
        run, learner = self._run, self._run.learner
        local: list[Posterior] = []
        divergence: FloatArray | None = None
        prior: Belief | None = None
        if before and isinstance(learner, Backprop):
            prior = learner.prior(run.belief()).copy()

        def look(belief: Belief) -> None:
            nonlocal divergence
            now = posterior_of(belief, self._architecture)
            local.append(now.of(before))
            if prior is not None:
                first = posterior_of(prior, self._architecture)
                divergence = np.asarray(kl_divergence(now, first).cpu().numpy())

        report = run.run_round(before=look if before else None)
        return Step(
            report.loss, divergence, report.local_steps, report.bytes_sent, report.seconds,
            local[0] if local else None,
        )  # fmt: skip

    def state(self) -> dict[str, Tensor]:
        """That of the training."""
        return self._run.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there."""
        self._run.restore(state)


class Alone:
    """Agents that never hear of each other, each followed by itself.

    Parameters
    ----------
    agents
        One each, before the same round.
    """

    def __init__(self, agents: Sequence[Together]) -> None:
        self._agents = tuple(agents)
        if not self._agents or any(one.posterior.agents != 1 for one in self._agents):
            raise fail(
                "agents",
                "trainings of one agent each",
                [one.posterior.agents for one in self._agents],
                "make one for each agent, with its own share",
            )

    @property
    def round(self) -> int:
        """How many rounds are done."""
        return self._agents[0].round

    @property
    def posterior(self) -> Posterior:
        """Of all of them."""
        beliefs = [one.posterior for one in self._agents]
        return Posterior(
            beliefs[0].architecture,
            torch.cat([one.mean for one in beliefs]),
            torch.cat([one.variance for one in beliefs]),
        )

    @property
    def is_point(self) -> bool:
        """Whether single nets are trained."""
        return self._agents[0].is_point

    def advance(self, *, before: Sequence[int] = ()) -> Step:
        """The next round of each; nothing is sent."""
        steps = [one.advance(before=(0,) if before else ()) for one in self._agents]
        divergences = [step.divergence for step in steps if step.divergence is not None]
        return Step(
            np.concatenate([step.loss for step in steps]),
            np.concatenate(divergences) if divergences else None,
            sum(step.local_steps for step in steps),
            0,
            sum(step.seconds for step in steps),
            None,
        )

    def state(self) -> dict[str, Tensor]:
        """Those of the agents, each under its number."""
        return {
            f"{agent}.{name}": tensor
            for agent, one in enumerate(self._agents)
            for name, tensor in one.state().items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there."""
        for agent, one in enumerate(self._agents):
            head = f"{agent}."
            one.restore({k.removeprefix(head): v for k, v in state.items() if k.startswith(head)})


class Server:
    """A server that averages what clients return, by its :class:`~empirical.train.fedavg.FedAvg`.

    Its net is the one learner that is measured.
    """

    def __init__(self, run: FedAvg) -> None:
        self._run = run

    @property
    def round(self) -> int:
        """How many rounds are done."""
        return self._run.round

    @property
    def posterior(self) -> Posterior:
        """The net it gives out, as a belief of next to no width."""
        return posterior_of(Belief(self._run.served[None], None), self._run.architecture)

    @property
    def is_point(self) -> bool:
        """It is."""
        return True

    def advance(self, *, before: Sequence[int] = ()) -> Step:
        """A round of some clients; the loss is the mean of theirs."""
        report = self._run.run_round()
        return Step(
            np.array([float(report.loss.mean())]),
            None,
            report.local_steps,
            report.bytes_sent,
            report.seconds,
            None,
        )

    def state(self) -> dict[str, Tensor]:
        """That of the run."""
        return self._run.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there."""
        self._run.restore(state)

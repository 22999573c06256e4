"""What can be followed over rounds: a network in training, agents alone, a server with clients."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from empirical.nets.fedavg import FedAvg
from empirical.nets.posterior import Posterior
from empirical.nets.training import Training
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


class Learner(Protocol):
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


class Together:
    """The agents of a network, by their :class:`~empirical.nets.training.Training`."""

    def __init__(self, training: Training) -> None:
        self._training = training

    @property
    def round(self) -> int:
        """How many rounds are done."""
        return self._training.round

    @property
    def posterior(self) -> Posterior:
        """Of all agents, after the last consensus."""
        return self._training.posterior

    @property
    def is_point(self) -> bool:
        """Whether the recipe averages nets instead of beliefs."""
        return self._training.recipe.estimator == "point"

    def advance(self, *, before: Sequence[int] = ()) -> Step:
        """Local steps, then consensus."""
        training = self._training
        begin = time.perf_counter()
        loss, steps = training.local_phase()
        seconds = time.perf_counter() - begin
        local = training.posterior.of(before) if before else None
        divergence = training.divergence() if before and not self.is_point else None
        begin = time.perf_counter()
        sent = training.pool()
        seconds += time.perf_counter() - begin
        return Step(loss, divergence, steps, sent, seconds, local)

    def state(self) -> dict[str, Tensor]:
        """That of the training."""
        return self._training.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there."""
        self._training.restore(state)


class Alone:
    """Learners that never hear of each other, each a training of one agent.

    Parameters
    ----------
    trainings
        Of one agent each, of one architecture, before the same round.
    """

    def __init__(self, trainings: Sequence[Training]) -> None:
        self._trainings = tuple(trainings)
        if not self._trainings or any(one.posterior.agents != 1 for one in self._trainings):
            raise fail(
                "trainings",
                "trainings of one agent each",
                [one.posterior.agents for one in self._trainings],
                "make one for each agent, with its own share",
            )

    @property
    def round(self) -> int:
        """How many rounds are done."""
        return self._trainings[0].round

    @property
    def posterior(self) -> Posterior:
        """Of all of them."""
        return _stacked([one.posterior for one in self._trainings])

    @property
    def is_point(self) -> bool:
        """Whether the recipe trains single nets."""
        return self._trainings[0].recipe.estimator == "point"

    def advance(self, *, before: Sequence[int] = ()) -> Step:
        """The next round of each; nothing is sent."""
        steps = [Together(one).advance(before=(0,) if before else ()) for one in self._trainings]
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
        """Those of the trainings, each under its number."""
        return {
            f"{agent}.{name}": tensor
            for agent, one in enumerate(self._trainings)
            for name, tensor in one.state().items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there."""
        for agent, one in enumerate(self._trainings):
            head = f"{agent}."
            one.restore({k.removeprefix(head): v for k, v in state.items() if k.startswith(head)})


class Server:
    """A server that averages what clients return, by its :class:`~empirical.nets.fedavg.FedAvg`.

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
        mean = self._run.served[None]
        variance = torch.full_like(mean, POINT_STD**2)
        return Posterior(self._run.architecture, mean, variance)

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


def _stacked(beliefs: Sequence[Posterior]) -> Posterior:
    return Posterior(
        beliefs[0].architecture,
        torch.cat([one.mean for one in beliefs]),
        torch.cat([one.variance for one in beliefs]),
    )

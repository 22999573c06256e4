"""One agent of a :class:`~empirical.nets.training.Training`: by a recipe of the papers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from empirical.live.agent import Said
from empirical.nets.architecture import Architecture
from empirical.nets.messages import Natural
from empirical.nets.pooling import WeightRows, pool_heard
from empirical.nets.posterior import Posterior
from empirical.nets.recipe import Recipe
from empirical.nets.shares import Shares
from empirical.nets.training import Training
from empirical.train.learners.learner import Belief
from theory.network import Network
from theory.validation import as_integer, fail


class RecipeAgent:
    """One agent, between two rounds.

    Parameters
    ----------
    agent
        Its number.
    shares
        Its own examples, and how many the others hold (:func:`empirical.live.agent.own_share`).
    network, recipe, architecture, seed
        As of the training of all agents.

    Raises
    ------
    ValueError
        As :class:`~empirical.nets.training.Training`; or if the recipe averages nets.
    """

    def __init__(
        self,
        agent: int,
        shares: Shares,
        network: Network,
        recipe: Recipe,
        *,
        architecture: Architecture,
        seed: int,
    ) -> None:
        if recipe.estimator == "point":
            raise fail("estimator", "beliefs, which are said", "'point'", "take 'local'")
        self.agent = as_integer("agent", agent, minimum=0, maximum=network.agents - 1)
        self._consensus = _OneRow(self.agent, network.agents)
        self._training = Training(
            shares, network, recipe, architecture=architecture, seed=seed, consensus=self._consensus
        )
        self.begin: Said = self._message()

    @property
    def round(self) -> int:
        """The round that began last, from 1; 0 before the first."""
        return self._training.round

    @property
    def posterior(self) -> Posterior:
        """The belief, as evaluations take it."""
        return self._training.posterior

    def learn(self) -> Said:
        """The local steps of the next round; precisions and shifts.

        Raises
        ------
        TrainingFailed
            If a loss or a belief is not finite any more.
        """
        self._training.local_phase()
        return self._message()

    def pool(self, heard: Mapping[int, Said], weights: Mapping[int, float]) -> None:
        """End the round (:class:`~empirical.live.agent.AgentTraining`)."""
        self._consensus.take(heard, weights)
        self._training.pool()

    def skip(self, round: int) -> None:
        """Be away until the end of a round, which is not before the last one."""
        self._training.round = as_integer("round", round, minimum=self._training.round)

    def belief(self) -> Belief:
        """Mean and variance of the weights, shape (1, d); views."""
        return Belief(self.posterior.mean, self.posterior.variance)

    def state(self) -> dict[str, Tensor]:
        """That of the training."""
        return self._training.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there.

        Raises
        ------
        ValueError
            If a tensor is missing or of another shape.
        """
        self._training.restore(state)

    def _message(self) -> dict[str, Tensor]:
        natural = Natural.from_moments(self.posterior.mean[0], self.posterior.variance[0])
        natural.check(agents=[self.agent], round=self.round)
        return {"precision": natural.precision, "shift": natural.shift}


class _OneRow:
    """Pools what it was given, for one agent (:class:`empirical.nets.consensus.RoundPooling`)."""

    def __init__(self, agent: int, agents: int) -> None:
        self.own = range(agent, agent + 1)
        self._agents = agents
        self._heard: Mapping[int, Said] = {}
        self._weights: Mapping[int, float] = {agent: 1.0}

    def take(self, heard: Mapping[int, Said], weights: Mapping[int, float]) -> None:
        """What the next pooling is of."""
        self._heard, self._weights = heard, weights

    def observes(self, round: int) -> tuple[bool, ...]:
        """It does, in every round."""
        return (True,)

    def collect(self, rows: Tensor) -> Tensor:
        """The agent's own row for everybody's: nobody is asked."""
        return rows.expand(self._agents, *rows.shape[1:])

    def pool_in_place(self, mean: Tensor, variance: Tensor, *, round: int) -> int:
        """See :class:`empirical.nets.consensus.RoundPooling`; the caller counts the bytes."""
        agent = self.own.start
        speakers = sorted(j for j, weight in self._weights.items() if j != agent and weight > 0)
        row = WeightRows(
            self._agents,
            self.own,
            np.array([self._weights.get(agent, 0.0)]),
            np.array([0, len(speakers)]),
            np.array(speakers, dtype=np.int64),
            np.array([self._weights[j] for j in speakers], dtype=np.float64),
        )
        shape = len(speakers), mean.shape[1]
        heard = Natural(*(mean.new_empty(shape) for _ in range(2)))
        for k, j in enumerate(speakers):
            heard.precision[k] = self._heard[j]["precision"]
            heard.shift[k] = self._heard[j]["shift"]
        pool_heard(row, mean, variance, heard, round=round, out=(mean, variance))
        return 0

    def state(self) -> dict[str, Tensor]:
        """Nothing."""
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Nothing."""

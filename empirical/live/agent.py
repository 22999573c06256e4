"""What one agent that trains a net has to say, whichever engine trains it.

A round of an agent is :meth:`AgentTraining.learn`, its local steps, and :meth:`AgentTraining.pool`,
with the messages that it has. With the messages of its neighbours of the same round and the
network's weights, the beliefs are those of the run of all agents in one process, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.nets.architecture import Architecture
from empirical.nets.consensus import Heard
from empirical.nets.descent import Shares
from empirical.nets.pooling import Message, Natural, WeightRows, pool_heard
from empirical.nets.posterior import Posterior
from empirical.nets.recipe import Recipe
from empirical.nets.training import Training
from empirical.train.learners.averaging import Belief
from empirical.train.plan import TrainingPlan
from empirical.train.pooling import sum_in_turn
from empirical.train.run import TrainingRun
from theory.network import Network
from theory.validation import as_integer, fail

# What one agent that trains a net has to say, whichever engine trains it -------------------------


# One message: float32 vectors of shape (d,) by name.
Said = Mapping[str, Tensor]


class AgentTraining(Protocol):
    """One agent's training, between two rounds."""

    @property
    def agent(self) -> int:
        """Its number in the network."""
        ...

    @property
    def round(self) -> int:
        """The round that began last, from 1; 0 before the first."""
        ...

    @property
    def begin(self) -> Said:
        """What every agent says of round 0: what all begin with."""
        ...

    def learn(self) -> Said:
        """The local steps of the next round, and what is then said.

        Raises
        ------
        TrainingFailed
            If a loss or a belief is not finite any more; the message names agent and round.
        """
        ...

    def pool(self, heard: Mapping[int, Said], weights: Mapping[int, float]) -> None:
        """End the round.

        Parameters
        ----------
        heard
            Messages by sender, of all senders with a weight but the agent itself.
        weights
            Positive weights by sender, the agent's own among them; they sum to one.
        """
        ...

    def skip(self, round: int) -> None:
        """Be away until the end of a round, which is not before the last one."""
        ...

    def belief(self) -> Belief:
        """Mean and variance of the weights, shape (1, d)."""
        ...

    def state(self) -> dict[str, Tensor]:
        """All that the rest depends on, between two rounds; views, not copies."""
        ...

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`, bit for bit.

        Raises
        ------
        ValueError
            If a tensor is missing or of another shape.
        """
        ...


def vectors(arrays: Mapping[str, NDArray[Any]]) -> Said:
    """Tensors with memory of their own, from arrays that may be read-only."""
    return {name: torch.from_numpy(np.array(values)) for name, values in arrays.items()}


def use_one_thread() -> None:
    """Let torch use one thread from now on: a process an agent, and numbers without its cores."""
    torch.set_num_threads(1)


@dataclass(frozen=True)
class Apart:
    """One agent a process, whose messages go another way than an engine's own exchange.

    Attributes
    ----------
    processes, rank
        The number of agents, and which one is here.
    """

    processes: int
    rank: int

    def gather(self, messages: Mapping[int, Message], heard: Heard) -> Mapping[int, Message]:
        """Refuse: the caller pools.

        Raises
        ------
        ValueError
            Always.
        """
        raise fail("exchange", "rounds that the caller pools", "one of the engine", "use pool")

    def collect(self, rows: Tensor, agents: int) -> Tensor:
        """The agent's own row for everybody's: nobody is asked."""
        return rows.expand(agents, *rows.shape[1:])


def own_share(shares: Shares, agent: int) -> Shares:
    """The data of one agent, and of the others how many examples they hold.

    Raises
    ------
    ValueError
        If there is no such agent.

    Examples
    --------
    >>> rows = torch.arange(5)
    >>> whole = Shares(torch.rand(5, 2), torch.zeros(5, dtype=torch.int64), (rows[:2], rows[2:]))
    >>> own = own_share(whole, 1)
    >>> own.inputs.shape, own.sizes
    (torch.Size([3, 2]), (2, 3))
    """
    agent = as_integer("agent", agent, minimum=0, maximum=shares.agents - 1)
    rows = shares.indices[agent]
    return share_among(shares.inputs[rows], shares.labels[rows], shares.sizes, agent)


def share_among(inputs: Tensor, labels: Tensor, sizes: tuple[int, ...], agent: int) -> Shares:
    """The share of one agent from its own examples, and how many each agent holds.

    Parameters
    ----------
    inputs, labels
        Shapes (n, …), with n the agent's entry of `sizes`.
    """
    # Of the others, rows that cost no memory: an agent never looks at them.
    others = torch.zeros(1, dtype=torch.int64)
    indices = tuple(
        torch.arange(size) if k == agent else others.expand(size) for k, size in enumerate(sizes)
    )
    return Shares(inputs, labels, indices)


# One agent of :class:`empirical.train.run.TrainingRun`, which trains any net by any learner ------


class PlanAgent:
    """One agent, between two rounds.

    Parameters
    ----------
    agent
        Its number.
    plan
        That of the training of all agents, on a fixed network and without a codec.

    Raises
    ------
    ValueError
        As :class:`~empirical.train.run.TrainingRun`; or if the network changes by itself, or a
        codec is to write the messages.
    """

    def __init__(self, agent: int, plan: TrainingPlan) -> None:
        if not isinstance(plan.network, Network):
            wanted = "a fixed network: links between processes fail by themselves"
            raise fail("network", wanted, type(plan.network).__name__, "leave the changes out")
        if plan.codec is not None:
            remedy = "leave [messages] out"
            raise fail("messages", "float32 as it is between processes", plan.codec.name, remedy)
        agents = plan.network.agents
        self.agent = as_integer("agent", agent, minimum=0, maximum=agents - 1)
        self._run = TrainingRun(
            plan.net,
            plan.likelihood,
            own_share(plan.shares(), agent),
            plan.network,
            plan.learner,
            rounds=plan.rounds,
            local_steps=plan.local_steps,
            batch=plan.batch,
            seed=plan.seed,
            schedule=plan.schedule,
            decay=plan.decay,
            warm_up=plan.warm_up,
            products=plan.products,
            exchange=Apart(agents, self.agent),
        )
        self.begin: Said = {name: row[0].clone() for name, row in self._run.message().items()}

    @property
    def round(self) -> int:
        """The round that began last, from 1; 0 before the first."""
        return self._run.round

    @property
    def products(self) -> str:
        """What matrices are multiplied by (:mod:`empirical.kernels.products`)."""
        return self._run.products

    def learn(self) -> Said:
        """The local steps of the next round, and what is then said; may be views of the state.

        Raises
        ------
        TrainingFailed
            If a loss or a belief is not finite any more.
        """
        _, messages = self._run.local_phase()
        return {name: values[0] for name, values in messages.items()}

    def pool(self, heard: Mapping[int, Said], weights: Mapping[int, float]) -> None:
        """End the round (:class:`~empirical.live.agent.AgentTraining`)."""
        speakers = sorted(j for j, weight in weights.items() if weight > 0)
        if speakers == [self.agent]:
            return  # what it has stays to the last bit
        own = self._run.message()
        for name, values in own.items():
            said = {j: values[0] if j == self.agent else heard[j][name] for j in speakers}
            sum_in_turn(values, [(0, said[j], weights[j]) for j in speakers], [0])
        self._run.hear(own)

    def skip(self, round: int) -> None:
        """Be away until the end of a round, which is not before the last one."""
        self._run.skip(round)

    def belief(self) -> Belief:
        """Mean and variance of the weights, shape (1, d)."""
        return self._run.belief()

    def state(self) -> dict[str, Tensor]:
        """That of the run."""
        return self._run.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there.

        Raises
        ------
        ValueError
            If a tensor is missing or of another shape.
        """
        self._run.restore(state)


# One agent of a :class:`~empirical.nets.training.Training` ---------------------------------------


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

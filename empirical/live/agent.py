"""What one agent that trains a net has to say.

A round of an agent is :meth:`EngineAgent.learn`, its local steps, and :meth:`EngineAgent.pool`,
with the messages that it has. With the messages of its neighbours of the same round and the
network's weights, the beliefs are those of the run of all agents in one process, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.nets.architecture import Architecture
from empirical.nets.exchange import Heard, Message
from empirical.nets.shares import Shares
from empirical.train.averaging import Belief
from empirical.train.plan import TrainingPlan
from empirical.train.pooling import Sums, pool_rows
from empirical.train.recipe import Recipe
from empirical.train.run import TrainingRun, run_of_plan
from theory.network import Network
from theory.validation import as_integer, fail

# What one agent that trains a net has to say -----------------------------------------------------


# One message: float32 vectors of shape (d,) by name.
Said = Mapping[str, Tensor]


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


class EngineAgent:
    """One agent's training, between two rounds.

    Parameters
    ----------
    run
        Of this agent alone, by the exchange :class:`Apart`, without a codec.

    Attributes
    ----------
    agent
        Its number in the network.
    begin
        What every agent says of round 0: what all begin with.
    """

    def __init__(self, run: TrainingRun) -> None:
        self._run, self.agent = run, run.own.start
        self.begin: Said = {name: row[0].clone() for name, row in run.message().items()}

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
            If a loss or a belief is not finite any more; the message names agent and round.
        """
        _, messages = self._run.local_phase()
        return {name: values[0] for name, values in messages.items()}

    def pool(self, heard: Mapping[int, Said], weights: Mapping[int, float]) -> None:
        """End the round.

        Parameters
        ----------
        heard
            Messages by sender, of all senders with a weight but the agent itself.
        weights
            Positive weights by sender, the agent's own among them; they sum to one.
        """
        speakers = sorted(j for j, weight in weights.items() if weight > 0)
        if speakers == [self.agent]:
            return  # what it has stays to the last bit
        own, count = self._run.message(), len(speakers)
        row = Sums(
            np.array([0]), np.array([0, count]), np.arange(count),
            np.array([weights[j] for j in speakers]),
        )  # fmt: skip
        for name, values in own.items():
            said = [values[0] if j == self.agent else heard[j][name] for j in speakers]
            pool_rows(values, torch.stack(said), row)
        self._run.hear(own)

    def skip(self, round: int) -> None:
        """Be away until the end of a round, which is not before the last one."""
        self._run.skip(round)

    def belief(self) -> Belief:
        """Mean and variance of the weights, shape (1, d)."""
        return self._run.belief()

    def state(self) -> dict[str, Tensor]:
        """All that the rest depends on, between two rounds; views, not copies."""
        return self._run.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`, bit for bit.

        Raises
        ------
        ValueError
            If a tensor is missing or of another shape.
        """
        self._run.restore(state)


def agent_of_plan(agent: int, plan: TrainingPlan) -> EngineAgent:
    """One agent of the training of all, on a fixed network and without a codec.

    Raises
    ------
    ValueError
        As :class:`~empirical.train.run.TrainingRun`; or if the network changes by itself, or a
        codec is to write the messages.
    """
    if not isinstance(plan.network, Network):
        wanted = "a fixed network: links between processes fail by themselves"
        raise fail("network", wanted, type(plan.network).__name__, "leave the changes out")
    if plan.codec is not None:
        remedy = "leave [messages] out"
        raise fail("messages", "float32 as it is between processes", plan.codec.name, remedy)
    agents = plan.network.agents
    agent = as_integer("agent", agent, minimum=0, maximum=agents - 1)
    shares = own_share(plan.shares(), agent)
    return EngineAgent(run_of_plan(plan, shares, exchange=Apart(agents, agent)))


def agent_of_recipe(
    agent: int,
    shares: Shares,
    network: Network,
    recipe: Recipe,
    *,
    architecture: Architecture,
    seed: int,
) -> EngineAgent:
    """One agent of the training of all by a recipe.

    Parameters
    ----------
    agent
        Its number.
    shares
        Its own examples, and how many the others hold (:func:`own_share`).
    network, recipe, architecture, seed
        As of the training of all agents.

    Raises
    ------
    ValueError
        As of :meth:`~empirical.train.recipe.Recipe.training`.
    """
    agent = as_integer("agent", agent, minimum=0, maximum=network.agents - 1)
    run = recipe.training(
        shares, network,
        architecture=architecture, seed=seed, exchange=Apart(network.agents, agent),
    )  # fmt: skip
    return EngineAgent(run)

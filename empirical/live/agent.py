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

from empirical.nets.consensus import Heard
from empirical.nets.messages import Message
from empirical.nets.shares import Shares
from empirical.train.learners.learner import Belief
from theory.validation import as_integer, fail

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

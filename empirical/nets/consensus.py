"""The consensus step of a round: every agent's message goes to its listeners, who pool.

Agents may be spread over processes. An :class:`Exchange` says which agents this process holds and
brings it the messages of others that its own agents listen to. The result is the same however
they are spread: bit for bit on the CPU, to the last digit of float32 on a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from empirical.nets.pooling import Message, Natural, WeightRows, check_beliefs, pool_all, pool_heard
from theory.changing.mixing import PeriodicNetwork
from theory.changing.phase import Phase
from theory.network import Network
from theory.validation import as_integer, fail

Heard = tuple[tuple[int, ...], ...]


class Exchange(Protocol):
    """How the processes of a run reach each other."""

    @property
    def processes(self) -> int:
        """How many there are."""
        ...

    @property
    def rank(self) -> int:
        """The number of this one, from 0."""
        ...

    def gather(self, messages: Mapping[int, Message], heard: Heard) -> Mapping[int, Message]:
        """Messages of other processes' agents, by sender, for those of this one.

        Parameters
        ----------
        messages
            Of the agents of this process, by sender.
        heard
            Whom each of the N agents listens to this round; the same in every process.
        """
        ...

    def collect(self, rows: Tensor, agents: int) -> Tensor:
        """Rows of all N agents, on every process, from a row for each agent of this one."""
        ...


@dataclass(frozen=True)
class OneProcess:
    """All agents in this process: nothing travels."""

    processes: int = 1
    rank: int = 0

    def gather(self, messages: Mapping[int, Message], heard: Heard) -> Mapping[int, Message]:
        """Nobody is elsewhere."""
        return {}

    def collect(self, rows: Tensor, agents: int) -> Tensor:
        """The rows themselves."""
        return rows


def block_of(agents: int, *, processes: int, rank: int) -> range:
    """Which agents a process holds: neighbours in number, blocks equal in size up to one.

    Raises
    ------
    ValueError
        If a process would hold nobody.

    Examples
    --------
    >>> [block_of(9, processes=2, rank=rank) for rank in range(2)]
    [range(0, 5), range(5, 9)]
    """
    if processes > agents:
        raise fail(
            "processes",
            f"at most {agents}, one for each agent",
            processes,
            "start fewer processes",
        )
    share, rest = divmod(agents, processes)
    first = rank * share + min(rank, rest)
    return range(first, first + share + (rank < rest))


@dataclass(frozen=True, eq=False)
class ConsensusResult:
    """What a consensus left.

    Attributes
    ----------
    mean, variance
        Of the agents of this process, shape (n, d).
    sent
        Bytes that each of them sent, over all its links, shape (n,), int64.
    """

    mean: Tensor
    variance: Tensor
    sent: Tensor

    @property
    def bytes_sent(self) -> int:
        """Bytes that the agents of this process sent."""
        return int(self.sent.sum())


@dataclass(frozen=True, eq=False)
class _Plan:
    """What a phase asks of this process."""

    phase: Phase
    rows: WeightRows  # of own agents
    heard: Heard  # of all agents
    links: tuple[int, ...]  # how many listen to each agent


class RoundPooling(Protocol):
    """What ends a round of training: messages go to listeners, who pool."""

    @property
    def own(self) -> range:
        """The agents of this process."""
        ...

    def observes(self, round: int) -> tuple[bool, ...]:
        """Whether each agent of this process learns from data in a round, counted from 1."""
        ...

    def collect(self, rows: Tensor) -> Tensor:
        """Rows of all N agents, on every process, from one for each agent of this process."""
        ...

    def pool_in_place(self, mean: Tensor, variance: Tensor, *, round: int) -> int:
        """Pool beliefs of own agents, shape (n, d) each, in place; returns the bytes they sent.

        Raises
        ------
        ValueError
            If an agent that speaks or listens has numbers that are no Gaussian's; in one line with
            agent and round.
        """
        ...

    def state(self) -> dict[str, Tensor]:
        """What later rounds depend on, as named tensors."""
        ...

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there."""
        ...


class Consensus:
    """Pooling over a network, round by round, of beliefs that are sent as they are.

    Parameters
    ----------
    network
        Fixed weights, or phases in turn.
    variance
        The variance of every weight of every agent, where all know it: averaging of nets. The
        shifts alone are sent then, 4 d bytes in place of 8 d. None: it is not known.
    exchange
        Which agents this process holds, and how it reaches the others.

    Attributes
    ----------
    own
        The agents of this process.

    Raises
    ------
    ValueError
        If there are more processes than agents.

    Examples
    --------
    Two agents who trust each other alike; the second is sure. Each sends 2 numbers of 4 bytes.

    >>> pair = Consensus(Network([[0.5, 0.5], [0.5, 0.5]]))
    >>> means, variances = torch.tensor([[0.0], [3.0]]), torch.tensor([[1.0], [0.5]])
    >>> done = pair.pool(means, variances, round=1)
    >>> done.mean.flatten().tolist(), round(done.variance[0].item(), 4), done.bytes_sent
    ([2.0, 2.0], 0.6667, 16)
    """

    def __init__(
        self,
        network: Network | PeriodicNetwork,
        *,
        variance: float | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        self.network, self._variance = network, variance
        self.exchange: Exchange = OneProcess() if exchange is None else exchange
        self.own: range = block_of(
            network.agents, processes=self.exchange.processes, rank=self.exchange.rank
        )
        phases = (Phase(network.weights),) if isinstance(network, Network) else network.phases
        self._plans = tuple(self._plan(phase) for phase in phases)

    def observes(self, round: int) -> tuple[bool, ...]:
        """Whether each agent of this process learns from data in a round, counted from 1."""
        mask = self._plan_of(round).phase.observes
        return tuple(bool(mask[agent]) for agent in self.own)

    def collect(self, rows: Tensor) -> Tensor:
        """Rows of all N agents, on every process, from one for each agent of this process."""
        return self.exchange.collect(rows, self.network.agents)

    def pool(
        self,
        mean: Tensor,
        variance: Tensor,
        *,
        round: int,
        out: tuple[Tensor, Tensor] | None = None,
    ) -> ConsensusResult:
        """Send, receive and pool.

        Parameters
        ----------
        mean, variance
            Of the agents of this process, shape (n, d), contiguous.
        round
            Its number, from 1, which says the phase and is named in error messages.
        out
            Where to write mean and variance, shape (n, d); they may be `mean` and `variance`
            themselves. Left out: fresh tensors.

        Raises
        ------
        ValueError
            If there is not one belief for each agent, or an agent that speaks or listens has
            numbers that are no Gaussian's: agent and round are named, and `out` is of no use.
        """
        plan = self._plan_of(round)
        check_beliefs(mean, variance, agents=len(self.own))
        mean, variance = mean.detach(), variance.detach()
        if out is None:
            out = torch.empty_like(mean), torch.empty_like(variance)
        links = torch.tensor([plan.links[agent] for agent in self.own])
        sent = links * self._bytes(mean)
        if self.exchange.processes == 1:
            # Nobody looks at these messages: they are written and read within one sweep.
            pool_all(plan.rows, mean, variance, round=round, out=out)
            return ConsensusResult(*out, sent)
        messages = self._messages(mean, variance, plan, round=round)
        received = {**messages, **self.exchange.gather(messages, plan.heard)}
        heard = self._heard(received, plan.rows.heard, like=mean)
        pool_heard(plan.rows, mean, variance, heard, round=round, out=out)
        return ConsensusResult(*out, sent)

    def pool_in_place(self, mean: Tensor, variance: Tensor, *, round: int) -> int:
        """See :class:`RoundPooling`."""
        return self.pool(mean, variance, round=round, out=(mean, variance)).bytes_sent

    def state(self) -> dict[str, Tensor]:
        """Nothing: plain messages are forgotten."""
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`.

        Raises
        ------
        ValueError
            If it is of coded messages.
        """
        if state:
            got = ", ".join(sorted(state))
            raise fail("state", "none of a codec", got, "use the codec that the run began with")

    def _messages(
        self, mean: Tensor, variance: Tensor, plan: _Plan, *, round: int
    ) -> dict[int, Message]:
        """The messages of own agents to whom anybody listens."""
        messages = {}
        for row, agent in enumerate(self.own):
            if plan.links[agent]:
                natural = Natural.from_moments(mean[row], variance[row])
                natural.check(agents=[agent], round=round)
                payload = {"shift": natural.shift}
                if self._variance is None:
                    payload["precision"] = natural.precision
                messages[agent] = Message(payload, self._bytes(mean))
        return messages

    def _bytes(self, values: Tensor) -> int:
        """What a message costs of vectors like these, shape (…, d)."""
        vectors = 2 if self._variance is None else 1
        return vectors * values.shape[-1] * values.element_size()

    def _heard(
        self, messages: Mapping[int, Message], senders: Sequence[int], *, like: Tensor
    ) -> Natural:
        """What senders said, stacked in their order, shape (senders, d)."""
        table = Natural(*(like.new_empty(len(senders), like.shape[1]) for _ in range(2)))
        if self._variance is not None:
            table.precision.fill_(self._variance).reciprocal_()
        for row, sender in enumerate(senders):
            payload = messages[sender].payload
            table.shift[row] = payload["shift"]
            if self._variance is None:
                table.precision[row] = payload["precision"]
        return table

    def _plan(self, phase: Phase) -> _Plan:
        everybody = WeightRows.from_weights(phase.weights)
        heard = tuple(everybody.heard_by(agent) for agent in range(phase.agents))
        links = np.bincount(everybody.entries, minlength=phase.agents)
        return _Plan(
            phase,
            WeightRows.from_weights(phase.weights, self.own),
            heard,
            tuple(int(count) for count in links),
        )

    def _plan_of(self, round: int) -> _Plan:
        return self._plans[(as_integer("round", round, minimum=1) - 1) % len(self._plans)]

"""Federated averaging: a server takes the place of neighbours, and draws who learns in a round.

In a round some agents, drawn at random, are the server's clients: they begin from what it holds,
learn on their own data, and the server averages what they say, weighted by its row of the network
over those that were drawn (McMahan et al. 2017, algorithm 1). Clients keep nothing from round to
round, so that as many agents' tensors are in memory as there are clients in a round. Whatever
learns by messages that may be averaged can be a client.

Who takes part in a round depends on the seed and the round alone, a client's order of examples on
the seed, the round and the client.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.messages.codec import Codec
from empirical.nets.exchange import Exchange, OneProcess
from empirical.train.averaging import Learner, below_one
from empirical.train.pooling import Said, Sums, pool_rows
from theory.changing import AnyNetwork
from theory.network import Network
from theory.validation import FloatArray, IntArray, as_integer, as_positive, fail


@dataclass(frozen=True)
class Server:
    """How many agents it draws, and what it makes of their average.

    Parameters
    ----------
    clients
        K: agents drawn in each round.
    momentum, server_rate
        With Δ the clients' average less what the server holds, s: u ← momentum u + Δ, then
        s ← s + server_rate u (Hsu et al. 2019; 0 and 1 is plain averaging).
    averaging
        What is served is an average over rounds, s̄ ← (1 − c) s̄ + c s with c = (a + 1) / (t + a)
        in round t (Shamir and Zhang 2013, section 4): with a = 8 about the last ninth of the run,
        whenever it ends. None: what the server holds.

    Raises
    ------
    ValueError
        If a number is out of its range.
    """

    clients: int
    momentum: float = 0.0
    server_rate: float = 1.0
    averaging: float | None = None

    def __post_init__(self) -> None:
        as_integer("clients", self.clients, minimum=1)
        below_one("momentum", self.momentum)
        as_positive("server_rate", self.server_rate)
        if self.averaging is not None and not 0.0 <= self.averaging < math.inf:
            wanted, remedy = "a finite number of at least 0, or None", "give such a number"
            raise fail("averaging", wanted, self.averaging, remedy)

    def check_fits(
        self,
        network: AnyNetwork,
        learner: Learner,
        codec: Codec | None,
        exchange: Exchange | None,
    ) -> None:
        """Refuse a run that no server can serve.

        Raises
        ------
        ValueError
            If the network has not one row for all, or fewer agents than clients; what agents learn
            they keep to themselves; a codec writes messages; or processes share the agents.
        """
        row = server_row(network)
        if self.clients > row.size:
            wanted = f"at most {row.size}, the agents of the network"
            raise fail("clients", wanted, self.clients, "draw fewer")
        if learner.name == "sites":
            wanted, remedy = "one whose agents keep nothing between rounds", "take another learner"
            raise fail("learner", f"{wanted}, for clients drawn a round", "'sites'", remedy)
        if codec is not None:
            wanted, remedy = "messages without a codec, for clients drawn a round", "leave it out"
            raise fail("codec", wanted, repr(codec.words()["codec"]), remedy)
        processes = 1 if exchange is None else exchange.processes
        if processes > 1:
            wanted, remedy = "one process, for clients drawn a round", "start a single one"
            raise fail("processes", wanted, processes, remedy)


def server_row(network: AnyNetwork) -> FloatArray:
    """The weights of a network whose rows are all alike, shape (N,): those of a server.

    Raises
    ------
    ValueError
        If the network changes, or two rows differ.

    Examples
    --------
    >>> server_row(Network.from_topology("complete", agents=4)).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    got = "one that changes"
    if isinstance(network, Network):
        weights = network.weights
        rows = weights if isinstance(weights, np.ndarray) else weights.toarray()
        if np.allclose(rows, rows[0], rtol=0.0, atol=1e-12):
            return np.asarray(rows[0])
        apart = int(np.abs(rows - rows[0]).max(axis=1).argmax())
        got = f"rows 0 and {apart} that differ"
    raise fail(
        "network", "one row of weights for all agents, a server's, for clients drawn a round", got,
        'take the topology "complete", or leave clients out',
    )  # fmt: skip


# Who takes part, and what the server makes of what they say ---------------------------------------


@dataclass(frozen=True, eq=False)
class ServedRound:
    """One round of a server.

    Attributes
    ----------
    clients
        Who takes part, in increasing order, shape (K,).
    observes
        Who trains, shape (N,): the clients.
    weights
        Of the clients, shape (K,); their sum is 1.
    """

    clients: IntArray
    observes: NDArray[np.bool_]
    weights: FloatArray

    def traffic(self, own: Sequence[int], messages: Mapping[str, Tensor]) -> int:
        """Bytes of what the server holds to every client, and of each one's word back."""
        return 2 * self.clients.size * sum(values[0].nbytes for values in messages.values())


class ServedPooling:
    """The rounds of a server, and its consensus.

    Parameters
    ----------
    begin
        What it holds before round 1, as a message: vectors of shape (d,).

    Attributes
    ----------
    average
        What is served, an average over rounds: vectors of shape (1, d); None: what is held.
    """

    longest = 0

    def __init__(self, network: AnyNetwork, server: Server, *, begin: Said, seed: int) -> None:
        self.rounds, self.exchange = self, OneProcess()
        self.own = range(network.agents)
        self._row, self._server, self._seed = server_row(network), server, seed
        self._held = {name: values.clone()[None] for name, values in begin.items()}
        moves = server.momentum != 0.0 or server.server_rate != 1.0
        here = self._held.items()
        self._velocity = {name: torch.zeros_like(own) for name, own in here} if moves else None
        averages = server.averaging is not None
        self.average = {name: own.clone() for name, own in here} if averages else None

    def at(self, number: int) -> ServedRound:
        """A round, counted from 1: its clients are drawn anew."""
        rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(number,)))
        clients = np.sort(rng.choice(self._row.size, size=self._server.clients, replace=False))
        observes = np.zeros(self._row.size, dtype=np.bool_)
        observes[clients] = True
        return ServedRound(clients, observes, self._row[clients] / self._row[clients].sum())

    def pool(self, messages: Mapping[str, Tensor], *, number: int, pace: float = 1.0) -> int:
        """Put what the server holds after a round into the first row of the clients' messages.

        Returns
        -------
        int
            Bytes that went to the clients and back.
        """
        server, round = self._server, self.at(number)
        every = np.arange(round.clients.size)
        sums = Sums(np.array([0]), np.array([0, every.size]), every, round.weights)
        for name, values in messages.items():
            pool_rows(values, values, sums)
            held, pooled = self._held[name], values[:1]
            if self._velocity is not None:
                self._velocity[name].mul_(server.momentum).add_(pooled - held)
                pooled.copy_(held.add(self._velocity[name], alpha=server.server_rate))
            held.copy_(pooled)
            if self.average is not None and server.averaging is not None:
                newest = (server.averaging + 1.0) / (number + server.averaging)
                self.average[name].lerp_(held, newest)
        return round.traffic(self.own, messages)

    @property
    def footprint(self) -> int:
        """Bytes of memory of what is held, moves and is averaged."""
        return sum(values.nbytes for values in self.state().values())

    def state(self) -> dict[str, Tensor]:
        """All of it, as named tensors."""
        parts = {"held": self._held, "velocity": self._velocity, "average": self.average}
        return {
            f"server.{part}.{name}": values
            for part, tensors in parts.items()
            for name, values in (tensors or {}).items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Does nothing: what the server holds is restored as a part of the run's own state."""

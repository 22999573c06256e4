"""Messages that take their time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from theory.changing.links import on_links
from theory.network.network import Network
from theory.network.structure import cyclic_classes
from theory.scientific import sparse
from theory.typed import require
from theory.validation import FloatArray, IntArray, as_float_array, fail, read_only
from theory.values import Value

# A run keeps this many rounds of messages at most.
_LONGEST = 10_000


@dataclass(frozen=True, eq=False)
class DelayedNetwork(Value):
    """Agent i pools what agent j said τ_ij rounds ago.

    What j says in a round is its log-belief with that round's observation in it. Before the first
    messages arrive, the neighbours' priors stand in for them.

    Parameters
    ----------
    network
        The weights.
    delays
        τ, whole rounds: a number for all links between different agents, or shape (N, N), its
        diagonal the age of the own log-belief (usually 0); only entries with W_ij > 0 matter.

    Raises
    ------
    ValueError
        If a delay is not a whole number from 0 to 10 000, or with these delays agents agree in
        turns only (possible where every own log-belief is delayed).

    Examples
    --------
    >>> ring = Network.from_topology("ring", agents=5)
    >>> DelayedNetwork(ring, 3).longest
    3
    """

    network: Network
    delays: int | IntArray

    def __post_init__(self) -> None:
        require("network", self.network, Network)
        size = self.agents
        given: Any = self.delays
        numbers = as_float_array("delays", given, ndim=0 if np.ndim(given) == 0 else 2)
        if numbers.ndim == 2 and numbers.shape != (size, size):
            raise fail(
                "delays",
                f"a number, or shape {(size, size)}",
                f"shape {numbers.shape}",
                "give one delay for each pair of agents",
            )
        if not ((numbers >= 0) & (numbers <= _LONGEST) & (numbers == np.floor(numbers))).all():
            bad = (numbers < 0) | (numbers > _LONGEST) | (numbers != np.floor(numbers))
            first = float(np.atleast_1d(numbers)[np.atleast_1d(bad)][0])
            raise fail(
                "delays",
                f"whole numbers of rounds from 0 to {_LONGEST}",
                f"{first:g}",
                "round it" if 0 <= first <= _LONGEST else f"choose 0 to {_LONGEST}",
            )
        if numbers.ndim == 0:
            object.__setattr__(self, "delays", int(numbers))
        else:
            object.__setattr__(self, "delays", read_only(numbers.astype(np.int64)))
        own = self.network.weights.diagonal()
        if not (own[self.own_delays == 0] > 0).any():
            self._check_aperiodic()

    def _check_aperiodic(self) -> None:
        walk = self.message_walk
        labels = cyclic_classes(walk)
        if labels.max() > 0:
            raise fail(
                "delays",
                "an agent that pools its own log-belief without delay, or delays without a common "
                "rhythm",
                f"agents that agree in turns, with period {labels.max() + 1}",
                "set the delay of an own log-belief to 0",
            )

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        return self.network.agents

    @property
    def name(self) -> str:
        """The network's name."""
        return self.network.name

    @property
    def layout(self) -> FloatArray | None:
        """The network's layout."""
        return self.network.layout

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the network's agents are called, if they have names."""
        return self.network.names

    @cached_property
    def link_delays(self) -> IntArray:
        """τ_ij of each of `network.edges` (listener, speaker), shape (E,)."""
        delays: Any = self.delays
        return np.asarray(read_only(on_links(delays, self.network).astype(np.int64)))

    @cached_property
    def own_delays(self) -> IntArray:
        """τ_ii, shape (N,); zero unless given."""
        if np.ndim(self.delays) == 0:
            return np.asarray(read_only(np.zeros(self.agents, dtype=np.int64)))
        table: Any = self.delays
        return np.asarray(read_only(table.diagonal().copy()))

    @property
    def longest(self) -> int:
        """The longest delay, in rounds."""
        own = self.own_delays[self.network.weights.diagonal() > 0]
        return int(max(self.link_delays.max(initial=0), own.max(initial=0)))

    @cached_property
    def weights_by_delay(self) -> tuple[sparse.csr_array[np.float64], ...]:
        """W split by delay: entry d holds the W_ij with τ_ij = d; they sum to W."""
        table = sparse.coo_array(self.network.weights)
        row, column = table.coords
        if np.ndim(self.delays) == 0:
            delay = np.where(row == column, 0, self.delays)
        else:
            delay = np.asarray(self.delays)[row, column]
        shape = table.shape
        return tuple(
            sparse.csr_array(
                (table.data[delay == d], (row[delay == d], column[delay == d])), shape=shape
            )
            for d in range(self.longest + 1)
        )

    @cached_property
    def message_walk(self) -> sparse.csr_array[np.float64]:
        """The walk along a row of the augmented weights, on (longest + 1)·N places d·N + j.

        Place d·N + j is what agent j said d rounds before. It becomes place (d − 1)·N + j in the
        round before; what is being said, d = 0, is made of what agent j pooled.
        """
        parts = self.weights_by_delay
        size, depth = self.agents, len(parts)
        blocks: list[list[Any]] = [[None] * depth for _ in range(depth)]
        for d, part in enumerate(parts):
            blocks[0][d] = part
        for d in range(1, depth):
            blocks[d][d - 1] = sparse.eye_array(size, format="csr")
        matrix = sparse.csr_array(sparse.block_array(blocks, format="csr"))
        # Older messages than any neighbour of j uses are places that nothing leads to.
        used = np.zeros(depth * size, dtype=np.bool_)
        used[:size] = True
        reached = matrix.sum(axis=0) > 0
        for d in range(depth - 1, 0, -1):
            place = slice(d * size, (d + 1) * size)
            into = np.asarray(parts[d].sum(axis=0)).ravel() > 0
            older = used[(d + 1) * size : (d + 2) * size] if d + 1 < depth else False
            used[place] = reached[place] & (into | older)
        places = np.flatnonzero(used)
        return sparse.csr_array(matrix[places][:, places])

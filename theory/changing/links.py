"""Links that drop messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from theory.changing.mixing import check_strong, named_groups
from theory.changing.phase import BoolArray
from theory.network.network import Network
from theory.network.structure import cyclic_classes, off_diagonal
from theory.scientific import sparse
from theory.typed import require
from theory.validation import FloatArray, as_float_array, fail, read_only
from theory.values import Value

ON_LOSS = ("own", "renormalise", "last")


@dataclass(frozen=True, eq=False)
class RandomLinks(Value):
    """Every link is up or down in each round, independently of the data and of other rounds.

    Parameters
    ----------
    network
        The links and weights when all messages arrive.
    up
        The probability that the message from j to i arrives: a number, or shape (N, N); only the
        entries of links matter. Zero means that the link does not exist.
    on_loss
        What agent i does with the weight of a message that is lost:

        "own"
            gives it to its own log-belief;
        "renormalise"
            scales the weights of what has arrived, its own included, to sum one; it keeps its
            log-belief if nothing has arrived and it gives no weight to itself;
        "last"
            uses the last message that has arrived from that neighbour, once more; before the
            first, the neighbour's prior.
    symmetric
        Whether both directions of a link are up or down at once.

    Raises
    ------
    ValueError
        If a probability is outside [0, 1], `on_loss` is unknown, a symmetric link has no
        counterpart, or the links that can be up do not connect everybody (it names the split).

    Examples
    --------
    >>> ring = Network.from_topology("ring", agents=5)
    >>> RandomLinks(ring, 0.9).link_up.shape
    (10,)
    """

    network: Network
    up: float | FloatArray
    on_loss: Literal["own", "renormalise", "last"] = "own"
    symmetric: bool = False

    def __post_init__(self) -> None:
        require("network", self.network, Network)
        if self.on_loss not in ON_LOSS:
            raise fail("on_loss", f"one of {', '.join(ON_LOSS)}", repr(self.on_loss), "choose one")
        object.__setattr__(self, "up", _as_probabilities("up", self.up, agents=self.agents))
        if self.symmetric:
            self._check_symmetric()
        listener, speaker = self.network.edges.T
        pattern = sparse.csr_array(
            (self.link_up, (listener, speaker)), shape=(self.agents, self.agents)
        )
        pattern.eliminate_zeros()
        if self.on_loss == "last" and pattern.nnz < len(listener):
            where = self.network.edges[int(np.argmin(self.link_up))].tolist()
            raise fail(
                "up",
                'positive probabilities for on_loss="last", or old messages are used for ever',
                f"0 for {where}",
                "leave that link out of the network",
            )
        check_strong(
            "up", pattern, what="links that can be up and connect everybody", names=self.names
        )
        if not self._waits().any() and cyclic_classes(pattern).max() > 0:
            raise fail(
                "up",
                "links that can be up and are aperiodic",
                f"groups that never agree: {named_groups(cyclic_classes(pattern), self.names)}",
                "give at least one agent a positive weight on itself",
            )

    def _waits(self) -> BoolArray:
        """Whether an agent may keep some of its log-belief for another round, shape (N,)."""
        listener = self.network.edges[:, 0]
        lossy = np.bincount(listener, self.link_up < 1, minlength=self.agents)
        if self.on_loss == "renormalise":
            lossy = lossy == np.bincount(listener, minlength=self.agents)
        return np.asarray((self.network.weights.diagonal() > 0) | (lossy > 0))

    def _check_symmetric(self) -> None:
        links = self.network.edges
        size = self.agents
        table = sparse.csr_array(
            (self.link_up + 1.0, (links[:, 0], links[:, 1])), shape=(size, size)
        )
        if abs(table - table.T).max() > 0:
            raise fail(
                "symmetric",
                "links in both directions, with the same probability",
                "links or probabilities that differ",
                "make them agree, or use symmetric=False",
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
    def link_up(self) -> FloatArray:
        """The probability of each of `network.edges` (listener, speaker), shape (E,)."""
        return on_links(self.up, self.network)

    @cached_property
    def link_weights(self) -> FloatArray:
        """W_ij of each of `network.edges`, shape (E,)."""
        return np.asarray(read_only(off_diagonal(self.network.weights).weight))


def on_links(values: float | FloatArray, network: Network) -> FloatArray:
    """One number for each of `network.edges`, shape (E,), from a number or a table (N, N)."""
    links = network.edges
    if np.ndim(values) == 0:
        return np.asarray(read_only(np.full(len(links), float(values))))
    table = np.asarray(values)
    return np.asarray(read_only(table[links[:, 0], links[:, 1]].astype(np.float64)))


def _as_probabilities(argument: str, values: ArrayLike, *, agents: int) -> float | FloatArray:
    given: Any = values
    numbers = as_float_array(argument, given, ndim=0 if np.ndim(given) == 0 else 2)
    if numbers.ndim == 2 and numbers.shape != (agents, agents):
        raise fail(
            argument,
            f"a number, or shape {(agents, agents)}",
            f"shape {numbers.shape}",
            "give one probability for each pair of agents",
        )
    if not ((numbers >= 0) & (numbers <= 1)).all():
        worst = numbers.ravel()[np.argmax(np.abs(numbers.ravel() - 0.5))]
        raise fail(argument, "probabilities in [0, 1]", f"{worst:g}", "choose them in [0, 1]")
    return float(numbers) if numbers.ndim == 0 else numbers

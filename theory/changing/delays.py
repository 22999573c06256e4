"""Messages that take their time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from theory.changing.markov import MarkovNetwork
from theory.changing.mixing import PeriodicNetwork, check_strong, named_groups
from theory.changing.phase import BoolArray
from theory.changing.presence import OfNetwork, RandomPresence
from theory.network.network import Network
from theory.network.structure import as_dense, cyclic_classes, off_diagonal
from theory.scientific import sparse
from theory.typed import require
from theory.validation import FloatArray, IntArray, as_float_array, fail, read_only

# Links that drop messages ------------------------------------------------------------------------


ON_LOSS = ("own", "renormalise", "last")


@dataclass(frozen=True, eq=False)
class RandomLinks(OfNetwork):
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


# Messages that take their time -------------------------------------------------------------------


# A run keeps this many rounds of messages at most.
_LONGEST = 10_000


@dataclass(frozen=True, eq=False)
class DelayedNetwork(OfNetwork):
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


# The kinds of networks ---------------------------------------------------------------------------


RandomNetwork: TypeAlias = MarkovNetwork | RandomLinks | RandomPresence
ChangingNetwork: TypeAlias = PeriodicNetwork | RandomNetwork | DelayedNetwork
AnyNetwork: TypeAlias = Network | ChangingNetwork


def as_fixed(network: AnyNetwork) -> AnyNetwork:
    """The network; where nothing about it changes, as a :class:`theory.Network`.

    Nothing changes in one phase in which everybody observes, nor where no message is late.

    Examples
    --------
    >>> as_fixed(PeriodicNetwork([[[0.5, 0.5], [0.25, 0.75]]])).weights.tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    if isinstance(network, PeriodicNetwork) and network.period == 1:
        phase = network.phases[0]
        if phase.observes.all():
            name, layout, names = network.name, network.layout, network.names
            return Network(phase.weights, name=name, layout=layout, names=names)
    if isinstance(network, DelayedNetwork) and network.longest == 0:
        return network.network
    return network


# The weights of past observations in the log-ratios of round n, lag by lag -----------------------


@dataclass(frozen=True, eq=False)
class LaggedWeights:
    """G_m and R_m, shape (N, N) each, and how far the rows of R still differ."""

    observed: FloatArray
    prior: FloatArray
    spread: float


def lagged_weights(
    network: PeriodicNetwork | DelayedNetwork, ending: int
) -> Iterator[LaggedWeights]:
    """G_m and R_m for m = 1, 2, … without end, where round n is of phase `ending`."""
    if isinstance(network, PeriodicNetwork):
        return _periodic(network, ending)
    return _delayed(network)


def _periodic(network: PeriodicNetwork, ending: int) -> Iterator[LaggedWeights]:
    product = np.eye(network.agents)
    m = 0
    while True:
        phase = network.phases[(ending - m) % network.period]
        product = product.copy()
        phase.carry_back(product)
        observed = np.where(phase.observes, product, 0.0)
        yield LaggedWeights(observed, product, float(np.ptp(product, axis=0).max()))
        m += 1


def _delayed(network: DelayedNetwork) -> Iterator[LaggedWeights]:
    parts = network.weights_by_delay
    size, depth = network.agents, len(parts)
    zero, one = np.zeros((size, size)), np.eye(size)
    past: deque[FloatArray] = deque([zero] * depth, maxlen=depth)
    priors: deque[FloatArray] = deque([one] * depth, maxlen=depth)
    m = 0
    while True:
        m += 1
        observed = sum((part @ x for part, x in zip(parts, past, strict=True)), start=zero)
        if m <= depth:
            observed = observed + as_dense(parts[m - 1])
        prior = sum((part @ x for part, x in zip(parts, priors, strict=True)), start=zero)
        past.appendleft(np.asarray(observed))
        priors.appendleft(np.asarray(prior))
        window = np.concatenate(list(past) if m > depth else [zero, one])
        spread = max(
            np.ptp(window, axis=0).max(), np.ptp(np.concatenate(list(priors)), axis=0).max()
        )
        yield LaggedWeights(past[0], priors[0], float(spread))

"""A small network run message by message, over a post that loses, delays and repeats.

Every agent is a :class:`exact.changing.peer.Peer`; nothing passes between agents but
messages. This is the form in which the faults are defined. The runs in numbers of agents and
replicates, :func:`exact.simulate`, are held against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exact.beliefs import Beliefs, check_log_likelihoods, estimates, prior_rows
from exact.changing.peer import Peer
from exact.changing.peer_state import Message, Receipt
from exact.cost import NUMBER, gibibytes, memory_limit
from theory import Network
from theory.changing import RandomLinks, RandomPresence
from theory.changing.phase import Rows, as_index, canonical
from theory.network.structure import Weights, as_dense
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail, read_only

# Weights as the loops over rounds want them ------------------------------------------------------


# A product of BLAS does as many operations in the time of one that looks up its row.
DENSE_SPEED = 8
# Weights and ages, and two results on the way to them.
KEPT_A_PAIR = 4


@dataclass(frozen=True, eq=False)
class Links:
    """W taken apart into W_ii and the links i ← j, i ≠ j, in the order of rows.

    Attributes
    ----------
    own
        Shape (N,): W_ii.
    listener, indices, data
        Shape (E,): i, j and W_ij.
    indptr
        Shape (N + 1,): the links of agent i are indptr[i] to indptr[i + 1] − 1.
    """

    own: FloatArray
    listener: IntArray
    indptr: IntArray
    indices: IntArray
    data: FloatArray


def links_of(weights: Weights) -> Links:
    """W_ii and the links of W.

    Examples
    --------
    >>> links = links_of(np.array([[1.0, 0.0], [0.25, 0.75]]))
    >>> links.own.tolist(), links.listener.tolist(), links.indices.tolist()
    ([1.0, 0.75], [1], [0])
    """
    matrix = canonical(weights)
    own = np.asarray(matrix.diagonal(), dtype=np.float64)
    listener = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    off = listener != matrix.indices
    indptr = np.concatenate([[0], np.cumsum(np.bincount(listener[off], minlength=len(own)))])
    return Links(
        own,
        as_index(listener[off]),
        as_index(indptr),
        as_index(matrix.indices[off]),
        matrix.data[off].astype(np.float64),
    )


def check_pairs(rounds: int, agents: int) -> None:
    """Refuse a run that keeps some numbers for each round and pair of agents, if they do not fit.

    Raises
    ------
    ValueError
        If they would take more than :func:`exact.cost.memory_limit`.
    """
    size, limit = KEPT_A_PAIR * NUMBER * rounds * agents**2, memory_limit()
    if size > limit:
        raise fail(
            "network",
            f"few enough agents for {rounds} × agents² weights in {gibibytes(limit)} GiB",
            f"{agents} agents, about {gibibytes(size)} GiB",
            "take fewer agents or rounds; simulate takes many",
        )


def worth_dense(rows: Rows, agents: int) -> bool:
    """Whether a dense product with W is quicker than one over the entries of its moving rows."""
    return rows.data.size * DENSE_SPEED > agents * agents


# The process of a network whose agents leave and return ------------------------------------------


class PresenceProcess:
    """Every agent of every replicate is here or away, a two-state chain of its own."""

    layers = 2
    fresh = True

    def __init__(self, network: RandomPresence) -> None:
        self._links = links_of(network.network.weights)
        self.links, self.draws = self._links.data.size + network.agents, network.agents
        self._present = network.present
        self._stay, self._come = 1.0 - network.leaving, network.returning
        self._here = np.zeros((network.agents, 0), dtype=np.bool_)
        self._fresh = True

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Who is here in round 1 is drawn from the stationary law."""
        self._random = np.random.Generator(np.random.SFC64(stream))
        self._here = np.zeros((self._present.size, replicates), dtype=np.bool_)
        self._fresh = True

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """One round among those who are here."""
        from exact.changing.kernels import pool_present

        chance = self._present[:, None]
        if not self._fresh:
            chance = np.where(self._here, self._stay[:, None], self._come[:, None])
        self._fresh = False
        self._here = self._random.random(self._here.shape) < chance
        observed[~self._here] = 0.0
        observed += private
        links = self._links
        pool_present(
            links.indptr, links.indices, links.data, links.own, self._here, observed, private
        )
        return private


# The process of a network whose links fail -------------------------------------------------------


class LinksProcess:
    """Masks of links, drawn for every replicate and round."""

    def __init__(self, network: RandomLinks) -> None:
        self._links = links_of(network.network.weights)
        links = self._links
        listener, speaker = links.listener, links.indices
        chance = np.asarray(network.up, dtype=np.float64)
        each = np.broadcast_to(chance, (network.agents,) * 2)[listener, speaker]
        # Links that are up together share a draw.
        self._draw = np.arange(listener.size)
        self._chance = each
        if network.symmetric:
            ends = np.sort(np.stack([listener, speaker]), axis=0)
            _, first, self._draw = np.unique(ends, axis=1, return_index=True, return_inverse=True)
            self._chance = each[first]
        self._rule = network.on_loss
        self.fresh = self._rule != "last"
        self._memory = np.empty((0, 0, 0))
        self._fresh = True
        self.links, self.draws = listener.size + network.agents, self._chance.size
        self.layers = 2 + (listener.size // network.agents if self._rule == "last" else 0)

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Forget what was heard; masks of R replicates are drawn from `stream`."""
        self._random = np.random.Generator(np.random.SFC64(stream))
        self._fresh = True
        if self._rule == "last":
            self._memory = np.empty((self._links.data.size, replicates, columns))

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """One round with fresh masks."""
        from exact.changing.kernels import pool_last, pool_links

        links = self._links
        replicates = observed.shape[1]
        up = self._random.random((self._chance.size, replicates)) < self._chance[:, None]
        if self._rule == "last" and self._fresh:
            self._memory[:] = private[links.indices]  # the priors
        self._fresh = False
        observed += private
        graph = (links.indptr, links.indices, links.data, links.own, self._draw, up)
        if self._rule == "last":
            pool_last(*graph, self._memory, observed, private)
        else:
            pool_links(*graph, self._rule == "renormalise", observed, private)
        return private


# A small network run message by message, over a post that loses, delays and repeats --------------


@dataclass(frozen=True)
class Post(Shown):
    """How messages travel.

    Each message is treated independently of all others and of what it says.

    Parameters
    ----------
    drop
        Probability, in [0, 1], that a message is lost, with all its copies.
    delay
        Probability, in [0, 1], that a message which is not lost arrives late, by 1 to
        `longest_delay` rounds, all equally likely.
    longest_delay
        In rounds, at least 1.
    duplicate
        Probability, in [0, 1], that a copy follows, 0 to `longest_delay` rounds after the message.
    reorder
        Whether what arrives in one round arrives in random order; if not, the oldest first.

    Raises
    ------
    ValueError
        If a probability or a delay is out of range.
    """

    drop: float = 0.0
    delay: float = 0.0
    longest_delay: int = 3
    duplicate: float = 0.0
    reorder: bool = False

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("drop", "delay", "duplicate"):
            value = as_probability(name, getattr(self, name), open_interval=False)
            object.__setattr__(self, name, value)
        as_integer("longest_delay", self.longest_delay, minimum=1)


@dataclass(frozen=True, eq=False)
class Exchange(Shown):
    """What was believed in a run over messages, and what became of them.

    Attributes
    ----------
    beliefs
        Public and private beliefs and estimates after each of T rounds. The public belief of an
        agent that is away is its private one.
    weights
        Shape (T, N, N): what agent j's message counted with agent i; rows sum to one.
    ages
        Shape (T, N, N): how old that message was, in rounds; −1 where none was used.
    receipts
        How many messages met each fate. What the post lost was not delivered, and is not counted.
    """

    beliefs: Beliefs
    weights: FloatArray
    ages: IntArray
    receipts: Mapping[Receipt, int]


@typed
def exchange(
    network: Network,
    log_likelihoods: ArrayLike,
    *,
    seed: int,
    post: Post | None = None,
    on_loss: str = "own",
    log_priors: ArrayLike | None = None,
    present: ArrayLike | None = None,
) -> Exchange:
    """Run the algorithm on given observations, message by message.

    In every round each agent that is present observes, sends its public belief to all who weigh
    it, takes in what has arrived, and pools. An agent that is away does none of this and keeps its
    belief; mail that arrives meanwhile goes through its mailbox as always, so that it finds the
    newest message of each neighbour when it returns.

    Parameters
    ----------
    network
        N agents: every message is kept as an object, so use this for small networks.
    log_likelihoods
        Shape (T, N, M): log ℓ_i(y_t | θ, x_t), in nats.
    seed
        A whole number of at least 0: for the post, the same losses and delays whether or not it
        also repeats and reorders.
    post
        How messages travel; a perfect one if left out.
    on_loss
        What takes the place of a missing message (:mod:`exact.changing.mailbox`).
    log_priors
        Shape (N, M) or (M,); uniform if left out.
    present
        Shape (T, N): who is there in which round; everybody if left out.

    Raises
    ------
    ValueError
        If shapes disagree, or a log-likelihood or log prior is not finite, or the network is too
        large.

    Examples
    --------
    >>> pair = Network([[0.5, 0.5], [0.5, 0.5]])
    >>> head = np.log([0.8, 0.4])
    >>> run = exchange(pair, [[head, head]] * 3, seed=0, post=Post(duplicate=1.0, longest_delay=1))
    >>> np.exp(run.beliefs.private[-1]).round(4)
    array([[0.8889, 0.1111],
           [0.8889, 0.1111]])
    >>> run.receipts[Receipt.NEW], run.receipts[Receipt.DUPLICATE] + run.receipts[Receipt.LATE] > 0
    (6, True)
    """
    table = check_log_likelihoods(log_likelihoods)
    agents = network.agents
    if table.ndim != 3 or table.shape[1] != agents or 0 in table.shape:
        raise fail(
            "log_likelihoods",
            f"shape (rounds, {agents}, hypotheses) for a network of {agents}",
            f"shape {table.shape}",
            "give one row of log-likelihoods per round and agent",
        )
    rounds, _, hypotheses = table.shape
    check_pairs(rounds, agents)
    here = presence_table(present, rounds=rounds, agents=agents)
    priors = prior_rows(log_priors, agents=agents, hypotheses=hypotheses)
    rows = as_dense(network.weights)
    peers = [Peer(i, rows[i], log_priors=priors, on_loss=on_loss) for i in range(agents)]
    office = PostOffice(post or Post(), seed=as_integer("seed", seed, minimum=0))
    links = [(i, j) for i in range(agents) for j in peers[i].mailbox.held]

    public_path, private_path = np.empty_like(table), np.empty_like(table)
    weights = np.broadcast_to(np.eye(agents), (rounds, agents, agents)).copy()
    ages = np.full((rounds, agents, agents), -1, dtype=np.int64)
    ages[:, np.arange(agents), np.arange(agents)] = 0
    for t in range(rounds):
        now = t + 1
        sent = {j: peers[j].observe(table[t, j]) for j in np.flatnonzero(here[t]).tolist()}
        for i in np.flatnonzero(~here[t]).tolist():
            peers[i].skip(now + 1)
        public_path[t] = [peer.log_belief for peer in peers]
        office.send([(i, sent.get(j)) for i, j in links], now=now)
        for i, message in office.arrivals(now):
            peers[i].deliver(message)
        for i in sent:
            pooled = peers[i].pool()
            weights[t, i], ages[t, i] = pooled.weights, pooled.ages
        private_path[t] = [peer.log_belief for peer in peers]
    return Exchange(
        Beliefs(
            read_only(public_path), read_only(private_path), read_only(estimates(private_path))
        ),
        weights=read_only(weights),
        ages=read_only(ages),
        receipts={r: sum(peer.mailbox.counts[r] for peer in peers) for r in Receipt},
    )


class PostOffice:
    """Carries messages, and decides their fate on random streams of its own.

    Each kind of fault has a stream, and every link draws from each of them in every round, so
    that one fault can be switched on without a change of the others.
    """

    def __init__(self, post: Post, *, seed: int) -> None:
        self._post = post
        streams = np.random.SeedSequence(seed).spawn(4)
        self._drop, self._delay, self._copy, self._order = map(np.random.default_rng, streams)
        self._queue: dict[int, list[tuple[int, Message]]] = {}

    def send(self, letters: list[tuple[int, Message | None]], *, now: int) -> None:
        """Take the letters of one round: to whom, and what; None where nothing is sent."""
        post, count = self._post, len(letters)
        lost = self._drop.random(count) < post.drop
        late = self._delay.random(count) < post.delay
        wait = late * self._delay.integers(1, post.longest_delay + 1, size=count)
        again = self._copy.random(count) < post.duplicate
        after = self._copy.integers(0, post.longest_delay + 1, size=count)
        for k, (listener, message) in enumerate(letters):
            if message is None or lost[k]:
                continue
            arrival = now + int(wait[k])
            self._queue.setdefault(arrival, []).append((listener, message))
            if again[k]:
                copy = (listener, message)
                self._queue.setdefault(arrival + int(after[k]), []).append(copy)

    def arrivals(self, now: int) -> list[tuple[int, Message]]:
        """What is delivered in round `now`."""
        letters = self._queue.pop(now, [])
        if self._post.reorder:
            return [letters[k] for k in self._order.permutation(len(letters))]
        return letters


def presence_table(
    present: ArrayLike | None, *, rounds: int, agents: int
) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Who is there in which round, shape (T, N)."""
    if present is None:
        return np.ones((rounds, agents), dtype=np.bool_)
    table = np.asarray(present)
    if table.shape != (rounds, agents) or table.dtype != np.bool_:
        raise fail(
            "present",
            f"truth values of shape {(rounds, agents)}",
            f"{table.dtype} of shape {table.shape}",
            "say for each round and agent whether it is there",
        )
    return table

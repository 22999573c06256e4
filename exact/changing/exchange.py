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

from exact.beliefs import (
    Beliefs,
    check_log_likelihoods,
    estimates,
    prior_rows,
)
from exact.changing.message import Message, Receipt
from exact.changing.peer import Peer
from exact.changing.weights import check_pairs
from theory import Network
from theory.network.structure import as_dense
from theory.showing import Shown
from theory.typed import typed
from theory.validation import (
    FloatArray,
    IntArray,
    as_integer,
    as_probability,
    fail,
    read_only,
)


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

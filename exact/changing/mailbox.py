"""What a lost, late or repeated message does to a belief: as little as it can.

In round t agent j sends its public belief log b_j^(t), which holds everything that it has learnt
so far. A *mailbox* keeps, for each neighbour, the message with the highest round number, and no
other. From this follow

- *a repeated message changes nothing*: it is the one that is held, or older;
- *order does not matter*: of the same messages in any order, the same ones are held;
- *a late message cannot take back a newer one*: it is discarded by its round number;
- *a message lost is made good by the next one*, since beliefs are totals and not increments.

Pooling weighs what is held with weights that sum to one. Whatever is lost or late, a pooled
log-belief is an average of log-beliefs, so that nothing grows that would not grow without faults,
and the data of any round enter an agent's belief with weights that sum to at most one
(docs: how-to/faults). What takes the place of a message that is missing is a rule:

``"own"``
    The agent's own public belief takes its weight. So the weights of the agents that were heard
    stay as they are.
``"renormalise"``
    The weights of those that were heard, the agent itself included, are rescaled to sum to one.
``"last"``
    The newest message held is used again, however old. Before the first one, that is the
    neighbour's prior, which counts as its message of round 0.

Rounds are numbers that all agents share, or each agent counts its own. With clocks of their own
("own") the numbers of two agents are not compared: no message is early, and one is missing if
nothing new has come since the last pooling. A neighbour known to be gone (:meth:`Mailbox.lose`)
counts as missing until it speaks again; by "last" too, its weight then goes to the agent itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from exact.beliefs import normalise, prior_rows
from exact.changing.peer_state import Message, Pooled, Receipt
from theory.changing import ON_LOSS
from theory.robustness.faults import Average, Clip, Median, Rule
from theory.validation import (
    FloatArray,
    as_distribution,
    as_float_array,
    as_integer,
    fail,
    read_only,
)

# Pooling of one agent by a rule that liars sway less ---------------------------------------------


def pool_by_rule(
    rule: Rule, own: FloatArray, said: FloatArray, weights: FloatArray, own_weight: float
) -> FloatArray:
    """Where an agent moves that hears K others, in floating point.

    Parameters
    ----------
    rule
        How it pools.
    own
        Shape (C,): its own log-ratios.
    said
        Shape (K, C): those of the agents it hears.
    weights, own_weight
        Shape (K,), and W_ii: they sum to one.

    Returns
    -------
    FloatArray
        Shape (C,).

    Examples
    --------
    >>> from theory.robustness import Median, TrimmedMean
    >>> said, thirds = np.array([[1.0], [900.0]]), np.full(2, 1 / 3)
    >>> pool_by_rule(Median(), np.array([0.0]), said, thirds, 1 / 3).tolist()
    [1.0]
    >>> pool_by_rule(TrimmedMean(1), np.array([0.0]), said, thirds, 1 / 3).round(4).tolist()
    [0.3333]
    """
    if isinstance(rule, Median):
        return np.asarray(np.median(np.vstack([own, said]), axis=0))
    gaps = said - own
    if isinstance(rule, Average):
        return np.asarray(own + weights @ gaps)
    if isinstance(rule, Clip):
        return np.asarray(own + weights @ np.clip(gaps, -rule.radius, rule.radius))
    each = np.broadcast_to(weights[:, None], said.shape)
    dropped = (_rank(said, each) < rule.tolerate) & (gaps < 0)
    dropped |= (_rank(-said, each) < rule.tolerate) & (gaps > 0)
    kept = np.where(dropped, 0.0, each)
    move = (kept * np.where(dropped, 0.0, gaps)).sum(axis=0)
    if rule.lost == "renormalise":
        total = own_weight + kept.sum(axis=0)
        np.divide(move, total, out=move, where=total > 0)
    return np.asarray(own + move)


def _rank(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The place of every number in its column, the smallest first; of equal ones the heaviest."""
    order = np.lexsort((-weights, values), axis=0)
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(len(values))[:, None], axis=0)
    return np.asarray(places)


# What a lost, late or repeated message does to a belief ------------------------------------------


CLOCKS = ("shared", "own")
"""Rounds that all agents count together, or each its own."""


class Mailbox:
    """The newest message of each neighbour of one agent.

    Parameters
    ----------
    owner
        The agent, from 0 to N − 1.
    weights
        Shape (N,): its row of W; they sum to one.
    log_priors
        Shape (N, M) or (M,): what the agents believe before round 1, known to all.
    on_loss
        "own", "renormalise" or "last": what takes the place of a missing message.
    clocks
        "shared" if rounds are numbers that all agents share, "own" if each counts its own.
    rule
        How the agent pools what it hears (:mod:`theory.robustness.faults`); the average if None.
        Missing messages get no vote. It acts on log-ratios against one hypothesis.
    against
        The number of that hypothesis.

    Attributes
    ----------
    counts
        How many messages met each fate so far.

    Raises
    ------
    ValueError
        If an argument does not fit.

    Examples
    --------
    >>> box = Mailbox(0, [0.5, 0.5], log_priors=np.log([0.5, 0.5]))
    >>> news = Message(1, 1, np.log([0.2, 0.8]))
    >>> [box.deliver(news, now=1).value for _ in range(2)]
    ['new', 'duplicate']
    >>> np.exp(box.pool(np.log([0.2, 0.8]), now=1).log_belief)
    array([0.2, 0.8])
    """

    def __init__(
        self,
        owner: int,
        weights: ArrayLike,
        *,
        log_priors: ArrayLike,
        on_loss: str = "own",
        clocks: str = "shared",
        rule: Rule | None = None,
        against: int = 0,
    ) -> None:
        self.on_loss = _one_of("on_loss", on_loss, ON_LOSS)
        self.clocks = _one_of("clocks", clocks, CLOCKS)
        self.counts = dict.fromkeys(Receipt, 0)
        priors = np.atleast_1d(np.asarray(log_priors, dtype=np.float64))
        self.hypotheses = priors.shape[-1]
        self.rule = None if isinstance(rule, Average) else rule
        last = max(self.hypotheses - 1, 0)
        self.against = as_integer("against", against, minimum=0, maximum=last)
        self._owner = owner
        self._held: dict[int, Message] = {}
        self._used: dict[int, int] = {}
        self._lost: set[int] = set()
        self.reweigh(weights, priors)
        self._lost.clear()

    @property
    def owner(self) -> int:
        """The agent whose mailbox this is."""
        return self._owner

    @property
    def held(self) -> MappingProxyType[int, Message]:
        """The message held of each neighbour, for reading."""
        return MappingProxyType(self._held)

    @property
    def used(self) -> MappingProxyType[int, int]:
        """How many poolings have had the message held of each neighbour; priors count as one."""
        return MappingProxyType(self._used)

    @property
    def lost(self) -> frozenset[int]:
        """Neighbours that are known to be gone and have not spoken since."""
        return frozenset(self._lost)

    def reweigh(self, weights: ArrayLike, log_priors: ArrayLike) -> None:
        """Other weights from now on, of as many agents as before or more.

        Agents keep their numbers. What is held of neighbours that stay is kept. A new neighbour
        counts as gone until it first speaks.

        Parameters
        ----------
        weights, log_priors
            As at the start, of N′ agents; priors count for new neighbours alone.

        Raises
        ------
        ValueError
            If they do not fit each other, the owner or the hypotheses.
        """
        row = as_distribution("weights", weights)
        owner = as_integer("owner", self._owner, minimum=0, maximum=row.size - 1)
        priors = prior_rows(log_priors, agents=row.size, hypotheses=self.hypotheses)
        # Round 0: what the neighbours believe before they have seen anything.
        rows = normalise(priors)
        neighbours = [int(j) for j in np.flatnonzero(row) if j != owner]
        before = self._held
        self.weights = row
        self._owner = owner
        self._held = {j: before.get(j) or Message(j, 0, rows[j]) for j in neighbours}
        # A prior is nothing new: it counts as used once.
        self._used = {j: self._used.get(j, 1) for j in neighbours}
        self._lost = {j for j in neighbours if j in self._lost or j not in before}

    def lose(self, sender: int) -> None:
        """Count a neighbour as missing, whatever is held of it, until it sends something new."""
        if sender in self._held:
            self._lost.add(sender)

    def deliver(self, message: Message, *, now: int) -> Receipt:
        """Take in a message in round `now`, and say what became of it.

        Raises
        ------
        ValueError
            If the message is about another number of hypotheses.
        """
        self.check(message)
        receipt = self._judge(message, as_integer("now", now, minimum=0))
        self.counts[receipt] += 1
        if receipt is Receipt.NEW:
            self._held[message.sender] = message
            self._used[message.sender] = 0
            self._lost.discard(message.sender)
        return receipt

    def check(self, message: Message) -> None:
        """Refuse a message about another number of hypotheses, by a ``ValueError``."""
        if message.log_belief.size != self.hypotheses:
            raise fail(
                "message.log_belief",
                f"{self.hypotheses} hypotheses",
                message.log_belief.size,
                "let all agents weigh the same hypotheses",
            )

    def restore(
        self,
        held: Iterable[Message],
        *,
        used: Mapping[int, int],
        lost: Iterable[int],
        counts: Mapping[Receipt, int],
    ) -> None:
        """Hold what a mailbox of the same agent and weights held, and count on from its counts."""
        self._held.update({message.sender: message for message in held})
        self._used.update(used)
        self._lost = set(lost)
        self.counts.update(counts)

    def missing(self, *, now: int) -> frozenset[int]:
        """Neighbours, not known to be gone, of which nothing of round `now` is held.

        With clocks of their own: nothing new since the last pooling.
        """
        return frozenset(j for j in self._held if j not in self._lost and self._age(j, now) > 0)

    def pool(self, log_public: ArrayLike, *, now: int) -> Pooled:
        """The private belief after round `now`, from what is held and the agent's own belief.

        Parameters
        ----------
        log_public
            Shape (M,): the agent's own public belief of this round.
        now
            The round. A message of an earlier round counts as missing, except by "last".
        """
        mine = as_float_array("log_public", log_public, ndim=1)
        if mine.size != self.hypotheses:
            raise fail(
                "log_public",
                f"{self.hypotheses} hypotheses",
                mine.size,
                "let all agents weigh the same hypotheses",
            )
        agents, owner = self.weights.size, self._owner
        weights, beliefs = np.zeros(agents), np.zeros((agents, mine.size))
        ages, rounds = np.full((2, agents), -1, dtype=np.int64)
        weights[owner], beliefs[owner], ages[owner], rounds[owner] = (
            self.weights[owner],
            mine,
            0,
            now,
        )
        lost = 0.0
        for sender, message in self._held.items():
            age = self._age(sender, now)
            self._used[sender] += 1
            if sender in self._lost or (age > 0 and self.on_loss != "last"):
                lost += self.weights[sender]
                continue
            weights[sender], beliefs[sender] = self.weights[sender], message.log_belief
            ages[sender], rounds[sender] = age, message.round
        if self.on_loss == "renormalise" and weights.any():
            weights /= weights.sum()
        else:
            weights[owner] += lost
        unused = weights == 0
        ages[unused] = rounds[unused] = -1
        pooled = self._combine(weights, beliefs)
        return Pooled(
            read_only(pooled), read_only(weights), ages=read_only(ages), rounds=read_only(rounds)
        )

    def _combine(self, weights: FloatArray, beliefs: FloatArray) -> FloatArray:
        """The pooled belief, shape (M,), of beliefs of shape (N, M) by the rule."""
        if self.rule is None:
            return normalise(weights @ beliefs)
        ratios = beliefs - beliefs[:, [self.against]]
        owner = self._owner
        heard = np.flatnonzero(weights)
        heard = heard[heard != owner]
        moved = pool_by_rule(
            self.rule, ratios[owner], ratios[heard], weights[heard], float(weights[owner])
        )
        return normalise(moved)

    def _age(self, sender: int, now: int) -> int:
        """How old what is held of a neighbour is; 0 for something new."""
        return self._used[sender] if self.clocks == "own" else now - self._held[sender].round

    def _judge(self, message: Message, now: int) -> Receipt:
        held = self._held.get(message.sender)
        if held is None:
            return Receipt.STRANGER
        if self.clocks == "shared" and message.round > now:
            return Receipt.EARLY
        if message.round > held.round:
            return Receipt.NEW
        if message.round < held.round:
            return Receipt.LATE
        return Receipt.DUPLICATE if message.digest == held.digest else Receipt.CONFLICT


def _one_of(argument: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise fail(argument, f"one of {', '.join(choices)}", repr(value), "choose one of them")
    return value

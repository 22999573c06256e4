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
(docs: how-to/changing-networks). What takes the place of a message that is missing is a rule:

``"own"``
    The agent's own public belief takes its weight. So the weights of the agents that were heard
    stay as they are.
``"renormalise"``
    The weights of those that were heard, the agent itself included, are rescaled to sum to one.
``"last"``
    The newest message held is used again, however old. Before the first one, that is the
    neighbour's prior, which counts as its message of round 0.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from exact.beliefs import normalise, prior_rows
from theory.changing import ON_LOSS
from theory.showing import Shown
from theory.validation import (
    FloatArray,
    IntArray,
    as_distribution,
    as_float_array,
    as_integer,
    fail,
    read_only,
)


@dataclass(frozen=True, eq=False)
class Message(Shown):
    """What one agent says in one round.

    Parameters
    ----------
    sender, round
        The agent's number, and the round t ≥ 0 it speaks of; round 0 is its prior.
    log_belief
        Shape (M,): log b, in nats; finite. A constant common to all hypotheses has no meaning.
    digest
        SHA-256 of the three in hexadecimal; worked out if left out. One that came with the
        message is compared, so that damage on the way is found.

    Raises
    ------
    ValueError
        If a number is negative, a belief not finite, or the digest that of another content.

    Examples
    --------
    >>> message = Message(2, 7, np.log([0.25, 0.75]))
    >>> Message(2, 7, np.log([0.75, 0.25]), message.digest)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: message: expected content of digest ..., got ...; ask for it to be sent again
    """

    sender: int
    round: int
    log_belief: FloatArray
    digest: str = ""

    def __post_init__(self) -> None:
        """Check the content and seal it, or compare it with its seal."""
        sender = as_integer("message.sender", self.sender, minimum=0)
        when = as_integer("message.round", self.round, minimum=0)
        belief = as_float_array("message.log_belief", self.log_belief, ndim=1)
        if belief.size == 0:
            raise fail("message.log_belief", "at least one hypothesis", "none", "state a belief")
        content = hashlib.sha256(f"{sender} {when} ".encode() + belief.astype("<f8").tobytes())
        if self.digest and self.digest != content.hexdigest():
            raise fail(
                "message",
                f"content of digest {self.digest[:12]}…",
                f"{content.hexdigest()[:12]}…",
                "ask for it to be sent again",
            )
        object.__setattr__(self, "sender", sender)
        object.__setattr__(self, "round", when)
        object.__setattr__(self, "log_belief", belief)
        object.__setattr__(self, "digest", content.hexdigest())


class Receipt(Enum):
    """What became of a message.

    Only a ``NEW`` one changes what is held.
    """

    NEW = "new"
    DUPLICATE = "duplicate"  # the message that is held, again
    LATE = "late"  # of an earlier round than the one that is held
    CONFLICT = "conflict"  # of the same round, with other content: the first one stays
    EARLY = "early"  # of a round that has not begun: nobody can know that yet
    STRANGER = "stranger"  # from an agent this one gives no weight to, or from itself


@dataclass(frozen=True, eq=False)
class Pooled(Shown):
    """An agent's private belief, and what it was made of.

    Attributes
    ----------
    log_belief
        Shape (M,): normalised, floating point.
    weights
        Shape (N,): what each agent's message counted, non-negative; they sum to one.
    ages
        Shape (N,): how many rounds old the message used was; −1 where none was.
    """

    log_belief: FloatArray
    weights: FloatArray
    ages: IntArray


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
        self, owner: int, weights: ArrayLike, *, log_priors: ArrayLike, on_loss: str = "own"
    ) -> None:
        self.weights = as_distribution("weights", weights)
        agents = self.weights.size
        self.owner = as_integer("owner", owner, minimum=0, maximum=agents - 1)
        priors = np.atleast_1d(np.asarray(log_priors, dtype=np.float64))
        self.hypotheses = priors.shape[-1]
        if on_loss not in ON_LOSS:
            raise fail("on_loss", f"one of {', '.join(ON_LOSS)}", repr(on_loss), "choose a rule")
        self.on_loss = on_loss
        self.counts = dict.fromkeys(Receipt, 0)
        # Round 0: what the neighbours believe before they have seen anything.
        rows = normalise(prior_rows(priors, agents=agents, hypotheses=self.hypotheses))
        neighbours = (int(j) for j in np.flatnonzero(self.weights) if j != self.owner)
        self._held = {j: Message(j, 0, rows[j]) for j in neighbours}

    @property
    def held(self) -> MappingProxyType[int, Message]:
        """The message held of each neighbour, for reading."""
        return MappingProxyType(self._held)

    def deliver(self, message: Message, *, now: int) -> Receipt:
        """Take in a message in round `now`, and say what became of it.

        Raises
        ------
        ValueError
            If the message is about another number of hypotheses.
        """
        if message.log_belief.size != self.hypotheses:
            raise fail(
                "message.log_belief",
                f"{self.hypotheses} hypotheses",
                message.log_belief.size,
                "let all agents weigh the same hypotheses",
            )
        receipt = self._judge(message, as_integer("now", now, minimum=0))
        self.counts[receipt] += 1
        if receipt is Receipt.NEW:
            self._held[message.sender] = message
        return receipt

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
        agents = self.weights.size
        weights, beliefs = np.zeros(agents), np.zeros((agents, mine.size))
        ages = np.full(agents, -1, dtype=np.int64)
        weights[self.owner], beliefs[self.owner], ages[self.owner] = (
            self.weights[self.owner],
            mine,
            0,
        )
        lost = 0.0
        for sender, message in self._held.items():
            age = now - message.round
            if age > 0 and self.on_loss != "last":
                lost += self.weights[sender]
                continue
            weights[sender], beliefs[sender] = self.weights[sender], message.log_belief
            ages[sender] = age
        if self.on_loss == "renormalise" and weights.any():
            weights /= weights.sum()
        else:
            weights[self.owner] += lost
        ages[weights == 0] = -1
        pooled = normalise(weights @ beliefs)
        return Pooled(read_only(pooled), read_only(weights), read_only(ages))

    def _judge(self, message: Message, now: int) -> Receipt:
        held = self._held.get(message.sender)
        if held is None:
            return Receipt.STRANGER
        if message.round > now:
            return Receipt.EARLY
        if message.round > held.round:
            return Receipt.NEW
        if message.round < held.round:
            return Receipt.LATE
        return Receipt.DUPLICATE if message.digest == held.digest else Receipt.CONFLICT

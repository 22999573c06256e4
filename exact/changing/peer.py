"""One agent of :func:`exact.exchange` by itself: messages in, messages out.

A peer does nothing on its own, and knows of no transport and no time. Whoever runs it says what it
observes, hands over what has arrived, and decides when it pools:

    observe → a message for everybody who weighs it → deliver …, deliver → pool → observe → …

From :meth:`Peer.observe` to :meth:`Peer.pool` a round is *open*. The rules for what is lost, late
or repeated are those of :mod:`exact.changing.mailbox`. By a shared clock a message of a later round
waits until that round begins. With a clock of its own an agent counts its own rounds, and pools the
newest that it holds of each neighbour.

The same calls in the same order give the same beliefs, to the last bit
(:mod:`exact.changing.replays`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exact.beliefs import check_log_likelihoods, normalise, prior_rows
from exact.changing.mailbox import Mailbox
from exact.changing.peer_state import Message, PeerState, Pooled, Receipt
from theory.robustness.faults import Rule, as_rule
from theory.validation import FloatArray, as_integer, fail, read_only

KEPT_AHEAD = 8
"""Messages of later rounds that are kept of each neighbour: the newest."""


class Peer:
    """An agent that observes, hears and pools.

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
        "shared" if all agents count the same rounds, "own" if each counts its own.
    rule
        How it pools what it hears: a rule of :mod:`theory.robustness.faults`, or "average" or
        "median"; the average if left out. A rule acts on log-ratios against one hypothesis.
    against
        The number of that hypothesis.

    Raises
    ------
    ValueError
        If an argument does not fit.

    Examples
    --------
    >>> half, prior = [0.5, 0.5], np.log([0.5, 0.5])
    >>> one, two = (Peer(i, half, log_priors=prior) for i in (0, 1))
    >>> said = one.observe(np.log([0.8, 0.4])), two.observe(np.log([0.8, 0.4]))
    >>> one.missing(), one.deliver(said[1]).value, one.missing()
    (frozenset({1}), 'new', frozenset())
    >>> one.pool().weights.tolist(), np.exp(one.log_belief).round(4).tolist()
    ([0.5, 0.5], [0.6667, 0.3333])
    """

    def __init__(
        self,
        owner: int,
        weights: ArrayLike,
        *,
        log_priors: ArrayLike,
        on_loss: str = "own",
        clocks: str = "shared",
        rule: Rule | str | None = None,
        against: int = 0,
    ) -> None:
        self._box = Mailbox(
            owner,
            weights,
            log_priors=log_priors,
            on_loss=on_loss,
            clocks=clocks,
            rule=None if rule is None else as_rule(rule),
            against=against,
        )
        rows = prior_rows(
            np.atleast_1d(np.asarray(log_priors, dtype=np.float64)),
            agents=self._box.weights.size,
            hypotheses=self._box.hypotheses,
        )
        self._belief = read_only(normalise(rows)[owner])
        self._round = 0
        self._open = False
        # Messages of later rounds, by sender and round.
        self._ahead: dict[int, dict[int, Message]] = {}

    @property
    def owner(self) -> int:
        """Its number."""
        return self._box.owner

    @property
    def round(self) -> int:
        """The round that it observed last, or was away in; 0 before the first."""
        return self._round

    @property
    def is_open(self) -> bool:
        """Whether it has observed in this round and not pooled yet."""
        return self._open

    @property
    def log_belief(self) -> FloatArray:
        """Shape (M,), normalised: the private belief; while a round is open, the public one."""
        return self._belief

    @property
    def mailbox(self) -> Mailbox:
        """What it holds of its neighbours, and how many messages met which fate; for reading."""
        return self._box

    def observe(self, log_likelihood: ArrayLike) -> Message:
        """Begin the next round: Bayes' rule, and what is to be told to the neighbours.

        Parameters
        ----------
        log_likelihood
            Shape (M,): log ℓ(y | θ), in nats; zeros where nothing was observed.

        Raises
        ------
        ValueError
            If it is not finite, of another shape, or the last round is still open.
        """
        if self._open:
            raise fail("observe", "a round that is over", f"round {self._round}", "pool first")
        observed = check_log_likelihoods(log_likelihood)
        if observed.shape != self._belief.shape:
            raise fail(
                "log_likelihood",
                f"shape {self._belief.shape}",
                f"shape {observed.shape}",
                "give one number for each hypothesis",
            )
        message = Message(self.owner, self._round + 1, normalise(self._belief + observed))
        self._belief = message.log_belief
        self._round = message.round
        self._open = True
        for kept in self._ahead.values():
            for when in sorted(when for when in kept if when <= self._round):
                self._box.deliver(kept.pop(when), now=self._round)
        return message

    def deliver(self, message: Message) -> Receipt:
        """Take in a message, and say what became of it.

        One of a later round, by a shared clock, is ``EARLY``: it is kept and counted when that
        round begins.

        Raises
        ------
        ValueError
            If the message is about another number of hypotheses.
        """
        ahead = self._box.clocks == "shared" and message.round > self._round
        if not (ahead and message.sender in self._box.held):
            return self._box.deliver(message, now=self._round)
        self._box.check(message)
        kept = self._ahead.setdefault(message.sender, {})
        known = kept.get(message.round)
        if known is not None:
            same = known.digest == message.digest
            fate = Receipt.DUPLICATE if same else Receipt.CONFLICT
            self._box.counts[fate] += 1
            return fate
        kept[message.round] = message
        if len(kept) > KEPT_AHEAD:
            self._box.counts[Receipt.EARLY] += 1
            del kept[min(kept)]
        return Receipt.EARLY

    def missing(self) -> frozenset[int]:
        """Neighbours, not known to be gone, without a message of this round.

        With clocks of their own: without a new message since the last pooling.
        """
        return self._box.missing(now=self._round)

    def pool(self) -> Pooled:
        """Close the round: the private belief, from what is held.

        Raises
        ------
        ValueError
            If no round is open.
        """
        if not self._open:
            raise fail("pool", "a round that is open", f"round {self._round}", "observe first")
        pooled = self._box.pool(self._belief, now=self._round)
        self._belief = pooled.log_belief
        self._open = False
        return pooled

    def skip(self, round: int) -> None:
        """Be away until this round, the one that is observed next.

        An open round ends without pooling.

        Raises
        ------
        ValueError
            If that round has begun already.
        """
        later = as_integer("round", round, minimum=self._round + 1)
        self._round = later - 1
        self._open = False

    def lose(self, sender: int) -> None:
        """Count a neighbour as missing, and do not wait for it, until its next message."""
        self._box.lose(sender)
        self._ahead.pop(sender, None)

    def reweigh(self, weights: ArrayLike, log_priors: ArrayLike) -> None:
        """Other weights from now on (:meth:`exact.Mailbox.reweigh`)."""
        self._box.reweigh(weights, log_priors)
        self._ahead = {j: kept for j, kept in self._ahead.items() if j in self._box.held}

    def state(self) -> PeerState:
        """All that it is, for :meth:`from_state`."""
        box = self._box
        return PeerState(
            owner=box.owner,
            round=self._round,
            is_open=self._open,
            on_loss=box.on_loss,
            clocks=box.clocks,
            rule=box.rule,
            against=box.against,
            weights=box.weights,
            log_belief=self._belief,
            held=tuple(box.held.values()),
            used=tuple(box.used[j] for j in box.held),
            lost=tuple(sorted(box.lost)),
            # In one order, whoever was heard first: a peer that came back has the same state.
            ahead=tuple(kept[n] for _, kept in sorted(self._ahead.items()) for n in sorted(kept)),
            counts=tuple(box.counts.values()),
        )

    @classmethod
    def from_state(cls, state: PeerState) -> Peer:
        """The same peer again: it goes on to the last bit as the first one would have."""
        peer = cls(
            state.owner,
            state.weights,
            log_priors=np.zeros(state.log_belief.size),
            on_loss=state.on_loss,
            clocks=state.clocks,
            rule=state.rule,
            against=state.against,
        )
        peer._box.restore(
            state.held,
            used={m.sender: n for m, n in zip(state.held, state.used, strict=True)},
            lost=state.lost,
            counts=dict(zip(Receipt, state.counts, strict=True)),
        )
        peer._belief, peer._round, peer._open = state.log_belief, state.round, state.is_open
        for message in state.ahead:
            peer._ahead.setdefault(message.sender, {})[message.round] = message
        return peer

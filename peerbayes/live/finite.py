"""Learning over finitely many hypotheses: a learner around :class:`exact.changing.peer.Peer`."""

from __future__ import annotations

from typing import Any

import numpy as np

from exact.changing.peer import Peer
from exact.changing.peer_state import Message, PeerState, Receipt
from peerbayes.live.frames import Frame, Refused, Shapes, Tensors
from peerbayes.live.learner import Saved, Used
from peerbayes.live.members import Members
from peerbayes.live.share import Share
from theory.robustness.faults import Clip, Median, Rule, TrimmedMean
from theory.validation import FloatArray, fail

CLOCKS = {"lockstep": "shared", "own": "own"}
"""How rounds are counted, by the pace."""


class FiniteLearner:
    """One agent's log-beliefs over the hypotheses of its share.

    Parameters
    ----------
    share
        Of kind "finite".
    pace
        "lockstep" or "own".
    on_loss
        What takes the place of a missing message; the share's rule if left out.
    rule
        A robust rule's keys as in a ``[faults]`` table; the share's if left out.

    Raises
    ------
    ValueError
        If something does not fit.
    """

    kind = "finite"
    replays = True

    def __init__(
        self,
        share: Share,
        *,
        pace: str = "lockstep",
        on_loss: str | None = None,
        rule: dict[str, Any] | None = None,
    ) -> None:
        self._members = share.members
        self._name = share.agent
        self._hypotheses = len(share.content["hypotheses"])
        self._none = np.zeros(self._hypotheses)
        self._peer = Peer(
            share.members.number(share.agent),
            share.members.row(share.agent),
            log_priors=np.array(share.members.log_priors),
            on_loss=on_loss or share.on_loss,
            clocks=CLOCKS[pace],
            rule=robust_rule(share.rule if rule is None else rule),
        )
        self._number()

    def _number(self) -> None:
        self._names = self._members.names
        self._numbers = {name: j for j, name in enumerate(self._names)}

    @property
    def round(self) -> int:
        """Rounds begun so far."""
        return self._peer.round

    @property
    def has_open_round(self) -> bool:
        """Whether a round has begun and is not pooled yet."""
        return self._peer.is_open

    def learn(self, evidence: FloatArray | None) -> Tensors:
        """Begin the next round with a log-likelihood, shape (M,); the public log-belief."""
        message = self._peer.observe(self._none if evidence is None else evidence)
        return {"log_belief": message.log_belief}

    def take(self, frame: Frame) -> Receipt:
        """A neighbour's log-belief.

        Raises
        ------
        Refused
            If its numbers are too large for sums of them.
        """
        sender = self._numbers.get(frame.sender)
        if sender is None:
            return Receipt.STRANGER
        try:
            return self.deliver(sender, frame.round, frame.tensors["log_belief"])
        except ValueError as error:
            raise Refused("not-finite", str(error)) from None

    def deliver(self, sender: int, round: int, log_belief: FloatArray) -> Receipt:
        """The log-belief, shape (M,), of the agent of this number.

        Raises
        ------
        ValueError
            If it is not finite, too large, or of another shape.
        """
        return self._peer.deliver(Message(sender, round, log_belief))

    def missing(self) -> frozenset[str]:
        """Present neighbours of whom there is no message of this round."""
        return frozenset(self._names[j] for j in self._peer.missing())

    def pool(self) -> Used:
        """Pool what is held."""
        pooled = self._peer.pool()
        weights, rounds = pooled.weights.tolist(), pooled.rounds.tolist()
        used = [j for j, weight in enumerate(weights) if weight > 0]
        names = self._names
        return Used({names[j]: weights[j] for j in used}, {names[j]: rounds[j] for j in used})

    def skip(self, round: int) -> None:
        """Be away until `round`, which is the next to begin."""
        self._peer.skip(round)

    def lose(self, name: str) -> None:
        """A neighbour is gone, until its next new message."""
        if name in self._numbers:
            self._peer.lose(self._numbers[name])

    def reweigh(self, members: Members) -> None:
        """A new list of members, in which every agent has the number that it had."""
        if members.names[: self._members.agents] != self._members.names:
            wanted = f"the names so far first: {', '.join(self._members.names[:12])}"
            got = ", ".join(members.names[:12])
            raise fail("members.names", wanted, got, "add agents at the end")
        self._peer.reweigh(members.row(self._name), np.array(members.log_priors))
        self._members = members
        self._number()

    def save(self) -> Saved:
        """The peer's state, and the list of members."""
        state = self._peer.state()
        return Saved({"peer": state.meta, "members": self._members.document()}, dict(state.tensors))

    def restore(self, saved: Saved) -> None:
        """Go back to a saved state.

        Raises
        ------
        ValueError
            If it is that of another network, agent or model.
        """
        members = Members.from_document(saved.meta["members"])
        state = PeerState.from_parts(saved.meta["peer"], saved.tensors)
        same = members.network == self._members.network
        if not same or state.log_belief.size != self._hypotheses or state.owner != self._peer.owner:
            wanted = f"that of agent {self._name!r} of network {self._members.network}"
            raise fail("state", wanted, f"network {members.network}", "use another folder")
        self._peer = Peer.from_state(state)
        self._members = members
        self._number()

    @property
    def members(self) -> Members:
        """The list by which it goes."""
        return self._members

    @property
    def log_belief(self) -> FloatArray:
        """Shape (M,): what it believes, in nats."""
        return self._peer.log_belief

    def number(self, name: str) -> int:
        """An agent's number."""
        return self._numbers[name]

    def name(self, number: int) -> str:
        """An agent's name."""
        return self._names[number]

    def summary(self) -> dict[str, Any]:
        """Log-beliefs in nats, and probabilities."""
        belief = self._peer.log_belief
        return {"log_belief": belief.tolist(), "probabilities": np.exp(belief).tolist()}

    def shapes(self) -> Shapes:
        """One log-belief."""
        return {"log_belief": ("F64", (self._hypotheses,))}


def robust_rule(keys: Any) -> Rule | None:
    """The rule that the keys of a ``[faults]`` table name; None for the plain average.

    Raises
    ------
    ValueError
        If there is none, or its number is missing or does not fit.
    """
    name = keys.get("rule", "average")
    if name == "trimmed-mean":
        return TrimmedMean(keys["tolerate"])
    if name == "clip":
        return Clip(keys["radius"])
    if name == "median":
        return Median()
    if name != "average":
        wanted = "average, median, trimmed-mean or clip"
        raise fail("robust", wanted, repr(name), "choose a rule")
    return None

"""What an agent learns by: a state machine that neither sends nor waits.

Which message is pooled, and by which weight, is decided by :class:`exact.changing.peer.Peer`, which
knows numbers; a learner knows the list of members, and gives agents their names. Learning over
finitely many hypotheses is here, that of nets in `peerbayes.live.nets`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from exact.changing.peer import Peer
from exact.changing.peer_state import Message, PeerState, Receipt
from peerbayes.live.frames import Frame, Refused, Shapes, Tensors
from peerbayes.live.members import Members, Share, robust_rule
from theory.robustness.faults import Rule
from theory.validation import FloatArray, fail

CLOCKS = {"lockstep": "shared", "own": "own"}
"""How rounds are counted, by the pace."""


@dataclass(frozen=True)
class Used:
    """Which messages one pooling used.

    Attributes
    ----------
    weights
        What each agent's message counted, by name, the agent's own included; they sum to one.
        Agents whose message was not used are missing.
    rounds
        The round of the message that was used, by name.
    """

    weights: Mapping[str, float]
    rounds: Mapping[str, int]


@dataclass(frozen=True)
class Saved:
    """A learner's state: what JSON holds, and arrays beside it."""

    meta: Mapping[str, Any]
    tensors: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class Learner(ABC):
    """One agent's learning: a round is `learn`, any number of `take`, `pool`.

    Parameters
    ----------
    share
        Of the learner's kind.
    pace
        "lockstep" or "own".
    on_loss
        What takes the place of a missing message; the share's rule if left out.
    rule
        How the peer pools; None: it averages.

    Attributes
    ----------
    kind
        "finite" or "net": what its frames say.
    members
        The list by which it goes.
    keep
        Told what has been done to the learner, as a journal has it; nobody, unless it is kept.
    stored_round
        The last round that would survive the death of the process.
    replays
        Whether `learn`, `take`, `pool`, `skip`, `lose` and `reweigh`, called again on the same
        input after `restore`, lead to the same state, bit for bit, and quickly: then a journal of
        them keeps it; it has a `log_belief` then, in an open round what it said, and `deliver` for
        what was taken. Otherwise its state is kept whole whenever that is cheap.
    """

    kind: ClassVar[str]
    replays: ClassVar[bool]

    def __init__(
        self, share: Share, *, pace: str, on_loss: str | None, rule: Rule | None = None
    ) -> None:
        self._name = share.agent
        self.keep: Callable[..., None] = lambda kind, **what: None
        self.stored_round = 0
        self._peer = Peer(
            share.members.number(share.agent),
            share.members.row(share.agent),
            log_priors=self._priors(share.members),
            on_loss=on_loss or share.on_loss,
            clocks=CLOCKS[pace],
            rule=rule,
        )
        self._adopt(share.members)

    def _priors(self, members: Members) -> FloatArray:
        """Shape (N, M): what the peer takes for log priors."""
        return np.array(members.log_priors)

    def _adopt(self, members: Members) -> None:
        self.members, self._names = members, members.names
        self._numbers = {name: j for j, name in enumerate(members.names)}

    @property
    def round(self) -> int:
        """Rounds begun so far; strictly increasing."""
        return self._peer.round

    @property
    def has_open_round(self) -> bool:
        """Whether a round has begun and is not pooled yet."""
        return self._peer.is_open

    @abstractmethod
    def learn(self, evidence: Any) -> Tensors:
        """Begin the next round with the agent's own evidence; what is to be sent.

        `evidence` is what the learner's evidence source gives; None where there is none.
        """

    @abstractmethod
    def take(self, frame: Frame) -> Receipt:
        """A neighbour's message.

        Raises
        ------
        Refused
            If its numbers are none of a belief, or too large for sums of them.
        """

    def missing(self) -> frozenset[str]:
        """Present neighbours of whom there is no message of this round (lock-step)."""
        return frozenset(self._names[j] for j in self._peer.missing())

    def pool(self) -> Used:
        """Pool what is held; the end of the round."""
        pooled, names = self._peer.pool(), self._names
        self.keep("pool", round=self.round, numbers=self._peer.log_belief)
        weights, rounds = pooled.weights.tolist(), pooled.rounds.tolist()
        used = [j for j, weight in enumerate(weights) if weight > 0]
        return Used({names[j]: weights[j] for j in used}, {names[j]: rounds[j] for j in used})

    def skip(self, round: int) -> None:
        """Be away until `round`, which is the next to begin; an open round ends unpooled."""
        self._peer.skip(round)
        self.keep("skip", round=round)

    def lose(self, name: str) -> None:
        """A neighbour is gone, until its next new message."""
        if name in self._numbers:
            self._peer.lose(self._numbers[name])
            self.keep("lose", agent=self._numbers[name])

    def reweigh(self, members: Members) -> None:
        """A new list of members, in which every agent has the number that it had.

        Raises
        ------
        ValueError
            If one has not.
        """
        before = self.members.names
        if members.names[: len(before)] != before:
            wanted = f"the names so far first: {', '.join(before[:12])}"
            got = ", ".join(members.names[:12])
            raise fail("members.names", wanted, got, "add agents at the end")
        self._peer.reweigh(members.row(self._name), self._priors(members))
        self._adopt(members)
        self.keep("reweigh", data=json.dumps(members.document()).encode())

    def save(self) -> Saved:
        """Everything that `restore` needs: the peer's state, and the list of members."""
        state = self._peer.state()
        return Saved({"peer": state.meta, "members": self.members.document()}, dict(state.tensors))

    def restore(self, saved: Saved) -> None:
        """Go back to a saved state.

        Raises
        ------
        ValueError
            If it is that of another network, agent or model.
        """
        members = Members.from_document(saved.meta["members"])
        state = PeerState.from_parts(saved.meta["peer"], saved.tensors)
        same = members.network == self.members.network and state.owner == self._peer.owner
        if not same or state.log_belief.size != self._peer.log_belief.size:
            wanted = f"that of agent {self._name!r} of network {self.members.network}"
            raise fail("state", wanted, f"network {members.network}", "use another folder")
        self._peer = Peer.from_state(state)
        self._adopt(members)

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """What the agent believes, as JSON takes it: the report's "belief"."""

    @abstractmethod
    def shapes(self) -> Shapes:
        """What its frames hold."""


class FiniteLearner(Learner):
    """One agent's log-beliefs over the hypotheses of its share.

    Parameters
    ----------
    share, pace, on_loss
        As of a `Learner`.
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
        rule: Mapping[str, Any] | None = None,
    ) -> None:
        pools = robust_rule(share.rule if rule is None else rule)
        super().__init__(share, pace=pace, on_loss=on_loss, rule=pools)
        self._none = np.zeros(len(share.content["hypotheses"]))

    @property
    def log_belief(self) -> FloatArray:
        """Shape (M,): what it believes, in nats."""
        return self._peer.log_belief

    def learn(self, evidence: FloatArray | None) -> Tensors:
        """Begin the next round with a log-likelihood, shape (M,); the public log-belief."""
        message = self._peer.observe(self._none if evidence is None else evidence)
        self.keep("observe", round=self.round, numbers=evidence)
        return {"log_belief": message.log_belief}

    def take(self, frame: Frame) -> Receipt:
        """A neighbour's log-belief."""
        sender = self._numbers.get(frame.sender)
        if sender is None:
            return Receipt.STRANGER
        belief = frame.tensors["log_belief"]
        try:
            receipt = self.deliver(sender, frame.round, belief)
        except ValueError as error:
            raise Refused("not-finite", str(error)) from None
        if receipt in (Receipt.NEW, Receipt.EARLY):
            self.keep("deliver", round=frame.round, agent=sender, numbers=belief)
        return receipt

    def deliver(self, sender: int, round: int, log_belief: FloatArray) -> Receipt:
        """The log-belief, shape (M,), of the agent of this number.

        Raises
        ------
        ValueError
            If it is not finite, too large, or of another shape.
        """
        return self._peer.deliver(Message(sender, round, log_belief))

    def summary(self) -> dict[str, Any]:
        """Log-beliefs in nats, and probabilities."""
        belief = self._peer.log_belief
        return {"log_belief": belief.tolist(), "probabilities": np.exp(belief).tolist()}

    def shapes(self) -> Shapes:
        """One log-belief."""
        return {"log_belief": ("F64", self._none.shape)}

"""Learning of nets: a learner around one agent's training.

Which message is pooled, by which weight, is decided by :class:`exact.changing.peer.Peer`, as for
beliefs over hypotheses. It is told of each message by a mark in place of its numbers, of which
there are hundreds of thousands; those are pooled by the code that pools them in one process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from exact.changing.peer import Peer
from exact.changing.peer_state import Message, PeerState, Receipt
from peerbayes.live.finite import CLOCKS
from peerbayes.live.frames import Frame, Refused, Shapes, Tensors
from peerbayes.live.learner import Saved, Used
from peerbayes.live.members import Members
from peerbayes.live.net_training import OwnTraining, own_training
from peerbayes.live.share import Share
from theory.validation import FloatArray, fail

if TYPE_CHECKING:
    from empirical.live.agent import AgentTraining, Said

# A running agent spends at most this share of its time on scores of itself.
JUDGING = 0.02
_NOTHING = np.zeros(1)
_DIGITS = 13  # of a digest, in hexadecimal: as many as a float holds


class OwnData:
    """What an agent that trains a net sees: rounds of its own share, whenever they are asked for.

    Attributes
    ----------
    offset, taken
        Rounds taken so far.
    refused
        0.
    arrives, ended
        False: nothing comes from outside, and nothing ends.
    """

    arrives = False
    ended = False
    topic: str | None = None
    refused = 0

    def __init__(self) -> None:
        self.offset = self.taken = 0

    def take(self, most: int) -> FloatArray | None:
        """A round; the learner has the data, so that there is nothing to give: None."""
        self.offset += 1
        self.taken += 1
        return None

    def put_bytes(self, data: bytes) -> None:
        """Nothing comes."""

    def open(self, wake: Callable[[], None]) -> None:
        """Nothing will arrive."""

    def close(self) -> None:
        """Nothing is open."""


class NetLearner:
    """One agent's net, between what it is told.

    Parameters
    ----------
    share
        Of kind "net".
    pace
        "lockstep" or "own".
    on_loss
        What takes the place of a missing message; the share's rule if left out.
    rule
        Empty or None: the average. Robust rules are for hypotheses.
    own
        What is trained; left out: what the share names, which needs torch and the data.

    Attributes
    ----------
    rounds
        After how many rounds the training ends, by its own account.

    Raises
    ------
    ValueError
        If something does not fit, or is missing.
    """

    kind = "net"
    replays = False

    def __init__(
        self,
        share: Share,
        *,
        pace: str = "lockstep",
        on_loss: str | None = None,
        rule: Mapping[str, Any] | None = None,
        own: OwnTraining | None = None,
    ) -> None:
        if (share.rule if rule is None else rule).get("rule", "average") != "average":
            raise fail("robust", "the average, for nets", dict(rule or share.rule), "leave it out")
        self._members, self._name = share.members, share.agent
        self._own = own_training(share) if own is None else own
        self.rounds = int(share.content["rounds"])
        self._peer = Peer(
            share.members.number(share.agent),
            share.members.row(share.agent),
            log_priors=_NOTHING,
            on_loss=on_loss or share.on_loss,
            clocks=CLOCKS[pace],
        )
        # Messages that the peer holds or keeps for later, by sender and digest.
        self._said: dict[tuple[int, str], Said] = {}
        # Neighbours that have not spoken since this agent's return.
        self._silent: set[int] = set()
        self._scores: dict[str, Any] = {}
        self._scored_at, self._scoring = -np.inf, 0.0
        self._learning: float | None = None
        self._number()

    def _number(self) -> None:
        self._names = self._members.names
        self._numbers = {name: j for j, name in enumerate(self._names)}

    @property
    def peer(self) -> Peer:
        """What decides which messages are pooled."""
        return self._peer

    @property
    def training(self) -> AgentTraining:
        """The nets."""
        return self._own.training

    @property
    def members(self) -> Members:
        """The list by which it goes."""
        return self._members

    @property
    def round(self) -> int:
        """Rounds begun so far."""
        return self._peer.round

    @property
    def kept(self) -> frozenset[tuple[int, str]]:
        """Of which messages the numbers are in memory: senders and marks."""
        return frozenset(self._said)

    def learn(self, evidence: object = None) -> Tensors:
        """A round's local steps on the agent's own data; the vectors that are to be sent.

        Parameters
        ----------
        evidence
            Not looked at.

        Raises
        ------
        TrainingFailed
            If numbers are not finite any more.
        """
        self._peer.observe(_NOTHING)
        begin = time.thread_time()
        said = {name: values.numpy() for name, values in self.training.learn().items()}
        if self._learning is not None:
            self._learning += time.thread_time() - begin
        return said

    def take(self, frame: Frame) -> Receipt:
        """A neighbour's message.

        Raises
        ------
        Refused
            If it is no belief.
        """
        from empirical.live.agent import vectors

        sender = self._numbers.get(frame.sender)
        if sender is None:
            return Receipt.STRANGER
        precision = frame.tensors.get("precision")
        if precision is not None and not precision.min() > 0:
            raise Refused("not-finite", f"a precision of {precision.min():g}")
        mark = int(frame.digest[:_DIGITS] or "0", 16) / 16.0**_DIGITS
        message = Message(sender, frame.round, np.array([mark]))
        receipt = self._peer.deliver(message)
        if receipt in (Receipt.NEW, Receipt.EARLY):
            self._silent.discard(sender)
            self._said[sender, message.digest] = vectors(frame.tensors)
            self._forget()
        return receipt

    def missing(self) -> frozenset[str]:
        """Present neighbours of whom there is no message of this round."""
        return frozenset(self._names[j] for j in self._peer.missing() | self._silent)

    def pool(self) -> Used:
        """Pool what is held."""
        if self._learning is None:
            self._learning = 0.0
        pooled = self._peer.pool()
        weights, rounds = pooled.weights.tolist(), pooled.rounds.tolist()
        used = [j for j, weight in enumerate(weights) if weight > 0]
        begin = self.training.begin
        held = self._peer.mailbox.held
        heard = {
            j: self._said[j, held[j].digest] if rounds[j] else begin
            for j in used
            if j != self._peer.owner
        }
        self.training.pool(heard, {j: weights[j] for j in used})
        self._forget()
        names = self._names
        return Used({names[j]: weights[j] for j in used}, {names[j]: rounds[j] for j in used})

    def skip(self, round: int) -> None:
        """Be away until `round`, which is the next to begin."""
        self._peer.skip(round)
        self.training.skip(round - 1)

    def lose(self, name: str) -> None:
        """A neighbour is gone, until its next new message."""
        if name in self._numbers:
            self._peer.lose(self._numbers[name])
            self._silent.discard(self._numbers[name])

    def reweigh(self, members: Members) -> None:
        """A new list of members, in which every agent has the number that it had.

        Raises
        ------
        ValueError
            If one has not.
        """
        if members.names[: self._members.agents] != self._members.names:
            wanted = f"the names so far first: {', '.join(self._members.names[:12])}"
            got = ", ".join(members.names[:12])
            raise fail("members.names", wanted, got, "add agents at the end")
        self._peer.reweigh(members.row(self._name), _NOTHING)
        self._members = members
        self._number()
        self._silent &= set(self._peer.mailbox.held)
        self._forget()

    def save(self) -> Saved:
        """Training, peer and list of members; of what others said, only of which round it was."""
        state = self._peer.state()
        tensors = {name: values.numpy() for name, values in self.training.state().items()}
        return Saved(
            {"peer": state.meta, "members": self._members.document()},
            {
                **{f"peer.{name}": values for name, values in state.tensors.items()},
                **{f"training.{name}": values for name, values in tensors.items()},
            },
        )

    def restore(self, saved: Saved) -> None:
        """Go back to a saved state; a neighbour counts as missing until it speaks again.

        Raises
        ------
        ValueError
            If it is that of another network, agent or net.
        """
        from empirical.live.agent import vectors

        members = Members.from_document(saved.meta["members"])
        state = PeerState.from_parts(saved.meta["peer"], _under("peer.", saved.tensors))
        if members.network != self._members.network or state.owner != self._peer.owner:
            wanted = f"that of agent {self._name!r} of network {self._members.network}"
            raise fail("state", wanted, f"network {members.network}", "use another folder")
        self.training.restore(vectors(_under("training.", saved.tensors)))
        spoken = {message.sender for message in state.held if message.round > 0}
        lost = tuple(sorted(spoken | set(state.lost)))
        self._peer = Peer.from_state(replace(state, lost=lost, ahead=()))
        self._silent = spoken - set(state.lost)
        self._said = {}
        self._members = members
        self._number()

    def summary(self) -> dict[str, Any]:
        """Scores of the mean weights, as old as keeps them cheap, and of which round they are.

        Also ``learning``: seconds of CPU time of local steps since the first pooling.
        """
        now = time.perf_counter()
        due = now - self._scored_at >= self._scoring / JUDGING
        if due and self._scores.get("round") != self.round:
            self._scores = {
                **self._own.score(),
                "judged_by": self._own.judged_by,
                "round": self.round,
            }
            self._scored_at = time.perf_counter()
            self._scoring = self._scored_at - now
        return {**self._scores, "learning": self._learning or 0.0}

    def shapes(self) -> Shapes:
        """Vectors of float32, all of one length."""
        begin = self.training.begin
        return {name: ("F32", tuple(values.shape)) for name, values in begin.items()}

    def _forget(self) -> None:
        """Let go of numbers that the peer will not ask for any more."""
        if not self._said:
            return
        state = self._peer.state()
        wanted = {(one.sender, one.digest) for one in (*state.held, *state.ahead)}
        self._said = {key: said for key, said in self._said.items() if key in wanted}


def _under(prefix: str, tensors: Tensors) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): values
        for name, values in tensors.items()
        if name.startswith(prefix)
    }

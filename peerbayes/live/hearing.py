"""What one live agent hears: from bytes to its learner, from which process, and who is there.

Nothing that arrives ends the loop: what is wrong is refused, counted by its reason, and said once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exact.changing.peer_state import Receipt
from peerbayes.live.frames import Frame, Refused, unseal
from peerbayes.live.learner import Learner
from peerbayes.live.members import Members
from peerbayes.live.report import Tally, clock
from peerbayes.live.transport import Inbox
from peerbayes.live.zenoh_transport import ZenohTransport
from theory.validation import fail

# Processes that are remembered of one agent.
_MOST = 16
# What a process that died had said may still be under way for so many seconds.
_UNDER_WAY = 10.0
# Rounds that a neighbour may miss one after the other before it is waited for no more.
_PATIENT_ROUNDS = 3
# In lock-step: how far ahead a neighbour may say it is, by the seconds since the last pooling.
_ROUNDS_A_SECOND, _ROUNDS_AT_ONCE = 20_000, 10_000
# Own messages that are remembered, to be told from those of another process.
_MOST_SAID = 1024


class Speakers:
    """The processes that spoke, by the agent's name.

    Parameters
    ----------
    log
        Told once of each process that is one too many, in one line.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        # By name: each process in the order of its first message; when that was made, when it came.
        self._first: dict[str, dict[str, tuple[float, float]]] = {}
        self._speaks: dict[str, str] = {}
        self._refused: dict[str, set[str]] = {}
        self._owed: set[str] = set()

    @property
    def doubled(self) -> list[str]:
        """Agents as which two processes spoke."""
        return sorted(self._refused)

    def hear(self, name: str, process: str, *, made: float, now: float) -> bool:
        """Whether a message is taken; not that of a second process.

        Parameters
        ----------
        name, process
            As whom, and which process spoke; "" where it did not say.
        made, now
            Seconds: when the message was made on the sender's clock, and when it came on one's own.
        """
        if not process:
            return True
        if process in self._refused.get(name, ()):
            self._owed.add(name)
            return False
        first = self._first.setdefault(name, {})
        speaks = self._speaks.setdefault(name, process)
        if process not in first:
            if len(first) == _MOST:
                del first[next(one for one in first if one != speaks)]
            first[process] = (made, now)
            self._speaks[name] = process
            return True
        if process == speaks:
            return True
        second = max(process, speaks, key=[*first].index)
        began, came = first[second]
        if process != second and made <= began and now <= came + _UNDER_WAY:
            return True  # it was under way when its process died
        if name not in self._refused:
            self._log(f"two processes speak as agent {name!r}: stop one; the second is not heard")
        self._refused.setdefault(name, set()).add(second)
        self._owed.add(name)
        if process != second:
            self._speaks[name] = process
        return process != second

    def owed(self, name: str) -> bool:
        """Whether a second process has spoken that has not been told of the first; only once."""
        owed = name in self._owed
        self._owed.discard(name)
        return owed


@dataclass(frozen=True)
class Trust:
    """Whose word is taken; without keys anybody's.

    Attributes
    ----------
    sign, verify
        Of frames (`peerbayes.live.frames`).
    trusted
        Whether a new list of members is properly signed.
    """

    sign: Callable[[bytes], str] | None = None
    verify: Callable[[str, bytes, str], bool] | None = None
    trusted: Callable[[Members], bool] | None = None


NOBODY = Trust()
"""No keys: nothing is signed, and anybody's word is taken."""


class Hearing:
    """Takes in what arrived.

    Parameters
    ----------
    name
        The agent.
    learner, transport, tally
        What learns, how it talks, and what is counted.
    shared
        Whether all agents count the same rounds.
    limit, trust, log
        As of :class:`peerbayes.live.loop.PeerLoop`.

    Attributes
    ----------
    inbox
        Where the transport puts what arrives.
    heard
        Names of the neighbours, whom the agent weighs.
    """

    def __init__(
        self,
        name: str,
        *,
        learner: Learner,
        transport: ZenohTransport,
        tally: Tally,
        shared: bool,
        limit: int,
        trust: Trust,
        log: Callable[[str], None],
    ) -> None:
        self._name, self._learner, self._transport = name, learner, transport
        self._tally, self._shared, self._limit = tally, shared, limit
        self._trust, self._log = trust, log
        self.inbox = Inbox()
        self._speakers = Speakers(log)
        self._said: dict[int, float] = {}  # by round: when its message was made
        self.heard: frozenset[str] = frozenset()
        self._shapes = learner.shapes()
        self._present: set[str] = set()
        self._gone: set[str] = set()
        self._lost: set[str] = set()  # those gone of whom the learner knows
        self._spoke: set[str] = set()  # since the last pooling
        self._met: set[str] = set()  # there at the start, and not heard of since
        self._missed: dict[str, int] = {}
        self._newest: dict[str, int] = {}
        self._last_pool, self._pooled = time.monotonic(), learner.round
        self._adopt(learner.members)

    @property
    def doubled(self) -> list[str]:
        """Agents as which two processes spoke."""
        return self._speakers.doubled

    # Who is there -------------------------------------------------------------------------------

    def absent(self) -> frozenset[str]:
        """Those who hear or are heard, and have not been seen."""
        return (self.heard | self._listeners) - self._present

    def alone(self) -> bool:
        """Whether nobody of them has been seen."""
        return self._present.isdisjoint(self.heard | self._listeners)

    def met(self) -> None:
        """Whoever is there now will speak, even one that a kept state holds to be gone."""
        self._met = self._present & self.heard

    def waiting_for(self) -> list[str]:
        """Neighbours without a message of this round for whom it is worth waiting."""
        missed = self._missed
        return [
            name
            for name in self._learner.missing() | self._met
            if name not in self._gone and missed.get(name, 0) < _PATIENT_ROUNDS
        ]

    def waited_in_vain(self, names: list[str]) -> None:
        """These did not come in time."""
        for name in names:
            self._missed[name] = self._missed.get(name, 0) + 1

    def far_ahead(self) -> int:
        """The round to go to if others are so far ahead that they did without this agent; or 0."""
        here = self._learner.round
        lead, most = self._lead, self._learner.members.agents
        ahead = [n for name, n in self._newest.items() if n > here + lead.get(name, most)]
        return max(ahead, default=0)

    def lose(self, name: str) -> None:
        """An agent is gone: it is not waited for, and done without once all it said is used."""
        if name in self.heard:
            self._gone.add(name)
            self._do_without(name)

    def pooled(self) -> None:
        """A round is over."""
        self._last_pool = time.monotonic()
        self._pooled = self._learner.round
        self._spoke.clear()
        for name in self._gone - self._lost:
            self._do_without(name)

    def _do_without(self, name: str) -> None:
        """Lose an agent that is gone, unless a message of it is still to be pooled."""
        waits = self._shared and self._newest.get(name, 0) > self._pooled
        if name not in self._spoke and not waits:
            self._lost.add(name)
            self._newest.pop(name, None)
            self._learner.lose(name)

    # What arrives -------------------------------------------------------------------------------

    def said(self, round: int, made: float) -> None:
        """The agent itself sent a message of that round, made at that time."""
        self._said[round] = made
        if len(self._said) > _MOST_SAID:
            del self._said[next(iter(self._said))]

    def take_in(self, what: str, name: Any, data: Any, process: str = "") -> None:
        """One event of the inbox.

        Raises
        ------
        ValueError
            If another process speaks as this agent, and was heard before.
        """
        if what == "frame":
            try:
                self._take(name, data, process)
            except Refused as refusal:
                self._refuse(name, refusal.reason, refusal.detail)
        elif what == "alive":
            self._note(name, data)
        elif what == "echo":
            self._hear_own(data)
        elif what == "refused":
            self._refuse(name, data, "")
        elif what == "members":
            try:
                self.consider(Members.from_bytes(data))
            except ValueError as error:
                self._refuse("members", "not-a-frame", str(error))

    def _unsealed(self, name: str, data: bytes) -> Frame:
        members = self._learner.members
        return unseal(
            data,
            limit=self._limit,
            network=members.network,
            shapes=self._shapes,
            kind=self._learner.kind,
            name=name,
            members=self._names,
            epoch=lambda number: abs(number - members.epoch) <= 1,
            verify=self._trust.verify,
        )

    def _take(self, name: str, data: bytes, process: str) -> None:
        frame = self._unsealed(name, data)
        if self._shared and self._learner.round > 0:
            seconds = time.monotonic() - self._last_pool
            most = self._learner.round + _ROUNDS_AT_ONCE + int(_ROUNDS_A_SECOND * seconds)
            if frame.round > most:
                raise Refused("far-ahead", f"round {frame.round}")
        if not self._speakers.hear(name, process, made=frame.time, now=time.monotonic()):
            self._tally.refuse("second-process")
            return
        if self._speakers.owed(name):
            self._transport.echo(data)
        receipt = self._learner.take(frame)
        self._tally.receipts[receipt] += 1
        if receipt in (Receipt.NEW, Receipt.EARLY):
            self._tally.heard(name, frame.round, frame.time, frame.gap)
            self._newest[name] = max(frame.round, self._newest.get(name, 0))
            self._missed.pop(name, None)
            self._spoke.add(name)
            self._met.discard(name)
            self._lost.discard(name)

    def _hear_own(self, data: bytes) -> None:
        """End if a frame was made in this agent's name that it has not sent.

        With keys nobody else can have made it; one of an earlier life is older than this process.
        """
        try:
            frame = self._unsealed(self._name, data)
        except Refused:
            return
        oldest = next(iter(self._said), None)
        own = oldest is None or frame.round < oldest or self._said.get(frame.round) == frame.time
        if own or (self._trust.verify is not None and frame.time < self._tally.began):
            return
        wanted = f"to be the only process that speaks as {self._name!r}"
        raise fail("agent", wanted, "another that was there first", "stop one of the two")

    def _refuse(self, name: str, reason: str, detail: str) -> None:
        if self._tally.refuse(reason):
            text = f" ({detail})" if detail else ""
            self._log(f"refused what came as {name!r}: {reason}{text}; more are only counted")

    def _note(self, name: str, here: bool) -> None:
        if name == self._name:
            return
        if name in self.heard:
            link = self._tally.link(name)
            if link.alive != here:
                link.alive, link.changed = here, clock()
        if here:
            self._present.add(name)
            self._gone.discard(name)
            self._lost.discard(name)
            self._missed.pop(name, None)
        else:
            self._present.discard(name)
            self.lose(name)

    # Who belongs --------------------------------------------------------------------------------

    def consider(self, members: Members) -> None:
        """A list of members: it is gone by, and handed on, if it is newer and signed."""
        now = self._learner.members
        if members.epoch <= now.epoch or members.network != now.network:
            return
        if self._trust.trusted is not None and not self._trust.trusted(members):
            self._refuse("members", "bad-signature", f"epoch {members.epoch}")
            return
        if self._name not in members.names:
            self._log(f"is not among the members of list {members.epoch}, and goes by the last")
            return
        try:
            self._learner.reweigh(members)
        except ValueError as error:
            self._refuse("members", "wrong-shape", str(error))
            return
        self._adopt(members)
        self._transport.adopt(members, self.heard)
        self._log(f"goes by the list of members {members.epoch}, of {members.agents} agents")

    def _adopt(self, members: Members) -> None:
        self._names = frozenset(members.names)
        self.heard = frozenset(members.heard(self._name))
        self._listeners = frozenset(members.listeners(self._name))
        self._lead = members.lead(self._name)
        self._gone &= self.heard
        self._met &= self.heard
        self._lost &= self._gone
        self._newest = {name: n for name, n in self._newest.items() if name in self.heard}
        for name in sorted(self.heard):
            self._tally.link(name).alive = name in self._present

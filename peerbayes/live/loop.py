"""The rounds of one live agent: one thread that observes, sends, waits, pools and tells.

What arrives is put into a queue by the transport's threads, and read here alone. Nothing that
arrives ends the loop: what is wrong is refused, counted by its reason, and said once.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exact.changing.mailbox import Receipt
from peerbayes.live import report as reports
from peerbayes.live.evidence import MOST_AT_ONCE, Evidence
from peerbayes.live.frames import Frame, Refused, seal, unseal
from peerbayes.live.learner import Learner
from peerbayes.live.members import Members
from peerbayes.live.transport import Transport

# Rounds that a neighbour may miss one after the other before it is waited for no more.
_PATIENT_ROUNDS = 3
# Events that wait to be read; beyond, what arrives is dropped and counted.
_MOST_WAITING = 20_000
# In lock-step: how far ahead a neighbour may say it is, by the seconds since the last pooling.
_ROUNDS_A_SECOND, _ROUNDS_AT_ONCE = 20_000, 10_000
# Seconds after which an agent with a clock of its own goes on without evidence.
_IDLE = 1.0


@dataclass(frozen=True)
class Pacing:
    """When an agent does what.

    Attributes
    ----------
    pace
        "lockstep" or "own".
    interval
        Seconds between rounds, at least; None: at once in lock-step, on evidence otherwise.
    patience
        Lock-step: seconds for which a missing message is waited for.
    gather
        Seconds for which neighbours are waited for before the first round.
    linger
        Seconds for which an agent stays after its last round.
    rounds
        After which it is done; None: never.
    batch
        Observations that a round of lock-step takes of those that arrive.
    """

    pace: str = "lockstep"
    interval: float | None = None
    patience: float = 1.0
    gather: float = 10.0
    linger: float = 0.5
    rounds: int | None = None
    batch: int = 1


# By the kind of the shares: a round of a net takes seconds, and so does the start of its process.
_PATIENCE = {"finite": 1.0, "net": 60.0}
_GATHER = {"finite": 10.0, "net": 120.0}


def pacing_of(
    kind: str,
    *,
    pace: str,
    interval: float | None,
    patience: float | None,
    gather: float | None,
    rounds: int | None,
) -> Pacing:
    """A pacing in which what is None is as fits shares of a kind, "finite" or "net"."""
    return Pacing(
        pace=pace,
        interval=interval,
        patience=_PATIENCE[kind] if patience is None else patience,
        gather=_GATHER[kind] if gather is None else gather,
        rounds=rounds,
    )


class Inbox:
    """What has arrived, in order; filled from any thread."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[tuple[str, Any, Any]] = queue.SimpleQueue()

    def frame(self, name: str, data: bytes) -> None:
        """Bytes under the name of an agent."""
        if self.queue.qsize() < _MOST_WAITING:
            self.queue.put(("frame", name, data))

    def refused(self, name: str, reason: str) -> None:
        """Something that was not even handed on."""
        if self.queue.qsize() < _MOST_WAITING:
            self.queue.put(("refused", name, reason))

    def alive(self, name: str, here: bool) -> None:
        """An agent has come or gone."""
        self.queue.put(("alive", name, here))

    def members(self, data: bytes) -> None:
        """A list of members was published."""
        if self.queue.qsize() < _MOST_WAITING:
            self.queue.put(("members", None, data))

    def wake(self) -> None:
        """Evidence has arrived."""
        if self.queue.qsize() < _MOST_WAITING:
            self.queue.put(("wake", None, None))


class PeerLoop:
    """One agent's rounds.

    Parameters
    ----------
    name, members
        The agent, and the list by which it goes.
    learner, evidence, transport
        What learns, what it sees, how it talks.
    pacing
        When.
    limit
        Bytes of a frame.
    sign, verify
        Of frames (`peerbayes.live.frames`); none without keys.
    trusted
        Whether a new list of members is properly signed; any is taken if left out.
    log
        Told, in one line, of what happens.
    after_report
        Called with every report, about once a second.
    """

    def __init__(
        self,
        name: str,
        members: Members,
        *,
        learner: Learner,
        evidence: Evidence,
        transport: Transport,
        pacing: Pacing,
        limit: int,
        sign: Callable[[bytes], str] | None = None,
        verify: Callable[[str, bytes, str], bool] | None = None,
        trusted: Callable[[Members], bool] | None = None,
        log: Callable[[str], None] = lambda text: None,
        after_report: Callable[[dict[str, Any]], None] = lambda report: None,
        extra_counts: Callable[[], dict[str, int]] = dict,
    ) -> None:
        self.name, self.members = name, members
        self._learner, self._evidence, self._transport = learner, evidence, transport
        self._pacing, self._limit = pacing, limit
        self._sign, self._verify, self._trusted = sign, verify, trusted
        self._log, self._after_report, self._extra = log, after_report, extra_counts
        self.tally = reports.Tally(members.network, name, pacing.pace)
        self.inbox = Inbox()
        self._shapes = learner.shapes()
        self._present: set[str] = set()
        self._gone: set[str] = set()
        self._missed: dict[str, int] = {}
        self._newest: dict[str, int] = {}
        self._next_report = time.monotonic() + 1.0
        self._last_pool = time.monotonic()
        self._stopped = False
        self._open = False
        self._done = False
        self._adopt(members)

    # What may be called from outside -----------------------------------------------------------

    def stop(self) -> None:
        """End after the round that runs; from any thread or signal handler."""
        self._stopped = True
        self.inbox.queue.put(("wake", None, None))

    def run(self) -> dict[str, Any]:
        """All rounds; the last report."""
        self._transport.open(self.inbox, names=self._heard, limit=self._limit)
        self._evidence.open(self.inbox.wake)
        try:
            self._gather()
            one = self._shared_round if self._pacing.pace == "lockstep" else self._own_round
            while not (self._stopped or self._finished()):
                one()
            self._done = True
            report = self._tell()
            self._stay(self._pacing.linger)
        finally:
            self._evidence.close()
            self._transport.close()
        return report

    def _finished(self) -> bool:
        rounds = self._pacing.rounds
        return rounds is not None and self._learner.round >= rounds and not self._open

    # Rounds -------------------------------------------------------------------------------------

    def _gather(self) -> None:
        """Wait until all who are to be there are, so that nobody talks to the empty air."""
        wanted = {*self._heard, *self.members.listeners(self.name)}
        end = time.monotonic() + self._pacing.gather
        while not (wanted <= self._present or self._stopped):
            left = end - time.monotonic()
            if left <= 0:
                missing = ", ".join(sorted(wanted - self._present)[:12])
                self._log(f"goes on without {missing}, not there yet")
                break
            self._wait(left)
        for name in wanted - self._present:
            self._lose(name)

    def _shared_round(self) -> None:
        began = time.monotonic()
        if not self._open:
            behind = self._ahead_of_me()
            if behind > self._learner.round + 1:
                self._learner.skip(behind)
            self._begin(self._evidence.take(self._pacing.batch))
        deadline = time.monotonic() + self._pacing.patience
        while not self._stopped:
            waiting = self._waiting_for()
            if not waiting or self._ahead_of_me() > self._learner.round + 1:
                break
            left = deadline - time.monotonic()
            if left <= 0:
                for name in waiting:
                    self._missed[name] = self._missed.get(name, 0) + 1
                break
            self._wait(left)
        self._pool()
        if self._pacing.interval is not None:
            self._stay(began + self._pacing.interval - time.monotonic())

    def _own_round(self) -> None:
        interval = self._pacing.interval
        began = time.monotonic()
        self._begin(self._evidence.take(MOST_AT_ONCE))
        self._pool()
        if interval is None and self._evidence.arrives and not self._evidence.ended:
            self._stay(_IDLE, until_evidence=True)
        else:
            self._stay(began + (0.1 if interval is None else interval) - time.monotonic())

    def _begin(self, evidence: Any) -> None:
        """Observe and send."""
        tensors = self._learner.learn(evidence)
        self._open = True
        now = time.time()
        gap = max(0.0, self.tally.begin(now))
        frame = Frame(
            network=self.members.network,
            sender=self.name,
            epoch=self.members.epoch,
            round=self._learner.round,
            time=now,
            gap=gap,
            kind=self._learner.kind,
            tensors=tensors,
        )
        data = seal(frame, self._sign)
        self._transport.send(data)
        self.tally.bytes_sent += len(data)

    def _pool(self) -> None:
        self._drain()
        used = self._learner.pool()
        self._open = False
        self._last_pool = time.monotonic()
        self.tally.pooled(used, time.time(), self._learner.round)
        for name in self._gone:  # a message of it may have come after it went
            self._learner.lose(name)
        self._maybe_tell()

    def _waiting_for(self) -> list[str]:
        """Neighbours without a message of this round for whom it is worth waiting."""
        missed = self._missed
        return [
            name
            for name in self._learner.missing()
            if name not in self._gone and missed.get(name, 0) < _PATIENT_ROUNDS
        ]

    def _ahead_of_me(self) -> int:
        """The round to go to if others are so far ahead that they did without this agent; or 0."""
        here = self._learner.round
        return max(
            (
                newest
                for name, newest in self._newest.items()
                if newest > here + self._lead.get(name, self.members.agents)
            ),
            default=0,
        )

    # What arrives -------------------------------------------------------------------------------

    def _stay(self, seconds: float, *, until_evidence: bool = False) -> None:
        """Take in what arrives for some seconds."""
        end = time.monotonic() + seconds
        while not self._stopped and (left := end - time.monotonic()) > 0:
            if self._wait(left) == "wake" and until_evidence:
                return

    def _wait(self, seconds: float) -> str | None:
        """Take in the next event, if one comes in time, and report when it is time to."""
        rest = min(seconds, self._next_report - time.monotonic())
        try:
            event = self.inbox.queue.get(timeout=max(0.0, rest))
        except queue.Empty:
            self._maybe_tell()
            return None
        self._handle(*event)
        return event[0]

    def _drain(self) -> None:
        """Take in all that has arrived."""
        for _ in range(self.inbox.queue.qsize()):
            try:
                self._handle(*self.inbox.queue.get_nowait())
            except queue.Empty:
                return

    def _handle(self, what: str, name: Any, data: Any) -> None:
        if what == "frame":
            try:
                self._take(name, data)
            except Refused as refusal:
                self._refuse(name, refusal.reason, refusal.detail)
        elif what == "alive":
            self._note(name, data)
        elif what == "refused":
            self._refuse(name, data, "")
        elif what == "members":
            self._hear_members(data)

    def _take(self, name: str, data: bytes) -> None:
        epoch = self.members.epoch
        frame = unseal(
            data,
            limit=self._limit,
            network=self.members.network,
            shapes=self._shapes,
            kind=self._learner.kind,
            name=name,
            members=self._names,
            epoch=lambda number: abs(number - epoch) <= 1,
            verify=self._verify,
        )
        if self._pacing.pace == "lockstep" and self._learner.round > 0:
            seconds = time.monotonic() - self._last_pool
            most = self._learner.round + _ROUNDS_AT_ONCE + int(_ROUNDS_A_SECOND * seconds)
            if frame.round > most:
                raise Refused("far-ahead", f"round {frame.round}")
        receipt = self._learner.take(frame)
        self.tally.receipts[receipt] += 1
        if receipt in (Receipt.NEW, Receipt.EARLY):
            self.tally.heard(name, frame.round, frame.time, frame.gap)
            self._newest[name] = max(frame.round, self._newest.get(name, 0))
            self._missed.pop(name, None)

    def _refuse(self, name: str, reason: str, detail: str) -> None:
        if self.tally.refuse(reason):
            text = f" ({detail})" if detail else ""
            self._log(f"refused what came as {name!r}: {reason}{text}; more are only counted")

    def _note(self, name: str, here: bool) -> None:
        if name == self.name:
            return
        if name in self._heard:
            self.tally.link(name).alive = here
        if here:
            self._present.add(name)
            self._gone.discard(name)
            self._missed.pop(name, None)
            return
        self._present.discard(name)
        self._lose(name)

    def _lose(self, name: str) -> None:
        if name in self._heard:
            self._gone.add(name)
            self._newest.pop(name, None)
            self._learner.lose(name)

    def _hear_members(self, data: bytes) -> None:
        try:
            members = Members.from_bytes(data)
            new = members.epoch > self.members.epoch
            if not new or members.network != self.members.network or self.name not in members.names:
                return
            if self._trusted is not None and not self._trusted(members):
                self._refuse("members", "bad-signature", f"epoch {members.epoch}")
                return
            self._learner.reweigh(members)
        except ValueError as error:
            self._refuse("members", "not-a-frame", str(error))
            return
        self._adopt(members)
        self._transport.listen_to(self._heard)
        self._log(f"goes by the list of members {members.epoch}, of {members.agents} agents")

    def _adopt(self, members: Members) -> None:
        self.members = members
        self._names = frozenset(members.names)
        self._heard = frozenset(members.heard(self.name))
        self._lead = members.lead(self.name)
        self._gone &= self._heard
        self._newest = {name: n for name, n in self._newest.items() if name in self._heard}
        for name in sorted(self._heard):
            self.tally.link(name).alive = name in self._present

    # What is told -------------------------------------------------------------------------------

    def _maybe_tell(self) -> None:
        if time.monotonic() >= self._next_report:
            self._next_report = time.monotonic() + 1.0
            self._tell()

    def _tell(self) -> dict[str, Any]:
        source = self._evidence
        report = self.tally.report(
            epoch=self.members.epoch,
            round=self._learner.round,
            belief=self._learner.summary(),
            evidence={"taken": source.taken, "refused": source.refused},
            done=self._done,
        )
        for reason, count in self._extra().items():
            report["refused"][reason] = report["refused"].get(reason, 0) + count
        self._transport.report(reports.written(report))
        self._after_report(report)
        return report

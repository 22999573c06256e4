"""The rounds of one live agent: one thread that observes, sends, waits, pools and tells.

What arrives is put into an inbox by the transport's threads, and read here alone
(`peerbayes.live.hearing`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerbayes.live.evidence import MOST_AT_ONCE, Evidence
from peerbayes.live.frames import Frame, Tensors, seal
from peerbayes.live.hearing import NOBODY, Hearing, Trust
from peerbayes.live.learner import Learner
from peerbayes.live.members import Members, Share
from peerbayes.live.report import Tally, clock, report_bytes
from peerbayes.live.transport import Event
from peerbayes.live.zenoh_transport import ZenohTransport

if TYPE_CHECKING:
    from peerbayes.settings.live import Peer as PeerSettings

# Seconds after which an agent with a clock of its own goes on without evidence.
_IDLE = 1.0
# The same between its rounds, if it draws and nothing else is said.
_TICK = 0.1
# Seconds for which an agent that returns to some neighbours waits for the others.
_BACK = 2.0
# Frames that are read together while nothing waits for them.
_AT_LEISURE = 256
# By the kind of the shares: a round of a net takes seconds, and so does the start of its process.
_PATIENCE = {"finite": 1.0, "net": 60.0}
_GATHER = {"finite": 10.0, "net": 120.0}


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


def pacing_of(share: Share, how: PeerSettings) -> Pacing:
    """The pacing that settings ask for; what they leave out is as fits the kind of the share."""
    content = share.content
    return Pacing(
        pace=how.pace,
        interval=how.interval,
        patience=_PATIENCE[share.kind] if how.patience is None else how.patience,
        gather=_GATHER[share.kind] if how.gather is None else how.gather,
        rounds=content.get("rounds") if how.rounds is None else how.rounds,
        batch=content.get("batch", 1),
    )


class PeerLoop:
    """One agent's rounds.

    Parameters
    ----------
    name
        The agent.
    learner, evidence, transport
        What learns, what it sees, how it talks.
    pacing
        When.
    limit
        Bytes of a frame.
    trust
        Signs, and says whose word is taken.
    newer
        Asked about once a second for a list of members from outside; None if there is none.
    unsent
        What a learner that came back in the middle of a round had to say in it.
    log
        Told, in one line, of what happens.
    after_report
        Called with every report, about once a second.
    extra_counts
        What else was refused, by reason.
    """

    def __init__(
        self,
        name: str,
        *,
        learner: Learner,
        evidence: Evidence,
        transport: ZenohTransport,
        pacing: Pacing,
        limit: int,
        trust: Trust = NOBODY,
        newer: Callable[[], Members | None] = lambda: None,
        unsent: Tensors | None = None,
        log: Callable[[str], None] = lambda text: None,
        after_report: Callable[[dict[str, Any]], None] = lambda report: None,
        extra_counts: Callable[[], dict[str, int]] = dict,
    ) -> None:
        self.name = name
        self._learner, self._evidence, self._transport = learner, evidence, transport
        self._pacing, self._limit, self._sign = pacing, limit, trust.sign
        self._newer, self._unsent = newer, unsent
        self._log, self._after_report, self._extra = log, after_report, extra_counts
        self.tally = Tally(learner.members.network, name, pacing.pace)
        self._hearing = Hearing(
            name,
            learner=learner,
            transport=transport,
            tally=self.tally,
            shared=pacing.pace == "lockstep",
            limit=limit,
            trust=trust,
            log=log,
        )
        self.inbox = self._hearing.inbox
        self._next_report = time.monotonic() + 1.0
        self._stopped = self._done = False
        self._open = self._evidence_came = False

    # What may be called from outside -----------------------------------------------------------

    def stop(self) -> None:
        """End after the round that runs; from any thread or signal handler."""
        self._stopped = True
        self.inbox.put("wake")

    @property
    def is_stopped(self) -> bool:
        """Whether it was told to end."""
        return self._stopped

    def run(self) -> dict[str, Any]:
        """All rounds; the last report.

        Raises
        ------
        ValueError
            If the transport cannot be opened, or another process speaks as this agent.
        """
        self._transport.open(self.inbox, names=self._hearing.heard, limit=self._limit)
        try:
            if self._evidence.topic is not None:
                self._transport.evidence(self._evidence.topic, self._evidence.put_bytes)
            self._evidence.open(lambda: self.inbox.put("wake"))
            self._gather()
            self.tally.start()
            self._tell()
            if self._unsent is not None:
                self._send(self._unsent)
            one = self._shared_round if self._pacing.pace == "lockstep" else self._own_round
            while not (self._stopped or self._finished()):
                one()
            self._done = self._finished()
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
        end = time.monotonic() + self._pacing.gather
        back = self._learner.round > 0
        while (absent := self._hearing.absent()) and not self._stopped:
            if back and not self._hearing.alone():  # among agents that did not wait for it
                end, back = min(end, time.monotonic() + _BACK), False
            left = end - time.monotonic()
            if left <= 0:
                self._log(f"goes on without {', '.join(sorted(absent)[:12])}, not there yet")
                break
            self._wait(left)
        for name in self._hearing.absent():
            self._hearing.lose(name)
        self._hearing.met()

    def _shared_round(self) -> None:
        began = time.monotonic()
        hearing, learner = self._hearing, self._learner
        if not self._open:
            behind = hearing.far_ahead()
            if behind > learner.round + 1:
                learner.skip(behind)
            self._send(learner.learn(self._evidence.take(self._pacing.batch)))
        deadline = time.monotonic() + self._pacing.patience
        while not self._stopped:
            waiting = hearing.waiting_for()
            if not waiting or hearing.far_ahead() > learner.round + 1:
                break
            left = deadline - time.monotonic()
            if left <= 0:
                hearing.waited_in_vain(waiting)
                break
            self._wait(left, enough=len(waiting))
        self._pool()
        if self._pacing.interval is not None:
            self._stay(began + self._pacing.interval - time.monotonic())

    def _own_round(self) -> None:
        interval, source = self._pacing.interval, self._evidence
        began = time.monotonic()
        if not self._open:
            self._evidence_came = False
            self._send(self._learner.learn(source.take(MOST_AT_ONCE)))
        self._pool()
        if interval is None and source.arrives and not source.ended:
            self._stay(_IDLE, until_evidence=True)
        else:
            self._stay(began + (_TICK if interval is None else interval) - time.monotonic())

    def _send(self, tensors: Tensors) -> None:
        self._open = True
        now = clock()
        members = self._learner.members
        frame = Frame(
            network=members.network,
            sender=self.name,
            epoch=members.epoch,
            round=self._learner.round,
            time=now,
            gap=max(0.0, self.tally.begin(now)),
            kind=self._learner.kind,
            tensors=tensors,
        )
        data = seal(frame, self._sign)
        self._hearing.said(frame.round, now)
        self._transport.send(data)
        self.tally.bytes_sent += len(data)

    def _pool(self) -> None:
        self._take_in(self.inbox.all())
        used = self._learner.pool()
        self._open = False
        self.tally.pooled(used, clock(), self._learner.round)
        self._hearing.pooled()
        self._maybe_tell()

    # What arrives -------------------------------------------------------------------------------

    def _stay(self, seconds: float, *, until_evidence: bool = False) -> None:
        """Take in what arrives for some seconds."""
        end = time.monotonic() + seconds
        while not self._stopped and (left := end - time.monotonic()) > 0:
            if until_evidence and self._evidence_came:
                return
            self._wait(left, enough=_AT_LEISURE)

    def _wait(self, seconds: float, *, enough: int = 1) -> None:
        """Take in what comes in time, many frames at once, and report when it is time to."""
        rest = min(seconds, self._next_report - time.monotonic())
        events = self.inbox.wait(rest, enough=enough)
        self._take_in(events)
        if not events:
            self._maybe_tell()

    def _take_in(self, events: list[Event]) -> None:
        for event in events:
            if event[0] == "wake":
                self._evidence_came = True
            else:
                self._hearing.take_in(*event)

    # What is told -------------------------------------------------------------------------------

    def _maybe_tell(self) -> None:
        if time.monotonic() < self._next_report:
            return
        self._next_report = time.monotonic() + 1.0
        self._tell()
        members = self._newer()
        if members is not None:
            self._hearing.consider(members)

    def _tell(self) -> dict[str, Any]:
        source, learner = self._evidence, self._learner
        self.tally.stored_round = learner.stored_round
        report = self.tally.report(
            epoch=learner.members.epoch,
            round=learner.round,
            belief=learner.summary(),
            evidence={"taken": source.taken, "refused": source.refused},
            done=self._done,
        )
        report["doubled"] = self._hearing.doubled
        for reason, count in self._extra().items():
            report["refused"][reason] = report["refused"].get(reason, 0) + count
        self._transport.report(report_bytes(report))
        self._after_report(report)
        return report

"""What an agent tells about itself while it runs: sums since its start, so that two reports of
one agent give every interval between them.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from exact.changing.peer_state import Receipt
from peerbayes.live.learner import Used

SCHEMA = 1
MOST_BYTES = 64 * 1024
"""Bytes that a report may have."""


# Seconds since 1970 less those of the clock that never jumps, as both stood at the beginning.
_SINCE_1970 = time.time() - time.monotonic()


def clock() -> float:
    """Seconds since 1970 by the system's clock as it stood when this process began.

    A clock that is set later moves no time between two moments.
    """
    return _SINCE_1970 + time.monotonic()


# Messages of rounds ahead of the one that was used, of which the times are kept.
_AHEAD = 16


class LinkTally:
    """What an agent had of one neighbour."""

    __slots__ = ("alive", "changed", "made", "rounds_late", "used", "wait", "weight")

    def __init__(self) -> None:
        self.alive = False
        self.changed: float | None = None  # when it came or went
        self.used = 0
        self.weight = 0.0
        self.wait = 0.0
        self.rounds_late = 0
        self.made: dict[int, tuple[float, float]] = {}  # by round: when, and after what gap

    def document(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {
            "alive": self.alive,
            "changed": self.changed,
            "used": self.used,
            "weight": self.weight,
            "wait": self.wait,
            "rounds_late": self.rounds_late,
        }


class Tally:
    """Counters of one agent's run, and the report that they make.

    Parameters
    ----------
    network, agent, pace
        As in frames; "lockstep" or "own".
    """

    def __init__(self, network: str, agent: str, pace: str) -> None:
        self.network, self.agent, self.pace = network, agent, pace
        self.began = clock()
        self.links: dict[str, LinkTally] = {}
        self.own_weight = self.own_wait = 0.0
        self.poolings = 0
        self.receipts = dict.fromkeys(Receipt, 0)
        self.refused: Counter[str] = Counter()
        self.gaps = 0.0
        self.pooled_at = self.began_round = self.began
        self.bytes_sent = 0
        self.stored_round = 0
        self.gap = 0.0
        self._cpu = time.process_time()

    def link(self, name: str) -> LinkTally:
        """The tally of one neighbour."""
        return self.links.setdefault(name, LinkTally())

    def refuse(self, reason: str) -> bool:
        """Count a refusal; whether it is the first one for this reason."""
        self.refused[reason] += 1
        return self.refused[reason] == 1

    def heard(self, name: str, round: int, made: float, gap: float) -> None:
        """A neighbour's message: its round, when it was made, how long after the last pooling."""
        times = self.link(name).made
        times[round] = (made, gap)
        if len(times) > _AHEAD:
            del times[min(times)]

    def start(self) -> None:
        """Rounds begin: what comes before is no part of them."""
        self.pooled_at = clock()
        self._cpu = time.process_time()

    def begin(self, now: float) -> float:
        """A round begins; seconds since the last pooling, or since the start."""
        self.began_round = now
        self.gap = now - self.pooled_at
        return self.gap

    def pooled(self, used: Used, now: float, round: int) -> None:
        """One pooling at `now`, in the agent's round `round`.

        A message waits from the pooling that its sender made it of until this one; a prior, since
        the start. Clocks of two machines may differ, and waits be negative: over all links of a
        network the differences cancel.
        """
        if not self.poolings:
            self._cpu = time.process_time()
        self.poolings += 1
        self.gaps += now - self.pooled_at
        self.pooled_at = now
        for name, weight in used.weights.items():
            if name == self.agent:
                self.own_weight += weight
                self.own_wait += weight * (now - self.began_round + self.gap)
                continue
            link = self.link(name)
            said = used.rounds.get(name, 0)
            made, gap = link.made.get(said, (self.began, 0.0))
            link.used += 1
            link.weight += weight
            link.wait += weight * (now - made + gap)
            if self.pace == "lockstep":
                link.rounds_late += max(0, round - said)
            for old in [one for one in link.made if one < said]:
                del link.made[old]

    def report(
        self,
        *,
        epoch: int,
        round: int,
        belief: Mapping[str, Any],
        evidence: Mapping[str, Any],
        done: bool,
    ) -> dict[str, Any]:
        """The report as JSON takes it."""
        now = clock()
        return {
            "schema": SCHEMA,
            "network": self.network,
            "agent": self.agent,
            "epoch": epoch,
            "round": round,
            "time": now,
            "seconds": now - self.began,
            "pace": self.pace,
            "belief": dict(belief),
            "gap": self.gaps / self.poolings if self.poolings else None,
            "links": {name: link.document() for name, link in sorted(self.links.items())},
            "own": {"weight": self.own_weight, "wait": self.own_wait},
            "poolings": self.poolings,
            "receipts": {receipt.value: count for receipt, count in self.receipts.items()},
            "refused": dict(self.refused),
            "evidence": dict(evidence),
            "bytes_sent": self.bytes_sent,
            "rss_mb": resident_megabytes(),
            # Seconds of this process since the first pooling, all threads together.
            "cpu_seconds": time.process_time() - self._cpu if self.poolings else 0.0,
            "stored_round": self.stored_round,
            "done": done,
        }


def written(report: Mapping[str, Any]) -> bytes:
    """A report's bytes."""
    return json.dumps(report, separators=(",", ":")).encode()


def read(data: bytes) -> dict[str, Any] | None:
    """The report that bytes hold; None if they hold none of this schema."""
    if len(data) > MOST_BYTES:
        return None
    try:
        report = json.loads(data)
    except (ValueError, RecursionError):
        return None
    fits = isinstance(report, dict) and report.get("schema") == SCHEMA
    return report if fits and isinstance(report.get("agent"), str) else None


def resident_megabytes() -> float | None:
    """Memory that the process holds, in units of 10⁶ bytes; None where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

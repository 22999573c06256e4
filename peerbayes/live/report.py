"""What an agent tells about itself while it runs, and how: reports, and notices for people.

A report has sums since the agent's start, so that two reports give every interval between them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from exact.changing.peer_state import Receipt
from peerbayes.live.learner import Used
from peerbayes.live.members import Share
from peerbayes.terminal import say, visible, write_out

SCHEMA = 1
MOST_BYTES = 64 * 1024
"""Bytes that a report may have."""

# Seconds since 1970 less those of the clock that never jumps, as both stood at the beginning.
_SINCE_1970 = time.time() - time.monotonic()
# Messages of rounds ahead of the one that was used, of which the times are kept.
_AHEAD = 16


def clock() -> float:
    """Seconds since 1970 by the system's clock as it stood when this process began.

    A clock that is set later moves no time between two moments.
    """
    return _SINCE_1970 + time.monotonic()


@dataclass(slots=True)
class LinkTally:
    """What an agent had of one neighbour."""

    alive: bool = False
    changed: float | None = None  # when it came or went
    used: int = 0
    weight: float = 0.0
    wait: float = 0.0
    rounds_late: int = 0
    # By round: when a message was made, and after what gap.
    made: dict[int, tuple[float, float]] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """As JSON takes it."""
        shown = ("alive", "changed", "used", "weight", "wait", "rounds_late")
        return {name: getattr(self, name) for name in shown}


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


def report_bytes(report: Mapping[str, Any]) -> bytes:
    """A report's bytes."""
    return json.dumps(report, separators=(",", ":")).encode()


def resident_megabytes() -> float | None:
    """Memory that the process holds, in units of 10⁶ bytes; None where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Teller:
    """Says what an agent has to say.

    Parameters
    ----------
    share
        Whose process it is.
    quiet
        No notices.
    json
        Each report as a line of JSON.
    """

    def __init__(self, share: Share, *, quiet: bool, json: bool) -> None:
        self._share, self._quiet, self._json = share, quiet, json

    def log(self, text: str) -> None:
        """One line of notice."""
        if not self._quiet:
            say(f"{self._share.agent}: {text}")

    def report(self, report: Mapping[str, Any]) -> None:
        """A report; nobody need be listening."""
        if self._json:
            with suppress(OSError):
                sys.stdout.write(json.dumps(report, separators=(",", ":")) + "\n")
                sys.stdout.flush()

    def last(self, report: Mapping[str, Any]) -> None:
        """The last report, for people."""
        if self._json:
            return
        belief = report["belief"]
        lines = [f"{self._share.problem}, agent {self._share.agent}: {report['round']} rounds"]
        if "probabilities" in belief:
            pairs = zip(self._share.content["hypotheses"], belief["probabilities"], strict=True)
            best = sorted(pairs, key=lambda pair: -pair[1])[:3]
            lines.append("believes  " + ", ".join(f"{name} {p:.4g}" for name, p in best))
        else:
            lines.append("measures  " + ", ".join(f"{k} {v}" for k, v in belief.items()))
        lines.append(f"poolings  {report['poolings']}, frames refused {_refused(report)}")
        write_out(visible("\n".join(lines) + "\n"))


def _refused(report: Mapping[str, Any]) -> str:
    """How many frames were refused, and why; what else was not taken, where there is any."""
    reasons = {reason: count for reason, count in report["refused"].items() if count}
    said = str(sum(reasons.values()))
    if reasons:
        said += f" ({', '.join(f'{reason} {count}' for reason, count in reasons.items())})"
    for what, count in (
        ("conflicts", report["receipts"]["conflict"]),
        ("lines of evidence refused", report["evidence"]["refused"]),
    ):
        said += f", {what} {count}" if count else ""
    if report["doubled"]:
        said += f", two processes spoke as {', '.join(report['doubled'])}"
    return said

"""What agents say of themselves about once a second, as a watcher reads and keeps it.

A report comes from outside: its size is limited before anything is parsed, its numbers are finite,
and it speaks of the agent in whose name it came. Counts and sums run since the agent's process
began, so that two reports tell of what lies between them.

A *stretch* is a time in which the same agents are present, none of them begins anew, and one list
of members holds. Within it reports are differences of sums. Its *course* of one agent is the
first and the last report, and the beliefs between them, thinned as time goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field, ValidationError, model_validator

from peerbayes.documents import Document
from peerbayes.messages import shorten
from theory.validation import FloatArray, fail

LARGEST_REPORT = 64 << 10
"""Bytes."""
MOST_BELIEFS = 240
"""Beliefs kept of one agent in one stretch."""
# Seconds within which two reports of one process say that it began.
_SAME_BEGINNING = 0.1

Sum = Annotated[float, Field(ge=0)]

Count = Annotated[int, Field(ge=0)]

Counts = dict[str, Count]


class _Part(Document):
    """A part of a report: no infinite numbers."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class LinkReport(_Part):
    """What an agent heard of one neighbour."""

    alive: bool = Field(description="whether the neighbour's token is there")
    used: Count = Field(description="poolings that used one of its messages")
    weight: Sum = Field(description="sum of the weights that it got")
    wait: float = Field(
        description="sum of weight times seconds: the message's age, and its gap before"
    )
    rounds_late: float = Field(default=0.0, description="sum over poolings")


class OwnReport(_Part):
    """What an agent's own belief counted."""

    weight: Sum = Field(description="sum over poolings")
    wait: float = Field(description="sum of weight times seconds; clocks may be set back")


class EvidenceReport(_Part):
    """Observations of an agent."""

    taken: Count = Field(default=0, description="observations taken")
    refused: Count = Field(default=0, description="lines refused")


class BeliefReport(_Part):
    """What an agent believes: over hypotheses, or how well its net does."""

    log_belief: list[float] | None = Field(default=None, min_length=2, description="in nats")
    probabilities: list[Annotated[float, Field(ge=0, le=1)]] | None = Field(
        default=None, description="of the hypotheses"
    )
    accuracy: float | None = Field(default=None, description="of nets")
    nll: float | None = Field(default=None, description="of nets, in nats")

    @model_validator(mode="after")
    def _same_hypotheses(self) -> BeliefReport:
        both = self.log_belief, self.probabilities
        if None not in both and len(both[0] or ()) != len(both[1] or ()):
            raise ValueError("as many probabilities as hypotheses")
        return self


class Report(_Part):
    """One report of one agent; sums and counts since its process began, times in seconds."""

    schema_version: Literal[1] = Field(alias="schema", description="version of reports")
    network: str = Field(description="its 16 digits")
    agent: str = Field(description="its name")
    epoch: Count = Field(description="of the list of members")
    round: Count = Field(description="rounds begun")
    time: float = Field(description="the agent's own clock")
    seconds: float = Field(description="since its process began, by its own clock")
    pace: str = Field(description="lockstep or own")
    belief: BeliefReport
    gap: float | None = Field(default=None, description="mean seconds a round")
    links: dict[str, LinkReport]
    own: OwnReport
    poolings: Count = Field(description="how many")
    receipts: Counts = Field(default_factory=dict, description="what became of messages")
    refused: Counts = Field(default_factory=dict, description="frames refused, by reason")
    doubled: list[str] = Field(default=[], description="agents as which two processes speak")
    evidence: EvidenceReport = EvidenceReport()
    bytes_sent: Count = Field(default=0, description="bytes of frames")
    rss_mb: Sum | None = Field(default=None, description="memory in megabytes")
    stored_round: Count | None = Field(
        default=None, description="the last round that would survive the death of the process"
    )
    done: bool = Field(default=False, description="whether its rounds are over")


def read_report(payload: bytes, *, network: str, agent: str) -> Report:
    """The report in a payload that came in an agent's name.

    Raises
    ------
    ValueError
        If it is too large, no report, or that of another network or agent; in one line.
    """
    if len(payload) > LARGEST_REPORT:
        raise fail("report", f"at most {LARGEST_REPORT} bytes", len(payload), "send less")
    try:
        report = Report.model_validate_json(payload)
    except (ValidationError, RecursionError) as error:
        place, got = "report", "levels without end"
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or place
            got = shorten(first["msg"], length=80)
        raise fail(place, "a report of an agent", got, "let it write as agents do") from None
    if (report.network, report.agent) != (network, agent):
        got = shorten(f"{report.agent!r} of {report.network!r}", length=80)
        raise fail("report", f"that of {agent!r} of {network!r}", got, "use the agent's own name")
    return report


def began_anew(before: Report, after: Report) -> bool:
    """Whether a process began between two reports of one agent, so that its sums are new.

    It says when it began; a clock that is set moves that and the time of the report alike.
    """
    later = (after.time - after.seconds) - (before.time - before.seconds)
    return abs(later) > _SAME_BEGINNING or after.poolings < before.poolings


@dataclass
class Course:
    """What one agent reported in one stretch; grows with :meth:`add`.

    Attributes
    ----------
    first, last
        The two reports whose difference is measured.
    began, ended
        When they came, in seconds on the watcher's clock.
    """

    first: Report
    began: float
    last: Report = field(init=False)
    ended: float = field(init=False)
    reports: int = field(init=False, default=1)
    _times: list[float] = field(init=False)
    _beliefs: list[list[float]] = field(init=False)
    _each: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        self.last, self.ended = self.first, self.began
        belief = self.first.belief.log_belief
        self._times, self._beliefs = ([self.began], [belief]) if belief else ([], [])

    def add(self, report: Report, at: float) -> None:
        """Take in the next report, which came at that time."""
        self.last, self.ended = report, at
        self.reports += 1
        belief = report.belief.log_belief
        if not belief or not self._beliefs or len(belief) != len(self._beliefs[0]):
            return
        if self.reports % self._each == 0:
            self._times.append(at)
            self._beliefs.append(belief)
        if len(self._times) > MOST_BELIEFS:
            del self._times[1::2], self._beliefs[1::2]
            self._each *= 2

    @property
    def beliefs(self) -> tuple[FloatArray, FloatArray]:
        """Times, shape (T,), and log-beliefs, shape (T, M); the last report is among them."""
        times, beliefs = self._times, self._beliefs
        belief = self.last.belief.log_belief
        if times and times[-1] < self.ended and belief and len(belief) == len(beliefs[0]):
            times, beliefs = [*times, self.ended], [*beliefs, belief]
        return np.array(times), np.array(beliefs, dtype=float)

    @property
    def poolings(self) -> int:
        """How often the agent pooled between the two reports."""
        return self.last.poolings - self.first.poolings

    def follows(self, report: Report) -> bool:
        """Whether a report goes on where this course is: same process, same members."""
        return not began_anew(self.last, report) and report.epoch == self.first.epoch


@dataclass
class Stretch:
    """A time in which the same agents were present; grows with :meth:`add`.

    Attributes
    ----------
    began
        When it began, on the watcher's clock.
    present
        Names of the agents that are present.
    courses
        By agent.
    """

    began: float
    present: frozenset[str]
    courses: dict[str, Course] = field(default_factory=dict)

    def add(self, report: Report, at: float) -> None:
        """Take in a report."""
        course = self.courses.get(report.agent)
        if course is None:
            self.courses[report.agent] = Course(report, at)
        else:
            course.add(report, at)

    def follows(self, report: Report) -> bool:
        """Whether a report belongs to this stretch."""
        course = self.courses.get(report.agent)
        if course is not None:
            return course.follows(report)
        return all(other.first.epoch == report.epoch for other in self.courses.values())

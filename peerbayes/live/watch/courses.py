"""What each agent reported while the same agents were there: the data behind every measurement.

A *stretch* is a time in which the same agents are present, none of them begins anew, and one list
of members holds. Within it reports are differences of sums. Its *course* of one agent is the
first and the last report, and the beliefs between them, thinned as time goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from peerbayes.live.watch.reports import Report, began_anew
from theory.validation import FloatArray

MOST_BELIEFS = 240
"""Beliefs kept of one agent in one stretch."""


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

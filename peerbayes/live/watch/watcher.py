"""What a watcher knows of a live network before it hears anything, and what it has heard since."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np

from peerbayes.live.finding import is_net
from peerbayes.live.hearing import Speakers
from peerbayes.live.members import Members, Share
from peerbayes.live.security import is_signed
from peerbayes.live.watch.measured import Measured, measure
from peerbayes.live.watch.quantities import Past
from peerbayes.live.watch.reports import Course, Report, Stretch, began_anew, read_report
from peerbayes.problem.problems import AnyProblem, NetworkAlone, RegressionProblem
from theory import FiniteModel
from theory.showing import Shown
from theory.validation import FloatArray, fail

MOST_AGENTS = 1000
"""Agents of which a watcher takes reports."""

SETTLE = 1.0
"""Seconds after a change in which reports are not measured: peers notice within them."""

_SILENT = 10.0

# Seconds by which an agent's clock and the watcher's may move apart between two reports: more, and
# one of the two was set, unless one report alone was late.
_APART = 1.0
_MOST_STRETCHES = 50


# What is known before ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Watched(Shown):
    """A live network, as far as it is known.

    Attributes
    ----------
    network
        First 16 hexadecimal digits of the problem's digest: what its peers call it.
    name, title
        Of the problem; the name is the digest's where nothing else is known.
    names
        Of the agents, in the order of their numbers; empty if only the network will tell.
    hypotheses
        Their names; empty if unknown.
    model
        What the agents' evidence is like; None if unknown.
    weights
        Shape (N, N): W of the problem; None if unknown or changing.
    positions
        Shape (N, 2): where agents are drawn; None if nowhere.
    """

    network: str
    name: str
    title: str = ""
    names: tuple[str, ...] = ()
    hypotheses: tuple[str, ...] = ()
    model: FiniteModel | None = None
    weights: FloatArray | None = None
    positions: FloatArray | None = None

    @classmethod
    def of(cls, problem: AnyProblem) -> Watched:
        """The network of agents of a problem.

        Raises
        ------
        ValueError
            If agents of such a problem do not run live.
        """
        from peerbayes.live.preparing import members_of

        members = members_of(problem)
        assert not isinstance(problem, RegressionProblem | NetworkAlone)
        base = getattr(problem.network, "network", problem.network)
        layout = getattr(base, "layout", None)
        return cls(
            network=members.network,
            name=problem.name,
            title=problem.title,
            names=members.names,
            hypotheses=problem.model.hypotheses,
            model=problem.model,
            weights=weights_of(members),
            positions=None if layout is None else np.asarray(layout),
        )

    @classmethod
    def by_digest(cls, network: str) -> Watched:
        """A network of which only the digest is known."""
        return cls(network=network, name=network)

    def with_members(self, members: Members) -> Watched:
        """The same network with the names and weights of a list of members."""
        places = self.positions if self.names == members.names else None
        weights = weights_of(members)
        return replace(self, names=members.names, weights=weights, positions=places)


def find_watched(given: str, *, data: Path | None = None) -> Watched:
    """What `peerbayes watch` is asked to watch: a problem, nets, a share, or a network's digest.

    Of nets and shares, names and weights are known, and no rate is predicted.

    Raises
    ------
    ValueError
        If it is neither; in one line.
    """
    from peerbayes.live.preparing import net_shares

    if is_digest(given) and not Path(given).exists():
        return Watched.by_digest(given)
    if given.endswith(".share") or is_net(given):
        share = Share.read(given) if given.endswith(".share") else net_shares(given, data=data)[0]
        known = Watched.by_digest(share.network).with_members(share.members)
        hypotheses = tuple(share.content.get("hypotheses", ()))
        return replace(known, name=share.problem, hypotheses=hypotheses)
    from peerbayes.problem.builtins.loading import load_problem

    return Watched.of(load_problem(given, data=data))


def is_digest(text: str) -> bool:
    """Whether a text is 16 hexadecimal digits."""
    return len(text) == 16 and set(text) <= set("0123456789abcdef")


def weights_of(members: Members) -> FloatArray:
    """W of a list of members, shape (N, N)."""
    return np.array([members.row(i) for i in range(members.agents)])


# What is heard ----------------------------------------------------------------------------------


@dataclass
class Seen:
    """What was heard of one agent.

    Attributes
    ----------
    report
        The newest; None before the first.
    at
        When it came, in seconds on the watcher's clock.
    here
        Whether its token is there, or it was heard some time after that was lost.
    lost
        When its token was last lost.
    began_anew
        How often its process began again.
    ahead, late
        Seconds of its clock less the watcher's; those of its newest report where it differs.
    """

    report: Report | None = None
    at: float = -math.inf
    here: bool = False
    lost: float = -math.inf
    reports: int = 0
    began_anew: int = 0
    ahead: float | None = None
    late: float | None = None

    def jump(self, report: Report, at: float) -> float | None:
        """How far a clock jumped: 0 as a rule, None for a report alone that was late or early."""
        ahead = report.time - at
        if self.ahead is None or abs(ahead - self.ahead) <= _APART:
            self.ahead, self.late = ahead, None
            return 0.0
        if self.late is None or abs(ahead - self.late) > _APART:
            self.late = ahead
            return None
        jump = ahead - self.ahead
        self.ahead, self.late = ahead, None
        return jump

    def state(self, now: float) -> str:
        """In a word."""
        if self.report is not None and self.report.done:
            return "done"
        if not self.here:
            return "gone" if self.report is not None else "not seen"
        return "silent" if now - self.at > _SILENT else "here"


@dataclass(frozen=True)
class Sight:
    """All that a watcher knows at one moment.

    Attributes
    ----------
    watched
        The network, with the names that it told.
    seconds, began
        Since when it is watched, and when that was.
    agents
        Names and what was heard of them, in the order of numbers.
    stretches
        In the order of time; the last one is now.
    main, measured
        The stretch that says most, by its number, and what was measured in it: the one of now once
        it has a rate, else the longest one; at the end, the longest one.
    courses
        Of each agent from the beginning, for pictures.
    refused
        Reports that were refused, by their reasons.
    jumped
        By agent, the seconds by which its clock last jumped against the watcher's.
    doubled
        Agents as which two processes reported.
    """

    watched: Watched
    seconds: float
    began: datetime
    now: float
    agents: tuple[tuple[str, Seen], ...]
    stretches: tuple[Past, ...]
    main: int
    measured: Measured
    courses: dict[str, Course]
    refused: dict[str, int]
    jumped: dict[str, float]
    doubled: list[str]

    @cached_property
    def reports(self) -> list[Report]:
        """The newest of each agent that reported."""
        return [seen.report for _, seen in self.agents if seen.report is not None]

    @property
    def pace(self) -> str | None:
        """As the agents say."""
        return self.reports[0].pace if self.reports else None

    @cached_property
    def hypotheses(self) -> tuple[str, ...]:
        """Their names, or numbers where nobody told their names."""
        beliefs = [report.belief.log_belief or () for report in self.reports]
        return self.watched.hypotheses or tuple(map(str, range(max(map(len, beliefs), default=0))))


@dataclass
class Watcher:
    """Takes what comes from the network, and says what is known of it.

    Parameters
    ----------
    watched
        What is known before.
    authority
        Public key that lists of members must be signed by; any list is taken if empty.
    clock
        Seconds since any moment.
    settle
        Seconds after a change in which reports are not measured.
    """

    watched: Watched
    authority: str = ""
    clock: Callable[[], float] = time.monotonic
    settle: float = SETTLE
    seen: dict[str, Seen] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._start = self.clock()
        self._began = datetime.now(UTC)
        self._stretch = Stretch(self._start, frozenset())
        self._changed = self._start
        self._is_stale = True
        self._past: list[Past] = []
        self._longest: tuple[Past, Measured] | None = None
        self._whole: dict[str, Course] = {}
        self._epoch = -1
        self._jumped: dict[str, float] = {}
        self._speakers = Speakers(lambda text: None)
        for name in self.watched.names:
            self.seen[name] = Seen()

    def report(self, name: str, payload: bytes, at: float | None = None, process: str = "") -> None:
        """A report came in the name of an agent, from a process that may say which it is."""
        at = self.clock() if at is None else at
        with self._lock:
            try:
                if not self._knows(name):
                    raise fail("report", "that of a member", name, "leave it out")
                report = read_report(payload, network=self.watched.network, agent=name)
            except ValueError as error:
                self.refused[str(error).split(":", 1)[0][:40]] += 1
                return
            if self._speakers.hear(name, process, made=report.time, now=at):
                self._take(report, at)
            else:
                self.refused["second process"] += 1

    def alive(self, name: str, here: bool, at: float | None = None) -> None:
        """An agent's token came, or is gone."""
        at = self.clock() if at is None else at
        with self._lock:
            if self._knows(name) and self.seen[name].here != here:
                self.seen[name].here = here
                if not here:
                    self.seen[name].lost = at
                self._change(at)

    def members(self, data: bytes) -> None:
        """A list of members was published."""
        try:
            members = Members.from_bytes(data)
            if members.network != self.watched.network:
                raise fail("members", "this network's list", members.network, "leave it out")
            if self.authority and not is_signed(members, self.authority):
                raise fail("members", "the authority's signature", "another", "leave it out")
        except ValueError:
            with self._lock:
                self.refused["members"] += 1
            return
        with self._lock:
            if members.epoch > self._epoch and members.agents <= MOST_AGENTS:
                if self.watched.names != members.names[: len(self.watched.names)]:
                    self._longest = None  # its numbers are those of other agents
                self._epoch = members.epoch
                self.watched = self.watched.with_members(members)
                for name in members.names:
                    self.seen.setdefault(name, Seen())

    def sight(self, *, at_end: bool = False) -> Sight:
        """All that is known now; `at_end`: the longest stretch is the one that is told of."""
        now = self.clock()
        with self._lock:
            names, watched = self.names, self.watched
            found = measure(names, self._stretch.courses, watched.model, watched.hypotheses)
            current = _past(self._stretch, found)
            stretches = [*self._past, current]
            main, measured = len(stretches) - 1, found
            if self._longest is not None:
                longest, of_longest = self._longest
                if longest in self._past and (
                    not found.rates or (at_end and longest.seconds > current.seconds)
                ):
                    main, measured = self._past.index(longest), of_longest
            if not watched.names:
                watched = replace(watched, names=names)
            return Sight(
                watched=watched,
                seconds=max(0.0, now - self._start),
                began=self._began,
                now=now,
                agents=tuple((name, replace(self.seen[name])) for name in names),
                stretches=tuple(
                    replace(one, began=max(0.0, one.began - self._start)) for one in stretches
                ),
                main=main,
                measured=measured,
                courses=dict(self._whole),
                refused=dict(self.refused),
                jumped=dict(self._jumped),
                doubled=self._speakers.doubled,
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Of all agents, in the order of their numbers."""
        return self.watched.names or tuple(self.seen)

    @property
    def has_heard(self) -> bool:
        """Whether any agent reported."""
        with self._lock:
            return any(seen.report is not None for seen in self.seen.values())

    @property
    def is_over(self) -> bool:
        """Whether agents were heard, and all of them are done or gone."""
        return self._are_all(("done", "gone", "not seen"))

    @property
    def are_done(self) -> bool:
        """Whether agents were heard, and all of them are done."""
        return self._are_all(("done", "not seen"))

    def _are_all(self, states: Sequence[str]) -> bool:
        now = self.clock()
        with self._lock:
            heard = any(seen.report is not None for seen in self.seen.values())
            return heard and all(seen.state(now) in states for seen in self.seen.values())

    def _knows(self, name: str) -> bool:
        """Whether an agent is known; where nobody said who they are, all are, up to a number."""
        if name in self.seen:
            return True
        if self.watched.names or len(self.seen) >= MOST_AGENTS:
            return False
        self.seen[name] = Seen()
        return True

    def _change(self, at: float) -> None:
        self._changed, self._is_stale = at, True

    def _take(self, report: Report, at: float) -> None:
        seen = self.seen[report.agent]
        if seen.report is not None and began_anew(seen.report, report):
            seen.began_anew += 1
            seen.ahead = seen.late = None
            self._change(at)
        jump = seen.jump(report, at)
        if jump:
            self._jumped[report.agent] = jump
            self._change(at)
        # The loss of a token overtakes reports, which come by another way.
        if not seen.here and not report.done and at >= seen.lost + self.settle:
            seen.here = True
            self._change(at)
        seen.report, seen.at, seen.reports = report, at, seen.reports + 1
        if jump is None:
            return
        whole = self._whole.get(report.agent)
        if whole is None:
            self._whole[report.agent] = Course(report, at)
        else:
            whole.add(report, at)
        if not report.done and not self._stretch.follows(report):
            self._change(at)
        if not report.done and self._is_stale:
            self._turn(at)
        if at >= self._changed + self.settle or (report.done and not self._is_stale):
            self._stretch.add(report, at)

    def _turn(self, at: float) -> None:
        """Close the stretch and begin another."""
        courses, watched = self._stretch.courses, self.watched
        found = measure(self.names, courses, watched.model, watched.hypotheses)
        if any(rate.measured is not None for rate in found.rates) or found.seconds > self.settle:
            past = _past(self._stretch, found)
            self._past.append(past)
            if self._longest is None or past.seconds > self._longest[0].seconds:
                self._longest = past, found
            if len(self._past) > _MOST_STRETCHES:
                self._past.remove(min(self._past, key=lambda one: one.seconds))
        present = frozenset(name for name, seen in self.seen.items() if seen.here)
        self._stretch = Stretch(at, present)
        self._is_stale = False


def _past(stretch: Stretch, found: Measured) -> Past:
    """A stretch without its tables."""
    present, seconds = tuple(sorted(stretch.present)), found.seconds
    return Past(stretch.began, seconds, present, found.round_seconds, found.rates, found.notes)

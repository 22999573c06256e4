"""A live network in one process, event by event: reports as agents write them, for the watcher.

Beliefs are log-ratios that are pooled as they are defined, message by message. Nothing of the
package's mathematics is used, so that it can be held against it.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from peerbayes.live.watch.watcher import Watched, Watcher
from theory import FiniteAgent, FiniteModel
from theory.validation import FloatArray

NETWORK = "0123456789abcdef"
Evidence = Callable[[int], FloatArray]
ROWS = np.array([[0.5, 0.3, 0.2], [0.6, 0.4, 0.0], [0.1, 0.2, 0.7]])
FAIR, LOADED, HEADS = [0.5, 0.5], [0.75, 0.25], [0.6, 0.4]
TABLES = [[[FAIR], [LOADED], [HEADS]], [[FAIR], [FAIR], [LOADED]], [[FAIR], [HEADS], [FAIR]]]
MODEL = FiniteModel.from_agents(
    ["fair", "loaded", "heads"],
    [FiniteAgent.from_tables(truth=[FAIR], likelihood=table) for table in TABLES],
)
KNOWN = Watched(
    NETWORK, "three", "", ("a0", "a1", "a2"), MODEL.hypotheses, MODEL, ROWS, np.zeros((3, 2))
)


@dataclass
class _Sums:
    weight: float = 0.0
    wait: float = 0.0
    used: int = 0
    late: float = 0.0


@dataclass
class _Agent:
    belief: FloatArray  # after the last pooling
    public: FloatArray
    ticked_at: float = 0.0
    round: int = 0
    began: float = 0.0
    poolings: int = 0
    gap: float = 0.0
    heard: dict[int, tuple[float, float, int, FloatArray]] = field(default_factory=dict)
    waiting: dict[int, dict[int, tuple[float, float, int, FloatArray]]] = field(
        default_factory=dict
    )
    sums: dict[int, _Sums] = field(default_factory=dict)
    awake: bool = True
    ticked: bool = False


@dataclass
class LiveNetwork:
    """Agents with rows of weights and evidence, at paces of their own or in lock-step.

    `interval(i)` is the time from a pooling to the next tick, `delay(i, j)` that of a message from
    j to i, `evidence(i)` a round's log-likelihoods. `absent` are (agent, from, until).
    """

    weights: FloatArray
    evidence: Callable[[int], FloatArray]
    interval: Callable[[int], float]
    delay: Callable[[int, int], float]
    pace: str = "own"
    absent: tuple[tuple[int, float, float], ...] = ()
    every: float = 1.0
    clocks: tuple[tuple[float, float], ...] = ()  # of each agent: its speed, how far it is ahead

    def clock(self, i: int, at: float) -> float:
        speed, ahead = self.clocks[i] if self.clocks else (1.0, 0.0)
        return speed * at + ahead

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"a{i}" for i in range(len(self.weights)))

    def run(self, seconds: float) -> Iterator[tuple[float, str, Any]]:
        """(time, "report", (name, bytes)), (time, "alive" or "gone", name), in order of time."""
        size = len(self.weights)
        hypotheses = len(self.evidence(0))
        self.agents = [
            _Agent(np.zeros(hypotheses), np.zeros(hypotheses), ticked_at=self.clock(i, 0.0))
            for i in range(size)
        ]
        events: list[tuple[float, int, str, Any]] = []
        self._count = 0

        def later(at: float, kind: str, what: Any) -> None:
            self._count += 1
            heapq.heappush(events, (at, self._count, kind, what))

        for i in range(size):
            yield 0.0, "alive", self.names[i]
            later(self.interval(i), "tick", i)
            later(self.every * (1 + i / size), "report", i)
        for agent, begin, end in self.absent:
            later(begin, "die", agent)
            later(end, "return", agent)
        while events:
            at, _, kind, what = heapq.heappop(events)
            if at > seconds:
                break
            if kind == "report":
                if self.agents[what].awake:
                    yield at, "report", (self.names[what], self.report(what, at))
                later(at + self.every, "report", what)
            elif kind == "tick":
                self._tick(what, at, later)
            elif kind == "message":
                self._take(what, at, later)
            elif kind == "die":
                self.agents[what].awake = False
                yield at, "gone", self.names[what]
            elif kind == "return":
                old = self.agents[what]
                self.agents[what] = _Agent(
                    old.belief,
                    old.public,
                    ticked_at=self.clock(what, at),
                    round=old.round,
                    began=at,
                )
                yield at, "alive", self.names[what]
                later(at + self.interval(what), "tick", what)

    def _tick(self, i: int, at: float, later: Callable[..., None]) -> None:
        me = self.agents[i]
        if not me.awake:
            return
        stamp = self.clock(i, at)
        me.gap, me.ticked_at, me.round, me.ticked = stamp - me.ticked_at, stamp, me.round + 1, True
        me.public = me.belief + self.evidence(i)
        for k, weight in enumerate(self.weights[:, i]):
            if k != i and weight > 0:
                content = (stamp, me.gap, me.round, me.public.copy())
                later(at + self.delay(k, i), "message", (k, i, content))
        if self.pace == "own":
            self._pool(i, at, later)
        else:
            self._maybe(i, at, later)

    def _take(self, what: Any, at: float, later: Callable[..., None]) -> None:
        i, j, content = what
        me = self.agents[i]
        if not me.awake:
            return
        if self.pace == "own":
            if j not in me.heard or content[2] > me.heard[j][2]:
                me.heard[j] = content
            return
        me.waiting.setdefault(content[2], {})[j] = content
        self._maybe(i, at, later)

    def _maybe(self, i: int, at: float, later: Callable[..., None]) -> None:
        """In lock-step: pool once all messages of the round are there."""
        me = self.agents[i]
        wanted = {j for j, w in enumerate(self.weights[i]) if j != i and w > 0}
        if me.ticked and wanted == set(me.waiting.get(me.round, {})):
            me.heard = me.waiting.pop(me.round)
            self._pool(i, at, later)

    def _pool(self, i: int, at: float, later: Callable[..., None]) -> None:
        me = self.agents[i]
        me.ticked = False
        belief, own = np.zeros_like(me.public), self.weights[i, i]
        for j, weight in enumerate(self.weights[i]):
            if j == i or weight == 0:
                continue
            if j not in me.heard or not self.agents[j].awake:
                own += weight
                continue
            made, gap, number, public = me.heard[j]
            belief += weight * public
            sums = me.sums.setdefault(j, _Sums())
            sums.weight += weight
            sums.wait += weight * (me.ticked_at - made + gap)
            sums.used += 1
            sums.late += max(0, me.round - number) if self.pace == "lockstep" else 0
        sums = me.sums.setdefault(i, _Sums())
        sums.weight += own
        sums.wait += own * me.gap
        me.belief = belief + own * me.public
        me.poolings += 1
        later(at + self.interval(i), "tick", i)

    def report(self, i: int, at: float) -> bytes:
        """What agent i says of itself at that time, in the agents' own format."""
        me = self.agents[i]
        log_belief = me.belief - np.logaddexp.reduce(me.belief)
        links = {
            self.names[j]: {
                "alive": self.agents[j].awake,
                "used": me.sums.get(j, _Sums()).used,
                "weight": me.sums.get(j, _Sums()).weight,
                "wait": me.sums.get(j, _Sums()).wait,
                "rounds_late": me.sums.get(j, _Sums()).late,
            }
            for j in range(len(self.weights))
            if j != i and self.weights[i, j] > 0
        }
        own = me.sums.get(i, _Sums())
        body = {
            "schema": 1,
            "network": NETWORK,
            "agent": self.names[i],
            "epoch": 0,
            "round": me.round,
            "time": 1.7e9 + self.clock(i, at),
            "seconds": self.clock(i, at) - self.clock(i, me.began),
            "pace": self.pace,
            "belief": {
                "log_belief": log_belief.tolist(),
                "probabilities": np.exp(log_belief).tolist(),
            },
            "gap": (at - me.began) / max(1, me.poolings),
            "links": links,
            "own": {"weight": own.weight, "wait": own.wait},
            "poolings": me.poolings,
            "receipts": {"new": me.poolings},
            "refused": {},
            "evidence": {"taken": me.round, "refused": 0},
            "bytes_sent": 300 * me.round,
            "rss_mb": 60.0,
            "stored_round": None,
            "done": False,
        }
        return json.dumps(body).encode()


def steady(i: int) -> FloatArray:
    """The mean evidence of a round, in place of a draw."""
    return -MODEL.information(0)[i]


def drawn(seed: int) -> Evidence:
    rng = np.random.default_rng(seed)
    tables = np.log(np.array(TABLES)[:, :, 0])  # agent, hypothesis, outcome
    return lambda i: tables[i, :, rng.integers(2)]


def own_paces(evidence: Evidence, seed: int = 1) -> LiveNetwork:
    rng = np.random.default_rng(seed)
    mean = (0.01, 0.03, 0.02)
    return LiveNetwork(
        ROWS,
        evidence,
        interval=lambda i: float(rng.exponential(mean[i])),
        delay=lambda i, j: 0.005 + 0.02 * float(rng.random()),
    )


def lockstep(evidence: Evidence) -> LiveNetwork:
    rng = np.random.default_rng(5)
    return LiveNetwork(
        ROWS,
        evidence,
        interval=lambda i: 0.002 * (1 + i),
        delay=lambda i, j: 0.001 + 0.01 * float(rng.random()),
        pace="lockstep",
    )


class Fed:
    """A watcher to which the events of a network come; its clock shows `now`."""

    def __init__(self, network: LiveNetwork, watched: Watched = KNOWN) -> None:
        self.now = 0.0
        self.watcher = Watcher(watched, clock=lambda: self.now)
        self._events = network.run(np.inf)
        self._next = next(self._events)

    def until(
        self,
        seconds: float,
        *,
        shows: Callable[[float], float] = lambda at: at,
        tell: Callable[[str, bytes], None] | None = None,
    ) -> Watcher:
        """Lets the network go on; `shows` is its time on the clock, `tell` what takes reports."""
        while self._next[0] <= seconds:
            at, kind, what = self._next
            self.now = shows(at)
            if kind == "report":
                (tell or self.watcher.report)(*what)
            else:
                self.watcher.alive(what, kind == "alive")
            self._next = next(self._events)
        self.now = shows(seconds)
        return self.watcher


def fed(network: LiveNetwork, seconds: float, watched: Watched = KNOWN) -> Watcher:
    """A watcher that has seen a network for so long."""
    return Fed(network, watched).until(seconds)


def one_report() -> dict[str, Any]:
    """What an agent reports first."""
    network = own_paces(steady)
    return json.loads(next(what[1] for _, kind, what in network.run(3) if kind == "report"))

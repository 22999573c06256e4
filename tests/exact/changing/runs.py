"""Peers that run by a seed, on clocks of their own, over a post that loses, delays and repeats."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from exact.changing import Event, Log, Message, Peer, Pooled, replay
from theory.validation import FloatArray


@dataclass(eq=False)
class Row:
    """One round of one agent, as somebody who sees everything would write it down."""

    agent: int
    round: int
    time: float
    observed: FloatArray
    public: FloatArray
    pooled: Pooled


@dataclass(eq=False)
class Run:
    """What happened to N peers, in the order in which it did."""

    peers: list[Peer]
    priors: FloatArray
    rows: list[Row] = field(default_factory=list)
    journals: list[list[Event]] = field(default_factory=list)

    def of(self, agent: int) -> list[Row]:
        """The rounds of one agent."""
        return [row for row in self.rows if row.agent == agent]


def run_on_own_clocks(
    weights: FloatArray,
    observe: Callable[[int], FloatArray],
    gaps: Callable[[int], float],
    *,
    priors: FloatArray,
    until: float,
    delay: Callable[[], float] = lambda: 0.0,
    lost: Callable[[], bool] = lambda: False,
    on_loss: str = "last",
    phases: FloatArray | None = None,
) -> Run:
    """Every agent ticks on its own: it observes, sends and pools at once.

    Messages are delivered before ticks of the same moment.
    """
    agents = len(weights)
    run = Run(
        [
            Peer(i, weights[i], log_priors=priors, on_loss=on_loss, clocks="own")
            for i in range(agents)
        ],
        priors,
    )
    run.journals = [[Event("start", state=peer.state())] for peer in run.peers]
    count, queue = 0, []
    for i in range(agents):
        first = gaps(i) if phases is None else phases[i]
        heapq.heappush(queue, (first, 1, i, None))
    while queue[0][0] < until:
        now, _, i, message = heapq.heappop(queue)
        if isinstance(message, Message):
            run.peers[i].deliver(message)
            run.journals[i].append(Event("deliver", message=message))
            continue
        seen = observe(i)
        said = run.peers[i].observe(seen)
        pooled = run.peers[i].pool()
        run.journals[i] += [Event("observe", log_likelihood=seen), Event("pool")]
        run.rows.append(Row(i, said.round, now, seen, said.log_belief, pooled))
        for j in np.flatnonzero(weights[:, i]):
            if j != i and not lost():
                count += 1
                # Never equal: heaps compare what comes first alone.
                arrival = now + delay()
                heapq.heappush(queue, (arrival, -1.0 / count, int(j), said))
        heapq.heappush(queue, (now + gaps(i), 1 + i, i, None))
    return run


def log_ratios(log_beliefs: FloatArray) -> FloatArray:
    """Λ(first, ·)."""
    return log_beliefs[..., :1] - log_beliefs


def logs_of(run: Run) -> list[Log]:
    """What its journals say, replayed."""
    agents = len(run.peers)
    return [Log.of(replay(journal), agents=agents) for journal in run.journals]

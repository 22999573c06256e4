"""Live agents in one process: a transport in memory, and loops in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from peerbayes.live.evidence import Draws, Evidence
from peerbayes.live.learner import FiniteLearner, Learner
from peerbayes.live.loop import Pacing, PeerLoop
from peerbayes.live.members import Members, Share
from peerbayes.live.transport import Inbox


class Hub:
    """Carries what agents say to those who listen; `lossy` says what becomes of each message.

    `lossy` takes (from, to, bytes) and returns the messages that arrive.
    """

    def __init__(self, lossy: Callable[[str, str, bytes], list[bytes]] | None = None) -> None:
        self.lock = threading.Lock()
        self.there: dict[str, HubTransport] = {}
        self.reports: list[bytes] = []
        self.lossy = lossy or (lambda sender, to, data: [data])

    def send(self, sender: str, data: bytes) -> None:
        with self.lock:
            others = [t for t in self.there.values() if sender in t.names]
        for one in others:
            for copy in self.lossy(sender, one.agent, data):
                if len(copy) > one.limit:
                    one.heard.put("refused", sender, "too-large")
                else:
                    one.heard.put("frame", sender, copy)


class HubTransport:
    """One agent's place at a hub."""

    heard: Inbox

    def __init__(self, hub: Hub, agent: str) -> None:
        self.hub, self.agent = hub, agent
        self.names: frozenset[str] = frozenset()
        self.limit = 0

    def open(self, heard: Inbox, *, names: Iterable[str], limit: int) -> None:
        self.heard, self.names, self.limit = heard, frozenset(names), limit
        with self.hub.lock:
            self.hub.there[self.agent] = self
            for other in self.hub.there.values():
                other.heard.put("alive", self.agent, True)
                heard.put("alive", other.agent, True)

    def adopt(self, members: Members, names: Iterable[str]) -> None:
        self.names = frozenset(names)

    def send(self, data: bytes) -> None:
        self.hub.send(self.agent, data)

    def echo(self, data: bytes) -> None:
        with self.hub.lock:
            there = list(self.hub.there.values())
        for one in there:
            one.heard.put("echo", None, data)

    def report(self, data: bytes) -> None:
        self.hub.reports.append(data)

    def evidence(self, topic: str, on_data: Callable[[bytes], None]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        with self.hub.lock:
            del self.hub.there[self.agent]
            for other in self.hub.there.values():
                other.heard.put("alive", self.agent, False)


def loop_of(
    hub: Hub,
    share: Share,
    pacing: Pacing,
    *,
    seed: int = 0,
    learner: Learner | None = None,
    evidence: Evidence | None = None,
    **options: Any,
) -> PeerLoop:
    """One agent's loop at a hub."""
    number = share.members.number(share.agent)
    return PeerLoop(
        share.agent,
        learner=learner or FiniteLearner(share, pace=pacing.pace),
        evidence=evidence or Draws(share.content["law"], seed=seed, agent=number),
        transport=HubTransport(hub, share.agent),
        pacing=pacing,
        limit=10_000,
        **options,
    )


def run_together(loops: Iterable[PeerLoop]) -> dict[str, dict[str, Any]]:
    """The last reports of loops that run at the same time."""
    found: dict[str, dict[str, Any]] = {}

    def run(loop: PeerLoop) -> None:
        found[loop.name] = loop.run()

    threads = [threading.Thread(target=run, args=(loop,), daemon=True) for loop in loops]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
        assert not one.is_alive()
    return found

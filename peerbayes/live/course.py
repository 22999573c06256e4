"""What is known of launched agents while they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from peerbayes.live.launch_documents import LiveAgentDocument
from peerbayes.live.processes import Processes
from theory.progress import Progress


class Course:
    """The course of a launch.

    Parameters
    ----------
    names
        The agents.
    rounds
        After which they are done; None: never.
    revive
        Whether an agent that was killed is started again.
    progress
        Called with the rounds that all have done, and `rounds`.
    notice
        Told, in one line, of what happens.

    Attributes
    ----------
    started
        Seconds until every agent had reported; None before.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        rounds: int | None,
        revive: bool,
        progress: Progress | None,
        notice: Callable[[str], None],
    ) -> None:
        self._names, self._rounds, self._revive = list(names), rounds, revive
        self._progress, self.notice = progress, notice
        self._reports: dict[str, Mapping[str, Any]] = {}
        self._deaths = dict.fromkeys(names, 0)
        self._codes: dict[str, int] = {}
        self._doubled: set[str] = set()
        self._began = time.monotonic()
        self.started: float | None = None

    def agents(self) -> list[LiveAgentDocument]:
        """Every agent in numbers."""
        return [
            LiveAgentDocument.of(
                name,
                self._reports.get(name),
                deaths=self._deaths[name],
                code=self._codes.get(name),
            )
            for name in self._names
        ]

    def reports(self) -> list[dict[str, Any]]:
        """The agents' last reports."""
        return [dict(self._reports.get(name, {})) for name in self._names]

    def watch(self, processes: Processes) -> None:
        """Until all are done or ended, or somebody interrupts."""
        try:
            while any(a.code is None and not a.done for a in processes.agents.values()):
                processes.watch(0.5, lambda name, event: self._see(processes, name, event))
        except KeyboardInterrupt:
            if self._rounds is not None:
                self.notice("interrupted; the agents keep what they have")

    def take_in(self, processes: Processes) -> None:
        """What came at the very end."""
        deadline = time.monotonic() + 2.0
        while time.monotonic() < deadline and len(self._codes) < len(self._names):
            processes.watch(0.1, lambda name, event: self._see(None, name, event))

    def _see(self, processes: Processes | None, name: str, event: Mapping[str, Any] | int) -> None:
        if not isinstance(event, int):
            self._reports[name] = event
            for other in {*event.get("doubled", ())} - self._doubled:
                self._doubled.add(other)
                self.notice(f"two processes speak as agent {other}, says agent {name}: stop one")
            self._show()
            return
        agent = None if processes is None else processes.agents[name]
        done = self._reports.get(name, {}).get("done") is True
        self._codes[name] = event
        if done or agent is None:
            return
        self._deaths[name] += 1
        again = self._revive and event < 0
        words = f"was killed (signal {-event})" if event < 0 else f"ended with {event}"
        self.notice(f"agent {name} {words}{'; started again' if again else ''}")
        if event >= 0 and agent.notices():
            self.notice(f"agent {name} said: {agent.notices()}")
        if again:
            del self._codes[name]
            agent.start()

    def _show(self) -> None:
        if self.started is None and len(self._reports) == len(self._names):
            self.started = time.monotonic() - self._began
        if self._progress is not None and self._rounds is not None:
            done = [self._reports.get(name, {}).get("round", 0) for name in self._names]
            self._progress(min(*done, self._rounds), self._rounds)

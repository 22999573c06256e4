"""Agents as processes of this machine: started, read, started again, and never left behind."""

from __future__ import annotations

import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

# Seconds that an agent has to end in order before it is ended.
_GRACE = 15.0
# What is read of reports.
_TOLD = ("round", "gap", "belief", "refused", "rss_mb", "done")


@contextmanager
def free_ports(count: int) -> Iterator[list[int]]:
    """Ports of the loopback address that nobody else is given within the block.

    A socket stays bound to each, without listening: on Linux those who ask for a port meanwhile get
    another one, while agents, which name theirs, listen there as often as they are started. Other
    systems would refuse the agents too; there the ports are only free at the start of the block.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
        ports: list[int] = [one.getsockname()[1] for one in sockets]
        if sys.platform != "linux":
            stack.close()
        yield ports


class AgentProcess:
    """One agent's process.

    Parameters
    ----------
    name, arguments
        The agent, and what follows ``peerbayes``.
    log
        A file for its notices, which are added to it.
    events
        Gets (name, report) for each of its reports, and (name, exit code) at its end.

    Attributes
    ----------
    report
        The newest one; None before the first.
    code
        The exit code; None while it runs.
    deaths
        How often it died before it was done.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], *, log: Path, events: queue.SimpleQueue[Any]
    ) -> None:
        self.name = name
        self.report: dict[str, Any] | None = None
        self.code: int | None = None
        self.deaths = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._arguments, self._log, self._events = list(arguments), log, events
        self.start()

    def start(self) -> None:
        """Start the process, again if it has ended."""
        self.ask_to_end()
        self.code = None
        with self._log.open("ab") as log:
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "peerbayes", *self._arguments, "--attached", "--json"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the process that started it
                env=_environment(),
            )
        assert process.stdout is not None
        what = process, process.stdout
        threading.Thread(target=self._read, args=what, daemon=True).start()

    def _read(self, process: subprocess.Popen[bytes], lines: IO[bytes]) -> None:
        with lines:
            for line in lines:
                with suppress(ValueError):
                    self.report = json.loads(line)
                    self._events.put((self.name, self.report))
        self._events.put((self.name, process.wait()))

    @property
    def pid(self) -> int:
        """The process's number."""
        assert self._process is not None
        return self._process.pid

    @property
    def told(self) -> Any:
        """What the newest report says, as attributes; None for all before the first."""
        return SimpleNamespace(**(self.report or dict.fromkeys(_TOLD)))

    @property
    def done(self) -> bool:
        """Whether it ended its rounds."""
        return self.told.done is True

    def ask_to_end(self) -> None:
        """Let it finish its round: the end of its input tells it to."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def end(self, deadline: float) -> None:
        """Wait until it has ended; end it at the deadline."""
        assert self._process is not None
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def notices(self) -> str:
        """The last line of its notices."""
        try:
            with self._log.open("rb") as file:
                file.seek(max(0, self._log.stat().st_size - 4096))
                lines = file.read().decode(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1][:300] if lines else ""


class Processes:
    """All agents' processes; at the end of the block none is left.

    Attributes
    ----------
    agents
        By name.
    events
        As of `AgentProcess`.
    """

    def __init__(self) -> None:
        self.agents: dict[str, AgentProcess] = {}
        self.events: queue.SimpleQueue[tuple[str, dict[str, Any] | int]] = queue.SimpleQueue()

    def start(self, name: str, arguments: Sequence[str], *, log: Path) -> None:
        """Start one agent."""
        self.agents[name] = AgentProcess(name, arguments, log=log, events=self.events)

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *error: object) -> None:
        self.finish()

    def finish(self) -> None:
        """Ask all to end, and see that they do; their last reports are taken in."""
        for agent in self.agents.values():
            agent.ask_to_end()
        deadline = time.monotonic() + _GRACE
        for agent in self.agents.values():
            agent.end(deadline)

    def watch(self, seconds: float, see: Callable[[str, Mapping[str, Any] | int], None]) -> None:
        """Hand on what the agents report, for some seconds at most, or until one thing came."""
        with suppress(queue.Empty):
            name, event = self.events.get(timeout=seconds)
            if isinstance(event, int):
                self.agents[name].code = event
            see(name, event)


def _environment() -> dict[str, str]:
    """The environment with one thread for linear algebra: sixteen agents share few cores."""
    ours = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        ours.setdefault(name, "1")
    return ours

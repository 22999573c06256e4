"""What has arrived at a live agent and is not read yet.

Waking a thread costs as much as reading a frame does. So the reader says how many frames it waits
for, and sleeps until they are there; all else that arrives wakes it at once.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from typing import Any

# Beyond, what arrives is dropped.
_MOST_WAITING = 20_000

Event = tuple[Any, ...]
"""What it is, of whom, and what came; of a frame, by which process, if that is known."""


class Inbox:
    """What has arrived, in order; filled from any thread, read from one."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._enough = 1
        self._bell = threading.Lock()  # held while nothing is to be told
        self._bell.acquire()

    def frame(self, name: str, data: bytes, process: str = "") -> None:
        """Bytes under the name of an agent, and which process sent them."""
        said = (process,) if process else ()
        self._put(("frame", name, data, *said), urgent=False)

    def echo(self, data: bytes) -> None:
        """A frame of the first of two processes of an agent."""
        self._put(("echo", None, data))

    def refused(self, name: str, reason: str) -> None:
        """Something that was not even handed on."""
        self._put(("refused", name, reason), urgent=False)

    def alive(self, name: str, here: bool) -> None:
        """An agent has come or gone; never dropped."""
        self._events.append(("alive", name, here))
        self._ring()

    def members(self, data: bytes) -> None:
        """A list of members was published."""
        self._put(("members", None, data))

    def wake(self) -> None:
        """Evidence has arrived."""
        self._put(("wake", None, None))

    def wait(self, seconds: float, *, enough: int = 1) -> list[Event]:
        """What has arrived, after waiting for so many frames, or anything else, or so long.

        Fewer may be there, or nothing, before the time is over.
        """
        self._enough = enough
        # Whoever adds an event from here on sees `enough`, and rings.
        if len(self._events) < enough:
            self._bell.acquire(timeout=max(0.0, seconds))
        return self.all()

    def all(self) -> list[Event]:
        """What has arrived."""
        events = self._events
        return [events.popleft() for _ in range(len(events))]

    def _put(self, event: Event, *, urgent: bool = True) -> None:
        if len(self._events) < _MOST_WAITING:
            self._events.append(event)
        if urgent or len(self._events) >= self._enough:
            self._ring()

    def _ring(self) -> None:
        with suppress(RuntimeError):  # it has been rung, and not been heard yet
            self._bell.release()

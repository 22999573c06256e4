"""What has arrived at a live agent and is not read yet."""

from __future__ import annotations

import queue
from typing import Any

# Beyond, what arrives is dropped.
_MOST_WAITING = 20_000


class Inbox:
    """What has arrived, in order; filled from any thread."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[tuple[str, Any, Any]] = queue.SimpleQueue()

    def frame(self, name: str, data: bytes) -> None:
        """Bytes under the name of an agent."""
        if self.queue.qsize() < _MOST_WAITING:
            self.queue.put(("frame", name, data))

    def refused(self, name: str, reason: str) -> None:
        """Something that was not even handed on."""
        if self.queue.qsize() < _MOST_WAITING:
            self.queue.put(("refused", name, reason))

    def alive(self, name: str, here: bool) -> None:
        """An agent has come or gone."""
        self.queue.put(("alive", name, here))

    def members(self, data: bytes) -> None:
        """A list of members was published."""
        if self.queue.qsize() < _MOST_WAITING:
            self.queue.put(("members", None, data))

    def wake(self) -> None:
        """Evidence has arrived."""
        if self.queue.qsize() < _MOST_WAITING:
            self.queue.put(("wake", None, None))

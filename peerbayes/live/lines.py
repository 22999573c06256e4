"""Observations from outside: lines of standard input, of a file that grows, of a topic."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from peerbayes.live.observations import Claims, UnreadableError
from theory.validation import FloatArray, fail

# Lines that wait to be taken: beyond, files are not read on, and of others the oldest give way.
_MOST_WAITING = 100_000
# Bytes of a line, and seconds between two looks at a file.
_LONGEST = 1 << 17
_LOOK = 0.1

Feed = Callable[["Lines", threading.Event], None]


class Lines:
    """Observations from lines of text, which may be put in from any thread.

    Parameters
    ----------
    claims
        What turns a line into log-likelihoods.
    log
        Told once of the first line that is none.
    feed
        Puts lines in, in a thread of its own, until the event is set.
    topic
        A key of the transport from which they come instead.

    Attributes
    ----------
    offset
        Where the line after the last one that was taken begins, in bytes of a file.
    taken, refused
        Observations given so far, and lines that were none.
    end
        Set when no more lines will come.
    """

    arrives = True

    def __init__(
        self,
        claims: Claims,
        *,
        log: Callable[[str], None],
        feed: Feed | None = None,
        topic: str | None = None,
    ) -> None:
        self._claims, self.log, self._feed, self.topic = claims, log, feed, topic
        self._waiting: deque[tuple[bytes, int]] = deque(maxlen=_MOST_WAITING)
        self.offset = self.taken = self.refused = 0
        self.end = False
        self._stop = threading.Event()
        self._wake: Callable[[], None] = lambda: None

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.end and not self._waiting

    @property
    def is_full(self) -> bool:
        """Whether so many lines wait that no more should be put in."""
        return len(self._waiting) > _MOST_WAITING // 2

    def put(self, line: bytes, offset: int = 0) -> None:
        """One line, and where the next one begins."""
        self._waiting.append((line, offset))
        self._wake()

    def put_bytes(self, data: bytes) -> None:
        """Lines that came together."""
        for line in data.splitlines():
            self.put(line)

    def finish(self) -> None:
        """No more lines will come."""
        self.end = True
        self._wake()

    def take(self, most: int) -> FloatArray | None:
        """The log-likelihoods of the next lines together."""
        total: FloatArray | None = None
        count = 0
        while self._waiting and count < most:
            line, self.offset = self._waiting.popleft()
            if not line.strip():
                continue
            try:
                row = self._claims.of_line(line.decode())
            except (UnreadableError, UnicodeDecodeError) as error:
                self.refused += 1
                if self.refused == 1:
                    self.log(f"evidence: {error}; such lines are counted and left out")
                continue
            total = row if total is None else total + row
            count += 1
        self.taken += count
        return total

    def open(self, wake: Callable[[], None]) -> None:
        """Begin; from now on tell of what arrives."""
        self._wake = wake
        if self._feed is not None:
            arguments = (self, self._stop)
            threading.Thread(
                target=self._feed, args=arguments, name="evidence", daemon=True
            ).start()

    def close(self) -> None:
        """Put no more in."""
        self._stop.set()


def from_input(lines: Lines, stop: threading.Event) -> None:
    """Feed from standard input, to its end."""
    rest = b""
    while not stop.is_set():
        data = os.read(sys.stdin.fileno(), 1 << 16)
        if not data:
            break
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            lines.put(line)
        rest = rest[:_LONGEST]
    if rest.strip():
        lines.put(rest)
    lines.finish()


class FileFeed:
    """Feed from a file that grows: whole lines, as they come.

    A file that became shorter, or another one under its name, is read from its beginning.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ValueError
        If it is not there.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise fail("--evidence", "a file", f"none at {path}", "make it first; it may be empty")
        self._path = path

    def __call__(self, lines: Lines, stop: threading.Event) -> None:
        """Read until `stop`."""
        at = lines.offset
        file: BinaryIO | None = None
        while not stop.is_set():
            try:
                if file is not None and not self._is_same(file):
                    file.close()
                    file, at = None, 0
                    lines.log(f"evidence: {self._path} was begun anew, and is read from its start")
                if file is None:
                    file = self._path.open("rb")
                if os.fstat(file.fileno()).st_size < at:
                    at = 0
                    lines.log(f"evidence: {self._path} became shorter, and is read from its start")
                at = self._read(file, at, lines)
            except OSError:
                pass  # it may be back at the next look
            stop.wait(_LOOK)
        if file is not None:
            file.close()

    def _is_same(self, file: BinaryIO) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except FileNotFoundError:
            return True  # moved away, and no other is there yet

    def _read(self, file: BinaryIO, at: int, lines: Lines) -> int:
        """Put in all whole lines from a place on; the place after them."""
        file.seek(at)
        while not lines.is_full:
            line = file.readline(_LONGEST)
            if not line.endswith(b"\n") and len(line) < _LONGEST:
                break
            at += len(line)
            lines.put(line, at)
        return at

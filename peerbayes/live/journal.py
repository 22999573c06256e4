"""What happened to an agent, record by record, added to a file before anybody can hear of it.

A record has its length and a checksum, so that a torn last one is known. What the system has
taken over survives the death of the process (not that of the machine). A journal is cut into
*segments*, each of which begins with the whole state.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exact.whole_files import open_regular
from theory.validation import FloatArray

_MAGIC = b"peerbayes-journal 1\n"
_FRAME = struct.Struct("<II")
_HEAD = struct.Struct("<BqqQ")
KINDS = ("start", "observe", "deliver", "pool", "skip", "lose", "reweigh", "reserve")
"""What may be recorded: as :mod:`exact.changing.replays`, and rounds reserved by learners that are
not replayed."""
_CODES = {kind: code for code, kind in enumerate(KINDS)}
# Records written at once, at most: what waits is lost if the process dies.
_MOST_WAITING = 1 << 16


@dataclass(frozen=True, eq=False)
class Record:
    """One thing that happened.

    Attributes
    ----------
    kind
        One of `KINDS`.
    round
        Of an observation, a message, a pooling; the one skipped to, or reserved.
    agent
        The number of the agent that spoke or went; −1 where there is none. With an observation,
        how many were taken so far.
    offset
        Of the evidence, after an observation.
    data
        Numbers (`numbers`), or for "start" and "reweigh" a state and a list of members.
    end
        Where the next record begins in its file, in bytes.
    """

    kind: str
    round: int = 0
    agent: int = -1
    offset: int = 0
    data: bytes = b""
    end: int = 0

    @property
    def numbers(self) -> FloatArray:
        """Log-likelihoods observed, a log-belief delivered, the log-belief after pooling."""
        return np.frombuffer(self.data, "<f8")


class Journal:
    """A segment that is being written.

    Parameters
    ----------
    path
        The file.
    size
        Bytes of it that stay: of whole records. 0 begins anew.

    Raises
    ------
    OSError
        If it cannot be written.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        self.path = path
        self.size = size
        self._waiting: list[bytes] = [] if size else [_MAGIC]
        self._bytes = 0
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.ftruncate(self._descriptor, size)

    def add(
        self, kind: str, round: int = 0, agent: int = -1, offset: int = 0, data: bytes = b""
    ) -> None:
        """Add a record; it is written by the next `flush`.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        text = _HEAD.pack(_CODES[kind], round, agent, offset) + data
        self._waiting.append(_FRAME.pack(len(text), zlib.crc32(text)) + text)
        self._bytes += len(text)
        if self._bytes > _MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Hand all records to the system.

        Raises
        ------
        OSError
            If the file cannot be written; records may be torn then, and none may follow.
        """
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        while data:
            count = os.write(self._descriptor, data)
            self.size += count
            data = data[count:]

    def close(self) -> None:
        """Flush, and close the file."""
        if self._descriptor >= 0:
            with suppress(OSError):
                self.flush()
            os.close(self._descriptor)
            self._descriptor = -1


def records_of(path: Path) -> Iterator[Record]:
    """The records of a segment, as far as they are whole.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    with open_regular(path) as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return
        while len(head := file.read(_FRAME.size)) == _FRAME.size:
            length, check = _FRAME.unpack(head)
            text = file.read(min(length, 1 << 30))
            if len(text) < length or length < _HEAD.size or zlib.crc32(text) != check:
                return
            code, round, agent, offset = _HEAD.unpack_from(text)
            if code >= len(KINDS):
                return
            yield Record(KINDS[code], round, agent, offset, text[_HEAD.size :], file.tell())

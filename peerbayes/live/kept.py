"""An agent's state on disk, and a learner that goes on after a crash as if nothing had been.

``AGENT.state`` is one file, written at once or not at all, with a checksum. What happened since is
in a *journal*, record by record, added before anybody can hear of it. A record has its length and
a checksum, so that a torn last one is known. What the system has taken over survives the death of
the process (not that of the machine). A journal is cut into *segments*, each of which begins where
a state was kept.

A learner that can be replayed is brought back to the last bit: to its last observation, and to
what it had said. Of one that cannot, the state is kept whenever that is cheap, and its rounds are
reserved, so that none has two messages. A full disk ends nothing: the agent goes on, says so, and
tries again.
"""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exact.whole_files import lock, open_regular, read_regular, replacing
from peerbayes.live.evidence import Evidence
from peerbayes.live.frames import (
    METADATA,
    Tensors,
    arrays,
    digest_of,
    header_of,
    joined,
    split,
    written,
)
from peerbayes.live.learner import Learner, Saved
from peerbayes.live.members import Members
from theory.validation import FloatArray, fail

FORMAT = "peerbayes-state"
_MAGIC = b"peerbayes-journal 1\n"

_FRAME = struct.Struct("<II")

_HEAD = struct.Struct("<BqqQ")

KINDS = ("start", "observe", "deliver", "pool", "skip", "lose", "reweigh", "reserve")
"""What may be recorded: as :mod:`exact.changing.replays`, and rounds reserved by learners that are
not replayed."""

_CODES = {kind: code for code, kind in enumerate(KINDS)}

# Records written at once, at most: what waits is lost if the process dies.
_MOST_WAITING = 1 << 16
# A segment of the journal is at most so long, in bytes and seconds, before the next state.
_SEGMENT, _SECONDS = 4 * 2**20, 60.0
# Share of the time that keeping states of learners that are not replayed may take.
_SHARE = 0.02

_TRY_AGAIN = 1.0


# Journals ---------------------------------------------------------------------------------------


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


# States -----------------------------------------------------------------------------------------


class Store:
    """The files of one agent.

    Parameters
    ----------
    path
        Its state file; segments of the journal lie beside it.
    setting
        What must be the same for a state to fit: the network, the agent, how it pools.
    keep
        Whether old segments stay, for replays.

    Raises
    ------
    ValueError
        If another process has the same agent.
    """

    def __init__(self, path: Path, setting: Mapping[str, Any], *, keep: bool = False) -> None:
        self.path, self._setting, self._keep = path, dict(setting), keep
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = path.with_suffix(".lock").open("ab")
        if not lock(self._lock.fileno()):
            self._lock.close()
            wanted = "an agent that does not run here yet"
            raise fail(str(path), wanted, "one that runs", "stop it, or use another --out")

    def close(self) -> None:
        """Let others have the agent."""
        self._lock.close()

    def segment(self, number: int) -> Path:
        """The file of one segment of the journal."""
        return segment_of(self.path, number)

    def read(self) -> tuple[Saved, dict[str, Any]] | None:
        """The state, and what was kept with it; None if there is none.

        Raises
        ------
        ValueError
            If it is damaged, or of another setting.
        """
        remedy = f"delete it to begin anew, or use another --out: {self.path}"
        try:
            data = read_regular(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise fail("state", "a file", error.strerror or "unreadable", remedy) from None
        try:
            header, numbers = split(data)
            said = header[METADATA]
            digest = said["sha256"]
            said["sha256"] = ""
            if said["format"] != FORMAT or digest_of(written(header), numbers) != digest:
                raise ValueError("another checksum")
            kept = json.loads(said["kept"])
            saved = Saved(json.loads(said["meta"]), arrays(header, numbers))
        except (ValueError, KeyError, TypeError) as error:
            raise fail("state", "a whole file", f"a damaged one ({error})", remedy) from None
        for name, value in self._setting.items():
            if kept["setting"].get(name) != value:
                got = repr(kept["setting"].get(name))
                raise fail("state", f"{name} {value!r}", got, remedy)
        return saved, kept

    def write(self, saved: Saved, *, offset: int, taken: int) -> Journal:
        """Write the state; the segment of the journal that goes on from it.

        Raises
        ------
        OSError
            If it cannot be written; the state and journal before are kept then.
        """
        number = max(segments_of(self.path), default=0) + 1
        data = self._packed(saved, {"segment": number, "offset": offset, "taken": taken})
        journal = Journal(self.segment(number))
        try:
            if self._keep:
                journal.add("start", data=data)
            journal.flush()
            with replacing(self.path) as file:
                file.write(data)
        except OSError:
            journal.close()
            journal.path.unlink(missing_ok=True)
            raise
        for old in segments_of(self.path):
            if old < number and not self._keep:
                self.segment(old).unlink(missing_ok=True)
        return journal

    def _packed(self, saved: Saved, kept: dict[str, Any]) -> bytes:
        metadata = {
            "format": FORMAT,
            "kept": json.dumps({"setting": self._setting, **kept}),
            "meta": json.dumps(dict(saved.meta)),
            "sha256": "",
        }
        header, numbers = header_of(metadata, saved.tensors)
        header[METADATA]["sha256"] = digest_of(written(header), numbers)
        return joined(written(header), numbers)


def segments_of(path: Path) -> list[int]:
    """Numbers of the segments of the journal beside a state file."""
    ends = (p.suffix[1:] for p in path.parent.glob(f"{escape(path.stem)}.journal.*"))
    return sorted(int(end) for end in ends if end.isdigit())


def segment_of(path: Path, number: int) -> Path:
    """The file of one segment of the journal."""
    return path.with_suffix(f".journal.{number}")


# A learner that is kept -------------------------------------------------------------------------


class KeptLearner:
    """A learner all of whose input is written down, so that it comes back after a crash.

    Parameters
    ----------
    learner, evidence
        As they are before the first round.
    store
        Where they are kept. If it has a state, both go on from there.
    log
        Told, in one line, of what happens.

    Raises
    ------
    ValueError
        If the state is damaged or does not fit.
    """

    def __init__(
        self, learner: Learner, evidence: Evidence, store: Store, *, log: Callable[[str], None]
    ) -> None:
        # A learner that is replayed is asked for more than others have.
        self._learner: Any = learner
        self._evidence, self._store, self._log = evidence, store, log
        self._journal: Journal | None = None
        self._next = 0.0
        self._complained = False
        try:
            found = store.read()
            if found is not None:
                self._go_on(*found)
        except BaseException:
            self._close()
            store.close()
            raise
        if self._journal is None:
            self.checkpoint()
        learner.keep = self._happened

    def __getattr__(self, name: str) -> Any:
        """All else is the learner's."""
        return getattr(self._learner, name)

    @property
    def is_open(self) -> bool:
        """Whether the learner came back, or is, in the middle of a round."""
        return bool(self._learner.replays and self._learner.has_open_round)

    @property
    def said(self) -> Tensors:
        """What the agent had said in the open round."""
        return {"log_belief": self._learner.log_belief}

    # Coming back --------------------------------------------------------------------------------

    def _go_on(self, saved: Saved, kept: dict[str, Any]) -> None:
        learner = self._learner
        learner.restore(saved)
        self._evidence.offset, self._evidence.taken = kept["offset"], kept["taken"]
        path = self._store.segment(kept["segment"])
        reserved, end = 0, 0
        for record in records_of(path) if path.exists() else ():
            reserved = record.round if record.kind == "reserve" else reserved
            self._again(record)
            end = record.end
        if not learner.replays:
            # A round that was open ends here: what was said in it may have been heard.
            learner.skip(max(reserved, learner.round) + 1)
        learner.stored_round = learner.round
        self._log(f"goes on from round {learner.round}")
        if learner.replays and end:
            # The same life goes on, perhaps within a round: no new state in between.
            with suppress(OSError):
                self._journal = Journal(path, end)
                self._next = time.monotonic() + _SECONDS

    def _again(self, record: Record) -> None:
        """Do to the learner what was done to it."""
        learner = self._learner
        if record.kind == "observe":
            self._evidence.offset, self._evidence.taken = record.offset, record.agent
            learner.learn(record.numbers if record.data else None)
        elif record.kind == "deliver":
            learner.deliver(record.agent, record.round, record.numbers)
        elif record.kind == "pool":
            learner.pool()
        elif record.kind == "skip":
            learner.skip(record.round)
        elif record.kind == "lose":
            learner.lose(learner.members.names[record.agent])
        elif record.kind == "reweigh":
            learner.reweigh(Members.from_bytes(record.data))

    # Keeping ------------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Keep the whole state now; a disk that is full is complained of once."""
        began = time.monotonic()
        self._close()
        source = self._evidence
        try:
            self._journal = self._store.write(
                self._learner.save(), offset=source.offset, taken=source.taken
            )
        except OSError as error:
            self._give_up(error)
            return
        if self._complained:
            self._complained = False
            self._log("its state is kept again")
        self._learner.stored_round = self._learner.round
        ended = time.monotonic()
        self._next = ended + (_SECONDS if self._learner.replays else (ended - began) / _SHARE)

    def _happened(self, kind: str, *, numbers: NDArray[Any] | None = None, **what: Any) -> None:
        """Write down what the learner has done; a round, before anybody can hear of it."""
        learner = self._learner
        begins, source = kind == "observe", self._evidence
        if learner.replays:
            data = {} if numbers is None else {"data": numbers.astype("<f8", copy=False).tobytes()}
            place = {"offset": source.offset, "agent": source.taken} if begins else {}
            self._add(kind, flush=begins, **data, **place, **what)
        if kind == ("pool" if learner.replays else "observe") and self._due():
            self.checkpoint()
        elif begins and not learner.replays:
            self._add("reserve", flush=True, **what)

    def _add(self, kind: str, *, flush: bool, **what: Any) -> None:
        """A record of what happened, if there is a journal."""
        if self._journal is None:
            return
        try:
            self._journal.add(kind, **what)
            if flush:
                self._journal.flush()
                self._learner.stored_round = self._learner.round
        except OSError as error:
            self._give_up(error)

    def _due(self) -> bool:
        full = self._journal is not None and self._journal.size > _SEGMENT
        return full or time.monotonic() >= self._next

    def _give_up(self, error: OSError) -> None:
        self._close()
        self._next = time.monotonic() + _TRY_AGAIN
        if not self._complained:
            self._complained = True
            reason = (error.strerror or str(error)).lower()
            self._log(f"cannot keep its state ({reason}); goes on, and tries again")

    def _close(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def close(self) -> None:
        """Keep the state, and close the files."""
        self.checkpoint()
        self._close()
        self._store.close()

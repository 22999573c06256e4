"""Records of many parts in one file: a line of JSON each, with a checksum, compressed.

A file ``NAME.jsonl.gz`` holds records as :mod:`peerbayes.records` has them, one a line, with sorted
keys, in the order of their names; the same records make the same bytes. A line's name is its body's
``part``, or its ``experiment`` where it has no parts.

A damaged line costs that line alone: what is whole is still read, and for each of the others one
sentence says where it stands, what is wrong and what to do. Into a file with damage nothing is
written, since that would lose the damaged lines.

Two runs of one thing in one folder do not collide: a file is held by one process (`held`).
"""

from __future__ import annotations

import gzip
import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from exact.whole_files import HAS_LOCKS, NO_LINKS, lock, read_regular, replacing
from peerbayes.messages import shorten
from peerbayes.records import FORMAT, VERSION, Record, parse_record, sealed, unwritable
from theory.validation import fail

# Seconds between two tries; somebody may only be asking whether a file is held.
_PAUSE = 0.01


class Held(Exception):  # noqa: N818  # it says what is the case
    """Another process holds the file."""


@contextmanager
def held(path: Path, *, patience: float = 0.1) -> Iterator[None]:
    """Hold a file, made if need be, while the block runs, and delete it afterwards.

    The operating system lets go of it when the process ends, however it ends. Links are not
    followed. Where the system has no such locks (``fcntl``), nothing is held.

    Raises
    ------
    Held
        If another process holds it for `patience` seconds.
    OSError
        If the file cannot be opened, or is a link.
    """
    if not HAS_LOCKS:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _taken(path, patience)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether another process holds the file at this moment."""
    if not HAS_LOCKS:
        return False
    try:
        descriptor = os.open(path, os.O_RDWR | NO_LINKS)
    except OSError:
        return False
    try:
        # Shared, so that those who ask do not stop each other.
        return not lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _taken(path: Path, patience: float) -> int:
    """The descriptor of the file, locked, and still the one that the name leads to."""
    until = time.monotonic() + patience
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o644)
        if not lock(descriptor):
            os.close(descriptor)
            if time.monotonic() > until:
                raise Held(str(path))
            time.sleep(_PAUSE)
            continue
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False)):
                return descriptor
        # Whoever held it has deleted it in between.
        os.close(descriptor)


# Records of many parts in one file ----------------------------------------------------------------

ENDING = ".jsonl.gz"
_AGAIN = "restore the file, or delete this line and run its part again"
_WHOLE = "a whole file of records, a line each"
# Seconds to wait for others who add a record to the same file: each takes milliseconds.
_PATIENCE = 60.0
# Files that are remembered as read: the documentation has some forty.
_REMEMBERED = 64
_WINDOW = zlib.MAX_WBITS | 16  # with the head of gzip


@dataclass(frozen=True, eq=False)
class RecordLines:
    """The records of one file, by their names, in the order of the file.

    Attributes
    ----------
    path
        The file.
    records
        What is whole.
    damage
        What is not: one sentence a line.
    """

    path: Path
    records: Mapping[str, Record]
    damage: tuple[str, ...] = ()

    def check(self) -> None:
        """See that the file is whole.

        Raises
        ------
        ValueError
            If it is not; with the first sentence about it.
        """
        if self.damage:
            raise ValueError(self.damage[0])


def read_lines(path: Path) -> RecordLines:
    """Read all records of a file; of one that does not exist there are none.

    A file is read once, and again only after it has changed.

    Raises
    ------
    ValueError
        If the file cannot be opened; in one line. Damage in it is not raised but told
        (`RecordLines.damage`).
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return RecordLines(path, MappingProxyType({}))
    except OSError as error:
        raise _unreadable(path, error) from None
    return _read(path, (found.st_ino, found.st_size, found.st_mtime_ns))


def put_record(path: Path, *, kind: str, body: Mapping[str, Any]) -> Path:
    """Add a record to a file, in place of one of the same name; others may add at the same time.

    The file holds all of the new record or is what it was.

    Raises
    ------
    ValueError
        If the file has damage, or cannot be written; in one line.
    """
    try:
        with held(path.with_name(f".{path.name}.held"), patience=_PATIENCE):
            lines = read_lines(path)
            lines.check()
            records = {name: _content(record) for name, record in lines.records.items()}
            records[_name(body)] = sealed(kind, body)
            text = "".join(f"{_canonical(records[name])}\n" for name in sorted(records))
            with replacing(path) as file:
                file.write(gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0))
    except OSError as error:
        raise unwritable(path, "a file", error) from None
    return path


@lru_cache(maxsize=_REMEMBERED)
def _read(path: Path, stamp: tuple[int, ...]) -> RecordLines:
    """Read a file; `stamp` tells one state of it from another."""
    try:
        packed = read_regular(path)
    except OSError as error:
        raise _unreadable(path, error) from None
    lines, ending = _unpacked(packed)
    places: dict[str, list[int]] = {}
    records: dict[str, Record] = {}
    damage = []
    for number, line in enumerate(lines, 1):
        try:
            record = parse_record(line, path, place=f"line {number}", again=_AGAIN)
            name = _name(record.body)
        except ValueError as error:
            damage.append(str(error))
        except (TypeError, LookupError):
            source = f"{path}, line {number}"
            damage.append(str(fail(source, "a body that names its part", "another", _AGAIN)))
        else:
            records[name] = record
            places.setdefault(name, []).append(number)
    for name, several in places.items():
        if len(several) > 1:  # nothing says which of them counts
            del records[name]
            source = f"{path}, lines {', '.join(map(str, several))}"
            got = f"{len(several)} of {shorten(name)!r}"
            damage.append(str(fail(source, "one record of a part", got, "delete all but one")))
    if ending:
        source = f"{path}, line {len(lines) + 1}"
        damage.append(str(fail(source, _WHOLE, ending, "restore the file, or run what it lacks")))
    return RecordLines(path, MappingProxyType(records), tuple(damage))


def _unpacked(packed: bytes) -> tuple[list[bytes], str]:
    """Unpack as many whole lines as there are, and say what is wrong with the rest, if anything."""
    unpacker = zlib.decompressobj(_WINDOW)
    text, ending = bytearray(), ""
    try:
        for piece in _pieces(packed):
            text += unpacker.decompress(piece)
    except zlib.error:
        ending = "damaged bytes"
    if not ending and not unpacker.eof:
        ending = "one that ends too early"
    if not ending and unpacker.unused_data:
        ending = "bytes behind its end"
    *lines, rest = bytes(text).split(b"\n")
    return lines, ending or ("a line without an end" if rest else "")


def _pieces(packed: bytes, size: int = 1 << 12) -> Iterator[bytes]:
    """Cut into pieces: what stands before a damaged one is unpacked all the same."""
    return (packed[start : start + size] for start in range(0, len(packed), size))


def _name(body: Mapping[str, Any]) -> str:
    return str(body["part"] if "part" in body else body["experiment"])


def _content(record: Record) -> dict[str, Any]:
    """A record as it was read, to be written again as it is."""
    head = {"format": FORMAT, "version": VERSION, "kind": record.kind, "sha256": record.sha256}
    of = {} if record.of is None else {"of": record.of}
    return {**head, **of, "body": record.body}


def _canonical(content: object) -> str:
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _unreadable(path: Path, error: OSError) -> ValueError:
    reason = (error.strerror or str(error)).lower()
    return fail(str(path), "a file that can be read", reason, "correct the path or its permissions")

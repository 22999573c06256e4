"""A run's unfinished sums on disk: written whole or not at all, and read back only if they fit.

A checkpoint is one file: a line of magic, a line with the SHA-256 of all that follows, a line of
JSON that says which run it belongs to and what its arrays are, and the arrays, as they lie in
memory. No object is ever unpickled. It belongs to one run: a :func:`fingerprint` of the problem,
its arguments and the versions of the libraries must agree.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from exact.whole_files import open_regular, remove_leftovers, replacing
from theory.validation import fail

Arrays = dict[str, NDArray[Any]]

MAGIC = b"peerbayes-checkpoint 1\n"
# Seconds between two checkpoints at least; and never more than a twentieth of the time.
EVERY_SECONDS = 10.0
SHARE = 20
HEADER_BYTES = 1 << 20


@dataclass(frozen=True)
class Checkpoint:
    """Where a run keeps its unfinished sums, and which run that is.

    Attributes
    ----------
    path
        The file; its folder is made if need be.
    fingerprint
        Of everything that the sums follow from (:func:`fingerprint`).
    resume
        Whether to go on from the file, if it is there. If not, a file that is there is left alone
        until the new run has something to put in its place.
    """

    path: Path
    fingerprint: str
    resume: bool = False

    def done(self) -> int | None:
        """How many units the file says are done; None if there is no file of this run.

        The sums themselves are not checked.
        """
        try:
            with open_regular(self.path) as file:
                header = _header(file, self.path)[1]
        except (OSError, ValueError):
            return None
        return int(header["done"]) if header["fingerprint"] == self.fingerprint else None

    def load(self, total: Arrays) -> int:
        """Read the sums into `total`, and return how many units they hold: 0 if there is no file.

        Raises
        ------
        ValueError
            If the file is damaged, belongs to another run, or cannot be read; in one line.
        """
        try:
            file = open_regular(self.path)
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise self._unreadable(error) from None
        with file:
            try:
                return self._load(file, total)
            except OSError as error:
                raise self._unreadable(error) from None

    def save(self, done: int, total: Arrays) -> None:
        """Replace the file by the sums of the first `done` units, in one step.

        Raises
        ------
        ValueError
            If it cannot be written; in one line.
        """
        header = {"fingerprint": self.fingerprint, "done": done, "arrays": _layout(total)}
        line = json.dumps(header, sort_keys=True).encode("ascii") + b"\n"
        digest = hashlib.sha256(line)
        for piece in _pieces(total):
            digest.update(piece)
        try:
            with replacing(self.path) as file:
                file.write(MAGIC + digest.hexdigest().encode("ascii") + b"\n" + line)
                for piece in _pieces(total):
                    file.write(piece)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise fail(
                str(self.path), "a checkpoint that can be written", reason, "choose another place"
            ) from None

    def remove(self) -> None:
        """Delete the file, and what a killed run left half-written beside it."""
        self.path.unlink(missing_ok=True)
        remove_leftovers(self.path)

    def _load(self, file: BinaryIO, total: Arrays) -> int:
        digest, header = _header(file, self.path)
        if header["fingerprint"] != self.fingerprint:
            raise fail(
                str(self.path),
                "a checkpoint of this run: the same problem, arguments and versions",
                "one of another run",
                "start afresh, without resuming, or give the arguments of that run",
            )
        if header["arrays"] != _layout(total):
            raise _damaged(self.path)
        sums = hashlib.sha256(header["line"])
        for piece in _pieces(total):
            if file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
                raise _damaged(self.path)
            sums.update(piece)
        if file.read(1) or sums.hexdigest() != digest:
            raise _damaged(self.path)
        return int(header["done"])

    def _unreadable(self, error: OSError) -> ValueError:
        reason = (error.strerror or str(error)).lower()
        return fail(str(self.path), "a checkpoint that can be read", reason, "choose another place")


@dataclass
class Clock:
    """When it is time for the next checkpoint; `now` counts seconds."""

    next: float
    cost: float = field(default=0.0)

    def due(self, now: float) -> bool:
        """Whether enough time has passed since the last one."""
        return now >= self.next

    def wrote(self, begin: float, end: float) -> None:
        """Take in how long writing took."""
        self.cost = end - begin
        self.next = end + max(EVERY_SECONDS, SHARE * self.cost)


def fingerprint(*parts: object) -> str:
    """A SHA-256 of values, arrays and dataclasses, and of the libraries' versions.

    Equal parts have equal fingerprints; two parts that differ in type, shape or a single bit do
    not. Dataclasses are taken field by field, without fields marked as labels (`names`).

    Raises
    ------
    TypeError
        If something has no fingerprint, such as a function.

    Examples
    --------
    >>> fingerprint(1, np.arange(2)) == fingerprint(1, np.arange(2))
    True
    >>> fingerprint(1, np.arange(2)) == fingerprint(1.0, np.arange(2))
    False
    """
    return content_sha256(*_versions(), *parts)


def content_sha256(*parts: object) -> str:
    """As :func:`fingerprint`, whatever the versions of the libraries."""
    digest = hashlib.sha256()
    for part in parts:
        for piece in _bytes(part):
            digest.update(piece)
    return digest.hexdigest()


def _versions() -> Iterator[str]:
    for name in ("peerbayes", "numpy", "scipy", "numba"):
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:  # run from a source tree
            yield name
    yield sys.byteorder


def _bytes(part: object) -> Iterator[bytes]:
    """What a part consists of, each piece with its kind and length, so that none run together."""
    if part is None or isinstance(part, bool | int | float | str | Path | Fraction):
        text = repr(part).encode("utf-8")
        yield b"%s %d:" % (type(part).__name__.encode("ascii"), len(text))
        yield text
    elif isinstance(part, np.ndarray | np.generic):
        array = np.ascontiguousarray(part)
        if array.dtype.hasobject:
            raise TypeError("an array of objects has no fingerprint")
        yield f"array {array.dtype.str} {np.shape(part)}:".encode("ascii")
        yield array.tobytes()
    elif isinstance(part, csr_array):
        yield f"csr {part.shape}:".encode("ascii")
        for array in (part.indptr, part.indices, part.data):
            yield from _bytes(array)
    elif dataclasses.is_dataclass(part) and not isinstance(part, type):
        yield f"{type(part).__qualname__}(".encode()
        for entry in dataclasses.fields(part):
            if entry.metadata.get("label"):
                continue
            yield from _bytes(getattr(part, entry.name))
        yield b")"
    elif isinstance(part, tuple | list | range):
        yield f"{len(part)} entries(".encode("ascii")
        for item in part:
            yield from _bytes(item)
        yield b")"
    elif isinstance(part, Mapping):
        yield f"{len(part)} keys(".encode("ascii")
        for key in sorted(part):
            yield from _bytes(key)
            yield from _bytes(part[key])
        yield b")"
    else:
        raise TypeError(f"{type(part).__name__} has no fingerprint")


def _layout(arrays: Arrays) -> list[list[Any]]:
    return [[name, array.dtype.str, list(array.shape)] for name, array in sorted(arrays.items())]


def _pieces(arrays: Arrays) -> Iterator[memoryview]:
    """The arrays' memory, in the order of their names."""
    for _, array in sorted(arrays.items()):
        if not array.flags.c_contiguous:
            raise ValueError("sums are kept in contiguous arrays")
        if array.size:
            yield array.reshape(-1).view(np.uint8).data


def _header(file: BinaryIO, path: Path) -> tuple[str, dict[str, Any]]:
    """The checksum that the file names, and its line of JSON, as read and as a line."""
    if file.readline(len(MAGIC)) != MAGIC:
        raise _damaged(path)
    digest = file.readline(66).decode("ascii", "replace").rstrip("\n")
    line = file.readline(HEADER_BYTES)
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        raise _damaged(path) from None
    keys = {"fingerprint", "done", "arrays"}
    if not isinstance(header, dict) or header.keys() != keys or not isinstance(header["done"], int):
        raise _damaged(path)
    return digest, {**header, "line": line}


def _damaged(path: Path) -> ValueError:
    return fail(
        str(path),
        "a whole checkpoint",
        "a damaged or truncated file, or none of ours",
        "delete it and start afresh",
    )

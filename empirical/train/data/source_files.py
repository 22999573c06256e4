"""The files that data come from: read whole, and known again by their SHA-256.

What is parsed is the very content whose checksum is kept, so that a run that is resumed can tell
whether its data are still those that it began with.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from theory.validation import fail

# How files begin, what they then are, and what to do where another kind is wanted.
PARQUET, GZIP, ZIP = b"PAR1\x15", b"\x1f\x8b", b"PK\x03\x04"
_UNPACK, _AS_TABLE = "unpack it", "save it as CSV, or as Parquet"
_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer in its place", "fetch it by: git lfs pull"),
    (GZIP, "one packed by gzip", _UNPACK),
    (b"BZh91AY", "one packed by bzip2", _UNPACK),
    (b"\xfd7zXZ", "one packed by xz", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "one packed by zstd", _UNPACK),
    (b"7z\xbc\xaf", "a 7z archive", _UNPACK),
    (ZIP, "a ZIP archive, as NPZ files and Excel workbooks are", _AS_TABLE),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", _AS_TABLE),
    (PARQUET, "a Parquet file", "let its name end in .parquet"),
    (b"ARROW1\0", "an Arrow file", _AS_TABLE),
    (b"\x93NUMPY", "a single NumPy array", "save it with numpy.savez(file, inputs=…, labels=…)"),
    (b"\x89HDF", "an HDF5 file", _AS_TABLE),
    (b"SQLite format 3", "an SQLite database", _AS_TABLE),
    (b"%PDF-", "a PDF document", _AS_TABLE),
    (b"{\\rtf", "an RTF document", _AS_TABLE),
    (b"<!DOCTYPE", "an HTML page", "fetch the file itself"),
    (b"<!doctype", "an HTML page", "fetch the file itself"),
    (b"<html", "an HTML page", "fetch the file itself"),
    (b"<?xml", "an XML document", _AS_TABLE),
    (b'{"', "JSON", _AS_TABLE),
    (b"[{", "JSON", _AS_TABLE),
    (b"\xff\xfe", "text in UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    (b"\x89PNG", "a PNG image", "put it into a folder of images"),
    (b"\xff\xd8\xff", "a JPEG image", "put it into a folder of images"),
)

Sources = tuple[tuple[str, str], ...]
"""Pairs of a path and the SHA-256 of what is in the file, in hexadecimal digits."""


@dataclass(frozen=True)
class SourceFile:
    """A file's content; `path` as the user wrote it."""

    path: str
    content: bytes

    @property
    def sources(self) -> Sources:
        """The file and its checksum."""
        return ((self.path, hashlib.sha256(self.content).hexdigest()),)


def read_source(path: str | Path) -> SourceFile:
    """The content of a file.

    Raises
    ------
    ValueError
        If it cannot be read, or is empty.
    """
    try:
        content = Path(path).expanduser().read_bytes()
    except FileNotFoundError:
        raise fail(str(path), "a file", "none of that name", "correct the path") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise fail(str(path), "a readable file", reason, "correct the path") from None
    if not content:
        raise fail(str(path), "a file with data in it", "an empty file", "fill it, or leave it out")
    return SourceFile(str(path), content)


def check_kind(source: SourceFile, wanted: str, *own: bytes) -> None:
    """See that a file does not begin as another kind does; the line says what it is.

    Parameters
    ----------
    wanted
        What it is to be, for the message.
    own
        How its own kind begins.

    Raises
    ------
    ValueError
        If it is of a known kind that begins otherwise.
    """
    for begins, what, remedy in _BEGINNINGS:
        if begins not in own and source.content.startswith(begins):
            raise fail(source.path, wanted, what, remedy)


def check_unchanged(now: Sequence[tuple[str, str]], kept: Sequence[tuple[str, str]]) -> None:
    """See that data are those that a run began with.

    Parameters
    ----------
    now, kept
        Pairs of path and checksum, of the data as read now and as the run's record has them.

    Raises
    ------
    ValueError
        If a file has changed, is new or is gone; the line names the first such file.

    Examples
    --------
    >>> check_unchanged([("a.csv", "22")], [("a.csv", "11")])
    Traceback (most recent call last):
    ...
    ValueError: a.csv: expected the data that the run began with, got another content; ...
    """
    here, then = dict(now), dict(kept)
    for path in sorted(here.keys() | then.keys()):
        if here.get(path) == then.get(path):
            continue
        got = "another content"
        if path not in here or path not in then:
            got = "a file that was not there" if path in here else "no such file"
        remedy = "put the old data back, or begin a new run"
        raise fail(path, "the data that the run began with", got, remedy)


def relative_to(folder: str | Path, sources: Sources) -> Sources:
    """The same sources with paths counted from a folder, so that both may be moved together."""
    start = os.path.abspath(folder)

    def counted(path: str) -> str:
        if "://" in path:  # no file, but a data set that goes by its name
            return path
        return Path(os.path.relpath(os.path.abspath(path), start)).as_posix()

    return tuple((counted(path), digest) for path, digest in sources)

"""Goldens on disk: a file a group, a line a golden, each with a checksum.

The files are JSON lines, packed by gzip without a time, so that equal goldens are equal bytes. The
first line says how many follow, and has the checksum of theirs: a line that is lost, put in or
changed is noticed, and refused.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theory.validation import fail

FORMAT = "peerbayes-frozen"
VERSION = 1
_REMEDY = "take the file from version control, or make it anew with 'python -m tests.frozen make'"


@dataclass(frozen=True)
class Golden:
    """One thing that a case says.

    Attributes
    ----------
    case
        The name of what was run.
    what
        Which of its outputs: "json", "text", "record NAME", "page NAME", …
    content
        As JSON has it.
    """

    case: str
    what: str
    content: Any

    @property
    def name(self) -> str:
        """Return the case and which of its outputs."""
        return f"{self.case} [{self.what}]"

    @property
    def line(self) -> str:
        """Return the golden as a line of a file."""
        body = {"case": self.case, "what": self.what, "content": self.content}
        return canonical({**body, "sha256": checksum(canonical(body))})


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no blanks."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def checksum(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def write(path: Path, goldens: Iterable[Golden]) -> None:
    """Write a file of goldens, sorted by name, whole or not at all."""
    lines = [golden.line for golden in sorted(goldens, key=lambda golden: golden.name)]
    head = {
        "format": FORMAT,
        "version": VERSION,
        "goldens": len(lines),
        "sha256": checksum("\n".join(lines)),
    }
    text = "\n".join([canonical(head), *lines]) + "\n"
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(text.encode("ascii"))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(packed.getvalue())
    os.replace(part, path)


def read(path: Path) -> list[Golden]:
    """Read a file of goldens and verify its checksums; none if there is no file.

    Raises
    ------
    ValueError
        In one line, if the file is truncated, was edited, or is none of this version.
    """
    if not path.exists():
        return []
    try:
        text = gzip.decompress(path.read_bytes()).decode("ascii")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        raise refused(path, "a damaged or truncated one") from None
    head, *lines = text.splitlines()
    try:
        said = json.loads(head)
        found = [_golden(path, line) for line in lines]
    except (json.JSONDecodeError, KeyError, TypeError):
        raise refused(path, "one that is no JSON of this form") from None
    if not isinstance(said, dict) or (said.get("format"), said.get("version")) != (FORMAT, VERSION):
        raise refused(path, "another file, or another version")
    if said.get("goldens") != len(lines) or said.get("sha256") != checksum("\n".join(lines)):
        raise refused(path, f"{len(lines)} goldens that do not fit the checksum of all")
    return found


def _golden(path: Path, line: str) -> Golden:
    body = json.loads(line)
    said = body.pop("sha256")
    if said != checksum(canonical(body)):
        raise refused(path, f"changed content of {body.get('case')} [{body.get('what')}]")
    return Golden(**body)


def refused(path: Path, got: str) -> ValueError:
    """Return the error that a file is not what was written."""
    return fail(str(path), "goldens that fit their checksums", got, _REMEDY)

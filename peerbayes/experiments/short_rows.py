"""Short records as read back: a folder of them has a file for each row.

What a short record has, and how it is made, is in :mod:`peerbayes.experiments.short_parts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerbayes.experiments.documents import made_by
from peerbayes.experiments.net_documents import NetPart
from peerbayes.experiments.record_lines import ENDING, read_lines
from peerbayes.records import Record, file_name, read_record
from theory.validation import fail

KIND = "short-part"


@dataclass(frozen=True, eq=False)
class ShortPart:
    """A short record as read back.

    Attributes
    ----------
    row, part
        What it is of.
    settings
        The fingerprint of all settings that its numbers depend on, without that of the code.
    content
        As in a part's record.
    """

    row: str
    part: str
    settings: str
    content: Mapping[str, Any]

    @property
    def found(self) -> NetPart:
        """What the part found, of a network of beliefs."""
        return NetPart.model_validate(self.content)

    @property
    def seconds(self) -> float:
        """How long training took."""
        return float(self.content.get("curve", {}).get("seconds") or self.content["seconds"])

    @property
    def made_by(self) -> str:
        """The behaviour mark of its recipe, or the build of an earlier version, with that word."""
        return made_by(self.content)


@dataclass(frozen=True, eq=False)
class ShortRow:
    """The short records of a row, by the names of their parts.

    `damage` has a sentence about each line of the file that cannot be read.
    """

    path: Path
    parts: Mapping[str, ShortPart]
    damage: tuple[str, ...] = ()


def row_path(folder: Path, row: str) -> Path:
    """The file of a row in a folder of short records."""
    return folder / (file_name(row).removesuffix(".json") + ENDING)


def read_row(folder: Path, row: str) -> ShortRow:
    """Read all short records of a row; of one without a file there are none.

    Those of earlier versions, a file of JSON a part in a folder named after the row, are read too.

    Raises
    ------
    ValueError
        If the file cannot be opened, or has records of another kind; in one line.
    """
    lines = read_lines(row_path(folder, row))
    old = {record.body["part"]: record for record in _files_of(folder / row)}
    return ShortRow(
        lines.path,
        {name: _short(record) for name, record in {**old, **lines.records}.items()},
        lines.damage,
    )


def _files_of(folder: Path) -> Iterator[Record]:
    return (read_record(path) for path in sorted(folder.glob("*.json")))


def _short(record: Record) -> ShortPart:
    if record.kind != KIND:
        got = f"one of {record.kind!r}"
        raise fail(str(record.path), "short records of parts", got, "name another folder")
    body = record.body
    return ShortPart(body["experiment"], body["part"], body["settings"], body["content"])

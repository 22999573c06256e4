"""Records of many parts in one file, and the short records of each part that are kept for good.

A file ``NAME.jsonl.gz`` holds records as :mod:`peerbayes.records` has them, one a line, with sorted
keys, in the order of their names; the same records make the same bytes. A line's name is its body's
``part``, or its ``experiment`` where it has no parts. A damaged line costs that line alone: what is
whole is still read, and for each of the others one sentence says where it stands, what is wrong and
what to do. Into a file with damage nothing is written, since that would lose the damaged lines.

A folder of short records has a file for each row, with a line for each part. A short record has the
shape of the part's full record, with fewer entries: the same functions make lines and figures of
either. Gone are the beliefs, the way to predict that is not the sampled one, widths of all agents
but the first, confusion matrices of all but the first two, and digits beyond the fourth.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from exact.whole_files import read_regular, replacing
from peerbayes.experiments.experiment import Experiment, made_by
from peerbayes.experiments.net_rows import NetPart
from peerbayes.experiments.setting import held
from peerbayes.messages import shorten
from peerbayes.records import (
    FORMAT,
    VERSION,
    Record,
    file_name,
    parse_record,
    read_record,
    sealed,
    unwritable,
)
from theory.validation import fail

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


# Short records: one part, one row ----------------------------------------------------------------


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


# As they are written ------------------------------------------------------------------------------

_DIGITS = 4
_KEPT = (
    "recipe", "role", "variant", "seed", "settings", "network", "classes", "data", "behaviour",
    "build", "versions",
)  # fmt: skip
_OVER_ROUNDS = (
    "accuracy", "nll", "confidence", "in_domain_confidence", "out_of_domain_confidence",
)  # fmt: skip
_BY_MEAN_WEIGHTS = ("accuracy", "nll")
_CONFUSIONS = 2


def write_short(folder: Path, experiment: Experiment[Any], part: str, content: Any) -> Path:
    """Add a part's short record to its row, in place of an earlier one; return the row's file.

    Raises
    ------
    ValueError
        If it cannot be written, or the file has damage; in one line.
    """
    body = {
        "experiment": experiment.name,
        "part": part,
        "settings": experiment.settings_mark(part),
        "content": shortened(content),
    }
    return put_record(row_path(folder, experiment.name), kind=KIND, body=body)


def shortened(content: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a part's record.

    Examples
    --------
    >>> point = {"round": 1, "local_steps": 2, "bytes": 0, "loss": [1.0], "sigma": None,
    ...          "before": None, "after": {"mean": {"accuracy": [0.123456], "entropy": [0.1]}}}
    >>> curve = {"agents": [0], "points": [point], "spread": [], "seconds": 1.0,
    ...          "last": {"mean": {"accuracy": [0.123456]}}, "last_before": None}
    >>> short = shortened({"recipe": "paper", "role": "alone", "curve": curve})
    >>> short["curve"]["points"][0]["after"]
    {'mean': {'accuracy': [0.1235]}}
    """
    if "measures" in content:  # later trials follow from every digit of these
        return dict(content)
    if "role" not in content:  # nets without beliefs have little to leave out
        return {key: _rounded(value) for key, value in content.items()}
    curve = content["curve"]
    short = {
        "spread": curve["spread"],
        "agents": curve["agents"],
        "points": [_point(point) for point in curve["points"]],
        "last": _last(curve["last"]),
        "last_before": _last(curve.get("last_before")),
        "seconds": curve["seconds"],
    }
    return {**{key: content[key] for key in _KEPT if key in content}, "curve": short}


def _point(point: Mapping[str, Any]) -> dict[str, Any]:
    sigma = point["sigma"]
    return {
        "round": point["round"],
        "local_steps": point["local_steps"],
        "bytes": point["bytes"],
        "sigma": None if sigma is None else _rounded(sigma[:1]),
        "before": _way(point["before"], _OVER_ROUNDS),
        "after": _way(point["after"], _OVER_ROUNDS),
    }


def _way(measured: Mapping[str, Any] | None, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """The sampled prediction's, or, of point nets, the only one's."""
    if measured is None:
        return None
    way = "sampled" if "sampled" in measured else "mean"
    return {way: {key: _rounded(measured[way][key]) for key in keys if key in measured[way]}}


def _last(measured: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if measured is None:
        return None
    short = {}
    for way, found in measured.items():
        full = way == "sampled" or "sampled" not in measured
        keys = found if full else _BY_MEAN_WEIGHTS
        short[way] = {key: _rounded(found[key]) for key in keys if key != "confusion"}
        if full and "confusion" in found:
            short[way]["confusion"] = found["confusion"][:_CONFUSIONS]
    return short


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value

"""Short records: of each part what its lines, the report and the documentation show of it.

A short record has the shape of the part's full record, with fewer entries: the same functions make
lines and figures of either. Gone are the beliefs, the way to predict that is not the sampled one,
widths of all agents but the first, confusion matrices of all but the first two, and digits beyond
the fourth. A folder of short records has a file for each row, with a line for each part
(:mod:`peerbayes.experiments.record_lines`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerbayes.experiments.experiment import Experiment, made_by
from peerbayes.experiments.net_documents import NetPart
from peerbayes.experiments.record_lines import ENDING, put_record, read_lines
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

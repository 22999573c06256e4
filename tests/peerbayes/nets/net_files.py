"""Net files and data for tests: five hospitals with tables of their own."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

HOSPITALS = ("hospital-1", "hospital-2", "hospital-10")
COLUMNS = ("age", "score", "ward", "stay")


def hospital(seed: int, rows: int = 20) -> list[list[Any]]:
    """A table with its head; the same seed gives the same."""
    rng = np.random.default_rng(seed)
    lines = [
        [
            int(rng.integers(20, 90)),
            float(rng.normal()),
            str(rng.choice(["A", "B"])),
            float(rng.random()),
        ]
        for _ in range(rows)
    ]
    return [list(COLUMNS), *lines]


def write_csv(path: Path, lines: list[list[Any]]) -> Path:
    """Write a table, by the csv module."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)
    return path


def net_document(**tables: Mapping[str, Any] | None) -> dict[str, Any]:
    """A net file's content, with entries of its tables replaced; None takes one out."""
    document: dict[str, Any] = {
        "name": "three hospitals",
        "network": {"topology": "ring", "agents": 3},
        "data": {"files": "hospital-*.csv", "target": "stay", "test": "test.csv"},
        "net": {"hidden": [8]},
        "likelihood": {"kind": "gaussian", "std": "learned"},
        "training": {"rounds": 2, "local_steps": 3},
    }
    for table, entries in tables.items():
        changed = {**document.get(table, {}), **(entries or {})}
        document[table] = {key: value for key, value in changed.items() if value is not None}
    return document


def write_net(folder: Path, **tables: Mapping[str, Any] | None) -> Path:
    """A net file with the tables of three hospitals and of the test beside it."""
    for seed, name in enumerate(HOSPITALS):
        write_csv(folder / f"{name}.csv", hospital(seed))
    write_csv(folder / "test.csv", hospital(99))
    path = folder / "net.toml"
    path.write_text(tomli_w.dumps(net_document(**tables)), encoding="utf-8")
    return path

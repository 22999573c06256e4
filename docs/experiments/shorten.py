"""Keep of an experiment's record what the documentation shows: its lines and its curves' means.

    python docs/experiments/shorten.py peerbayes-out/run-*.json

writes one small file an experiment beside this one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from peerbayes.records import read_record, write_whole

HERE = Path(__file__).parent


def shortened(path: Path) -> dict[str, Any]:
    """The lines of a record, and of each part its settings, times and mean accuracy over rounds."""
    record = read_record(path)
    body = record.body
    return {
        "experiment": body["experiment"],
        "title": body["title"],
        "source": body["source"],
        "seed": body["seed"],
        "record": record.sha256,
        "lines": body["lines"],
        "parts": {name: _part(part) for name, part in body["content"].items()},
    }


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if "curve" not in part:
        return {}
    curve = part["curve"]
    way = "sampled" if "sampled" in curve["last"] else "mean"
    points = [[point["round"], _mean(point["after"][way]["accuracy"])] for point in curve["points"]]
    return {
        "settings": part["settings"],
        "versions": part["versions"],
        "seconds": curve["seconds"],
        "bytes": curve["points"][-1]["bytes"],
        "local_steps": curve["points"][-1]["local_steps"],
        "sigma": None if curve["points"][-1]["sigma"] is None else curve["points"][-1]["sigma"][0],
        "accuracy": points,
    }


def _mean(values: list[float]) -> float:
    return round(100 * sum(values) / len(values), 2)


def main() -> None:
    """Shorten every record named on the command line."""
    for name in sys.argv[1:]:
        content = shortened(Path(name))
        target = HERE / f"{content['experiment']}.json"
        write_whole(target, json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")
        print(target)


if __name__ == "__main__":
    main()

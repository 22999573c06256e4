"""What is on record of an experiment."""

from __future__ import annotations

from pathlib import Path

from peerbayes.experiments.run import KIND, parts_folder
from peerbayes.records import file_name, read_record


def what_is_done(name: str, out: Path) -> str:
    """In words: parts in the record of `run`, or kept by a run that has not ended; or nothing."""
    record = out / file_name(KIND, name)
    folder = parts_folder(out, name)
    kept = len(list(folder.glob("*.json"))) if folder.is_dir() else 0
    unfinished = folder.is_dir() and any(folder.glob("*.unfinished.*"))
    ending = ", one unfinished" if unfinished else ""
    if not record.exists():
        return f"{_parts(kept)} kept{ending}" if kept or unfinished else ""
    try:
        body = read_record(record).body
        parts, seed = len(body["parts"]), int(body["seed"])
    except (ValueError, LookupError, TypeError):
        return "damaged record"
    return f"{_parts(parts)}, seed {seed}{ending}"


def _parts(number: int) -> str:
    return "1 part" if number == 1 else f"{number} parts"

"""Who looked at test data: a list that every training in a folder adds to before it looks.

A score on test data is an honest estimate the first time. The list is kept by the test examples'
own checksum, not by the training's name, so that it grows too where somebody tries other settings
until the test score is good, and where a killed run looks again after it is resumed.
"""

from __future__ import annotations

from pathlib import Path

from peerbayes.experiments.record_lines import Held, held
from peerbayes.nets.documents import TestLook
from peerbayes.records import read_record, unwritable, write_record
from theory.validation import fail

KIND = "test-looks"
# Seconds to wait for others, each of whom takes a few milliseconds.
_PATIENCE = 60.0


def looks_path(folder: Path, test_sha256: str) -> Path:
    """The file of the list."""
    return folder / f"test-looks-{test_sha256[:12]}.json"


def note_look(folder: Path, test_sha256: str, look: TestLook) -> tuple[TestLook, ...]:
    """Add a look to the list, on disk, and return all of it; one process at a time.

    Raises
    ------
    ValueError
        If the list is damaged, or cannot be written.
    """
    path = looks_path(folder, test_sha256)
    before: list[TestLook] = []
    try:
        with held(path.with_name(f".{path.stem}.held"), patience=_PATIENCE):
            if path.exists():
                found = read_record(path).body
                before = [TestLook.model_validate(entry) for entry in found["looks"]]
            looks = (*before, look)
            body = {"test_sha256": test_sha256, "looks": [entry.as_json() for entry in looks]}
            write_record(path, kind=KIND, body=body)
    except Held:
        wanted, got = "a list that others write to for a moment", f"one held for {_PATIENCE:g} s"
        raise fail(str(path), wanted, got, "end the process that holds it") from None
    except OSError as error:
        raise unwritable(path, "a file", error) from None
    return looks

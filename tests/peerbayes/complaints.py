"""What a command with bad input ends with: exit code 2, nothing printed, one line of complaint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peerbayes.cli import main


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error that a command with bad input ends with."""
    code = main(arguments)
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    assert captured.err.startswith("peerbayes: ")
    return captured.err.strip()


def complaint_of(capsys: pytest.CaptureFixture[str], folder: Path, document: Any) -> str:
    """What `analyse` says of a bad problem, after the name of its file."""
    path = folder / "bad.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    line = complaint(capsys, "analyse", str(path))
    assert line.startswith(f"peerbayes: {path}: ")
    return line.removeprefix(f"peerbayes: {path}: ")


def assert_says(line: str, words: str) -> None:
    """That a line has these words in this order; ``…`` between them stands for any others."""
    rest = line
    for part in words.split(" … "):
        _, said, rest = rest.partition(part)
        assert said, f"{part!r} of {words!r} is not in its place in: {line}"

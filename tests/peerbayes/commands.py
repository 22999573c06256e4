"""Commands called within the process of the tests: what they print, and of what they complain."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from peerbayes.cli import main

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def text_of(capsys: Capture, arguments: Sequence[str], *, code: int = 0) -> str:
    """What a command prints; what was printed before does not count."""
    capsys.readouterr()
    assert main(list(arguments)) == code
    return capsys.readouterr().out


def json_of(capsys: Capture, arguments: Sequence[str], *, code: int = 0) -> Any:
    """The JSON that a command prints."""
    return json.loads(text_of(capsys, arguments, code=code))


def complaint(capsys: Capture, *arguments: str) -> str:
    """The one line on standard error that a command with bad input ends with."""
    code = main(arguments)
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    assert captured.err.startswith("peerbayes: ")
    return captured.err.strip()


def complaint_of(capsys: Capture, folder: Path, document: Any) -> str:
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

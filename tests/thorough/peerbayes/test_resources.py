"""Worker processes leave the record that one process leaves."""

from pathlib import Path

import pytest

from tests.peerbayes.commands import Capture, Patch
from tests.peerbayes.test_resources import (
    KINDS,
    check_resumed,
    kill_in_the_middle,
    run,
    short_units,  # noqa: F401
)


@pytest.mark.parametrize("kind", KINDS)
def test_the_record_does_not_depend_on_processes(
    kind: str, tmp_path: Path, capsys: Capture
) -> None:
    command = ["simulate", KINDS[kind], "--rounds", "30", "--replicates", "3000", "--quiet"]
    for folder, options in (("a", []), ("b", ["--workers", "2"])):
        assert run(capsys, *command, *options, "--out", str(tmp_path / folder)) == (0, [])
    (first,) = (tmp_path / "a").iterdir()
    assert first.read_bytes() == (tmp_path / "b" / first.name).read_bytes()


def test_killed_and_resumed_leaves_the_same_record(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    check_resumed(kill_in_the_middle, tmp_path, capsys, monkeypatch)

"""Processes of torchrun share the parts of an experiment; the record is that of one process.

Here one runs after the other; real processes are in tests/thorough.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import peerbayes as pb
from peerbayes import cli
from peerbayes.experiments import find_experiment
from peerbayes.experiments.run import PartFailed, Team
from tests.peerbayes.commands import Capture, Patch


class Store:
    """What torchrun's processes tell each other, where one runs after the other."""

    def set(self, word: str, value: str) -> None:
        """Nobody listens."""

    def wait(self, words: Sequence[str], patience: timedelta) -> None:
        """Nobody is waited for: who is to wait comes last."""


def files(out: Path) -> dict[str, bytes]:
    return {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*.json")}


def run(out: Path, **options: Any) -> Any:
    short = replace(find_experiment("regression-2"), rounds=50, draws=5)  # type: ignore[type-var]
    return pb.run(short, replicates=3, out=out, **options)


def run_in_two(monkeypatch: Patch, out: Path, **options: Any) -> Any:
    """What the first of two processes returns, which waits for the other at the end."""

    def process(rank: int) -> Any:
        team = Team(2, rank, store=Store())
        monkeypatch.setattr("peerbayes.front.run.team_of_torchrun", lambda: nullcontext(team))
        return run(out, **options)

    with suppress(PartFailed):  # the parts of the other are not there yet
        process(1)
    return process(0)


def test_two_processes_leave_what_one_leaves(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("peerbayes.report.write_report", lambda records, path: path)
    run(tmp_path / "alone")
    alone, two = files(tmp_path / "alone"), tmp_path / "two"
    assert len(alone) > 2, "there is more than one part to share"
    first = run_in_two(monkeypatch, two)
    assert files(two) == alone
    assert first.run.reused == ()
    # Parts on record are taken where that is asked for, but for those that are gone or damaged.
    parts = sorted(two.glob("*.parts/*.json"))
    parts[1].unlink()
    parts[2].write_text("{}")
    written = {path: path.stat().st_mtime_ns for path in parts if path.exists()}
    run_in_two(monkeypatch, two, resume=True)
    assert files(two) == alone
    kept = [path for path, when in written.items() if path.stat().st_mtime_ns == when]
    assert kept == [parts[0], *parts[3:]]


def test_a_process_without_the_others_folder_says_so(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(Team, "own", lambda self, parts: tuple(parts[::2]))
    assert cli.main(["run", "regression-2", "--replicates", "2", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "as another process ran it, got nothing of it; give all processes one folder" in said

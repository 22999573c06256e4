"""Processes of torchrun share the parts of an experiment; the record is that of one process."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from subprocess import CompletedProcess

import pytest

pytest.importorskip("torch")

from tests.peerbayes.nets.support import TORCHRUN, run

RUN = ("-m", "peerbayes", "run", "regression-2", "--replicates", "30", "--json", "--out")


def files(out: Path) -> dict[str, bytes]:
    return {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*.json")}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What one process leaves."""
    out = tmp_path_factory.mktemp("alone")
    run(*RUN, out, check=True)
    return files(out)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CompletedProcess[str]]:
    """The folder of two processes, and what they printed."""
    out = tmp_path_factory.mktemp("pair")
    return out, run(*TORCHRUN, *RUN, out, check=True)


def test_two_processes_leave_what_one_leaves(
    alone: dict[str, bytes], pair: tuple[Path, CompletedProcess[str]]
) -> None:
    out, done = pair
    assert files(out) == alone
    assert len(alone) > 2, "there is more than one part to share"
    printed = json.loads(done.stdout)
    assert printed["reused"] == []
    assert Path(printed["report"]).is_file()


def test_parts_on_record_are_taken_if_asked_for(
    alone: dict[str, bytes], pair: tuple[Path, CompletedProcess[str]], tmp_path: Path
) -> None:
    copytree(pair[0], tmp_path, dirs_exist_ok=True)
    parts = sorted(tmp_path.glob("*.parts/*.json"))
    parts[1].unlink()
    parts[2].write_text("{}")
    written = {path: path.stat().st_mtime_ns for path in parts if path.exists()}
    run(*TORCHRUN, *RUN, tmp_path, "--resume", check=True)
    assert files(tmp_path) == alone
    kept = [path for path, when in written.items() if path.stat().st_mtime_ns == when]
    assert kept == [parts[0], *parts[3:]]
    run(*TORCHRUN, *RUN, tmp_path, check=True)
    assert all(path.stat().st_mtime_ns > when for path, when in written.items())


def test_bad_input_is_said_once(tmp_path: Path) -> None:
    done = run(
        *TORCHRUN, "-m", "peerbayes", "run", "regression-2", "--part", "x", "--out", tmp_path
    )
    assert done.returncode != 0
    assert done.stderr.count("--part: expected an experiment with neural nets") == 1

"""Trainings in several processes, killed or not, end with the bits of one; looks are all kept."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from peerbayes.front.train import train_file
from peerbayes.nets.run import looks_path
from peerbayes.records import read_record
from tests.peerbayes.nets import test_resuming as quick
from tests.peerbayes.nets.support import NUMBERS, ROOT, TORCHRUN, run, write_net
from tests.peerbayes.nets.test_resuming import CODED, KILLED, TRAIN, die_in_round, kept

whole = quick.whole


@pytest.mark.parametrize("document", [NUMBERS, {**NUMBERS, "messages": CODED}])
def test_two_processes_end_with_the_bits_of_one(document: dict[str, Any], tmp_path: Path) -> None:
    path = write_net(tmp_path, document, patience=4)
    train_file(path, out=tmp_path / "one")
    known = kept(tmp_path / "one")
    done = run(*TORCHRUN, *TRAIN, path, "--out", tmp_path / "two", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"name": "wells"') == 1  # the first process alone prints
    assert kept(tmp_path / "two") == known
    # One process dies in round 4 before it has kept that round; the other has, or not. torchrun
    # starts both again, and they go on.
    again = run(*TORCHRUN, "--max-restarts", "1", *KILLED, path, tmp_path / "again", 4, 1)
    assert again.returncode == 0, again.stderr
    assert "SIGKILL" in again.stderr or "-9" in again.stderr
    assert kept(tmp_path / "again") == known


def test_looks_of_parallel_processes_are_all_kept(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from peerbayes.nets.run import note_look; "
        "from peerbayes.nets.documents import TestLook\n"
        "for k in range(20): "
        "note_look(Path(sys.argv[1]), 'f' * 64, TestLook(run=sys.argv[2], round=k))"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(number)], cwd=ROOT)
        for number in range(4)
    ]
    assert [process.wait(timeout=300) for process in processes] == [0] * 4
    looks = read_record(looks_path(tmp_path, "f" * 64)).body["looks"]
    assert Counter(look["run"] for look in looks) == dict.fromkeys("0123", 20)
    assert [file.name for file in tmp_path.iterdir()] == ["test-looks-ffffffffffff.json"]


def test_a_killed_run_ends_with_the_same_bits(
    whole: tuple[Path, tuple[bytes, dict[str, Any]]], tmp_path: Path
) -> None:
    path, known = whole
    done = run(*KILLED, path, tmp_path, 3)
    assert done.returncode == -9, done.stderr
    assert not list(tmp_path.glob("train-*.json"))
    assert len(list(tmp_path.glob("*unfinished*"))) == 2
    outcome = train_file(path, out=tmp_path, resume=True)
    assert kept(tmp_path) == known
    assert len(outcome.looks) == 1  # nobody had looked at the test data


def test_a_killed_run_ends_with_the_same_bits_whatever_replicas_its_codec_has(
    tmp_path: Path,
) -> None:
    path = write_net(tmp_path, {**NUMBERS, "messages": CODED})
    train_file(path, out=tmp_path / "whole")
    known = kept(tmp_path / "whole")
    die_in_round(3, path, tmp_path / "killed")
    train_file(path, out=tmp_path / "killed", resume=True)
    assert kept(tmp_path / "killed") == known
    # Replicas of one codec are of no use to another: a run of other settings begins anew.
    die_in_round(3, path, tmp_path / "other")
    said: list[str] = []
    train_file(path, out=tmp_path / "other", resume=True, codec="sign", notice=said.append)
    assert any("not used, for it is of other settings" in line for line in said)

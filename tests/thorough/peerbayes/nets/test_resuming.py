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

from peerbayes.front.train_file import train_file
from peerbayes.nets.looks import looks_path
from peerbayes.records import read_record
from tests.peerbayes.nets.support import NUMBERS, ROOT, TORCHRUN, run, write_net
from tests.peerbayes.nets.test_resuming import CODED, KILLED, TRAIN, kept


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
        "import sys; from pathlib import Path; from peerbayes.nets.looks import note_look; "
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

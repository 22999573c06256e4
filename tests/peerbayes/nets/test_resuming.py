"""Killed trainings go on and end with the same bits; so do those of two processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from peerbayes.front.train_file import train_file
from peerbayes.records import read_record
from tests.peerbayes.nets.support import NUMBERS, TORCHRUN, run, write_net

KILLED = ("-m", "tests.peerbayes.nets.killed")
TRAIN = ("-m", "peerbayes", "train")


def kept(out: Path) -> tuple[bytes, dict[str, Any]]:
    """The beliefs' bytes, and the record without what a clock says."""
    (path,) = out.glob("train-*.json")
    body = read_record(path).body
    body["history"].pop("seconds")
    (beliefs,) = out.glob("*.trained/trained.safetensors")
    assert not list(out.glob("*unfinished*"))
    return beliefs.read_bytes(), body


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[bytes, dict[str, Any]]]:
    """A net file, and what it leaves if nobody stops it."""
    folder = tmp_path_factory.mktemp("whole")
    path = write_net(folder, patience=4)
    train_file(path, out=folder / "out")
    return path, kept(folder / "out")


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


CODED = {"codec": "difference", "settings": {"inner": {"codec": "low-rank"}, "mixing": 0.7}}


def test_a_killed_run_ends_with_the_same_bits_whatever_replicas_its_codec_has(
    tmp_path: Path,
) -> None:
    path = write_net(tmp_path, {**NUMBERS, "messages": CODED})
    train_file(path, out=tmp_path / "whole")
    known = kept(tmp_path / "whole")
    assert run(*KILLED, path, tmp_path / "killed", 3).returncode == -9
    train_file(path, out=tmp_path / "killed", resume=True)
    assert kept(tmp_path / "killed") == known
    done = run(*TORCHRUN, *TRAIN, path, "--out", tmp_path / "two", "--quiet")
    assert done.returncode == 0, done.stderr
    assert kept(tmp_path / "two") == known
    # Replicas of one codec are of no use to another: a run of other settings begins anew.
    assert run(*KILLED, path, tmp_path / "other", 3).returncode == -9
    said: list[str] = []
    train_file(path, out=tmp_path / "other", resume=True, codec="sign", notice=said.append)
    assert any("not used, for it is of other settings" in line for line in said)


def test_two_processes_end_with_the_bits_of_one(
    whole: tuple[Path, tuple[bytes, dict[str, Any]]], tmp_path: Path
) -> None:
    path, known = whole
    done = run(*TORCHRUN, *TRAIN, path, "--out", tmp_path / "two", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"name": "wells"') == 1  # the first process alone prints
    assert kept(tmp_path / "two") == known
    # One process dies in round 4 before it has kept that round; the other has, or not. torchrun
    # starts both again, and they go on.
    again = run(*TORCHRUN, "--max-restarts", "1", *KILLED, path, tmp_path, 4, 1)
    assert again.returncode == 0, again.stderr
    assert "SIGKILL" in again.stderr or "-9" in again.stderr
    assert kept(tmp_path) == known


def test_a_second_look_at_test_data_is_on_record(tmp_path: Path) -> None:
    path = write_net(tmp_path)
    first = train_file(path, out=tmp_path / "out")
    again = train_file(path, out=tmp_path / "out", seed=1)
    assert [len(outcome.looks) for outcome in (first, again)] == [1, 2]
    record = read_record(again.record_path or "").body
    looks = record["test_looks"]
    assert looks[0]["run"] == first.plan.fingerprint != looks[1]["run"] == record["fingerprint"]


def test_other_settings_start_afresh_and_changed_files_are_refused(tmp_path: Path) -> None:
    path = write_net(tmp_path)
    out = tmp_path / "out"
    assert run(*KILLED, path, out, 3).returncode == -9
    said: list[str] = []
    write_net(tmp_path, local_steps=4)
    outcome = train_file(path, out=out, resume=True, notice=said.append)
    assert any("not used, for it is of other settings" in line for line in said)
    assert outcome.trained.history.rounds[0] == 1
    write_net(tmp_path)
    assert run(*KILLED, path, out, 3).returncode == -9
    table = tmp_path / "well-1.csv"
    table.write_text(table.read_text() + "1,2,3\n")
    with pytest.raises(ValueError, match=r"well-1\.csv: expected the data that the run began with"):
        train_file(path, out=out, resume=True)

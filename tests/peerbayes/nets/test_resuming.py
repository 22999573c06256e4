"""Killed trainings go on and end with the same bits; tests/thorough has those of two processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from empirical.keeping import load_tensors
from empirical.train.follow import Checkpoints
from peerbayes.front.train import train_file
from peerbayes.records import read_record
from tests.peerbayes.nets.support import NUMBERS, write_net

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


class Dead(BaseException):
    """In place of SIGKILL, which a test of tests/thorough sends."""


def die_in_round(last: int, net: Path, out: Path) -> None:
    """Train in this process, every round kept, until a round is kept, and no more."""
    save = Checkpoints.save

    def save_and_die(self: Checkpoints, done: int, *state: Any) -> None:
        save(self, done, *state)
        if done >= last:
            raise Dead

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("exact.checkpoint.EVERY_SECONDS", 0.0)
        patch.setattr("exact.checkpoint.SHARE", 0)
        patch.setattr(Checkpoints, "save", save_and_die)
        with pytest.raises(Dead):
            train_file(net, out=out, resume=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[bytes, dict[str, Any]]]:
    """A net file, and what it leaves if nobody stops it."""
    folder = tmp_path_factory.mktemp("whole")
    path = write_net(folder, patience=4)
    train_file(path, out=folder / "out")
    return path, kept(folder / "out")


CODED = {"codec": "difference", "settings": {"inner": {"codec": "low-rank"}, "mixing": 0.7}}


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
    die_in_round(3, path, out)
    said: list[str] = []
    write_net(tmp_path, local_steps=4)
    outcome = train_file(path, out=out, resume=True, notice=said.append)
    assert any("not used, for it is of other settings" in line for line in said)
    assert outcome.trained.history.rounds[0] == 1
    write_net(tmp_path)
    out = tmp_path / "again"
    die_in_round(3, path, out)
    table = tmp_path / "well-1.csv"
    table.write_text(table.read_text() + "1,2,3\n")
    with pytest.raises(ValueError, match=r"well-1\.csv: expected the data that the run began with"):
        train_file(path, out=out, resume=True)


OWN = {**NUMBERS, "net": {"module": "parts/own.py:build"}}
PARTS = {
    "own.py": "import torch\nfrom blocks import core\nimport plain\n\ndef build():\n"
    "    import late\n    layers = core(), torch.nn.Tanh(), torch.nn.Linear(5, 1)\n"
    "    return torch.nn.Sequential(*layers)\n",
    "blocks/__init__.py": "from .inner import core\n",
    "blocks/inner.py": "import torch\n\ndef core():\n    return torch.nn.Linear(2, 5)\n",
    "plain.py": "from importlib import import_module\nimport_module('named')\n",
    "named.py": "SIZE = 1\n",
    "late.py": "SIZE = 2\n",
    "other.py": "SIZE = 3\n",
}


def test_a_run_goes_on_with_the_code_that_it_began_with(tmp_path: Path) -> None:
    path, out = write_net(tmp_path, OWN), tmp_path / "out"
    for name, text in PARTS.items():
        (tmp_path / "parts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "parts" / name).write_text(text)
    die_in_round(3, path, out)
    for name in PARTS:
        part = tmp_path / "parts" / name
        kept = part.read_text()
        part.write_text(f"{kept}# changed\n")
        if name == "other.py":  # which nobody imports
            continue
        with pytest.raises(ValueError, match=rf"{name}: expected the data that the run began"):
            train_file(path, out=out, resume=True)
        part.write_text(kept)
    outcome = train_file(path, out=out, resume=True)
    sources = read_record(outcome.record_path or "").body["data"]["sources"]
    assert {f"parts/{name}" for name in PARTS} - set(sources) == {"parts/other.py"}
    assert not list(tmp_path.rglob("*.pyc"))


def test_modules_of_one_name_in_two_folders_are_two(tmp_path: Path) -> None:
    text = "import torch, size\ndef build():\n"
    text += "    layers = torch.nn.Linear(2, size.N), torch.nn.Tanh()\n"
    text += "    return torch.nn.Sequential(*layers, torch.nn.Linear(size.N, 1))\n"
    for units in (3, 4):
        folder = tmp_path / str(units)
        folder.mkdir()
        path = write_net(folder, {**NUMBERS, "net": {"module": "own.py:build"}}, rounds=1)
        (folder / "own.py").write_text(text)
        (folder / "size.py").write_text(f"N = {units}\n")
        assert train_file(path).plan.net.parameters == 4 * units + 1 + 1


@pytest.mark.parametrize(
    ("word", "further"), [(rb'"done\":', 0), (rb'"sources\":', 30), (b'"sha256":"', 5)]
)
def test_a_flipped_bit_in_the_older_state_is_said_and_the_newer_one_taken(
    word: bytes, further: int, whole: tuple[Path, tuple[bytes, dict[str, Any]]], tmp_path: Path
) -> None:
    path, known = whole
    die_in_round(3, path, tmp_path)
    rounds = {slot: load_tensors(slot).words["done"] for slot in tmp_path.glob("*unfinished*")}
    older, newer = sorted(rounds, key=lambda slot: rounds[slot])
    content = bytearray(older.read_bytes())
    content[content.index(word) + len(word) + further] ^= 1
    older.write_bytes(content)
    said: list[str] = []
    train_file(path, out=tmp_path, resume=True, notice=said.append)
    assert kept(tmp_path) == known
    assert [line for line in said if str(older) in line and "damaged" in line]
    assert f"{newer}: used instead, of round {rounds[newer]}" in said, said

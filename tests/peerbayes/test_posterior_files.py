"""The beliefs that parts keep: what is damaged, exchanged or gone is seen by `run` and `report`.

Nets have eight units and see 8 x 8 digits.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest

pytest.importorskip("torch")

from peerbayes import cli
from peerbayes.records import read_record
from tests.peerbayes.commands import Capture, Patch
from tests.peerbayes.test_report import Page
from tests.peerbayes.tiny_nets import make_tiny

NAME = "fmnist-2-iid"
RUN = ("run", NAME, "--recipe", "paper", "--replicates", "2")
Damage = Callable[[Path, Path], object]


def flip(path: Path, other: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-5] ^= 2
    path.write_bytes(content)


def take(path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())


DAMAGE: dict[str, tuple[Damage, str]] = {
    "a bit flipped": (flip, "expected content that fits its checksum"),
    "emptied": (lambda path, other: path.write_bytes(b""), "got a damaged or truncated file"),
    "truncated": (
        lambda path, other: path.write_bytes(path.read_bytes()[:-1]),
        "got a damaged or truncated file",
    ),
    "another part's": (take, "expected the beliefs of 'fmnist-2-iid: paper seed 0'"),
    "deleted": (lambda path, other: path.unlink(), "got no such file"),
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run leaves; not to be changed."""
    out = tmp_path_factory.mktemp("ran")
    before = os.umask(0o027)
    try:
        with pytest.MonkeyPatch.context() as patch:
            make_tiny(patch.setattr)
            assert cli.main([*RUN, "--out", str(out), "--quiet", "--json"]) == 0
    finally:
        os.umask(before)
    return out


@pytest.fixture
def parts(ran: Path, tmp_path: Path, monkeypatch: Patch) -> Path:
    """The folder of the parts of a run, a copy."""
    make_tiny(monkeypatch.setattr)
    copytree(ran, tmp_path, dirs_exist_ok=True)
    return tmp_path / f"{NAME}.parts"


@pytest.mark.parametrize("damage", [name for name in DAMAGE if name != "emptied"])
def test_what_is_damaged_is_said(damage: str, parts: Path, capsys: Capture) -> None:
    path, other = (parts / f"paper-seed-{seed}.safetensors" for seed in (0, 1))
    record = parts.parent / f"run-{NAME}.json"
    act, words = DAMAGE[damage]
    act(path, other)
    capsys.readouterr()

    report = ["report", str(record), "--out", str(parts.parent / "page")]
    assert cli.main([*report, "--json"]) == 1
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith(f"{path}: ")
    assert words in line
    assert json.loads(said.out)["damaged"] == [line]
    page = Page((parts.parent / "page" / "report.html").read_text(encoding="utf-8"))
    assert line in page.text
    # A part's own record says it too.
    assert cli.main(["report", str(path.with_suffix(".json")), "--out", str(parts.parent)]) == 1
    assert words.replace("fmnist-2-iid: ", "") in capsys.readouterr().err.replace(f"{NAME}: ", "")


def test_what_is_damaged_is_run_again(parts: Path, capsys: Capture) -> None:
    check_repair("another part's", parts, capsys)


def check_repair(damage: str, parts: Path, capsys: Capture) -> None:
    """That a run that is resumed says what is damaged, and runs that part alone again."""
    path, other = (parts / f"paper-seed-{seed}.safetensors" for seed in (0, 1))
    record, whole = parts.parent / f"run-{NAME}.json", path.read_bytes()
    act, words = DAMAGE[damage]
    act(path, other)
    capsys.readouterr()
    assert cli.main([*RUN, "--resume", "--json", "--out", str(parts.parent)]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["reused"] == ["paper seed 1"]
    notices = [line for line in said.err.splitlines() if "was run again" in line]
    assert len(notices) == 1
    assert words in notices[0]
    # The same run leaves the same bytes, and nothing is damaged any more.
    assert path.read_bytes() == whole
    report = ["report", str(record), "--out", str(parts.parent / "page"), "--json"]
    assert cli.main(report) == 0
    assert "damaged" not in json.loads(capsys.readouterr().out)


def test_beliefs_of_another_run_are_not_those_on_record(parts: Path, capsys: Capture) -> None:
    elsewhere = parts.parent / "elsewhere"
    assert cli.main([*RUN, "--out", str(elsewhere), "--quiet", "--seed", "1"]) == 0
    name = "paper-seed-0.safetensors"
    (parts / name).write_bytes((elsewhere / parts.name / name).read_bytes())
    capsys.readouterr()
    assert cli.main(["report", "--out", str(parts.parent)]) == 1
    assert "expected the beliefs that are on record" in capsys.readouterr().err


def test_a_record_without_its_parts_is_whole(parts: Path, capsys: Capture) -> None:
    record = parts.parent / f"run-{NAME}.json"
    away = parts.parent / "away" / record.name
    away.parent.mkdir()
    away.write_bytes(record.read_bytes())
    assert cli.main(["report", str(away), "--out", str(away.parent)]) == 0
    assert capsys.readouterr().err == ""


def test_a_part_that_is_not_asked_for_is_left_out_if_it_is_damaged(
    parts: Path, capsys: Capture
) -> None:
    (parts / "paper-seed-0.safetensors").write_bytes(b"")
    capsys.readouterr()
    assert cli.main([*RUN, "--part", "seed 1", "--resume", "--out", str(parts.parent)]) == 0
    notice = capsys.readouterr().err.splitlines()[0]
    assert "left out of the record" in notice
    assert "damaged" in notice
    assert read_record(parts.parent / f"run-{NAME}.json").body["parts"] == ["paper seed 1"]


def test_everything_has_the_same_permissions(ran: Path) -> None:
    modes = {p.suffix: p.stat().st_mode & 0o777 for p in ran.rglob("*") if p.is_file()}
    assert modes == {".json": 0o640, ".html": 0o640, ".safetensors": 0o640}


def test_what_a_killed_run_left_goes_when_the_part_begins(parts: Path, monkeypatch: Patch) -> None:
    stem = ".paper-seed-0"
    for name in (f"{stem}.safetensors", f"{stem}.unfinished.1.safetensors", f"{stem}.json"):
        (parts / f"{name}.0123abcd").write_bytes(b"half")

    def stopped(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("empirical.train.curve.curve_of", stopped)
    assert cli.main([*RUN, "--out", str(parts.parent), "--quiet"]) == 130
    assert not list(parts.glob("*.0123abcd"))

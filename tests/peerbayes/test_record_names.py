"""Names of records: those of built-ins stay, and no two things share one."""

from __future__ import annotations

import os
import re
import unicodedata
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from peerbayes import cli
from peerbayes.experiments import EXPERIMENTS
from peerbayes.problem.builtins.families import BUILTINS
from peerbayes.record_names import file_name
from tests.peerbayes.commands import Capture, Patch

COINS = """
name = {name}
[network]
weights = [[0.9, 0.1], [0.6, 0.4]]
[model]
hypotheses = ["fair", "loaded"]
[[model.agents]]
count = 2
truth = "fair"
likelihood = [[[0.5, 0.5]], [[0.75, 0.25]]]
"""


def plainest(*parts: str) -> str:
    """The names that records have always had: what is no ASCII letter or digit is a hyphen."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", " ".join(parts)).strip("-.") + ".json"


def test_the_list_of_own_names_is_whole() -> None:
    own = [name for family in BUILTINS.values() for name in family.variants]
    own += [f"{name} quick" for name in EXPERIMENTS]
    own += [part for experiment in EXPERIMENTS.values() for part in experiment.parts]
    listed = resources.files("peerbayes").joinpath("record_names.txt").read_text(encoding="utf-8")
    # To renew it: write these names, a line each.
    assert listed.splitlines() == list(dict.fromkeys(name for name in own if set(name) & set(" =")))


def test_names_of_the_program_are_kept() -> None:
    own = [name for family in BUILTINS.values() for name in family.variants]
    own += [*EXPERIMENTS, *(f"{name} quick" for name in EXPERIMENTS)]
    assert len({file_name(name) for name in own}) == len(own) > 100
    for name in own:
        assert file_name("simulate", name, "n20", "s1") == plainest("simulate", name, "n20", "s1")
    for experiment in EXPERIMENTS.values():
        assert len({file_name(part) for part in experiment.parts}) == len(experiment.parts)
        for part in experiment.parts:
            assert file_name(part) == plainest(part)
    # More seeds than an experiment has by itself.
    assert file_name("paper a=0.5 seed 12") == "paper-a-0.5-seed-12.json"
    assert file_name("certificate", "p2-star a=0.5", "0123456789ab") == (
        "certificate-p2-star-a-0.5-0123456789ab.json"
    )


SAME = [
    ("a=1", "a 1", "a-1", "a  1", "a/1", "a-1 ", "-a-1"),
    ("硬币", "骰子", "?", "", "..", "\u202e", "\x1b"),
    ("硬币 一", "硬币 二", "硬币一"),
    ("p2-star a=0.5", "p2-star-a-0.5", "p2 star a=0.5", "p2-star a 0.5"),
    ("paper a=0.5 seed 12", "paper-a-0.5-seed-12"),
    ("x" * 300, "x" * 301, "x" * 299 + "y"),
    ("é", "e\u0301", "e"),
    ("my coins", file_name("my coins").removesuffix(".json")),
]


@pytest.mark.parametrize("names", SAME, ids=range(len(SAME)))
def test_what_used_to_share_a_name_does_no_more(names: tuple[str, ...]) -> None:
    for make in (file_name, lambda name: file_name("simulate", name, "n5", "r2", "s0")):
        assert len({make(name) for name in names}) == len(names)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=8), unique=True, min_size=2, max_size=6))
@example(["-", " ", "."])
def test_no_two_names_share_a_file(names: list[str]) -> None:
    # Checksums of 32 bits: two of so few names agree by chance with a probability below 1e-8.
    assert len({file_name("design", name, "rate") for name in names}) == len(names)


@given(st.lists(st.text(), min_size=1, max_size=3))
@example(["x" * 1000])
@example(["硬" * 300])
@example(["a\x00b", "..", "/etc"])
def test_file_names_are_harmless(parts: list[str]) -> None:
    name = file_name(*parts)
    assert name.endswith(".json")
    assert len(os.fsencode(name)) <= 205
    assert Path(name).name == name
    assert not name.startswith(".")
    # Letters of any script stay, so that a name can be read; nothing that acts does.
    assert {unicodedata.category(c)[0] for c in name} <= set("LMNP")
    assert set(name) & set("/\\:*?\"'<>|$`;&()[]{} ") == set()


def test_names_in_other_scripts_can_be_read() -> None:
    assert file_name("simulate", "硬币", "n5") == "simulate-硬币-n5.json"


def test_two_problems_in_chinese_leave_two_records(tmp_path: Path, capsys: Capture) -> None:
    names = ["硬币", "骰子", "a=1", "a 1"]
    for index, name in enumerate(names):
        path = tmp_path / f"{index}.toml"
        path.write_text(COINS.format(name=f'"{name}"'), encoding="utf-8")
        out = ["--out", str(tmp_path / "out"), "--quiet"]
        assert cli.main(["simulate", str(path), "--rounds", "5", "--replicates", "2", *out]) == 0
    assert len(list((tmp_path / "out").iterdir())) == len(names)


def test_a_record_of_other_problems_is_not_written_over(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    from peerbayes.records import read_record

    for draws in ("_MOST_RATE_DRAWS", "_MOST_FAILURE_DRAWS"):
        monkeypatch.setattr(f"peerbayes.kinds.finite.verify.{draws}", 1e5)
    monkeypatch.setattr("peerbayes.report.write_report", lambda records, path: path)

    def verify(name: str) -> list[str]:
        path = tmp_path / "my.toml"
        path.write_text(COINS.format(name=f'"{name}"'), encoding="utf-8")
        assert cli.main(["verify", str(path), "--out", str(out), "--json"]) == 0
        return [line for line in capsys.readouterr().err.splitlines() if "verify.json" in line]

    def held() -> dict[str, str]:
        return {
            path.name: read_record(path).body["problems"][0]["name"]
            for path in sorted(out.glob("*.json"))
        }

    out = tmp_path / "out"
    assert verify("first") == []
    assert verify("first") == []
    assert held() == {"verify.json": "first"}
    (line,) = verify("second")
    aside = out / "verify-1.json"
    assert line == (
        f"{out / 'verify.json'}: was of other problems, and is {aside} now "
        f"('peerbayes report {aside}' makes its page)"
    )
    assert held() == {"verify.json": "second", "verify-1.json": "first"}
    verify("first")
    assert held() == {"verify.json": "first", "verify-1.json": "first", "verify-2.json": "second"}
    # What is no record of ours is not lost either.
    (out / "verify.json").write_text("notes")
    verify("first")
    assert (out / "verify-3.json").read_text() == "notes"

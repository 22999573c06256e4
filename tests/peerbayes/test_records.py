"""Records: whole or absent, true to the last digit, and suspicious of everything else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import peerbayes as pb
from empirical.keeping import read_words
from exact.checkpoint import Checkpoint
from exact.whole_files import MOST_BYTES
from peerbayes import cli
from peerbayes.experiments import find_experiment
from peerbayes.experiments.registry import RegressionExperiment
from peerbayes.front.claims import verify_claims
from peerbayes.front.run import redraw
from peerbayes.problem.reading import problem_from_document
from peerbayes.problem.writing import document_of
from peerbayes.records import (
    RecordPlace,
    check_folder,
    find_records,
    plain,
    read_record,
    write_record,
)
from peerbayes.schemas import read_schema
from peerbayes.settings.declared import made_flat
from peerbayes.settings.questions import Design, Placement, Simulate, VerifyClaims
from tests.peerbayes.commands import Capture, Patch
from theory.claims import CLAIMS

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(body=JSON_VALUES)
def test_round_trip(body: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("records") / "deep" / "record.json"
    write_record(path, kind="test", body=body)
    record = read_record(path)
    assert record.body == body
    assert (record.kind, record.version, record.path) == ("test", 1, path)
    content = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator(read_schema("record")).validate(content)
    assert content["sha256"] == record.sha256


def test_floats_keep_every_digit(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=100) * 10.0 ** np.arange(-50, 50)
    path = write_record(tmp_path / "r.json", kind="test", body={"values": values})
    np.testing.assert_array_equal(read_record(path).body["values"], values)


def test_what_json_lacks() -> None:
    value = {
        "nan": float("nan"),
        "inf": [np.inf, -np.inf],
        "array": np.array([[1.0, np.nan]]),
        "numpy": (np.int64(3), np.float64(0.5), np.bool_(True)),
        "share": Fraction(2, 6),
        "path": Path("a") / "b",
    }
    assert plain(value) == {
        "nan": None,
        "inf": [None, None],
        "array": [[1.0, None]],
        "numpy": [3, 0.5, True],
        "share": "1/3",
        "path": str(Path("a/b")),
    }
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == plain(value)
    with pytest.raises(TypeError, match="cannot hold complex"):
        plain({"z": 1j})
    with pytest.raises(TypeError, match="keys are strings"):
        plain({1: 2})


def test_same_content_same_bytes(tmp_path: Path) -> None:
    first = write_record(tmp_path / "a.json", kind="k", body={"x": 1, "y": [2.5]})
    second = write_record(tmp_path / "b.json", kind="k", body={"x": 1, "y": [2.5]})
    assert first.read_bytes() == second.read_bytes()


def spoilt(path: Path, **changes: Any) -> Path:
    content = json.loads(path.read_text(encoding="utf-8"))
    content.update(changes)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return write_record(tmp_path / "record.json", kind="verify", body={"rate": 0.5, "n": [1, 2]})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"body": {"rate": 0.6, "n": [1, 2]}}, "changed or damaged"),
        ({"kind": "simulate"}, "changed or damaged"),
        ({"version": 0}, "version 1, got 0"),
        ({"version": -5}, "version 1, got -5"),
        ({"version": True}, "version 1, got True"),
        ({"kind": 3}, "a kind that is text, got 3"),
        ({"kind": ""}, "a kind that is text, got ''"),
        ({"sha256": "0" * 64}, "changed or damaged"),
        ({"sha256": None}, "changed or damaged"),
        ({"extra": 1}, "changed or damaged"),
        ({"version": 2}, "version 1 or older, got 2; upgrade peerbayes"),
        ({"version": "1"}, "version 1, got '1'"),
        ({"format": "somebody-elses"}, "another JSON file"),
    ],
)
def test_changes_are_noticed(record: Path, changes: dict[str, Any], words: str) -> None:
    assert read_record(record).body["rate"] == 0.5
    with pytest.raises(ValueError, match=words) as caught:
        read_record(spoilt(record, **changes))
    message = str(caught.value)
    assert message.startswith(str(record))
    assert "\n" not in message


def test_reformatting_is_harmless(record: Path) -> None:
    content = json.loads(record.read_text(encoding="utf-8"))
    record.write_text(json.dumps(content, indent=7, sort_keys=True), encoding="utf-8")
    assert read_record(record).body == content["body"]


def test_truncation_is_noticed(record: Path) -> None:
    content = record.read_bytes()
    for length in range(len(content) - 2):
        record.write_bytes(content[:length])
        with pytest.raises(ValueError, match="damaged or truncated"):
            read_record(record)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "damaged"),
        (b"\xff\xfe", "damaged"),
        (b"[" * 100_000, "damaged"),
        (b"[]", "another JSON file"),
        (b'{"format": "peerbayes-record"}', "version 1, got None"),
        (b'{"format": "peerbayes-record", "version": 1}', "the key 'kind'"),
    ],
)
def test_foreign_files(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read_record(path)


def test_absent_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such file; correct the path"):
        read_record(tmp_path / "absent.json")
    with pytest.raises(ValueError, match="a directory"):
        read_record(tmp_path)


def test_an_interrupted_write_leaves_the_old_record(record: Path, monkeypatch: Patch) -> None:
    before = record.read_bytes()

    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_record(record, kind="verify", body={"rate": 0.7})
    assert record.read_bytes() == before
    assert os.listdir(record.parent) == ["record.json"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ValueError, match="choose another folder with --out"):
        write_record(blocked / "r.json", kind="k", body=1)


def test_a_folder_is_tried_without_a_trace(tmp_path: Path) -> None:
    check_folder(tmp_path / "one" / "two")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "kept").mkdir()
    check_folder(tmp_path / "kept" / "new")
    check_folder(tmp_path / "kept")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert list((tmp_path / "kept").iterdir()) == []


def unusable_folders(folder: Path) -> list[Path]:
    file = folder / "file"
    file.write_text("")
    return [
        file,
        file / "inside",
        Path("/dev/null/x"),
        folder / ("x" * 300),
        folder / "a" / ("x" * 300),
        folder / "a\0b",
    ]


def test_unusable_folders_are_refused(tmp_path: Path) -> None:
    for folder in unusable_folders(tmp_path):
        with pytest.raises(ValueError, match="choose another folder with --out") as caught:
            check_folder(folder)
        assert "expected a folder that can be written" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_finding_records(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="run 'peerbayes verify' first"):
        find_records(tmp_path / "absent", kind="verify")
    write_record(tmp_path / "b.json", kind="verify", body=1)
    write_record(tmp_path / "a.json", kind="verify", body=2)
    write_record(tmp_path / "c.json", kind="simulate", body=3)
    (tmp_path / "foreign.json").write_text("{}")
    assert [path.name for path in find_records(tmp_path, kind="verify")] == ["a.json", "b.json"]
    with pytest.raises(ValueError, match="run 'peerbayes report' first"):
        find_records(tmp_path, kind="report")


def one_claim(seed: int = 0, **where: Any) -> None:
    claim = next(iter(CLAIMS.values()))
    verify_claims(VerifyClaims(seed=seed, effort=0.01, **where), [claim])


def edited_coins() -> Any:
    """Another problem of the built-in's name."""
    document = document_of(pb.load("two-coins"))
    return problem_from_document({**document, "network": {"weights": [["1/2", "1/2"]] * 2}})


def short_regression() -> RegressionExperiment:
    """An experiment of a fraction of a second."""
    whole = find_experiment("regression-2")
    assert isinstance(whole, RegressionExperiment)
    return replace(whole, rounds=50, draws=5)


def of_coins(run: Callable[..., Any], kind: Any, **settings: Any) -> Callable[..., Any]:
    return lambda problem="two-coins", **more: run(problem, made_flat(kind, {**settings, **more}))


# What leaves a record, and what it is called with to be of something else.
COMMANDS: dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]] = {
    "simulate": (
        of_coins(pb.simulate, Simulate, rounds=5, replicates=3),
        [{"problem": edited_coins}],
    ),
    "design": (
        of_coins(pb.design, Design, replicates=0),
        [
            {"problem": edited_coins},
            {"delta": 0.1},
            {"seed": 1},
            {"changes": {"minimum_self_weight": 0.2}},
        ],
    ),
    "place": (
        of_coins(pb.place, Placement, replicates=0),
        [{"problem": edited_coins}, {"seed": 1}],
    ),
    "claims": (one_claim, [{"seed": 1}]),
    "run": (
        lambda **more: pb.run(short_regression(), **{"replicates": 2, **more}),
        [{"seed": 1}, {"replicates": 3}],
    ),
    "figures": (
        lambda names=("slides-4a", "slides-4b"), **more: redraw(names, records=Path("no"), **more),
        [{"names": ["slides-4a"]}],
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_record_of_something_else_is_replaced_by_force_alone(
    name: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("peerbayes.report.write_report", lambda records, path: path)
    monkeypatch.setattr("theory.bounds.samples._MOST_AGENTS", 0)  # no certified rounds
    run, others = COMMANDS[name]

    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    run(out=tmp_path)
    run(out=tmp_path)  # the same again
    before = files()
    for other in others:
        new = {key: value() if callable(value) else value for key, value in other.items()}
        with pytest.raises(ValueError, match=r"\.json: expected no record, .*--force") as refused:
            run(out=tmp_path, **new)
        assert "\n" not in str(refused.value)
        assert files() == before
    run(out=tmp_path, force=True, **new)
    assert files() != before
    (path,) = (path for path in before if path.parent == tmp_path and path.suffix == ".json")
    for damage in (b"{}", path.read_bytes()[:-9]):
        path.write_bytes(damage)
        with pytest.raises(ValueError, match="a file that is no whole record"):
            run(out=tmp_path)
        assert path.read_bytes() == damage


def test_the_command_line_says_so_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    coins = str(pb.save(edited_coins(), tmp_path / "coins.toml"))
    rest = ["--rounds", "5", "--replicates", "3", "--quiet", "--out", str(tmp_path / "out")]
    assert cli.main(["simulate", "two-coins", *rest]) == 0
    capsys.readouterr()
    assert cli.main(["simulate", coins, *rest]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "got one of another problem; choose another folder with --out" in said.err
    assert cli.main(["simulate", coins, *rest, "--force"]) == 0


def test_an_earlier_verification_gets_another_name_or_goes_by_force(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    for draws in ("_MOST_RATE_DRAWS", "_MOST_FAILURE_DRAWS"):
        monkeypatch.setattr(f"peerbayes.kinds.finite.verify.{draws}", 1e5)
    monkeypatch.setattr("peerbayes.report.write_report", lambda records, path: path)
    said: list[str] = []
    for seed in (0, 0, 1):
        pb.verify("two-coins", seed=seed, out=tmp_path, notice=said.append)
    assert len(said) == 1
    assert "was of another seed or delta" in said[0]
    pb.verify("two-coins", seed=2, out=tmp_path, force=True)
    seeds = {path.name: read_record(path).body["seed"] for path in tmp_path.glob("*.json")}
    assert seeds == {"verify-1.json": 0, "verify.json": 2}


def test_a_record_may_grow_and_stands_beside_one_written_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "r.json"

    def place(*parts: str, seed: int = 0) -> RecordPlace:
        return RecordPlace(path, "run", {"seed": seed, "parts": parts})

    place("a").write(1)
    place("a", "b").write(2)
    assert place("a").taken() == "one with b besides"
    late = place("a", "b", seed=1)
    assert late.taken() == "one of seed 0 (not 1)"
    assert late.write(3) == tmp_path / "r-1.json"
    assert [read_record(path.with_name(name)).body for name in ("r.json", "r-1.json")] == [2, 3]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_devices_and_giants_are_refused_at_once(tmp_path: Path) -> None:
    pipe, device, giant = (tmp_path / f"{name}.json" for name in ("pipe", "device", "giant"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    with giant.open("wb") as file:
        file.truncate(2 * MOST_BYTES)
    for path, words in ((pipe, "a pipe or a device"), (device, "a pipe"), (giant, "more than")):
        with pytest.raises(ValueError, match=words):
            read_record(path)
        assert RecordPlace(path, "run", {}).taken() == "a file that is no whole record"
        checkpoint = Checkpoint(path, "mark", resume=True)
        assert checkpoint.done() is None
        with pytest.raises(ValueError, match=str(path)):
            checkpoint.load({})
        with pytest.raises((OSError, ValueError), match=str(path)):
            read_words(path)
    with pytest.raises(ValueError, match="records of 'peerbayes verify'"):
        find_records(tmp_path, kind="verify")


def test_runs_that_begin_together_do_not_take_each_others_folder_away(tmp_path: Path) -> None:
    def begin(number: int) -> None:
        check_folder(tmp_path / str(number // 4) / "deep" / "out")

    with ThreadPoolExecutor(4) as runs:
        list(runs.map(begin, range(800)))
    assert not any(path.is_file() for path in tmp_path.rglob("*"))

"""`peerbayes campaign`: its plan, its records, and what is refused; nets are tiny.

Kills and company of real processes are in tests/thorough.
"""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path
from shutil import disk_usage
from typing import Any

import pytest
from jsonschema import Draft202012Validator

pytest.importorskip("torch")

from peerbayes import __version__, cli
from peerbayes.experiments import campaign, find_experiment
from peerbayes.experiments.campaign import Campaign, run_campaign
from peerbayes.experiments.campaign_plan import planned, selected
from peerbayes.experiments.net_lines import net_lines
from peerbayes.experiments.net_rows import BATCHES, BATCHWISE, ROWS, parts_aside, parts_of
from peerbayes.experiments.net_run import net_recipe
from peerbayes.experiments.setting import Held, all_marks, behaviour_mark, held, is_held
from peerbayes.experiments.short_records import put_record, read_lines, read_row
from peerbayes.records import read_record, write_record
from peerbayes.schemas import read_schema
from tests.peerbayes.commands import Capture, Patch, complaint, json_of
from tests.peerbayes.tiny_nets import make_tiny

ROOT = Path(__file__).parents[2]
IID = "fmnist-2-iid: paper seed"
MARK = behaviour_mark("paper: cooperating, 2 nodes")


# The plan ---------------------------------------------------------------------------------------


def test_the_plan_has_the_papers_own_settings_whole() -> None:
    tasks = planned()
    names = [task.name for task in tasks]
    assert len(names) == len(set(names))
    # Every row's main network by the papers' settings comes before everything else.
    first = tasks[: len(ROWS)]
    assert {task.row for task in first} == set(ROWS)
    for task in first:
        part = task.part
        assert (part.recipe, part.seed, part.variant) == ("paper", 0, ROWS[task.row].main)
    for name in (
        "star-mnist-1: paper a=0.5 seed 2", "fmnist-2-balanced-a: paper seed 1",
        "star-mnist-1: paper a=0.1 seed 0", "star-fmnist-1: paper a=0.1 seed 0",
        "star-fmnist-2: paper a=0.5 seed 0", "grid-mnist: paper corner seed 0",
        "fedavg-shards: paper E=5 seed 0",
    ):  # fmt: skip
        assert name in names
    for name in ("fmnist-2-iid: paper alone seed 2", "star-mnist-1: paper fedavg seed 0"):
        assert names.index(name) > len(ROWS)  # what is printed beside the network
    for row in BATCHWISE:
        for role in BATCHES:
            ours = [name for name in names if name.startswith(f"{row}: paper {role}")]
            assert ours == [f"{row}: paper {role} seed {seed}" for seed in range(3)]
    whole = {"star-mnist-1": 800, "grid-mnist": 1200, "timevarying-100": 1000}
    for row, rounds in whole.items():
        settings = find_experiment(row).part_settings(
            next(task.part.name for task in tasks if task.row == row)
        )
        assert settings["values"]["rounds_run"] == settings["values"]["rounds"] == rounds


def test_costs_count_the_steps_that_are_taken() -> None:
    cost = {task.name: task.steps for task in planned()}
    looking = 20_000
    # Agents that train in a round, their steps, rounds.
    assert cost["star-mnist-1: paper a=0.5 seed 0"] == 9 * 155 * 800 + looking
    assert cost["timevarying-25: paper seed 0"] == 6 * 47 * 1000 + looking
    # Ten of a hundred clients go once through 600 images in batches of ten.
    assert cost["fedavg-iid: paper E=1 seed 0"] == 10 * 60 * 1500 + looking


def test_parts_are_chosen_by_words_or_pattern() -> None:
    assert {task.row for task in selected("star-fmnist-2")} == {"star-fmnist-2"}
    some = selected("star-*: paper a=0.?*seed 0")
    assert len(some) == 5 + 3 + 3 + 4 + 3
    assert len(selected(None)) == len(planned())


# A file that is held ----------------------------------------------------------------------------


def test_a_file_is_held_by_one_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "lock"
    assert not is_held(path)
    with held(path):
        assert is_held(path)
        with pytest.raises(Held), held(path):
            pass
        assert is_held(path)
    assert not path.exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("all of it")
    (tmp_path / "lock").symlink_to(target)
    with pytest.raises(OSError, match="symbolic link"), held(tmp_path / "lock"):
        pass
    assert target.read_text() == "all of it"


# Runs -------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: Patch) -> Campaign:
    """A tiny campaign whose workers are calls within this process."""
    make_tiny(monkeypatch.setattr)
    return Campaign(tmp_path / "out", tmp_path / "short")


def run_here(home: Campaign, name: str) -> Path:
    (task,) = selected(name)
    order = {"task": task.name, "out": str(home.out), "records": str(home.records)}
    return campaign.run_order({**order, "device": home.device, "data": None})


def folders(home: Campaign) -> tuple[str, ...]:
    return ("--out", str(home.out), "--records", str(home.records), "--quiet")


def body_of(path: Path) -> dict[str, Any]:
    (record,) = read_lines(path).records.values()
    return dict(record.body)


class WorkerHere:
    """A worker process, of which the work is done in the thread that follows it."""

    returncode = 0
    stdin = None

    def __init__(self, words: list[str], **_: Any) -> None:
        said: list[dict[str, Any]] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(campaign, "_tell", said.append)
            said.append({"kept": str(campaign.run_order(json.loads(words[-1])))})
        self.stdout = map(json.dumps, said)

    def __enter__(self) -> WorkerHere:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_parts_are_run_kept_and_found_done(
    home: Campaign, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("peerbayes.experiments.campaign.subprocess.Popen", WorkerHere)
    words = ["campaign", "--only", IID, "--json", *folders(home)[:4]]
    assert cli.main(words) == 0
    said = capsys.readouterr()
    result = json.loads(said.out)
    Draft202012Validator(read_schema("campaign")).validate(result)
    assert sorted(result["finished"]) == [f"{IID} {seed}" for seed in range(3)]
    assert [one["state"] for one in result["parts"]] == ["done"] * 3
    assert {one["behaviour"] for one in result["parts"]} == {MARK}
    assert (result["version"], result["behaviour"]) == (__version__, all_marks())
    assert said.err.count(": on record in ") == 3
    # What is kept for good is small, and says what the whole record says.
    full = home.out / "fmnist-2-iid.parts"
    assert [path.name for path in home.records.iterdir()] == ["fmnist-2-iid.jsonl.gz"]
    assert (home.records / "fmnist-2-iid.jsonl.gz").stat().st_size < 30_000
    assert not list(full.glob(".*.held"))
    shorts = {
        name: one.content for name, one in read_row(home.records, "fmnist-2-iid").parts.items()
    }
    wholes = {
        name: read_record(full / f"{name.replace(' ', '-')}.json").body["content"]
        for name in shorts
    }
    row = ROWS["fmnist-2-iid"]
    lines = [net_lines(row, parts) for parts in (shorts, wholes)]
    assert len(lines[0]) > 4
    for short, whole in zip(*lines, strict=True):
        assert short.what == whole.what
        assert short.measured == pytest.approx(whole.measured, rel=1e-3, abs=1e-2)
    # Nothing is run twice, by this command or by `run --resume`.
    assert cli.main([*words, "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["finished"] == []


# What goes wrong --------------------------------------------------------------------------------


def test_an_edited_record_is_named(home: Campaign, capsys: Capture) -> None:
    path = run_here(home, f"{IID} 0")
    run_here(home, f"{IID} 1")
    first, second = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(first + second.replace(b'"nll":', b'"nlL":', 1)))
    capsys.readouterr()
    words = ("campaign", "--only", IID, *folders(home))
    line = f"{path}, line 2: expected content that fits its checksum"
    assert line in complaint(capsys, *words)  # before anything is run
    assert cli.main([*words, "--status", "--json"]) == 1  # what is whole is read
    result = json.loads(capsys.readouterr().out)
    assert [one["state"] for one in result["parts"]] == ["done", "missing", "missing"]
    (said,) = result["damage"]
    assert said.startswith(line)


def test_a_record_of_other_settings_is_not_done(home: Campaign) -> None:
    path = run_here(home, f"{IID} 0")
    body = body_of(path)
    put_record(path, kind="short-part", body={**body, "settings": "0" * 64})
    (state,) = home.states(selected(f"{IID} 0"))
    assert (state.state, state.remark) == ("missing", "the record is of other settings")


def test_another_mark_counts_as_done_unless_asked_again(home: Campaign) -> None:
    path = run_here(home, f"{IID} 0")
    body = body_of(path)
    again = replace(home, again=True)
    (state,) = again.states(selected(f"{IID} 0"))
    assert (state.state, state.behaviour) == ("done", MARK)
    # A record of an earlier version has the build in place of the mark.
    content = {key: value for key, value in body["content"].items() if key != "behaviour"}
    for key, said in (("behaviour", "mark 0123456789ab"), ("build", "build 0123456789ab")):
        changed = {**body, "content": {**content, key: "0123456789ab"}}
        put_record(path, kind="short-part", body=changed)
        (state,) = home.states(selected(f"{IID} 0"))
        assert (state.state, state.behaviour) == ("done", "0123456789ab")
        (state,) = again.states(selected(f"{IID} 0"))
        assert (state.state, state.remark) == ("missing", f"the record is of {said}")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"build": "0123456789ab"}, f"version {__version__}, got one of an earlier program"),
        ({"version": "0.0.9"}, f"version {__version__}, got one of 0.0.9"),
        (
            {"version": __version__, "behaviour": "0123456789ab"},
            f"behaviour {all_marks()}, got one of 0123456789ab",
        ),
    ],
    ids=["build", "version", "marks"],
)
def test_unfinished_work_of_another_program_is_left_alone(
    home: Campaign, capsys: Capture, found: dict[str, str], said: str
) -> None:
    body = {**found, "device": "cpu"}
    write_record(home.out / "campaign.json", kind="campaign-folder", body=body)
    text = complaint(capsys, "campaign", *folders(home))
    assert f"expected a folder of {said}" in text
    assert "--out" in text


def test_every_part_of_the_plan_has_a_mark() -> None:
    for task in planned():
        assert len(task.experiment.mark(task.part.name)) == 12
    for row in ROWS.values():
        for part in (*parts_of(row, seeds=1, is_quick=False), *parts_aside(row, seeds=1)):
            assert len(behaviour_mark(net_recipe(row, part))) == 12


def test_unknown_parts_and_options(home: Campaign, capsys: Capture) -> None:
    text = complaint(capsys, "campaign", "--only", "star-mnist-1: paper a=0.55", *folders(home))
    assert "did you mean 'star-mnist-1: paper a=0.5 seed" in text
    assert "--only" in complaint(capsys, "campaign", "--only", "qqqq", *folders(home))
    assert "--seed" in complaint(capsys, "campaign", "--seed", "3", *folders(home))
    assert "--workers" in complaint(capsys, "campaign", "--workers", "0", *folders(home))


def test_a_device_that_is_not_there_leaves_nothing(home: Campaign, capsys: Capture) -> None:
    text = complaint(capsys, "campaign", "--device", "tpu", *folders(home))
    assert "device: expected 'cpu' or 'cuda', got 'tpu'" in text
    assert not home.out.exists()


def test_other_data(capsys: Capture, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    words = ("campaign", "--only", IID, "--out", str(tmp_path / "out"), "--data", str(folder))
    assert "train-images-idx3-ubyte.gz" in complaint(capsys, *words, "--quiet")
    for kind in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (folder / f"{kind}-ubyte.gz").write_bytes(b"\x1f\x8b other")
    text = complaint(capsys, *words, "--records", str(tmp_path / "short"), "--quiet")
    assert "ubyte.gz" in text


def test_a_full_disk_is_seen_before_a_part_begins(
    home: Campaign, capsys: Capture, monkeypatch: Patch
) -> None:
    few = disk_usage("/")._replace(free=1000)
    monkeypatch.setattr("peerbayes.experiments.campaign_plan.disk_usage", lambda path: few)
    text = complaint(capsys, "campaign", "--only", IID, *folders(home))
    assert "MB of free disk" in text


FULL = """
import json, sys
print(json.dumps({"done": 1, "total": 4}))
print(json.dumps({"failed": "x.safetensors: expected a file that can be written, got no space"}))
sys.exit(2)
"""
BROKEN = "import sys; sys.exit('Traceback\\nZeroDivisionError: division by zero')"


def test_failures_are_noted_and_tried_again(home: Campaign, monkeypatch: Patch) -> None:
    said: list[str] = []
    monkeypatch.setattr("peerbayes.experiments.campaign.WORKER", (sys.executable, "-c", FULL))
    result = run_campaign(home, selected(IID), say=said.append)
    assert result.failed
    assert {one.state for one in result.states} == {"failed"}
    assert all("got no space" in one.remark for one in result.states)
    assert said[-1] == "3 parts in succession failed: the campaign stops"
    # What was the matter is over: the next start runs them, and forgets the notes.
    run_here(home, f"{IID} 0")
    states = home.states(selected(IID))
    assert [one.state for one in states] == ["done", "failed", "failed"]


def test_a_fault_in_a_worker_is_a_failure_with_its_last_words(
    home: Campaign, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("peerbayes.experiments.campaign.WORKER", (sys.executable, "-c", BROKEN))
    (state,) = run_campaign(home, selected(f"{IID} 0")).states
    assert state.state == "failed"
    assert state.remark == "ended with code 1: ZeroDivisionError: division by zero"


def test_a_disk_that_fills_in_mid_part(home: Campaign, monkeypatch: Patch) -> None:
    import errno

    from empirical import keeping

    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(keeping, "save_file", full)
        with pytest.raises(ValueError, match="no space left on device"):
            run_here(home, f"{IID} 0")
    assert not home.records.exists() or not list(home.records.iterdir())
    assert body_of(run_here(home, f"{IID} 0"))["content"]["behaviour"] == MARK


def test_seeds_of_a_campaign_are_those_of_run(home: Campaign, capsys: Capture) -> None:
    run_here(home, f"{IID} 1")
    capsys.readouterr()
    options = ("--recipe", "paper", "--part", "seed 1", "--resume", "--json", *folders(home)[:2])
    result = json_of(capsys, ["run", "fmnist-2-iid", *options, "--quiet"])
    assert result["reused"] == ["paper seed 1"]
    assert result["replicates"] == 1

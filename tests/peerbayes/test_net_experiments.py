"""The papers' experiments with neural nets: rows, parts, command line, records and pages.

Runs are of 8 x 8 digits and nets of eight hidden units; one is real.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from empirical.train.recipe import Recipe
from empirical.train.steps import share_of_rate
from peerbayes import cli
from peerbayes.experiments import EXPERIMENTS, find_experiment, setting
from peerbayes.experiments.net_lines import net_lines
from peerbayes.experiments.net_rows import (
    BATCHES,
    BESIDE,
    ROWS,
    Part,
    Role,
    Row,
    part_values,
    parts_aside,
    parts_of,
    recipe_values,
)
from peerbayes.experiments.net_run import influence_of, network_of
from peerbayes.experiments.registry import NetExperiment
from peerbayes.records import read_record
from peerbayes.schemas import read_schema
from tests.peerbayes.commands import Capture, Patch, complaint, json_of
from tests.peerbayes.test_report import Page
from tests.peerbayes.tiny_nets import make_tiny

# What the papers print, typed once more from them: row, variant, group, number.
PRINTED = [
    ("fmnist-central", "", "central node", 88.28),
    ("fmnist-2-iid", "", "node 1", 87.43),
    ("fmnist-2-iid", "", "node 2", 87.84),
    ("fmnist-2-balanced-a", "", "node 1", 83),
    ("fmnist-2-balanced-a", "", "node 2", 67),
    ("fmnist-2-balanced-b", "", "node 1", 85.78),
    ("fmnist-2-balanced-b", "", "node 2", 85.86),
    ("fmnist-2-unbalanced", "", "node 1", 85.8),
    ("fmnist-2-unbalanced", "", "node 2", 85.2),
    ("star-mnist-1", "a=0.5", "all agents", 97.55),
    ("star-fmnist-1", "a=0.7", "all agents", 84.21),
    ("star-fmnist-2", "a=0.5", "all agents", 69.7),
    ("timevarying-25", "", "centre", 95.1),
    ("timevarying-100", "", "all agents", 92.3),
    ("timevarying-100", "", "centre", 93.1),
    ("fedavg-iid", "E=1", "server", 97.72),
    ("fedavg-iid", "E=5", "server", 97.97),
    ("fedavg-shards", "E=1", "server", 95.82),
    ("fedavg-shards", "E=5", "server", 95.31),
]
# P2, tables 1 to 3: batch, local steps, rounds.
SETTINGS = {
    "star-mnist-1": (50, 155, 800),
    "star-mnist-2": (50, 145, 800),
    "star-mnist-3": (50, 145, 800),
    "star-fmnist-1": (100, 150, 800),
    "star-fmnist-2": (100, 150, 800),
    "grid-mnist": (50, 155, 1200),
    "timevarying-25": (50, 47, 1000),
    "timevarying-100": (10, 120, 1000),
}


@pytest.mark.parametrize(("role", "steps"), BATCHES.items())
def test_shorter_rounds_are_the_same_training_with_more_consensus(role: Role, steps: int) -> None:
    row, part = ROWS["fmnist-2-unbalanced"], Part("paper", role, "", 0)

    def rate(one: Recipe, number: int) -> float:
        return share_of_rate(one.schedule, number, rounds=one.rounds, decay=one.decay)

    def recipe(part: Part) -> Recipe:
        values = part_values(row, part, is_quick=False)
        assert values.pop("rounds_run") == values["rounds"]
        return Recipe(**values)

    epochs, batches = recipe(replace(part, role="cooperating")), recipe(part)
    of_epoch = epochs.local_steps // steps
    assert (batches.rounds, batches.local_steps) == (epochs.rounds * of_epoch, steps)
    # The rate after as many steps is the same at each epoch's end, and in between it falls.
    for epoch in (1, 7, 100):
        assert rate(batches, of_epoch * (epoch - 1) + 1) == pytest.approx(rate(epochs, epoch))
    assert rate(epochs, 2) < rate(batches, of_epoch // 2) < rate(epochs, 1)
    # Nothing else differs, and such a part is run where it is asked for alone.
    changed = {"rounds", "local_steps", "decay"}
    assert {k for k, v in asdict(batches).items() if v != asdict(epochs)[k]} == changed
    experiment = NetExperiment(row)
    assert part.name in experiment.parts
    assert part.name not in experiment.parts_with(recipe="paper")
    assert experiment.parts_with(recipe="paper", words=f"{role} seed 0") == (part.name,)


def test_what_the_papers_print() -> None:
    for row, variant, group, number in PRINTED:
        assert float(ROWS[row].variant(variant).printed[group]) == number
    for name, settings in SETTINGS.items():
        values = recipe_values(name, "paper")
        assert (values["batch"], values["local_steps"], values["rounds"]) == settings
        assert (values["mean_rate"], values["schedule"]) == (1e-3, "geometric")
        assert values["decay"] == (0.998 if name == "timevarying-100" else 0.99)


def test_networks_have_the_printed_influence() -> None:
    for a, v in (("0.1", 0.10), ("0.2", 0.18), ("0.3", 0.25), ("0.5", 0.36), ("0.7", 0.44)):
        network = network_of(ROWS["star-mnist-1"].variant(f"a={a}").network)
        assert influence_of(network)[0] == pytest.approx(v, abs=0.005)
    # A random walk on a graph is where the links are: 5 of 33 in the middle, 3 in a corner.
    grid = influence_of(network_of(ROWS["grid-mnist"].variants[0].network))
    assert grid[4] == pytest.approx(5 / 33)
    assert grid[0] == pytest.approx(3 / 33)


def test_every_row_fits_its_data() -> None:
    from empirical.dealing import DEALINGS

    for row in ROWS.values():
        for variant in row.variants:
            dealing = DEALINGS[variant.dealing]
            assert dealing.dataset == row.dataset
            if "server" not in variant.network:
                assert network_of(variant.network).agents == dealing.rule.agents
        assert row.main in [variant.name for variant in row.variants]
        assert EXPERIMENTS[row.name].title == row.title


def test_parts_and_what_they_depend_on() -> None:
    row = ROWS["star-mnist-1"]
    names = [part.name for part in parts_of(row, seeds=2, is_quick=False)]
    assert len(names) == len(set(names)) == 3 * 5 * 2 + 4 * 2
    assert {"best a=0.5 seed 1", "paper a=0.1 seed 0", "once a=0.7 seed 1"} <= set(names)
    assert {"best alone seed 0", "best central seed 1", "best fedavg seed 0"} <= set(names)
    # Beside the network, `paper` has what a source prints a number of, where it is asked for.
    beside = {
        (row.name, part.role)
        for row in ROWS.values()
        for part in parts_aside(row, seeds=1)
        if part.asked_for == part.role and part.role in BESIDE
    }
    printed = {(r.name, "alone") for r in ROWS.values() if r.alone}
    printed |= {(r.name, "central") for r in ROWS.values() if r.central}
    assert beside == printed | {(r.name, "fedavg") for r in ROWS.values() if r.printed_server}
    assert len(printed) == 8
    # One recipe's numbers change nothing about the parts of others.
    pytest.importorskip("torch")
    experiment = find_experiment("star-mnist-1")
    assert isinstance(experiment, NetExperiment)
    paper = experiment.part_settings("paper a=0.5 seed 0")
    assert paper["values"]["local_steps"] == 155
    assert "best" not in json.dumps(paper)
    # More seeds leave the first ones' random numbers alone.
    for name in ("best a=0.5 seed 1", "best central seed 1"):
        assert replace(experiment, seeds=7).stream(name) == experiment.stream(name) == 1
    assert experiment.part_settings("best averaging seed 0")["values"]["estimator"] == "point"
    with pytest.raises(ValueError, match="--part: expected words of"):
        experiment.parts_with(recipe="best", words="a=0.55")


# Tiny runs --------------------------------------------------------------------------------------


@pytest.fixture
def digits(monkeypatch: Patch) -> None:
    """8 x 8 digits in place of all data sets, nets of eight units, and few steps."""
    pytest.importorskip("torch")
    make_tiny(monkeypatch.setattr)


Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(digits: None, tmp_path: Path, capsys: Capture) -> Run:
    def run(name: str, *options: str) -> dict[str, Any]:
        arguments = ["run", name, "--out", str(tmp_path), "--json", "--quiet", *options]
        result = json_of(capsys, arguments)
        Draft202012Validator(read_schema("run")).validate(result)
        return dict(result)

    return run


# A row of each kind; the others are in tests/thorough.
QUICK_ROWS = ("fmnist-central", "fmnist-2-balanced-a", "fedavg-iid")


def check_row(name: str, run: Run) -> None:
    """That a row runs, and that its record and its page are whole."""
    row = ROWS[name]
    result = run(name, "--quick")
    assert result["experiment"] == f"{name} quick"
    words = [line["what"] for line in result["lines"]]
    for group, _ in row.groups:
        sides = {what.partition(f", {group}")[2] for what in words if f", {group}" in what}
        assert sides >= (
            {""}
            if row.is_federated or len(row.variants[0].network.get("weights", [1, 1])) == 1
            else {", before consensus", ", after consensus"}
        )
    printed = [line["printed"] for line in result["lines"]]
    for variant in row.variants:
        for value in variant.printed.values():
            assert value in printed or (row.quick and variant.name not in row.quick)
    for line in result["lines"]:
        assert line["holds"] is None
        if line["what"].startswith("accuracy [%]"):
            assert 0 <= line["measured"] <= 100
    body = read_record(result["record"]).body
    for part in result["parts"]:
        content = body["content"][part]
        curve = content["curve"]
        folder = Path(result["record"]).parent / f"{name}-quick.parts"
        assert (folder / content["posterior"]["file"]).exists()
        assert not list(folder.glob("*.unfinished*"))
        agents = len(curve["last"]["mean"]["accuracy"])
        one = content["role"] in ("central", "fedavg") or row.is_federated
        assert agents == (1 if one else content["network"]["agents"])
        for point in curve["points"]:
            assert (point["before"] is not None) == (
                content["role"] in ("cooperating", "averaging") and not row.is_federated
            )
    page = Page(Path(result["report"]).read_text(encoding="utf-8"))
    assert "nan" not in page.text.lower()
    assert page.tags["figure"] >= (1 if row.is_federated else 2)
    if row.forecast:  # somebody lacks labels
        assert page.text.count("Confidence by label") >= 2
    assert ("Confusion matrix" in page.text) == row.confusion
    assert "What was run" in {value for _, _, value in page.attributes} or "MB sent" in page.text


@pytest.mark.parametrize("name", QUICK_ROWS)
def test_a_row_runs_and_has_a_page(name: str, run: Run) -> None:
    check_row(name, run)


def test_recipes_are_laid_side_by_side(run: Run) -> None:
    name = "fmnist-2-balanced-a"
    first = run(name, "--recipe", "paper", "--replicates", "1")
    assert first["parts"] == ["paper seed 0"]
    second = run(name, "--part", "best seed", "--replicates", "2")
    assert second["parts"] == ["paper seed 0", "best seed 0", "best seed 1"]
    lines = {line["what"]: line for line in second["lines"]}
    assert lines["accuracy [%], paper, node 1, after consensus"]["standard_error"] is None
    assert lines["accuracy [%], best, node 1, after consensus"]["standard_error"] > 0
    content = read_record(second["record"]).body["content"]
    measured = [
        100 * content[f"best seed {k}"]["curve"]["last"]["sampled"]["accuracy"][0] for k in (0, 1)
    ]
    assert lines["accuracy [%], best, node 1, after consensus"]["measured"] == pytest.approx(
        np.mean(measured)
    )
    gap = lines["accuracy of node 1 less that of node 2 [%], best, before consensus"]
    assert (gap["printed"], gap["predicted"]) == ("16", 0.0)
    one, other = (
        lines[f"accuracy [%], best, node {k}, before consensus"]["measured"] for k in (1, 2)
    )
    assert gap["measured"] == pytest.approx(one - other)


def test_list_shows_what_is_done(run: Run, tmp_path: Path, capsys: Capture) -> None:
    run("fmnist-central", "--replicates", "1")
    (tmp_path / "fmnist-2-iid.parts").mkdir()
    (tmp_path / "fmnist-2-iid.parts" / "best-seed-0.unfinished.0.safetensors").touch()
    (tmp_path / "run-star-mnist-1.json").write_text("{}")
    listing = json_of(capsys, ["list", "--out", str(tmp_path), "--json"])
    Draft202012Validator(read_schema("list")).validate(listing)
    done = {entry["name"]: entry["done"] for entry in listing["experiments"]}
    assert done.pop("fmnist-central") == "2 parts, seed 0"
    assert done.pop("fmnist-2-iid") == "0 parts kept, one unfinished"
    assert done.pop("star-mnist-1") == "damaged record"
    assert set(done.values()) == {""}


def test_a_stopped_part_is_gone_on_with(
    run: Run, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    """From the state of every agent, and the replicas of its codec."""
    check_resumption("difference+topk", run, tmp_path, monkeypatch, capsys)


def check_resumption(
    codec: str, run: Run, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    """That a part stopped in its third round ends as a whole one does."""
    from empirical.train.run import TrainingRun

    options = ("fmnist-2-iid", "--part", "best seed 0", "--replicates", "1", "--codec", codec)
    whole = run(*options, "--out", str(tmp_path / "whole"))
    advance, rounds = TrainingRun.run_round, list[int]()

    def stopped(self: TrainingRun, **given: Any) -> Any:
        rounds.append(self.round)
        if rounds.count(2) == 1 and self.round == 2:
            raise KeyboardInterrupt
        return advance(self, **given)

    monkeypatch.setattr(TrainingRun, "run_round", stopped)
    assert cli.main(["run", *options, "--out", str(tmp_path), "--quiet"]) == 130
    capsys.readouterr()
    assert list(tmp_path.glob("fmnist-2-iid*.parts/*.unfinished.0.safetensors"))
    again = run(*options, "--resume")
    assert rounds == [0, 1, 2, 1, 2, 3]
    contents = []
    for result in (whole, again):
        content = read_record(result["record"]).body["content"]["best seed 0"]
        del content["curve"]["seconds"]
        for point in content["curve"]["points"]:
            del point["seconds"]
        contents.append(content)
    assert contents[0] == contents[1]


# Bad input --------------------------------------------------------------------------------------


def test_without_torch(capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr(setting, "find_spec", lambda name: None)
    text = complaint(capsys, "run", "star-mnist-1")
    assert "got no torch; install what is missing, in a checkout" in text
    assert "pip install -c constraints.txt '.[empirical]'" in text
    assert "got no torch" in complaint(capsys, "campaign", "--status")


def test_without_data(capsys: Capture, monkeypatch: Patch, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = complaint(capsys, "run", "star-mnist-1", "--data", str(tmp_path))
    assert "train-images-idx3-ubyte.gz" in text
    assert "put the four mnist files there" in text


def test_cuda_that_is_not_there(digits: None, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    text = complaint(capsys, "run", "star-mnist-1", "--device", "cuda")
    assert "device: expected a CUDA device" in text
    assert "device: expected 'cpu' or 'cuda'" in complaint(
        capsys, "run", "star-mnist-1", "--device", "tpu"
    )


def test_weights_for_another_number_of_agents(
    digits: None, capsys: Capture, tmp_path: Path,
    monkeypatch: Patch,
) -> None:  # fmt: skip
    row = ROWS["star-mnist-1"]
    seven = replace(row.variants[3], network={"topology": "star", "agents": 7})
    wrong = NetExperiment(replace(row, hidden=(8,), variants=(seven,)))
    monkeypatch.setattr("peerbayes.experiments.find_experiment", lambda name: wrong)
    text = complaint(capsys, "run", "star-mnist-1", "--out", str(tmp_path), "--quiet")
    assert "expected 9 agents, as many as hold data, got 7" in text


def test_training_that_fails_names_agent_and_round(
    digits: None, capsys: Capture, tmp_path: Path,
    monkeypatch: Patch,
) -> None:  # fmt: skip
    def wild(row: Row, part: Any, *, is_quick: bool) -> dict[str, Any]:
        values = part_values(row, part, is_quick=True)
        return values | {"mean_rate": 1e30, "rounds": 4, "rounds_run": 4}

    for module in ("net_run", "registry"):
        monkeypatch.setattr(f"peerbayes.experiments.{module}.part_values", wild)
    text = complaint(capsys, "run", "fmnist-2-iid", "--out", str(tmp_path), "--quiet")
    assert "at agent 0 in round 1" in text
    # A part without a record is no record of a failure.
    assert not list(tmp_path.glob("*.json"))


def test_the_order_is_read_off_the_speeds() -> None:
    """Made-up runs whose order is known: a pair of five swapped leaves τ = 0.8."""
    row = ROWS["star-mnist-1"]

    def measured_at(accuracy: float, slope: float) -> dict[str, Any]:
        return {
            "mean": {
                "accuracy": [accuracy] * 9,
                "nll": [0.1] * 9,
                "calibration_error": [0.0] * 9,
                "confidence": [[0.5 + slope * label for label in range(10)]] * 9,
            }
        }

    def made(variant: str, v: float, accuracy: float) -> dict[str, Any]:
        # Before consensus the order is the other way round, and so are the labels.
        before, after = measured_at(1 - accuracy, 0.01), measured_at(accuracy, -0.01)
        return {
            "recipe": "best", "role": "cooperating", "variant": variant, "seed": 0,
            "settings": {"rounds": 4, "rounds_run": 4},
            "classes": [str(label) for label in range(10)], "data": {},
            "network": {
                "agents": 9, "sizes": [1] * 9,
                "influence": [v] + [(1 - v) / 8] * 8, "informative": 0,
                "labels": [list(range(2, 10))] + [[0, 1]] * 8,
            },
            "curve": {
                "agents": list(range(9)),
                "points": [
                    {"round": 4, "local_steps": 4, "bytes": 0, "before": before, "after": after}
                ],
                "spread": [], "seconds": 1.0,
                "last": after,
                "last_before": before,
            },
        }  # fmt: skip

    speeds = [0.5, 0.6, 0.8, 0.7, 0.9]
    shares = [0.10, 0.18, 0.25, 0.36, 0.44]
    runs = {
        variant.name: made(variant.name, v, speed)
        for variant, v, speed in zip(row.variants, shares, speeds, strict=True)
    }
    lines = {line.what: line for line in net_lines(row, runs)}
    orders = [line for what, line in lines.items() if what.startswith("order")]
    assert [line.measured for line in orders] == pytest.approx([-0.8, 0.8])
    assert [line.predicted for line in orders] == [1.0, 1.0]
    # What is printed is of the belief before consensus, by P2's remark 6.
    assert [bool(line.printed) for line in orders] == [True, False]
    accuracy = "accuracy [%], best a=0.5, all agents"
    assert lines[f"{accuracy}, before consensus"].printed == "97.55"
    assert lines[f"{accuracy}, before consensus"].measured == pytest.approx(30)
    assert lines[f"{accuracy}, after consensus"].printed == ""
    # Label 1 is the less sure of 0 and 1, and 9 of those that the edges do not hold; before
    # consensus it is the other end.
    least = "label of least confidence over the rounds"
    assert lines[f"{least}, centre, best, after consensus"].measured == 1
    assert lines[f"{least}, edges, best, after consensus"].measured == 9
    assert lines[f"{least}, centre, best, before consensus"].measured == 0
    assert lines[f"{least}, edges, best, before consensus"].measured == 2


def test_every_accuracy_says_how_entropy_tells_other_data(run: Run) -> None:
    result = run("fmnist-2-iid", "--recipe", "best", "--replicates", "1")
    lines = [line for line in result["lines"] if line["what"].startswith("accuracy [%]")]
    # Before and after consensus at two nodes, averaging at one; two nodes alone, a central one.
    assert len(lines) == 2 * 2 + 2 + 2 + 1
    assert all("AUROC of other data 0." in line["remark"] for line in lines)


@pytest.mark.parametrize("key", ["behaviour", "build"])
def test_marks_are_never_averaged(run: Run, key: str) -> None:
    """Neither two marks, nor a mark and the build of an earlier version."""
    result = run("fmnist-2-iid", "--part", "best seed", "--replicates", "2")
    content = read_record(result["record"]).body["content"]
    row = ROWS["fmnist-2-iid"]
    words = [line.what for line in net_lines(row, content)]
    assert not any("mark" in what for what in words)
    mark = content["best seed 1"].pop("behaviour")
    content["best seed 1"][key] = "0123456789ab"
    lines = {line.what: line for line in net_lines(row, content)}
    heads = {
        "behaviour": [f"best (mark {mark})", "best (mark 0123456789ab)"],
        "build": ["best", "best (build 0123456789ab)"],
    }[key]
    own = [lines[f"accuracy [%], {head}, node 1, after consensus"].measured for head in heads]
    assert own == [
        pytest.approx(100 * part["curve"]["last"]["sampled"]["accuracy"][0])
        for part in content.values()
    ]
    assert all(line.standard_error is None for line in lines.values())

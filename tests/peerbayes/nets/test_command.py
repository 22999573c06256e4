"""`peerbayes train`: tables, JSON, record, page; and bad input in one line."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from peerbayes.cli import main
from peerbayes.nets.documents import TrainRecord
from peerbayes.records import read_record, write_record
from peerbayes.report import write_report
from peerbayes.schemas import read_schema
from tests.peerbayes.commands import Capture, Patch, assert_says, complaint, text_of
from tests.peerbayes.nets.support import NUMBERS, write_net

pytest.importorskip("torch")
pytest.importorskip("safetensors")


def test_tables_record_and_page(tmp_path: Path, capsys: Capture) -> None:
    path, out = write_net(tmp_path), tmp_path / "out"
    assert main(["train", str(path), "--out", str(out)]) == 0
    said = capsys.readouterr()
    record = TrainRecord.model_validate(read_record(out / "train-wells-s4.json").body)
    assert record.test is not None
    rmse = record.test.mean("rmse")
    assert f"{rmse:.4g}" in said.out
    assert "well-2" in said.out
    assert said.err.startswith("wells: done (")
    assert f"validation rmse {record.validation.mean('rmse'):.4g}" in said.err  # type: ignore[union-attr]
    page = (out / "train-wells-s4.html").read_text(encoding="utf-8")
    for words in ("Training loss", "Probability integral transform", "Validation: RMSE", "well-1"):
        assert words in page
    # Score, likelihood, calibration.
    for measure in ("RMSE", "NLL", "calibration error"):
        assert f"Against bytes: {measure}" in page
    assert main(["report", "--out", str(out)]) == 0
    assert "wells, trained" in (out / "report.html").read_text(encoding="utf-8")


def test_targets_and_agents_go_by_their_names(tmp_path: Path, capsys: Capture) -> None:
    parts = [{"kind": "gaussian", "std": "learned"}, {"kind": "gaussian", "std": 1.0}]
    changes = {"data__target": ["level", "a"], "likelihood": {"kind": "heads", "parts": parts}}
    path, out = write_net(tmp_path, spoilt(**changes), rounds=2), tmp_path / "out"
    printed = text_of(capsys, ["train", str(path), "--out", str(out), "--quiet"])
    record = TrainRecord.model_validate(read_record(out / "train-wells-s4.json").body)
    assert record.graph is not None
    assert record.graph.called(1) == record.called(1) == "well-1"
    assert record.test is not None
    assert record.test.measures[1:4] == [
        "rmse of level",
        "nll of level",
        "calibration_error of level",
    ]
    assert list(record.history.validation)[4] == "rmse of a"
    page = (out / "train-wells-s4.html").read_text(encoding="utf-8")
    for said in ("RMSE of level", "NLL [nats] of a", "calibration error of a"):
        assert said in printed
        assert said in page


def test_json_fits_its_schema_and_the_record(tmp_path: Path, capsys: Capture) -> None:
    path = write_net(tmp_path)
    given = ["train", str(path), "--out", str(tmp_path), "--json", "--quiet", "--seed", "1"]
    assert main([*given, "--rounds", "3"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    printed = json.loads(said.out)
    Draft202012Validator(read_schema("train")).validate(printed)
    record = read_record(printed["record"]).body
    assert {k: v for k, v in printed.items() if k != "record"} == {
        k: v for k, v in record.items() if k != "graph"
    }
    assert printed["rounds_run"] == 3
    assert printed["settings"]["seed"] == 1
    # Standardised by the pooled moments of what is trained on: about those of all rows.
    assert abs(printed["targets"]["mean"][0] - 5) < 10


def spoilt(**changes: Any) -> dict[str, Any]:
    document = deepcopy(NUMBERS)
    for place, value in changes.items():
        *tables, key = place.split("__")
        table = document
        for name in tables:
            table = table[name]
        table[key] = value
    return document


# More of them, by what the command calls, are in test_net_files.
BAD: list[tuple[dict[str, Any], str]] = [
    ({"data__target": "depth"}, "depth"),
    ({"training__settings": {"rat": 1}}, "net.toml: training … mean 'rate'"),
    ({"net": {"module": "gone.py:build"}}, "gone.py"),
]


@pytest.mark.parametrize(("changes", "words"), BAD, ids=range(len(BAD)))
def test_bad_input_is_one_line(
    changes: dict[str, Any], words: str, tmp_path: Path, capsys: Capture
) -> None:
    path = write_net(tmp_path, spoilt(**changes))
    assert_says(complaint(capsys, "train", str(path), "--out", str(tmp_path / "out")), words)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--device tpu", "device: expected 'cpu' or 'cuda'"),
        ("--memory 1K", "expected a training within"),
        ("--memory much", "expected a size"),
        ("--rounds 0", "a whole number of at least 1"),
        ("--out net.toml", "a folder that can be written"),
    ],
)
def test_bad_options_are_one_line(
    options: str, said: str, tmp_path: Path, capsys: Capture,
    monkeypatch: Patch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write_net(tmp_path)
    assert said in complaint(capsys, "train", "net.toml", *options.split())


def test_a_page_of_many_agents_and_of_few_numbers(tmp_path: Path) -> None:
    # By hand: 60 agents, no network that can be drawn, no validation data, counts.
    agents, rng = 60, np.random.default_rng(0)
    scores = {
        "examples": [5] * agents, "draws": 3, "nll": rng.uniform(size=agents).tolist(),
        "mean_error": [None, *rng.uniform(size=agents - 1).tolist()],
    }  # fmt: skip
    body = {
        "name": "many", "agents": agents, "net": {"kind": "layers"}, "parameters": 3,
        "likelihood": {"kind": "counts"}, "learner": {"learner": "sites"},
        "settings": {"rounds": 100, "local_steps": 2, "batch": 3, "seed": 0, "patience": None,
                     "every": 1, "draws": 3}, "rounds_run": 100,
        "round_kept": 100, "stopped_early": False,
        "data": {"train": [9] * agents, "validation": [0] * agents, "test": 5, "other": 0,
                 "inputs": [2], "sources": {}},
        "inputs": None, "targets": None, "validation": None, "test": scores,
        "test_looks": [{"run": "0" * 64, "round": 100}] * 2, "fingerprint": "0" * 64,
        "history": {
            "rounds": [1, 10, 100], "loss": rng.uniform(size=(3, agents)).tolist(),
            "validation": {}, "bytes_sent": [1, 2, 3], "seconds": [0.1, 0.2, 0.3],
        },
    }  # fmt: skip
    body["history"]["loss"][1] = [None] * agents  # type: ignore[index]
    path = write_record(tmp_path / "many.json", kind="train", body=body)
    page = write_report([path], tmp_path / "many.html").read_text(encoding="utf-8")
    assert "looked at 2 times" in page
    assert "the first 50 of 60 agents are listed" in page
    assert "mean over agents" in page

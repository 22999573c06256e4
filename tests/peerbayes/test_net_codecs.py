"""Rows of neural nets with a codec: records of their own, replicas that survive, bad input.

Runs are of 8 x 8 digits and nets of eight hidden units.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from peerbayes.experiments import find_experiment
from peerbayes.experiments.registry import NetExperiment
from peerbayes.experiments.setting import behaviour_mark
from peerbayes.records import read_record
from peerbayes.schemas import read_schema
from tests.peerbayes.commands import Capture, Patch, complaint, json_of
from tests.peerbayes.tiny_nets import make_tiny

pytest.importorskip("torch")

ROW = "star-mnist-1"
HEADER = 40  # bytes of a frame


@pytest.fixture(autouse=True)
def digits(monkeypatch: Patch) -> None:
    """8 x 8 digits in place of all data sets, nets of eight units, and few steps."""
    make_tiny(monkeypatch.setattr)


def run(capsys: Capture, folder: Path, *options: str) -> dict[str, Any]:
    arguments = ["run", ROW, "--out", str(folder), "--json", "--quiet", *options]
    result = json_of(capsys, arguments)
    Draft202012Validator(read_schema("run")).validate(result)
    return dict(result)


def parts(result: dict[str, Any]) -> dict[str, Any]:
    """What was found, without what clocks say."""
    content = dict(read_record(result["record"]).body["content"])
    for part in content.values():
        del part["curve"]["seconds"]
        for point in part["curve"]["points"]:
            del point["seconds"]
    return content


def test_a_codec_runs_the_parts_that_it_can_write(tmp_path: Path, capsys: Capture) -> None:
    star = find_experiment(ROW)
    assert isinstance(star, NetExperiment)
    both, beliefs, nets = (
        {name.split(" seed")[0] for name in replace(star, codec=codec).parts if "best" in name}
        for codec in ("difference+sign", "posterior", "spline")
    )
    stars = {f"best a={a}" for a in ("0.1", "0.2", "0.3", "0.5", "0.7")}
    assert both == {*stars, "best averaging"}
    assert beliefs == stars
    assert nets == {"best averaging"}
    options = ("--replicates", "1", "--part", "averaging", "--codec", "sign")
    found = parts(run(capsys, tmp_path, *options))["best averaging seed 0"]
    last = found["curve"]["points"][-1]
    # 64-8-10 has 610 weights: a bit each, and a scale for each of two matrices and two biases.
    assert last["bytes"] == last["round"] * 16 * (HEADER + 4 * 4 + 77)


def test_what_a_coded_part_depends_on() -> None:
    star = find_experiment(ROW)
    assert isinstance(star, NetExperiment)
    part = "best a=0.5 seed 0"
    plain, sign, half = (
        replace(star, codec=codec).part_settings(part) for codec in ("", "sign", "difference+sign")
    )
    assert "codec" not in plain
    assert sign["codec"] == {"codec": "sign"}
    assert {**sign, "behaviour": plain["behaviour"]} == {**plain, "codec": sign["codec"]}
    codecs = [behaviour_mark(f"codec: {name}") for name in ("difference", "sign")]
    assert half["behaviour"] == "+".join((plain["behaviour"], *codecs))
    assert half["codec"]["inner"] == {"codec": "sign"}
    # The same seed, the same draws: codecs are compared on them.
    assert replace(star, codec="sign").stream(part) == star.stream(part)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([ROW, "--codec", "singe"], "codec: expected one of plain, .*, got 'singe'; did you mean"),
        ([ROW, "--codec", "topk:shares=1"], "settings of topk: .*; did you mean 'share'"),
        (["fedavg-iid", "--codec", "sign"], "--codec: expected a row whose agents send each other"),
        (["fmnist-central", "--codec", "sign"], "--codec: expected a row whose agents send"),
        ([ROW, "--codec", "autoencoder"], "expected a trained autoencoder, got none"),
        (
            [ROW, "--recipe", "paper", "--codec", "spline"],
            "--codec: expected one that writes the beliefs of 'paper', got 'spline'; take the",
        ),
        ([ROW, "--codec", "posterior", "--part", "central"], "--part: expected words of best a="),
    ],
)
def test_codecs_of_no_use(arguments: list[str], said: str, tmp_path: Path, capsys: Capture) -> None:
    text = complaint(capsys, "run", *arguments, "--out", str(tmp_path))
    assert re.search(said, text)


def test_without_the_wavelets(capsys: Capture, monkeypatch: Patch, tmp_path: Path) -> None:
    from peerbayes.experiments import net_run

    net_run._misfit.cache_clear()
    monkeypatch.setitem(sys.modules, "pywt", None)
    text = complaint(capsys, "run", ROW, "--codec", "wavelet", "--out", str(tmp_path))
    assert "the codec 'wavelet' needs PyWavelets" in text
    assert "pip install -c constraints.txt '.[messages]'" in text

"""Campaigns in processes of their own: kept parts, kills, company, an interruption.

Workers are real processes that train real nets, of eight units on 8 x 8 digits.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from peerbayes.experiments.setting import is_held
from peerbayes.experiments.short_records import read_row

ROOT = Path(__file__).parents[3]
IID = "fmnist-2-iid: paper seed"
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a tiny campaign in a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str, name: str = "one") -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.peerbayes.tiny_nets", "campaign"]
        folders = ["--out", str(tmp_path / name), "--records", str(tmp_path / f"{name}-short")]
        process = subprocess.Popen(
            [*command, *folders, *options], cwd=ROOT, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    out, error = process.communicate(timeout=300)
    assert process.returncode == code, error
    return out, error


def test_parts_are_run_by_two_workers_and_found_done(start: Start) -> None:
    out, error = ended(start("--only", IID, "--workers", "2", "--json"))
    result = json.loads(out)
    assert sorted(result["finished"]) == [f"{IID} {seed}" for seed in range(3)]
    assert [one["state"] for one in result["parts"]] == ["done"] * 3
    assert error.count(": on record in ") == 3
    out, _ = ended(start("--only", IID, "--json"))
    assert json.loads(out)["finished"] == []


def without_times(folder: Path) -> dict[str, Any]:
    content = dict(read_row(folder, "star-mnist-1").parts["paper a=0.5 seed 0"].content)
    return {**content, "curve": {**content["curve"], "seconds": None}}


def test_a_killed_campaign_goes_on_and_ends_with_the_same_numbers(
    start: Start, tmp_path: Path
) -> None:
    part = "star-mnist-1: paper a=0.5 seed 0"
    ended(start("--only", part, name="whole"))
    first = start("--only", part)
    folder = tmp_path / "one" / "star-mnist-1.parts"
    deadline = time.monotonic() + 120
    while not list(folder.glob("*.unfinished.1.safetensors")):
        assert time.monotonic() < deadline
        assert first.poll() is None
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    # Its worker ends by itself, and holds nothing any more.
    lock = folder / ".paper-a-0.5-seed-0.held"
    while is_held(lock):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    out, _ = ended(start("--only", part, "--status", "--json"))
    (state,) = json.loads(out)["parts"]
    assert state["state"] == "missing"
    assert 0 < state["share"] < 1
    ended(start("--only", part))
    assert without_times(tmp_path / "one-short") == without_times(tmp_path / "whole-short")
    assert not list(folder.glob("*.unfinished*"))


def test_two_campaigns_share_the_work(start: Start) -> None:
    both = [start("--only", IID, "--json") for _ in range(2)]
    ends = [json.loads(ended(process)[0]) for process in both]
    finished = [name for end in ends for name in end["finished"]]
    assert sorted(finished) == [f"{IID} {seed}" for seed in range(3)]


def test_an_interruption_leaves_nobody_at_work(start: Start, tmp_path: Path) -> None:
    process = start("--only", IID)
    lock = tmp_path / "one" / "fmnist-2-iid.parts" / ".paper-seed-0.held"
    deadline = time.monotonic() + 120
    while not is_held(lock):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, error = ended(process, 130)
    assert error.strip().endswith("peerbayes: interrupted")
    assert not is_held(lock)

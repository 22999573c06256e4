"""Batches by every command."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import peerbayes as pb
from peerbayes.cli import main
from tests.peerbayes.commands import Capture, Patch


def test_the_commands_take_batches(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)

    def said(*arguments: str) -> Any:
        assert main([*arguments, "--json", "--quiet"]) == 0
        return json.loads(capsys.readouterr().out)

    one, four = (said("analyse", "two-coins", *b) for b in ((), ("--batch", "4")))
    assert four["problem"] == "two-coins batch=4"
    assert four["learning"]["batch"] == [4, 4]
    assert four["learning"]["rate"] == pytest.approx(4 * one["learning"]["rate"])
    assert four["samples"]["printed"] == -(-one["samples"]["printed"] // 4)
    exact = said("analyse", "two-coins", "--batch", "4,1", "--exact")
    assert exact["learning"]["rate"]["expression"] == "25/14*log(2) - 25/28*log(3)"
    assert exact["learning"]["batch"] == [4, 1]
    assert exact["samples"]["printed_p2"] in range(2 * exact["samples"]["printed"] - 1, 10**9)
    run = said("simulate", "two-coins", "--batch", "4,1", "--rounds", "20", "--replicates", "20")
    assert Path(run["record"]).exists()
    assert "batch" in run["record"]
    placed = said("place", "two-coins", "--batch", "1,4", "--replicates", "0")
    assert placed["problem"] == "two-coins batch=1,4"
    designed = said(
        "design", "two-coins", "--batch", "1,4", "--replicates", "0", "--write", "new.toml"
    )
    assert designed["rate"] > said("analyse", "two-coins", "--batch", "1,4")["learning"]["rate"]
    assert tomllib.loads(Path("new.toml").read_text("utf-8"))["learning"] == {"batch": [1, 4]}
    assert pb.load("new.toml").model.batches.tolist() == [1, 4]

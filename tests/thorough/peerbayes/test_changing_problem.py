"""Networks that change: slow mixing, and verification of a wrong prediction."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from peerbayes.cli import main
from peerbayes.front.verify import verify
from peerbayes.schemas import read_schema
from tests.peerbayes import test_changing_problem as quick
from tests.peerbayes.commands import Capture, Patch, json_of
from tests.peerbayes.test_changing_problem import ring


def test_a_network_that_mixes_too_slowly_has_a_rate_all_the_same(
    tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "slow.json"
    clocks = {"kind": "clocks", "rates": [10000.0, 1, "1/2", 1]}
    path.write_text(json.dumps(ring(clocks, agents=4)), encoding="utf-8")
    result = json_of(capsys, ["analyse", str(path), "--json"])
    assert result["learning"]["rate"] > 0
    assert result["learning"]["error_exponent"] is None
    assert any(note.startswith("exponent: ") for note in result["notes"])
    Draft202012Validator(read_schema("analyse")).validate(result)
    assert main(["analyse", str(path)]) == 0


def test_a_wrong_prediction_is_noticed(tmp_path: Path, monkeypatch: Patch) -> None:
    from peerbayes.kinds.shared import verify as measuring
    from theory import ExpectedLogRatio, expected_log_ratio

    def late(*args: Any, **options: Any) -> ExpectedLogRatio:
        means = expected_log_ratio(*args, **options)
        return replace(means, values=means.values * 1.05)

    monkeypatch.setattr(measuring, "expected_log_ratio", late)
    assert verify(["restless-ring delays"], seed=3, out=tmp_path).failed


def test_json_of_analyse_fits_its_schema(capsys: Capture) -> None:
    quick.test_json_of_analyse_fits_its_schema("restless-ring delays", capsys)

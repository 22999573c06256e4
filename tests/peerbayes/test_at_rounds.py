from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from exact import Run, simulate
from peerbayes.cli import main
from peerbayes.kinds.finite.at_rounds import at_rounds
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.schemas import read_schema
from peerbayes.tables import render
from tests.peerbayes.commands import Capture, json_of


def test_the_measured_frequency_lies_between() -> None:
    problem = load_problem("two-coins")
    found = at_rounds(problem, 40, delta=0.05).as_json()
    run = simulate(problem.network, problem.model, run=Run(rounds=40, replicates=20_000, seed=2))
    # Nobody in ten thousand: the interval is that of one test at 1 - 1e-4.
    seen = run.error_probability(confidence=1 - 1e-4)
    assert found["error_probability"]["lower"] <= seen.upper
    assert seen.lower <= found["error_probability"]["upper"]
    assert found["error_probability"]["upper"] <= 1.3 * found["error_probability"]["lower"]


@pytest.mark.parametrize("rounds", [1, 30_000])
def test_logs_agree_and_reach_further(rounds: int) -> None:
    result = at_rounds(load_problem("two-coins"), rounds, delta=0.05)
    found = result.as_json()
    chance, logs = found["error_probability"], found["log_error_probability"]
    assert logs["upper"] is not None
    if chance["upper"] > 1e-300:
        assert np.log(chance["upper"]) == pytest.approx(logs["upper"], abs=1e-9)
    else:
        assert logs["upper"] < -690
        assert "its logarithm" in render(result.tables())
    margin = found["margin"]
    assert margin["lower"] is None or margin["lower"] <= margin["upper"]


@pytest.mark.parametrize("form", [[]])
def test_the_command_line(form: list[str], tmp_path: Path, capsys: Capture) -> None:
    shared = ["--out", str(tmp_path), "--quiet"]
    result = json_of(capsys, ["analyse", "two-coins", "--rounds", "70", "--json", *form, *shared])
    Draft202012Validator(read_schema("analyse")).validate(result)
    # The certified sample size is 61 to 64 rounds.
    assert result["at_rounds"]["error_probability"]["upper"] <= 0.05
    assert main(["analyse", "two-coins", "--rounds", "70", *shared]) == 0
    assert "After 70 rounds" in capsys.readouterr().out
    assert main(["analyse", "two-coins", "--rounds", "0", *shared]) == 2

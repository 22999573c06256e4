"""`simulate` reports what the exact algorithm measured, and leaves a record of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import exact
import peerbayes as pb
from exact import Run
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.problem.problems import Problem
from peerbayes.problem.reading import problem_from_document
from peerbayes.records import read_record
from peerbayes.schemas import read_schema
from tests.peerbayes.documents import COINS, GAUSSIAN, changed
from theory import expected_log_ratio

SCHEMA = Draft202012Validator(read_schema("simulate"))


def loaded_coins() -> Problem:
    """Two agents whose coins are loaded: the second hypothesis is the reference."""
    document = changed("model.agents.0.truth", "loaded")
    return problem_from_document(changed("model.agents.1.truth", "loaded", base=document))


@pytest.mark.parametrize("name", ["two-coins", "p2-star a=0.1", "digits", "loaded"])
def test_numbers_are_those_of_the_simulation(name: str) -> None:
    problem = loaded_coins() if name == "loaded" else load_problem(name)
    result = pb.simulate(problem, rounds=30, replicates=20, seed=5).as_json()
    SCHEMA.validate(json.loads(json.dumps(result, allow_nan=False)))
    run = exact.simulate(problem.network, problem.model, run=Run(rounds=30, replicates=20, seed=5))
    best = run.reference[0]
    assert result["reference"][0] == problem.model.hypotheses[best]
    others = [m for m in range(len(problem.model.hypotheses)) if m != best]
    assert list(result["rates"]) == [problem.model.hypotheses[m] for m in others]
    for m in others:
        rate = result["rates"][problem.model.hypotheses[m]]
        np.testing.assert_array_equal(rate["mean"], run.mean[-1, :, m] / 30)
        np.testing.assert_array_equal(rate["standard_error"], run.standard_error[-1, :, m] / 30)
    chance = result["error_probability"]
    assert chance["estimate"] == run.errors[-1] / 20
    assert chance["lower"] <= chance["estimate"] <= chance["upper"]
    # Shares of all replicates and agents.
    assert sum(result["settled"].values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("document", [COINS, GAUSSIAN])
def test_rates_agree_with_the_exact_mean(document) -> None:  # type: ignore[no-untyped-def]
    problem = problem_from_document(document)
    result = pb.simulate(problem, rounds=50, replicates=2000, seed=1).as_json()
    best = problem.model.hypotheses.index(result["reference"][0])
    expected = expected_log_ratio(problem.network, problem.model, [50], best=best).values[0] / 50
    for name, rate in result["rates"].items():
        difference = np.array(rate["mean"]) - expected[:, problem.model.hypotheses.index(name)]
        # Five standard errors: a true mean is farther off in one of two million runs.
        assert (np.abs(difference) <= 5 * np.array(rate["standard_error"])).all()


def test_same_seed_same_record(tmp_path: Path) -> None:
    problem = load_problem("two-coins")
    paths = [
        pb.simulate(problem, rounds=20, replicates=10, seed=seed, out=tmp_path / folder)
        for folder, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    first, again, other = (summary.record_path for summary in paths)
    assert first is not None
    assert again is not None
    assert other is not None
    assert first.read_bytes() == again.read_bytes()
    assert first.name == again.name == "simulate-two-coins-n20-r10-s1.json"
    assert read_record(first).body["result"]["rates"] != read_record(other).body["result"]["rates"]


def test_the_record_holds_problem_and_result(tmp_path: Path) -> None:
    problem = load_problem("two-coins")
    summary = pb.simulate(problem, rounds=20, replicates=10, seed=1, out=tmp_path)
    assert summary.record_path is not None
    record = read_record(summary.record_path)
    assert record.kind == "simulate"
    again = problem_from_document(record.body["specification"])
    assert again.specification == problem.specification
    printed = summary.as_json()
    assert printed.pop("record") == str(summary.record_path)
    assert record.body["result"] == printed
    assert record.body["trajectory"]["rounds"][-1] == 20


def test_one_replicate_has_no_standard_error(tmp_path: Path) -> None:
    problem = load_problem("two-coins")
    result = pb.simulate(problem, rounds=5, replicates=1, seed=1, out=tmp_path).as_json()
    SCHEMA.validate(result)
    assert result["rates"]["loaded"]["standard_error"] == [None, None]
    assert any("one replicate" in note for note in result["notes"])


def test_progress_and_no_record_unless_asked() -> None:
    calls: list[tuple[int, int]] = []
    summary = pb.simulate(
        load_problem("two-coins"),
        rounds=5,
        replicates=3,
        seed=0,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert summary.record_path is None
    assert summary.as_json()["record"] is None
    assert calls[-1][0] == calls[-1][1]

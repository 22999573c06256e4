"""Problem files with faulty agents: what they mean, and what is wrong with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from peerbayes.cli import main
from peerbayes.front.verify import verify
from peerbayes.kinds.faulty.analyse import FaultyAnalysis
from peerbayes.kinds.faulty.verify import verify_faulty
from peerbayes.kinds.faulty.view import _facts
from peerbayes.problem.builtins.loading import load_problem, load_variants
from peerbayes.problem.problems import FaultyProblem
from peerbayes.problem.reading import problem_from_document
from peerbayes.schemas import read_schema
from tests.peerbayes.commands import Capture, json_of, text_of
from theory.robustness import BEHAVIOURS, RULES, Push, StuckData, TrimmedMean

PUSH = {"behaviour": "push", "hypothesis": "loaded", "strength": "1"}


def document(faults: dict[str, Any] | None, **network: Any) -> dict[str, Any]:
    """Coins on a torus of nine, with faults."""
    coin = {"count": 9, "truth": "fair", "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]]}
    content = {
        "name": "torus",
        "network": {"topology": "torus", "shape": [3, 3], "rule": "metropolis", **network},
        "model": {"hypotheses": ["fair", "loaded"], "agents": [coin]},
        "faults": faults,
    }
    return {key: value for key, value in content.items() if value is not None}


def faulty(faults: dict[str, Any]) -> FaultyProblem:
    problem = problem_from_document(document(faults))
    assert isinstance(problem, FaultyProblem)
    return problem


def test_a_file_says_who_does_what() -> None:
    problem = faulty(
        {
            "rule": "trimmed-mean",
            "tolerate": 1,
            "agents": [
                {"agents": [4], **PUSH},
                {"agents": [0], "behaviour": "stuck-data", "outcome": 0},
            ],
            "beyond_tolerance": True,
        }
    )
    assert list(problem.faults.behaviours) == [0, 4]
    assert problem.faults.rule == TrimmedMean(1)
    assert problem.faults.behaviours[4] == Push("loaded", 1.0)
    assert isinstance(problem.faults.behaviours[0], StuckData)


FAULTS: list[dict[str, Any]] = [
    {"behaviour": "constant-belief", "belief": ["1/10", "9/10"]},
    {"behaviour": "silent"},
    {"behaviour": "stuck-data", "outcome": 1},
    PUSH,
    {"behaviour": "random-lies", "scale": "2"},
    {"behaviour": "split", "first": "fair", "second": "loaded", "strength": 1.0},
    {"behaviour": "colluding", "hypothesis": "loaded"},
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["behaviour"])
def test_every_behaviour_can_be_written(fault: dict[str, Any]) -> None:
    content = {"agents": [{"agents": [4], **fault}]}
    problem = faulty(content)
    assert isinstance(problem.faults.behaviours[4], BEHAVIOURS[fault["behaviour"]])
    analysis = FaultyAnalysis(problem)
    Draft202012Validator(read_schema("analyse")).validate(analysis.as_json())


def test_what_is_claimed_of_a_liar_holds() -> None:
    check_claims(PUSH)


def check_claims(fault: dict[str, Any]) -> None:
    """That nothing that is claimed where agent 4 is faulty is broken."""
    verification = verify_faulty(faulty({"agents": [{"agents": [4], **fault}]}), seed=1)
    assert not any(comparison.is_broken for comparison in verification.comparisons)


def test_a_constant_liar_stops_everybody_and_trimming_does_not_let_it() -> None:
    liar = {"agents": [4], "behaviour": "constant-belief", "belief": ["1/2", "1/2"]}
    plain = FaultyAnalysis(faulty({"agents": [liar]}))
    assert plain.averaging is not None
    assert not plain.averaging.learns
    np.testing.assert_allclose(plain.averaging.rates, 0, atol=1e-12)
    verification = verify_faulty(
        faulty({"rule": "trimmed-mean", "tolerate": 1, "agents": [liar]}), seed=1
    )
    assert verification.as_record().rates[0].lowest > 0.05


def test_the_page_tells_rates_of_the_slowest_hypothesis() -> None:
    """The hypothesis of the figure, which need not stand first in the file."""
    content = document({"rule": "median", "agents": [{"agents": [4], **PUSH}]})
    content["model"]["hypotheses"] = ["fair", "loaded", "nearly"]
    likelihood = content["model"]["agents"][0]["likelihood"]
    content["model"]["agents"][0]["likelihood"] = [*likelihood, [["11/20", "9/20"]]]
    problem = problem_from_document(content)
    assert isinstance(problem, FaultyProblem)
    record = verify_faulty(problem, seed=1).as_record()
    facts = {fact.name: fact.value for fact in _facts(record)}
    by_name = {rate.hypothesis: rate for rate in record.rates}
    assert by_name["nearly"].mean < by_name["loaded"].mean
    assert facts["Rejected most slowly"] == "nearly"
    assert float(facts["Rate, nobody faulty"]) == pytest.approx(
        by_name["nearly"].faultless, rel=1e-3
    )


def test_builtins_cover_every_rule() -> None:
    problems = load_variants("liars-torus")
    rules = {
        type(problem.faults.rule) for problem in problems if isinstance(problem, FaultyProblem)
    }
    assert rules == set(RULES.values())
    titles = {problem.name: problem.title for problem in problems}
    assert titles["liars-torus median seldom 1"] == (
        "25 agents on a torus, one of whom lies; the others take medians, every 300 rounds"
    )
    assert "none of whom lies" in titles["liars-torus clip 0"]
    default = load_problem("liars-torus")
    assert isinstance(default, FaultyProblem)
    assert len(default.faults.behaviours) == 1


def test_verify_holds_and_leaves_a_report(tmp_path: Path) -> None:
    check_verification(["liars-torus trimmed-mean seldom 1"], tmp_path)


def check_verification(names: list[str], folder: Path) -> None:
    """That what is claimed holds and is reported; the last of the problems talks seldom."""
    outcome = verify(names, seed=2, out=folder)
    assert not outcome.failed
    assert {statement.problem for statement in outcome.statements} == set(names)
    page = outcome.report_path.read_text(encoding="utf-8")
    assert "Faulty agents are red" in page
    # Valid and tight: the promise of agents that talk seldom is above zero, and a third is kept.
    seldom = [s for s in outcome.statements if s.problem == names[-1]]
    assert seldom[0].side == "lower"
    assert seldom[0].predicted is not None
    assert seldom[0].measured is not None
    assert 0 < seldom[0].predicted <= seldom[0].measured


@pytest.mark.parametrize("rule", ["median", "clip"])
def test_symmetric_evidence_costs_no_rule_anything(rule: str) -> None:
    problem = load_problem(f"liars-torus {rule} 0")
    assert isinstance(problem, FaultyProblem)
    statements = verify_faulty(problem, seed=4).comparisons
    exact = [s for s in statements if "symmetric evidence" in s.note]
    assert len(exact) == 1
    assert exact[0].holds
    assert exact[0].measured is not None
    # Tight: a score far below one would say that the allowance is never used.
    assert exact[0].measured > 0.1


def test_skewed_evidence_is_not_taken_for_symmetric() -> None:
    content = document({"rule": "median"})
    content["model"]["agents"][0]["likelihood"] = [[["1/10", "9/10"]], [["1/100", "99/100"]]]
    problem = problem_from_document(content)
    assert isinstance(problem, FaultyProblem)
    assert verify_faulty(problem, seed=4).comparisons == ()


def test_where_nothing_is_promised_nothing_is_claimed(tmp_path: Path, capsys: Capture) -> None:
    assert main(["verify", "liars-torus median 3", "--quiet", "--out", str(tmp_path)]) == 0
    assert "measured only, nothing is claimed: liars-torus median 3" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "it was measured only" in page
    assert "✓" not in page


def test_simulate_counts_the_honest_alone(tmp_path: Path, capsys: Capture) -> None:
    options = ["--rounds", "60", "--replicates", "20", "--json", "--quiet", "--out", str(tmp_path)]
    result = json_of(capsys, ["simulate", "liars-torus", *options])
    assert len(result["rates"]["loaded"]["mean"]) == 24
    assert sum(result["settled"].values()) == pytest.approx(1)


def test_tables_name_the_rule(capsys: Capture) -> None:
    text = text_of(capsys, ["analyse", "liars-torus"])
    assert "trimmed-mean 1" in text
    assert "3-robust" in text


def test_a_problem_says_nothing_of_a_pivot() -> None:
    """No file says against which hypothesis rules act, and nothing else in a problem asks."""
    problem = load_problem("liars-torus")
    assert isinstance(problem, FaultyProblem)
    with pytest.raises(ValueError, match=r"^faults\.against: expected faults that act on every"):
        FaultyProblem(problem.problem, replace(problem.faults, against=0))

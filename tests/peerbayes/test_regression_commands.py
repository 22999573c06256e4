"""Regressions, and the diabetes data, through the commands: right numbers, in their schemas."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import peerbayes as pb
from empirical import load_diabetes
from peerbayes import cli
from peerbayes.kinds.regression.analyse import analyse_regression
from peerbayes.kinds.regression.curves import (
    expected_calibration,
    first_order_error,
    learners,
    run_learner,
)
from peerbayes.kinds.regression.simulate import recorded_rounds
from peerbayes.kinds.regression.verify import verify_regression
from peerbayes.problem.builtins.families import BUILTINS
from peerbayes.problem.builtins.loading import load_problem, load_variants
from peerbayes.problem.problems import RegressionProblem
from peerbayes.problem.reading import problem_from_document
from peerbayes.records import read_record
from peerbayes.schemas import read_schema
from peerbayes.settings.questions import Analyse
from tests.peerbayes.commands import Capture, Patch, complaint, text_of
from tests.peerbayes.regressions import LINE, NORMAL, shorten_verification
from theory.regression import alone_error, predicted_error, regression_limits

# Regressions through `analyse`, `simulate` and `verify` ------------------------------------------


def regression(document: dict[str, Any]) -> RegressionProblem:
    problem = problem_from_document(document)
    assert isinstance(problem, RegressionProblem)
    return problem


def output(schema: str, arguments: list[str], capsys: Capture, *, code: int = 0) -> Any:
    """The JSON of a command, checked against its schema."""
    assert cli.main([*arguments, "--json", "--quiet"]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    result = json.loads(captured.out)
    Draft202012Validator(read_schema(schema)).validate(result)
    return result


@pytest.fixture
def files(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.chdir(tmp_path)
    for document in (LINE, NORMAL):
        (tmp_path / f"{document['name']}.json").write_text(json.dumps(document))
    return tmp_path


@pytest.fixture
def quick(monkeypatch: Patch) -> None:
    shorten_verification(monkeypatch)


def test_analyse_prints_the_constants_of_the_papers(files: Path, capsys: Capture) -> None:
    found = output("analyse", ["analyse", "p1-regression"], capsys)["regression"]
    # v = (6/7, 1/7): A = diag(1, 2/7, 3/28), B = diag(37/49, 12/49, 3/196) in units of 1/α², so
    # that A⁻¹BA⁻¹ = diag(37/49, 3, 4/3) and S_test = diag(1, 1/3, 3/4).
    assert found["excess_error_constant"] == pytest.approx(0.64 * 135 / 49, rel=1e-12)
    # A⁻¹ = diag(1, 7/2, 28/3).
    assert found["reported_error_constant"] == pytest.approx(0.64 * (1 + 7 / 6 + 7), rel=1e-12)
    # All data in one place: diag(2, 1/3, 3/4). A central node: three coefficients, α² each.
    assert found["central_constant"] == pytest.approx(0.64 * 2.5, rel=1e-12)
    assert found["central_node_constant"] == pytest.approx(0.64 * 3, rel=1e-12)
    # Alone, agent 0 keeps its prior mean 0 of the third coefficient: .8² · 3/4.
    assert found["alone"] == pytest.approx([0.64 * 0.75, 0.25 / 3], rel=1e-12)
    np.testing.assert_allclose(
        found["estimator_covariance"], 0.64 * np.diag([37 / 49, 3, 4 / 3]), rtol=1e-12
    )
    np.testing.assert_allclose(
        found["calibration"]["coordinates"], [37 / 49, 6 / 7, 1 / 7], rtol=1e-12
    )
    assert found["calibrating_tempering"] == pytest.approx([7 / 6, 7], rel=1e-12)
    assert found["best_stationary_distribution"] == pytest.approx([0.5, 0.5], rel=1e-12)
    assert found["best_constant"] == pytest.approx(1.6, rel=1e-12)


def test_exact_numbers_are_fractions(files: Path, capsys: Capture) -> None:
    result = output("analyse", ["analyse", "p1-regression", "--exact"], capsys)
    assert result["arithmetic"] == "exact"
    assert result["network"]["stationary_distribution"] == ["6/7", "1/7"]
    found = result["regression"]
    assert found["excess_error_constant"] == "432/245"
    assert found["alone"] == ["12/25", "1/12"]
    assert found["calibration"]["coordinates"] == ["37/49", "6/7", "1/7"]


@pytest.mark.parametrize("name", ["p1-regression", "p2-regression tempered", "line.json"])
def test_exact_and_floating_numbers_agree(name: str, files: Path, capsys: Capture) -> None:
    floats = output("analyse", ["analyse", name], capsys)["regression"]
    exact = output("analyse", ["analyse", name, "--exact"], capsys)["regression"]
    for key, value in exact.items():
        if key == "calibration":
            value, other = value["coordinates"], floats[key]["coordinates"]
        elif isinstance(value, bool | int):
            assert floats[key] == value
            continue
        else:
            other = floats[key]
        size = np.shape(value)
        numbers = [float(Fraction(entry)) for entry in np.ravel(value)]
        # A handful of roundings in matrices of at most five rows.
        np.testing.assert_allclose(
            np.reshape(numbers, size), other, rtol=1e-12, atol=1e-14, err_msg=key
        )


def test_tempering_calibrates_and_reaches_the_pooled_error(files: Path, capsys: Capture) -> None:
    found = output("analyse", ["analyse", "p1-regression tempered", "--exact"], capsys)
    found = found["regression"]
    assert found["calibration"]["coordinates"] == ["1", "1", "1"]
    assert found["excess_error_constant"] == found["reported_error_constant"]
    assert found["excess_error_constant"] == found["central_constant"]


def test_what_nobody_sees_is_said(files: Path, capsys: Capture) -> None:
    document = json.loads(json.dumps(LINE))
    document["regression"]["agents"][1]["ranges"] = ["1", ["0", "2"], "0"]
    (files / "blind.json").write_text(json.dumps(document))
    for arguments in (["analyse", "blind.json"], ["analyse", "blind.json", "--exact"]):
        result = output("analyse", arguments, capsys)
        found = result["regression"]
        assert found["identified"] is False
        # The prior's mean 0 of the third coefficient stays: .8² · 3/4.
        assert float(Fraction(found["limit"])) == pytest.approx(0.48, rel=1e-12)
        assert found["central_constant"] is None
        assert found["calibration"]["coordinates"][2] is None
        assert any("calibration: null" in note for note in result["notes"])


@pytest.mark.parametrize("name", ["p1-regression", "normal.json", "p2-regression"])
@pytest.mark.parametrize("option", [[], ["--exact"]])
def test_tables(name: str, option: list[str], files: Path, capsys: Capture) -> None:
    if name == "normal.json" and option:
        return
    text = text_of(capsys, ["analyse", name, *option])
    assert all(len(row) <= 80 for row in text.splitlines())
    for words in ("cooperating", "agent 1 alone", "central node", "honest"):
        assert words in text
    if option and name == "p1-regression":
        assert "432/245" in text


def test_simulate(files: Path, capsys: Capture) -> None:
    arguments = ["simulate", "normal.json", "--rounds", "60", "--replicates", "200", "--seed", "4"]
    result = output("simulate", arguments, capsys)
    assert (result["rounds"], result["replicates"], result["seed"]) == (60, 200, 4)
    found = result["regression"]
    problem = regression(NORMAL)
    # The expected error to second order; agents have 200 runs, whose mean is within five
    # standard errors.
    expected = predicted_error(problem.network, problem.regression, [60])
    for key, values in (("excess_error", expected.excess_error), ("reported_error", None)):
        mean, error = np.array(found[key]["mean"]), np.array(found[key]["standard_error"])
        assert mean.shape == error.shape == (3,)
        if values is not None:
            assert (np.abs(mean - values[0]) < 5 * error + 0.05 * values[0]).all()
    record = read_record(result["record"])
    assert record.kind == "simulate"
    assert record.body["form"] == "regression"
    assert record.body["specification"] == NORMAL
    assert record.body["curves"]["rounds"] == recorded_rounds(60)
    again = output("simulate", [*arguments, "--out", "other"], capsys)
    assert again["regression"] == found


def test_one_replicate_has_no_standard_error(files: Path, capsys: Capture) -> None:
    arguments = ["simulate", "line.json", "--rounds", "5", "--replicates", "1"]
    result = output("simulate", arguments, capsys)
    assert result["regression"]["excess_error"]["standard_error"] == [None, None]
    assert any("one replicate" in note for note in result["notes"])
    assert cli.main([*arguments, "--quiet"]) == 0
    assert "Measured at the last round" in capsys.readouterr().out


def test_a_simulation_needs_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.write_text("")
    with pytest.raises(ValueError, match="a folder"):
        pb.simulate(regression(LINE), rounds=2, replicates=2, seed=0, out=path)


@pytest.mark.usefixtures("quick")
def test_verify(files: Path, capsys: Capture) -> None:
    result = output("verify", ["verify", "line.json", "normal.json", "--out", "o"], capsys)
    assert all(statement["holds"] for statement in result)
    kinds = {statement["kind"] for statement in result}
    assert kinds == {"exact", "bound", "asymptotic"}
    words = " | ".join(s["statement"] for s in result if s["problem"] == "line")
    for expected in (
        "excess error after 200 rounds, cooperating",
        "agent 1 alone",
        "all data in one place",
        "central node",
        "n × excess error of the network",
        "n × error that the network reports",
        "stays for ever",
        "true error over reported error",
        "true over reported variance of coefficient 2",
        "cooperating over central node",
    ):
        assert expected in words
    # The noises of the agents of the other file differ: it has no central node.
    assert not any("central node" in s["statement"] for s in result if s["problem"] == "normal")
    body = read_record(files / "o" / "verify.json").body
    assert [entry["form"] for entry in body["problems"]] == ["regression"] * 2
    page = (files / "o" / "report.html").read_text(encoding="utf-8")
    assert page.count('<svg class="plot"') == 8


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("spoil", "broken"),
    [
        ("excess_error", "excess error after 200 rounds, cooperating"),
        ("reported_error", "error that the network reports after 200 rounds"),
        ("variance", "true over reported variance of coefficient 0"),
    ],
)
def test_verify_finds_a_wrong_measurement(spoil: str, broken: str, monkeypatch: Patch) -> None:
    from exact.regression import simulate_regression
    from peerbayes.kinds.regression import curves as regression_curves

    def wrong(*arguments: Any, **options: Any) -> Any:
        run = simulate_regression(*arguments, **options)
        # Three hundred replicates know a variance to a twelfth.
        changes = {spoil: (3.0 if spoil == "variance" else 1.5) * getattr(run, spoil)}
        if spoil == "excess_error":
            changes["network_error"] = 1.5 * run.network_error
        return replace(run, **changes)

    monkeypatch.setattr(regression_curves, "simulate_regression", wrong)
    result = verify_regression(regression(LINE), seed=1)
    failed = [c.statement for c in result.comparisons if c.is_broken]
    assert any(words.startswith(broken) for words in failed)


def test_pooled_learner_is_the_central_one() -> None:
    problem = regression(NORMAL)
    pooled = next(one for one in learners(problem) if one.role == "pooled")
    ours = regression_limits(pooled.network, pooled.model).excess_error_constant
    # N likelihoods to the power N/N: a plain posterior of everybody's pairs, but for claims.
    plain = regression(json.loads(json.dumps(NORMAL)))
    expected = analyse_regression(plain).limits.central_constant
    assert ours == pytest.approx(expected, rel=1e-12)


def test_expected_calibration_tends_to_its_limit() -> None:
    problem = regression(LINE)
    learner = learners(problem, alone=[])[0]
    far = expected_calibration(learner, rounds=3000, draws=20, seed=2)
    limit = analyse_regression(problem).calibration.coordinates
    # Twenty draws of 3000 inputs: second moments to 1 %, and a transient of 28/(3 · 3000).
    np.testing.assert_allclose(far, limit, rtol=0.03)


def test_curves_have_their_predictions_through_them() -> None:
    problem = regression(LINE)
    for learner in learners(problem):
        curve = run_learner(
            learner, rounds=100, record=[1, 10, 100], replicates=400, draws=40, seed=6
        )
        for means in (curve.error, curve.reported):
            assert (np.abs(means.measured - means.predicted) <= means.allowed).all()
        # Tight as well: chance may move a curve by a third at most.
        assert (curve.error.allowed < 0.5 * curve.error.predicted).all()


def test_exact_analysis_knows_its_problem() -> None:
    result = analyse_regression(regression(LINE), Analyse(exact=True)).as_json()
    assert result["problem"] == "line"


def check_no_false_alarm(seed: int) -> None:
    """That all holds of both problems (here `test_verify` sees it of one seed)."""
    for document in (LINE, NORMAL):
        result = verify_regression(regression(document), seed=seed)
        assert [c.statement for c in result.comparisons if not c.holds] == []


@pytest.mark.usefixtures("quick")
def test_standard_errors_have_the_predictions_in_them() -> None:
    result = verify_regression(regression(LINE), seed=3)
    curve = result.curves[0]
    sides = {
        "excess error after 200 rounds, cooperating": (
            curve.run.network_standard_error[-1],
            curve.expected.standard_error[-1].mean(),
        ),
        "error that the network reports after 200 rounds": (
            curve.run.reported_standard_error[-1].mean(),
            curve.expected.reported_standard_error[-1].mean(),
        ),
    }
    found = {c.statement: c for c in result.comparisons}
    for statement, (measured, predicted) in sides.items():
        assert predicted > 0
        one = found[statement]
        # To rounding of a mean of a few agents.
        assert one.standard_error == pytest.approx(np.hypot(measured, predicted), rel=1e-12)
        assert f"averaged over {curve.expected.draws} draws of inputs" in one.note
    # A small problem affords more draws than the least.
    assert curve.expected.draws == 100


def test_what_is_too_large_to_verify_is_said() -> None:
    document = json.loads(json.dumps(NORMAL))
    # 7e5 numbers a round and 50 rounds are beyond the memory that predictions may take.
    size = 60
    document["network"]["agents"] = 200
    eye = np.eye(size).tolist()
    document["regression"] = {
        "theta": [0.5] * size,
        "noise_std": 1.0,
        "prior_std": 1.0,
        "agents": [{"count": 200, "second_moment": eye}],
        "test_second_moment": eye,
    }
    with pytest.raises(ValueError, match=r"normal: regression: expected agents times squared"):
        verify_regression(regression(document))


# The regressions on scikit-learn's diabetes data -------------------------------------------------


@pytest.fixture(scope="module")
def problems() -> dict[str, RegressionProblem]:
    loaded = load_variants("diabetes")
    assert all(isinstance(problem, RegressionProblem) for problem in loaded)
    return {str(problem.parameters["split"]): problem for problem in loaded}  # type: ignore[misc]


def test_variants(problems: dict[str, RegressionProblem]) -> None:
    assert tuple(p.name for p in problems.values()) == BUILTINS["diabetes"].variants
    assert load_problem("diabetes").name == "diabetes features"
    for problem in problems.values():
        assert not problem.is_exact
        assert problem.regression.has_targets
        np.testing.assert_allclose(
            problem.network.stationary_distribution, np.array([2, 3, 2]) / 7, rtol=1e-14
        )


def test_the_network_adds_up_what_each_group_finds_by_itself(
    problems: dict[str, RegressionProblem],
) -> None:
    table = load_diabetes(seed=0)
    problem = problems["features"]
    theta = np.zeros(11)
    for kind in problem.regression.kinds:
        seen = np.flatnonzero(kind.inputs.any(axis=0))
        theta[seen] += np.linalg.lstsq(table.inputs[:, seen], table.targets, rcond=None)[0]
    found = analyse_regression(problem).limits
    # Centred features and labels: every group's bias is zero, to rounding.
    np.testing.assert_allclose(found.limit_estimate, theta, atol=1e-12)
    gap = theta - table.least_squares
    expected = gap @ (table.inputs.T @ table.inputs / 300) @ gap
    assert found.limit == pytest.approx(expected, rel=1e-10)
    # Worse together than any of them alone; with uncorrelated groups nothing is lost.
    assert found.limit > 2 * found.alone.max()
    assert analyse_regression(problems["components"]).limits.limit < 1e-20


@pytest.mark.parametrize("split", ["features", "rows"])
def test_the_coefficient_of_one_over_n_is_that_of_the_error_itself(
    split: str, problems: dict[str, RegressionProblem]
) -> None:
    problem = problems[split]
    analysis = analyse_regression(problem)
    limits = analysis.limits
    # Two late rounds: the difference leaves the limit out. What goes with 1/n^2 is more for agents
    # alone, whose prior weighs most in the directions that few of their patients show.
    n = 10**6
    curve = predicted_error(problem.network, problem.regression, [n, 2 * n], order=1).excess_error
    # Each agent's coefficient is its own where the estimates miss theta.
    assert 2 * n * (curve[0] - curve[1]).mean() == pytest.approx(analysis.over_n, rel=1e-3)
    lone = alone_error(problem.regression, [n, 2 * n], order=1).excess_error
    assert 2 * n * (lone[0] - lone[1]) == pytest.approx(analysis.alone_over_n, rel=1e-2)
    # What the error about the limit of the estimates says is another number.
    assert abs(analysis.over_n - limits.excess_error_constant) > 0.01


def test_learners_are_those_that_can_be(problems: dict[str, RegressionProblem]) -> None:
    roles = [learner.role for learner in learners(problems["rows"])]
    assert roles == ["cooperating", "alone", "alone", "alone", "central node"]
    assert all(first_order_error(one, 100)[1] > 0 for one in learners(problems["rows"]))


def test_commands(capsys: Capture) -> None:
    text = text_of(capsys, ["analyse", "diabetes rows"])
    assert "agent 2 alone" in text
    assert "labels of a data set" in " ".join(text.split())
    assert cli.main(["analyse", "diabetes components"]) == 0
    row = next(r for r in capsys.readouterr().out.splitlines() if "cooperating" in r)
    assert row.split() == ["cooperating", "0", "9.137"]
    text = complaint(capsys, "analyse", "diabetes", "--exact")
    assert "a data set, in floating point" in text

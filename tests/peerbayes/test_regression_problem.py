"""Files with a ``[regression]`` table become the right models, exactly, and go back."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from peerbayes.cli import main
from peerbayes.problem.builtins.families import BUILTINS
from peerbayes.problem.builtins.loading import load_problem, load_variants
from peerbayes.problem.problems import Problem, RegressionProblem, of_kind
from peerbayes.problem.reading import problem_from_document, read_problem
from peerbayes.problem.regression_section import moment_of
from peerbayes.schemas import read_schema
from tests.peerbayes.commands import Capture, complaint
from tests.peerbayes.documents import REMOVE, changed
from tests.peerbayes.regressions import LINE, NORMAL
from theory.regression.rational_model import four_agents, two_nodes

TOML = """\
name = "line"
[network]
weights = [["9/10", "1/10"], ["3/5", "2/5"]]
[regression]
theta = ["-0.3", "0.5", "0.8"]
noise_std = "0.8"
prior_variance = "1/2"
test_ranges = ["1", ["-1", "1"], ["-1.5", "1.5"]]
[[regression.agents]]
ranges = ["1", ["-1", "1"], "0"]
[[regression.agents]]
ranges = ["1", "0", ["-1.5", "1.5"]]
"""
PROBLEM = Draft202012Validator(read_schema("problem"))


def line(path: str, value: object, *, base: dict[str, Any] = LINE) -> dict[str, Any]:
    """The example with one entry of its table changed."""
    return changed(f"regression.{path}", value, base=base)


def test_a_toml_file_is_the_problem_it_describes(tmp_path: Path) -> None:
    path = tmp_path / "line.toml"
    path.write_text(TOML, encoding="utf-8")
    problem = read_problem(path)
    assert isinstance(problem, RegressionProblem)
    assert problem.is_exact
    model = problem.regression
    np.testing.assert_array_equal(model.theta, [-0.3, 0.5, 0.8])
    # E x² = w²/3 on [−w, w]; the bias is a constant, what is not seen is zero.
    np.testing.assert_allclose(model.second_moments[0], np.diag([1, 1 / 3, 0]), rtol=1e-15)
    np.testing.assert_allclose(model.second_moments[1], np.diag([1, 0, 0.75]), rtol=1e-15)
    np.testing.assert_allclose(model.test_second_moment, np.diag([1, 1 / 3, 0.75]), rtol=1e-15)
    np.testing.assert_array_equal(model.prior_covariance, np.diag([0.5, 0.5, 0.5]))
    assert model.noise_std == 0.8
    assert read_problem(path).specification == problem.specification


def test_everything_an_agent_may_have_reaches_it() -> None:
    problem = problem_from_document(NORMAL)
    assert isinstance(problem, RegressionProblem)
    model = problem.regression
    assert not problem.is_exact
    assert list(model.assignment) == [0, 0, 1]
    first, last = model.agent(1), model.agent(2)
    assert (first.batch, first.tempering, first.noise_std) == (2, 3.0, 0.5)
    assert (last.batch, last.noise_std, last.claimed_noise_std) == (1, 1.5, 1.0)
    assert first.claimed_noise_std == 0.5
    # Agents with a prior of their own keep it, the others have the table's.
    np.testing.assert_array_equal(model.prior_covariances[1], np.diag([4.0, 4.0]))
    np.testing.assert_array_equal(model.prior_covariances[2], [[1.0, 0.2], [0.2, 2.0]])
    np.testing.assert_array_equal(model.prior_means[0], [0.5, 0.0])


@pytest.mark.parametrize("document", [LINE, NORMAL])
def test_round_trip(document: dict[str, Any], tmp_path: Path) -> None:
    problem = problem_from_document(document)
    assert isinstance(problem, RegressionProblem)
    specification = problem.specification
    assert specification is not None
    assert specification.document() == document
    PROBLEM.validate(document)
    path = tmp_path / "again.json"
    path.write_text(specification.to_json(), encoding="utf-8")
    assert read_problem(path).specification == specification


def test_a_standard_deviation_is_a_variance() -> None:
    document = line("prior_variance", REMOVE)
    document["regression"]["prior_std"] = "3/2"
    problem = problem_from_document(document)
    assert isinstance(problem, RegressionProblem)
    np.testing.assert_array_equal(problem.regression.prior_covariance, 2.25 * np.eye(3))
    assert problem.is_exact


def test_a_prior_in_unlike_units_is_read() -> None:
    own = [[1.0, 0.0], [0.0, 1e-12]]
    moment = [[1e14, 0.0], [0.0, 1e-2]]
    document = line("prior_covariance", own, base=NORMAL)
    document["regression"]["agents"][0]["second_moment"] = moment
    problem = problem_from_document(document)
    assert isinstance(problem, RegressionProblem)
    assert problem.regression.prior_covariances[2].tolist() == own
    assert problem.regression.agent(0).second_moment.tolist() == moment


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 20)), min_size=1, max_size=4))
def test_moments_of_ranges_are_exact(pairs: list[tuple[int, int]]) -> None:
    ranges = [(Fraction(low, 7), Fraction(low + width, 7)) for low, width in pairs]
    moment = moment_of(ranges, None)
    # By Simpson's rule, which integrates squares exactly: ends, and four times the middle.
    for i, (low, high) in enumerate(ranges):
        middle = (low + high) / 2
        assert moment[i][i] == (low**2 + 4 * middle**2 + high**2) / 6
        for j in range(i):
            assert moment[i][j] == moment[j][i] == middle * sum(ranges[j]) / 2


@pytest.mark.parametrize(
    ("name", "case"), [("p1-regression", two_nodes()), ("p2-regression", four_agents())]
)
def test_the_papers_regressions_are_those_of_theory(name: str, case: Any) -> None:
    problem = load_problem(name)
    assert isinstance(problem, RegressionProblem)
    ours, theirs = problem.rational_regression, case.model
    assert ours.theta == theirs.theta
    assert ours.prior_covariance == theirs.prior_covariance
    assert ours.test_second_moment == theirs.test_second_moment
    assert [kind.moment for kind in ours.kinds] == [kind.moment for kind in theirs.kinds]
    assert [kind.weight for kind in ours.kinds] == [kind.weight for kind in theirs.kinds]
    assert problem.rational_network.rows == case.network.rows


@pytest.mark.parametrize("family", ["p1-regression", "p2-regression"])
def test_builtin_variants(family: str) -> None:
    problems = load_variants(family)
    assert [p.name for p in problems] == [
        family, f"{family} uniform v", f"{family} tempered"
    ] == list(BUILTINS[family].variants)  # fmt: skip
    for problem in problems:
        assert isinstance(problem, RegressionProblem)
        assert problem.is_exact
        assert problem.family == family
        assert problem.specification is not None
        PROBLEM.validate(problem.specification.document())
    _, uniform, tempered = problems
    np.testing.assert_allclose(
        uniform.network.stationary_distribution, 1 / uniform.network.agents, rtol=1e-13
    )
    powers = [kind.tempering for kind in tempered.regression.kinds]
    # The powers are typed: 1/v of the network, exactly.
    v = tempered.rational_network.stationary_distribution
    exact = [Fraction(kind.tempering) for kind in tempered.rational_regression.kinds]
    assert exact == [1 / share for share in v]
    np.testing.assert_allclose(powers, [float(power) for power in exact], rtol=1e-15)


def test_doubles_are_not_exact(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "normal.json"
    path.write_text(json.dumps(NORMAL), encoding="utf-8")
    assert "floating-point" in complaint(capsys, "analyse", str(path), "--exact")


def test_exact_numbers_need_one_prior(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "priors.json"
    path.write_text(json.dumps(line("agents.1.prior_std", "2")), encoding="utf-8")
    assert main(["analyse", str(path)]) == 0
    capsys.readouterr()
    text = complaint(capsys, "analyse", str(path), "--exact")
    assert "agents[1]: expected the prior of the first agent" in text


def test_formula_takes_the_network(capsys: Capture) -> None:
    assert main(["formula", "p1-regression", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"][0]["stationary"]["expression"] == "6/7"


def test_usual_problems_pass_through() -> None:
    problem = load_problem("two-coins")
    assert of_kind(problem, Problem, "this") is problem


def test_a_problem_needs_as_many_agents_in_both_parts() -> None:
    problem = problem_from_document(LINE)
    assert isinstance(problem, RegressionProblem)
    other = load_problem("p2-regression").network
    with pytest.raises(ValueError, match=r"expected 4 agents, .* got counts that add up to 2"):
        RegressionProblem("p", "", other, problem.regression)

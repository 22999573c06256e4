"""The regressions on scikit-learn's diabetes data: limits by least squares, run and predicted."""

from __future__ import annotations

import numpy as np
import pytest

from empirical import load_diabetes
from peerbayes import cli
from peerbayes.kinds.regression.analyse import analyse_regression
from peerbayes.kinds.regression.curves import first_order_error, learners
from peerbayes.problem.builtins.families import BUILTINS
from peerbayes.problem.builtins.loading import load_problem, load_variants
from peerbayes.problem.problems import RegressionProblem
from tests.peerbayes.commands import Capture, complaint, text_of
from theory.regression import alone_error, predicted_error


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

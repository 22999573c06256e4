"""Value objects: what they hold, what they share, and what they refuse."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

from theory.regression import RegressionAgent, RegressionModel
from theory.regression.positive import Factor

ONE = RegressionAgent(ranges=[[1, 1], [-1, 1]], noise_std=0.8)


def build(**changes: Any) -> RegressionModel:
    parts: dict[str, Any] = {
        "theta": [1.0, 2.0],
        "kinds": [ONE, ONE],
        "prior_covariance": np.eye(2),
        "test_second_moment": np.eye(2),
    }
    return RegressionModel(**{**parts, **changes})


def test_entries_that_are_one_object_are_one_kind() -> None:
    two = RegressionAgent(ranges=[[1, 1], [0, 0]], noise_std=0.8)
    model = build(kinds=[ONE, two, ONE, ONE])
    assert len(model.kinds) == 2
    assert model.assignment.tolist() == [0, 1, 0, 0]
    again = RegressionModel.from_agents(
        [1, 2], [ONE, two], counts=[2, 1], prior_covariance=np.eye(2), test_second_moment=np.eye(2)
    )
    assert again.assignment.tolist() == [0, 0, 1]
    assert again.agent(2) is two
    assert again.kind_weights([1.0, 2.0, 4.0]).tolist() == [3.0, 4.0]


def test_tempering_splits_kinds_where_it_must() -> None:
    model = build(kinds=[ONE, ONE, ONE])
    mended = model.tempered([2.0, 3.0, 2.0])
    assert len(mended.kinds) == 2
    assert [mended.agent(i).tempering for i in range(3)] == [2.0, 3.0, 2.0]
    assert mended.agent(0).weight == pytest.approx(2 / 0.64)
    assert np.array_equal(mended.second_moments, model.second_moments)
    normal = RegressionAgent(second_moment=np.diag([1.0, 2.0]), noise_std=1, batch=3)
    kept = build(kinds=[normal]).tempered(5).agent(0)
    assert (kept.law, kept.batch, kept.tempering) == ("normal", 3, 5.0)


def test_arrays_are_read_only_and_copied() -> None:
    ranges = np.array([[1.0, 1.0], [-1.0, 1.0]])
    agent = RegressionAgent(ranges=ranges, noise_std=1)
    ranges[1] = 5
    assert agent.ranges[1].tolist() == [-1.0, 1.0]
    model = build()
    for array in (
        agent.ranges,
        agent.second_moment,
        model.theta,
        model.prior_covariance,
        model.prior_covariances,
        model.prior_precision,
        model.test_second_moment,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_factor_solves_stacks_in_any_units() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((4, 3, 3, 3))
    units = np.array([1e-6, 1.0, 1e8])
    matrix = units[:, None] * (root @ root.swapaxes(-1, -2) + np.eye(3)) * units
    right = units[:, None] * rng.standard_normal((4, 3, 3, 2))
    factor = Factor.of(matrix)
    solved = factor.solve(right)
    # Residuals in each row's own unit.
    np.testing.assert_allclose((matrix @ solved - right) / units[:, None], 0, atol=1e-12)
    with mock.patch("theory.regression.positive._SMALL", 0):
        np.testing.assert_allclose(factor.solve(right), solved, rtol=1e-11)
        np.testing.assert_allclose(factor.inverse(), Factor.of(matrix).inverse(), rtol=1e-11)
    one = Factor.of(matrix[0, 0])
    np.testing.assert_allclose(one.solve(right[0, 0]), solved[0, 0], rtol=1e-10)
    np.testing.assert_allclose(
        units[:, None] * factor.inverse() * units,
        np.linalg.inv(matrix / units / units[:, None]),
        rtol=1e-10,
    )
    sandwich = factor.sandwich(matrix)
    np.testing.assert_allclose(
        units[:, None] * sandwich * units, units[:, None] * factor.inverse() * units, rtol=1e-9
    )
    half = factor.half(right)
    np.testing.assert_allclose(
        half.swapaxes(-1, -2) @ half, right.swapaxes(-1, -2) @ solved, rtol=1e-9, atol=1e-12
    )


BAD_AGENTS: list[tuple[dict[str, Any], str]] = [
    ({}, "agent: expected exactly one of ranges, second_moment and inputs, got 0"),
    ({"ranges": [[1, 1]], "inputs": [[1]]}, "got 2 of them"),
    ({"ranges": [[1, 1]], "noise_std": 0}, "noise_std: expected a finite number above 0, got 0"),
    ({"ranges": [[1, 1]], "claimed_noise_std": -1}, "claimed_noise_std: expected a finite"),
    ({"ranges": [[1, 1]], "tempering": 0}, "tempering: expected a finite number above 0"),
    ({"ranges": [[1, 1]], "batch": 0}, "batch: expected a whole number of at least 1"),
    ({"ranges": [[1, 1], [2, -2]]}, r"ranges\[1\]: expected \[low, high\], got \[2.0, -2.0\]"),
    ({"ranges": [[1, 1, 1]]}, r"ranges: expected shape \(d, 2\)"),
    ({"ranges": [[1, float("nan")]]}, r"ranges: expected finite numbers, got nan at \[0, 1\]"),
    ({"second_moment": [[1, 2], [2, 1]]}, "second_moment: expected a positive semidefinite"),
    ({"second_moment": [[1, 0], [1, 1]]}, "second_moment: expected a symmetric matrix"),
    ({"second_moment": [[-1.0]]}, r"second_moment\[0\]\[0\]: expected a number of at least 0"),
    ({"second_moment": [[0, 1e-9], [1e-9, 1]]}, "second_moment: expected a positive semidefinite"),
    ({"inputs": [[1, float("inf")]]}, "inputs: expected finite numbers"),
    ({"inputs": [[1, 2], [3]]}, "inputs: expected a rectangular array"),
    ({"inputs": [[]]}, "inputs: expected at least one row and one column"),
    ({"inputs": [[1], [2]], "targets": [1]}, "targets: expected one for each of 2 rows, got 1"),
    ({"inputs": [[1]], "targets": [float("nan")]}, "targets: expected finite numbers"),
    ({"ranges": [[1, 1]], "targets": [1]}, "targets: expected none without inputs"),
    ({"ranges": [[1, 1]], "noise_std": 1e-170}, "noise_std: expected a size of 1e-20 to 1e"),
    ({"ranges": [[1, 1]], "claimed_noise_std": 1e200}, "claimed_noise_std: expected a size"),
    ({"ranges": [[-1e200, 1e200]]}, "ranges: expected sizes of at most 1e"),
    ({"second_moment": [[1e100]]}, "second_moment: expected sizes of at most 1e"),
    ({"inputs": [[1e21]]}, "inputs: expected sizes of at most 1e"),
]


@pytest.mark.parametrize(("given", "message"), BAD_AGENTS)
def test_bad_agents_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        RegressionAgent(**{"noise_std": 1.0, **given})
    assert "\n" not in str(caught.value)
    assert ";" in str(caught.value)


BAD_MODELS: list[tuple[dict[str, Any], str]] = [
    ({"theta": []}, "theta: expected at least one coefficient"),
    ({"theta": [1, float("nan")]}, "theta: expected finite numbers"),
    ({"kinds": []}, "agents: expected at least one agent"),
    ({"kinds": ["coin"]}, r"agents\[0\]: expected a RegressionAgent, got str"),
    ({"theta": [1, 2, 3]}, r"agents\[0\]: expected inputs of dimension 3"),
    ({"assignment": [0, 2]}, "assignment: expected kinds from 0 to 1, got 0 to 2"),
    ({"assignment": []}, "assignment: expected one kind per agent"),
    ({"assignment": [0.5]}, "assignment: expected one kind per agent"),
    ({"prior_covariance": np.ones((2, 2))}, "prior_covariance: expected a positive definite"),
    ({"prior_covariance": np.diag([1, 0])}, r"prior_covariance\[1\]\[1\]: expected a number above"),
    ({"prior_covariance": np.eye(3)}, r"prior_covariance: expected shape \(2, 2\)"),
    ({"prior_covariance": [np.eye(2)] * 3}, r"prior_covariance: expected shape \(2, 2, 2\)"),
    (
        {"prior_covariance": [np.eye(2), -np.eye(2)]},
        r"prior_covariance\[1\]\[0\]\[0\]: expected a number above 0, got -1",
    ),
    ({"prior_mean": [1.0]}, r"prior_mean: expected shape \(2,\)"),
    ({"prior_mean": np.ones((3, 2))}, r"prior_mean: expected shape \(2, 2\)"),
    ({"test_second_moment": [[1, 2], [2, 1]]}, "test_second_moment: expected a positive semi"),
    ({"test_second_moment": np.eye(3)}, r"test_second_moment: expected shape \(2, 2\)"),
    ({"test_second_moment": [[1, 0]]}, "test_second_moment: expected a square matrix"),
]


@pytest.mark.parametrize(("given", "message"), BAD_MODELS)
def test_bad_models_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        build(**given)
    assert "\n" not in str(caught.value)

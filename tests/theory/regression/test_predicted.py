"""Closed curves against exact expectations and averages over drawn inputs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from theory import Network
from theory.regression import (
    RegressionAgent,
    RegressionModel,
    alone_error,
    averaged_error,
    central_error,
    central_node_error,
    predicted_error,
    regression_limits,
)
from theory.regression.rational_model import four_agents, two_nodes


def scalar_expectation(rounds: int) -> tuple[float, float]:
    """One agent, x = 1 or 2 evenly, claims that are wrong: error and report summed over counts."""
    count = np.arange(rounds + 1)
    chance = binom.pmf(count, rounds, 0.5)
    squares = count * 1.0 + (rounds - count) * 4.0
    precision = 0.5 + (1.5 / 0.49) * squares
    noise = (1.5 / 0.49) ** 2 * 0.81 * squares
    pull = 0.5 * (0.0 - 2.0)
    return float(chance @ ((noise + pull**2) / precision**2)), float(chance @ (1 / precision))


def test_second_order_is_right_to_the_third() -> None:
    agent = RegressionAgent(
        inputs=[[1.0], [2.0]], noise_std=0.9, claimed_noise_std=0.7, tempering=1.5
    )
    model = RegressionModel([2.0], [agent], [[2.0]], [[1.0]])
    rounds = [50, 100, 200, 400]
    exact = np.array([scalar_expectation(n) for n in rounds])
    first = predicted_error(Network([[1]]), model, rounds, order=1)
    second = predicted_error(Network([[1]]), model, rounds)
    for column, name in ((0, "excess_error"), (1, "reported_error")):
        rough = np.abs(getattr(first, name)[:, 0] - exact[:, column])
        fine = np.abs(getattr(second, name)[:, 0] - exact[:, column])
        # Halving 1/n divides errors by 4 and by 8, up to the next order's 1/n.
        np.testing.assert_allclose(rough[:-1] / rough[1:], 4, rtol=0.1)
        np.testing.assert_allclose(fine[:-1] / fine[1:], 8, rtol=0.1)


def test_two_agents_second_order_is_right_to_the_third() -> None:
    """W = 1vᵀ makes both agents' rows count v_j each: a sum over two binomial counts."""
    one = RegressionAgent(inputs=[[1.0], [2.0]], noise_std=0.9)
    two = RegressionAgent(inputs=[[0.5], [3.0]], noise_std=0.4, claimed_noise_std=0.8)
    model = RegressionModel([2.0], [one, two], [[2.0]], [[1.0]])
    v = np.array([0.3, 0.7])
    network = Network([v, v])
    gaps = []
    for n in (40, 80):
        count = np.arange(n + 1)
        chance = np.outer(binom.pmf(count, n, 0.5), binom.pmf(count, n, 0.5))
        first = (count + 4.0 * (n - count))[:, None]
        second = (0.25 * count + 9.0 * (n - count))[None]
        precision = 0.5 + v[0] / 0.81 * first + v[1] / 0.64 * second
        noise = v[0] ** 2 / 0.81 * first + v[1] ** 2 * 0.16 / 0.64**2 * second
        exact = float((chance * (noise + 1.0) / precision**2).sum())
        curve = predicted_error(network, model, [n])
        assert curve.excess_error[0, 0] == pytest.approx(curve.excess_error[0, 1], rel=1e-13)
        gaps.append(abs(curve.excess_error[0, 0] - exact))
    assert gaps[0] / gaps[1] == pytest.approx(8, rel=0.15)


@pytest.mark.parametrize("make", [two_nodes, four_agents])
def test_averages_over_inputs_agree_in_the_papers_cases(make) -> None:  # type: ignore[no-untyped-def]
    case = make().as_floats()
    rounds = [100, 300]
    curve = predicted_error(case.network, case.model, rounds)
    averaged = averaged_error(case.network, case.model, rounds, draws=300, seed=7)
    # Third order: at n = 100 its share of the error is about a thousandth, at 300 a ninth of it.
    slack = np.array([[4e-3], [5e-4]]) * curve.excess_error
    gap = np.abs(averaged.excess_error - curve.excess_error)
    assert (gap < 4 * averaged.standard_error + slack).all()
    gap = np.abs(averaged.reported_error - curve.reported_error)
    assert (gap < 4 * averaged.reported_standard_error + slack).all()
    # The first order is off by more than that: the correction is needed.
    rough = predicted_error(case.network, case.model, rounds, order=1)
    assert (np.abs(rough.excess_error - curve.excess_error) > averaged.standard_error).all()
    assert (averaged.standard_error < 5e-3 * curve.excess_error).all()


def test_curves_tend_to_their_constants() -> None:
    case = two_nodes().as_floats()
    limits = regression_limits(case.network, case.model)
    n = 10**6
    for curve, constant in (
        (predicted_error(case.network, case.model, [n]), limits.excess_error_constant),
        (central_error(case.model, [n]), limits.central_constant),
        (central_node_error(case.model, case.node, [n]), limits.central_node_constant),
    ):
        # What is left is of the order of d²/n.
        np.testing.assert_allclose(n * curve.excess_error, constant, rtol=1e-4)
    alone = alone_error(case.model, [n])
    np.testing.assert_allclose(alone.excess_error[0], limits.alone, rtol=0, atol=2e-6)


def test_priors_of_their_own() -> None:
    """Per-agent priors travel with W^n; ranges of width zero make both orders exact."""
    agents = [RegressionAgent(ranges=[[1, 1], [s, s]], noise_std=1.0) for s in (1, -2)]
    priors = [np.diag([1.0, 3.0]), np.array([[2.0, 0.5], [0.5, 1.0]])]
    means = [[1.0, 0.0], [0.0, -1.0]]
    model = RegressionModel([1.0, 2.0], agents, priors, np.eye(2), means)
    network = Network([[0.9, 0.1], [0.6, 0.4]])
    averaged = averaged_error(network, model, [1, 5, 50], draws=2, seed=0)
    for order in (1, 2):
        curve = predicted_error(network, model, [1, 5, 50], order=order)
        np.testing.assert_allclose(curve.excess_error, averaged.excess_error, rtol=1e-11)
        np.testing.assert_allclose(curve.reported_error, averaged.reported_error, rtol=1e-11)
    lone = averaged_error(
        Network([[1]]),
        RegressionModel([1.0, 2.0], agents[1:], priors[1], np.eye(2), means[1]),
        [1, 5],
        draws=2,
        seed=0,
    )
    np.testing.assert_allclose(
        alone_error(model, [1, 5]).excess_error[:, 1], lone.excess_error[:, 0], rtol=1e-11
    )


def test_bad_input_is_named() -> None:
    case = two_nodes().as_floats()
    with pytest.raises(ValueError, match="order: expected 1 or 2, got 3"):
        predicted_error(case.network, case.model, [1], order=3)
    with pytest.raises(ValueError, match="rounds: expected increasing"):
        central_error(case.model, [])
    with pytest.raises(ValueError, match=r"rounds: expected a whole number of at least 1, got 2.5"):
        central_error(case.model, [2.5])  # type: ignore[list-item]
    small = RegressionAgent(ranges=[[1, 1]], noise_std=1)
    with pytest.raises(ValueError, match=r"agents\[0\]: expected inputs of dimension 3"):
        central_node_error(case.model, small, [1])


def test_labels_that_do_not_follow_theta_are_right_to_first_order() -> None:
    """Two agents with two rows each, W = 1vᵀ: a sum over two binomial counts."""
    one = RegressionAgent(inputs=[[1.0], [2.0]], targets=[1.0, 0.0], noise_std=0.9)
    two = RegressionAgent(inputs=[[0.5], [3.0]], targets=[1.0, 2.0], noise_std=0.5)
    model = RegressionModel([1.0], [one, two], [[2.0]], [[1.0]])
    v = np.array([0.3, 0.7])
    network = Network([v, v])
    assert regression_limits(network, model).limit > 0.01
    misses = []
    for n in (200, 400, 800):
        count = np.arange(n + 1)
        chance = np.outer(binom.pmf(count, n, 0.5), binom.pmf(count, n, 0.5))
        first, other = count[:, None], count[None]
        weight = v / np.array([0.81, 0.25])
        precision = (
            0.5
            + weight[0] * (1.0 * first + 4.0 * (n - first))
            + weight[1] * (0.25 * other + 9.0 * (n - other))
        )
        information = weight[0] * 1.0 * first + weight[1] * (0.5 * other + 6.0 * (n - other))
        exact = float((chance * (information / precision - 1.0) ** 2).sum())
        found = float(predicted_error(network, model, [n], order=1).excess_error[0, 0])
        misses.append(abs(found - exact))
    # Halving 1/n divides the miss by four, by two if scores did not go with precisions.
    np.testing.assert_allclose(np.divide(misses[:-1], misses[1:]), 4, rtol=0.1)

"""Moments of inputs against quadrature that is exact for them, and against plain averages."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import regression_agents
from theory.regression import RegressionAgent

MATRIX = np.array([[2.0, -1.0, 0.5], [-1.0, 0.3, 4.0], [0.5, 4.0, -1.5]])


def points_of(agent: RegressionAgent) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights whose averages of polynomials of degree 5 are those of the inputs."""
    d = agent.dimension
    if agent.inputs is not None:
        return agent.inputs, np.full(len(agent.inputs), 1 / len(agent.inputs))
    if agent.ranges is not None:
        nodes, weights = np.polynomial.legendre.leggauss(3)
        grid = np.array(list(product(nodes, repeat=d)))
        low, high = agent.ranges.T
        x = (low + high) / 2 + grid * (high - low) / 2
        share = np.array([np.prod(w) for w in product(weights / 2, repeat=d)])
        return x, share
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    grid = np.array(list(product(nodes, repeat=d)))
    values, vectors = np.linalg.eigh(agent.second_moment)
    share = np.array([np.prod(w) for w in product(weights / weights.sum(), repeat=d)])
    return grid @ (vectors * np.sqrt(np.maximum(values, 0))).T, share


@given(regression_agents(3))
@settings(max_examples=40)
def test_second_and_fourth_moments_are_those_of_the_inputs(agent: RegressionAgent) -> None:
    x, share = points_of(agent)
    second = (x.T * share) @ x
    scale = max(1.0, float(np.abs(x).max()) ** 2)
    # Sums of at most 27 products of numbers of size `scale`.
    np.testing.assert_allclose(agent.second_moment, second, rtol=0, atol=1e-13 * scale)
    quadratic = ((x @ MATRIX) * x).sum(axis=1)
    fourth = (x.T * (share * quadratic)) @ x
    np.testing.assert_allclose(agent.fourth_moment(MATRIX), fourth, rtol=0, atol=1e-12 * scale**2)


@given(regression_agents(3))
@settings(max_examples=30)
def test_stacks_of_matrices_give_stacks_of_moments(agent: RegressionAgent) -> None:
    stack = np.array([MATRIX, np.eye(3), MATRIX @ MATRIX])
    one_by_one = [agent.spread(matrix) for matrix in stack]
    np.testing.assert_allclose(agent.spread(stack), one_by_one, rtol=1e-13, atol=1e-12)


@given(regression_agents(2), st.integers(0, 3))
@settings(max_examples=30)
def test_drawn_inputs_follow_the_law(agent: RegressionAgent, seed: int) -> None:
    x = agent.draw_inputs(np.random.default_rng(seed), (50, 200))
    assert x.shape == (50, 200, 2)
    flat = x.reshape(-1, 2)
    for matrix in (np.diag([1.0, 0.0]), np.array([[0.3, 0.5], [0.5, 0.2]])):
        values = ((flat @ matrix) * flat).sum(axis=1)
        error = values.std() / np.sqrt(len(values))
        # Five standard errors: a chance of 1e-6 each, and the runs are the same every day.
        assert abs(values.mean() - (matrix * agent.second_moment).sum()) <= 5 * error + 1e-12


def test_score_covariance_of_labels_that_follow_another_theta() -> None:
    """Quadrature once more: residuals x(y − xᵀb) scatter by noise and by x xᵀ(θ − b)."""
    agent = RegressionAgent(ranges=[[1, 1], [-1, 2], [0, 0]], noise_std=0.7)
    theta, at = np.array([1.0, -2.0, 0.5]), np.array([0.5, 1.0, 3.0])
    x, share = points_of(agent)
    scores = x * (x @ (theta - at))[:, None]
    mean = share @ scores
    wanted = (scores.T * share) @ scores - np.outer(mean, mean) + 0.49 * agent.second_moment
    np.testing.assert_allclose(agent.score_covariance(theta, at), wanted, rtol=0, atol=1e-12)
    assert np.array_equal(agent.score_covariance(theta, theta), 0.7**2 * agent.second_moment)


def test_targets_bring_their_own_noise() -> None:
    rows, targets = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, -1.0]]), np.array([1.0, 4.0, 0.0])
    agent = RegressionAgent(inputs=rows, targets=targets, noise_std=1.0)
    theta = np.array([1.0, 1.0])
    scores = rows * (targets - rows @ theta)[:, None]
    wanted = np.cov(scores.T, bias=True)
    np.testing.assert_allclose(agent.score_covariance(np.zeros(2), theta), wanted, atol=1e-14)
    np.testing.assert_allclose(agent.correlation(np.zeros(2)), rows.T @ targets / 3, atol=1e-15)

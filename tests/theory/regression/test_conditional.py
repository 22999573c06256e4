"""Moments given the inputs, against the learning rule itself: it is affine in the labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks, regression_models
from tests.theory.regression.oracles import run
from theory import Network
from theory.regression import (
    RegressionAgent,
    RegressionModel,
    averaged_error,
    conditional_error,
    draw_inputs,
)
from theory.regression import conditional as conditional_module
from theory.regression.rational_model import two_nodes


@given(networks(max_agents=3), st.data())
@settings(max_examples=40)
def test_bias_and_covariance_are_those_of_the_rule(network: Network, data: st.DataObject) -> None:
    """The mean from labels without noise, the covariance from one unit of noise at a time."""
    model = data.draw(regression_models(network.agents))
    rounds = data.draw(st.integers(1, 3))
    x = draw_inputs(model, rounds, np.random.default_rng(data.draw(st.integers(0, 99))))
    result = conditional_error(network, model, x, [rounds])
    quiet = x @ model.theta
    mean, reported = run(network, model, x, quiet)
    covariance = np.zeros_like(reported)
    for place in np.ndindex(x.shape[:3]):
        labels = quiet.copy()
        labels[place] += 1.0
        step = run(network, model, x, labels)[0] - mean
        variance = model.agent(place[1]).noise_std ** 2
        covariance += variance * step[:, :, None] * step[:, None, :]
    # The oracle inverts matrices of condition up to 1e4 in every round.
    size = max(1.0, float(np.abs(mean).max()))
    np.testing.assert_allclose(result.bias[0], mean - model.theta, rtol=0, atol=1e-8 * size)
    np.testing.assert_allclose(result.reported_covariance[0], reported, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(result.covariance[0], covariance, rtol=1e-7, atol=1e-8 * size)
    S = model.test_second_moment
    b = mean - model.theta
    error = np.einsum("ia,ab,ib->i", b, S, b) + np.einsum("ab,iab->i", S, covariance)
    np.testing.assert_allclose(result.excess_error[0], error, rtol=1e-7, atol=1e-7 * size)


def test_many_rounds_in_one_call_are_the_calls_one_by_one() -> None:
    """The tail, once W^k is mixed, is summed at one stroke; the rule mixes in 25 rounds here."""
    case = two_nodes().as_floats()
    x = draw_inputs(case.model, 120, np.random.default_rng(0))
    together = conditional_error(case.network, case.model, x, [1, 20, 40, 119, 120])
    for t, n in enumerate(together.rounds):
        mean, covariance = run(case.network, case.model, x[:n], x[:n] @ case.model.theta)
        np.testing.assert_allclose(together.bias[t], mean - case.model.theta, rtol=0, atol=1e-12)
        np.testing.assert_allclose(together.reported_covariance[t], covariance, rtol=1e-11)


def test_averages_are_unbiased() -> None:
    """Two agents, two rows each, two rounds: all sixteen draws of the inputs, one by one."""
    one = RegressionAgent(inputs=[[1, 0], [1, 2]], noise_std=0.5)
    two = RegressionAgent(inputs=[[0, 1], [3, 1]], noise_std=1.0)
    model = RegressionModel([1.0, -1.0], [one, two], np.eye(2), np.eye(2))
    network = Network([[0.7, 0.3], [0.4, 0.6]])
    total = np.zeros(2)
    for choice in np.ndindex(2, 2, 2, 2):
        x = np.array([[[one.inputs[a]], [two.inputs[b]]] for a, b in (choice[:2], choice[2:])])
        total += conditional_error(network, model, x, [2]).excess_error[0] / 16
    result = averaged_error(network, model, [2], draws=1000, seed=3)
    assert (np.abs(result.excess_error[0] - total) < 4 * result.standard_error[0]).all()
    assert (result.standard_error[0] < 0.03 * total).all()
    once, again = (averaged_error(network, model, [2], draws=20, seed=3) for _ in "ab")
    assert np.array_equal(again.excess_error, once.excess_error)


def test_draws_taken_together_are_averages_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    case, rounds = two_nodes().as_floats(), [1, 3, 40]
    monkeypatch.setattr(conditional_module, "_MOST_NUMBERS", 4 * 40 * 8)  # a few draws at a time
    found = averaged_error(case.network, case.model, rounds, draws=11, seed=7)
    generator = np.random.default_rng(7)
    draws = [draw_inputs(case.model, 40, generator) for _ in range(11)]
    errors = [conditional_error(case.network, case.model, x, rounds).excess_error for x in draws]
    assert np.array_equal(found.excess_error, np.mean(errors, axis=0))


def test_ratios_at_finite_rounds() -> None:
    """Stationary values over directions bracket the coefficients' own, and multiply to det/det."""
    case = two_nodes().as_floats()
    x = draw_inputs(case.model, 50, np.random.default_rng(1))
    result = conditional_error(case.network, case.model, x, [50])
    ratios, coordinates = result.direction_ratios[0], result.coordinate_ratios[0]
    assert (ratios[:, :1] <= coordinates + 1e-12).all()
    assert (coordinates <= ratios[:, -1:] + 1e-12).all()
    quotient = np.linalg.det(result.covariance[0]) / np.linalg.det(result.reported_covariance[0])
    np.testing.assert_allclose(ratios.prod(axis=1), quotient, rtol=1e-10)


def test_bad_input_is_named() -> None:
    case = two_nodes().as_floats()
    with pytest.raises(ValueError, match=r"inputs: expected shape \(at least 3 rounds, 2 agents"):
        conditional_error(case.network, case.model, np.ones((2, 2, 1, 3)), [3])
    with pytest.raises(ValueError, match="rounds: expected increasing"):
        conditional_error(case.network, case.model, np.ones((3, 2, 1, 3)), [2, 2])
    with pytest.raises(ValueError, match="inputs: expected finite"):
        conditional_error(case.network, case.model, np.full((3, 2, 1, 3), np.nan), [3])
    with pytest.raises(ValueError, match="draws: expected a whole number of at least 2"):
        averaged_error(case.network, case.model, [3], draws=1, seed=0)
    real = RegressionAgent(inputs=[[1.0]], targets=[2.0], noise_std=1)
    model = RegressionModel([1.0], [real], [[1.0]], [[1.0]])
    with pytest.raises(ValueError, match=r"agents\[0\].targets: expected none"):
        conditional_error(Network([[1]]), model, np.ones((3, 1, 1, 1)), [3])


def test_few_draws_of_heavy_inputs_are_doubted() -> None:
    """One input in fifty says nearly all: at n = 1 a draw without it errs a thousand times more."""
    inputs = [[1.0]] + [[1000.0]] * 49
    agent = RegressionAgent(inputs=inputs, noise_std=0.1)
    model = RegressionModel([1.0], [agent], [[1e-6]], [[1.0]])
    alone = Network([[1.0]])
    # Exact: the errors given each of the fifty inputs, averaged.
    truth = np.mean(
        [conditional_error(alone, model, np.array([[[x]]]), [1]).excess_error[0, 0] for x in inputs]
    )
    misses = 0
    for seed in range(6):
        few = averaged_error(alone, model, [1, 400], draws=200, seed=seed)
        misses += abs(few.excess_error[0, 0] - truth) > 2 * few.standard_error[0, 0]
        assert any(note.startswith("rounds 1: 2 of 200 draws") for note in few.notes)
    # Two standard errors should miss once in twenty.
    assert misses >= 1
    case = two_nodes().as_floats()
    assert averaged_error(case.network, case.model, [100], draws=200, seed=1).notes == ()

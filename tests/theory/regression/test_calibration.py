"""Reported against true covariance: its range, its functionals, and its remedy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks, regression_models
from theory import Network
from theory.regression import (
    RegressionAgent,
    RegressionModel,
    averaged_error,
    calibrating_tempering,
    calibration,
    conditional_error,
    draw_inputs,
    regression_limits,
)
from theory.regression.rational_model import four_agents, two_nodes

# Weights v_j below 1e-6 leave A regular only by luck in doubles: those are for fractions.
KINDS = ("positive", "directed", "nearly-decomposable", "non-normal", "symmetric", "star", "sparse")


@given(networks(kinds=KINDS, max_agents=5), st.data())
@settings(max_examples=20)
def test_ratios_lie_between_the_weights(network: Network, data: st.DataObject) -> None:
    model = data.draw(regression_models(network.agents))
    result = calibration(network, model)
    low, high = result.weights.min() * (1 - 1e-9), result.weights.max() * (1 + 1e-9)
    everything = np.concatenate([result.ratios, result.coordinates, result.own, [result.test]])
    for ratio in everything[np.isfinite(everything)]:
        assert low <= ratio <= high
    limits = regression_limits(network, model)
    for ratio, c in zip(result.ratios, result.functionals, strict=True):
        true = c @ limits.estimator_covariance @ c
        reported = c @ limits.reported_covariance @ c
        # Singular moments leave functionals of condition up to 1e6.
        assert np.isclose(true, ratio * reported, rtol=1e-6)
        assert c @ limits.reported_limit @ c <= 1e-9 * max(1.0, limits.reported_limit.max())


@given(networks(kinds=KINDS, max_agents=5), st.data())
@settings(max_examples=20)
def test_tempering_calibrates_every_direction(network: Network, data: st.DataObject) -> None:
    model = data.draw(regression_models(network.agents))
    mended = model.tempered(calibrating_tempering(network, model))
    result = calibration(network, mended)
    np.testing.assert_allclose(result.weights, 1, rtol=1e-12)
    np.testing.assert_allclose(result.ratios, 1, rtol=1e-7)
    # And the estimate is as good as all pairs in one place, weighed by their true noise.
    honest = RegressionModel(
        model.theta,
        [
            RegressionAgent(
                ranges=kind.ranges,
                second_moment=kind.second_moment if kind.law == "normal" else None,
                inputs=kind.inputs,
                noise_std=kind.noise_std,
                batch=kind.batch,
            )
            for kind in model.kinds
        ],
        model.prior_covariance,
        model.test_second_moment,
        model.prior_mean,
        model.assignment,
    )
    central = regression_limits(network, honest).central_constant
    if central is not None:
        ours = regression_limits(network, mended)
        assert np.isclose(ours.excess_error_constant, central, rtol=1e-7, atol=1e-12)
        assert np.isclose(ours.reported_error_constant, central, rtol=1e-7, atol=1e-12)


def test_rank_one_weights_and_powers_of_one_over_v_are_the_central_posterior() -> None:
    """W = 1vᵀ: every belief is, after every round, the one posterior of all pairs, prior once."""
    v = np.array([0.2, 0.5, 0.3])
    network = Network([v, v, v])
    kinds = four_agents().as_floats().model.kinds[:3]
    model = RegressionModel([-0.3, 0.5, 0.5, 0.1, 0.2], kinds, 0.5 * np.eye(5), np.eye(5))
    mended = model.tempered(calibrating_tempering(network, model))
    x = draw_inputs(mended, 9, np.random.default_rng(0))
    result = conditional_error(network, mended, x, [1, 4, 9])
    for t, n in enumerate(result.rounds):
        flat = x[:n].reshape(-1, 5)
        posterior = np.linalg.inv(2 * np.eye(5) + flat.T @ flat / 0.64)
        for i in range(3):
            np.testing.assert_allclose(result.reported_covariance[t, i], posterior, atol=1e-13)
            np.testing.assert_allclose(
                result.bias[t, i], posterior @ (-2 * model.theta), rtol=0, atol=1e-13
            )


def test_transient_of_the_remedy_vanishes_like_one_over_n() -> None:
    """P1 with t = 1/v: at finite n the report is off by O(1/n), relatively."""
    case = two_nodes().as_floats()
    mended = case.model.tempered(calibrating_tempering(case.network, case.model))
    result = averaged_error(case.network, mended, [100, 400], draws=100, seed=1)
    off = np.abs(result.excess_error / result.reported_error - 1)
    assert (off[1] < 0.02).all()
    assert (off[1] < 0.5 * off[0] + 0.005).all()


def test_unseen_coefficients_have_no_ratio() -> None:
    agent = RegressionAgent(ranges=[[1, 1], [0, 0]], noise_std=1)
    model = RegressionModel([1.0, 1.0], [agent], np.eye(2), np.eye(2))
    result = calibration(Network([[1]]), model)
    assert result.coordinates[0] == pytest.approx(1)
    assert np.isnan(result.coordinates[1])
    assert np.isnan(result.test)
    assert result.ratios.shape == (1,)
    with pytest.raises(ValueError, match="model: expected as many agents"):
        calibrating_tempering(Network([[0.5, 0.5], [0.5, 0.5]]), model)

"""The best stationary distribution: least in the order of Loewner, for every test law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.strategies import networks, regression_models
from theory import Network
from theory.regression import (
    RegressionAgent,
    RegressionModel,
    best_stationary_distribution,
    regression_limits,
)
from theory.regression.rational_model import four_agents, two_nodes

KINDS = ("positive", "directed", "non-normal", "symmetric", "star", "sparse")


@given(networks(kinds=KINDS, max_agents=4), st.data())
@settings(max_examples=15)
def test_no_other_distribution_has_a_smaller_covariance(
    network: Network, data: st.DataObject
) -> None:
    model = data.draw(regression_models(network.agents))
    limits = regression_limits(network, model)
    assume(limits.is_identified)
    best = best_stationary_distribution(network, model)
    assert best.distribution.sum() == pytest.approx(1)
    least = regression_limits(best.distribution, model).estimator_covariance
    others = data.draw(st.lists(st.floats(0.01, 1), min_size=model.agents, max_size=model.agents))
    for weights in (network.stationary_distribution, np.array(others)):
        other = regression_limits(weights, model).estimator_covariance
        # Scaled so that rounding is judged by what the covariance itself is.
        scale = 1 / np.sqrt(np.diag(other))
        difference = scale[:, None] * (other - least) * scale
        # Moments of condition up to 1e6 cost as many digits.
        assert np.linalg.eigvalsh(difference).min() >= -1e-8
    assert best.price >= 1 - 1e-8 or best.constant == 0
    assert best.present_constant == limits.excess_error_constant


def test_papers_prices() -> None:
    """P1's v costs 54/49 of the rounds, P2's 3344/3332."""
    for case, price in ((two_nodes(), 54 / 49), (four_agents(), 3344 / 1225 / (68 / 25))):
        floats = case.as_floats()
        best = best_stationary_distribution(floats.network, floats.model)
        np.testing.assert_allclose(best.distribution, 1 / floats.model.agents, rtol=1e-13)
        assert best.price == pytest.approx(price, rel=1e-12)


def test_wrong_claims_and_tempering_move_it() -> None:
    agents = [
        RegressionAgent(ranges=[[1, 1]], noise_std=2.0, claimed_noise_std=1.0),
        RegressionAgent(ranges=[[1, 1]], noise_std=1.0, tempering=3.0),
    ]
    model = RegressionModel([1.0], agents, [[1.0]], [[1.0]])
    best = best_stationary_distribution(Network([[0.5, 0.5], [0.5, 0.5]]), model)
    np.testing.assert_allclose(best.distribution, [3 / 7, 4 / 7], rtol=1e-13)
    # Two measurements of variances 4 and 1, pooled.
    assert best.constant == pytest.approx(1 / (1 / 4 + 1), rel=1e-13)
    assert best.price > 1.01


def test_what_nobody_sees_is_refused() -> None:
    agent = RegressionAgent(ranges=[[1, 1], [0, 0]], noise_std=1)
    model = RegressionModel([1.0, 1.0], [agent], np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="test_second_moment: expected one that asks only"):
        best_stationary_distribution(Network([[1]]), model)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models import COIN, PAIR, coins
from tests.strategies import finite_models
from theory import FiniteModel, Network, expected_log_ratio, learning_rate

RING = Network.from_topology("ring", agents=5)


@given(finite_models(2))
@settings(max_examples=30)
def test_rate_is_the_definition_written_out(model: FiniteModel) -> None:
    result = learning_rate(PAIR, model)
    v = PAIR.stationary_distribution
    divergences = np.array([model.kinds[k].divergences for k in model.assignment])
    rates = [
        sum(v[j] * (divergences[j, theta] - divergences[j, best]) for j in (0, 1))
        for best in result.reference
        for theta in range(len(model.hypotheses))
        if theta not in result.reference
    ]
    if rates:
        # Two products and differences of numbers of order one to ten.
        assert result.rate == pytest.approx(min(rates), abs=1e-13)
        assert result.rates[result.binding] == result.rate
    else:
        assert result.rate == np.inf
        assert result.binding is None


@given(model=finite_models(2), rounds=st.lists(st.integers(1, 30), min_size=1, unique=True))
@settings(max_examples=30)
def test_expected_log_ratio_is_the_sum_of_powers(model: FiniteModel, rounds: list[int]) -> None:
    weights = np.asarray(PAIR.weights)
    information = model.information(0)
    prior = (model.log_priors[:, [0]] - model.log_priors)[model.assignment]
    result = expected_log_ratio(PAIR, model, sorted(rounds), best=0)
    for n, value in zip(result.rounds, result.values, strict=True):
        powers = [np.linalg.matrix_power(weights, k) for k in range(1, n + 1)]
        oracle = sum(p @ information for p in powers) + powers[-1] @ prior
        # Thirty sums of terms of order ten.
        np.testing.assert_allclose(value, oracle, atol=1e-11)


def test_expected_log_ratio_far_ahead_costs_nothing_and_is_affine() -> None:
    model = FiniteModel.from_agents(["a", "b"], [COIN] * 5, priors=[[0.2, 0.8]] + [None] * 4)
    near, far, farther = expected_log_ratio(RING, model, [200, 10**9, 2 * 10**9], best=0).values
    rate = learning_rate(RING, model).rate
    np.testing.assert_allclose(far - near, [[0.0, (10**9 - 200) * rate]] * 5, rtol=1e-13)
    np.testing.assert_allclose(farther - far, [[0.0, 10**9 * rate]] * 5, rtol=1e-13)


def test_sparse_and_dense_agree() -> None:
    dense = Network.from_topology("ring", agents=50, sparse=False)
    sparse = Network.from_topology("ring", agents=50, sparse=True)
    model = FiniteModel.from_agents(["a", "b"], [COIN] * 50, priors=[[0.2, 0.8]] + [None] * 49)
    one = expected_log_ratio(dense, model, [3, 17], best=0).values
    two = expected_log_ratio(sparse, model, [3, 17], best=0).values
    np.testing.assert_allclose(one, two, atol=1e-13)  # seventeen averages of numbers of order one


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="as many agents as the network, 2, got 3"):
        learning_rate(PAIR, coins(3))
    with pytest.raises(ValueError, match="increasing round numbers"):
        expected_log_ratio(PAIR, coins(2), [3, 3], best=0)
    with pytest.raises(ValueError, match="rounds: expected a whole number of at least 1, got 0"):
        expected_log_ratio(PAIR, coins(2), [0, 3], best=0)
    with pytest.raises(ValueError, match=r"rounds: expected a whole number of at least 1, got 2.5"):
        expected_log_ratio(PAIR, coins(2), [2.5], best=0)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="best: expected a whole number of at most 1, got 2"):
        expected_log_ratio(PAIR, coins(2), [3], best=2)
    with pytest.raises(ValueError, match="best: expected a whole number of at least 0, got -1"):
        expected_log_ratio(PAIR, coins(2), [3], best=-1)

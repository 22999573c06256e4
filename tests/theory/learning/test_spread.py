import numpy as np
import pytest
from hypothesis import given, settings

from tests.models import COIN, PAIR, coins
from tests.strategies import finite_models
from theory import FiniteModel, GaussianAgent, Network, log_ratio_spread
from theory.learning import lattice as module


@given(finite_models(2))
@settings(max_examples=30)
def test_variances_are_sums_over_powers(model: FiniteModel) -> None:
    rounds = [1, 2, 7]
    result = log_ratio_spread(PAIR, model, rounds, best=0)
    weights = np.asarray(PAIR.weights)
    laws = [
        [kind.log_ratio_law(0, m) for m in range(len(model.hypotheses))] for kind in model.kinds
    ]
    variances = np.array([[law.variance for law in laws[k]] for k in model.assignment])
    for index, n in enumerate(rounds):
        powers = [np.linalg.matrix_power(weights, k) for k in range(1, n + 1)]
        agents = sum(p**2 @ variances for p in powers)
        average = sum((p.mean(axis=0)) ** 2 @ variances for p in powers)
        np.testing.assert_allclose(result.agents[index], agents, rtol=1e-12)
        np.testing.assert_allclose(result.average[index], average, rtol=1e-12)


def test_far_ahead_the_variance_is_affine() -> None:
    v = PAIR.stationary_distribution
    near, far = log_ratio_spread(PAIR, coins(2), [100, 10**6], best=0).average[:, 1]
    per_round = (v @ v) * COIN.log_ratio_law(0, 1).variance
    assert far - near == pytest.approx((10**6 - 100) * per_round, rel=1e-12)


def test_large_networks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = Network.from_topology("ring", agents=8)
    exact = log_ratio_spread(ring, coins(8), [1, 5, 20], best=0).agents
    monkeypatch.setattr(module, "_MOST_AGENTS", 4)
    bound = log_ratio_spread(ring, coins(8), [1, 5, 20], best=0).agents
    assert (bound >= exact).all()


def test_reach() -> None:
    assert log_ratio_spread(PAIR, coins(2), [1], best=0).reach[1] == pytest.approx(np.log(3))
    normal = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [2.0]], 1.0)
    model = FiniteModel.from_agents(["zero", "two"], [normal], counts=[2])
    assert log_ratio_spread(PAIR, model, [1], best=0).reach[1] == pytest.approx(12.0)

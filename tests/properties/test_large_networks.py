"""Up to two hundred agents, nearly defective or nearly falling apart: against 400 bits, and loops.

Only weights on others are read: what an agent gives itself stands for the rest of its row.
"""

from __future__ import annotations

import flint
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exact import consensus, learn_fast
from tests.models import COIN
from tests.properties.pinned import BIASED, BLIND
from tests.properties.support import assert_close, often
from tests.strategies import large_networks, seeds
from theory import FiniteModel, Network, expected_log_ratio, learning_rate
from theory.network.structure import as_dense
from theory.validation import FloatArray

BITS = 400


def generator(network: Network) -> flint.arb_mat:
    """W − I of the stored weights on others, without rounding."""
    rows = as_dense(network.weights).tolist()
    for i, row in enumerate(rows):
        row[i] = 0.0
    exact = [[flint.arb(x) for x in row] for row in rows]
    for i, row in enumerate(exact):
        row[i] = -sum(row, flint.arb(0))
    return flint.arb_mat(exact)


def stationary(network: Network) -> FloatArray:
    """v of v (W − I) = 0 and Σ v = 1, by Gaussian elimination in 400 bits, to nearest."""
    agents = network.agents
    with flint.ctx.workprec(BITS):
        system = generator(network).transpose()
        for j in range(agents):
            system[agents - 1, j] = 1
        right = flint.arb_mat([[int(i == agents - 1)] for i in range(agents)])
        found = system.solve(right)
        assert max(float(found[i, 0].rad() / found[i, 0].mid()) for i in range(agents)) < 1e-30
        return np.array([float(found[i, 0].mid()) for i in range(agents)])


def model(agents: int, seed: int) -> FiniteModel:
    """Coins that say much, little and nothing, with one prior for each kind."""
    kinds = np.random.default_rng(seed).integers(0, 3, agents)
    kinds[0] = 0
    used = sorted(set(kinds.tolist()))
    priors = [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]]
    return FiniteModel.from_agents(
        ["true", "false"],
        [(COIN, BIASED, BLIND)[used[used.index(k)]] for k in kinds],
        priors=[priors[k] for k in kinds],
    )


@often(9)
@given(network=large_networks(), seed=seeds)
def test_the_stationary_distribution_and_the_rate(network: Network, seed: int) -> None:
    """Each share relatively, however small; and K, what all agents learn weighed by it."""
    v = stationary(network)
    np.testing.assert_allclose(network.stationary_distribution, v, rtol=1e-12)
    law = model(network.agents, seed)
    expected = v @ law.information(0)
    assert_close(learning_rate(network, law).rates, expected, 1e-12)


@often(9)
@given(network=large_networks(), rounds=st.integers(1, 150), seed=seeds)
def test_rounds_are_plain_loops(network: Network, rounds: int, seed: int) -> None:
    """Λ by B ← W (B + z), with products written out by numpy; and its mean the same way."""
    rng = np.random.default_rng(seed)
    W, agents = as_dense(network.weights), network.agents
    seen = rng.normal(size=(rounds, 2, agents, 3))
    fast = learn_fast(network, seen, record=[rounds]).log_ratios[0]
    law = model(agents, seed)
    gain = law.information(0)
    mean = (law.log_priors[:, [0]] - law.log_priors)[law.assignment]
    state = np.zeros((agents, 2, 3))
    for row in seen:
        state = np.einsum("ij,jrm->irm", W, state + (row[..., [0]] - row).swapaxes(0, 1))
        mean = W @ (mean + gain)
    assert_close(fast, state.swapaxes(0, 1))
    assert_close(expected_log_ratio(network, law, [rounds], best=0).values[0], mean)


@often(9)
@given(
    network=large_networks(kinds=("dense", "nearly-defective")),
    seed=seeds,
)
def test_consensus_without_data_ends_at_the_mean_by_v(network: Network, seed: int) -> None:
    """Σ_j v_j log b_j at every agent, after as many rounds as ‖W^n − 1 vᵀ‖ takes, by squaring."""
    W, v = as_dense(network.weights), stationary(network)
    rounds, power = 1, W
    while np.abs(power - v).max() > 1e-13 and rounds < 4096:
        rounds, power = 2 * rounds, power @ power
        power /= power.sum(axis=1, keepdims=True)
    public = np.random.default_rng(seed).normal(size=(network.agents, 3))
    nothing = np.zeros((rounds, network.agents, 3))
    found = learn_fast(network, nothing, log_priors=public, record=[rounds]).private[0]
    limit = consensus(np.tile(v, (network.agents, 1)), public)
    assert_close(found, consensus(power, public), 1e-11)
    if rounds < 4096:
        assert_close(found, limit, 1e-11)

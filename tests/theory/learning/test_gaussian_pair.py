"""Oracles: ball arithmetic for Φ and sums over powers, direct sums, the bivariate normal law."""

import re

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from tests.models import coins
from tests.oracles import precision
from tests.strategies import networks
from theory import (
    FiniteModel,
    GaussianAgent,
    GaussianPair,
    Network,
    error_exponent,
    error_prefactor,
    gaussian_pair,
)


def normals(gaps: object, priors: object = None, std: float = 1.0) -> FiniteModel:
    """Agents with hypotheses N(0, std²), the truth, and N(gap std, std²)."""
    values = np.asarray(gaps, dtype=float)
    agents = [GaussianAgent([1.0], [0.0], std, [[0.0], [gap * std]], std) for gap in values]
    return FiniteModel.from_agents(["zero", "gap"], agents, priors=priors)  # type: ignore[arg-type]


def log_phi(x: flint.arb) -> flint.arb:
    """log Φ(x) as a ball."""
    return ((-x / flint.arb(2).sqrt()).erfc() / 2).log()


@pytest.mark.parametrize("n", [1, 10, 1000, 10**6])
def test_two_agents_against_ball_arithmetic(n: int) -> None:
    """W = [[1−b, b], [b, 1−b]]: [W^k]_ij = (1 ± λ^k)/2, λ = 1 − 2b, sums are geometric."""
    pair = gaussian_pair(Network([[0.75, 0.25], [0.25, 0.75]]), normals([0.5, 1.5]))
    with precision(200):
        lam, d = flint.arb(1) / 2, [flint.arb(1) / 4, flint.arb(9) / 4]
        single = lam * (1 - lam**n) / (1 - lam)
        double = lam**2 * (1 - lam ** (2 * n)) / (1 - lam**2)
        central = log_phi(-(n * (d[0] + d[1])).sqrt() / 2)
        for i in range(2):
            own, other = d[i], d[1 - i]
            mean = (n * (own + other) + single * (own - other)) / 4
            variance = ((n + double) * (own + other) + 2 * single * (own - other)) / 4
            exact = log_phi(-mean / variance.sqrt())
            found = float(pair.log_error_probabilities(n)[i])
            assert found == pytest.approx(float(exact.mid()), rel=1e-13)
            # The ratio, certified to 1e-40, is within O(1/n) of its closed-form limit.
            ratio = exact - central
            assert float(ratio.rad()) < 1e-40
            assert float(ratio.mid()) == pytest.approx(pair.log_ratio_limit[i], abs=0.5 / n)
        assert pair.log_central_error_probability(n) == pytest.approx(float(central), rel=1e-13)
    # (λ²/(1−λ²)) (d_1 + d_2)/4 / 8c², with c = 1/2: the same for both agents
    assert pair.log_ratio_limit == pytest.approx([2.5 / 24] * 2, rel=1e-13)


@given(networks(max_agents=6), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_doubling_is_the_plain_sum_and_the_exponent_the_general_one(
    network: Network, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    gaps = rng.uniform(0, 2, network.agents) * rng.integers(0, 2, network.agents)
    gaps[rng.integers(network.agents)] = 1.0
    priors = [[p, 1 - p] for p in rng.uniform(0.2, 0.8, network.agents)]
    model = normals(gaps, priors)
    pair = gaussian_pair(network, model)
    assert pair.exponent == pytest.approx(error_exponent(network, model).exponent, rel=1e-12)
    assert pair.exponent <= pair.central_exponent * (1 + 1e-12)
    mean, variance = np.zeros(network.agents), np.zeros(network.agents)
    for n, power in enumerate(network.powers(), start=1):
        mean += power @ gaps**2 / 2
        variance += power**2 @ gaps**2
        if n in (1, 2, 3, 13, 64):
            found = pair._moments(n)
            heard = variance > 0
            total = mean + power @ pair.log_prior_odds
            assert found[0] == pytest.approx(total, rel=1e-12, abs=1e-12)
            assert found[1][heard] == pytest.approx(variance[heard], rel=1e-12)
        if n == 64:
            break


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_the_ratio_at_uniform_weights_is_the_transient_factor(agents: int, seed: int) -> None:
    """Two routes: doubling squared deviations here, summing cumulants over rounds there."""
    rng = np.random.default_rng(seed)
    matrix = np.mean([np.eye(agents)[rng.permutation(agents)] for _ in range(4)], axis=0)
    network = Network(0.9 * matrix + 0.1 / agents)
    model = normals(rng.uniform(0.2, 2, agents), [[0.3, 0.7]] * agents)
    pair = gaussian_pair(network, model)
    assert pair.is_efficient
    transient = error_prefactor(network, model).log_transient
    assert pair.log_ratio_limit == pytest.approx(transient, rel=1e-9, abs=1e-12)
    assert pair.exponent == pytest.approx(pair.central_exponent, rel=1e-12)


def test_when_the_central_test_is_reached() -> None:
    """Informed columns of W constant: nothing is lost at any round, though W is not 1vᵀ."""
    c = 0.25
    W = [[c, c, 0.5, 0], [c, c, 0, 0.5], [c, c, 0.3, 0.2], [c, c, 0.1, 0.4]]
    pair = gaussian_pair(Network(W), normals([1.0, 0.7, 0, 0]))
    assert np.ptp(Network(W).stationary_distribution) > 0.01
    assert pair.ratio_limit == pytest.approx(np.ones(4), rel=1e-13)
    for n in (1, 7, 1000):
        central = pair.log_central_error_probability(n)
        assert pair.log_error_probabilities(n) == pytest.approx([central] * 4, rel=1e-13)


def test_one_agent_alone_may_reach_it() -> None:
    """Agent 0 weighs all alike, and so do W, W², …; the two others talk to each other."""
    W = [[1 / 3, 1 / 3, 1 / 3], [1 / 3, 0.6, 1 / 15], [1 / 3, 1 / 15, 0.6]]
    pair = gaussian_pair(Network(W), normals([1.0, 0.7, 0.4]))
    assert pair.log_ratio_limit[0] == pytest.approx(0, abs=1e-15)
    assert (pair.log_ratio_limit[1:] > 0.05).all()
    assert pair.error_probability(0, 50) == pytest.approx(
        pair.central_error_probability(50), rel=1e-13
    )


def test_slow_mixing_costs_as_much_as_eigenvalues_say() -> None:
    """Symmetric W: Σ_k ‖e_iW^k − 1/N‖² = Σ_m λ_m²/(1−λ_m²) u_m(i)², and N² d²/8 times that."""
    for sticky, digits in ((0.5, 1e-12), (1 - 1e-8, 1e-7)):
        W = sticky * np.eye(6) + (1 - sticky) / 6
        pair = gaussian_pair(Network(W), normals([0.3] * 6))
        energy = sticky**2 / ((1 - sticky) * (1 + sticky)) * (1 - 1 / 6)
        assert pair.log_ratio_limit == pytest.approx(np.full(6, 36 * 0.09 / 8 * energy), rel=digits)


def test_unequal_weights_lose_an_exponent() -> None:
    network = Network([[0.9, 0.1], [0.6, 0.4]])
    pair = gaussian_pair(network, normals([1.0, 1.0]))
    assert not pair.is_efficient
    assert (pair.ratio_limit == np.inf).all()
    # v = (6/7, 1/7): (1 · d²)² / (8 · 37/49 d²)
    assert pair.exponent == pytest.approx(49 / (8 * 37), rel=1e-13)
    assert pair.central_exponent == 0.25


def test_the_bracket_holds_the_chance_that_some_agent_errs() -> None:
    pair = gaussian_pair(Network([[0.75, 0.25], [0.25, 0.75]]), normals([0.5, 0.5]))
    n = 40
    power, covariance, mean = np.eye(2), np.zeros((2, 2)), np.zeros(2)
    for _ in range(n):
        power = power @ next(pair.network.powers())
        covariance += power * pair.separations @ power.T
        mean += power @ pair.separations / 2
    safe = multivariate_normal(-mean, covariance).cdf(np.zeros(2))
    bracket = pair.some_agent(n)
    assert bracket.log_lower < np.log(1 - safe) < bracket.log_upper
    assert bracket.log_upper - bracket.log_lower <= np.log(2) + 1e-12


def test_probabilities_far_below_the_smallest_double() -> None:
    pair = gaussian_pair(Network.from_topology("complete", agents=5), normals([1.0] * 5))
    assert pair.error_probability(0, 10**5) == 0.0
    assert pair.log_error_probabilities(10**5)[0] == pytest.approx(-(10**5) * 5 / 8, rel=1e-3)


def test_the_truth_may_be_either_hypothesis() -> None:
    agent = GaussianAgent([0.0, 1.0], [5.0, 1.0], 2.0, [[0.0, 0.0], [7.0, 1.0]], 2.0)
    model = FiniteModel.from_agents(["zero", "one"], [agent], priors=[[0.2, 0.8]])
    pair = gaussian_pair(Network([[1.0]]), model)
    assert isinstance(pair, GaussianPair)
    assert pair.truth == 1
    assert pair.separations.tolist() == [0.25]
    assert pair.log_prior_odds[0] == pytest.approx(np.log(4))


GAUSS = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (coins(1).kinds[0], "agents of kind 0: expected Gaussian agents, got FiniteAgent"),
        (
            GaussianAgent([0.5, 0.5], [0.0, 0.0], 1.0, [[0.0, 0.0], [1.0, 1.0]], 1.0),
            "agents of kind 0: expected one input, got 2",
        ),
        (
            GaussianAgent([1.0], [0.0], 2.0, [[0.0], [1.0]], 1.0),
            "expected a known standard deviation, std = truth_std, got std=1 and truth_std=2",
        ),
        (
            GaussianAgent([1.0], [0.5], 1.0, [[0.0], [1.0]], 1.0),
            "model: expected a hypothesis that is true for every agent, got none",
        ),
        (
            GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.0]], 1.0),
            "model: expected hypotheses that some agent tells apart, got equal ones",
        ),
    ],
)
def test_other_models_are_refused(agent: GaussianAgent, message: str) -> None:
    model = FiniteModel.from_agents(["a", "b"], [agent])
    remedy = "; use error_exponent and refined_error_probability"
    with pytest.raises(ValueError, match=re.escape(message + remedy)):
        gaussian_pair(Network([[1.0]]), model)


def test_more_hypotheses_and_other_sizes_are_refused() -> None:
    agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0], [2.0]], 1.0)
    with pytest.raises(ValueError, match=r"model: expected two hypotheses, got 3"):
        gaussian_pair(Network([[1.0]]), FiniteModel.from_agents("abc", [agent]))
    with pytest.raises(ValueError, match=r"model: expected as many agents as the network"):
        gaussian_pair(Network([[1.0]]), FiniteModel.from_agents("ab", [GAUSS], counts=[2]))

"""Oracles: binomial tails, exact sums over histories that merge, mixtures of normal tails."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import binom, norm

from tests.models import ALONE, COIN, coins, error_probability
from tests.strategies import networks
from theory import (
    FiniteAgent,
    FiniteModel,
    GaussianAgent,
    Network,
    error_prefactor,
    refined_error_probability,
)

LOWEST, STEP = np.log(2 / 3), np.log(3)  # z of a coin: heads log 2/3, tails log 2
# W² = 1vᵀ: two rounds decide all, and every history merges.
NILPOTENT = np.array([[1 / 2, 1 / 2, 0], [1 / 6, 1 / 6, 2 / 3], [1 / 3, 1 / 3, 1 / 3]])


def coin_tail(n: int, prior_odds: float = 0.0) -> float:
    """log P(Λ ≤ 0) of one coin: a binomial tail."""
    tails = np.floor((-LOWEST * n - prior_odds) / STEP + 1e-9)
    return float(binom.logcdf(tails, n, 0.5))


@pytest.mark.parametrize("prior", [0.5, 0.8])
def test_one_coin_against_the_binomial_tail(prior: float) -> None:
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN], priors=[[prior, 1 - prior]])
    odds = float(np.log(prior / (1 - prior)))
    rounds = [100, 101, 102, 300, 1000, 3000, 10_000]
    estimates = refined_error_probability(ALONE, model, rounds).log_pairwise[:, 0, 1]
    for n, estimate in zip(rounds, estimates, strict=True):
        # Second-order terms of the normal law at a distance of up to one step and the prior from
        # its centre: at most (4 + odds)/n here.
        assert np.exp(estimate - coin_tail(n, odds)) == pytest.approx(1, abs=(4 + 2 * odds) / n)


def test_the_lattice_is_seen() -> None:
    """Without its factor, one coin's estimate is wrong by up to a quarter at any n."""
    prefactor = error_prefactor(ALONE, coins(1))
    assert prefactor.span == pytest.approx(STEP, rel=1e-12)
    plain = [float(prefactor.log_probability(n)[0]) - coin_tail(n) for n in range(3000, 3020)]
    step = prefactor.law.tilt * STEP
    assert np.ptp(plain) > 0.8 * step  # log of the factor's extremes, e^{ta} apart
    assert max(plain) < np.log(-np.expm1(-step) / step * np.exp(step)) + 1e-3
    assert min(plain) > np.log(-np.expm1(-step) / step) - 1e-3


def nilpotent_tails(n: int) -> tuple[list[float], float]:
    """log P(Λ_i ≤ 0) of three coins under NILPOTENT, and of some agent's, by enumeration."""
    own: list[list[float]] = [[], [], []]
    some = []
    for bits in product([0, 1], repeat=3):
        # Λ_i = n·LOWEST + STEP (Σ_j W_ij bit_j + K/3), K ~ Binomial(3(n−1), 1/2)
        most = np.floor(3 * (-LOWEST * n / STEP - NILPOTENT @ bits) + 1e-9)
        tails = binom.logcdf(most, 3 * (n - 1), 0.5) - 3 * np.log(2)
        for i in range(3):
            own[i].append(float(tails[i]))
        some.append(float(tails.max()))
    return [float(logsumexp(tails)) for tails in own], float(logsumexp(some))


def test_enumeration_by_merging_is_enumeration() -> None:
    for n in (2, 3):
        every_history = error_probability(Network(NILPOTENT), coins(3), n)
        assert np.exp(nilpotent_tails(n)[1]) == pytest.approx(every_history, rel=1e-12)


@pytest.mark.parametrize("n", [10, 31, 100, 1000])
def test_a_transient_that_ends_against_enumeration(n: int) -> None:
    result = refined_error_probability(Network(NILPOTENT), coins(3), [n])
    exact, some = nilpotent_tails(n)
    for i in range(3):
        assert np.exp(result.log_pairwise[0, i, 1] - exact[i]) == pytest.approx(1, abs=2 / n)
    assert result.log_lower[0] - 2 / n <= some <= result.log_upper[0] + 2 / n
    assert result.log_lower[0] == max(result.log_agents[0])
    # Neither end of the bracket is the truth: the limit is E_tilted max_i e^{−tR_i}.
    assert result.log_lower[0] + 0.01 < some < result.log_upper[0] - 0.5


@pytest.mark.parametrize("n", [31, 300])
def test_a_transient_without_end_against_an_enclosure(n: int) -> None:
    """Two coins, v = (6/7, 1/7): lags up to nine enumerated, later ones moved by at most .3⁹."""
    network, lags = Network([[0.9, 0.1], [0.6, 0.4]]), 9
    estimate = refined_error_probability(network, coins(2), [n]).log_pairwise[0, :, 1]
    assert error_prefactor(network, coins(2)).span == pytest.approx(STEP / 7, rel=1e-9)
    later = n - lags
    one = binom.logpmf(np.arange(later + 1), later, 0.5)
    merged = np.full(7 * later + 1, -np.inf)  # 6 K_1 + K_2, in steps of STEP/7
    for count in range(later + 1):
        part = slice(6 * count, 6 * count + later + 1)
        merged[part] = np.logaddexp(merged[part], one[count] + one)
    tail = np.logaddexp.accumulate(merged)
    for i in range(2):
        early = np.zeros(1)
        for k in range(1, lags + 1):
            for w in np.linalg.matrix_power(network.weights, k)[i]:
                early = np.concatenate([early, early + w])
        ends = []
        for slack in (0.3**lags, -(0.3**lags)):
            most = np.floor(7 * (-LOWEST * n / STEP - early - slack)).astype(int)
            ends.append(logsumexp(tail[most[most >= 0]]) - 2 * lags * np.log(2))
        assert ends[0] <= ends[1] <= ends[0] + 0.05 / n
        assert ends[0] - 2 / n <= estimate[i] <= ends[1] + 2 / n


def test_early_rounds_of_a_slow_network_against_enumeration() -> None:
    """A ring of 25 mixes in about 75 rounds; at round 10 the limit's tilt would give 2e-4.

    3^10 [W^k]_0j are whole numbers, so that coins of these weights add up on a grid.
    """
    network, n = Network.from_topology("ring", agents=25), 10
    law = np.zeros(n * 3**n + 1)
    law[0] = 1.0
    for k in range(1, n + 1):
        for step in np.rint(3**n * np.linalg.matrix_power(network.weights, k)[0]).astype(int):
            law[step:] += law[: law.size - step].copy()
    # Less than half of a step of the grid is rounding.
    least = int(np.floor(-LOWEST * n / STEP * 3**n + 1e-6))
    exact = float(law[: least + 1].sum() / law.sum())
    estimate = np.exp(refined_error_probability(network, coins(25), [n]).log_pairwise[0, 0, 1])
    assert law[-1] > 0  # all coins together
    assert estimate == pytest.approx(exact, rel=0.02)
    assert exact == pytest.approx(0.0215, rel=0.02)


def test_several_inputs_against_a_mixture_of_normal_tails() -> None:
    """Three agents, two inputs each: given the inputs, Λ is normal; counts of inputs merge."""
    agent = GaussianAgent([0.7, 0.3], [0.0, 0.0], 1.0, [[0.0, 0.0], [0.4, 2.0]], 1.0)
    priors = [[0.6, 0.4]]
    model = FiniteModel.from_agents(["zero", "gap"], [agent], counts=[3], priors=priors)
    d = np.array([0.16, 4.0])
    errors = []
    for n in (20, 80, 320):
        estimate = refined_error_probability(Network(NILPOTENT), model, [n]).log_pairwise[0, :, 1]
        count = np.arange(3 * (n - 1) + 1)
        late = binom.logpmf(count, 3 * (n - 1), 0.3)
        total = d[0] * (count.max() - count) + d[1] * count
        for i in range(3):
            tails = []
            for inputs in product([0, 1], repeat=3):
                w, seen = NILPOTENT[i], d[list(inputs)]
                mean = np.log(1.5) + w @ seen / 2 + total / 6
                spread = np.sqrt(w**2 @ seen + total / 9)
                chance = np.log([0.7, 0.3])[list(inputs)].sum()
                tails.append(logsumexp(late + chance + norm.logcdf(-mean / spread)))
            errors.append(n * np.expm1(estimate[i] - float(logsumexp(tails))))
    # A density: O(1/n), with a constant that settles.
    assert np.abs(errors).max() < 2
    assert errors[3:6] == pytest.approx(errors[6:9], rel=0.2)  # itself to O(1/√n)
    assert np.abs(errors).min() > 1e-3  # it is an estimate, not the truth


def test_three_outcomes_on_no_lattice() -> None:
    """Values without a common measure: the relative error tends to 0, at no stated rate."""
    logs = np.array([[0.0, 0.0, 0.0], [0.5, -0.3, -np.sqrt(2)]])
    model = FiniteModel.from_agents(
        ["a", "b"], [FiniteAgent.from_log_likelihoods(logs, probabilities=[0.4, 0.4, 0.2])]
    )
    assert error_prefactor(ALONE, model).span is None
    z, errors = -logs[1], []
    for n in (50, 400):
        first = np.arange(n + 1)
        tail = []
        for i in first:
            rest = np.arange(n - i + 1)
            value = z[0] * i + z[1] * rest + z[2] * (n - i - rest)
            chance = binom.logpmf(i, n, 0.4) + binom.logpmf(rest, n - i, 2 / 3)
            tail.extend(chance[value <= 0])
        estimate = refined_error_probability(ALONE, model, [n]).log_pairwise[0, 0, 1]
        errors.append(abs(np.expm1(estimate - float(logsumexp(tail)))))
    assert errors[0] < 0.02
    assert errors[1] < 0.004


@given(networks(max_agents=6), st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_normal_log_ratios_have_an_exact_estimate(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gaps = rng.uniform(0.1, 2.0, network.agents)
    agents = [GaussianAgent([1.0], [0.0], 1.0, [[0.0], [gap]], 1.0) for gap in gaps]
    priors = [[p, 1 - p] for p in rng.uniform(0.2, 0.8, network.agents)]
    model = FiniteModel.from_agents(["zero", "gap"], agents, priors=priors)
    rounds = [1, 2, 7, 40]
    result = refined_error_probability(network, model, rounds)
    mean, variance = np.zeros(network.agents), np.zeros(network.agents)
    power, done = np.eye(network.agents), 0
    dense = next(network.powers())
    odds = model.log_priors[:, 0] - model.log_priors[:, 1]
    for index, n in enumerate(rounds):
        while done < n:
            power, done = power @ dense, done + 1
            mean += power @ gaps**2 / 2
            variance += power**2 @ gaps**2
        exact = norm.logcdf(-(mean + power @ odds) / np.sqrt(variance))
        # The tilt suits the round to 0.1 deviations: what cancels is of the size of the result.
        assert result.log_pairwise[index, :, 1] == pytest.approx(exact, rel=1e-9)
        assert (result.log_pairwise[index, :, 0] == -np.inf).all()


def test_the_limit_form_is_the_limit() -> None:
    model = FiniteModel.from_agents(
        ["fair", "loaded"], [COIN, COIN], priors=[[0.3, 0.7], [0.8, 0.2]]
    )
    network = Network([[0.7, 0.3], [0.2, 0.8]])
    prefactor = error_prefactor(network, model)
    n = 100_000
    refined = refined_error_probability(network, model, [n]).log_pairwise[0, :, 1]
    # What is left is O(1/n), and the lattice's factor, within ta of 1.
    span = 0.0 if prefactor.span is None else prefactor.span
    slack = prefactor.law.tilt * span + 100 / n
    assert refined == pytest.approx(prefactor.log_probability(n), abs=slack)
    assert slack < 0.25


def test_identical_agents_lose_to_the_transient_at_uniform_weights() -> None:
    """κ is convex, so Σ_j κ(−t[W^k]_ij) ≥ N κ(−t/N): C_i ≥ 1, with equality for W = J/N."""
    complete = error_prefactor(Network.from_topology("complete", agents=4), coins(4))
    assert complete.log_transient == pytest.approx(np.zeros(4), abs=1e-13)
    ring = error_prefactor(Network.from_topology("ring", agents=4), coins(4))
    assert (ring.log_transient > 0.01).all()


def test_hypotheses_that_cannot_win_and_those_that_may_tie() -> None:
    sure = FiniteAgent.from_log_likelihoods([[0.0, 0.0], [-1.0, -2.0], [0.0, -1.0]])
    model = FiniteModel.from_agents(["a", "never", "ties"], [sure])
    result = refined_error_probability(ALONE, model, [5])
    assert result.log_pairwise[0, 0, :2].tolist() == [-np.inf, -np.inf]
    assert np.isnan(result.log_pairwise[0, 0, 2])
    assert np.isnan(result.log_upper[0])


def test_two_wrong_hypotheses_add_up() -> None:
    agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0], [-1.0]], 1.0)
    model = FiniteModel.from_agents(["zero", "one", "minus one"], [agent])
    result = refined_error_probability(ALONE, model, [9])
    assert result.log_agents[0, 0] == pytest.approx(np.log(2) + norm.logcdf(-1.5), rel=1e-12)
    assert result.log_lower[0] == pytest.approx(norm.logcdf(-1.5), rel=1e-12)


def test_weights_far_below_those_of_early_rounds_are_out_of_range() -> None:
    """Agent 1 hears itself with weight 1/2 at first, and with 1e-170 in the end."""
    network = Network([[1 - 1e-170, 1e-170], [0.5, 0.5]])
    blind = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.0]], 1.0)
    knows = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    model = FiniteModel.from_agents(["zero", "one"], [blind, knows])
    assert np.isnan(refined_error_probability(network, model, [3]).log_pairwise[0, 1, 1])
    with pytest.raises(ValueError, match=r"network: expected weights that settle .* and v not far"):
        error_prefactor(network, model)


def test_what_cannot_be_had_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theory.learning.prefactor._MOST_EVALUATIONS", 1e4)
    slow = Network([[1 - 1e-12, 1e-12], [1e-12, 1 - 1e-12]])
    with pytest.raises(ValueError, match=r"network: expected weights that settle within"):
        error_prefactor(slow, coins(2))
    with pytest.raises(
        ValueError, match=r"rounds: expected at most 1250 before W settles, got 5000"
    ):
        refined_error_probability(slow, coins(2), [5000])
    with pytest.raises(
        ValueError, match=r"rounds: expected increasing round numbers, got \[3, 2\]"
    ):
        refined_error_probability(ALONE, coins(1), [3, 2])
    with pytest.raises(ValueError, match=r"rounds: expected a whole number of at least 1, got 2.5"):
        refined_error_probability(ALONE, coins(1), [2.5])  # type: ignore[list-item]
    tied = FiniteAgent.from_log_likelihoods([[0.0, 0.0], [0.0, 0.0], [0.5, -1.0]])
    with pytest.raises(ValueError, match=r"model: expected one hypothesis that is best"):
        refined_error_probability(ALONE, FiniteModel.from_agents("abc", [tied]), [3])

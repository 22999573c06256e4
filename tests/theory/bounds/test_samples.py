from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from tests.models import BLIND, COIN, HALVES, PAIR, SLOW, STAR, coins, error_probability
from tests.strategies import finite_models
from theory import (
    ErrorBound,
    FiniteAgent,
    FiniteModel,
    GaussianAgent,
    Network,
    account,
    error_exponent,
    sample_sizes,
)
from theory.bounds.tails.chernoff import tabulated, tilt_grid
from theory.bounds.tails.events import ErrorEvents
from theory.learning import LogRatioLaw


def error_bounds(network: Network, model: FiniteModel) -> tuple[ErrorBound, ...]:
    return sample_sizes(network, model, delta=0.05, certify=False).bounds


@given(finite_models(2), st.sampled_from([PAIR, SLOW]))
@settings(max_examples=15)
def test_bounds_are_valid(model: FiniteModel, network: Network) -> None:
    """Enumeration of every history of up to two rounds is the oracle."""
    bounds = error_bounds(network, model)
    for n in (1, 2):
        exact = error_probability(network, model, n)
        for bound in bounds:
            assert bound.probability(n) >= exact - 1e-12  # rounding of the enumeration


@given(finite_models(2))
@settings(max_examples=8)
def test_bounds_stay_valid_where_powers_stop_early(model: FiniteModel) -> None:
    """After one power of W the tail alone must bound everything."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("theory.bounds.tails.events._MOST_ROUNDS", 1)
        bounds = error_bounds(SLOW, model)
        for n in (1, 2):
            exact = error_probability(SLOW, model, n)
            for bound in bounds:
                assert bound.probability(n) >= exact - 1e-12


def binomial_rounds(delta: float) -> int:
    """One coin: the smallest n from which on the exact error probability is at most δ."""
    smallest = 1
    for n in range(1, 4000):
        least = int(np.ceil(n * np.log(2) / np.log(3) - 1e-9))
        if binom.sf(least - 1, n, 0.5) > delta:
            smallest = n + 1
    return smallest


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-15])
def test_chernoff_is_tight(delta: float) -> None:
    """−log P = nE + (log n)/2 + O(1), so that Chernoff asks for a share of log n more."""
    exact = binomial_rounds(delta)
    found = sample_sizes(Network([[1.0]]), coins(1), delta=delta).chernoff.rounds
    exponent = error_exponent(Network([[1.0]]), coins(1)).exponent
    # Bahadur-Rao: P ≈ e^{−nE}/(t σ √(2π n)), t σ √2π about 1; the lattice adds one step at most.
    assert exact <= found <= exact + (np.log(exact) / 2 + 2) / exponent


@pytest.mark.parametrize("network", [PAIR, SLOW, STAR], ids=["pair", "slow", "star"])
def test_each_size_is_the_smallest_from_which_the_bound_holds(network: Network) -> None:
    ladder = sample_sizes(network, coins(network.agents), delta=0.01)
    bounds = error_bounds(network, coins(network.agents))
    for size in (ladder.repaired, ladder.chernoff):
        bound = next(b for b in bounds if b.name == size.note)
        assert bound.probability(size.rounds) <= 0.01
        assert bound.probability(size.rounds - 1) > 0.01
        assert all(bound.probability(size.rounds + k) <= 0.01 for k in range(1, 50))


def test_hoeffding_written_out() -> None:
    """R and m from explicit powers of W, at one round."""
    n, weights = 40, np.asarray(PAIR.weights)
    law = COIN.log_ratio_law(0, 1)
    powers = [np.linalg.matrix_power(weights, k) for k in range(1, n + 1)]
    squares = sum((p**2).sum(axis=1) for p in powers) * law.range**2
    means = np.full(2, n * law.mean)
    oracle = np.exp(-2 * means**2 / squares).sum()
    bound = next(
        b for b in error_bounds(PAIR, coins(2)) if b.name == "Hoeffding, union over agents"
    )
    assert bound.probability(n) == pytest.approx(min(1.0, oracle), rel=1e-9)


def single_events(network: Network, model: FiniteModel) -> tuple[ErrorBound, ErrorBound]:
    """The Chernoff and the Hoeffding bound of one event for all agents."""
    chernoff, hoeffding = (b for b in error_bounds(network, model) if "one event" in b.name)
    return chernoff, hoeffding


@pytest.mark.parametrize(("gap", "odds"), [(0.3, 1.0), (0.05, 1.0), (0.05, 9.0)])
def test_single_events_written_out(gap: float, odds: float) -> None:
    """W_01 = g, W_10 = 2g: v = (2/3, 1/3) and D_1 = 4/3 λ/(1 − λ), λ = 1 − 3g, the larger."""
    network = Network([[1 - gap, gap], [2 * gap, 1 - 2 * gap]])
    priors = [[odds / (1 + odds), 1 / (1 + odds)], [0.9, 0.1]]
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN, COIN], priors=priors)
    n, v, law = 400, np.array([2 / 3, 1 / 3]), COIN.log_ratio_law(0, 1)
    behind = 4 / 3 * (1 / (3 * gap) - 1) * np.log(3) / 2 - np.log(odds)
    chernoff, hoeffding = single_events(network, model)
    expected = -2 * (n * law.mean - behind) ** 2 / (n * (v @ v) * np.log(3) ** 2)
    # D is enclosed to 1/512, and half of it may be too much.
    assert expected <= hoeffding.log_probability(n) <= expected * (1 - 1e-2)
    least = minimize_scalar(
        lambda t: n * float(law.cumulant(-t * v).sum()) + t * behind, bounds=(0, 8)
    )
    # The grid of tilts has steps of a tenth where they are small: t is off by a twentieth, and the
    # exponent by its square.
    assert least.fun - 1e-9 <= chernoff.log_probability(n) <= least.fun * (1 - 1e-2)


@pytest.mark.parametrize("n", [5, 50, 1000])
def test_single_events_are_tight_on_a_settled_network(n: int) -> None:
    """All agents hold one belief, so that one event is the error; the union counts it N times.

    Bahadur and Rao: e^{−nE}/P ≈ tσ√(2πm) for m tosses, where tσ√(2π) < 1 for these coins; the
    lattice makes it at most e^{t log 3} < 2 times as large.
    """
    chernoff, hoeffding = single_events(HALVES, coins(2))
    exact = float(binom.logsf(np.ceil(2 * n * np.log(2) / np.log(3) - 1e-9) - 1, 2 * n, 0.5))
    assert exact <= chernoff.log_probability(n) <= exact + np.log(2 * np.sqrt(2 * n))
    written = -4 * n * (COIN.divergences[1] / np.log(3)) ** 2  # D = 0: nothing is given away
    assert hoeffding.log_probability(n) == pytest.approx(written, rel=1e-9)
    unions = [b for b in error_bounds(HALVES, coins(2)) if "union" in b.name]
    for union, single in zip(unions, (chernoff, hoeffding), strict=True):
        together = min(0.0, single.log_probability(n) + np.log(2))
        assert union.log_probability(n) == pytest.approx(together, rel=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_union_is_that_of_the_best_tilts_of_the_grid(seed: int) -> None:
    """Every tilt of the grid at every round, from explicit powers, is the oracle."""
    rng = np.random.default_rng(seed)
    tables = [rng.dirichlet(np.ones(3), size=(4, 1)) for _ in range(3)]
    agents = [FiniteAgent.from_tables(truth=t[0], likelihood=t) for t in tables]
    priors = rng.dirichlet(np.full(4, 3.0), size=3)
    model = FiniteModel.from_agents(list("abcd"), agents, priors=list(priors))
    network = Network([[0.9, 0.1, 0.0], [0.2, 0.6, 0.2], [0.0, 0.3, 0.7]])
    union = next(b for b in error_bounds(network, model) if b.name == "Chernoff, union over agents")
    horizon = len(union.terms)
    weights, truth = np.asarray(network.weights), np.array([t[0, 0] for t in tables])
    tilts = tilt_grid(ErrorEvents(network, model))
    z = np.log([[t[0, 0] / t[m, 0] for m in (1, 2, 3)] for t in tables])
    sums: Any = 0.0
    for n in range(1, horizon + 1):
        power = np.linalg.matrix_power(weights, n)
        points = -power[:, :, None, None, None] * tilts[None, None, :, :, None]
        mean = (truth[:, None, None] * np.exp(points * z[None, :, :, None])).sum(axis=-1)
        sums = sums + np.log(mean).sum(axis=1)
        odds = power @ np.log(priors[:, [0]] / priors[:, 1:])
        logs = np.minimum((sums - odds[..., None] * tilts).min(axis=-1), 0.0)
        if n in (1, 2, 5, 11, 30, horizon):
            assert union.logs(n).reshape(3, 3) == pytest.approx(logs, rel=1e-10, abs=1e-12)
    later = (np.log(mean).sum(axis=1)).max(axis=0)
    falling = sums - odds.min(axis=0)[:, None] * tilts + 400 * later
    expected = np.minimum(falling.min(axis=-1), 0.0)
    assert union.logs(horizon + 400).reshape(3, 3) == pytest.approx(expected, rel=1e-10)
    above = [n for n in range(1, horizon + 1) if union.log_probability(n) > np.log(0.3)]
    assert union.smallest_rounds(0.3) == above[-1] + 1


def test_many_hypotheses_are_refused_before_anything_is_looked_at() -> None:
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet(np.full(4, 2.0), size=(100, 1)) for _ in range(10)]
    agents = [FiniteAgent.from_tables(truth=t[0], likelihood=t) for t in tables]
    model = FiniteModel.from_agents([f"h{k}" for k in range(100)], agents)
    network = Network.from_topology("ring", agents=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("theory.bounds.accounting.rounds.ErrorCurve", None)
        note = sample_sizes(network, model, delta=0.05).certified.note
    assert "not computed here, as it takes about" in note


def test_one_informed_agent_on_a_large_ring() -> None:
    """Far agents hear the evidence late and faintly, and still decide in time."""
    network = Network.from_topology("ring", agents=100)
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN, BLIND], counts=[1, 99])
    ladder = sample_sizes(network, model, delta=0.05)
    assert ladder.chernoff.rounds <= ladder.repaired.rounds
    # Evidence takes about 50 rounds to reach the far side; a thousand is ample.
    assert 50 < ladder.repaired.rounds < 1000


def test_gaussian_agents_have_chernoff_only() -> None:
    agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    model = FiniteModel.from_agents(["zero", "one"], [agent], counts=[2])
    ladder = sample_sizes(PAIR, model, delta=0.01)
    assert ladder.printed.rounds is None
    assert "unbounded" in ladder.printed.note
    assert ladder.repaired.rounds is None
    # Λ is normal: the exact round from explicit powers, between half and all of Chernoff's.
    from scipy.stats import norm

    weights, mean, variance, n = np.asarray(PAIR.weights), np.zeros(2), np.zeros(2), 0
    power = np.eye(2)
    while n == 0 or norm.cdf(-mean / np.sqrt(variance)).max() > 0.01:
        power, n = power @ weights, n + 1
        mean, variance = mean + power.sum(axis=1) / 2, variance + (power**2).sum(axis=1)
    assert n <= ladder.chernoff.rounds <= 2.5 * n


def test_nothing_to_reject() -> None:
    model = FiniteModel.from_agents(["a", "b"], [BLIND], counts=[2])
    ladder = sample_sizes(PAIR, model, delta=0.05)
    assert ladder.chernoff.rounds is None
    assert "nothing to reject" in ladder.chernoff.note
    assert error_bounds(PAIR, model) == ()


def test_interpolated_cumulants() -> None:
    """A law of many atoms, as of images: the interpolant against the sum itself."""
    rng = np.random.default_rng(11)
    means = np.concatenate([rng.exponential(0.8, 900), -rng.exponential(0.6, 600)])
    law = LogRatioLaw(np.full(1500, 1 / 1500), means, np.zeros(1500))
    points = -np.geomspace(1e-4, 40, 500)
    found = tabulated(law, -40.0)(points)
    # κ crosses zero at u = −1 or so: relative to the size of its terms, |u| E|z|.
    scale = np.abs(points) * np.abs(means).mean()
    assert (np.abs(found - law.cumulant(points)) <= 1e-6 * scale).all()


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, float("nan")])
def test_bad_delta(delta: float) -> None:
    with pytest.raises(ValueError, match="delta: expected a number in \\(0, 1\\)"):
        sample_sizes(PAIR, coins(2), delta=delta)
    with pytest.raises(ValueError, match="delta: expected a number in \\(0, 1\\)"):
        account(PAIR, coins(2)).sample_size(delta)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weak", [1e-16, 1e-300])
def test_no_warning_where_one_less_lambda_max_vanishes(
    weak: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("theory.bounds.tails.events._MOST_ROUNDS", 100)
    network = Network([[1 - weak, weak], [weak / 2, 1 - weak / 2]])
    ladder = sample_sizes(network, coins(2), delta=0.05, certify=weak > 1e-100)
    if network.second_eigenvalue == 1:
        assert ladder.printed.rounds is None
        assert "too small for floating point" in ladder.printed.note
    assert ladder.chernoff.rounds is not None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seeing", [0, 1])
@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("weight", [1e-150, 1e-300, 1e-306])
def test_evidence_that_weighs_next_to_nothing(seeing: int, normal: bool, weight: float) -> None:
    sees = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0) if normal else COIN
    agents = [sees, BLIND] if seeing == 0 else [BLIND, sees]
    model = FiniteModel.from_agents(["a", "b"], agents)
    network = Network([[1.0, weight], [0.5, 0.5]])  # v is (1, 2 · weight)
    alone = error_exponent(Network([[1.0]]), FiniteModel.from_agents(["a", "b"], [sees])).exponent
    assert error_exponent(network, model).exponent == pytest.approx(alone, rel=1e-12)
    ladder = sample_sizes(network, model, delta=0.05, certify=False)
    assert (ladder.chernoff.rounds is None) == (seeing == 1)

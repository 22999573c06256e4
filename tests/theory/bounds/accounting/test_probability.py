from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tests.models import ALONE, COIN, HALVES, PAIR, SLOW, STAR, coin, coins, error_probability
from tests.strategies import finite_models, networks
from tests.theory.bounds.accounting.oracles import coin_log_probability, enumerated, of_two
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network, account
from theory.bounds.accounting import events as views_module
from theory.bounds.accounting.curves import ErrorCurve
from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.inversion import EventCurve
from theory.bounds.accounting.inversion_tilts import Grid, choose_tilt
from theory.bounds.accounting.unions import PairUnion

# Rounding of an oracle that adds up thousands of probabilities.
ROUNDING = 1e-11


@given(finite_models(2), st.sampled_from([PAIR, SLOW, HALVES]))
@settings(max_examples=8)
def test_valid_against_every_history(model: FiniteModel, network: Network) -> None:
    found = account(network, model).probability([1, 2])
    for index, n in enumerate((1, 2)):
        exact = error_probability(network, model, n)
        assert found.upper[index] >= exact - ROUNDING
        assert found.lower[index] <= exact + ROUNDING


@given(networks(max_agents=3), st.data())
@settings(max_examples=5)
def test_valid_on_nasty_networks(network: Network, data: st.DataObject) -> None:
    model = data.draw(finite_models(network.agents))
    found = account(network, model).probability(1)
    exact = error_probability(network, model, 1)
    assert found.lower[0] - ROUNDING <= exact <= found.upper[0] + ROUNDING


@pytest.mark.parametrize("network", [PAIR, SLOW], ids=["pair", "slow"])
def test_two_coins_by_enumeration(network: Network) -> None:
    """Valid and, but for the union over two agents, tight."""
    rounds = np.arange(1, 10)
    found = account(network, coins(2)).probability(rounds)
    exact = np.array([enumerated(network, coins(2), int(n)) for n in rounds])
    assert (found.lower <= exact).all()
    assert (found.upper >= exact).all()
    assert (found.upper <= 2.1 * exact).all()
    assert (found.lower >= exact / 2.1).all()


@pytest.mark.parametrize("tosses", [3, 10, 50, 400, 5000, 40_000])
def test_one_agent_exactly(tosses: int) -> None:
    found = account(ALONE, coins(1)).probability(tosses)
    exact = coin_log_probability(tosses)
    assert found.log_lower[0] <= exact <= found.log_upper[0]
    # λ = .02; the law is discrete, so that the bounds are mostly sharper.
    assert found.log_upper[0] - found.log_lower[0] <= 0.03
    if tosses == 40_000:  # far below the smallest double
        assert found.lower[0] == 0.0 < found.upper[0] <= 1e-300


@pytest.mark.parametrize("weights", [[[1.0]], [[0.9, 0.1], [0.6, 0.4]]], ids=["one", "pair"])
def test_gaussian_agents_exactly(weights: list[list[float]]) -> None:
    """Λ_i is normal; its mean and variance are sums over powers of W."""
    network = Network(weights)
    agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    model = FiniteModel.from_agents(["zero", "one"], [agent], counts=[network.agents])
    rounds = [1, 7, 60, 900]
    found = account(network, model).probability(rounds)
    power, mean, variance = np.eye(network.agents), 0.0, np.zeros(network.agents)
    for n in range(1, 901):
        power, mean = power @ np.asarray(weights), n / 2
        variance = variance + (power**2).sum(axis=1)
        if n in rounds:
            index = rounds.index(n)
            logs = norm.logcdf(-mean / np.sqrt(variance))
            assert found.log_lower[index] <= logs.max()
            assert found.log_upper[index] >= logs.max()
            assert found.log_lower[index] >= logs.max() - 0.025
            assert found.log_upper[index] <= np.logaddexp.reduce(logs) + 0.025


def test_a_tie_is_an_error() -> None:
    """Two fair coins of opposite claims: Λ = 0 with probability 1/2 after two tosses."""
    agent = coin([0.75, 0.25], [0.25, 0.75], truth=[0.75, 0.25])
    model = FiniteModel.from_agents(["right", "wrong"], [agent])
    found = account(ALONE, model).probability(2)
    tie, worse = 2 * 0.75 * 0.25, 0.25**2
    assert found.upper[0] >= tie + worse
    assert found.upper[0] <= 1.01 * (tie + worse)
    # The lower bound may lose the mass exactly at zero, and no more.
    assert 0.97 * worse <= found.lower[0] <= tie + worse


def test_agents_that_are_alike_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known = account(STAR, coins(9))
    assert len(known.events.classes(0)) == 2
    apart = account(STAR, coins(9))
    monkeypatch.setattr(views_module, "_ALIKE", -1.0)
    assert len(apart.events.classes(0)) == 9
    one, other = known.probability([20, 60]), apart.probability([20, 60])
    assert np.allclose(one.log_upper, other.log_upper, rtol=0, atol=1e-6)
    assert np.allclose(one.log_lower, other.log_lower, rtol=0, atol=1e-6)


def test_two_ways_to_be_wrong_add_up() -> None:
    """By pairs: two wrong hypotheses, each as likely as the other, hardly ever both."""
    truth = [0.4, 0.3, 0.3]
    agent = coin(truth, [0.3, 0.4, 0.3], [0.3, 0.3, 0.4], truth=truth)
    model = FiniteModel.from_agents(["right", "left", "down"], [agent])
    curve = ErrorCurve(EventSet(ALONE, model), 600, 600, 600)
    alone = curve._kept[0][1].bounds(600, 600).lower[0]
    union = PairUnion(curve, 600, 600, 600, 1e5)
    # Nearly log 2: both at once are a fifth as likely as one.
    assert union.lower()[0] > alone + 0.5
    # What the upper bound has more is exact ties, of which the lower one knows nothing.
    assert union.upper()[0] - union.lower()[0] < 0.35


def test_one_event_for_all_agents_beats_the_union() -> None:
    network = Network.from_topology("complete", agents=30)
    model = coins(30)
    found = account(network, model).probability(40)
    curve = ErrorCurve(EventSet(network, model), 40, 40, 40)
    union = curve._kept[0][1].bounds(40, 40).upper[0] + np.log(30)
    assert found.log_upper[0] < union - 1
    assert found.log_lower[0] <= found.log_upper[0]


@given(finite_models(2))
@settings(max_examples=10)
def test_the_event_for_all_agents_covers_them(model: FiniteModel) -> None:
    """Its own probability is above that of every history in which some agent errs."""
    events = EventSet(PAIR, model)
    for index, theta in enumerate(events.base.wrong):
        two = of_two(model, events.base.best, theta)
        terms = events.shared_terms(index, 1.0)
        for n in (1, 2):
            curve = EventCurve(terms, Grid.around(choose_tilt(terms, n)), n)
            upper = np.exp(curve.bounds(n, n).upper[0])
            assert upper >= enumerated(PAIR, two, n) - ROUNDING


def test_many_outcomes_are_put_on_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 000 data points: the bounds hold those of every atom by itself, and are as sharp."""
    rng = np.random.default_rng(4)
    table = np.log(rng.dirichlet([2.0, 1.0], size=2000).T.clip(1e-3))
    model = FiniteModel.from_agents(
        ["one", "other"], [FiniteAgent.from_log_likelihoods(table)], counts=[2]
    )
    found = account(PAIR, model).probability([3, 20])
    monkeypatch.setattr(EventCurve, "_spacing", property(lambda _: 1e-9))
    every = account(PAIR, model).probability([3, 20])
    assert (found.log_upper >= every.log_lower).all()
    assert (found.log_lower <= every.log_upper).all()
    assert np.allclose(found.log_upper, every.log_upper, rtol=0, atol=0.01)
    assert np.allclose(found.log_lower, every.log_lower, rtol=0, atol=0.01)
    assert not np.array_equal(found.log_upper, every.log_upper)  # the grid was used


def test_a_bound_that_cannot_grow() -> None:
    curve = ErrorCurve(EventSet(PAIR, coins(2)), 80, 200)
    first = curve.events.powers.count + 1
    rounds = range(first, 200)
    falling = np.array([curve.falling(n) for n in rounds])
    assert (np.diff(falling) <= 0).all()
    assert (falling >= curve.bounds(first, 199).upper - 1e-12).all()
    # It gives away the lattice's luck alone.
    assert (falling <= curve.bounds(first, 199).upper + 0.7).all()


def test_several_best_hypotheses() -> None:
    """Copies count as one; hypotheses that merely tie leave no lower bound."""
    copies = FiniteAgent(COIN.probabilities, COIN.log_likelihoods[[0, 0, 1]])
    model = FiniteModel.from_agents(["fair", "even", "loaded"], [copies])
    found = account(ALONE, model).probability(50)
    plain = account(ALONE, coins(1)).probability(50)
    assert found.log_lower[0] == pytest.approx(plain.log_lower[0], abs=1e-9)
    assert not found.note
    table = [[[0.6, 0.4]], [[0.4, 0.6]], [[0.9, 0.1]]]
    tied = FiniteAgent.from_tables(inputs=[1.0], truth=[[0.5, 0.5]], likelihood=table)
    model = FiniteModel.from_agents(["a", "b", "c"], [tied])
    found = account(ALONE, model).probability(50)
    assert found.lower[0] == 0.0 < found.upper[0]
    assert "several hypotheses" in found.note


def test_nothing_to_reject() -> None:
    model = FiniteModel.from_agents(["a", "b"], [coin([0.5, 0.5], [0.5, 0.5])])
    found = account(ALONE, model).probability([1, 9])
    assert found.upper.tolist() == [0.0, 0.0]
    assert account(ALONE, model).sample_size(0.1).upper is None


def test_evidence_that_never_misleads() -> None:
    """z > 0 always, and a prior against the truth: wrong for sure, then never."""
    agent = FiniteAgent(np.array([0.5, 0.5]), np.log([[0.5, 0.5], [0.25, 0.2]]))
    model = FiniteModel.from_agents(["right", "wrong"], [agent], priors=[[0.2, 0.8]])
    found = account(ALONE, model).probability([1, 3])
    # log 4 against log 2 or log 2.5 a round: an error at round 1, none at round 3.
    assert found.lower[0] == pytest.approx(1.0, abs=0.02)
    assert found.upper[1] <= 1e-6
    assert found.lower[1] == 0.0


@pytest.mark.parametrize("rounds", [0, 2.5, [[1]], []])
def test_bad_rounds(rounds: object) -> None:
    with pytest.raises(ValueError, match="rounds: expected"):
        account(ALONE, coins(1)).probability(rounds)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="agents"):
        account(PAIR, coins(3))


def test_any_tilt_is_valid() -> None:
    terms = EventSet(ALONE, coins(1)).terms(0, 0)
    best = choose_tilt(terms, 30)
    exact = coin_log_probability(30)
    for factor in (0.3, 0.7, 1.5, 3.0):
        tilt = replace(best, value=best.value * factor)
        found = EventCurve(terms, Grid.around(tilt), 30, 30).bounds(30, 30)
        assert found.lower[0] <= exact <= found.upper[0]


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_any_period_is_valid(share: float) -> None:
    """With a short period much of the law lies outside it, which the lower bound must not count."""
    terms = EventSet(ALONE, coins(1)).terms(0, 0)
    best = choose_tilt(terms, 30)
    exact = coin_log_probability(30)
    found = EventCurve(terms, Grid.around(replace(best, period=best.period * share)), 30, 30)
    assert found.bounds(30, 30).lower[0] <= exact <= found.bounds(30, 30).upper[0]


def test_agents_hardly_heard_by_each_other_err_apart() -> None:
    """Three agents of one class: nearly three times the error of one."""
    network = Network(np.full((3, 3), 0.01) + 0.97 * np.eye(3))
    told = account(network, coins(3))
    assert len(told.events.classes(0)) == 1
    for n in (1, 2, 3):
        exact = enumerated(network, coins(3), n)
        found = told.probability(n)
        assert found.lower[0] <= exact <= found.upper[0]


def test_a_network_that_is_called_settled_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then one round that stands for all later ones is off by a lot, and the bounds know it."""
    monkeypatch.setattr("theory.bounds.accounting.terms._SETTLED", 0.1)
    agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    model = FiniteModel.from_agents(["zero", "one"], [agent], counts=[2])
    events = EventSet(PAIR, model)
    assert events.powers.count == 3
    power, variance = np.eye(2), np.zeros(2)
    for _ in range(900):
        power = power @ np.asarray(PAIR.weights)
        variance = variance + (power**2).sum(axis=1)
    terms = events.terms(0, 0)
    curve = EventCurve(terms, Grid.around(choose_tilt(terms, 900)), 900, 900)
    exact = norm.logcdf(-450 / np.sqrt(variance[0]))
    found = curve.bounds(900, 900)
    assert found.lower[0] <= exact <= found.upper[0]

from dataclasses import replace

import numpy as np
import pytest

from tests.models import ALONE, COIN, HALVES, SLOW, STAR, coin, coins
from tests.theory.bounds.accounting.oracles import coin_log_probability
from theory import FiniteAgent, FiniteModel, Network, account, sample_sizes
from theory.bounds.accounting import rounds as rounds_module
from theory.bounds.accounting.events import EventSet


def coin_rounds(delta: float, *, a_round: int, most: int) -> int:
    """n(δ) for coins that are all heard alike, `a_round` of them."""
    target = np.log(delta)
    wrong = [n for n in range(1, most) if coin_log_probability(a_round * n) > target]
    return max(wrong, default=0) + 1


@pytest.mark.parametrize("delta", [0.2, 0.05, 1e-3, 1e-9])
@pytest.mark.parametrize("network", [ALONE, HALVES], ids=["one", "two"])
def test_encloses_the_truth_tightly(network: Network, delta: float) -> None:
    agents = network.agents
    exact = coin_rounds(delta, a_round=agents, most=1200)
    found = account(network, coins(agents)).sample_size(delta)
    assert found.lower <= exact <= found.upper
    assert found.lower >= 0.95 * exact - 1
    assert found.upper <= 1.05 * exact + 1


@pytest.mark.parametrize("pilot", [1, 7, 30, 300, 3000])
def test_a_bad_guess_costs_sharpness_at_most(pilot: int) -> None:
    exact = coin_rounds(0.01, a_round=1, most=1000)
    found = account(ALONE, coins(1)).sample_size(0.01, pilot=pilot)
    assert found.lower <= exact <= found.upper <= 1.1 * exact + 1
    assert found.lower >= 0.9 * exact - 1


def test_a_star_with_many_hypotheses() -> None:
    """Ten claims about a die, nine agents.

    The union over agents and hypotheses may be ten times too large: log 10/E rounds, which is most
    of n(δ) at δ = .05 and little at 1e-6.
    """
    rng = np.random.default_rng(5)
    truth = rng.dirichlet(np.full(6, 8.0))
    claims = np.vstack([truth, rng.dirichlet(np.full(6, 8.0), size=9)])
    agent = FiniteAgent.from_tables(inputs=[1.0], truth=[truth], likelihood=claims[:, None, :])
    model = FiniteModel.from_agents([f"claim {m}" for m in range(10)], [agent], counts=[9])
    for delta, factor in ((0.05, 1.8), (1e-6, 1.2)):
        found = account(STAR, model).sample_size(delta)
        assert found.upper <= factor * found.lower


def test_before_the_network_has_settled() -> None:
    """Thousands of rounds of mixing, decided after dozens: every round is looked at."""
    found = account(SLOW, coins(2)).sample_size(0.05)
    assert found.upper < found.covered_from
    # Two agents hardly heard by each other: about as one agent, twice.
    assert coin_rounds(0.05, a_round=1, most=600) * 0.9 <= found.lower
    assert found.upper <= coin_rounds(0.025, a_round=1, most=600) * 1.05 + 1


def test_a_long_way_is_covered_without_looking_at_every_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact = coin_rounds(1e-3, a_round=1, most=1200)
    monkeypatch.setattr(rounds_module, "_MOST_WORK", 1.0)
    monkeypatch.setattr(rounds_module, "_BLOCK", 4)
    found = account(ALONE, coins(1)).sample_size(1e-3)
    assert found.lower <= exact <= found.upper
    assert "rounds down to" in found.note


def test_hard_problems_take_a_million_rounds() -> None:
    agent = coin([0.5, 0.5], [0.502, 0.498])
    model = FiniteModel.from_agents(["fair", "nearly"], [agent], counts=[2])
    found = account(HALVES, model).sample_size(0.01)
    # Λ is nearly normal with mean 2nI and variance 8nI/2…: P = Φ(−√(nI)), I the rate.
    from scipy.stats import norm

    rate = -0.5 * np.log(1 - 0.004**2)
    about = norm.isf(0.01) ** 2 / rate
    assert 0.97 * about <= found.lower <= found.upper <= 1.03 * about


def test_the_ladder_has_the_certified_rung() -> None:
    ladder = sample_sizes(STAR, coins(9), delta=0.01)
    certified = ladder.certified
    assert certified.lower <= certified.upper <= ladder.chernoff.rounds
    # Both ends are what they say, at the rounds next to them.
    found = account(STAR, coins(9)).probability([certified.lower - 1, certified.upper])
    assert found.upper[0] > 0.01
    assert found.lower[1] <= 0.01


def test_what_takes_long_is_left_out_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theory.bounds.samples._MOST_SECONDS", 0.0)
    certified = sample_sizes(STAR, coins(9), delta=0.01).certified
    assert certified.upper is None
    assert "not computed here" in certified.note
    large = Network.from_topology("ring", agents=100)
    assert "64 agents" in sample_sizes(large, coins(100), delta=0.01).certified.note


def test_margin() -> None:
    """The event Λ ≤ n(K − ε) is a binomial tail; its probability passes δ between the ends."""
    n, delta = 200, 0.05
    rate = COIN.divergences[1] - COIN.divergences[0]
    found = account(ALONE, coins(1)).smallest_margin(n, delta)

    def probability(margin: float) -> float:
        return float(np.exp(coin_log_probability(n, threshold=n * (rate - margin))))

    # A hair to the sides: the tail is a step function, and the enclosure may end on a step.
    assert probability(found.upper + 1e-9) <= delta < probability(found.lower - 1e-9)
    # log 3 nats a step of the binomial, over n.
    assert found.upper - found.lower <= np.log(3) / n + 5e-3 * found.upper


def test_too_many_events_are_left_out_before_any_is_looked_at() -> None:
    heads = np.linspace(0.1, 0.9, 2001)
    tables = np.stack([heads, 1 - heads], axis=1)[:, None, :]
    coin = FiniteAgent.from_tables(inputs=[1.0], truth=[[0.5, 0.5]], likelihood=tables)
    model = FiniteModel.from_agents([f"h{k}" for k in range(2001)], [coin])
    found = sample_sizes(ALONE, model, delta=0.05)
    assert found.certified.upper is None
    assert "not computed here" in found.certified.note
    assert found.chernoff.rounds is not None


def test_constants_of_many_rounds_are_those_of_each() -> None:
    """Within the rounds kept apart, at their end, and far behind it; by the definition."""
    base = EventSet(SLOW, coins(2)).terms(0, 0)
    terms = replace(
        base, drift=0.25, doubt=1e-12, shift=base.shift + 0.1 * np.arange(base.rounds + 1)
    )
    m = terms.rounds
    n = np.array([1, 2, m - 1, m, m + 1, m + 2, 10 * m])
    for k, shift, error in zip(n, terms.shifts_at(n), terms.shift_errors_at(n), strict=True):
        later = max(0, k - m - 1)
        own = terms.shift[k - 1] if k <= m else terms.shift[-1]
        assert shift == own + later * 0.25 == terms.shift_at(int(k))
        least = terms.shift_error[k - 1] if k <= m else terms.shift_error[-1] + later * 1e-12
        assert least <= error == terms.shift_errors_at(np.array([k]))[0]
        assert error <= least * (1 + 1e-15) + 1e-14 * (1 + abs(shift))

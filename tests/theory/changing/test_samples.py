from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from tests.models import COIN, coins
from tests.strategies import changing_networks
from tests.theory.changing.oracles import phase_rounds
from theory import (
    FiniteAgent,
    FiniteModel,
    GaussianAgent,
    Network,
    error_bound,
    error_exponent,
    sample_sizes,
)
from theory.bounds.tails.events import ErrorEvents
from theory.bounds.tails.phased_bound import phased_bounds
from theory.changing import (
    ChangingNetwork,
    DelayedNetwork,
    PeriodicNetwork,
    RandomLinks,
    rotating_star,
)
from theory.changing.delays import lagged_weights

PAIR = Network([[0.9, 0.1], [0.6, 0.4]])
RING = Network.from_topology("ring", agents=5)


@pytest.mark.parametrize("delta", [0.3, 0.01, 1e-6])
def test_a_network_that_does_not_change_has_the_known_sizes(delta: float) -> None:
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN] * 2, priors=[[0.3, 0.7], None])
    # The event that covers all agents at once is not offered where the network changes.
    ladder = sample_sizes(PAIR, model, delta=delta, certify=False)
    chernoff, repaired = (
        next(b for b in ladder.bounds if b.name == f"{kind}, union over agents").smallest_rounds(
            delta
        )
        for kind in ("Chernoff", "Hoeffding")
    )
    changing = [PeriodicNetwork([PAIR.weights] * times) for times in (1, 3)]
    for network in (*changing, DelayedNetwork(PAIR, 0)):
        bounds = phased_bounds(network, ErrorEvents(network, model))
        assert not isinstance(bounds, str)
        sizes = {bound.name: bound.smallest_rounds(delta) for bound in bounds}
        assert sizes["Hoeffding, union over agents"] == repaired
        found = min(n for n in sizes.values() if n is not None)
        # Grids of tilts differ: by less than one per cent of the rounds, and one.
        assert abs(found - min(chernoff, repaired)) <= 1 + chernoff // 100


@given(changing_networks(changes=("periodic", "delays"), min_agents=3, max_agents=3))
@settings(max_examples=30)
def test_lagged_weights_are_what_the_recursion_does(network: ChangingNetwork) -> None:
    """A unit of evidence at agent j, m rounds before the end, in the recursion itself."""
    assert isinstance(network, PeriodicNetwork | DelayedNetwork)
    rounds = 7
    period = network.period if isinstance(network, PeriodicNetwork) else 1
    lags = lagged_weights(network, (rounds - 1) % period)
    for m in range(1, rounds + 1):
        expected = np.zeros((3, 3))
        said: dict[int, np.ndarray] = {}
        for t in range(rounds - m + 1, rounds + 1):
            fresh = expected + np.eye(3) * (t == rounds - m + 1)
            if isinstance(network, PeriodicNetwork):
                weights, observes = phase_rounds(network)[(t - 1) % period]
                if t == rounds - m + 1:
                    fresh = np.diag(observes)
                expected = weights @ fresh
            else:
                said[t] = fresh
                expected = sum(
                    part @ said[t - d]
                    for d, part in enumerate(network.weights_by_delay)
                    if t - d in said
                ) + np.zeros((3, 3))
        np.testing.assert_allclose(next(lags).observed, expected, atol=1e-14)


def error_probability(network: PeriodicNetwork, rounds: int) -> float:
    """P(some agent does not strictly prefer "fair"), over all tosses."""
    cases = phase_rounds(network)
    z = np.log([0.5 / 0.75, 0.5 / 0.25])
    wrong = 0
    histories = 0
    for tosses in product([0, 1], repeat=rounds * network.agents):
        state = np.zeros(network.agents)
        for t, row in enumerate(np.array(tosses).reshape(rounds, -1)):
            weights, observes = cases[t % network.period]
            state = weights @ (state + observes * z[row])
        wrong += bool((state <= 1e-12).any())
        histories += 1
    return wrong / histories


def test_bounds_hold_in_every_phase() -> None:
    star = rotating_star(groups=2, group_size=1, edge_confidence=0.5)
    for rounds in (1, 2, 3, 4):
        truth, bound = error_probability(star, rounds), error_bound(star, coins(3), rounds)
        assert truth <= bound <= 1


def test_bounds_are_tight_to_first_order() -> None:
    """The logarithm of the bound falls by the exponent every round, from any phase on."""
    star = rotating_star(groups=2, group_size=2, edge_confidence=0.5)
    exponent = error_exponent(star, coins(5)).exponent
    bounds = phased_bounds(star, ErrorEvents(star, coins(5)))
    assert not isinstance(bounds, str)
    one, two = (min(np.log(b.probability(n)) for b in bounds) for n in (400, 600))
    assert (one - two) / 200 == pytest.approx(exponent, rel=2e-3)  # the grid of tilts
    assert (one - two) / 200 <= exponent * (1 + 1e-9)


def test_the_bound_stays_below_from_the_round_given_on() -> None:
    star = rotating_star(groups=3, group_size=2, edge_confidence=0.2)
    found = sample_sizes(star, coins(7), delta=0.05).chernoff
    bounds = phased_bounds(star, ErrorEvents(star, coins(7)))
    assert not isinstance(bounds, str)
    assert min(bound.probability(found.rounds - 1) for bound in bounds) > 0.05
    for n in range(found.rounds, found.rounds + 40):
        assert min(bound.probability(n) for bound in bounds) <= 0.05


def test_late_messages_cost_a_constant_number_of_rounds() -> None:
    """The exponent does not change, so neither does the slope in log(1/δ)."""
    gaps = []
    for delta in (1e-3, 1e-12):
        late = sample_sizes(DelayedNetwork(RING, 3), coins(5), delta=delta).chernoff
        fresh = sample_sizes(RING, coins(5), delta=delta).chernoff
        gaps.append(late.rounds - fresh.rounds)
    assert 0 < gaps[0] <= gaps[1] + 1
    assert gaps[1] < 2 * gaps[0]


def test_what_gives_no_number_says_why() -> None:
    random = sample_sizes(RandomLinks(RING, 0.5), coins(5), delta=0.1)
    assert random.chernoff.rounds is None
    assert "random networks" in random.chernoff.note
    agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    normal = FiniteModel.from_agents(["zero", "one"], [agent], counts=[5])
    sizes = sample_sizes(DelayedNetwork(RING, 1), normal, delta=0.1)
    assert sizes.repaired.rounds is None
    assert "unbounded" in sizes.repaired.note
    assert sizes.chernoff.rounds is not None
    large = rotating_star(groups=100, group_size=10, edge_confidence=0.5)
    assert "too many" in sample_sizes(large, coins(1001), delta=0.1).chernoff.note
    with pytest.raises(ValueError, match="delta"):
        sample_sizes(RING, coins(5), delta=2)
    with pytest.raises(ValueError, match="network: expected periodic phases or delays, got Random"):
        error_bound(RandomLinks(RING, 0.5), coins(5), 10)


@pytest.mark.parametrize("late", [False, True])
def test_a_tail_begun_early_is_a_bound_still(late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lags summed one by one for a round or two, the rest by the worst row; agents unlike."""
    loud = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.95, 0.05]]]
    )
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN, loud, COIN])
    network: PeriodicNetwork | DelayedNetwork
    if late:
        network = DelayedNetwork(Network.from_topology("path", agents=3), 1)
    else:
        network = rotating_star(groups=2, group_size=1, edge_confidence=0.1)
    summed = phased_bounds(network, ErrorEvents(network, model))
    monkeypatch.setattr("theory.bounds.tails.phased_bound._SETTLED", 2.0)
    early = phased_bounds(network, ErrorEvents(network, model))
    assert not isinstance(summed, str)
    assert not isinstance(early, str)
    for one, two in zip(summed, early, strict=True):
        assert one.name == two.name
        assert len(two.parts[0].terms) < 4
        assert len(one.parts[0].terms) > 10
        for n in (20, 60, 61, 62, 200):
            # To rounding of sums of a few hundred terms of order one.
            assert one.probability(n) <= two.probability(n) * (1 + 1e-9)

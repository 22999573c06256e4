"""What robust rules promise, against exact expectations by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from tests.models import coin, coins
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.robustness import Push, Silent, StuckData, clip_guarantee, pooling_guarantee

LOW, HIGH = np.log([0.5 / 0.75, 0.5 / 0.25])


def exact_least(agents: int, terms: int) -> float:
    """E min_j S_j for `agents` sums of `terms` fair coins' evidence, from the binomial law."""
    heads = np.arange(terms + 1)
    tail = binom.sf(heads - 1, terms, 0.5) ** agents  # every agent has at least so many
    return float(terms * LOW + (HIGH - LOW) * tail[1:].sum())


@pytest.mark.parametrize("pool_every", [1, 5, 50, 400])
def test_the_pooling_guarantee_is_valid_and_near(pool_every: int) -> None:
    crowd = Network.from_topology("complete", agents=9)
    bound = pooling_guarantee(crowd, coins(9), {0: Silent()}, pool_every=pool_every)
    exact = exact_least(8, pool_every) / pool_every
    assert bound.rates[0] == 0
    assert bound.rates[1] <= exact + 1e-12
    # For eight normal sums the distance to the mean is 1.424 deviations, the bound's √(2 log 8) =
    # 2.04: a factor of 1.43.
    information = (LOW + HIGH) / 2
    assert information - bound.rates[1] < 1.5 * (information - exact) + 1e-12


def test_the_pooling_guarantee_tends_to_the_least_information() -> None:
    slow = coin([0.5, 0.5], [0.6, 0.4])
    gauge = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    model = FiniteModel.from_agents(["a", "b"], [slow, gauge], counts=[2, 2])
    crowd = Network.from_topology("complete", agents=4)
    least = model.information(0)[:, 1].min()
    before = -np.inf
    for pool_every in (1, 10, 1000, 10**6):
        rate = pooling_guarantee(crowd, model, {}, pool_every=pool_every).rates[1]
        assert before < rate < least
        before = rate
    assert least - before < 2e-3 * least + 1e-3
    # Where the slow ones lie, they do not count.
    faults = {0: Silent(), 1: Silent()}
    assert pooling_guarantee(crowd, model, faults, pool_every=10**6).rates[1] > 0.49


def test_evidence_that_never_varies_is_promised_in_full() -> None:
    sure = FiniteAgent.from_log_likelihoods(np.array([[0.0], [-2.0]]))
    model = FiniteModel.from_agents(["a", "b"], [sure], counts=[3])
    crowd = Network.from_topology("complete", agents=3)
    assert pooling_guarantee(crowd, model, {}, pool_every=3).rates.tolist() == [0.0, 2.0]


def test_clipping_is_bounded_by_the_weight_on_liars() -> None:
    """By hand: two honest agents of three, each with a third of its weight on the liar."""
    crowd = Network.from_topology("complete", agents=3)
    information = (LOW + HIGH) / 2
    bounds = clip_guarantee(crowd, coins(3), {2: Push(1, 1.0)}, radius=0.3)
    assert bounds.lower[1] == pytest.approx(information - 0.1, rel=1e-12)
    assert bounds.upper[1] == pytest.approx(information + 0.1, rel=1e-12)
    assert bounds.average_learns
    seldom = clip_guarantee(crowd, coins(3), {2: Push(1, 1.0)}, radius=0.3, pool_every=10)
    assert seldom.lower[1] == pytest.approx(information - 0.01, rel=1e-12)
    assert not clip_guarantee(crowd, coins(3), {2: Push(1, 1.0)}, radius=0.5).average_learns
    nobody = clip_guarantee(crowd, coins(3), {}, radius=0.5)
    np.testing.assert_allclose(nobody.lower, [0, information])
    np.testing.assert_array_equal(nobody.lower, nobody.upper)
    stuck = clip_guarantee(crowd, coins(3), {2: StuckData(0)}, radius=0.5)
    assert stuck.lower[1] == pytest.approx((2 * information + LOW) / 3)
    assert stuck.lower[1] == stuck.upper[1]


def test_clipping_needs_a_reversible_network() -> None:
    one_way = Network([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    with pytest.raises(ValueError, match="network: expected a reversible one"):
        clip_guarantee(one_way, coins(3), {}, radius=1.0)


def test_the_oracle_by_all_histories() -> None:
    """The binomial formula above, from every outcome of two agents and three rounds."""
    total = 0.0
    for tosses in product((LOW, HIGH), repeat=6):
        total += min(sum(tosses[:3]), sum(tosses[3:])) / 2**6
    assert exact_least(2, 3) == pytest.approx(total, rel=1e-12)

"""The front door: what it fills in by itself, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.models import FAIR, PAIR, coin, coins
from tests.strategies import Problem, problems
from tests.theory.learnability.test_separation import LEFT, RIGHT
from theory import FiniteModel, Network, error_exponent, learning_rate
from theory.learnability import departures, learnability
from theory.rational import RationalFiniteAgent, RationalModel


@given(problems(max_agents=6))
@settings(max_examples=20)
def test_before_anyone_leaves_it_is_the_network_s_own_k_and_e(problem: Problem) -> None:
    network, model = problem.network, problem.model
    found = learnability(model, network)
    rate = learning_rate(network, model)
    assert found.departures.target == rate.reference[0]
    assert set(found.departures.wrong).isdisjoint(rate.reference)
    # Divergences of order ten that differ by less than 1e-11 are ties.
    assert found.departures.rate == pytest.approx(rate.rate, rel=1e-9, abs=1e-10)
    decay = error_exponent(network, model)
    if len(rate.reference) == 1:
        assert found.departures.exponent == pytest.approx(decay.exponent, rel=1e-9, abs=1e-12)
    assert found.separation.unseparable_pairs == model.ambiguous_pairs
    divided = (found.disputes.support > 0).any()
    assert not (divided and found.rejection.is_optimal)


def test_without_a_network_or_a_best_hypothesis() -> None:
    agreed = learnability(coins(2))
    assert agreed.departures is agreed.disputes is None
    divided = FiniteModel.from_agents(
        ["left", "right"], [coin(LEFT, RIGHT, truth=own) for own in (LEFT, RIGHT)]
    )
    found = learnability(divided)
    assert found.rejection is found.sufficient_for_target is found.departures is None
    assert found.sufficient.size == 1
    chosen = learnability(divided, target=1)
    assert chosen.rejection.rejecters(0).tolist() == [1]
    assert not chosen.rejection.is_optimal


def test_the_compromise_is_the_target_where_nothing_is_best() -> None:
    divided = FiniteModel.from_agents(
        ["left", "right"], [coin(LEFT, RIGHT, truth=own) for own in (LEFT, RIGHT)]
    )
    found = learnability(divided, PAIR)
    assert found.departures.target == 0
    assert found.departures.critical == (0,)
    assert found.disputes.most_disputed == 1
    assert found.disputes.supporters(1).tolist() == [1]
    other = learnability(divided, [1 / 7, 6 / 7])
    assert other.departures.target == 1


def test_compromises_that_are_equal_part_when_somebody_leaves() -> None:
    """Against sums by hand: C is far from both, and A and B are equal as long as both speak."""
    far = [0.01, 0.99]
    model = FiniteModel.from_agents(
        ["A", "B", "C"], [coin(LEFT, RIGHT, far, truth=own) for own in (LEFT, RIGHT)]
    )
    network = Network([[0.5, 0.5], [0.5, 0.5]])
    found = learnability(model, network, target="A").departures
    against = model.information(0)
    assert found.wrong == (2,)
    assert found.rate == pytest.approx(learning_rate(network, model).rate, rel=1e-12)
    # Each weighs 1/2; without the one it is the other's.
    np.testing.assert_allclose(found.silent_rates, against[::-1, 1:].min(axis=1) / 2, rtol=1e-12)
    np.testing.assert_allclose(found.removed_rates, against[::-1, 1:].min(axis=1), rtol=1e-12)
    assert found.silent_rates[0] == pytest.approx(-0.2747, abs=1e-4)
    assert found.critical == (0,)
    plain = departures(model, network, target="A")
    np.testing.assert_array_equal(found.silent_rates, plain.silent_rates)
    np.testing.assert_array_equal(found.silent_exponents, plain.silent_exponents)
    np.testing.assert_array_equal(found.silent_binding, plain.silent_binding)


def test_decided_in_rationals() -> None:
    """Doubles do not tell 2/5 from what is 1e-15 further off on the other side; rationals do."""
    fair, low, high = ["1/2", "1/2"], ["2/5", "3/5"], ["0.600000000000001", "0.399999999999999"]
    exact = RationalModel.from_agents(
        ["low", "high"],
        [RationalFiniteAgent.from_tables(inputs=["1"], truth=[fair], likelihood=[[low], [high]])],
    )
    claims = [[0.4, 0.6], [0.600000000000001, 0.399999999999999]]
    model = FiniteModel.from_agents(["low", "high"], [coin(*claims)])
    assert learnability(model, target=0).rejection.wrong == ()  # type: ignore[union-attr]
    decided = learnability(model, target=0, exact=exact)
    assert decided.rejection.wrong == (1,)
    assert decided.rejection.rejecters(1).tolist() == [0]
    assert decided.separation.unseparable_pairs == ()


def test_two_specialists_and_one_who_knows_both() -> None:
    model = FiniteModel.from_agents(
        ["fair", "left", "right"],
        [coin(FAIR, LEFT, FAIR), coin(FAIR, FAIR, RIGHT), coin(FAIR, LEFT, RIGHT)],
    )
    found = learnability(model, np.full(3, 1 / 3))
    assert found.sufficient.agents == found.sufficient_for_target.agents == (2,)  # type: ignore[union-attr]
    assert found.separation.redundant == (0, 1, 2)
    assert found.rejection.redundant == (0, 1, 2)  # type: ignore[union-attr]
    assert found.departures.critical == ()  # type: ignore[union-attr]
    # Each is redundant, not all of them are: without the last, the first two are needed.
    pair = learnability(FiniteModel.from_agents(model.hypotheses, model.kinds[:2]), [0.5, 0.5])
    assert pair.sufficient.agents == (0, 1)
    assert pair.separation.redundant == ()
    assert pair.departures.critical == (0, 1)  # type: ignore[union-attr]


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="target: expected a whole number of at most 1, got 3"):
        learnability(coins(2), target=3)
    with pytest.raises(ValueError, match="as many agents as the network, 2, got 3"):
        learnability(coins(3), PAIR)
    exact = RationalModel.from_model(coins(3))
    with pytest.raises(ValueError, match="exact: expected the same 2 hypotheses and 2 agents"):
        learnability(coins(2), exact=exact)

"""Exact curves of error, as oracles of simulation, certified bounds and sample sizes."""

from __future__ import annotations

from fractions import Fraction
from math import comb, floor, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact.law import belief_law, error_law, exact_sample_size
from exact.law.law_problem import in_doubles
from tests.exact.law.test_belief_law import (
    EVEN_COIN,
    GAUSSIAN,
    PAIR,
    RATIONAL_PAIR,
    rational_coins,
)
from tests.models import coins
from tests.strategies import finite_models, networks, rational_models, rational_networks
from theory import Network, account, learning_rate, sample_sizes
from theory.rational import RationalNetwork, tie_gap

ALONE = RationalNetwork([["1"]])
EVEN = RationalNetwork([["1/2", "1/2"], ["1/2", "1/2"]])


def binomial_error(tosses: int) -> Fraction:
    """Loaded (3/4 heads) explains a fair coin's tosses as well: few tails. Exact."""
    most = floor(tosses * log(3 / 2) / log(3))  # irrational: never a whole number but at 0
    return Fraction(sum(comb(tosses, k) for k in range(most + 1)), 2**tosses)


def test_one_coin_is_a_binomial_tail() -> None:
    law = error_law(ALONE, rational_coins(1), 60, exact=True)
    assert law.fractions == tuple(binomial_error(n) for n in range(1, 61))
    assert law.rounds.tolist() == list(range(1, 61))


def test_two_coins_that_average_are_one_with_twice_the_tosses() -> None:
    law = error_law(EVEN, rational_coins(2), 40, exact=True)
    assert law.fractions == tuple(binomial_error(2 * n) for n in range(1, 41))
    doubles = error_law(Network([[0.5, 0.5], [0.5, 0.5]]), coins(2), 40)
    np.testing.assert_allclose(doubles.some_agent, law.some_agent, rtol=1e-12)
    assert (doubles.some_lower <= law.some_agent).all()
    assert (doubles.some_upper >= law.some_agent).all()
    np.testing.assert_allclose(doubles.some_lower, doubles.some_upper, rtol=1e-10)


@settings(max_examples=15)
@given(st.data())
def test_a_curve_is_its_laws(data: st.DataObject) -> None:
    network = data.draw(rational_networks(max_agents=2))
    model = data.draw(rational_models(network.agents))
    if len(model.optimal_hypotheses) == len(model.hypotheses):
        return
    curve = error_law(network, model, 3, exact=True)
    for n in (1, 2, 3):
        law = belief_law(network, model, n, exact=True)
        assert curve.fractions is not None
        assert curve.fractions[n - 1] == law.error_fraction()
        each = [law.error_probability(a) for a in law.agents]
        np.testing.assert_allclose(curve.each_agent[n - 1], each, rtol=1e-13)


@settings(max_examples=8)
@given(st.data())
def test_certified_bounds_enclose_the_exact_law(data: st.DataObject) -> None:
    network = data.draw(networks(max_agents=2))
    model = data.draw(finite_models(network.agents))
    # Without an advantage there is nothing to be certified.
    if not 1e-6 < learning_rate(network, model).rate < np.inf:
        return
    law = error_law(network, model, 3)
    certified = account(network, model).probability([1, 2, 3])
    assert (certified.lower <= law.some_upper).all()
    assert (certified.upper >= law.some_lower).all()


def test_certified_bounds_are_tight_where_they_say_so() -> None:
    network, model = EVEN.as_network(), coins(2)
    law = error_law(EVEN, rational_coins(2), 200)
    certified = account(network, model).probability(np.arange(1, 201))
    assert (certified.lower <= law.some_agent * (1 + 1e-12)).all()
    assert (certified.upper >= law.some_agent * (1 - 1e-12)).all()
    # Both agents hold one belief: the bounds meet to what they are computed to, two per cent, but
    # where a heavy atom is next to a tie.
    gaps = certified.upper / certified.lower - 1
    assert np.median(gaps) < 0.02
    assert np.quantile(gaps, 0.9) < 0.1
    assert law.some_agent[-1] < 1e-6


@pytest.mark.parametrize("delta", [0.2, 0.05, 0.01, 1e-3])
def test_the_ladder_brackets_the_exact_number(delta: float) -> None:
    """n(δ) from binomial tails, from the law, and from each rung."""
    found = exact_sample_size(EVEN, rational_coins(2), delta)
    assert found.exact_rounds is not None
    assert found.proved_from is not None
    beyond = found.proved_from + 40
    late = [n for n in range(1, beyond) if binomial_error(2 * n) > Fraction(delta)]
    assert found.exact_rounds == late[-1] + 1
    ladder = sample_sizes(EVEN.as_network(), coins(2), delta=delta)
    for rung in (ladder.chernoff, ladder.repaired, ladder.printed):
        assert rung.rounds is not None
        assert rung.rounds >= found.exact_rounds
    gap = tie_gap(EVEN, rational_coins(2), reference=[0])
    sharp = account(EVEN.as_network(), coins(2), tie_gap=gap).sample_size(delta)
    for enclosure in (ladder.certified, sharp):
        assert enclosure.lower is not None
        assert enclosure.upper is not None
        assert enclosure.lower <= found.exact_rounds <= enclosure.upper


def test_ties_count_towards_the_number_of_rounds() -> None:
    """±log 3: doubles cannot tell ties from near ties, the law can."""
    model = rational_coins(1, EVEN_COIN)

    def error(n: int) -> Fraction:
        heads = range(n // 2 + 1)
        return Fraction(sum(comb(n, k) * 3**k for k in heads), 4**n)

    found = exact_sample_size(ALONE, model, 0.01)
    late = [n for n in range(1, 200) if error(n) > Fraction(1, 100)]
    assert found.exact_rounds == late[-1] + 1
    # Even numbers of rounds are worse than odd ones before: the curve is no falling one.
    assert late != list(range(1, late[-1] + 1))


def test_what_is_not_enumerated_is_enclosed() -> None:
    found = exact_sample_size(RATIONAL_PAIR, rational_coins(2), 0.2, limit=30_000)
    assert found.exact_rounds is None
    assert found.horizon == 8
    assert found.lower == 9
    assert found.upper == found.proved_from == 41
    assert "beyond 8 and below 41" in found.note
    certified = account(PAIR, coins(2)).sample_size(0.2)
    assert found.lower <= certified.lower <= certified.upper <= found.upper  # type: ignore[operator]
    short = exact_sample_size(EVEN, rational_coins(2), 0.05, horizon=10)
    assert (short.lower, short.horizon) == (11, 10)
    alone = exact_sample_size(EVEN, rational_coins(2), 0.05, horizon=10, reference=[0])
    assert (alone.lower, alone.upper, alone.proved_from) == (11, None, None)


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(ValueError, match="delta: "):
        exact_sample_size(PAIR, coins(2), 1.0)
    with pytest.raises(ValueError, match="agents of kind 0: expected finitely many"):
        exact_sample_size(PAIR, GAUSSIAN, 0.1)
    with pytest.raises(ValueError, match="network: expected a Network"):
        error_law([PAIR], coins(2), 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="limit: expected at most 10 different states"):
        error_law(PAIR, coins(2), 5, limit=10)


@given(st.data())
@settings(max_examples=20)
def test_doubles_of_a_model_of_fractions(data: st.DataObject) -> None:
    model = data.draw(rational_models(2))
    plain = in_doubles(model)
    exact = [[float(d.enclosure().lower) for d in row] for row in model.kind_divergences]
    np.testing.assert_allclose(plain.kind_divergences, exact, atol=1e-14)
    np.testing.assert_allclose(
        np.exp(plain.log_priors), [[float(p) for p in r] for r in model.priors]
    )
    assert in_doubles(plain) is plain

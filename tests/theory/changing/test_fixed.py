"""A fixed network is the simplest of the networks that change: all functions say the same of it."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.models import coins
from tests.strategies import Problem, problems
from theory import (
    Network,
    account,
    error_bound,
    error_exponent,
    expected_log_ratio,
    gaussian_pair,
    learning_rate,
    log_ratio_spread,
    printed_rounds,
    sample_sizes,
    tilted_law,
)
from theory.changing import (
    AnyNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    RandomLinks,
    RandomPresence,
    influence,
)

# Elimination is accurate to about N rounding errors a component (N ≤ 9), its inputs to one.
ROUNDING = 1e-13


def one_phase(network: Network) -> PeriodicNetwork:
    return PeriodicNetwork([network.weights], name=network.name)


def disguises(network: Network) -> list[AnyNetwork]:
    """The same network as every kind of network that changes."""
    return [
        one_phase(network),
        PeriodicNetwork([network.weights] * 2),
        DelayedNetwork(network, 0),
        MarkovNetwork([network.weights], [[1.0]]),
        RandomLinks(network, 1.0),
        RandomPresence(network, 1.0),
    ]


@given(problems())
@settings(max_examples=30)
def test_influence_and_rate(problem: Problem) -> None:
    v = problem.network.stationary_distribution
    rates = learning_rate(problem.network, problem.model).rates
    assert (influence(problem.network).values == v).all()
    for same in disguises(problem.network):
        np.testing.assert_allclose(influence(same).values, v, rtol=ROUNDING, atol=1e-300)
        found = learning_rate(same, problem.model)
        # Rates are sums of positive terms, but reference hypotheses cancel in doubt.
        np.testing.assert_allclose(found.rates, rates, rtol=1e-10, atol=1e-14)


@given(problems(max_agents=5))
@settings(max_examples=20)
def test_exponent(problem: Problem) -> None:
    # An influence that underflows is no influence for one that changes.
    assume(problem.network.stationary_distribution.min() > 0)
    fixed = error_exponent(problem.network, problem.model)
    assert fixed.is_exact
    assert fixed.standard_error == 0
    for same in disguises(problem.network)[:3]:
        found = error_exponent(same, problem.model)
        assert found.is_exact
        np.testing.assert_allclose(found.exponents, fixed.exponents, rtol=1e-10, atol=1e-14)
        np.testing.assert_array_equal(found.against, fixed.against)


@given(problems(), st.lists(st.integers(1, 60), min_size=1, max_size=4, unique=True))
@settings(max_examples=30)
def test_mean_log_ratios(problem: Problem, rounds: list[int]) -> None:
    rounds, model = sorted(rounds), problem.model
    fixed = expected_log_ratio(problem.network, model, rounds, best=0).values
    # What sums of up to 60 terms of this size lose.
    size = 60 * (np.abs(model.information(0)).max() + np.abs(problem.log_priors).max())
    for same in disguises(problem.network):
        found = expected_log_ratio(same, model, rounds, best=0).values
        np.testing.assert_allclose(found, fixed, rtol=ROUNDING, atol=1e-13 * size)


@given(problems(max_agents=3), st.sampled_from([0.3, 0.01, 1e-9]), st.integers(1, 500))
@settings(max_examples=4)
def test_sample_sizes(problem: Problem, delta: float, rounds: int) -> None:
    network, model = problem.network, problem.model
    fixed = sample_sizes(network, model, delta=delta, certify=False)
    for same in (one_phase(network), DelayedNetwork(network, 0)):
        found = sample_sizes(same, model, delta=delta, certify=False)
        assert (found.printed, found.repaired, found.chernoff) == (
            fixed.printed,
            fixed.repaired,
            fixed.chernoff,
        )
        assert error_bound(same, model, rounds) == fixed.probability(rounds)
    assert error_bound(network, model, rounds) == fixed.probability(rounds)


def test_what_changes_does_not_count_as_fixed() -> None:
    network, model = Network.from_topology("ring", agents=5), coins(5)
    resting = PeriodicNetwork([network.weights, np.eye(5)])
    slower = sample_sizes(resting, model, delta=0.01)
    assert slower.chernoff.rounds != sample_sizes(network, model, delta=0.01).chernoff.rounds
    assert slower.printed.rounds is None
    assert "do not change" in slower.printed.note
    assert "do not change" in slower.certified.note


def test_what_holds_of_fixed_networks_alone_is_refused_in_one_line() -> None:
    network = DelayedNetwork(Network.from_topology("ring", agents=5), 2)
    for ask in (
        lambda: tilted_law(network, coins(5)),  # type: ignore[arg-type]
        lambda: account(network, coins(5)),  # type: ignore[arg-type]
        lambda: gaussian_pair(network, coins(5)),  # type: ignore[arg-type]
        lambda: printed_rounds(network, coins(5), delta=0.1),  # type: ignore[arg-type]
        lambda: log_ratio_spread(network, coins(5), [3], best=0),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="network: expected a Network, "):
            ask()

"""B(W): what left-out nats may do, against loops, closed forms and the deviation D."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks, rational_networks
from tests.theory.messages.cases import EXACT, NETWORK, STAR
from tests.theory.messages.oracles import travelled
from theory import Network
from theory.messages import (
    certified_replica_deviation,
    mixed_network,
    mixed_rational,
    rational_replica_deviation,
    replica_deviation,
)
from theory.network.structure import as_dense
from theory.rational import RationalNetwork

# Sums of a few thousand terms in doubles, each right to a few roundings.
ROUNDING = 1e-9


@settings(deadline=None, max_examples=15)
@given(networks(max_agents=5), st.sampled_from([1, 2]), st.sampled_from([1.0, 0.5, 0.1]))
def test_partial_sums_stay_below_the_upper_bound(
    network: Network, order: int, mixing: float
) -> None:
    mixed = mixed_network(network, mixing)
    found = replica_deviation(mixed, order=order)
    partial = np.array(travelled(as_dense(mixed.weights).tolist(), 60, order))
    # Each term of the loops is off by a few roundings of its entries, not of itself.
    assert (partial <= found.upper * (1 + ROUNDING) + 1e-12).all()
    assert (found.lower <= found.upper).all()


@settings(deadline=None, max_examples=15)
@given(networks(max_agents=6))
def test_the_way_from_the_identity_to_v(network: Network) -> None:
    """2(1 − v_i) ≤ B_i ≤ 2(1 − v_i) + 2 D_i."""
    found, v = replica_deviation(network), network.stationary_distribution
    assert (found.upper * (1 + ROUNDING) + 1e-12 >= 2 * (1 - v)).all()
    upper = 2 * (1 - v) + 2 * network.deviation.upper
    assert (found.lower <= upper * (1 + ROUNDING) + 1e-12).all()


@pytest.mark.parametrize("a", [1e-9, 1e-3, 0.3])
def test_two_agents_in_closed_form(a: float) -> None:
    """With λ > 0 every entry goes straight to its limit: B_i = 2(1 − v_i)."""
    network = Network([[1 - a, a], [a / 2, 1 - a / 2]])
    found = replica_deviation(network)
    exact = 2 * (1 - np.array([1 / 3, 2 / 3]))
    # Strides: one in a thousand.
    np.testing.assert_allclose(found.upper, exact, rtol=2e-3)
    assert (found.lower <= exact * (1 + ROUNDING)).all()
    assert (exact <= found.upper * (1 + ROUNDING)).all()


@pytest.mark.parametrize("a", [1e-6, 1e-2])
def test_nearly_periodic_chains_amplify_without_end_and_mixing_tames_them(a: float) -> None:
    """λ = −1 + 2a: B = Σ |λ|^k (1 − λ) = (1 − a)/a; half the way, λ becomes a and B is 1."""
    network = Network([[a, 1 - a], [1 - a, a]])
    np.testing.assert_allclose(replica_deviation(network).upper, (1 - a) / a, rtol=2e-3)
    half = replica_deviation(mixed_network(network, 0.5))
    np.testing.assert_allclose(half.upper, 1.0, rtol=ROUNDING)


def test_one_round_of_a_complete_graph_is_all() -> None:
    network = Network(np.full((5, 5), 0.2))
    np.testing.assert_allclose(replica_deviation(network).upper, 1.6, rtol=ROUNDING)
    np.testing.assert_allclose(replica_deviation(network, order=2).upper, 1.6, rtol=ROUNDING)


@settings(deadline=None, max_examples=15)
@given(rational_networks(max_agents=4), st.sampled_from([1, 2]))
def test_doubles_fractions_and_balls_agree(network: RationalNetwork, order: int) -> None:
    doubles = replica_deviation(network.as_network(), order=order)
    balls = certified_replica_deviation(network, order=order)
    exact = rational_replica_deviation(network, order=order)
    for i, ball in enumerate(balls):
        assert ball.lower <= doubles.upper[i] * (1 + ROUNDING)
        assert doubles.lower[i] <= ball.upper * (1 + ROUNDING)
        assert exact.lower[i] <= Fraction(ball.upper)
        if exact.upper is not None:
            assert Fraction(ball.lower) <= exact.upper[i]


def test_bounds_are_tight() -> None:
    """Valid is not enough: an infinite bound is valid."""
    exact = rational_replica_deviation(RationalNetwork.from_network(STAR))
    for low, high in zip(exact.lower, exact.upper, strict=True):
        assert high - low < Fraction(1, 10**9)
    for ball in certified_replica_deviation(RationalNetwork.from_network(STAR)):
        assert ball.relative_width < 1e-9
    ring = certified_replica_deviation(
        RationalNetwork.from_network(Network.from_topology("ring", agents=12))
    )
    assert max(ball.relative_width for ball in ring) < 1e-2


def test_some_errors_reach_the_bound() -> None:
    """Signs chosen against agent i move it by all of the partial sum: the bound cannot be less."""
    W = as_dense(STAR.weights)
    missing = np.eye(9) - W
    rows, power = [], np.eye(9)
    for _ in range(60):
        rows.append((power @ missing)[0])
        power = power @ W
    errors = [np.sign(row) for row in rows]
    deviation = np.zeros(9)
    for error in reversed(errors):
        deviation = W @ deviation + missing @ error
    assert deviation[0] > 0.999999 * replica_deviation(STAR).upper[0]


def test_mixing_keeps_v_and_moves_eigenvalues() -> None:
    mixed = mixed_network(NETWORK, 0.25)
    np.testing.assert_allclose(mixed.stationary_distribution, NETWORK.stationary_distribution)
    assert mixed.slem == pytest.approx(1 - 0.25 * 0.7)
    exact = mixed_rational(EXACT, Fraction(1, 4))
    assert exact.stationary_distribution == (Fraction(6, 7), Fraction(1, 7))
    np.testing.assert_allclose(exact.as_network().weights, mixed.weights)

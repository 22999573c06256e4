"""Lost messages: what acknowledgements keep, whatever is lost, and what is lost without them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory.messages.cases import HALVES, NETWORK, PAIR, RATIOS, coins
from tests.theory.messages.oracles import acknowledged_run, lazy, uncompressed_run
from theory import Network
from theory.messages import (
    Acknowledged,
    Unacknowledged,
    compressed_learning,
    message_levels,
)
from theory.messages.deviation import exposure
from theory.messages.levels import mixed_network
from theory.rational import RationalNetwork

STEP = Fraction(1, 2)
# Not reversible, and with a link that goes one way.
ONE_WAY = [
    [Fraction(1, 2), Fraction(1, 2), Fraction(0)],
    [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)],
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
]


def stationary(rows: list[list[Fraction]]) -> list[Fraction]:
    return list(RationalNetwork(rows).stationary_distribution)


@settings(deadline=None, max_examples=30)
@given(
    st.sampled_from([PAIR, ONE_WAY]),
    st.sampled_from([Fraction(1), Fraction(1, 50)]),
    st.integers(0, 3),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_nothing_is_gained_or_lost_whatever_is_lost(
    rows: list[list[Fraction]], mixing: Fraction, burst: int, skewed: bool, seed: int
) -> None:
    """Patterns of loss at will: Σ v Λ exactly; errors and deviations within their bounds."""
    agents, rng = len(rows), np.random.default_rng(seed)
    model = coins(agents, [0.1, 0.9] if skewed else None)
    network = Network(rows)
    quantiser = Acknowledged(step=STEP, mixing=mixing, loss=Fraction(1, 2), burst=burst)
    levels = message_levels(network, model, quantiser)
    rounds = 12
    seen = [[RATIOS[int(b)] for b in row] for row in rng.integers(0, 2, (rounds, agents))]
    odds = [Fraction(float(model.log_priors[0, 0] - model.log_priors[0, 1]))] * agents
    mixed, v = lazy(rows, mixing), stationary(rows)
    wanted = rng.random((rounds, agents, agents)) < rng.random()
    lost = np.zeros_like(wanted)
    row = np.zeros((agents, agents), dtype=int)
    for n in range(rounds):
        lost[n] = wanted[n] & (row < burst)
        row = np.where(lost[n], row + 1, 0)
    found = acknowledged_run(
        mixed, v, seen, STEP, lambda n, i, j: bool(lost[n, i, j]), levels=levels.least, prior=odds
    )
    without = uncompressed_run(mixed, seen, odds)
    if levels.least is not None:
        assert max(abs(e) for one in found.errors for e in one) <= Fraction(levels.error)
        moved = exposure(mixed_network(network, mixing), quantiser).moved * levels.error
        for one, other in zip(found.history, without, strict=True):
            for a, b, most in zip(one, other, moved, strict=True):
                assert abs(a - b) <= Fraction(float(most))
    for one, other in zip(found.history, without, strict=True):
        assert sum(x * y for x, y in zip(v, one, strict=True)) == sum(
            x * y for x, y in zip(v, other, strict=True)
        )


def test_with_little_mixing_there_is_a_bound_for_every_burst() -> None:
    """And none where more is lost in a row than the mixing bears."""
    for burst in (1, 3, 10):
        quantiser = Acknowledged(step=1, mixing=0.05 / burst, loss=0.5, burst=burst)
        assert math.isfinite(message_levels(NETWORK, coins(2), quantiser).error)
    many = Acknowledged(step=1, mixing=1, loss=0.5, burst=10)
    assert math.isinf(message_levels(NETWORK, coins(2), many).error)


def test_two_alike_agents_in_closed_form() -> None:
    """B = 1, 1 − w_ii = γ/2, ω = γ/2, D = 2 Σ_k ½ (1 − γ)^k = (1 − γ)/γ: ρ = 2γ, μ = 1."""
    network, mixing = Network(HALVES), 0.05
    quantiser = Acknowledged(step=0.5, mixing=mixing, loss=0.5, burst=3)
    reach, half = math.log(2), math.log(3) / 2
    expected = (0.25 + 3 * (reach + half)) / (1 - 3 * 2 * mixing)
    levels = message_levels(network, coins(2), quantiser)
    assert levels.error == pytest.approx(expected, rel=1e-8)
    moved = exposure(mixed_network(network, mixing), quantiser).moved
    np.testing.assert_allclose(moved, mixing * (1 + (1 - mixing) / mixing), rtol=1e-9)
    # p/(1 − p) is one: in the mean a message waits for one round.
    mean = (0.25 + (reach + half)) / (1 - 2 * mixing)
    assert levels.mean_error == pytest.approx(mean, rel=1e-8)
    # Fewer losses in a row than that bound the mean as well.
    none = Acknowledged(step=0.5, mixing=mixing, loss=0.9, burst=1)
    assert message_levels(network, coins(2), none).mean_error == pytest.approx(mean, rel=1e-8)


def test_the_bound_on_errors_is_not_far_from_what_happens() -> None:
    """Tight: three losses in a row and heads all the time use more than half of it."""
    quantiser = Acknowledged(step=STEP, mixing=Fraction(1, 100), loss=Fraction(1, 2), burst=3)
    levels = message_levels(Network(HALVES), coins(2), quantiser)
    seen = [[RATIOS[1]] * 2] * 12
    found = acknowledged_run(
        lazy(HALVES, Fraction(1, 100)), [Fraction(1, 2)] * 2, seen, STEP, lambda n, i, j: n % 4 != 3
    )
    largest = max(abs(e) for one in found.errors for e in one)
    assert Fraction(levels.error) / 2 < largest <= Fraction(levels.error)


def test_losses_without_bound_are_bounded_in_the_mean() -> None:
    """All patterns of four rounds on two links, heads all the time."""
    quantiser = Acknowledged(step=STEP, mixing=Fraction(1, 20), loss=Fraction(1, 3))
    levels = message_levels(NETWORK, coins(2), quantiser)
    assert math.isinf(levels.error)
    mixed, v, seen = lazy(PAIR, Fraction(1, 20)), stationary(PAIR), [[RATIOS[1]] * 2] * 4
    total = [Fraction(0), Fraction(0)]
    for pattern in itertools.product((False, True), repeat=8):
        found = acknowledged_run(
            mixed,
            v,
            seen,
            STEP,
            lambda n, i, j, p=pattern: p[2 * n + i],  # type: ignore[misc]
        )
        chance = Fraction(1, 3) ** sum(pattern) * Fraction(2, 3) ** (8 - sum(pattern))
        total = [a + chance * abs(e) for a, e in zip(total, found.errors[-1], strict=True)]
    assert 0.25 * levels.mean_error < max(total) <= Fraction(levels.mean_error)
    learnt = compressed_learning(NETWORK, coins(2), quantiser)
    assert np.isinf(learnt.deviation).all()
    assert np.isfinite(learnt.mean_deviation).all()
    assert "by chance" in learnt.note


def test_no_loss_is_no_wait() -> None:
    network = Network(ONE_WAY)
    quantiser = Acknowledged(step=0.5, loss=0)
    levels = message_levels(network, coins(3), quantiser)
    assert levels.error == levels.mean_error == 0.25


def test_nothing_is_promised_of_replicas_out_of_step() -> None:
    found = compressed_learning(NETWORK, coins(2), Unacknowledged(step=1, loss=0.1))
    assert found.certified_rounds == (None, None)
    assert "out of step" in found.note

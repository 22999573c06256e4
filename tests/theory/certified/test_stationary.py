"""v in balls against v in rationals."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.theory.certified.adversaries import adversaries, holds
from theory.certified.eigenbasis import (
    certified_stationary,
    check_relative_width,
    refine,
    stationary_balls,
)
from theory.numbers import Enclosure, as_ball
from theory.rational import RationalNetwork


def check(network: RationalNetwork) -> None:
    """The balls hold v, and are narrow."""
    found = certified_stationary(network, relative_width=1e-14)
    for ball, exact in zip(found.balls, network.stationary_distribution, strict=True):
        assert holds(ball, exact)
        assert Enclosure.from_ball(ball).relative_width <= 1e-14
    assert found.met


def test_balls_contain_the_exact_solution_of_adversaries() -> None:
    for network in adversaries(200, seed=1):
        check(network)


def test_limit_of_bits_is_said() -> None:
    weak = Fraction(1, 10**30)
    network = RationalNetwork([[1 - weak, weak], ["1/2", "1/2"]])
    stopped = refine(
        lambda: [stationary_balls(network)[1] - 2 * as_ball(weak)],
        relative_width=1e-3,
        most_bits=64,
    )
    assert not stopped.met
    assert stopped.bits == 64
    # v_2 − 2ε = −4ε²/(1 + 2ε) needs twice the digits of ε.
    met = refine(lambda: [stationary_balls(network)[1] - 2 * as_ball(weak)], relative_width=1e-3)
    assert met.met
    assert met.bits > 64
    assert holds(met.balls[0], -4 * weak**2 / (1 + 2 * weak))


def test_a_width_that_doubles_cannot_have_is_refused() -> None:
    for width in (0.0, 1e-17, 1.0, float("nan"), "narrow"):
        with pytest.raises(ValueError, match="relative_width: expected a number in"):
            check_relative_width(width)

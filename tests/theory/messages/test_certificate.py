"""Proved levels, deviations, rounds and bytes, beside the doubles and beside every history."""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import rational_networks
from tests.theory.messages.cases import EXACT, HALVES, coins
from tests.theory.messages.test_compressed import error_probabilities
from theory import FiniteAgent, FiniteModel
from theory.messages import (
    Acknowledged,
    Deadband,
    Quantiser,
    Single,
    Uniform,
    certify_messages,
    compressed_learning,
    message_levels,
)
from theory.rational import RationalModel, RationalNetwork

# Three hypotheses, of which one waits, so that more may be mixed.
THREE = FiniteModel.from_agents(
    ["a", "b", "c"],
    [
        FiniteAgent.from_tables(
            inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.9, 0.1]], [[0.2, 0.8]]]
        )
    ],
    counts=[2],
)
SOME, QUARTERS = {"step": Fraction(1, 8)}, [["1/2", "1/2"], ["1/4", "3/4"]]
HALF, SLOW = RationalNetwork(HALVES), RationalNetwork(QUARTERS)
# What doubles and balls may differ by: where errors wait, doubts of 10⁻⁹ a step and early strides.
CASES: list[tuple[RationalNetwork, FiniteModel, Quantiser, float]] = [
    (EXACT, coins(2), Uniform(step=Fraction(1, 2)), 1e-9),
    (EXACT, coins(2), Uniform(step=Fraction(1, 100)), 1e-9),
    (EXACT, coins(2), Uniform(step=Fraction(2), mixing=Fraction(1, 2), levels=5), 1e-9),
    (
        EXACT,
        coins(2),
        Deadband(step=Fraction(1), threshold=Fraction(6), mixing=Fraction(1, 10)),
        1e-9,
    ),
    (HALF, THREE, Single(**SOME, mixing=Fraction(3, 8), choice="rotation"), 1e-6),
    (
        SLOW,
        coins(2),
        Acknowledged(**SOME, mixing=Fraction(1, 8), loss=Fraction(1, 10), burst=1),
        1e-6,
    ),
]


@pytest.mark.parametrize(("network", "model", "quantiser", "doubt"), CASES)
def test_doubles_agree(
    network: RationalNetwork, model: FiniteModel, quantiser: Quantiser, doubt: float
) -> None:
    exact = RationalModel.from_model(model)
    proved = certify_messages(network, exact, quantiser, delta=0.05, exponent=0.1)
    found = compressed_learning(network.as_network(), model, quantiser)
    assert (proved.least, proved.silence) == (found.levels.least, found.levels.silence)
    assert (proved.links, proved.frame) == (found.links, found.frame)
    for one, other in zip(proved.deviation, found.deviation, strict=True):
        assert one.lower <= other * (1 + doubt / 100)
        assert other <= one.upper * (1 + doubt)
        assert doubt < 1e-6 or one.upper <= other * (1 + doubt)
    # The bounds are the same up to the tilts that doubles try.
    assert abs(proved.rounds.upper - found.compressed.chernoff.rounds) <= 1
    assert proved.sufficient_bytes == found.bytes_after(proved.rounds.upper)
    if isinstance(quantiser, Acknowledged):
        assert found.frame == 4 + 1 + 4


def test_proved_rounds_are_enough_in_every_history() -> None:
    """At rounds that can be gone through, with a δ that is large enough to be met there."""
    quantiser = Uniform(step=Fraction(1, 4))
    proved = certify_messages(
        EXACT, RationalModel.from_model(coins(2)), quantiser, delta=0.9, exponent=0.1
    ).rounds
    assert error_probabilities(5, quantiser)[min(proved.upper, 5) - 1] <= 0.9


@settings(deadline=None, max_examples=15)
@given(
    rational_networks(max_agents=4),
    st.sampled_from([None, [0.25, 0.75]]),
    st.sampled_from([Fraction(1, 3), Fraction(4)]),
    st.sampled_from([Fraction(1), Fraction(1, 7)]),
)
def test_levels_on_any_network(
    network: RationalNetwork, prior: list[float] | None, step: Fraction, mixing: Fraction
) -> None:
    model = coins(network.agents, prior)
    quantiser = Uniform(step=step, mixing=mixing)
    exact = RationalModel.from_model(model)
    with pytest.MonkeyPatch.context() as patch:  # levels alone: rounds take most of the time
        patch.setattr("theory.messages.certificate.certify_sample_sizes", Mock())
        proved = certify_messages(network, exact, quantiser, delta=0.1, exponent=0.1)
    doubles = message_levels(network.as_network(), model, quantiser)
    # Balls take strides sooner than doubles: a wider B_i, and a level more in a few hundred.
    assert doubles.least <= proved.least + 1
    assert proved.least <= 1.01 * doubles.least + 1

"""Proved levels, deviations, rounds and bytes, beside the doubles and beside every history."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import rational_networks
from tests.theory.messages.test_compressed import COIN, MODEL, NETWORK, error_probabilities
from theory import FiniteModel
from theory.messages import (
    Deadband,
    Plain,
    Quantiser,
    Uniform,
    certify_messages,
    compressed_learning,
    message_levels,
)
from theory.rational import RationalModel, RationalNetwork

EXACT = RationalNetwork.from_rows([["9/10", "1/10"], ["3/5", "2/5"]])
COINS = RationalModel.from_model(MODEL)
QUANTISERS: list[Quantiser] = [
    Uniform(step=Fraction(1, 2)),
    Uniform(step=Fraction(1, 100)),
    Uniform(step=Fraction(2), mixing=Fraction(1, 2), levels=5),
    Deadband(step=Fraction(1), threshold=Fraction(12), mixing=Fraction(1, 20)),
]


@pytest.mark.parametrize("quantiser", QUANTISERS)
def test_doubles_agree(quantiser: Quantiser) -> None:
    proved = certify_messages(EXACT, COINS, quantiser, delta=0.05, exponent=0.1)
    found = compressed_learning(NETWORK, MODEL, quantiser)
    assert (proved.least, proved.silence) == (found.levels.least, found.levels.silence)
    assert (proved.links, proved.frame) == (found.links, found.frame)
    for one, other in zip(proved.deviation, found.deviation, strict=True):
        assert one.lower <= other <= one.upper * (1 + 1e-9)
    rounds = found.compressed.chernoff.rounds
    # The bounds are the same up to the tilts that doubles try.
    assert abs(proved.rounds.upper - rounds) <= 1
    assert proved.sufficient_bytes == found.bytes_after(proved.rounds.upper)


def test_proved_rounds_are_enough_in_every_history() -> None:
    """At rounds that can be gone through, with a δ that is large enough to be met there."""
    quantiser = Uniform(step=Fraction(1, 4))
    proved = certify_messages(EXACT, COINS, quantiser, delta=0.9, exponent=0.1).rounds
    assert error_probabilities(6, quantiser)[min(proved.upper, 6) - 1] <= 0.9


@settings(deadline=None, max_examples=30)
@given(
    rational_networks(max_agents=4),
    st.sampled_from([None, [0.25, 0.75]]),
    st.sampled_from([Fraction(1, 3), Fraction(4)]),
    st.sampled_from([Fraction(1), Fraction(1, 7)]),
)
def test_levels_on_any_network(
    network: RationalNetwork, prior: list[float] | None, step: Fraction, mixing: Fraction
) -> None:
    model = FiniteModel.from_agents(["a", "b"], [COIN], counts=[network.agents], priors=[prior])
    quantiser = Uniform(step=step, mixing=mixing)
    exact = RationalModel.from_model(model)
    proved = certify_messages(network, exact, quantiser, delta=0.1, exponent=0.1)
    doubles = message_levels(network.as_network(), model, quantiser)
    # Balls take strides sooner than doubles: a wider B_i, and a level more in a few hundred.
    assert doubles.least <= proved.least + 1
    assert proved.least <= 1.01 * doubles.least + 1


@pytest.mark.parametrize(
    ("quantiser", "message"),
    [
        (Plain(step=1.0), "quantiser: expected one with a replica"),
        (Uniform(step=Fraction(1, 2), levels=9), "levels: expected at least 10"),
    ],
)
def test_refused(quantiser: Quantiser, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        certify_messages(EXACT, COINS, quantiser, delta=0.05, exponent=0.1)

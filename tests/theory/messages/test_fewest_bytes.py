"""The fewest certified bytes: against a plain search over everything."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks
from tests.theory.messages.cases import NETWORK, coins, dice
from theory import FiniteModel, Network
from theory.messages import (
    Uniform,
    compressed_learning,
    fewest_bytes,
    finest_step,
    message_levels,
)


@settings(deadline=None, max_examples=20)
@given(
    networks(max_agents=5),
    st.sampled_from([2, 3, 16, 255]),
    st.sampled_from([1.0, 0.5, 0.05]),
    st.sampled_from([None, [0.1, 0.9]]),
)
def test_the_finest_step_is_enough_and_none_below_it_is(
    network: Network, levels: int, mixing: float, prior: list[float] | None
) -> None:
    model = coins(network.agents, prior)
    step = finest_step(network, model, levels=levels, mixing=mixing)
    if step is None:
        # No step at all: not even a very large one.
        huge = message_levels(network, model, Uniform(step=1e9, mixing=mixing)).least
        assert huge > levels - 1
        return
    enough = message_levels(network, model, Uniform(step=step, mixing=mixing)).least
    finer = message_levels(network, model, Uniform(step=step * 0.99, mixing=mixing)).least
    assert enough <= levels < finer


@pytest.mark.parametrize(("model", "header"), [(coins(2), 4), (dice(2), 0)])
def test_no_quantiser_of_a_grid_is_cheaper(model: FiniteModel, header: int) -> None:
    found = fewest_bytes(NETWORK, model, header=header)
    assert found.certified_bytes == found.best.certified_bytes[1]
    # As many levels as the bytes of a message can tell apart, of as many log-ratios at once.
    columns, room = len(model.hypotheses) - 1, 256 ** (found.best.frame - header)
    assert found.quantiser.levels**columns <= room < (found.quantiser.levels + 1) ** columns
    for step, mixing in [(0.1, 1.0), (2.0, 1.0), (0.5, 0.25)]:
        quantiser = Uniform(step=step, mixing=mixing, header=header)
        other = compressed_learning(NETWORK, model, quantiser).certified_bytes[1]
        # Chernoff's bound chooses among mixings; certified numbers may differ from it by a tenth.
        assert other is None or found.certified_bytes <= 1.1 * other

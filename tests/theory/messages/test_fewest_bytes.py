"""The fewest certified bytes: against a plain search over everything."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks
from tests.theory.messages.cases import coins, dice
from theory import FiniteModel, Network
from theory.messages import (
    Uniform,
    compressed_learning,
    fewest_bytes,
    finest_step,
    message_levels,
)

STAR = Network.from_topology("star", agents=5, edge_confidence=0.5)


@settings(deadline=None, max_examples=60)
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


@pytest.mark.parametrize(("model", "header"), [(coins(5), 4), (coins(5), 0), (dice(5), 0)])
def test_no_quantiser_of_a_grid_is_cheaper(model: FiniteModel, header: int) -> None:
    found = fewest_bytes(STAR, model, header=header)
    assert found.certified_bytes == found.best.certified_bytes[1]
    for step, mixing in itertools.product([0.02, 0.1, 0.3, 1.0, 3.0], [1.0, 0.5, 0.25]):
        quantiser = Uniform(step=step, mixing=mixing, header=header)
        other = compressed_learning(STAR, model, quantiser).certified_bytes[1]
        # Chernoff's bound chooses among mixings; certified numbers may differ from it by a tenth.
        assert other is None or found.certified_bytes <= 1.1 * other


def test_many_hypotheses_take_fewer_levels() -> None:
    one, two = (fewest_bytes(STAR, model, header=0) for model in (coins(5), dice(5)))
    assert one.quantiser.levels == 256
    assert two.quantiser.levels**3 <= 256 ** (two.best.frame or 0)
    assert (two.quantiser.levels + 1) ** 3 > 256 ** (two.best.frame or 0)

"""The fewest certified bytes: against a plain search over everything."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.messages import (
    Uniform,
    compressed_learning,
    fewest_bytes,
    finest_step,
    message_levels,
)

COIN = FiniteAgent.from_tables(
    inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
)
DICE = FiniteAgent.from_tables(
    inputs=[1.0],
    truth=[[0.5, 0.3, 0.2]],
    likelihood=[[[0.5, 0.3, 0.2]], [[0.3, 0.4, 0.3]], [[0.2, 0.2, 0.6]], [[0.25, 0.5, 0.25]]],
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
    model = FiniteModel.from_agents(["a", "b"], [COIN], counts=[network.agents], priors=[prior])
    step = finest_step(network, model, levels=levels, mixing=mixing)
    if step is None:
        # No step at all: not even a very large one.
        huge = message_levels(network, model, Uniform(step=1e9, mixing=mixing)).least
        assert huge > levels - 1
        return
    enough = message_levels(network, model, Uniform(step=step, mixing=mixing)).least
    finer = message_levels(network, model, Uniform(step=step * 0.99, mixing=mixing)).least
    assert enough <= levels < finer


@pytest.mark.parametrize(("agent", "header"), [(COIN, 4), (COIN, 0), (DICE, 0), (DICE, 4)])
def test_no_quantiser_of_a_grid_is_cheaper(agent: FiniteAgent, header: int) -> None:
    names = [f"theta{m}" for m in range(len(agent.log_likelihoods))]
    model = FiniteModel.from_agents(names, [agent], counts=[5])
    found = fewest_bytes(STAR, model, header=header)
    assert found.certified_bytes == found.best.certified_bytes[1]
    for step, mixing in itertools.product([0.02, 0.1, 0.3, 1.0, 3.0], [1.0, 0.5, 0.25]):
        quantiser = Uniform(step=step, mixing=mixing, header=header)
        other = compressed_learning(STAR, model, quantiser).certified_bytes[1]
        # Chernoff's bound chooses among mixings; certified numbers may differ from it by a tenth.
        assert other is None or found.certified_bytes <= 1.1 * other


def test_many_hypotheses_take_fewer_levels() -> None:
    few = FiniteModel.from_agents(["a", "b"], [COIN], counts=[5])
    many = FiniteModel.from_agents(list("abcd"), [DICE], counts=[5])
    one, two = fewest_bytes(STAR, few, header=0), fewest_bytes(STAR, many, header=0)
    assert one.quantiser.levels == 256
    assert two.quantiser.levels**3 <= 256 ** (two.best.frame or 0)
    assert (two.quantiser.levels + 1) ** 3 > 256 ** (two.best.frame or 0)


def test_refused() -> None:
    normal = GaussianAgent(
        inputs=np.array([1.0]),
        truth_means=np.array([0.0]),
        truth_std=1.0,
        means=np.array([[0.0], [1.0]]),
        std=1.0,
    )
    model = FiniteModel.from_agents(["a", "b"], [normal], counts=[5])
    with pytest.raises(ValueError, match="model: expected bounded log-ratios"):
        fewest_bytes(STAR, model)
    coins = FiniteModel.from_agents(["a", "b"], [COIN], counts=[5])
    with pytest.raises(ValueError, match=r"delta: expected a number in \(0, 1\)"):
        fewest_bytes(STAR, coins, delta=2.0)
    with pytest.raises(ValueError, match="levels: expected a whole number of at least 2"):
        finest_step(STAR, coins, levels=1, mixing=Fraction(1, 2))

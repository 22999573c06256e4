"""Rational models and rates against floats, and where floats cannot decide."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import finite_models, networks
from theory import GaussianAgent, learning_rate
from theory.numbers import LogSum
from theory.rational import (
    RationalFiniteAgent,
    RationalGaussianAgent,
    RationalModel,
    RationalNetwork,
    rational_rate,
)

TWO = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]])


def _coin(*heads: str, truth: str = "1/2") -> RationalFiniteAgent:
    sides = [[h, str(1 - Fraction(h))] for h in (truth, *heads)]
    return RationalFiniteAgent.from_tables(
        inputs=["1"], truth=[sides[0]], likelihood=[[row] for row in sides[1:]]
    )


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_rates_agree_with_floats(data: st.DataObject) -> None:
    network = data.draw(networks(max_agents=4, kinds=("positive", "star", "symmetric")))
    model = data.draw(finite_models(network.agents))
    floats = learning_rate(network, model)
    exact = rational_rate(RationalNetwork.from_network(network), RationalModel.from_model(model))
    values = [rate.enclosure().midpoint for rate in exact.rates]
    # Divergences cancel entropies of a few nats: absolute accuracy.
    totals = np.array(values) - values[floats.reference[0]]
    np.testing.assert_allclose(totals, floats.rates, atol=1e-12)
    assert exact.rates[exact.reference[0]].is_zero
    assert all(rate.sign() >= 0 for rate in exact.rates) or not exact.is_compromise
    if exact.rate is not None and exact.reference == floats.reference:
        assert exact.rate.enclosure().midpoint == pytest.approx(floats.rate, abs=1e-12)
        assert exact.rate == min(
            rate for m, rate in enumerate(exact.rates) if m not in exact.reference
        )


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 30), min_size=6, max_size=6))
def test_divergences_by_definition(counts: list[int]) -> None:
    """Σ f log(f/ℓ), term by term in floats of 1e-16; a log-ratio's mean is their difference."""
    a, b, c, d, e, f = (Fraction(n, n + 7) for n in counts)
    agent = _coin(str(a), str(b), truth=str(c))
    for theta, h in enumerate((a, b)):
        direct = float(c) * math.log(c / h) + float(1 - c) * math.log((1 - c) / (1 - h))
        assert agent.divergences[theta].enclosure().midpoint == pytest.approx(direct, abs=1e-14)
        assert agent.divergences[theta].sign() == (0 if h == c else 1)
    assert agent.log_ratio(0, 1).mean == agent.divergences[1] - agent.divergences[0]
    assert agent.indistinguishable(0, 1) == (a == b)
    gauss = RationalGaussianAgent.from_tables(
        inputs=[c, 1 - c], truth_means=[a, b], truth_std=d, means=[[e, f], [f, e]], std=d + e
    )
    floats = GaussianAgent(
        inputs=np.array([float(c), float(1 - c)]),
        truth_means=np.array([float(a), float(b)]),
        truth_std=float(d),
        means=np.array([[float(e), float(f)], [float(f), float(e)]]),
        std=float(d + e),
    )
    np.testing.assert_allclose(
        [x.enclosure().midpoint for x in gauss.divergences], floats.divergences, atol=1e-13
    )
    assert gauss.log_ratio(0, 1).mean == gauss.divergences[1] - gauss.divergences[0]


def test_a_tie_is_a_tie_and_a_near_tie_is_none() -> None:
    """Heads of 1/4 and of 3/4 are equally wrong about a fair coin; 1e-30 more is decided."""
    model = RationalModel.from_agents(
        ["fair", "low", "high"], [_coin("1/2", "1/4", "3/4")], counts=[2]
    )
    found = rational_rate(TWO, model)
    assert found.reference == (0,)
    assert found.binding_hypotheses == (1, 2)
    assert found.rate == LogSum.log(Fraction(4, 3), Fraction(1, 2))
    assert found.divergences(1) == (found.rate, found.rate)
    near = str(Fraction(3, 4) - Fraction(1, 10**30))
    nearly = RationalModel.from_agents(
        ["fair", "low", "high"], [_coin("1/2", "1/4", near)], counts=[2]
    )
    found = rational_rate(TWO, nearly)
    assert found.binding_hypotheses == (2,)
    assert found.rates[2] < found.rates[1]
    assert found.rates[2].enclosure().overlaps(found.rates[1].enclosure())


def test_the_best_hypothesis_may_be_two() -> None:
    """8/27·…: equal divergences through products of powers, which floats only nearly cancel."""
    model = RationalModel.from_agents(["a", "b", "c"], [_coin("1/3", "2/3", "1/5")], counts=[2])
    found = rational_rate(TWO, model)
    assert found.reference == (0, 1)
    assert found.binding == 2
    assert not found.is_compromise
    assert found.ambiguous_pairs == ()


def test_a_compromise_is_decided_by_the_weights() -> None:
    """Each agent is sure of another hypothesis; 6/7 of the weight is the first one's."""
    agents = [_coin("1/4", "3/4", truth="1/4"), _coin("1/4", "3/4", truth="3/4")]
    model = RationalModel.from_agents(["low", "high"], agents)
    found = rational_rate(TWO, model)
    assert found.is_compromise
    assert found.reference == (0,)
    # (6/7 − 1/7)·(1/2) log 3
    assert found.rate == LogSum.log(3, Fraction(5, 14))
    even = RationalNetwork([["1/2", "1/2"], ["1/2", "1/2"]])
    assert rational_rate(even, model).reference == (0, 1)
    assert rational_rate(even, model).rate is None


def test_ambiguous_pairs_are_those_nobody_tells_apart() -> None:
    same = _coin("1/3", "1/3", "1/2")
    helped = _coin("1/3", "1/4", "1/2")
    alone = RationalModel.from_agents(["a", "b", "c"], [same], counts=[2])
    assert rational_rate(TWO, alone).ambiguous_pairs == ((0, 1),)
    together = RationalModel.from_agents(["a", "b", "c"], [same, helped])
    assert rational_rate(TWO, together).ambiguous_pairs == ()


def test_sizes_must_fit() -> None:
    model = RationalModel.from_agents(["a", "b"], [_coin("1/2", "1/3")], counts=[3])
    with pytest.raises(ValueError, match="model: expected as many agents as the network, 2, got 3"):
        rational_rate(TWO, model)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: _coin("1/2", "0"), r"likelihood\[1\]\[0\]\[0\]: expected a positive likelihood"),
        (lambda: _coin("3/2"), r"likelihood\[0\]\[0\]: expected probabilities of at least 0"),
        (lambda: RationalModel.from_agents(["a"], [_coin("1/2")]), "two distinct names"),
        (lambda: RationalModel.from_agents(["a", "b"], [_coin("1/2")]), r"agents\[0\]"),
        (
            lambda: RationalModel.from_agents(
                ["a", "b"], [_coin("1/2", "1/3")], priors=[["1", "0"]]
            ),
            "prior of zero|prior zero",
        ),
    ],
)
def test_bad_models(build: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()  # type: ignore[operator]

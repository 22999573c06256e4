"""Exact verdicts: against all permutations in sums of logarithms."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import rational_models, rational_networks
from tests.theory.design.placement.oracles import coins
from theory import Network
from theory.design import place, prove_placement
from theory.numbers import LogSum
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork


@given(rational_networks(max_agents=4), st.data())
@settings(max_examples=20, deadline=None)
def test_the_verdict_is_that_of_all_permutations(
    network: RationalNetwork, data: st.DataObject
) -> None:
    model = data.draw(rational_models(network.agents))
    target = data.draw(st.integers(0, len(model.hypotheses) - 1))
    optimal = model.optimal_hypotheses
    if optimal:
        target = optimal[0]
    wrong = [m for m in range(len(model.hypotheses)) if m not in {target, *optimal}]
    if not wrong:
        return
    gaps = {m: model.information(target, m) for m in wrong}
    v = network.stationary_distribution

    def rate(order: tuple[int, ...]) -> LogSum:
        smallest: LogSum | None = None
        for row in gaps.values():
            terms = [row[model.assignment[d]] * w for w, d in zip(v, order, strict=True)]
            total = LogSum.total(terms)
            smallest = total if smallest is None or total < smallest else smallest
        assert smallest is not None
        return smallest

    orders = list(permutations(range(network.agents)))
    rates = [rate(order) for order in orders]
    asked = data.draw(st.sampled_from(orders))
    verdict = prove_placement(network, model, asked, target=target)
    assert verdict.rate == rate(asked)
    assert rate(verdict.best) == verdict.best_rate
    assert all(not verdict.best_rate < other for other in rates)
    assert verdict.is_optimal == (verdict.rate == verdict.best_rate)
    # A class: which divergences are held at which influence.
    held = [model.kind_divergences[k] for k in model.assignment]

    def kind_of(order: tuple[int, ...]) -> frozenset[object]:
        pairs = [(w, held[d]) for w, d in zip(v, order, strict=True)]
        return frozenset((pair, pairs.count(pair)) for pair in pairs)

    assert verdict.classes == len({kind_of(order) for order in orders})
    best = [order for order, one in zip(orders, rates, strict=True) if one == verdict.best_rate]
    assert verdict.ties == len({kind_of(order) for order in best})


def test_floating_point_finds_what_is_proved() -> None:
    model = coins([[0.25, 0.1], [0.15, 0.3], [0.1, 0.25], [0.3, 0.15]], [2, 1, 1, 1])
    network = Network.from_topology("star", agents=5, edge_confidence=1 / 3)
    found = place(network, model)
    # Doubles are binary fractions: the same problem, exactly.
    rational = RationalNetwork.from_network(network), RationalModel.from_model(model)
    verdict = prove_placement(*rational, found.assignment)
    assert verdict.is_optimal
    assert verdict.classes == found.classes
    assert verdict.ties == found.ties
    assert found.value == pytest.approx(verdict.rate.enclosure().midpoint, rel=1e-12)
    assert found.moved
    assert not prove_placement(*rational).is_optimal


def test_questions_that_make_no_sense() -> None:
    network = RationalNetwork.from_topology("path", agents=3)
    fair, loaded = ["1/2", "1/2"], ["3/4", "1/4"]
    for_fair, for_loaded, blind = (
        RationalFiniteAgent.from_tables(inputs=[1], truth=[truth], likelihood=[[a], [b]])
        for truth, a, b in ((fair, fair, loaded), (loaded, fair, loaded), (fair, fair, fair))
    )
    model = RationalModel.from_agents(["fair", "loaded"], [for_fair], counts=[3])
    with pytest.raises(
        ValueError, match=r"assignment: expected each of 0 to 2 once, got \[0, 0, 1\]"
    ):
        prove_placement(network, model, [0, 0, 1])
    with pytest.raises(ValueError, match=r"target: expected .* on which every network settles"):
        prove_placement(network, model, target=1)
    with pytest.raises(ValueError, match="model: expected as many agents as the network, 3, got 1"):
        prove_placement(network, RationalModel.from_agents(["fair", "loaded"], [for_fair]))
    with pytest.raises(ValueError, match="hypotheses: expected one that fits worse"):
        prove_placement(network, RationalModel.from_agents(["a", "b"], [blind], counts=[3]))
    divided = RationalModel.from_agents(["a", "b"], [for_fair, for_loaded], counts=[1, 2])
    with pytest.raises(ValueError, match="target: expected the hypothesis to settle on"):
        prove_placement(network, divided)
    assert prove_placement(network, divided, target=0).best == (1, 0, 2)

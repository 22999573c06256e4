"""Placements that need no search or have none, and exact verdicts against all permutations."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import rational_models, rational_networks
from tests.theory.design.placement.oracles import coins, divided
from theory import FiniteModel, Network
from theory.design import place, prove_placement
from theory.numbers import LogSum
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork

PATH = Network.from_topology("path", agents=3)
MODEL = coins([[0.3], [0.1], [0.0]])


def test_too_many_to_try() -> None:
    model = coins([[0.01 * k] for k in range(1, 12)])
    v = np.arange(1.0, 12.0)
    with pytest.raises(ValueError, match="exhaustive, with 39916800 for 11 agents"):
        place(v / v.sum(), model, method="exhaustive")
    assert place(v / v.sum(), model).method == "milp"


@pytest.mark.parametrize("objective", ["rate", "exponent", "samples"])
def test_nothing_to_place(objective: str) -> None:
    alike = coins([[0.3]], [3])
    found = place(PATH, alike, objective=objective)  # type: ignore[arg-type]
    assert found.method == "none"
    assert found.moved == ()
    assert found.value == found.original == found.worst
    assert "nothing to place: all data sets that may move are alike" in found.note
    assert (found.placements, found.classes, found.equivalent) == (1, 1, 1)
    assert found.certificate.gap == 0 or objective == "samples"
    alone = place(Network([[1.0]]), coins([[0.3]]), objective=objective)  # type: ignore[arg-type]
    assert alone.method == "none"
    assert "fewer than two agents" in alone.note
    kept = place(PATH, MODEL, fixed=[0, 2], objective=objective)  # type: ignore[arg-type]
    assert kept.method == "none"
    assert "fewer than two agents" in kept.note


def test_all_places_alike() -> None:
    ring = Network.from_topology("ring", agents=3)
    found = place(ring, MODEL)
    assert found.method == "none"
    assert "the same influence" in found.note
    assert (found.placements, found.classes, found.equivalent) == (6, 1, 6)
    exponent = place(ring, MODEL, objective="exponent")
    assert exponent.value == exponent.worst > 0


def test_a_target_that_a_placement_reaches() -> None:
    network = Network.from_topology("star", agents=5, edge_confidence=0.9)
    model = FiniteModel(
        ("left", "right"),
        divided().kinds,
        np.array([1, 0, 1, 1, 2]),
        divided().log_priors,
    )
    assert model.compromise(network.stationary_distribution) != (0,)
    for objective in ("rate", "exponent"):
        for method in ("exhaustive", "local"):
            found = place(
                network,
                model,
                target=0,
                objective=objective,  # type: ignore[arg-type]
                method=method,  # type: ignore[arg-type]
            )
            assert found.original <= 0 < found.value
            assert found.assignment[0] == 1
            assert found.model.compromise(network.stationary_distribution) == (0,)


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    place(PATH, MODEL, objective="samples", progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_one_agent_may_be_told_to_keep_its_data() -> None:
    """There is nothing to place, and that is no error."""
    found = place([1.0], coins([[0.3]]), fixed=[0])
    assert found.assignment.tolist() == [0]
    assert found.method == "none"


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


def test_a_named_target_is_proved_where_agents_disagree() -> None:
    fair, loaded = ["1/2", "1/2"], ["3/4", "1/4"]
    kinds = [
        RationalFiniteAgent.from_tables(inputs=[1], truth=[truth], likelihood=[[fair], [loaded]])
        for truth in (fair, loaded)
    ]
    divided = RationalModel.from_agents(["a", "b"], kinds, counts=[1, 2])
    path = RationalNetwork.from_topology("path", agents=3)
    assert prove_placement(path, divided, target=0).best == (1, 0, 2)

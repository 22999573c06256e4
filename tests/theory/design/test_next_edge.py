"""Every effect against networks built one by one; bounds on rounds against the certified ones."""

from __future__ import annotations

from itertools import combinations, count, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models import FAIR, coin
from tests.strategies.models import finite_models
from tests.strategies.networks import connected_edges
from theory import (
    FiniteModel,
    GaussianAgent,
    Network,
    account,
    error_exponent,
    learning_rate,
    sample_sizes,
)
from theory.design import DesignGraph, EdgeEffect, fastest_mixing, rank_edges, rank_removals
from theory.design.search import time_budget
from theory.network import RULES


def coins(seeing: int, agents: int) -> FiniteModel:
    """The first agents see a coin, the others nothing."""
    kinds = [coin(FAIR, [0.75, 0.25], [0.6, 0.4]), coin(FAIR, FAIR, FAIR)]
    names = ["fair", "loaded", "bent"]
    return FiniteModel.from_agents(names, kinds, counts=[seeing, agents - seeing])


def check(effect: EdgeEffect, network: Network, model: FiniteModel) -> None:
    """The effect is what the library's functions for one network say."""
    rate, exponent = learning_rate(network, model), error_exponent(network, model)
    assert effect.reference == rate.reference[0]
    # Nats per round of at most a few: products of at most nine weights, in another order.
    assert effect.rate == pytest.approx(rate.rate, rel=1e-10, abs=1e-13)
    assert effect.exponent == pytest.approx(exponent.exponent, rel=1e-9, abs=1e-13)
    if network.is_reversible:
        assert effect.slem == pytest.approx(network.slem, abs=1e-12)


@given(st.data())
@settings(max_examples=4, deadline=None)
def test_every_effect_is_that_of_the_network_with_the_edge(data: st.DataObject) -> None:
    agents = data.draw(st.integers(3, 7))
    edges = {tuple(sorted(e)) for e in data.draw(connected_edges(agents)) if e[0] != e[1]}
    rule = data.draw(st.sampled_from(RULES))
    model = data.draw(finite_models(agents))
    base = Network.from_edges(sorted(edges), agents=agents, rule=rule)
    found = rank_edges(base, model, rule=rule, order="exponent")
    check(found.base, base, model)
    absent = [pair for pair in combinations(range(agents), 2) if pair not in edges]
    assert sorted(effect.edge for effect in found.ranked if effect.edge) == absent
    for effect in found.ranked:
        assert effect.edge is not None
        network = Network.from_edges([*sorted(edges), effect.edge], agents=agents, rule=rule)
        check(effect, network, model)
    exponents = [effect.exponent for effect in found.ranked]
    assert exponents == sorted(exponents, reverse=True)
    assert found.candidates_skipped == found.samples_skipped == 0


@given(st.data())
@settings(max_examples=3, deadline=None)
def test_removals_and_bridges(data: st.DataObject) -> None:
    agents = data.draw(st.integers(3, 7))
    edges = sorted({tuple(sorted(e)) for e in data.draw(connected_edges(agents)) if e[0] != e[1]})
    model = data.draw(finite_models(agents))
    found = rank_removals(DesignGraph.from_edges(edges, agents=agents), model, order="slem")
    bridges = []
    for edge in edges:
        rest = [e for e in edges if e != edge]
        graph = nx.Graph(rest)
        if len(graph) < agents or not nx.is_connected(graph):
            bridges.append(edge)
            continue
        effect = next(e for e in found.ranked if e.edge == edge)
        check(effect, Network.from_edges(rest, agents=agents), model)
    assert list(found.bridges) == bridges
    assert len(found.ranked) == len(edges) - len(bridges)


def test_directed_links_and_their_removal() -> None:
    agents, model = 5, coins(2, 5)
    hears = [(i, (i + 1) % agents) for i in range(agents)] + [(0, 2), (3, 1)]
    graph = DesignGraph(agents, np.array(hears))

    def network(links: list[tuple[int, int]]) -> Network:
        # An edge leads from the speaker to the listener.
        return Network.from_edges([(j, i) for i, j in links], agents=agents, directed=True)

    found = rank_edges(graph, model)
    check(found.base, network(hears), model)
    assert len(found.ranked) == agents * (agents - 1) - len(hears)
    for effect in found.ranked:
        assert effect.edge is not None
        wanted = network([*hears, effect.edge])
        check(effect, wanted, model)
        assert effect.slem == pytest.approx(wanted.slem, abs=1e-7)  # simple eigenvalues here
    removed = rank_removals(graph, model)
    for link in hears:
        rest = [other for other in hears if other != link]
        holds = nx.is_strongly_connected(nx.DiGraph(rest))
        assert (link in removed.bridges) is not holds
        assert (link in {effect.edge for effect in removed.ranked}) is holds
    assert (0, 1) in {effect.edge for effect in removed.ranked}  # by 0 ← 2 ← 3 ← 1


def test_one_way_links_on_an_undirected_graph() -> None:
    ring, model = Network.from_topology("ring", agents=5), coins(1, 5)
    found = rank_edges(ring, model, directed=True, order="rate")
    pairs = {effect.edge for effect in found.ranked}
    assert pairs == {p for p in permutations(range(5), 2) if (p[0] - p[1]) % 5 not in (1, 4)}
    # Only agent 0 sees anything: it is best listened to, by somebody.
    best = found.best
    assert best.edge[1] == 0
    assert best.rate > found.base.rate


def test_rounds_are_enough_and_hardly_too_many() -> None:
    model = coins(2, 4)
    graph = DesignGraph.from_network(Network.from_topology("ring", agents=4))
    found = rank_edges(graph, model, certify_best=1)
    ranked = [effect.samples for effect in found.ranked]
    assert ranked == sorted(ranked, key=lambda n: (n is None, n))
    for effect in [found.base, found.ranked[0]]:
        edges = graph.edges.tolist() + ([] if effect.edge is None else [list(effect.edge)])
        network = Network.from_edges(edges, agents=4)
        enclosed = account(network, model).sample_size(0.05)
        assert effect.certified.lower == enclosed.lower
        assert enclosed.upper is not None
        assert effect.samples >= enclosed.lower
        # The ladder tries 77 tilts where this tries 3.
        ladder = sample_sizes(network, model, delta=0.05, certify=False).chernoff.rounds
        assert effect.samples >= ladder
        assert effect.samples <= 1.03 * ladder + 1
    assert all(effect.certified is None for effect in found.ranked[1:])


def test_laws_without_bounds_and_evidence_that_never_misleads() -> None:
    path = Network.from_topology("path", agents=4)
    normal = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    model = FiniteModel.from_agents(["zero", "one"], [normal], counts=[4])
    found = rank_edges(path, model)
    ladder = sample_sizes(path, model, delta=0.05, certify=False).chernoff.rounds
    assert ladder <= found.base.samples <= 1.03 * ladder + 1
    sure = coin([1.0, 0.0], [0.25, 0.75], truth=[1.0, 0.0])
    certain = FiniteModel.from_agents(["one", "other"], [sure], counts=[4])
    effect = rank_edges(path, certain).base
    assert effect.exponent == np.inf
    assert effect.rate == pytest.approx(np.log(4))
    ladder = sample_sizes(path, certain, delta=0.05, certify=False).chernoff.rounds
    assert ladder <= effect.samples <= 2


def test_the_compromise_may_change_with_an_edge() -> None:
    north = coin([0.7, 0.3], [0.3, 0.7], truth=[0.7, 0.3])
    south = coin([0.7, 0.3], [0.3, 0.7], truth=[0.3, 0.7])
    model = FiniteModel.from_agents(["north", "south"], [north, south], counts=[2, 3])
    edges = [[0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4]]
    found = rank_edges(DesignGraph.from_edges(edges, agents=5), model, order="rate")
    assert {effect.reference for effect in found.ranked} == {0, 1}
    assert any("settles on" in note for note in found.notes)
    for effect in found.ranked:
        check(effect, Network.from_edges([*edges, effect.edge], agents=5), model)


def test_fastest_keeps_the_influence() -> None:
    model = coins(2, 5)
    path = Network.from_topology("path", agents=5)
    found = rank_edges(path, model, rule="fastest", order="slem", candidates=[(4, 0), (1, 3)])
    v = path.stationary_distribution
    base = fastest_mixing(DesignGraph.from_network(path), v)
    assert found.base.slem == pytest.approx(base.slem, abs=1e-6)
    assert [effect.edge for effect in found.ranked] == [(0, 4), (1, 3)]  # the ring mixes faster
    for effect in found.ranked:
        assert effect.edge is not None
        assert effect.rate == pytest.approx(learning_rate(path, model).rate, rel=1e-9)
        graph = DesignGraph.from_network(path).with_edge(*effect.edge)
        assert effect.slem == pytest.approx(fastest_mixing(graph, v).slem, abs=1e-6)
        # One more edge to choose from: never slower (where an edge by rule may be).
        assert effect.slem <= found.base.slem + 1e-6
    assert any("the base is the graph weighted by fastest" in note for note in found.notes)


def test_what_is_skipped_is_said() -> None:
    model = coins(3, 9)
    grid = Network.from_topology("grid", shape=[3, 3])
    found = rank_edges(grid, model, limit=5)
    assert len(found.ranked) == 5
    assert found.candidates_skipped == 36 - 12 - 5
    assert any("19 candidates" in note for note in found.notes)


def test_the_rule_is_found_out_or_asked_for() -> None:
    model = coins(2, 4)
    lazy = Network.from_topology("path", agents=4, rule="lazy-metropolis")
    found = rank_edges(lazy, model)
    assert found.rule == "lazy-metropolis"
    assert found.notes == ("lazy-metropolis keeps v, so that no edge changes K or E",)
    own = Network([[0.9, 0.1, 0, 0], [0.3, 0.4, 0.3, 0], [0, 0.5, 0.4, 0.1], [0, 0, 0.2, 0.8]])
    with pytest.raises(ValueError, match=r"^rule: expected one of .*follow none of them"):
        rank_edges(own, model)
    note = rank_edges(own, model, rule="uniform").notes[0]
    uniform = Network.from_topology("path", agents=4)
    distance = np.abs(uniform.stationary_distribution - own.stationary_distribution).sum() / 2
    assert f"{distance:.3g} in total variation" in note
    assert "differ by up to 0.4" in note


def test_a_complete_graph_has_no_candidate() -> None:
    complete = Network.from_topology("complete", agents=4)
    assert rank_edges(complete, coins(2, 4)).best is None


def test_without_time_the_first_are_ranked() -> None:
    grid, model = Network.from_topology("grid", shape=[3, 3]), coins(3, 9)
    with time_budget(2.5, clock=count().__next__) as budget:
        found = rank_edges(grid, model, certify_best=2)
    assert budget.stopped
    whole = rank_edges(grid, model)
    assert found.base.samples == whole.base.samples
    assert found.samples_skipped == len(found.ranked) - 1
    assert found.best == whole.best
    assert found.base.certified is None

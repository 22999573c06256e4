"""Weights with a given stationary distribution, against the exact law of the very doubles."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import exact_stationary
from tests.theory.design.oracles import (
    INFLUENCES,
    PAIR,
    ROUND,
    SHAPES,
    directed_graphs,
    graph_of,
    influence_of,
    influences,
    law_error,
    undirected_graphs,
)
from theory.design import DesignFailed, DesignGraph, realise, realise_exactly, reweighted
from theory.design.mixing import fastest
from theory.design.realisation import circulation
from theory.design.realisation.circulation import balanced, closed_walks, nearest_flow, surpluses
from theory.design.realisation.weights import LAW_ERROR
from theory.network import Network
from theory.network.structure import as_dense
from theory.validation import FloatArray

# What is promised: 1e-14, by the library's law and by the exact one.
ACCURACY = 1e-14
ULP = 2.0**-52


def check(graph: DesignGraph, v: FloatArray, network: Network) -> None:
    """All that is promised of a network realised on a graph."""
    W = as_dense(network.weights)
    pattern = np.eye(graph.agents, dtype=bool)
    pattern[tuple(graph.links.T)] = True
    assert np.array_equal(W > 0, pattern)  # the support is respected, all links are used
    assert all(math.fsum(row) == 1.0 for row in W)
    assert np.abs(network.stationary_distribution / v - 1).max() < ACCURACY
    # Undirected: the error that is asked for, and that of Σ v. Directed: 2(N − 1) roundings.
    allowed = LAW_ERROR if graph.is_undirected else (graph.agents - 1) * ULP
    assert law_error(v, exact_stationary(W)) <= allowed < ACCURACY
    if graph.is_undirected:
        assert network.is_reversible
        degree = graph.degrees
        # Metropolis and Hastings leave 1/(d + 1) at least; the last rounding is of one minus that.
        assert np.all(W.diagonal() >= (1 - 4 * ULP * (degree + 1)) / (degree + 1))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", INFLUENCES)
def test_graphs_of_every_shape(shape: str, kind: str) -> None:
    rng = np.random.default_rng([SHAPES.index(shape), INFLUENCES.index(kind)])
    for _ in range(6):
        agents = int(rng.integers(2, 13))
        graph, v = graph_of(shape, agents, rng), influence_of(kind, agents, rng)
        check(graph, v, realise(graph, v))


@settings(deadline=None, max_examples=40)
@given(data=st.data(), graph=st.one_of(undirected_graphs(), directed_graphs()))
def test_any_influence_on_any_graph(data: st.DataObject, graph: DesignGraph) -> None:
    v = data.draw(influences(graph.agents))
    check(graph, v, realise(graph, v))


@settings(deadline=None, max_examples=30)
@given(graph=undirected_graphs())
def test_uniform_influence_is_the_metropolis_rule(graph: DesignGraph) -> None:
    weights = as_dense(realise(graph, np.full(graph.agents, 1 / graph.agents)).weights)
    rule = Network.from_edges(graph.edges, agents=graph.agents, rule="metropolis").weights
    # Weights are rounded down to the grid of 2^−53, diagonals take up what that leaves.
    assert np.abs(weights - as_dense(rule)).max() <= graph.agents * 2.0**-53
    assert np.array_equal(weights, weights.T)


@pytest.mark.parametrize("kind", ["uniform", "spread", "fractions"])
def test_ordinary_weights_sum_to_one_in_any_order(kind: str) -> None:
    """They are multiples of 2^−53, so that no partial sum is rounded."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        agents = int(rng.integers(2, 40))
        graph = graph_of(SHAPES[int(rng.integers(4))], agents, rng)
        weights = as_dense(realise(graph, influence_of(kind, agents, rng)).weights)
        assert np.array_equal(weights * 2.0**53, np.floor(weights * 2.0**53))
        order = rng.permutation(agents)
        for row in weights:
            assert sum(map(Fraction, row.tolist())) == 1
            assert sum(row[order].tolist()) == row.sum() == 1.0


@settings(deadline=None, max_examples=40)
@given(data=st.data(), graph=undirected_graphs())
def test_an_exact_balance_costs_little_flow(data: st.DataObject, graph: DesignGraph) -> None:
    v = data.draw(influences(graph.agents))
    weights = as_dense(realise(graph, v).weights)
    allowed = v / (graph.degrees + 1)
    for i, j in graph.links:
        share = weights[i, j] * v[i] / min(allowed[i], allowed[j])
        # A thousandth of the flow where weights are ordinary numbers.
        least = 1 - 2.0**-10 if weights[weights > 0].min() > 1e-6 else 0.499
        assert least < share <= 1 + 8 * ULP


def test_a_narrow_ring_whose_rows_no_doubles_sum_to_exactly_one() -> None:
    """Weights of 10^−13 beside a large one are multiples of 2^−53: three digits, v asks for 14."""
    v = np.array([1 / math.pi, 1e-13, 1 - 1 / math.pi - 1e-13])
    check(ROUND, v, realise(ROUND, v))  # by rows whose sum is 1.0 once it is rounded


def test_a_long_path_accumulates_nothing() -> None:
    """Neighbouring influences differ by 2^−52: each weight rounded by itself would add up."""
    agents = 1200
    path = DesignGraph.from_edges([[k, k + 1] for k in range(agents - 1)], agents=agents)
    shares = [1.0]
    for _ in range(agents - 1):
        shares.append(math.nextafter(shares[-1], 2.0))
    for v in (np.array(shares), np.random.default_rng(0).uniform(0.1, 1.0, agents)):
        v = v / v.sum()
        network = realise(path, v)
        W = network.weights
        law, start = [Fraction(1)], Fraction(float(v[0]))
        for k in range(agents - 1):
            law.append(law[-1] * Fraction(float(W[k, k + 1])) / Fraction(float(W[k + 1, k])))
            if k % 500 == 0:  # the fractions grow: a double's worth of digits more is plenty
                law[-1] = Fraction(law[-1].numerator * 2**200 // law[-1].denominator, 2**200)
        error = max(abs(pi * start / Fraction(float(x)) - 1) for pi, x in zip(law, v, strict=True))
        assert float(error) < LAW_ERROR


@pytest.mark.parametrize("directed", [False, True])
def test_a_large_torus(directed: bool) -> None:
    check_torus(side=50, directed=directed)


def check_torus(*, side: int, directed: bool) -> None:
    """The pattern of the weights, and balance in fractions at some agents."""
    rng = np.random.default_rng(5)
    here = np.arange(side * side)
    right = (here // side) * side + (here + 1) % side
    down = (here + side) % (side * side)
    edges = np.concatenate([np.column_stack([here, right]), np.column_stack([here, down])])
    graph = DesignGraph.from_edges(edges, agents=len(here), directed=directed)
    v = rng.uniform(0.2, 1.0, len(here))
    v /= v.sum()
    network = realise(graph, v)
    assert network.is_sparse
    W = network.weights.tocsr()
    assert W.nnz == len(graph.links) + len(here)
    assert np.all(W.diagonal() > 0)
    # Balance in fractions, of every 37th agent: flow in and out agree to the weights' rounding.
    into = W.tocsc()
    for agent in range(0, len(here), 37):
        out = sum(map(Fraction, W[[agent]].data.tolist())) * Fraction(float(v[agent]))
        column = into[:, [agent]].tocoo()
        came = sum(
            Fraction(float(w)) * Fraction(float(v[i]))
            for i, w in zip(column.coords[0], column.data, strict=True)
        )
        assert abs(float(came / out - 1)) < 2 * ULP


@settings(deadline=None, max_examples=30)
@given(data=st.data(), graph=st.one_of(undirected_graphs(), directed_graphs(max_agents=6)))
def test_fractions_are_exact(data: st.DataObject, graph: DesignGraph) -> None:
    whole = data.draw(st.lists(st.integers(1, 10**6), min_size=graph.agents, max_size=graph.agents))
    v = tuple(Fraction(x, sum(whole)) for x in whole)
    network = realise_exactly(graph, v)
    assert network.stationary_distribution == v
    rows = network.rows
    assert all(sum(row) == 1 and min(row) >= 0 for row in rows)
    used = {(i, j) for i, row in enumerate(rows) for j, w in enumerate(row) if w > 0}
    assert used == {*map(tuple, graph.links.tolist()), *((i, i) for i in range(graph.agents))}
    assert network.is_reversible or not graph.is_undirected
    # vW = v by hand, without a solver.
    assert tuple(sum(v[i] * rows[i][j] for i in range(len(v))) for j in range(len(v))) == v


def test_fractions_from_strings_and_doubles() -> None:
    assert realise_exactly(PAIR, ["2/3", "1/3"]).rows[0][1] == Fraction(1, 4)
    law = realise_exactly(PAIR, [0.9, 0.1]).stationary_distribution
    assert sum(law) == 1
    assert law[1] == Fraction(0.1)
    one = DesignGraph(1, np.zeros((0, 2), dtype=np.int64))
    assert realise_exactly(one, [1]).rows == ((Fraction(1),),)
    assert as_dense(realise(one, [1.0]).weights).tolist() == [[1.0]]


@settings(deadline=None, max_examples=30)
@given(graph=directed_graphs())
def test_closed_walks_are_a_circulation(graph: DesignGraph) -> None:
    walks = closed_walks(graph)
    assert min(walks) > 0
    assert not any(surpluses(graph, walks))


@settings(deadline=None, max_examples=25)
@given(data=st.data(), graph=directed_graphs())
def test_repair_changes_a_balanced_flow_by_rounding_alone(
    data: st.DataObject, graph: DesignGraph
) -> None:
    v = data.draw(influences(graph.agents))
    flow = nearest_flow(graph, v)
    found = balanced(graph, flow, digits=60)
    assert not any(surpluses(graph, found))
    exact = np.array([float(units) for units in found])
    # Each agent's imbalance is at most 1e-9 of its flow, and that of any set of agents of all flow.
    assert np.abs(exact - flow).max() <= 2e-9 * flow.sum()


def test_closed_walks_stand_in_where_doubles_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def unresolved(graph: DesignGraph, v: FloatArray) -> FloatArray:
        raise ValueError("weights: no law in doubles")

    monkeypatch.setattr(circulation, "nearest_flow", unresolved)
    rng = np.random.default_rng(13)
    for _ in range(20):
        graph, v = graph_of("chords", 7, rng), influence_of("decades", 7, rng)
        check(graph, v, realise(graph, v))


def test_a_flow_far_from_balance_is_not_repaired() -> None:
    graph = DesignGraph(3, np.array([[0, 1], [1, 0], [1, 2], [2, 0]]))
    # What leaves agent 2 has come from 1, which gets too little for that: its own link runs dry.
    assert balanced(graph, np.array([0.1, 1.0, 0.9, 0.5]), digits=20) is None
    assert balanced(graph, np.array([1.0, np.nan, 1.0, 1.0]), digits=20) is None
    assert balanced(graph, np.array([1.0, 0.5, 0.5, 0.5]), digits=20) is not None


def test_the_nearest_flow_has_the_form_of_the_optimum() -> None:
    """F/M is a product x_i y_j: log F/M sums to zero along links forwards and back in a cycle."""
    rng = np.random.default_rng(3)
    complete = [[i, j] for i in range(5) for j in range(5) if i != j and (i, j) != (0, 3)]
    graph = DesignGraph.from_edges(complete, agents=5, directed=True)
    v = influence_of("spread", 5, rng)
    flow = nearest_flow(graph, v)
    table = np.zeros((5, 5))
    table[tuple(graph.links.T)] = flow
    assert np.allclose(table.sum(axis=0), table.sum(axis=1), rtol=1e-8)
    links_in = np.bincount(graph.links[:, 1], minlength=5)
    allowed = v / (np.maximum(graph.degrees, links_in) + 1)
    ratio = np.log(flow / np.minimum(allowed[graph.links[:, 0]], allowed[graph.links[:, 1]]))
    log = np.full((5, 5), np.nan)
    log[tuple(graph.links.T)] = ratio
    checked = 0
    for a, b, c, d in np.ndindex(5, 5, 5, 5):
        value = log[a, c] + log[b, d] - log[a, d] - log[b, c]
        if a != b and c != d and np.isfinite(value):
            assert abs(value) < 1e-7
            checked += 1
    assert checked > 50


@st.composite
def wanted(draw: st.DrawFn) -> tuple[Network, list[int]]:
    """A network on any graph, and how many examples each agent holds."""
    graph = draw(st.one_of(undirected_graphs(), directed_graphs()))
    held = draw(st.lists(st.integers(1, 60_000), min_size=graph.agents, max_size=graph.agents))
    return realise(graph, np.full(graph.agents, 1 / graph.agents)), held


@settings(max_examples=25)
@given(wanted=wanted())
def test_influence_is_as_wanted_on_the_links_there_are(wanted: tuple[Network, list[int]]) -> None:
    network, held = wanted
    found = reweighted(network, held)
    shares = np.array(held) / sum(held)
    assert np.abs(found.stationary_distribution / shares - 1).max() < 1e-9
    new, old = as_dense(found.weights), as_dense(network.weights)
    assert not new[(old == 0) & ~np.eye(network.agents, dtype=bool)].any()
    graph = DesignGraph.from_network(network)
    if graph.is_undirected:
        assert found.is_reversible
        # Rounding of eigenvalues, and the tolerance of the optimum.
        assert found.slem <= realise(graph, shares).slem + 1e-5


@pytest.mark.parametrize("centre", [0.1, 0.5, 0.9])
def test_stars_have_the_least_modulus_that_there_is(centre: float) -> None:
    """An edge puts x on the centre, which can give all edges together 1: x(1 − c)/c ≤ 1.

    The eigenvalues are then 1 − x and 1 − x/c, and x = 2c/(1 + c) makes them opposite.
    """
    star = Network.from_topology("star", agents=9)
    found = reweighted(star, [centre] + 8 * [(1 - centre) / 8])
    x = min(2 * centre / (1 + centre), centre / (1 - centre))
    assert found.slem == pytest.approx(max(1 - x, abs(1 - x / centre)), abs=1e-5)


def test_the_unit_of_influence_is_of_no_matter_and_names_stay() -> None:
    ring = Network.from_topology("ring", agents=4)
    named = Network(ring.weights, "ring", names=["a", "b", "c", "d"])
    small, large = (reweighted(named, scale * np.array([1.0, 2, 3, 4])) for scale in (1e-3, 1e6))
    assert np.allclose(as_dense(small.weights), as_dense(large.weights), atol=1e-9)
    assert small.names == named.names


def test_where_the_search_fails_other_weights_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise DesignFailed("stalled", tried=("barrier",), best=None, remedy="")

    monkeypatch.setattr(fastest, "fastest_mixing", fails)
    found = reweighted(Network.from_topology("star", agents=3), [2, 1, 1])
    assert found.stationary_distribution.tolist() == [0.5, 0.25, 0.25]

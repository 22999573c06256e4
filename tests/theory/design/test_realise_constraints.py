"""Weights under constraints: the law of E[W] in fractions, and clashes that are really needed."""

from __future__ import annotations

from dataclasses import replace

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory.design.oracles import (
    LINE,
    PAIR,
    PATH,
    TRIANGLE,
    directed_graphs,
    graph_of,
    influence_of,
    influences,
    law_error,
    undirected_graphs,
)
from theory.design import Constraints, DesignGraph, realise
from theory.network import Network
from theory.network.structure import as_dense
from theory.numbers import as_fmpq
from theory.rational.network import stationary_distribution
from theory.validation import FloatArray

ULP = 2.0**-52
# Availability takes part in the balance: each product of a weight and a probability that is not
# the same both ways is one rounding more, 2(N − 1) in all; ten agents at most here.
ACCURACY = 1e-14


def expected_law_error(
    graph: DesignGraph, network: Network, limits: Constraints, v: FloatArray
) -> float:
    """How far v is from the law of E[W], from the doubles, in fractions."""
    W = as_dense(network.weights)
    E = flint.fmpq_mat(graph.agents, graph.agents)
    for (i, j), p in zip(graph.links.tolist(), limits.availability_on(graph).tolist(), strict=True):
        E[i, j] = as_fmpq(float(W[i, j])) * as_fmpq(p)
    for i in range(graph.agents):
        E[i, i] = 1 - sum((E[i, j] for j in range(graph.agents)), flint.fmpq(0))
    return law_error(v, stationary_distribution(E))


def keeps_to(graph: DesignGraph, network: Network, limits: Constraints) -> None:
    """Free agents use every link and keep what they must; fixed rows are as given."""
    W = as_dense(network.weights)
    for agent in range(graph.agents):
        if agent in limits.fixed_rows:
            assert np.array_equal(W[agent], limits.fixed_rows[agent])
            continue
        others = graph.links[graph.links[:, 0] == agent, 1]
        assert np.all(W[agent, others] > 0)
        assert np.count_nonzero(W[agent]) == len(others) + 1
        assert W[agent, agent] >= limits.minimum_self_weight
        assert W[agent, agent] > 0


@settings(deadline=None, max_examples=40)
@given(
    data=st.data(),
    graph=st.one_of(undirected_graphs(), directed_graphs()),
    own=st.sampled_from([0.0, 0.1, 0.5, 0.9, 0.999]),
    lost=st.sampled_from(["never", "alike", "mutual", "anyhow"]),
)
def test_self_weight_and_availability(
    data: st.DataObject, graph: DesignGraph, own: float, lost: str
) -> None:
    v = data.draw(influences(graph.agents))
    rng = np.random.default_rng(len(graph.links))
    up: dict[tuple[int, int], float] | float = 1.0
    if lost == "alike":
        up = 0.3
    elif lost != "never":
        table = rng.uniform(0.05, 1.0, (graph.agents, graph.agents))
        table = np.maximum(table, table.T) if lost == "mutual" else table
        up = {(int(i), int(j)): float(table[i, j]) for i, j in graph.links}
    limits = Constraints(minimum_self_weight=own, availability=up)
    network = realise(graph, v, constraints=limits)
    keeps_to(graph, network, limits)
    assert expected_law_error(graph, network, limits, v) < ACCURACY
    if graph.is_undirected and lost != "anyhow":
        assert network.is_reversible


def test_a_lossy_one_way_ring_by_hand() -> None:
    """The flow is one number f: W_ij = f/(v_i p_ij), as large as the rows allow, to a part in 10⁶.

    The least of 1 − 1/16 times v_i p_ij decides, 1/16 being an eighth of what the rule keeps.
    """
    ring = DesignGraph(3, np.array([[0, 1], [1, 2], [2, 0]]))
    v, up = np.array([0.5, 0.25, 0.25]), {(0, 1): 0.2, (1, 2): 0.8, (2, 0): 1.0}
    network = realise(ring, v, constraints=Constraints(availability=up))
    flow = 0.1 * 15 / 16
    W = as_dense(network.weights)
    expected = [flow / 0.1, flow / 0.2, flow / 0.25]
    assert np.allclose([W[0, 1], W[1, 2], W[2, 0]], expected, rtol=2e-6)
    assert np.all(np.array([W[0, 1], W[1, 2], W[2, 0]]) <= np.array(expected) * (1 + ULP))


@settings(deadline=None, max_examples=20)
@given(graph=undirected_graphs(), own=st.sampled_from([0.0, 0.6]))
def test_symmetric_weights_are_symmetric(graph: DesignGraph, own: float) -> None:
    uniform = np.full(graph.agents, 1 / graph.agents)
    limits = Constraints(symmetric=True, minimum_self_weight=own)
    W = as_dense(realise(graph, uniform, constraints=limits).weights)
    assert np.array_equal(W, W.T)


@settings(deadline=None, max_examples=20)
@given(graph=directed_graphs())
def test_doubly_stochastic_columns_sum_to_one(graph: DesignGraph) -> None:
    uniform = np.full(graph.agents, 1 / graph.agents)
    network = realise(graph, uniform, constraints=Constraints(doubly_stochastic=True))
    W = as_dense(network.weights)
    assert np.abs(W.sum(axis=0) - 1).max() <= graph.agents * ULP


def random_rows(graph: DesignGraph, rng: np.random.Generator) -> dict[int, FloatArray]:
    """One or two rows on links of the graph, some of them zero."""
    rows = {}
    for agent in rng.choice(graph.agents, int(rng.integers(1, 3)), replace=False):
        others = graph.links[graph.links[:, 0] == agent, 1]
        row = np.zeros(graph.agents)
        row[others] = rng.random(len(others)) * rng.integers(0, 2, len(others))
        row[agent] = 3 * rng.random()
        if rng.random() < 0.7:
            row[others] += 0.01
        rows[int(agent)] = row / row.sum()
    return rows


@pytest.mark.parametrize("shape", ["loopy", "chords"])
def test_fixed_rows_are_kept_and_clashes_are_minimal(shape: str) -> None:
    rng = np.random.default_rng([len(shape), 7])
    kept = clashed = 0
    for _ in range(40):
        agents = int(rng.integers(3, 9))
        graph, v = graph_of(shape, agents, rng), influence_of("spread", agents, rng)
        up = {(int(i), int(j)): float(rng.uniform(0.5, 1)) for i, j in graph.links}
        limits = Constraints(
            fixed_rows=random_rows(graph, rng),
            minimum_self_weight=float(rng.choice([0.0, 0.4])),
            availability=up if rng.random() < 0.3 else 1.0,
        )
        try:
            network = realise(graph, v, constraints=limits)
        except ValueError as error:
            clashed += 1
            check_clash(str(error), graph, v, limits)
        else:
            kept += 1
            keeps_to(graph, network, limits)
            assert expected_law_error(graph, network, limits, v) < ACCURACY
    assert kept >= 10
    assert clashed >= 6


def check_clash(message: str, graph: DesignGraph, v: FloatArray, limits: Constraints) -> None:
    """What is named clashes by itself, and no longer if any one of it is dropped."""
    assert message.startswith("constraints: expected constraints under which some flow")
    named = message.split("got a clash of ")[1].split(" with v")[0]
    parts = named.replace(" and ", ", ").split(", ")
    rows = {int(part[11:-1]) for part in parts if part.startswith("fixed_rows")}
    alone = Constraints(
        fixed_rows={i: row for i, row in limits.fixed_rows.items() if i in rows},
        minimum_self_weight=limits.minimum_self_weight if "minimum_self_weight" in parts else 0.0,
        availability=limits.availability if "availability" in parts else 1.0,
    )
    with pytest.raises(ValueError, match="clash"):
        realise(graph, v, constraints=alone)
    for part in parts:
        if part.startswith("fixed_rows"):
            fewer = {i: r for i, r in alone.fixed_rows.items() if part != f"fixed_rows[{i}]"}
            without = replace(alone, fixed_rows=fewer)
        elif part == "availability":
            without = replace(alone, availability=1.0)
        else:
            without = replace(alone, minimum_self_weight=0.0)
        realise(graph, v, constraints=without)


def test_a_fixed_row_that_fits_until_agents_have_to_keep_more() -> None:
    """Agent 1 hands 0.2 to either neighbour, of 0.25 each: they keep a fifth, and not half."""
    limits = Constraints(fixed_rows={1: np.array([0.4, 0.2, 0.4])})
    W = as_dense(realise(PATH, [0.25, 0.5, 0.25], constraints=limits).weights)
    assert np.allclose(W, [[0.2, 0.8, 0], [0.4, 0.2, 0.4], [0, 0.8, 0.2]], rtol=1e-14)
    clash = r"a clash of minimum_self_weight and fixed_rows\[1\] with v; drop or change one"
    with pytest.raises(ValueError, match=clash):
        realise(PATH, [0.25, 0.5, 0.25], constraints=replace(limits, minimum_self_weight=0.5))


def test_mutual_flow_is_preferred_but_not_demanded() -> None:
    uniform = np.full(3, 1 / 3)
    mutual = Constraints(fixed_rows={0: np.array([0.5, 0.25, 0.25])})
    assert realise(TRIANGLE, uniform, constraints=mutual).is_reversible
    # Agent 0 does not listen to 2, which does listen to 0: flow goes round.
    one_way = Constraints(fixed_rows={0: np.array([0.5, 0.5, 0.0])})
    network = realise(TRIANGLE, uniform, constraints=one_way)
    keeps_to(TRIANGLE, network, one_way)
    assert not network.is_reversible
    # A symmetric W has no use for that link.
    W = as_dense(realise(TRIANGLE, uniform, constraints=replace(one_way, symmetric=True)).weights)
    assert np.array_equal(W, W.T)
    assert W[2, 0] == 0


def test_all_rows_fixed() -> None:
    rows = {0: np.array([0.75, 0.25]), 1: np.array([0.5, 0.5])}
    limits = Constraints(fixed_rows=rows)
    network = realise(PAIR, [2 / 3, 1 / 3], constraints=limits)
    assert as_dense(network.weights).tolist() == [[0.75, 0.25], [0.5, 0.5]]
    clash = r"a clash of fixed_rows\[0\] and fixed_rows\[1\] with v"
    with pytest.raises(ValueError, match=clash):
        realise(PAIR, [0.5, 0.5], constraints=limits)


def test_rows_that_isolate_agents_are_named() -> None:
    rows = {1: np.array([0.5, 0.5, 0, 0]), 2: np.array([0, 0, 0.5, 0.5])}
    with pytest.raises(ValueError, match=r"fixed_rows: .* 2 parts: {0, 1}, {2, 3}; let a fixed"):
        realise(LINE, np.full(4, 0.25), constraints=Constraints(fixed_rows=rows))


def test_symmetry_with_one_way_losses_is_refused() -> None:
    limits = Constraints(symmetric=True, availability={(0, 1): 0.5})
    with pytest.raises(ValueError, match=r"symmetric: expected an availability .* the same both"):
        realise(PATH, np.full(3, 1 / 3), constraints=limits)
    mutual = replace(limits, availability={(0, 1): 0.5, (1, 0): 0.5})
    W = as_dense(realise(PATH, np.full(3, 1 / 3), constraints=mutual).weights)
    assert np.array_equal(W, W.T)


def test_links_that_are_left_out_take_their_limits_with_them() -> None:
    limits = Constraints(
        availability={(0, 2): 0.5, (1, 0): 0.75}, link_costs={(0, 2): 3.0, (1, 2): 2.0}
    )
    limits.check(TRIANGLE)
    with pytest.raises(ValueError, match="of the graph"):
        limits.check(PATH)
    part = limits.on(PATH)
    part.check(PATH)
    assert dict(part.availability) == {(1, 0): 0.75}  # type: ignore[arg-type]
    assert dict(part.link_costs) == {(1, 2): 2.0}

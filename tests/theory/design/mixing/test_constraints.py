"""Agents that nobody controls, links that fail, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory.design.mixing.support import (
    Floats,
    geometric,
    grid,
    judge,
    slem_by_eigenvalues,
    uneven,
    uniform,
)
from theory import Network
from theory.design import Constraints, DesignGraph, fastest_mixing


def row(agents: int, weights: dict[int, float]) -> Floats:
    found = np.zeros(agents)
    found[list(weights)] = list(weights.values())
    return found


@pytest.mark.parametrize(
    "limits",
    [
        {"fixed_rows": {4: row(9, {1: 0.2, 3: 0.1, 5: 0.2, 7: 0.2, 4: 0.3})}},
        {
            "fixed_rows": {
                0: row(9, {0: 0.5, 1: 0.2, 3: 0.3}),
                1: row(9, {0: 0.2, 2: 0.3, 4: 0.3, 1: 0.2}),
            }
        },
        {"availability": {(0, 1): 0.25}},
        {"edge_budget": 12, "degree_budget": 4, "cost_budget": 12.0},
    ],
    ids=["fixed row", "two fixed rows", "poor link", "budgets that the graph meets"],
)
def test_limits_are_kept(limits: dict[str, object]) -> None:
    constraints = Constraints(**limits)  # type: ignore[arg-type]
    result = fastest_mixing(grid(3), uniform(9), constraints=constraints)
    judge(grid(3), uniform(9), result, constraints=constraints)
    assert fastest_mixing(grid(3), uniform(9)).certificate.bound <= result.slem
    assert (result.network is result.expected) == ("availability" not in limits)


def test_a_fixed_row_may_keep_less_than_others_must_and_lose_more() -> None:
    """Everything at once: the row is kept as it is, the flow is that of E[W]."""
    up = {(0, 1): 0.5, (1, 0): 0.8, (0, 3): 0.9, (4, 1): 0.6}
    constraints = Constraints(
        minimum_self_weight=0.2,
        availability=up,
        fixed_rows={0: row(9, {0: 0.1, 1: 0.5, 3: 0.4})},
    )
    result = fastest_mixing(grid(3), uniform(9), constraints=constraints)
    judge(grid(3), uniform(9), result, constraints=constraints)
    assert result.expected.weights[0, 1] == pytest.approx(0.25, rel=1e-12)
    assert result.network.weights[1, 0] == pytest.approx(0.25 / 0.8, rel=1e-12)


def test_everything_fixed_leaves_the_network_as_it_is() -> None:
    network = Network.from_topology("grid", shape=[3, 3], rule="metropolis")
    W = np.asarray(network.weights)
    constraints = Constraints(fixed_rows=dict(enumerate(W)))
    graph = DesignGraph.from_network(network)
    result = fastest_mixing(graph, uniform(9), constraints=constraints)
    judge(graph, uniform(9), result, constraints=constraints)
    assert np.allclose(result.network.weights, W, atol=1e-15)
    assert result.slem == pytest.approx(network.slem, abs=1e-12)


def test_the_bound_with_fixed_rows_is_no_bound_on_less() -> None:
    """Weak duality by hand, known flows included: random feasible W never beat the bound."""
    graph, v = geometric(12, seed=1), uneven(12, seed=2, spread=0.5)
    whole = fastest_mixing(graph, v)
    fixed = {0: 0.5 * np.asarray(whole.network.weights)[0] + 0.5 * np.eye(12)[0]}
    constraints = Constraints(fixed_rows=fixed)
    result = fastest_mixing(graph, v, constraints=constraints)
    judge(graph, v, result, constraints=constraints)
    rng = np.random.default_rng(0)
    i, j = graph.edges.T
    at_fixed = (graph.edges == 0).any(axis=1)
    for _ in range(200):
        flows = result.flows * np.exp(rng.normal(scale=10.0 ** rng.uniform(-4, 0), size=len(i)))
        flows[at_fixed] = 0.0
        taken = np.bincount(i, result.flows * at_fixed, 12)
        taken += np.bincount(j, result.flows * at_fixed, 12)
        used = np.bincount(i, flows, 12) + np.bincount(j, flows, 12)
        room = np.where(used > 0, (v - taken) / np.maximum(used, 1e-300), np.inf)
        flows = flows * np.minimum(1, np.minimum(room[i], room[j])) + result.flows * at_fixed
        W = np.zeros((12, 12))
        W[i, j], W[j, i] = flows / v[i], flows / v[j]
        W += np.diag(1 - W.sum(axis=1))
        assert slem_by_eigenvalues(W, v) >= result.certificate.bound - 1e-12


@given(st.data())
@settings(max_examples=12)
def test_links_that_fail_each_in_their_own_way(data: st.DataObject) -> None:
    graph = grid(3)
    chances = st.sampled_from([1.0, 0.9, 0.3, 1e-2, 1e-5])
    up = {(int(i), int(j)): data.draw(chances) for i, j in graph.links}
    own = data.draw(st.sampled_from([0.0, 0.2]))
    constraints = Constraints(availability=up, minimum_self_weight=own)
    v = uneven(9, seed=data.draw(st.integers(0, 99)), spread=0.7)
    judge(graph, v, fastest_mixing(graph, v, constraints=constraints), constraints=constraints)

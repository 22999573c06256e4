"""Named graphs against networkx, rules against their definitions, and every refusal."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest

from tests.theory.network.test_network import message
from theory.network import RULES, TOPOLOGIES, Network

EXAMPLES: dict[str, tuple[dict[str, Any], nx.Graph | None]] = {
    "star": ({"agents": 6}, nx.star_graph(5)),
    "ring": ({"agents": 5}, nx.cycle_graph(5)),
    "path": ({"agents": 5}, nx.path_graph(5)),
    "grid": ({"shape": [2, 3, 4]}, nx.grid_graph([4, 3, 2])),
    "torus": ({"shape": (3, 5)}, nx.grid_graph([5, 3], periodic=True)),
    "complete": ({"agents": 5}, nx.complete_graph(5)),
    "tree": ({"agents": 13, "branching": 3}, nx.balanced_tree(3, 2)),
    "hypercube": ({"dimension": 4}, nx.hypercube_graph(4)),
    "erdos-renyi": ({"agents": 40, "probability": 0.2, "seed": 1}, None),
    "geometric": ({"agents": 40, "radius": 0.4, "seed": 1}, None),
}


def adjacency(network: Network) -> np.ndarray:
    pattern = np.zeros((network.agents, network.agents))
    pattern[tuple(network.edges.T)] = 1
    return pattern


def test_every_topology_has_an_example() -> None:
    assert set(EXAMPLES) == set(TOPOLOGIES)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("rule", RULES)
def test_rules(topology: str, rule: str) -> None:
    """Each entry against its definition, written out for one pair at a time.

    What is left for the diagonal carries the rounding of up to 40 entries.
    """
    network = Network.from_topology(topology, rule=rule, **EXAMPLES[topology][0])
    graph = adjacency(network)
    degree = graph.sum(axis=1)
    expected = np.zeros_like(graph)
    for i, j in network.edges:
        larger = max(degree[i], degree[j])
        expected[i, j] = {
            "uniform": 1 / (degree[i] + 1),
            "metropolis": 1 / (1 + larger),
            "lazy-metropolis": 1 / (2 * larger),
            "max-degree": 1 / (1 + degree.max()),
        }[rule]
    expected += np.diag(1 - expected.sum(axis=1))
    np.testing.assert_allclose(network.weights, expected, rtol=1e-15, atol=1e-14)
    assert network.is_reversible
    assert network.weights.diagonal().min() > 0
    if rule != "uniform":
        np.testing.assert_allclose(network.stationary_distribution, 1 / network.agents, rtol=1e-13)


@pytest.mark.parametrize("topology", [name for name in TOPOLOGIES if EXAMPLES[name][1]])
def test_graphs_are_those_of_networkx(topology: str) -> None:
    options, graph = EXAMPLES[topology]
    ordered = nx.to_numpy_array(graph, nodelist=sorted(graph))
    np.testing.assert_array_equal(adjacency(Network.from_topology(topology, **options)), ordered)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_sparse_and_dense_hold_the_same_weights(topology: str) -> None:
    options = EXAMPLES[topology][0]
    dense = Network.from_topology(topology, **options)
    stored = Network.from_topology(topology, sparse=True, **options)
    assert stored.is_sparse
    assert not dense.is_sparse
    np.testing.assert_array_equal(stored.weights.toarray(), dense.weights)  # type: ignore[union-attr]


def test_large_topologies_are_sparse() -> None:
    assert not Network.from_topology("path", agents=2000).is_sparse
    assert Network.from_topology("path", agents=2001).is_sparse
    assert not Network.from_topology("path", agents=2001, sparse=False).is_sparse


def test_star_with_edge_confidence() -> None:
    star = Network.from_topology("star", agents=3, edge_confidence=0.25)
    expected = [[1 / 3, 1 / 3, 1 / 3], [0.25, 0.75, 0], [0.25, 0, 0.75]]
    np.testing.assert_allclose(star.weights, expected, rtol=1e-15)


@pytest.mark.parametrize("probability", [0.02, 0.3, 1.0])
def test_erdos_renyi_draws_each_pair_alike(probability: float) -> None:
    agents = 400
    network = Network.from_topology(
        "erdos-renyi", agents=agents, probability=probability, seed=7, rule="metropolis"
    )
    graph = adjacency(network)
    pairs = agents * (agents - 1) / 2
    # Six standard deviations for the whole, and for the part among the first half.
    spread = 6 * math.sqrt(pairs * probability * (1 - probability))
    assert abs(graph.sum() / 2 - pairs * probability) <= spread
    half = graph[:200, :200].sum() / 2 - 200 * 199 / 2 * probability
    assert abs(half) <= spread / 2 + 1e-9


def test_geometric_joins_the_near() -> None:
    network = Network.from_topology("geometric", agents=60, radius=0.3, seed=2)
    points = network.layout
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_array_equal(adjacency(network), (distance <= 0.3) & ~np.eye(60, dtype=bool))


@pytest.mark.parametrize("topology", ["erdos-renyi", "geometric"])
def test_seeds(topology: str) -> None:
    options = EXAMPLES[topology][0]
    first, again, other = (
        Network.from_topology(topology, **{**options, "seed": seed}) for seed in (1, 1, 2)
    )
    assert first.edges.tolist() == again.edges.tolist()
    assert first.edges.tolist() != other.edges.tolist()


def test_layouts() -> None:
    def layout(topology: str, **options: Any) -> np.ndarray:
        return Network.from_topology(topology, **options).layout

    star = layout("star", agents=5)
    assert star[0].tolist() == [0, 0]
    np.testing.assert_allclose(np.linalg.norm(star[1:], axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(layout("ring", agents=7), axis=1), 1)
    assert layout("grid", shape=[2, 2]).tolist() == [[0, 0], [1, 0], [0, -1], [1, -1]]
    assert layout("path", agents=3).tolist() == [[0, 0], [1, 0], [2, 0]]
    np.testing.assert_allclose(layout("tree", agents=3), [[0, 0], [-0.25, -1], [0.25, -1]])
    for topology in ("hypercube", "erdos-renyi"):
        assert Network.from_topology(topology, **EXAMPLES[topology][0]).layout is None
    assert Network.from_topology("grid", shape=[2, 2, 2]).layout is None


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("blob", {"agents": 3}, "topology: expected one of star, ring, path, grid, torus, complete, "),
    ("ring", {"agents": 5, "rule": "best"}, "rule: expected one of uniform, metropolis, "),
    ("ring", {}, "agents: expected a value, since topology 'ring' needs it, got none; give it"),
    ("grid", {"agents": 9}, "shape: expected a value, since topology 'grid' needs it, got none"),
    ("erdos-renyi", {"agents": 9, "probability": 0.5}, "seed: expected a value, since topology"),
    ("hypercube", {}, "got none; give it, or a number of agents that is a power of 2"),
    ("ring", {"agents": 5, "edge_confidence": 0.5}, "edge_confidence: expected none, since"),
    ("ring", {"agents": 5, "seed": 1}, "has no such parameter, got a value; leave it out"),
    (
        "star",
        {"agents": 5, "edge_confidence": 0.5, "rule": "metropolis"},
        "rule: expected none for a star with edge_confidence, which sets all weights, got "
        "'metropolis'; leave out one of the two",
    ),
    ("star", {"agents": 5, "edge_confidence": 1.5}, "edge_confidence: expected a number in (0, 1)"),
    ("grid", {"shape": [3, 3], "agents": 8}, "agents: expected 9, the product of the shape, got 8"),
    ("hypercube", {"agents": 9}, "agents: expected 8, 2 to the power of the dimension, got 9"),
    ("grid", {"shape": 3}, "shape: expected a list of side lengths, such as [3, 3], got 3"),
    ("torus", {"shape": [2, 3]}, "shape: expected a whole number of at least 3, got 2"),
    ("ring", {"agents": 2}, "agents: expected a whole number of at least 3, got 2; use 3 or more"),
    ("complete", {"agents": 100_000}, "agents: expected at most 5000 for topology 'complete'"),
    ("hypercube", {"dimension": 40}, "dimension: expected at most 23, got 40; use a smaller one"),
    ("hypercube", {"agents": 10**30}, f"at most 10000000, got {10**30}; use 10000000 or fewer"),
    ("ring", {"agents": 10**12}, "agents: expected a whole number of at most 10000000, got 1000"),
    ("tree", {"agents": 7, "branching": 10**30}, "branching: expected a whole number of at most 1"),
    ("torus", {"shape": [3] * 60}, "shape: expected at most 24 sides, got 60; leave out sides"),
    ("grid", {"shape": [1] * 100}, "shape: expected at most 24 sides, got 100; leave out sides"),
    ("grid", {"shape": [10_000, 10_000]}, "is at most 10000000, got 100000000; use shorter sides"),
    (
        "erdos-renyi",
        {"agents": 10**6, "probability": 0.5, "seed": 0},
        "probability: expected at most 2e+08 links, got about 5e+11 with probability=0.5; "
        "use at most 0.0002, or fewer agents",
    ),
    ("geometric", {"agents": 10**6, "radius": 0.5, "seed": 0}, "got about 7.9e+11 with radius=0.5"),
    ("erdos-renyi", {"agents": 50, "probability": 1e-300, "seed": 3}, "graph, got 50 parts with"),
    (
        "erdos-renyi",
        {"agents": 50, "probability": 0.0, "seed": 3},
        "topology: expected a connected graph, got 50 parts with probability=0 and seed=3; "
        "raise the probability (ln N / N is the threshold) or try another seed",
    ),
    (
        "geometric",
        {"agents": 50, "radius": 0.001, "seed": 3},
        "raise the radius (√(ln N / πN) is the threshold) or try another seed",
    ),
    (
        "geometric",
        {"agents": 50, "radius": -1, "seed": 3},
        "radius: expected a finite number above",
    ),
]


@pytest.mark.parametrize(("topology", "options", "expected"), REFUSED)
def test_refusals(topology: str, options: dict[str, Any], expected: str) -> None:
    assert expected in message(Network.from_topology, topology, **options)


@pytest.mark.parametrize("rule", RULES[1:])
def test_directed_graphs_take_the_uniform_rule_only(rule: str) -> None:
    edges = [[0, 1], [1, 2], [2, 0]]
    assert message(Network.from_edges, edges, agents=3, directed=True, rule=rule) == (
        f"rule: expected \"uniform\" for a directed graph, got '{rule}'; "
        'use rule="uniform", or make every edge undirected'
    )
    both_ways = edges + [edge[::-1] for edge in edges]
    Network.from_edges(both_ways, agents=3, directed=True, rule=rule)


def test_edge_lists_are_bounded() -> None:
    text = message(Network.from_edges, [[0, 1]], agents=10**12)
    assert text.startswith("agents: expected a whole number of at most 10000000, got 1000000000000")

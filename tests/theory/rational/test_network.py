"""Rational networks against the same networks of doubles, and against sympy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
import sympy
from hypothesis import given, settings

from tests.oracles import exact_stationary, relative_error
from tests.strategies import networks, rational_networks
from tests.theory.rational.networks import as_sympy
from theory.network import RULES, Network
from theory.rational import RationalNetwork

GRAPHS: tuple[dict[str, Any], ...] = (
    {"topology": "ring", "agents": 7},
    {"topology": "path", "agents": 6},
    {"topology": "complete", "agents": 5},
    {"topology": "star", "agents": 8},
    {"topology": "grid", "shape": [3, 4]},
    {"topology": "torus", "shape": [3, 4]},
    {"topology": "tree", "agents": 9, "branching": 2},
    {"topology": "hypercube", "dimension": 3},
    {"topology": "erdos-renyi", "agents": 9, "probability": 0.6, "seed": 3},
    {"topology": "geometric", "agents": 9, "radius": 0.7, "seed": 3},
)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph["topology"])
def test_every_topology_and_rule_agrees_with_floats(graph: dict[str, Any], rule: str) -> None:
    exact = RationalNetwork.from_topology(**graph, rule=rule)
    floats = Network.from_topology(**graph, rule=rule)
    nearest = np.array([[float(x) for x in row] for row in exact.rows])
    # The diagonal is one less the others: a rounding for each of them.
    np.testing.assert_allclose(nearest, floats.weights, rtol=0, atol=12 * 2.0**-53)
    assert (nearest[~np.eye(exact.agents, dtype=bool)] > 0).sum() == len(floats.edges)
    assert exact.name == floats.name
    v = exact.stationary_distribution
    assert sum(v) == 1
    assert relative_error(floats.stationary_distribution, list(v)) < 1e-13


def test_edges_directed_and_not() -> None:
    edges = [[0, 1], [1, 2], [2, 0], [0, 2]]
    for directed in (True, False):
        exact = RationalNetwork.from_edges(edges, agents=3, directed=directed)
        floats = Network.from_edges(edges, agents=3, directed=directed)
        np.testing.assert_allclose(exact.as_network().weights, floats.weights, rtol=1e-15)


def test_the_star_of_the_paper() -> None:
    for a in (Fraction(1, 10), Fraction(1, 2), Fraction(99, 100)):
        star = RationalNetwork.from_topology("star", agents=9, edge_confidence=a)
        assert star.stationary_distribution == (
            9 * a / (9 * a + 8),
            *(1 / (9 * a + 8),) * 8,
        )


@settings(deadline=None, max_examples=40)
@given(rational_networks())
def test_stationary_distribution_by_brute_force(network: RationalNetwork) -> None:
    (vector,) = (as_sympy(network).T - sympy.eye(network.agents)).nullspace()
    total = sum(vector)
    expected = tuple(Fraction(int(x.p), int(x.q)) for x in (entry / total for entry in vector))
    assert network.stationary_distribution == expected


@settings(deadline=None, max_examples=40)
@given(networks())
def test_doubles_are_read_as_they_are(network: Network) -> None:
    exact = RationalNetwork.from_network(network)
    dense = np.asarray(network.weights.toarray() if network.is_sparse else network.weights)
    for row, floats in zip(exact.rows, dense.tolist(), strict=True):
        changed = [j for j, (x, y) in enumerate(zip(row, floats, strict=True)) if x != Fraction(y)]
        assert changed in ([], [int(np.argmax(floats))])
        assert all((x > 0) == (y > 0) for x, y in zip(row, floats, strict=True))
    # The diagonal is not the entry that was mended; v changes in the last places alone.
    exact_v = exact_stationary(network.weights)
    ratios = [a / b for a, b in zip(exact.stationary_distribution, exact_v, strict=True)]
    coupling = min(x for row in exact.rows for x in row if x > 0)
    assert max(abs(r - 1) for r in ratios) <= 100 * Fraction(1, 2**52) / coupling


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["1/2", "1/2"]], "weights: expected a square matrix"),
        ([["1/2", "1/2"], ["1"]], "weights: expected a square matrix"),
        ([], "weights: expected a square matrix"),
        (["ab", "cd"], "value: expected a fraction"),
        (3, "weights: expected a square matrix"),
        ([["1/2", "1/3"], ["1/2", "1/2"]], r"weights\[0\]: expected probabilities that sum to 1"),
        ([["3/2", "-1/2"], ["1/2", "1/2"]], r"weights\[0\]: .* at least 0"),
        ([[1, 0], [0, 1]], "irreducible"),
        ([[0, 1], [1, 0]], "period 2"),
        (flint.fmpq_mat([[flint.fmpq(1, 2), flint.fmpq(1, 3)], [0, 1]]), r"weights\[0\]"),
        (flint.fmpq_mat([[2, -1], [0, 1]]), r"weights\[0\]"),
        (flint.fmpq_mat([[1, 0]]), "square matrix"),
    ],
)
def test_bad_weights(rows: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        RationalNetwork(rows)
    assert "\n" not in str(caught.value)


def test_other_errors() -> None:
    with pytest.raises(ValueError, match="at most 1000 agents"):
        RationalNetwork.from_topology("ring", agents=1001)
    with pytest.raises(ValueError, match="edge_confidence"):
        RationalNetwork.from_topology("star", agents=5, edge_confidence="3/2")
    with pytest.raises(ValueError, match="edge_confidence"):
        RationalNetwork.from_topology("ring", agents=5, edge_confidence="1/2")


def test_the_matrix_given_may_change_afterwards() -> None:
    matrix = flint.fmpq_mat([[flint.fmpq(1, 2)] * 2] * 2)
    network = RationalNetwork(matrix)
    matrix[0, 0] = 5
    assert network.weight(0, 0) == Fraction(1, 2)

"""Graphs whose fastest mixing is known."""

import networkx as nx
import numpy as np
import pytest

from tests.theory.design.mixing.support import (
    design_graph,
    grid,
    judge,
    path,
    slem_by_eigenvalues,
    uneven,
    uniform,
)
from theory.design import Constraints, fastest_mixing

EDGE_TRANSITIVE = {
    "ring of 8": nx.cycle_graph(8),
    "ring of 7": nx.cycle_graph(7),
    "hypercube": nx.hypercube_graph(3),
    "star": nx.star_graph(6),
    "bipartite": nx.complete_bipartite_graph(3, 4),
    "Petersen": nx.petersen_graph(),
}


def test_one_agent() -> None:
    result = fastest_mixing(design_graph(nx.path_graph(1)), [1.0])
    assert result.slem == result.certificate.bound == 0
    assert result.network.agents == 1


@pytest.mark.parametrize("v", [0.5, 0.9, 1 - 1e-10])
def test_two_agents_forget_at_once(v: float) -> None:
    law = np.array([v, 1 - v])
    law /= law.sum()
    result = fastest_mixing(path(2), law)
    judge(path(2), law, result)
    assert result.slem <= 1e-6


@pytest.mark.parametrize("agents", [3, 4, 10, 30])
def test_a_path_shares_alike(agents: int) -> None:
    """Boyd, Diaconis, Sun and Xiao (2006): weights 1/2, slem cos(π/N)."""
    result = fastest_mixing(path(agents), uniform(agents), tolerance=1e-8)
    judge(path(agents), uniform(agents), result, gap=1e-8)
    assert result.slem == pytest.approx(np.cos(np.pi / agents), abs=1e-9)
    # The optimum is unique; flat to second order, so the weights are good to the gap's root.
    assert np.abs(np.diag(np.asarray(result.network.weights), 1) - 0.5).max() < 1e-4


@pytest.mark.parametrize("name", EDGE_TRANSITIVE)
def test_edges_that_are_all_alike_weigh_the_same(name: str) -> None:
    """By convexity the mean over all symmetries is optimal: w = min(2/(μ₂ + μ_N), 1/d)."""
    graph = design_graph(EDGE_TRANSITIVE[name])
    laplacian = nx.laplacian_matrix(EDGE_TRANSITIVE[name]).toarray().astype(float)
    spectrum = np.linalg.eigvalsh(laplacian)
    weight = min(2 / (spectrum[1] + spectrum[-1]), 1 / laplacian.max())
    known = slem_by_eigenvalues(np.eye(graph.agents) - weight * laplacian, uniform(graph.agents))
    result = fastest_mixing(graph, uniform(graph.agents))
    judge(graph, uniform(graph.agents), result)
    assert result.slem == pytest.approx(known, abs=1e-7)


@pytest.mark.parametrize("agents", [2, 5, 12])
def test_a_complete_graph_forgets_at_once(agents: int) -> None:
    graph, v = design_graph(nx.complete_graph(agents)), uneven(agents, seed=agents)
    result = fastest_mixing(graph, v)
    judge(graph, v, result)
    assert result.method == "closed form"
    assert np.allclose(result.network.weights, np.broadcast_to(v, (agents, agents)), atol=1e-15)


def test_three_by_three() -> None:
    """The nine agents of the papers' grid: by symmetry two weights, a to the corners, b inside.

    Minimised over these by brute force, as an oracle; simple weights are no better.
    """
    graph, v = grid(3), uniform(9)
    result = fastest_mixing(graph, v, tolerance=1e-8)
    judge(graph, v, result, gap=1e-8)
    inner = (graph.edges == 4).any(axis=1)

    def slem(a: float, b: float) -> float:
        W = np.zeros((9, 9))
        W[graph.edges[:, 0], graph.edges[:, 1]] = np.where(inner, b, a)
        W += W.T
        return slem_by_eigenvalues(W + np.diag(1 - W.sum(axis=1)), v)

    pairs = [(a, b) for a in np.linspace(0.3, 0.5, 101) for b in np.linspace(0, 0.25, 126)]
    best = min(slem(a, b) for a, b in pairs if 2 * a + b <= 1)
    assert result.slem <= best <= result.slem + 2e-3  # the grid's step
    assert slem(1 / 3, 1 / 4) == pytest.approx(0.702036, abs=1e-6)  # 1/max(d_i, d_j)
    assert result.slem == pytest.approx(0.6925512, abs=1e-7)


def test_influence_that_moves_to_an_end() -> None:
    """Two agents with slow links: slem 1 − f(1/v_0 + 1/v_1) at the largest flow s allows."""
    v = np.array([0.8, 0.2])
    constraints = Constraints(minimum_self_weight=0.9)
    result = fastest_mixing(path(2), v, constraints=constraints)
    judge(path(2), v, result, constraints=constraints)
    assert result.slem == pytest.approx(1 - 0.02 * (1 / 0.8 + 1 / 0.2), abs=1e-7)

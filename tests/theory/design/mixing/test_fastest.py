"""The fastest mixing: closed forms, other solvers, limits on W, and solvers that fail."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks
from tests.strategies.networks import connected_edges
from tests.theory.design.mixing.support import (
    Floats,
    design_graph,
    geometric,
    grid,
    judge,
    path,
    scale_free,
    uneven,
    uniform,
)
from tests.theory.design.oracles import slem_by_eigenvalues
from theory import Network
from theory.design import Constraints, DesignFailed, DesignGraph, FastestMixing, fastest_mixing
from theory.design.mixing import fastest
from theory.design.mixing.barrier import solve_barrier
from theory.design.mixing.fastest import mixing_bound
from theory.design.mixing.mixing_problem import mixing_problem
from theory.design.search import time_budget

CASES = {
    "grid": (grid(4), uniform(16)),
    "grid, uneven": (grid(4), uneven(16, seed=1)),
    "geometric": (geometric(20, seed=2), uniform(20)),
    "geometric, uneven": (geometric(20, seed=3), uneven(20, seed=4)),
    "scale-free": (scale_free(20, seed=5), uniform(20)),
    "tree": (design_graph(nx.balanced_tree(2, 3)), uneven(15, seed=6)),
}
LIMITS = {
    "none": Constraints(),
    "own": Constraints(minimum_self_weight=0.3),
    "lossy": Constraints(availability=0.7, minimum_self_weight=0.1),
}


@pytest.mark.parametrize(("case", "limit"), list(zip(CASES, 2 * list(LIMITS), strict=True)))
def test_two_solvers_agree(case: str, limit: str) -> None:
    pytest.importorskip("cvxpy")
    from tests.theory.design.mixing.support import solve_sdp

    (graph, v), constraints = CASES[case], LIMITS[limit]
    ours = fastest_mixing(graph, v, constraints=constraints)
    judge(graph, v, ours, constraints=constraints, gap=2e-7)
    problem = mixing_problem(graph, v, constraints)
    theirs = solve_sdp(problem)
    assert theirs is not None
    flows = problem.repaired(theirs.flows)
    slem = slem_by_eigenvalues(np.asarray(problem.expected_network(flows).weights), v)
    bound = mixing_bound(problem, theirs.slow, theirs.fast, theirs.multipliers).value
    # Each bound holds for the other's W.
    assert ours.certificate.bound <= slem + 1e-12
    assert bound <= ours.slem + 1e-12
    assert ours.slem == pytest.approx(slem, abs=2e-7)
    assert bound == pytest.approx(slem, abs=2e-7)


@given(networks(kinds=("reversible", "symmetric", "star", "tiny-stationary"), max_agents=8))
@settings(max_examples=20)
def test_no_slower_than_the_network_one_has(network: Network) -> None:
    if not network.is_reversible:
        return
    graph, v = DesignGraph.from_network(network), network.stationary_distribution
    if v.min() < 1e-10:
        return
    v = v / v.sum()
    result = fastest_mixing(graph, v)
    judge(graph, v, result)
    # v is rounded, and so is what it has to be: a nearly decomposable W feels it.
    assert result.certificate.bound <= network.slem + 1e-9


@given(st.data())
@settings(max_examples=20)
def test_any_graph_and_any_influence(data: st.DataObject) -> None:
    agents = data.draw(st.integers(2, 9))
    graph = DesignGraph.from_edges(data.draw(connected_edges(agents)), agents=agents)
    exponents = data.draw(st.lists(st.integers(-10, 0), min_size=agents, max_size=agents))
    v = 10.0 ** np.array(exponents)
    v /= v.sum()
    own = data.draw(st.sampled_from([0.0, 0.01, 0.5, 0.99]))
    up = data.draw(st.sampled_from([1.0, 0.5, 1e-3]))
    constraints = Constraints(minimum_self_weight=own, availability=up)
    judge(graph, v, fastest_mixing(graph, v, constraints=constraints), constraints=constraints)


@pytest.mark.parametrize("coupling", [1e-3, 1e-6, 1e-9])
def test_a_bottleneck(coupling: float) -> None:
    """Two cliques that meet at one agent of hardly any influence.

    Half of what it hears comes from either side: the gap is of the order of the influence.
    """
    cliques = nx.disjoint_union(nx.complete_graph(5), nx.complete_graph(5))
    cliques.add_edges_from([(0, 10), (5, 10)])
    v = np.ones(11)
    v[10] = coupling
    v /= v.sum()
    graph = design_graph(cliques)
    result = fastest_mixing(graph, v)
    # Digits of the gap are lost to rounding as it gets small, not the order of the answer.
    judge(graph, v, result, gap=1e-5 * coupling + 1e-13)
    assert 1 - result.slem == pytest.approx(coupling / 10, rel=0.01)


@pytest.mark.parametrize("graph", [grid(10), geometric(100, seed=7)], ids=["grid", "geometric"])
def test_a_hundred_agents_to_eight_digits(graph: DesignGraph) -> None:
    result = fastest_mixing(graph, uniform(100), tolerance=1e-7)
    assert result.certificate.gap < 1e-8
    assert result.slem == pytest.approx(
        slem_by_eigenvalues(np.asarray(result.expected.weights), uniform(100)), abs=1e-12
    )
    assert result.iterations < 40
    # Few dimensions carry the bound, and it survives in exact arithmetic.
    assert result.bound.slow.shape[1] <= 4
    judge(graph, uniform(100), result, gap=1e-8)


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


def test_an_accuracy_beyond_rounding_is_a_named_failure() -> None:
    graph, v = geometric(15, seed=8), uneven(15, seed=9)
    message = r"stalled: tried barrier; kept a design of .*at most .* ask for a tolerance above"
    with pytest.raises(DesignFailed, match=message) as caught:
        fastest_mixing(graph, v, tolerance=1e-17)
    failure = caught.value
    assert (failure.status, failure.tried) == ("stalled", ("barrier",))
    assert isinstance(failure.best, FastestMixing)
    judge(graph, v, failure.best)


def test_without_time_the_best_so_far_is_a_design_with_a_bound() -> None:
    graph, v = geometric(180, seed=8), uniform(180)
    assert len(graph.edges) > 500
    with time_budget(1e-6) as budget:
        found = fastest_mixing(graph, v)
    assert budget.stopped
    assert found.certificate.stopped == "time"
    assert found.iterations == 0
    assert 0 <= found.certificate.bound < found.slem < 1
    np.testing.assert_allclose(found.network.stationary_distribution, v, rtol=1e-9)


def test_a_solver_that_is_cut_short_has_a_bound_all_the_same() -> None:
    """After every number of steps: feasible flows, a valid bound, and a gap that shrinks."""
    graph, v = grid(4), uniform(16)
    problem = mixing_problem(graph, v)
    best = fastest_mixing(graph, v).slem
    gaps = []
    for steps in range(9):
        found = solve_barrier(problem, tolerance=1e-9, iterations=steps)
        assert found.status == "iteration limit"
        assert found.iterations == steps
        slem = problem.expected_network(problem.repaired(found.flows)).slem
        bound = fastest.mixing_bound(problem, found.slow, found.fast, found.multipliers)
        assert bound.value <= best + 1e-12
        assert slem >= best - 1e-6
        gaps.append(slem - bound.value)
    assert gaps[-1] < 1e-4 < gaps[0]

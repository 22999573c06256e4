"""The barrier, cvxpy's solvers and random search, against each other."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks
from tests.strategies.networks import connected_edges
from tests.theory.design.mixing.support import (
    design_graph,
    geometric,
    grid,
    judge,
    slem_by_eigenvalues,
    uneven,
    uniform,
)
from theory import Network
from theory.design import Constraints, DesignGraph, fastest_mixing
from theory.design.mixing.fastest import mixing_bound
from theory.design.mixing.mixing_problem import mixing_problem

CASES = {
    "grid": (grid(4), uniform(16)),
    "grid, uneven": (grid(4), uneven(16, seed=1)),
    "geometric": (geometric(20, seed=2), uniform(20)),
    "geometric, uneven": (geometric(20, seed=3), uneven(20, seed=4)),
    "scale-free": (design_graph(nx.barabasi_albert_graph(20, 2, seed=5)), uniform(20)),
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
    from tests.theory.design.mixing.sdp import solve_sdp

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

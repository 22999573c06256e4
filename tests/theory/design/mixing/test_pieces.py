"""The parts of the method: its linear algebra against brute force, its bound against everything."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.theory.design.mixing.support import (
    Floats,
    design_graph,
    exact_bound,
    geometric,
    grid,
    path,
    uneven,
    uniform,
)
from tests.theory.design.oracles import slem_by_eigenvalues
from theory.design import Constraints, fastest_mixing
from theory.design.mixing import barrier, fastest
from theory.design.mixing.fastest import mixing_bound, price_slack
from theory.design.mixing.mixing_problem import MixingProblem, mixing_problem

GRAPH, V = geometric(10, seed=4), uneven(10, seed=5)


def problem(constraints: Constraints | None = None) -> MixingProblem:
    return mixing_problem(GRAPH, V, constraints)


def positive(rng: np.random.Generator, size: int, rank: int) -> Floats:
    root = rng.normal(size=(size, rank))
    return root @ root.T


def test_flows_make_the_matrix_they_are_said_to_make() -> None:
    """S = I − Σ g_e b_e b_eᵀ in scaled variables is D^½WD^−½."""
    rng = np.random.default_rng(0)
    it = problem()
    flows = it.repaired(rng.random(len(GRAPH.edges)))
    W = np.asarray(it.expected_network(flows).weights)
    S = np.eye(10) - np.asarray(
        (it.incidence.T @ sparse.diags_array(flows / it.unit) @ it.incidence).todense()
    )
    root = np.sqrt(V)
    assert np.allclose(S, W * root[:, None] / root, atol=1e-14)


@pytest.fixture(params=["dense", "sparse"])
def pattern(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How matrices of the pattern are kept; of small graphs dense, if nobody interferes."""
    if request.param == "sparse":
        monkeypatch.setattr(barrier, "_DENSE", 0)
    return str(request.param)


@pytest.mark.parametrize("panel", [3, 128])
def test_the_schur_complement_against_one_matrix_an_edge(
    panel: int, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(barrier, "_PANEL", panel)
    rng = np.random.default_rng(1)
    it = problem()
    blocks = barrier.Blocks.of(it.incidence, it.loads)
    assert {isinstance(one, np.ndarray) for one in (blocks.B, blocks.A)} == {pattern == "dense"}
    X = tuple(positive(rng, 10, 12) for _ in range(2))
    Z = tuple(positive(rng, 10, 12) for _ in range(2))
    edge_ratio, budget_ratio = rng.random(len(GRAPH.edges)), rng.random(10)
    inverses = (np.linalg.inv(Z[0]), np.linalg.inv(Z[1]))
    at = X, inverses, (edge_ratio, budget_ratio)
    found = np.tril(barrier.schur_complement(blocks, *at))

    B, A = it.incidence.toarray(), it.loads.toarray()
    basis = [[s * np.outer(b, b) for b in B] + [np.eye(10)] for s in (1, -1)]
    wanted = sum(
        np.array([[np.trace(P @ X[k] @ Q @ inverses[k]) for Q in basis[k]] for P in basis[k]])
        for k in (0, 1)
    )
    wanted[:-1, :-1] += np.diag(edge_ratio) + A @ np.diag(budget_ratio) @ A.T
    assert np.allclose(found, np.tril(wanted), rtol=1e-10)
    right = rng.normal(size=len(wanted))
    solution = barrier.NewtonSystem(blocks, *at).solve(right)
    assert np.allclose(solution, np.linalg.solve(wanted, right), rtol=1e-6)


def test_an_indefinite_matrix_is_refused() -> None:
    with pytest.raises(barrier.NotPositiveDefinite):
        barrier.inverse(np.diag([1.0, -1.0]))
    assert not barrier.is_positive_definite(np.diag([1.0, -1.0]))
    assert barrier.is_positive_definite(np.diag([1.0, 2.0]))


@given(st.integers(0, 10**6))
@settings(max_examples=60)
def test_any_multipliers_give_a_bound_that_no_flow_beats(seed: int) -> None:
    """Weak duality, far from the optimum: random multipliers, random flows."""
    rng = np.random.default_rng(seed)
    it = problem()
    slow = positive(rng, 10, int(rng.integers(1, 4)))
    fast = 10.0 ** rng.uniform(-6, 1) * positive(rng, 10, int(rng.integers(1, 4)))
    prices = rng.choice([0.0, 1.0]) * rng.random(10) / V
    bound = mixing_bound(it, slow, fast, prices)
    # Of numbers as large as the distances that they are differences of.
    assert price_slack(it, bound).min() >= -1e-13 * bound.prices.max()
    flows = it.repaired(10.0 ** rng.uniform(-3, 1, len(GRAPH.edges)) * it.unit)
    W = np.asarray(it.expected_network(flows).weights)
    assert slem_by_eigenvalues(W, V) >= bound.value - 1e-12


@given(st.integers(0, 10**6))
@settings(max_examples=60)
def test_repaired_flows_are_feasible(seed: int) -> None:
    rng = np.random.default_rng(seed)
    up = {(int(i), int(j)): 10.0 ** rng.uniform(-3, 0) for i, j in GRAPH.links}
    own = float(rng.choice([0.0, 0.5]))
    it = problem(Constraints(availability=up, minimum_self_weight=own))
    flows = it.repaired(10.0 ** rng.uniform(-8, 2, len(GRAPH.edges)) - 1e-4)
    assert flows.min() >= 0
    if (flows == 0).any():
        return  # perhaps not connected
    W = np.asarray(it.network(flows).weights)
    assert W.min() >= 0
    assert W.diagonal().min() >= own - 1e-14


def test_even_flows_are_feasible_and_keep_what_is_known() -> None:
    row = np.zeros(9)
    row[[0, 1, 3]] = 0.5, 0.25, 0.25
    it = mixing_problem(grid(3), uniform(9), Constraints(fixed_rows={0: row}))
    flows = it.even_flows()
    assert np.allclose(it.repaired(flows), flows, rtol=1e-13)
    assert np.allclose(np.asarray(it.network(flows).weights)[0], row, atol=1e-15)


def test_a_lower_price_or_a_wider_place_is_found_out() -> None:
    """The judge of these tests refuses a bound that is not proved."""
    result = fastest_mixing(path(5), uniform(5))
    lowered = replace(result, bound=replace(result.bound, prices=result.bound.prices * 0.99))
    wider = replace(result, bound=replace(result.bound, slow=result.bound.slow * 1.01))
    for wrong in (lowered, wider):
        with pytest.raises(AssertionError, match="not a matter of rounding"):
            exact_bound(path(5), uniform(5), wrong)


def test_what_is_lightly_used_is_dropped_only_where_that_is_harmless() -> None:
    """Trimming edges: the geometric graph's optimum leaves edges out, the grid's none."""
    graph, v = geometric(30, seed=6, degree=10.0), uniform(30)
    result = fastest_mixing(graph, v)
    assert len(result.used_edges) < len(graph.edges)
    assert len(fastest_mixing(grid(4), uniform(16)).used_edges) == 24
    within = fastest_mixing(
        graph.restricted_to(np.flatnonzero(result.flows > 0)), v, tolerance=1e-6
    )
    assert within.slem == pytest.approx(result.slem, abs=1e-6)


def test_what_is_missing_is_charged_where_it_costs_less() -> None:
    v = np.array([0.9, 0.1])
    slow = np.outer([1.0, -3.0], [1.0, -3.0])  # D^½ times positions
    bound = mixing_bound(mixing_problem(path(2), v), slow, 0 * slow, np.zeros(2))
    assert bound.prices[0] == 0
    assert bound.prices[1] == pytest.approx(float(np.diff(bound.slow[:, 0])[0]) ** 2, rel=1e-12)


def test_a_light_edge_is_kept_where_the_slem_would_notice() -> None:
    ring = mixing_problem(design_graph(nx.cycle_graph(8)), uniform(8))
    flows = np.full(8, 0.05)
    flows[0] = 5e-6 * ring.unit[0]
    assert (fastest._pruned(ring, flows, 1e-12) == flows).all()
    assert fastest._pruned(ring, flows, 1e-2)[0] == 0
    bridge = mixing_problem(path(3), uniform(3))
    weak = np.array([0.1, 5e-6 / 3])
    assert (fastest._pruned(bridge, weak, 1.0) == weak).all()

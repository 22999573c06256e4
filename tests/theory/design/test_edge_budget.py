"""Choices of edges against all choices, counted here; bounds against their own proofs."""

from __future__ import annotations

from functools import cache
from itertools import combinations, count

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models import COIN, FAIR, coin
from tests.strategies.networks import connected_edges
from theory import FiniteModel
from theory.design import (
    Constraints,
    DesignGraph,
    choose_edges,
    fastest_mixing,
    realise,
    trade_off,
)
from theory.design.edges.edge_limits import (
    SOLVER_TOLERANCE,
    EdgeLimits,
    EdgeMaster,
    without_budgets,
)
from theory.design.edges.edge_search import frobenius_bound
from theory.design.mixing import fastest
from theory.design.mixing.barrier import solve_barrier
from theory.design.mixing.mixing_problem import mixing_problem
from theory.design.search import time_budget

# What the search leaves of a gap, and what fastest_mixing does.
SEARCHED = 1e-4
SOLVED = 2e-6


def complete(agents: int) -> DesignGraph:
    return DesignGraph.from_edges(list(combinations(range(agents), 2)), agents=agents)


@cache
def slem_on(edges: tuple[tuple[int, int], ...], v: tuple[float, ...]) -> float:
    """Of the fastest mixing on these edges."""
    return fastest_mixing(DesignGraph.from_edges(edges, agents=len(v)), np.array(v)).slem


def every_choice(graph: DesignGraph, v: np.ndarray, constraints: Constraints) -> float:
    """The least slem over all connected sets of edges within the budgets, one by one."""
    least = np.inf
    edges = [tuple(e) for e in graph.edges.tolist()]
    costs = [constraints.link_costs.get(e, 1.0) for e in edges]
    for size in range(graph.agents - 1, len(edges) + 1):
        if constraints.edge_budget is not None and size > constraints.edge_budget:
            break
        for rows in combinations(range(len(edges)), size):
            kept = nx.Graph([edges[row] for row in rows])
            if len(kept) < graph.agents or not nx.is_connected(kept):
                continue
            most = max(dict(kept.degree()).values())
            if constraints.degree_budget is not None and most > constraints.degree_budget:
                continue
            spent = sum(costs[row] for row in rows)
            if constraints.cost_budget is not None and spent > constraints.cost_budget + 1e-12:
                continue
            least = min(least, slem_on(tuple(kept.edges), tuple(v.tolist())))
    return least


K4 = complete(4)
V4 = np.array([0.4, 0.3, 0.2, 0.1])
COSTS = {(0, 1): 3.0, (0, 2): 0.5, (2, 3): 2.5}
BUDGETS = [
    Constraints(edge_budget=4),
    Constraints(degree_budget=2),
    Constraints(cost_budget=3.2, link_costs=COSTS),
    Constraints(cost_budget=5.1, link_costs=COSTS, edge_budget=4, degree_budget=2),
]


def test_integer_programs_close_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theory.design.edges.edge_variants._FEW_SETS", 0)
    graph, v, constraints = K4, V4, Constraints(edge_budget=4)
    exact = choose_edges(graph, v, constraints=constraints, method="exhaustive")
    chosen = choose_edges(graph, v, constraints=constraints, effort=0.3)
    assert chosen.method == "search"
    assert chosen.certificate.bound <= exact.certificate.value + SOLVED
    assert chosen.certificate.value >= exact.certificate.value - SOLVED
    local = choose_edges(graph, v, constraints=constraints, method="local", effort=0.3)
    assert (exact.method, local.method) == ("exhaustive", "search")
    assert chosen.certificate.bound >= local.certificate.bound
    assert chosen.certificate.gap <= SEARCHED
    assert "integer programming" in chosen.certificate.note


def test_ten_agents_and_fifteen_edges() -> None:
    # The graph of Petersen: slem 3/7, which no search through all 3·10^11 sets is needed for.
    chosen = choose_edges(
        complete(10), np.full(10, 0.1), constraints=Constraints(edge_budget=15), effort=0.3
    )
    assert chosen.certificate.bound <= 3 / 7 <= chosen.certificate.value + SOLVED or (
        chosen.certificate.value < 3 / 7
    )
    assert chosen.certificate.value <= 0.55
    # 10²/(10 + 30) = 2.5: slem² ≥ 1.5/9.
    assert chosen.certificate.bound == pytest.approx(np.sqrt(1.5 / 9), abs=1e-4)
    assert "tr W²" in chosen.certificate.note


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """All programs of fastest mixing that are solved: the work of these searches."""
    problems: list[object] = []

    def counted(problem: object, **options: object) -> object:
        problems.append(problem)
        return solve_barrier(problem, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(fastest, "solve_barrier", counted)
    return problems


def test_without_time_few_sets_are_looked_at(solved: list[object]) -> None:
    v = np.array([1, 1, 1, 1, 1, 1, 3]) / 9
    with time_budget(1, clock=count().__next__):  # every look takes a second
        choose_edges(complete(7), v, constraints=Constraints(edge_budget=9))
    assert len(solved) < 20  # of a hundred without a limit


def test_a_trade_off_with_an_edge_budget_and_a_failing_link_ends(solved: list[object]) -> None:
    """Networks on fewer edges are judged by limits that speak of an edge they lack."""
    model = FiniteModel.from_agents(
        ["fair", "loaded"], [COIN, coin(FAIR, [0.9, 0.1])], counts=[6, 1]
    )
    up = {(int(i), int(j)): 1.0 for i, j in complete(7).links} | {(1, 0): 0.5, (0, 1): 0.5}
    limits = Constraints(edge_budget=9, availability=up)
    with time_budget(1, clock=count().__next__) as budget:
        curve = trade_off(complete(7), model, delta=0.05, constraints=limits)
    assert budget.stopped
    assert len(solved) < 40  # two sets of edges, their certificates
    best = curve.recommended.best
    assert best.rounds >= curve.recommended.bound.rounds
    off = np.asarray(best.network.weights)[np.tril_indices(7, -1)]
    assert np.count_nonzero(off) <= 9
    assert len(curve.points) >= 1


@given(st.data())
@settings(max_examples=5, deadline=None)
def test_cuts_and_frobenius_hold_for_every_flow(data: st.DataObject) -> None:
    agents = data.draw(st.integers(3, 7))
    edges = [e for e in data.draw(connected_edges(agents)) if e[0] != e[1]]
    graph = DesignGraph.from_edges(edges, agents=agents)
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    v = generator.dirichlet(np.ones(agents)) + 1e-3
    v /= v.sum()
    most = data.draw(st.integers(agents - 1, len(graph.edges)))
    constraints = Constraints(edge_budget=most)
    problem = mixing_problem(graph, v, without_budgets(constraints, graph))
    limits = EdgeLimits.of(problem, constraints)
    master = EdgeMaster(problem, limits)
    master.add_bound(fastest_mixing(graph, v).bound)
    for _ in range(3):
        relaxed = master.solve(whole=False, nodes=0)
        assert relaxed.flows is not None
        master.add_eigenvectors(relaxed.flows, max(relaxed.bound, 0.0))
    relaxed = master.solve(whole=False, nodes=0)
    whole = master.solve(whole=True, nodes=50)
    frobenius = frobenius_bound(limits, v)
    # The proof of the second bound, gone through once more.
    mu = frobenius.multipliers
    i, j = graph.edges.T
    weight = np.sort((mu[i] + mu[j]) ** 2 * v[i] * v[j] / 2)[::-1]
    assert frobenius.heaviest >= weight[:most].sum() - 1e-12
    trace = 2 * mu @ v - (mu * mu) @ (v * v) - frobenius.heaviest
    assert frobenius.value == pytest.approx(np.sqrt(max(trace - 1, 0) / (agents - 1)))
    for _ in range(5):
        # A random tree, some more edges, and a random reversible W on them.
        order = generator.permutation(len(graph.edges))
        chosen = limits.filled(np.zeros(len(order), dtype=bool), -order.astype(float))
        if limits.parts(chosen).any():
            continue
        part = graph.restricted_to(np.flatnonzero(chosen))
        for network in (realise(part, v), fastest_mixing(part, v).network):
            W = np.asarray(network.weights)
            for bound in (relaxed.bound, whole.bound, frobenius.value):
                assert bound <= network.slem + 1e-9
            for constant, stress in master._cuts:
                flows = v[i] * W[i, j] / problem.unit
                assert network.slem >= constant - stress @ flows - 1e-9
    assert whole.bound >= relaxed.bound - 2 * SOLVER_TOLERANCE


def test_fixed_rows_keep_their_edges_and_availability_is_heeded() -> None:
    row = np.array([0.5, 0.3, 0.0, 0.2])
    v = np.full(4, 0.25)
    constraints = Constraints(
        edge_budget=4, fixed_rows={0: row}, availability={(1, 2): 0.5, (2, 1): 0.5, (0, 1): 0.9}
    )
    chosen = choose_edges(K4, v, constraints=constraints)
    kept = chosen.graph.edges.tolist()
    assert [0, 1] in kept
    assert [0, 3] in kept
    assert [0, 2] not in kept
    assert np.allclose(np.asarray(chosen.mixing.network.weights)[0], row)
    assert chosen.certificate.gap <= SEARCHED


def test_nothing_to_choose() -> None:
    chosen = choose_edges(K4, V4, constraints=Constraints(edge_budget=6))
    assert chosen.method == "all"
    assert chosen.rows.tolist() == list(range(6))


def test_a_path_through_all_agents_is_found() -> None:
    # Greedy trees get stuck at full agents here: a ring, hidden among edges to its first agents.
    ring = [[i, (i + 1) % 12] for i in range(12)]
    hubs = [[0, i] for i in range(2, 11)] + [[6, i] for i in range(12) if i not in (0, 5, 6, 7)]
    graph = DesignGraph.from_edges(ring + hubs, agents=12)
    chosen = choose_edges(
        graph, np.full(12, 1 / 12), constraints=Constraints(degree_budget=2), effort=0.01
    )
    assert chosen.graph.degrees.max() == 2


def test_the_least_budget_that_will_do() -> None:
    cheapest = Constraints(cost_budget=2.5, link_costs=COSTS)
    assert len(choose_edges(K4, V4, constraints=cheapest).rows) == 3


def test_one_agent_needs_no_edges() -> None:
    alone = DesignGraph(1, np.zeros((0, 2), dtype=np.int64))
    chosen = choose_edges(alone, [1.0], constraints=Constraints(edge_budget=1))
    assert chosen.mixing.slem == 0
    assert Constraints(edge_budget=0, degree_budget=0).fits(alone)


def test_budgets_may_be_spent_to_the_last() -> None:
    whole = {"edge_budget": 6, "degree_budget": 3, "cost_budget": 6.0}
    assert Constraints(**whole).fits(K4)  # type: ignore[arg-type]
    for name, most in whole.items():
        assert not Constraints(**{name: most - 1}).fits(K4)  # type: ignore[arg-type]

"""The polytope of influences: closed forms, flows, and networks that are drawn at random."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from tests.strategies import connected_edges, seeds
from tests.theory.design.oracles import PAIR, SQUARE
from theory import Network
from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph
from theory.design.influences.flow_rows import LinearRows
from theory.design.influences.influence_set import InfluenceSet, lagrangian_bound, simplex_bound


def random_weights(
    graph: DesignGraph, fixed: dict[int, np.ndarray], rng: np.random.Generator, *, own: float = 0.0
) -> np.ndarray:
    """Random weights on the graph, with the fixed rows; others keep `own` at least."""
    weights = np.zeros((graph.agents, graph.agents))
    for i, j in graph.links:
        weights[i, j] = rng.random() ** 3
    weights += np.diag(rng.random(graph.agents) + 0.01)
    weights *= (1 - own) / weights.sum(axis=1, keepdims=True)
    weights += own * np.eye(graph.agents)
    for i, row in fixed.items():
        weights[i] = row
    return weights


@st.composite
def tied(draw: st.DrawFn) -> tuple[DesignGraph, dict[int, np.ndarray], int]:
    """A connected graph on which some agents' rows are fixed (positive on all their links)."""
    agents = draw(st.integers(2, 6))
    graph = DesignGraph.from_edges(draw(connected_edges(agents)), agents=agents)
    seed = draw(seeds)
    rows = random_weights(graph, {}, np.random.default_rng(seed))
    chosen = draw(st.sets(st.integers(0, agents - 1), min_size=1, max_size=agents))
    return graph, {i: rows[i] for i in chosen}, seed


@settings(max_examples=20)
@given(case=tied(), up=st.sampled_from([1.0, 0.5, 0.9]), own=st.sampled_from([0.0, 0.3]))
def test_every_network_with_the_fixed_rows_is_inside(
    case: tuple[DesignGraph, dict[int, np.ndarray], int], up: float, own: float
) -> None:
    graph, fixed, seed = case
    constraints = Constraints(fixed_rows=fixed, availability=up, minimum_self_weight=own)
    allowed = InfluenceSet(graph.agents, 0, constraints, graph)
    rng = np.random.default_rng(seed + 1)
    c = rng.standard_normal(graph.agents)
    best = allowed.maximise(c)
    assert allowed.contains(best.point, tolerance=1e-9)
    for _ in range(3):
        weights = random_weights(graph, fixed, rng, own=own)
        expected = up * weights + (1 - up) * np.eye(graph.agents)
        v = Network(expected / expected.sum(axis=1, keepdims=True)).stationary_distribution
        # v is right to 1e-15; HiGHS's rows hold to 1e-10.
        assert allowed.contains(v, tolerance=1e-9)
        assert c @ v <= best.bound


@settings(max_examples=20)
@given(case=tied())
def test_the_best_v_with_fixed_rows_is_that_of_a_network(
    case: tuple[DesignGraph, dict[int, np.ndarray], int],
) -> None:
    """The flows that belong to the maximum are the weights of a network with that v."""
    graph, fixed, seed = case
    allowed = InfluenceSet(graph.agents, 0, Constraints(fixed_rows=fixed), graph)
    c = np.random.default_rng(seed).standard_normal(graph.agents)
    floor = min(0.5 * float(allowed.centre.min()), 1 / graph.agents)
    some = InfluenceSet(graph.agents, floor, Constraints(fixed_rows=fixed), graph)
    best = some.maximise(c)
    assert best.bound == pytest.approx(best.value, abs=1e-9)  # HiGHS's tolerance
    # An independent program: all links' flows are variables, those of fixed rows included.
    (a, b), agents = graph.links.T, np.eye(graph.agents)
    given = np.isin(a, list(fixed))
    rows = np.array([fixed[i][j] for i, j in graph.links[given].tolist()])
    found = linprog(
        np.append(-c, 0.0 * a),
        # What an agent hears of others is at most its influence.
        A_ub=np.hstack([-agents, agents[:, a]]),
        b_ub=np.zeros(graph.agents),
        A_eq=np.block(
            [
                [np.ones((1, graph.agents)), np.zeros((1, a.size))],
                [0.0 * agents, agents[:, a] - agents[:, b]],
                [-rows[:, None] * agents[a[given]], np.eye(a.size)[given]],
            ]
        ),
        b_eq=np.append(1.0, np.zeros(graph.agents + rows.size)),
        bounds=[(floor, 1)] * graph.agents + [(0, 1)] * a.size,
        options={f"{side}_feasibility_tolerance": 1e-10 for side in ("primal", "dual")},
    )
    v, flows = np.split(found.x, [graph.agents])
    assert best.value == pytest.approx(-found.fun, abs=1e-9)
    weights = np.zeros((graph.agents, graph.agents))
    weights[a, b] = flows / v[a]
    weights += np.diag(1 - weights.sum(axis=1))
    assert weights.min() > -1e-6  # 1e-9 over an influence above .01 or so
    assert v @ weights == pytest.approx(v, abs=1e-9)


@given(
    agents=st.integers(1, 6),
    floor=st.sampled_from(["0", "1/60", "1/7", "1/6"]),
    seed=seeds,
)
def test_the_support_function_of_the_simplex(agents: int, floor: str, seed: int) -> None:
    allowed = InfluenceSet(agents, floor)
    c = np.random.default_rng(seed).integers(-3, 4, agents).astype(float)
    best = allowed.maximise(c)
    low = Fraction(floor)
    corners = [[low + (1 - agents * low) * (i == j) for j in range(agents)] for i in range(agents)]
    exact = max(sum(x * Fraction(y) for x, y in zip(v, c.tolist(), strict=True)) for v in corners)
    assert best.value == pytest.approx(float(exact), abs=1e-14)
    # An upper bound, and no more than an ulp or two above.
    assert 0 <= Fraction(best.bound) - exact <= Fraction(1, 10**14)
    assert allowed.contains(best.point, tolerance=1e-15)
    assert np.ptp(best.point[c == c.max()]) == 0  # ties are shared
    assert not allowed.contains(best.point + 1e-3, tolerance=1e-6)
    if agents > 1:
        beyond = best.point.copy()
        beyond[np.argmin(c)] = float(low) - 0.01
        beyond[np.argmax(c)] += best.point[np.argmin(c)] - beyond[np.argmin(c)]
        assert allowed.contains(beyond, tolerance=1e-3) == (np.argmin(c) == np.argmax(c))


def test_lost_messages_and_a_least_weight_on_oneself_bind() -> None:
    """By hand: v_1 / 4 flows to agent 0, which returns v_0 / 4 at most, so that v_1 ≤ v_0."""
    limits = Constraints(
        fixed_rows={1: np.array([0.5, 0.5])}, availability=0.5, minimum_self_weight=0.5
    )
    allowed = InfluenceSet(2, 0, limits, PAIR)
    assert allowed.maximise([0.0, 1.0]).point == pytest.approx([0.5, 0.5], abs=1e-12)
    # That is [[1/2, 1/2], [1/2, 1/2]], half of whose messages are lost.
    assert allowed.contains([0.5, 0.5], tolerance=1e-12)
    assert not allowed.contains([0.4, 0.6], tolerance=1e-3)


def test_any_multipliers_prove_a_bound() -> None:
    rng = np.random.default_rng(5)
    constraints = Constraints(fixed_rows={1: np.array([0.3, 0.5, 0.2, 0.0])})
    allowed = InfluenceSet(4, "1/100", constraints, SQUARE)
    rows = allowed.rows
    c = rng.standard_normal(4)
    best = allowed.maximise(c)
    exact_rows = [[Fraction(a) for a in row] for row in rows.A.toarray().tolist()]
    for _ in range(50):
        y = rng.standard_normal(rows.count)
        bound = lagrangian_bound(rows, c, y)
        assert bound >= best.value
        # What the formula says of these numbers, without rounding.
        y = np.where(np.isinf(rows.below), np.maximum(y, 0.0), y)
        rest = [Fraction(x) for x in [*c.tolist(), *[0.0] * (rows.variables - 4)]]
        for price, row in zip(map(Fraction, y.tolist()), exact_rows, strict=True):
            rest = [r - price * a for r, a in zip(rest, row, strict=True)]
        least = map(Fraction, rows.lower.tolist())
        exact = sum(max(r, r * low) for r, low in zip(rest, least, strict=True))
        exact += sum(
            Fraction(p) * Fraction(a)
            for p, a in zip(y.tolist(), rows.above.tolist(), strict=True)
            if p
        )
        assert 0 <= Fraction(bound) - exact < Fraction(1, 10**12)
    assert best.bound - best.value < 1e-13  # tight at the optimal ones: a few dozen roundings


def test_what_prices_alone_prove_is_rounded_up() -> None:
    """No variable is worth its price: y · above is left, in products that doubles round."""
    most = np.array([0.1, 0.3])
    rows = LinearRows(2, sparse.eye_array(2, format="csr"), -np.inf * most, most, np.zeros(2))
    prices = np.array([3.0, 7.0])
    exact = 3 * Fraction(0.1) + 7 * Fraction(0.3)
    assert 0 <= Fraction(lagrangian_bound(rows, np.ones(2), prices)) - exact < Fraction(1, 10**14)


def test_a_bound_is_rounded_up() -> None:
    c = np.array([0.1, 0.2, 0.7])
    exact = sum(Fraction(x) for x in c.tolist()) / 10 + Fraction(7, 10) * Fraction(0.7)
    bound = simplex_bound(Fraction(1, 10), c)
    assert exact <= Fraction(bound)
    assert bound <= math.nextafter(math.nextafter(float(exact), 1), 1)


def test_the_floor_that_is_meant() -> None:
    assert InfluenceSet(4).floor == Fraction(1, 40)
    assert InfluenceSet(3, 1 / 3).is_point  # a third in doubles is a third
    assert InfluenceSet(3, "1/3").floor == Fraction(1, 3)
    assert InfluenceSet(7, 0.1).floor == Fraction(0.1)
    uniform = InfluenceSet(5, 0, Constraints(symmetric=True))
    assert (uniform.floor, uniform.is_point, uniform.is_simple) == (Fraction(1, 5), True, True)
    assert replace(uniform, minimum_influence=0).is_point
    assert InfluenceSet(1).is_point is False
    assert InfluenceSet(1).maximise([2.0]).value == 2.0


def test_a_symmetric_network_with_rows_that_agree() -> None:
    rows = {1: [0.3, 0.5, 0.2, 0], 2: [0, 0.2, 0.5, 0.3]}
    allowed = InfluenceSet(4, None, Constraints(fixed_rows=rows, symmetric=True), SQUARE)
    assert allowed.is_simple
    assert allowed.centre.tolist() == [0.25] * 4
    with pytest.raises(ValueError, match="symmetric"):
        InfluenceSet(
            4,
            constraints=Constraints(fixed_rows=rows, symmetric=True, minimum_self_weight=0.8),
            graph=SQUARE,
        )


def test_only_the_rows_that_clash_are_named() -> None:
    """v_0 / 10 = .3 v_1 and more, so that v_0 ≥ 3 v_1; agent 3's row is harmless."""
    rows = {0: [0.9, 0.1, 0, 0], 1: [0.3, 0.5, 0.2, 0], 3: [0.01, 0, 0.49, 0.5]}
    with pytest.raises(ValueError, match="fixed_rows of agents 0, 1, got"):
        InfluenceSet(4, "1/5", Constraints(fixed_rows=rows), SQUARE)
    fewer = {i: rows[i] for i in (1, 3)}
    assert InfluenceSet(4, "1/5", Constraints(fixed_rows=fewer), SQUARE).centre.min() > 0.2

"""Local minima against sums of powers taken here, known optima, and bounds that hold for any W."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings

from tests.strategies.networks import networks
from tests.theory.design.oracles import LINE, PAIR, TRIANGLE, check_weights, summed
from theory import Network
from theory.certified import certify_network
from theory.design import (
    Constraints,
    DesignFailed,
    DesignGraph,
    fastest_mixing,
    local_mixing,
)
from theory.design.directed.directed_mixing import (
    deviation_limit,
    free_deviation_limit,
    modulus_limit,
)
from theory.design.directed.flow_descent import FlowDescent, modulus_bound
from theory.design.directed.flow_weights import FlowWeights
from theory.network.structure import as_dense

# In each of three rounds an agent hears two more agents each: after three, all eight alike.
DE_BRUIJN = DesignGraph(8, np.array([[i, (2 * i + b) % 8] for i in range(8) for b in (0, 1)]))
RING = DesignGraph(
    7, np.array([[i, (i + 1) % 7] for i in range(7)] + [[0, 3], [4, 1], [2, 6], [5, 2]])
)
GRID = DesignGraph.from_network(Network.from_topology("grid", shape=[3, 3]))


@given(networks(min_agents=2, max_agents=7))
@settings(max_examples=20, deadline=None)
def test_no_network_beats_the_limits(network: Network) -> None:
    graph = DesignGraph.from_network(network)
    v = network.stationary_distribution
    plain = FlowWeights(graph, Constraints(), v)
    # Weights of 1e-9 make D a sum of 1e9 rounds: relative rounding is what remains.
    upper = network.deviation.upper
    assert (deviation_limit(plain, v) <= upper * (1 + 1e-9) + 1e-9).all()
    free = free_deviation_limit(graph, float(v.min()))
    assert free <= upper.max() * (1 + 1e-9) + 1e-9
    own = float(as_dense(network.weights).diagonal().min())
    limits = Constraints(minimum_self_weight=min(own, 0.999))
    kept = FlowWeights(graph, limits, v)
    assert (deviation_limit(kept, v) <= upper * (1 + 1e-6) + 1e-6).all()
    if v.min() > 1e-6:
        slem = float(certify_network(network).slem.upper)
        assert modulus_limit(kept) <= slem + 1e-9
        assert modulus_limit(FlowWeights(graph, limits, None)) <= slem + 1e-9


def test_limits_that_are_attained() -> None:
    # De Bruijn: half the weight on each of the two; W³ = J/8 and D = 2 (6/8) + 2 (4/8).
    v = np.full(8, 1 / 8)
    W = np.zeros((8, 8))
    for i in range(8):
        W[i, [2 * i % 8, (2 * i + 1) % 8]] = 0.5
    assert np.allclose(np.linalg.matrix_power(W, 3), 1 / 8)
    limits = deviation_limit(FlowWeights(DE_BRUIJN, Constraints(), v), v)
    # Agents 0 and 7, who hear themselves, do as well as the others; the limit is theirs too.
    assert np.allclose(summed(Network(W)), 2.5)
    assert limits.max() == pytest.approx(2.5)
    # Two agents, who keep .8 each: nothing is left to choose but to trade the rest.
    keep = FlowWeights(PAIR, Constraints(minimum_self_weight=0.8), np.full(2, 0.5))
    assert modulus_limit(keep) == pytest.approx(0.6, abs=1e-5)
    assert deviation_limit(keep, np.full(2, 0.5)).max() <= 0.6 / 0.4 + 1e-12
    # Three agents who hear all alike from the second round on: W = J/3 + N with N² = 0. The row of
    # agent 0 is given, in which it alone is heard more than is its due: 2 (23/60 − 1/3) is left.
    v, W = np.full(3, 1 / 3), np.array([[23, 19, 18], [5, 25, 30], [32, 16, 12]]) / 60
    assert np.allclose(W @ W, 1 / 3, rtol=1e-14)
    given = FlowWeights(TRIANGLE, Constraints(fixed_rows={0: W[0]}), v)
    assert deviation_limit(given, v)[0] == pytest.approx(0.1, rel=1e-13)
    assert summed(Network(W))[0] == pytest.approx(0.1, rel=1e-13)


@pytest.mark.parametrize("measure", ["modulus", "deviation"])
@pytest.mark.parametrize("free", [False, True])
def test_derivatives(measure: str, free: bool) -> None:
    constraints = Constraints(minimum_self_weight=0.1, availability={(0, 3): 0.6, (2, 3): 0.9})
    generator = np.random.default_rng(5)
    v = generator.dirichlet(np.full(7, 5.0))
    search = FlowDescent(FlowWeights(RING, constraints, None if free else v, 0.01), measure)
    point = generator.standard_normal(search.weights.size)
    direction = generator.standard_normal(len(point))
    step = 1e-5
    for stage in range(3):
        at = search.weights.objective(partial(search.smoothed, stage=stage, scale=5.0))
        (_, slopes), (ahead, _), (behind, _) = (
            at(point + h * direction) for h in (0.0, step, -step)
        )
        slope = (ahead - behind) / (2 * step)
        # Central differences: an error of step², and of rounding over the step.
        assert slopes @ direction == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_flows_keep_their_promises() -> None:
    row = np.array([0.2, 0.5, 0.0, 0.3, 0.0, 0.0, 0.0])
    constraints = Constraints(
        minimum_self_weight=0.15, fixed_rows={0: row}, availability={(4, 1): 0.5, (0, 1): 0.8}
    )
    v = np.array([0.1, 0.2, 0.2, 0.15, 0.15, 0.1, 0.1])
    found = local_mixing(RING, v, measure="deviation", constraints=constraints, restarts=1)
    W, mean = as_dense(found.network.weights), as_dense(found.expected.weights)
    assert np.allclose(found.expected.stationary_distribution, v, rtol=1e-9)
    check_weights(found.network, RING, constraints)
    up = np.ones((7, 7))
    up[4, 1], up[0, 1] = 0.5, 0.8
    off = ~np.eye(7, dtype=bool)
    assert np.allclose(mean[off], (W * up)[off], rtol=1e-12)
    # The value is a bound on what is summed here, and tight.
    total = summed(found.expected).max()
    assert total <= found.value * (1 + 1e-9)
    assert found.value == pytest.approx(total, rel=1e-6)
    assert found.certificate.kind == "local"
    assert found.certificate.bound <= total
    assert found.value < min(start.before for start in found.starts)


def test_de_bruijn_graphs_are_solved() -> None:
    v = np.full(8, 1 / 8)
    deviation = local_mixing(DE_BRUIJN, v, measure="deviation", restarts=0)
    assert deviation.certificate.bound == pytest.approx(2.5)
    assert deviation.certificate.gap < 0.01
    modulus = local_mixing(DE_BRUIJN, v, measure="modulus", restarts=0)
    assert modulus.value < 0.05  # 0 is the optimum; rounding shows as (1e-16)^(1/3)
    assert modulus.modulus_bound < 0.05


def test_not_reversible_may_be_faster() -> None:
    v = np.full(9, 1 / 9)
    reversible = fastest_mixing(GRID, v)
    found = local_mixing(GRID, v, restarts=2, seed=1)
    assert not found.expected.is_reversible
    assert found.value < 0.9 * reversible.certificate.bound
    certified = certify_network(found.expected).slem
    assert float(certified.lower) - 1e-6 <= found.value <= float(certified.upper) + 1e-6
    assert found.modulus_bound >= float(certified.lower) - 1e-9
    named = {start.name for start in found.starts}
    assert {"realisation", "fastest reversible", "even flows", "random flows 2"} <= named
    # Two weights of some 1e-9, which nothing needs, are gone; v is as wanted.
    weights = as_dense(found.network.weights)
    assert weights[(weights > 0) & ~np.eye(9, dtype=bool)].min() >= 1e-6
    assert np.count_nonzero(weights) < 9 + len(GRID.links)
    assert np.allclose(found.expected.stationary_distribution, v, rtol=1e-12)


@pytest.mark.parametrize(
    "limits",
    [
        Constraints(minimum_self_weight=0.1),
        Constraints(symmetric=True),
        Constraints(fixed_rows={0: np.array([0.4, 0.2, 0.4, 0.0])}),
    ],
    ids=["self", "symmetric", "fixed"],
)
@pytest.mark.parametrize("given", [True, False])
def test_weights_that_are_hardly_there_may_go(limits: Constraints, given: bool) -> None:
    graph = DesignGraph.from_edges([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], agents=4)
    weights = np.zeros((4, 4))
    for i, j in graph.links:
        weights[i, j] = 1e-9 if {int(i), int(j)} == {1, 2} else 0.2
    for i, row in limits.fixed_rows.items():
        weights[i] = row
    weights[np.arange(4), np.arange(4)] += 1 - weights.sum(axis=1)
    v = Network(weights).stationary_distribution
    flows = FlowWeights(graph, limits, v if given else None, 0.01)
    fewer = flows.sparser(weights, v)
    assert fewer is not None
    found = fewer[0].weights(fewer[1])
    assert found[1, 2] == found[2, 1] == 0
    assert np.allclose(found, weights, atol=1e-7)
    assert np.allclose(Network(found).stationary_distribution, v, atol=1e-14 if given else 1e-7)
    # Without the path around, the two weights are needed.
    assert FlowWeights(LINE, Constraints(), None).sparser(weights, v) is None


def test_free_influence_and_its_least() -> None:
    found = local_mixing(RING, measure="deviation", restarts=0, minimum_influence=0.05)
    v = found.expected.stationary_distribution
    assert v.min() >= 0.05 * (1 - 1e-9)
    kept = local_mixing(RING, np.full(7, 1 / 7), measure="deviation", restarts=0)
    assert found.certificate.bound < found.value < kept.value
    uniform = local_mixing(
        RING, measure="deviation", restarts=0, constraints=Constraints(doubly_stochastic=True)
    )
    assert np.allclose(uniform.expected.stationary_distribution, 1 / 7, rtol=1e-9)


def test_modulus_bound_is_above_and_tends_to_the_modulus() -> None:
    W = np.array([[0.9, 0.1], [0.6, 0.4]])
    assert modulus_bound(W, np.array([6 / 7, 1 / 7])) == pytest.approx(0.3, abs=1e-8)
    assert modulus_bound(np.full((3, 3), 1 / 3), np.full(3, 1 / 3)) < 1e-15


def test_another_seed_starts_elsewhere() -> None:
    v = np.full(7, 1 / 7)
    first, second = (local_mixing(RING, v, restarts=1, seed=seed).starts for seed in (4, 5))
    assert first != second


def test_rows_of_little_influence_do_not_exceed_one() -> None:
    """Flows are met to a part of the largest influence, which is more of the least."""
    graph = DesignGraph.from_edges(
        [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], agents=4, directed=True
    )
    v = np.array([0.025, 0.025, 0.025, 0.925])
    found = local_mixing(graph, v, restarts=1)
    assert np.allclose(found.expected.stationary_distribution, v, rtol=1e-8)
    assert found.certificate.bound <= found.value < 1


def test_rows_that_no_flow_meets() -> None:
    # Agent 0 would have to hand on more than it takes in.
    row = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    v = np.array([0.7, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05])
    with pytest.raises(DesignFailed, match="no feasible flow"):
        local_mixing(RING, v, constraints=Constraints(fixed_rows={0: row}))


def test_where_every_row_is_given_there_is_nothing_to_choose() -> None:
    weights = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    network = Network(weights)
    rows = Constraints(fixed_rows=dict(enumerate(weights)))
    found = local_mixing(DesignGraph.from_network(network), [1 / 3] * 3, constraints=rows)
    np.testing.assert_allclose(found.network.weights, weights, atol=1e-12)
    assert found.value == pytest.approx(network.slem, abs=1e-9)

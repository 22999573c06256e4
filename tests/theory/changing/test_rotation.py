"""Rotations of thousands of agents: what rests costs nothing, and the numbers are the same."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tests.models import coins
from theory import error_exponent, expected_log_ratio
from theory.changing import Phase, influence, rotating_star
from theory.changing.mixing import Turns, check_periodic
from theory.changing.phase import PartialPhase, moving_rows, phase_of_few, weighted_sum
from theory.changing.stationary import by_phase, stationary_vector
from theory.network.network import Network
from theory.network.structure import as_dense


def some_rotation(rng: np.random.Generator, *, agents: int, period: int) -> list[Phase]:
    """Phases in which a few agents pool, all of them in some; some keep nothing of their own."""
    phases = []
    for s in range(period):
        weights = np.eye(agents)
        moving = np.union1d(rng.choice(agents, 2, replace=False), np.arange(s, agents, period))
        for i in moving:
            heard = rng.choice(agents, 3, replace=False)
            weights[i] = 0.0
            weights[i, heard] = rng.dirichlet(np.ones(3))
            if s % 2:
                weights[i] = (weights[i] + np.eye(agents)[i]) / 2
        phases.append(Phase(weights, rng.choice(agents, 3, replace=False)))
    return phases


@pytest.mark.parametrize("seed", range(4))
def test_the_walk_on_turns_has_the_law_of_the_dense_product(seed: int) -> None:
    rng = np.random.default_rng(seed)
    phases = some_rotation(rng, agents=9, period=5)
    turns = Turns.of(phases)
    product = np.eye(9)
    for phase in phases:
        product = as_dense(phase.weights) @ product
    walk = as_dense(turns.walk)
    np.testing.assert_allclose(walk.sum(axis=1), 1.0, rtol=1e-14)
    # The walk on turns jumps over rests; products of matrices do not know of it.
    found = turns.before_first(stationary_vector(turns.walk))
    values = np.linalg.matrix_power(product.T, 4000)[:, 0]
    if np.ptp(np.linalg.matrix_power(product, 4000), axis=0).max() < 1e-9:
        np.testing.assert_allclose(found, values / values.sum(), rtol=0, atol=1e-12)


def test_phases_of_few_agents_are_those_written_out() -> None:
    star = rotating_star(groups=40, group_size=3, edge_confidence=0.3)
    phase = star.phases[7]
    assert isinstance(phase, PartialPhase)
    full = Phase(phase.weights, phase.active)
    np.testing.assert_array_equal(full.moving.rows, phase.moving.rows)
    np.testing.assert_array_equal(full.moving.data, phase.moving.data)
    np.testing.assert_array_equal(full.observers, phase.observers)
    W, rng = as_dense(phase.weights), np.random.default_rng(0)
    for one in (phase, full):
        values, rows = rng.random((star.agents, 2)), rng.random((3, star.agents))
        pooled, carried = values.copy(), rows.copy()
        one.pool(pooled)
        one.carry_back(carried)
        np.testing.assert_allclose(pooled, W @ values, rtol=1e-14)
        np.testing.assert_allclose(carried, rows @ W, rtol=1e-14)
    for observed in (False, True):
        shares = rng.dirichlet(np.ones(star.period))
        found = as_dense(weighted_sum(star.phases, shares, observed=observed))
        wanted = sum(
            share * as_dense(one.weights) * (one.observes if observed else True)
            for share, one in zip(shares, star.phases, strict=True)
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_weighted_sums_of_phases_that_nearly_always_move(seed: int) -> None:
    """What little an agent rests keeps its digits: no difference of large sums."""
    rng = np.random.default_rng(seed)
    phases = some_rotation(rng, agents=6, period=3)
    shares = np.array([1.0, 1e-13, 2e-15])
    found = as_dense(weighted_sum(phases, shares))
    wanted = sum(s * as_dense(p.weights) for s, p in zip(shares, phases, strict=True))
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert ((found > 0) == (wanted > 0)).all()


def test_unknown_agents_and_sums_of_partial_phases_are_refused() -> None:
    rows = moving_rows(np.array([[0.5, 0.5], [0.0, 1.0]]))
    with pytest.raises(ValueError, match=r"observers: expected increasing agents from 0 to 1"):
        PartialPhase(2, rows, np.array([2]))
    with pytest.raises(ValueError, match=r"moving: expected .* sum to 1 in each row"):
        PartialPhase(2, type(rows)(rows.rows, rows.indptr, rows.indices, rows.data / 2), rows.rows)
    assert isinstance(phase_of_few(2, rows, np.array([0])).weights, np.ndarray)


def test_groups_that_never_agree_are_named_where_turns_are_far_apart() -> None:
    """Four agents that swap places: products are permutations, of one cycle or of two."""
    swap = [[0, 1], [1, 0]]
    first, second = np.eye(4), np.eye(4)
    first[:2, :2] = second[2:, 2:] = swap
    cross = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]], dtype=float)
    rest = np.eye(4)
    four = r"groups that never agree: \{0\}, \{1\}, \{2\}, \{3\}"
    with pytest.raises(ValueError, match=four):
        check_periodic([Phase(w) for w in (cross, rest, second)])
    with pytest.raises(ValueError, match=r"groups that never agree: \{0, 2\}, \{1, 3\}"):
        check_periodic([Phase(w) for w in (first, rest, cross, second)])


def test_four_thousand_groups_of_one_in_little_memory() -> None:
    """The closed form of docs: mathematics/changing, at a size whose products would take 4 GB."""
    groups, a = 4000, 0.5
    tracemalloc.start()
    star = rotating_star(groups=groups, group_size=1, edge_confidence=a)
    found = influence(star)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    total = 2 * a + groups
    assert found.values[0] == pytest.approx(2 * a / total, rel=1e-12)
    np.testing.assert_allclose(found.values[1:], 1 / (groups * total), rtol=1e-11)
    # 16 million weights by phase would take 128 MB, their products four times that.
    assert found.by_phase is None
    assert peak < 40e6
    assert sum(phase.moving.data.size for phase in star.phases) == 4 * groups
    assert Turns.of(star.phases).walk.nnz == 4 * groups
    model = coins(star.agents)
    one = Network.from_topology("star", agents=2, edge_confidence=a)
    exponent = error_exponent(star, model).exponent
    assert exponent == pytest.approx(error_exponent(one, coins(2)).exponent, rel=1e-9)


def test_means_far_into_a_long_rotation_are_those_taken_round_by_round() -> None:
    star = rotating_star(groups=70, group_size=1, edge_confidence=0.5)
    model = coins(star.agents)
    rounds = [1, 69, 70, 71, 139, 140, 141, 700, 9001]
    found = expected_log_ratio(star, model, rounds, best=0).values
    information = model.information(0)
    state, wanted = np.zeros_like(information), []
    for t in range(1, 9002):
        phase = star.phase_of(t)
        state = as_dense(phase.weights) @ (
            state + np.where(phase.observes[:, None], information, 0.0)
        )
        if t in rounds:
            wanted.append(state)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(by_phase(star).sum(axis=1), 1.0, rtol=1e-13)


def test_a_period_of_more_than_a_million_phases_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"phases: expected a period of at most 1000000 phases"):
        rotating_star(groups=2_000_000, group_size=1, edge_confidence=0.5)

"""The curve of rate against mixing: what it promises of itself, and grids of influences."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from tests.theory.design.test_converse import skewed
from tests.theory.design.test_fewest_samples import PATH, two_faced, uneven
from theory import FiniteModel, Network, error_exponent
from theory.design import (
    Constraints,
    DesignGraph,
    TradeOff,
    fastest_mixing,
    perfect_mixing,
    trade_off,
)
from theory.design.influences.influence_set import InfluenceSet
from theory.design.samples.cover import evidence_table
from theory.design.samples.mixing_descent import (
    FlooredInfluences,
    Kept,
    fastest_for,
)
from theory.design.samples.trade_off import Objective

STAR = DesignGraph.from_edges([[0, 1], [0, 2], [0, 3]], agents=4)


def simplex(agents: int, floor: float, steps: int) -> list[np.ndarray]:
    """A grid of influences that are at least `floor`."""
    spare = 1 - agents * floor
    rows = [row for row in product(range(steps + 1), repeat=agents) if sum(row) == steps]
    return [floor + spare * np.array(row) / steps for row in rows]


def exponent_at(v: np.ndarray, model: FiniteModel) -> float:
    return error_exponent(perfect_mixing(v), model).exponent


@cache
def curve_of(objective: Objective) -> tuple[TradeOff, FiniteModel]:
    # Where each hypothesis is told apart by one agent alone, E does not depend on v.
    model = two_faced() if objective == "rate" else uneven(3)
    return trade_off(PATH, model, delta=0.1, objective=objective, points=3, effort=0.1), model


@pytest.mark.parametrize("objective", ["rate", "exponent"])
def test_the_curve_keeps_its_promises(objective: Objective) -> None:
    curve, model = curve_of(objective)
    assert len(curve.points) >= 2
    shares = [point.share for point in curve.points]
    assert shares == sorted(shares, reverse=True)
    assert abs(shares[0] - 1) < 1e-5
    for point in curve.points:
        v = point.network.stationary_distribution
        assert np.allclose(v, point.stationary_distribution, atol=1e-12)
        assert v.min() >= (1 - 1e-8) / 30
        rate = float((v @ model.information(0)[:, 1:]).min())
        value = rate if objective == "rate" else exponent_at(v, model)
        assert np.isclose(value, point.share * curve.best, rtol=1e-6)
        assert np.isclose(rate, point.rate)
        # The bound is proved, and met: for its v each point mixes fastest.
        assert point.slem_bound <= point.slem + 1e-12
        assert point.slem - point.slem_bound <= 1e-6
        assert point.samples >= curve.recommended.certificate.value
    for one, other in product(curve.points, curve.points):
        beats = other.share >= one.share and other.slem < one.slem - 1e-8
        assert not (one.is_pareto and beats)
    assert any(point.is_pareto for point in curve.points)
    assert "not convex" in curve.note


def test_no_influence_on_a_grid_is_much_faster() -> None:
    curve, model = curve_of("rate")
    information = model.information(0)[:, 1:]
    grid = [
        (v, float((v @ information).min()), fastest_mixing(PATH, v).slem)
        for v in simplex(3, 1 / 30, 8)
    ]
    for point in curve.points:
        rivals = [slem for _, rate, slem in grid if rate >= point.share * curve.best]
        assert point.slem <= min(rivals, default=1.0) + 0.02
    fastest = min(slem for _, _, slem in grid)
    assert curve.points[-1].slem <= fastest + 0.02


def test_the_slope_is_that_of_the_fastest_mixing() -> None:
    limits = Constraints(minimum_self_weight=0.1)
    v = np.array([0.4, 0.25, 0.2, 0.15])
    here = fastest_for(STAR, v, limits, seed=0)
    rng = np.random.default_rng(2)
    for _ in range(4):
        d = rng.normal(size=4)
        d -= d.mean()
        ahead, behind = (fastest_for(STAR, v + h * d, limits, seed=0) for h in (1e-3, -1e-3))
        slope = (ahead.slem - behind.slem) / 2e-3
        # The solver leaves 1e-7 of each slem open: 1e-4 of the difference quotient.
        assert np.isclose(slope, here.slope @ d, rtol=0.02, atol=1e-3)


@pytest.mark.parametrize("share", [0.6, 0.9, 0.999])
def test_floors_are_met_and_leave_nothing_out(share: float) -> None:
    model, influences = skewed(), InfluenceSet(3)
    table = evidence_table(model, 0, [1, 2])
    grid = simplex(3, 1 / 30, 16)
    information = model.information(0)[:, 1:]
    for values, kept in (
        ([float((v @ information).min()) for v in grid], Kept(table, "rate")),
        ([exponent_at(v, model) for v in grid], Kept(table, "exponent")),
    ):
        least = share * max(values)
        allowed = FlooredInfluences(influences, kept, least)
        inside = [v for v, value in zip(grid, values, strict=True) if value >= least]
        found = allowed.evenest()
        assert influences.contains(found, tolerance=1e-8)
        uneven_by = np.abs(3 * found - 1).max()
        assert uneven_by <= min(np.abs(3 * v - 1).max() for v in inside) + 1e-6
        cost = np.array([1.0, -0.3, 0.2])
        cheapest = allowed.least(cost, found, 50.0)
        assert cost @ cheapest <= min(cost @ v for v in inside) + 1e-6
        for v in (found, cheapest):
            value = float((v @ information).min())
            if kept.by == "exponent":
                value = exponent_at(v, model)
            assert value >= least * (1 - 1e-6)


def test_equal_influences_are_one_point() -> None:
    model = uneven(2)
    network = Network([[0.5, 0.5], [0.5, 0.5]])
    limits = Constraints(symmetric=True)
    heard: list[tuple[int, int]] = []
    curve = trade_off(
        network,
        model,
        delta=0.1,
        constraints=limits,
        effort=0.2,
        progress=lambda done, total: heard.append((done, total)),
    )
    assert len(curve.points) == 1
    assert curve.points[0].slem < 1e-6
    assert heard[-1][0] == heard[-1][1]
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)

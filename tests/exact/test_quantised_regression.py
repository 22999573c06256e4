import numpy as np
import pytest

from exact import measure_risk, measured_risk_curve
from theory import Box, Network, RiskCurve, risk_curve, two_node_regression

PAIR = Network([["9/10", "1/10"], ["3/5", "2/5"]])
BOX = Box([-1, -1, -1], [1, 1, 1])
DELTA = 0.05
REPLICATES = 300
# Bins in which labels are observed: likelihoods are bounded, as P1's Assumption 3 asks.
EDGES = [-1.0, 0.0, 0.5, 1.0]


def predicted(edges: list[float] | None, **options: object) -> RiskCurve:
    return risk_curve(
        PAIR,
        two_node_regression(label_edges=edges),
        BOX,
        [1.0, 0.5, 0.1, 0.05],
        delta=DELTA,
        method="grid",
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("edges", "slack", "weights"), [(None, 0.0, "uniform"), (EDGES, 1.0, "stationary")]
)
def test_measured_below_guaranteed(edges: list[float] | None, slack: float, weights: str) -> None:
    curve = predicted(edges, slack=slack, weights=weights)
    regression = two_node_regression(label_edges=edges)
    measured = measured_risk_curve(
        PAIR, regression, curve, replicates=REPLICATES, seed=11, most_rounds=2000
    )
    assert all(point is not None for point in measured.points)
    for point, found in zip(curve.points, measured.points, strict=True):
        assert found is not None
        assert found.rounds == point.rounds
        # The promise: wrong, or above the guarantee, with probability δ at most.
        for share in (found.errors, found.exceeded, found.own_exceeded):
            assert share.lower <= DELTA
        # An agent that holds an acceptable hypothesis is within its guarantee for certain.
        assert found.exceeded.successes <= found.errors.successes
        assert found.network_risk.mean() <= point.guarantee.sharp + DELTA
        assert found.own_risk.mean() <= point.own_guarantee.sharp + DELTA


def test_finer_coverings_have_less_risk() -> None:
    curve = predicted(None, slack=1.0)
    regression = two_node_regression()
    coarse, fine = (
        measure_risk(PAIR, regression, point, rounds=600, replicates=200, seed=3)
        for point in (curve.points[1], curve.points[3])
    )
    assert fine.network_risk.mean() < coarse.network_risk.mean() / 2


def test_too_few_rounds_break_the_promise() -> None:
    """The comparison can fail: after one round most runs are wrong."""
    point = predicted(None).points[3]
    regression = two_node_regression()
    early = measure_risk(PAIR, regression, point, rounds=1, replicates=200, seed=3)
    assert early.errors.lower > 0.5
    assert early.exceeded.lower > DELTA


def test_reproducible_and_capped() -> None:
    curve, regression = predicted(None), two_node_regression()
    options = {"replicates": 20, "most_rounds": 100}
    first, second = (
        measured_risk_curve(PAIR, regression, curve, seed=5, **options) for _ in range(2)
    )
    assert [point is None for point in first.points] == [
        point.rounds is None or point.rounds > 100 for point in curve.points
    ]
    for a, b in zip(first.points, second.points, strict=True):
        if a is not None and b is not None:
            assert np.array_equal(a.network_risk, b.network_risk)


def test_nothing_to_learn() -> None:
    """One point covers everything: its risk is what is measured, without a run."""
    curve = risk_curve(PAIR, two_node_regression(), BOX, [50.0], delta=DELTA)
    assert curve.points[0].rounds == 0
    found = measure_risk(
        PAIR, two_node_regression(), curve.points[0], rounds=0, replicates=3, seed=1
    )
    gaps = two_node_regression().risk_differences(curve.points[0].covering.points)
    assert np.allclose(found.own_risk, gaps[:, 0].mean())
    assert found.errors.successes == 0

"""A change of units, or of where a column's zero lies, changes no prediction of a regression.

Units are powers of two and offsets doubles that inputs can be added to exactly, so that both
problems are the same to the last bit, and their numbers may differ by rounding alone.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from exact import GaussianBeliefs, NormalInverseGammaBeliefs, Run, simulate_regression
from tests.properties.support import often
from tests.strategies import changed, networks, regression_models, seeds
from theory import Network
from theory.regression import (
    RegressionAgent,
    RegressionModel,
    alone_error,
    best_stationary_distribution,
    calibration,
    central_error,
    conditional_error,
    draw_inputs,
    predicted_error,
    regression_limits,
)

Array = NDArray[np.float64]
BENIGN = ("positive", "directed", "symmetric", "star", "sparse", "reversible")


def numbers(
    network: Network, model: RegressionModel, turn: Array, label: float
) -> dict[str, Array]:
    """Everything theory says of a problem, in units of the labels and coefficients before."""
    limits, ratios = regression_limits(network, model), calibration(network, model)
    square = label**2
    found: dict[str, Array] = {
        "limit": np.array([limits.limit, *limits.alone]) / square,
        "constant": np.array([limits.excess_error_constant, *limits.alone_constants]) / square,
        "reported": np.array(limits.reported_error_constant) / square,
        "central": np.array(
            [np.nan if c is None else c / square for c in
             (limits.central_constant, limits.central_node_constant)]
        ),
        "covariance": turn.T @ limits.estimator_covariance @ turn / square,
        "estimate": limits.limit_estimate @ turn / label,
        "identified": np.array(limits.is_identified, dtype=float),
        "test": np.array(ratios.test),
        "own": ratios.own,
        "ratios": ratios.ratios,
    }  # fmt: skip
    if not model.has_targets:
        order = 2
        inputs = draw_inputs(model, 3, np.random.default_rng(0))
        given_inputs = conditional_error(network, model, inputs, [1, 3])
        found["conditional"] = given_inputs.excess_error / square
        found["seen"] = inputs @ np.linalg.inv(turn).T
        if limits.central_constant is not None:
            best = best_stationary_distribution(network, model)
            found["best"] = np.array([*best.distribution, best.price])
    else:
        order = 1
    for name, curve in (
        ("predicted", predicted_error(network, model, [1, 50], order=order)),
        ("pooled", central_error(model, [1, 50], order=order)),
        ("lone", alone_error(model, [1, 50], order=order)),
    ):
        found[name] = np.stack([curve.excess_error, curve.reported_error]) / square
    run = Run(rounds=4, replicates=8, seed=0, record=[1, 4])
    if all(kind.law != "normal" for kind in model.kinds):
        measured = simulate_regression(network, model, run=run, directions=turn.T)
        found["simulated"] = np.stack([measured.excess_error, measured.reported_error]) / square
        found["measured"] = np.stack([measured.bias**2, measured.reported_variance]) / square
    return found


def assert_alike(one: dict[str, Array], other: dict[str, Array], tolerance: float) -> None:
    assert one.keys() == other.keys()
    for name, truth in one.items():
        size = np.abs(np.nan_to_num(truth)).max(initial=0.0)
        np.testing.assert_allclose(
            other[name], truth, rtol=0, atol=tolerance * size + 1e-300, err_msg=name
        )


@often(40)
@given(networks(kinds=BENIGN, max_agents=4), st.data())
def test_units_change_nothing(network: Network, data: st.DataObject) -> None:
    model = data.draw(regression_models(network.agents))
    exponents = st.integers(-25, 25)
    turn = np.diag([2.0 ** data.draw(exponents) for _ in range(model.dimension)])
    label = 2.0 ** data.draw(exponents)
    same = np.eye(model.dimension)
    try:
        before = numbers(network, model, same, 1.0)
    except ValueError as error:
        # Few rounds of a rank-one input beside a weak prior: refused in any units.
        with pytest.raises(ValueError, match=str(error)[:20]):
            numbers(network, changed(model, turn, label), turn, label)
        return
    # Draws of normal inputs are turned otherwise where units are unlike.
    after = numbers(network, changed(model, turn, label), turn, label)
    if any(kind.law == "normal" for kind in model.kinds):
        for found in (before, after):
            found.pop("seen", None), found.pop("conditional", None)
    assert_alike(before, after, 1e-9)


@st.composite
def lines(draw: st.DrawFn) -> RegressionModel:
    """Agents that see a constant and one or two columns, whose rows are halves."""
    d = draw(st.integers(2, 3))
    halves = st.integers(-8, 8).map(lambda k: k / 2)
    kinds = []
    for _ in range(2):
        noise = draw(st.sampled_from([0.25, 0.75, 2.0]))
        if draw(st.booleans()):
            ends = [sorted((draw(halves), draw(halves))) for _ in range(d - 1)]
            kinds.append(
                RegressionAgent(ranges=np.array([[1, 1], *ends], dtype=float), noise_std=noise)
            )
            continue
        rows = [
            [1.0, *(draw(halves) for _ in range(d - 1))] for _ in range(draw(st.integers(3, 6)))
        ]
        targets = [draw(halves) for _ in rows] if draw(st.booleans()) else None
        kinds.append(RegressionAgent(inputs=rows, targets=targets, noise_std=noise))
    theta = [draw(halves) for _ in range(d)]
    return RegressionModel(theta, kinds, 4 * np.eye(d), np.eye(d))


@often(40)
@given(lines(), st.integers(1, 20), seeds)
def test_an_offset_of_a_column_changes_nothing(
    model: RegressionModel, exponent: int, seed: int
) -> None:
    turn = np.eye(model.dimension)
    turn[1, 0] = offset = 2.0**exponent + 1
    network = Network([[0.75, 0.25], [0.5, 0.5]])
    before = numbers(network, model, np.eye(model.dimension), 1.0)
    moved = changed(model, turn, 1.0)
    limits, ratios = regression_limits(network, moved), calibration(network, moved)
    after = {
        "limit": np.array([limits.limit, *limits.alone]),
        "constant": np.array([limits.excess_error_constant, *limits.alone_constants]),
        "reported": np.array(limits.reported_error_constant),
        "identified": np.array(limits.is_identified, dtype=float),
        "test": np.array(ratios.test),
        "own": ratios.own,
        "ratios": ratios.ratios,
    }
    assert_alike({name: before[name] for name in after}, after, 1e-9)
    # At finite rounds the error is that of a solve, which is refused where few digits are left.
    try:
        later = numbers(network, moved, turn, 1.0)
    except ValueError as error:
        if "digits" not in str(error) or offset < 2**8:
            raise
    else:
        assert_alike(before, later, 1e-9 + min(1e-2, 1e-11 * offset**2))


@often(30)
@given(seeds, st.integers(0, 40), st.booleans())
def test_beliefs_do_not_mind_an_offset(seed: int, exponent: int, unknown: bool) -> None:
    """Rows are multiples of 1/8 below 32, so that sums with the offset are exact."""
    rng = np.random.default_rng(seed)
    # Where the noise is learnt, residuals come from coefficients that are doubles.
    offset = 2.0 ** min(exponent, 30 if unknown else 40)
    t = rng.integers(-256, 256, (3, 2, 4)) / 8
    labels = rng.integers(-256, 256, (3, 2, 4)) / 8
    weights = np.array([[0.75, 0.25], [0.5, 0.5]])
    means, widths = [], []
    for shift in (0.0, offset):
        beliefs: GaussianBeliefs | NormalInverseGammaBeliefs
        wide = GaussianBeliefs.from_moments(np.zeros(2), 2.0**140 * np.eye(2), agents=2)
        beliefs = wide
        if unknown:
            beliefs = NormalInverseGammaBeliefs.of_unit(wide, np.ones(2), np.ones(2))
        for x, y in zip(t, labels, strict=True):
            designs = np.stack([np.ones_like(x), x + shift], axis=-1)
            more = {} if unknown else {"noise_std": 0.5}
            beliefs = beliefs.update(designs, y, **more).consensus(weights)
        at = beliefs.predict(np.array([[1.0, shift - 3.0], [1.0, shift + 40.0]]))
        means.append(at.mean)
        widths.append(at.variance)
    np.testing.assert_allclose(means[1], means[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(widths[1], widths[0], rtol=1e-6)

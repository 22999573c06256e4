"""Diabetes data split over agents: what theory says of it, and what is measured."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from empirical.diabetes import (
    GROUPS,
    RegressionTable,
    load_diabetes,
    split_features,
    split_rows,
)
from exact import RegressionSimulation, Run, simulate_regression
from tests.empirical.support import refused
from theory import Network
from theory.regression import RegressionModel, regression_limits

NETWORK = Network([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
OTHER = Network([[0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.4, 0.3, 0.3]])


def measured(
    table: RegressionTable, model: RegressionModel, *, mode: str = "cooperate"
) -> RegressionSimulation:
    return simulate_regression(
        NETWORK,
        model,
        run=Run(rounds=20_000, replicates=16, seed=1, record=[20_000]),
        mode=mode,
        test_inputs=table.test_inputs,
        test_targets=table.test_targets,
    )


def test_rows_are_split_and_standardised_on_the_training_rows() -> None:
    table = load_diabetes(seed=3)
    assert table.inputs.shape == (300, 11)
    assert table.test_inputs.shape == (142, 11)
    np.testing.assert_allclose(table.inputs[:, 1:].mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(table.inputs[:, 1:].std(axis=0), 1, rtol=1e-13)
    np.testing.assert_allclose([table.targets.mean(), table.targets.std()], [0, 1], atol=1e-13)
    again, other = load_diabetes(seed=3), load_diabetes(seed=4)
    np.testing.assert_array_equal(table.inputs, again.inputs)
    assert (table.targets != other.targets).any()
    found = LinearRegression().fit(table.inputs[:, 1:], table.targets)
    np.testing.assert_allclose(table.least_squares[1:], found.coef_, rtol=1e-9)
    expected = np.mean((found.predict(table.test_inputs[:, 1:]) - table.test_targets) ** 2)
    assert table.test_error(table.least_squares) == pytest.approx(expected, rel=1e-12)


def test_groups_of_features_settle_on_their_own_regressions_whatever_the_weights() -> None:
    table = load_diabetes(seed=0)
    model = split_features(table)
    expected = np.zeros(11)
    for names in GROUPS.values():
        seen = table.columns(names)
        expected[seen] = LinearRegression().fit(table.inputs[:, seen], table.targets).coef_
    for network in (NETWORK, OTHER):
        limits = regression_limits(network, model)
        np.testing.assert_allclose(limits.limit_estimate, expected, atol=1e-10)
    # It hurts here: what groups both tell is counted twice.
    alone = [table.test_error(own) for own in own_regressions(model)]
    assert table.test_error(expected) > 2 * max(alone)


def own_regressions(model: RegressionModel) -> list[np.ndarray]:
    return [
        np.linalg.lstsq(kind.inputs, kind.targets, rcond=None)[0]  # type: ignore[arg-type]
        for kind in model.kinds
    ]


@pytest.mark.parametrize("split", ["features", "components", "rows"])
def test_the_network_compromise_is_what_is_measured(split: str) -> None:
    table = load_diabetes(seed=0)
    if split == "components":
        table = table.principal_components()
    if split == "rows":
        model = split_rows(table, [0.5, 0.3, 0.2], seed=0)
    elif split == "features":
        model = split_features(table)
    else:
        names = table.features[1:]
        model = split_features(table, {"a": names[:3], "b": names[3:7], "c": names[7:]})
    limits = regression_limits(NETWORK, model)
    run = measured(table, model)
    assert run.test_error is not None
    assert run.test_standard_error is not None
    predicted = table.test_error(limits.limit_estimate)
    # The seed is fixed: five standard errors, and terms of order 1/n: 50/n is plenty.
    gap = np.abs(run.test_error[-1] - predicted)
    assert (gap < 5 * run.test_standard_error[-1] + 50 / 20_000).all()
    central = table.test_error(table.least_squares)
    if split == "components":
        np.testing.assert_allclose(limits.limit_estimate, table.least_squares, atol=1e-10)
    alone = measured(table, model, mode="alone").test_error
    assert alone is not None
    if split == "features":
        assert (run.test_error[-1] > alone[-1]).all()
    else:
        assert (run.test_error[-1] < alone[-1]).all()
        assert run.test_error[-1].max() < 1.02 * central


def test_components_are_uncorrelated_and_say_the_same() -> None:
    table = load_diabetes(seed=0)
    turned = table.principal_components()
    moment = turned.inputs.T @ turned.inputs / len(turned.inputs)
    np.testing.assert_allclose(moment, np.eye(11), atol=1e-11)
    a, b = (one.test_error(one.least_squares) for one in (table, turned))
    assert a == pytest.approx(b, rel=1e-9)


def test_rows_are_dealt_once() -> None:
    table = load_diabetes(seed=0)
    model = split_rows(table, [2, 1, 1], seed=5)
    held = np.concatenate([np.asarray(kind.inputs) for kind in model.kinds])
    assert held.shape == table.inputs.shape
    np.testing.assert_allclose(np.sort(held[:, 1]), np.sort(table.inputs[:, 1]), rtol=0)
    assert {kind.noise_std for kind in model.kinds} == {table.noise_std}


def test_bad_splits_are_refused() -> None:
    table = load_diabetes(seed=0)
    refused(r"groups: .*'age', got 'weight'|'weight'", split_features, table, {"a": ["weight"]})
    refused("groups", split_features, table, {})
    refused("groups", split_features, table, {"a": []})
    refused("shares", split_rows, table, [1, 0], seed=0)
    refused("shares", split_rows, table, [1, 1e-9], seed=0)
    refused("test_rows", load_diabetes, seed=0, test_rows=442)

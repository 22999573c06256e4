"""Gaussian beliefs against densities on grids, arithmetic of 60 digits, and each other."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from exact.regression import GaussianBeliefs


def test_batches_may_differ_in_size_and_be_empty() -> None:
    beliefs = GaussianBeliefs.from_moments(np.zeros(2), np.eye(2), agents=3)
    ragged = beliefs.update([[[1, 2], [3, 4]], [], [[5, 6]]], [[1, 2], [], [3]], noise_std=1.0)
    zeros = beliefs.update(
        np.array([[[1, 2], [3, 4]], [[0, 0], [0, 0]], [[5, 6], [0, 0]]]),
        np.array([[1, 2], [7, 7], [3, 7]]),
        noise_std=1.0,
    )
    np.testing.assert_array_equal(ragged.precision, zeros.precision)
    np.testing.assert_array_equal(ragged.information, zeros.information)
    np.testing.assert_array_equal(ragged.precision[1], beliefs.precision[1])


def test_leading_axes_are_independent() -> None:
    rng = np.random.default_rng(1)
    roots = rng.normal(size=(5, 4, 3, 2, 2)) + 2 * np.eye(2)
    beliefs = GaussianBeliefs(roots @ roots.swapaxes(-1, -2), rng.normal(size=(5, 4, 3, 2)))
    weights = rng.dirichlet(np.ones(3), size=3)
    inputs = rng.normal(size=(6, 2))
    whole = beliefs.consensus(weights)
    for place in ((0, 0), (4, 3)):
        one = GaussianBeliefs(beliefs.precision[place], beliefs.information[place])
        np.testing.assert_allclose(whole.mean[place], one.consensus(weights).mean, rtol=1e-13)
        a, b = whole.predict(inputs, noise_std=2.0), one.consensus(weights).predict(inputs)
        np.testing.assert_allclose(a.mean[place], b.mean, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(a.variance[place], b.variance + 4.0, rtol=1e-13)
        np.testing.assert_allclose(a.std**2, a.variance, rtol=1e-15)


def test_an_agent_that_never_sees_a_coordinate_keeps_its_prior_there() -> None:
    beliefs = GaussianBeliefs.from_moments(np.zeros(2), np.diag([0.5, 0.25]), agents=2)
    weights = np.array([[0.5, 0.5], [0.25, 0.75]])
    for _ in range(1000):
        beliefs = beliefs.update(
            np.array([[[1.0, 0.0]], [[2.0, 0.0]]]), np.array([[1.0], [2.0]]), noise_std=0.1
        ).consensus(weights)
    # Pooling keeps the sum of a row's weights to rounding, a thousand times.
    np.testing.assert_allclose(beliefs.covariance[:, 1, 1], 0.25, rtol=1e-12)
    np.testing.assert_array_equal(beliefs.mean[:, 1], 0.0)
    np.testing.assert_allclose(beliefs.mean[:, 0], 1.0, rtol=1e-3)


@pytest.mark.parametrize("condition", [1e3, 1e12])
def test_moments_are_right_at_every_condition_number(condition: float) -> None:
    """Rotated, so that no scaling of coordinates helps, against 60 digits."""
    d = 6
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    precision = (basis * np.geomspace(condition, 1.0, d)) @ basis.T
    precision = (precision + precision.T) / 2
    information = precision @ rng.normal(size=d)
    beliefs = GaussianBeliefs(precision[None], information[None])
    with mpmath.workdps(60):
        exact = mpmath.matrix(precision.tolist())
        mean = mpmath.lu_solve(exact, mpmath.matrix(information.tolist()))
        inverse = exact**-1
        mean_gap = max(abs(mpmath.mpf(float(beliefs.mean[0, i])) - mean[i]) for i in range(d))
        size = max(abs(mean[i]) for i in range(d))
        gap = max(
            abs(mpmath.mpf(float(beliefs.covariance[0, i, j])) - inverse[i, j])
            for i in range(d)
            for j in range(d)
        )
        largest = max(abs(inverse[i, j]) for i in range(d) for j in range(d))
        u = basis[:, 0]
        wanted = (mpmath.matrix(u.tolist()).T * inverse * mpmath.matrix(u.tolist()))[0]
        found = beliefs.variance(u[None])[0, 0]
        # Refined solutions are right to a few units in the last place, normwise.
        assert mean_gap / size < 1e-15
        assert gap / largest < 1e-15
        # Along the best known direction terms as large as `largest` cancel down to 1/condition.
        assert abs(found - wanted) / largest < 1e-15
    if condition == 1e12:
        # What refinement is for: a plain solve has lost two thirds of its digits.
        plain = np.linalg.solve(precision, information)
        assert float(max(abs(plain[i] - float(mean[i])) for i in range(d)) / size) > 1e-9


def test_units_of_coordinates_cost_no_digits() -> None:
    rng = np.random.default_rng(4)
    root = rng.normal(size=(4, 4)) + 3 * np.eye(4)
    units = 10.0 ** np.array([0, -100, 50, 120])
    plain = GaussianBeliefs((root @ root.T)[None], rng.normal(size=(1, 4)))
    scaled = GaussianBeliefs(
        plain.precision * units[:, None] * units[None, :], plain.information * units
    )
    np.testing.assert_allclose(scaled.mean * units, plain.mean, rtol=1e-13)


def test_updates_at_a_condition_number_of_1e12() -> None:
    """A long run that knows one direction a million times better, against 60 digits.

    The documented bound: the mean is off by ε √κ √λ |θ| standard deviations, times the roundings
    of 200 additions.
    """
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    beliefs = GaussianBeliefs.from_moments(np.zeros(2), np.eye(2), agents=1)
    designs = rng.normal(size=(200, 1, 1, 2)) * [7e4, 1e-2] @ turn.T
    targets = designs @ np.array([1.0, -1.0]) + rng.normal(size=(200, 1, 1))
    for x, y in zip(designs, targets, strict=True):
        beliefs = beliefs.update(x, y, noise_std=1.0)
    assert np.linalg.cond(beliefs.precision[0]) > 5e11
    with mpmath.workdps(60):
        precision, information = mpmath.eye(2), mpmath.zeros(2, 1)
        for x, y in zip(designs[:, 0, 0], targets[:, 0, 0], strict=True):
            row = mpmath.matrix(x.tolist())
            precision += row * row.T
            information += row * mpmath.mpf(float(y))
        mean = mpmath.lu_solve(precision, information)
    gap = max(abs(float(beliefs.mean[0, i] - float(mean[i]))) for i in range(2))
    # ε √κ √λ |θ| = 1.1e-16 · 1e6 · 1e6 · 1.4 = 1.6e-4 deviations of 1, and ten times for the sum.
    assert gap < 1.6e-3
    assert np.isfinite(beliefs.covariance).all()


PRIOR = GaussianBeliefs.from_moments(np.zeros(2), np.eye(2), agents=2)
ONE = np.ones((2, 1, 2)), np.ones((2, 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: GaussianBeliefs([np.eye(2), -np.eye(2)], np.zeros((2, 2))),
            "precision of agent 1",
        ),
        (lambda: GaussianBeliefs([[[1, 2], [0, 1]]], [[0, 0]]), "symmetric"),
        (lambda: GaussianBeliefs(np.eye(2), np.zeros(2)), "information"),
        (lambda: GaussianBeliefs([[[np.nan]]], [[0.0]]), "precision of agent 0"),
        (lambda: GaussianBeliefs([[[1.0]], [[1.0]]], [[0.0], [np.inf]]), "information of agent 1"),
        (
            lambda: GaussianBeliefs.from_moments([0, 0], [[[1, 0], [0, 1]], [[1, 2], [2, 1]]]),
            "covariance of agent 1",
        ),
        (lambda: GaussianBeliefs.from_moments([0.0, 0.0], np.eye(2)), "agents"),
        (lambda: GaussianBeliefs.from_moments([0.0], np.eye(2), agents=1), "mean"),
        (lambda: PRIOR.update(*ONE, noise_std=0.0), "noise_std"),
        (lambda: PRIOR.update(*ONE, noise_std=[1.0, 0.0]), "noise_std of agent 1"),
        (lambda: PRIOR.update(*ONE, noise_std=1.0, tempering=-1.0), "tempering"),
        (lambda: PRIOR.update(np.ones((2, 1, 3)), ONE[1], noise_std=1.0), "designs"),
        (lambda: PRIOR.update(ONE[0], np.ones((2, 2)), noise_std=1.0), "targets"),
        (lambda: PRIOR.update([[[1, 1]], [[1]]], [[1], [1]], noise_std=1.0), "designs of agent 1"),
        (lambda: PRIOR.update([[[1, 1]], []], [[1], [1]], noise_std=1.0), "targets of agent 1"),
        (lambda: PRIOR.update([[[1, 1]]], [[1]], noise_std=1.0), "one for each of 2 agents"),
        (
            lambda: PRIOR.update([[], [[1, np.nan]]], [[], [1]], noise_std=1.0),
            "designs of agent 1",
        ),
        (
            lambda: PRIOR.update(ONE[0], np.array([[1.0], [np.nan]]), noise_std=1.0),
            "targets of agent 1",
        ),
        (lambda: PRIOR.consensus(np.eye(3)), "weights"),
        (lambda: PRIOR.predict([[1.0]]), "inputs"),
        (lambda: PRIOR.variance([[1.0, np.nan]]), "directions"),
    ],
)
def test_bad_input_is_refused_in_one_line(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        call()  # type: ignore[operator]
    assert "\n" not in str(caught.value)
    assert "; " in str(caught.value)

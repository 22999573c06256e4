"""Beliefs about coefficients and noise: against densities on a grid, and their known limit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from exact.regression import GaussianBeliefs, NormalInverseGammaBeliefs
from theory.validation import FloatArray


def beliefs(agents: int, dimension: int, *, seed: int = 0) -> NormalInverseGammaBeliefs:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(agents, dimension, dimension)) + 2 * np.eye(dimension)
    return NormalInverseGammaBeliefs(
        root @ root.swapaxes(-1, -2),
        2 * rng.normal(size=(agents, dimension)),
        rng.uniform(3, 6, agents),
        rng.uniform(1, 4, agents),
    )


def grid() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points θ and σ² = e^s on a grid in (θ, s), and the area of a cell in (θ, σ²)."""
    line, width = np.linspace(-8, 8, 401, retstep=True)
    logs, height = np.linspace(-5, 7, 401, retstep=True)
    theta, s = (axis.ravel() for axis in np.meshgrid(line, logs))
    return theta[:, None], np.exp(s), width * height * np.exp(s)


def test_the_density_integrates_to_one_and_has_its_moments() -> None:
    theta, noise, cell = grid()
    one = beliefs(1, 1)
    mass = np.exp(one.log_density(theta, noise)[0]) * cell
    # The tails beyond |θ| = 8 and the rule's error: shapes are 3 at least.
    assert mass.sum() == pytest.approx(1, abs=1e-5)
    assert mass @ theta[:, 0] == pytest.approx(one.mean[0, 0], abs=1e-4)
    assert mass @ (1 / noise) == pytest.approx(1 / one.noise_variance[0], rel=1e-4)
    spread = mass @ (theta[:, 0] - one.mean[0, 0]) ** 2
    assert spread == pytest.approx(one.covariance[0, 0, 0], rel=1e-3)


def test_the_pooled_law_is_proper_and_disagreement_is_noise() -> None:
    apart = NormalInverseGammaBeliefs.from_moments(
        [[-1000.0], [1000.0]], [[1e-12]], shape=1e-3, scale=1e-9
    )
    pooled = apart.consensus([[0.5, 0.5], [0.0, 1.0]])
    # Both are 1000 off with precision 1e12, halves of which add to the scale.
    assert pooled.scale[0] == pytest.approx(1e12 * 1e6 / 2, rel=1e-12)
    # An agent that listens to itself alone keeps a scale of 1e-9, which q − hᵀΛ⁻¹h would lose.
    assert pooled.scale[1] == pytest.approx(1e-9, rel=1e-12)


def test_disagreement_along_a_flat_direction_keeps_its_digits() -> None:
    """Means apart by u along the direction in which Λ is flat: the scale gains λ |u|² / 8."""
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    sharp, flat = 1e12, 1.0
    precision = (turn * [sharp, flat]) @ turn.T
    stored = np.array([[Fraction(x) for x in row] for row in precision])
    apart = np.array([Fraction(x) for x in turn[:, 1]])
    public = NormalInverseGammaBeliefs.from_moments(
        [[0.0, 0.0], turn[:, 1].tolist()], np.linalg.inv(precision), shape=1.0, scale=1e-9
    )
    public = NormalInverseGammaBeliefs(
        np.stack([precision] * 2),
        np.array([[0.0, 0.0], [float(x) for x in stored @ apart]]),
        public.shape,
        public.scale,
    )
    pooled = public.consensus([[0.5, 0.5], [0.5, 0.5]])
    exact = float(apart @ stored @ apart) / 8
    # Rounding the information vector moves the mean by 1e-16 of its size along the flat axis.
    assert pooled.scale[0] == pytest.approx(1e-9 + exact, rel=1e-9)


def test_the_update_is_bayes_rule_on_a_grid() -> None:
    theta, noise, cell = grid()
    prior = beliefs(2, 1, seed=2)
    designs, targets = [[[1.0], [-0.5]], [[2.0]]], [[0.3, 1.0], [-1.5]]
    power = [1.0, 0.5]
    found = prior.update(designs, targets, tempering=power).log_density(theta, noise)
    for i in range(2):
        gaps = np.array(targets[i])[:, None] - np.array(designs[i]) @ theta.T
        log = -(gaps**2 / noise + np.log(noise)).sum(axis=0) / 2
        joint = prior.log_density(theta, noise)[i] + power[i] * log
        shift = found[i] - joint
        assert np.abs(shift - shift[0]).max() < 1e-9 * np.abs(joint).max()
        assert (np.exp(found[i]) * cell).sum() == pytest.approx(1, abs=1e-4)


def test_ragged_and_rectangular_batches_agree_and_empty_ones_change_nothing() -> None:
    prior = beliefs(2, 3)
    rng = np.random.default_rng(3)
    designs, targets = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 5))
    a, b = prior.update(designs, targets), prior.update(list(designs), list(targets))
    for name in ("precision", "information", "shape", "scale"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-12)
    same = prior.update([[], []], [[], []])
    np.testing.assert_array_equal(same.scale, prior.scale)
    np.testing.assert_array_equal(same.precision, prior.precision)


def test_prediction_is_the_mixture_over_coefficients_and_noise() -> None:
    one = beliefs(1, 2, seed=5)
    x = np.array([[0.5, -1.0]])
    rng = np.random.default_rng(6)
    noise = stats.invgamma(one.shape[0], scale=one.scale[0]).rvs(200_000, random_state=rng)
    root = np.linalg.cholesky(one.unit.covariance[0])
    theta = one.mean[0] + np.sqrt(noise)[:, None] * (rng.normal(size=(200_000, 2)) @ root.T)
    labels = theta @ x[0] + np.sqrt(noise) * rng.normal(size=200_000)
    law = one.predict(x)
    standard = (labels - law.mean[0, 0]) / law.scale[0, 0]
    # The seed is fixed. A Kolmogorov distance of 1.63/√n is the 99 % point.
    distance = stats.kstest(standard, stats.t(law.degrees_of_freedom[0, 0]).cdf).statistic
    assert distance < 1.63 / np.sqrt(200_000)
    assert law.variance[0, 0] == pytest.approx(labels.var(), rel=0.05)
    inside = np.abs(labels - law.mean[0, 0]) <= law.half_width(0.9)[0, 0]
    assert inside.mean() == pytest.approx(0.9, abs=0.004)


def test_many_data_give_the_beliefs_of_known_noise() -> None:
    rng = np.random.default_rng(7)
    designs = rng.normal(size=(1, 20_000, 2))
    targets = designs @ np.array([1.0, -2.0]) + 0.8 * rng.normal(size=(1, 20_000))
    start = NormalInverseGammaBeliefs.from_moments(
        np.zeros(2), np.eye(2), shape=1.0, scale=1.0, agents=1
    )
    learnt = start.update(designs, targets)
    known = GaussianBeliefs.from_moments(np.zeros(2), np.eye(2), agents=1).update(
        designs, targets, noise_std=0.8
    )
    # The noise's variance is known to √(2/20 000) = 1 %.
    assert learnt.noise_variance[0] == pytest.approx(0.64, rel=0.03)
    np.testing.assert_allclose(learnt.covariance, known.covariance, rtol=0.04, atol=1e-7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": [1.0, 0.0]}, "shape: .* for agent 1"),
        ({"scale": [-1.0, 1.0]}, "scale: .* for agent 0"),
        ({"scale": [1.0]}, "scale: .*one number for each"),
        ({"scale": [1.0, np.nan]}, "scale: .*finite"),
        ({"precision": [np.eye(2), np.diag([1.0, 0.0])]}, "precision of agent 1"),
    ],
)
def test_bad_input_is_refused(change: dict[str, FloatArray], message: str) -> None:
    arguments = {
        "precision": [np.eye(2)] * 2,
        "information": np.zeros((2, 2)),
        "shape": [1.0, 1.0],
        "scale": [1.0, 1.0],
    }
    with pytest.raises(ValueError, match=message):
        NormalInverseGammaBeliefs(**(arguments | change))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="noise_variances"):
        beliefs(1, 1).log_density([[0.0]], [0.0])

"""The papers' form on given data: one agent, sums over histories, and basis functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import BayesianRidge, Ridge

from exact import learn
from exact.regression import (
    FourierBasis,
    GaussianBeliefs,
    NormalInverseGammaBeliefs,
    PolynomialBasis,
    RadialBasis,
    learn_regression,
)
from tests.strategies import gaussian_beliefs, networks
from theory import Network

ALONE = Network([[1.0]])
PAIR = Network([[0.9, 0.1], [0.6, 0.4]])


def test_one_agent_is_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    designs, targets = rng.normal(size=(40, 1, 3, 4)), rng.normal(size=(40, 1, 3))
    prior = GaussianBeliefs.from_moments(np.zeros(4), 0.5 * np.eye(4), agents=1)
    run = learn_regression(ALONE, designs, targets, prior=prior, noise_std=0.8)
    rows, labels = designs.reshape(-1, 4), targets.ravel()
    ridge = Ridge(alpha=0.8**2 / 0.5, fit_intercept=False).fit(rows, labels)
    np.testing.assert_allclose(run.private.mean[-1, 0], ridge.coef_, rtol=1e-10)
    np.testing.assert_array_equal(run.public.mean, run.private.mean)
    assert run.private.mean.shape == (40, 1, 4)


def test_one_agent_is_bayesian_ridge_regression() -> None:
    """With its hyperparameters held where scikit-learn's empirical Bayes left them."""
    rng = np.random.default_rng(1)
    rows, labels = rng.normal(size=(60, 3)), rng.normal(size=60)
    other = BayesianRidge(fit_intercept=False, max_iter=500, tol=1e-13).fit(rows, labels)
    prior = GaussianBeliefs.from_moments(np.zeros(3), np.eye(3) / other.lambda_, agents=1)
    run = learn_regression(
        ALONE, rows[None, None], labels[None, None], prior=prior, noise_std=other.alpha_**-0.5
    )
    # Its last coefficients belong to the hyperparameters before the last, converged, step.
    np.testing.assert_allclose(run.private.mean[-1, 0], other.coef_, rtol=1e-6)
    np.testing.assert_allclose(run.private.covariance[-1, 0], other.sigma_, rtol=1e-6, atol=1e-9)


@settings(max_examples=30)
@given(st.data())
def test_beliefs_are_weighted_sums_over_all_that_was_seen(data: st.DataObject) -> None:
    """Ω_i = Σ_j [W^n]_ij Ω_j^0 + Σ_k Σ_j [W^k]_ij x xᵀ/α², with powers of W, not rounds."""
    network = data.draw(networks(max_agents=5))
    N, T, d = network.agents, data.draw(st.integers(1, 12)), 2
    prior = data.draw(gaussian_beliefs(N, dimension=d))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    designs, targets = rng.normal(size=(T, N, 1, d)), rng.normal(size=(T, N, 1))
    run = learn_regression(network, designs, targets, prior=prior, noise_std=0.8)
    W = network.weights.toarray() if network.is_sparse else network.weights
    power = np.linalg.matrix_power(W, T)
    precision = np.einsum("ij,jab->iab", power, prior.precision)
    information = power @ prior.information
    for t in range(T):
        power = np.linalg.matrix_power(W, T - t)
        rows = designs[t, :, 0]
        precision += np.einsum("ij,ja,jb->iab", power, rows, rows) / 0.64
        information += power @ (rows * targets[t]) / 0.64
    scale = np.abs(precision).max()
    # T products and sums, each rounded once or twice, at the size of the largest entry.
    assert np.abs(run.private.precision[-1] - precision).max() < 1e-14 * T * scale
    gap = np.abs(run.private.information[-1] - information).max()
    assert gap < 1e-14 * T * max(1.0, np.abs(information).max())


def test_regression_is_finite_learning_on_a_fine_grid_of_coefficients() -> None:
    """The same data, with every point of a grid as a hypothesis and the prior's density on it."""
    rng = np.random.default_rng(4)
    designs, targets = rng.normal(size=(15, 2, 3, 1)), rng.normal(size=(15, 2, 3))
    prior = GaussianBeliefs.from_moments([[0.5], [-0.3]], [[[1.0]], [[2.0]]])
    run = learn_regression(PAIR, designs, targets, prior=prior, noise_std=0.8)
    grid, step = np.linspace(-10, 10, 4001, retstep=True)
    gaps = targets[..., None] - designs * grid
    likelihoods = -(gaps**2).sum(axis=2) / (2 * 0.64)
    finite = learn(PAIR, likelihoods, log_priors=prior.log_density(grid[:, None]))
    for mine, theirs in ((run.private, finite.private), (run.public, finite.public)):
        density = np.exp(mine.log_density(grid[:, None]))
        # Equal at every point but for the constant, for which a sum stands in for the integral:
        # exact to rounding, deviations being many steps.
        assert np.abs(density - np.exp(theirs) / step).max() < 1e-10


def test_unknown_noise_is_learnt_by_everybody() -> None:
    rng = np.random.default_rng(2)
    designs = rng.normal(size=(600, 2, 1, 2)) * [[[1.0, 0.0]], [[0.0, 1.0]]]
    targets = designs @ np.array([1.0, -2.0]) + 0.5 * rng.normal(size=(600, 2, 1))
    prior = NormalInverseGammaBeliefs.from_moments(
        np.zeros(2), np.eye(2), shape=1.0, scale=1.0, agents=2
    )
    run = learn_regression(PAIR, designs, targets, prior=prior)
    assert isinstance(run.private, NormalInverseGammaBeliefs)
    assert run.private.scale.shape == (600, 2)
    # 600 rounds at weights 6/7 and 1/7: four standard errors of each.
    np.testing.assert_allclose(run.private.mean[-1], [[1.0, -2.0]] * 2, atol=4 * 0.5 / 600**0.5)
    np.testing.assert_allclose(run.private.noise_variance[-1], 0.25, rtol=0.25)


@pytest.mark.parametrize(
    "basis",
    [PolynomialBasis(3), RadialBasis(np.linspace(-1, 1, 5), width=0.5), FourierBasis(2, period=2)],
)
def test_basis_functions_give_named_features(
    basis: PolynomialBasis | RadialBasis | FourierBasis,
) -> None:
    inputs = np.linspace(-1, 1, 7)
    features = basis(inputs)
    assert features.shape == (7, basis.dimension)
    assert len(set(basis.names)) == basis.dimension
    np.testing.assert_array_equal(features[:, 0], 1.0)
    bare = type(basis)(**{**basis.__dict__, "bias": False})
    np.testing.assert_array_equal(bare(inputs), features[:, 1:])
    assert bare.names == basis.names[1:]
    with pytest.raises(ValueError, match="inputs"):
        basis([np.nan])
    with pytest.raises(ValueError, match="inputs"):
        basis(np.ones((2, 3)))


def test_a_curve_is_learnt_from_two_halves() -> None:
    """Each agent sees one half of the line; together they know the curve."""
    rng = np.random.default_rng(3)
    basis = FourierBasis(2, period=4.0)
    left, right = rng.uniform(-1, 0, (400, 1)), rng.uniform(0, 1, (400, 1))
    raw = np.stack([left, right], axis=1)
    designs = basis(raw.ravel()).reshape(400, 2, 1, basis.dimension)
    targets = np.sin(np.pi * raw / 2) + 0.1 * rng.normal(size=raw.shape)
    prior = GaussianBeliefs.from_moments(
        np.zeros(basis.dimension), np.eye(basis.dimension), agents=2
    )
    run = learn_regression(PAIR, designs, targets, prior=prior, noise_std=0.1)
    last = GaussianBeliefs(run.private.precision[-1], run.private.information[-1])
    line = np.linspace(-1, 1, 21)
    found = last.predict(basis(line))
    assert np.abs(found.mean - np.sin(np.pi * line / 2)).max() < 0.05


PRIOR = GaussianBeliefs.from_moments(np.zeros(1), np.eye(1), agents=2)
NOISY = NormalInverseGammaBeliefs.from_moments([0.0], [[1.0]], shape=1, scale=1, agents=2)
DATA = np.ones((3, 2, 1, 1)), np.ones((3, 2, 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": PRIOR}, "noise_std"),
        ({"prior": NOISY, "noise_std": 1.0}, "noise_std"),
        ({"prior": PRIOR.consensus([[0.5, 0.5]]), "noise_std": 1.0}, "prior"),
        ({"prior": PRIOR, "noise_std": 0.0}, "noise_std"),
    ],
)
def test_bad_input_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learn_regression(PAIR, *DATA, **options)  # type: ignore[arg-type,type-var]


def test_bad_data_are_refused() -> None:
    with pytest.raises(ValueError, match="targets"):
        learn_regression(PAIR, DATA[0], DATA[1][:2], prior=PRIOR, noise_std=1.0)
    with pytest.raises(ValueError, match="targets"):
        learn_regression(PAIR, [], [], prior=PRIOR, noise_std=1.0)

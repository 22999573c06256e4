"""Regression is learning among finitely many coefficients, in the limit of a fine grid.

On a grid of step h (in posterior deviations, along the posterior's axes, through its mean) the
finite belief at a point is h^d φ(point) up to the constant 1/S^d, where by Poisson's summation

    S = Σ_k h φ(kh) = 1 + 2 Σ_{k≥1} e^{−2π²k²/h²} :

so the error of the finite belief is known, S^−d − 1, and it vanishes with h faster than any power.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exact import learn, learn_fast
from exact.beliefs import normalise
from exact.regression import GaussianBeliefs, learn_regression
from tests.properties.support import often
from tests.strategies import gaussian_beliefs, networks, seeds
from theory import Network
from theory.validation import FloatArray

NOISE = 0.8


def poisson(step: float) -> float:
    k = np.arange(1, 20)
    return float(1 + 2 * np.exp(-2 * np.pi**2 * k**2 / step**2).sum())


@st.composite
def runs(draw: st.DrawFn) -> tuple[Network, GaussianBeliefs]:
    network = draw(networks(max_agents=5))
    return network, draw(gaussian_beliefs(network.agents, dimension=draw(st.integers(1, 2))))


@often(20)
@given(run=runs(), rounds=st.integers(1, 12), tempering=st.sampled_from([1.0, 0.5]), seed=seeds)
def test_the_error_is_that_of_the_grid(
    run: tuple[Network, GaussianBeliefs], rounds: int, tempering: float, seed: int
) -> None:
    network, prior = run
    N, d = network.agents, prior.dimension
    rng = np.random.default_rng(seed)
    designs, targets = rng.normal(size=(rounds, N, 2, d)), rng.normal(size=(rounds, N, 2))
    regression = learn_regression(
        network, designs, targets, prior=prior, noise_std=NOISE, tempering=tempering
    ).private
    last = GaussianBeliefs(regression.precision[-1], regression.information[-1])
    i = seed % N
    values, vectors = np.linalg.eigh(last.precision[i])
    errors = []
    for step in (2.5, 1.75, 0.5):
        count = int(9 / step)
        line = step * np.arange(-count, count + 1)
        steps = np.stack(np.meshgrid(*[line] * d, indexing="ij"), axis=-1).reshape(-1, d)
        grid = last.mean[i] + (steps / np.sqrt(values)) @ vectors.T
        gaps = targets[..., None] - designs @ grid.T
        likelihoods = -tempering * (gaps**2).sum(axis=2) / (2 * NOISE**2)
        finite = learn_fast(
            network, likelihoods, log_priors=prior.log_density(grid), record=[rounds]
        ).private[0, i]
        density = last.log_density(grid)[i] + np.log(step**d / np.sqrt(values.prod()))
        # Everything outside the grid is below e^{−(9 − 2.5)²/2} of the mode.
        difference = finite - density
        assert np.abs(np.expm1(difference + d * np.log(poisson(step)))).max() < 1e-8
        errors.append(float(np.abs(np.expm1(difference)).max()))
    # 8.5 %, 0.3 % and nothing: the finer, the nearer.
    assert errors[0] > 0.05
    assert errors[0] > 10 * errors[1] > 1e-2
    assert errors[2] < 1e-8


@often(15)
@given(run=runs(), rounds=st.integers(1, 8), seed=seeds)
def test_any_points_are_weighed_alike(
    run: tuple[Network, GaussianBeliefs], rounds: int, seed: int
) -> None:
    """Not a grid at all: between any two coefficients the odds are those of the densities."""
    network, prior = run
    N, d = network.agents, prior.dimension
    rng = np.random.default_rng(seed)
    designs, targets = rng.normal(size=(rounds, N, 1, d)), rng.normal(size=(rounds, N, 1))
    regression = learn_regression(network, designs, targets, prior=prior, noise_std=NOISE)
    points = rng.normal(size=(6, d))
    gaps = targets[..., None] - designs @ points.T
    finite = learn(
        network, -(gaps**2).sum(axis=2) / (2 * NOISE**2), log_priors=prior.log_density(points)
    )
    for mine, theirs in ((regression.private, finite.private), (regression.public, finite.public)):
        found: FloatArray = normalise(mine.log_density(points))
        scale = max(1.0, float(np.abs(theirs).max()))
        assert np.abs(found - theirs).max() < 1e-12 * scale * rounds

"""Consensus of continuous beliefs is the geometric mean of densities: quadrature, and fractions."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from exact.regression import GaussianBeliefs, NormalInverseGammaBeliefs
from tests.properties.support import often
from tests.strategies import gaussian_beliefs, networks, noisy_beliefs, seeds, stiff_beliefs
from theory import Network
from theory.network.structure import as_dense
from theory.validation import FloatArray


@st.composite
def gaussian_pools(draw: st.DrawFn) -> tuple[Network, GaussianBeliefs]:
    """In one dimension or two, of ordinary or of extreme beliefs."""
    network = draw(networks(max_agents=7))
    kind = draw(st.sampled_from([gaussian_beliefs, stiff_beliefs]))
    return network, draw(kind(network.agents, dimension=draw(st.integers(1, 2))))


@often(25)
@given(pool=gaussian_pools())
def test_gaussian_beliefs_by_quadrature(pool: tuple[Network, GaussianBeliefs]) -> None:
    """Steps of a fifth of a deviation along the axes of each pooled belief, nine each way.

    A sum over such a grid is an integral to e^{−2π²·25}, and what is outside is below 1e-17.
    """
    network, beliefs = pool
    pooled = beliefs.consensus(network.weights)
    W, d = as_dense(network.weights), beliefs.dimension
    line = np.arange(-45, 46) / 5
    steps = np.stack(np.meshgrid(*[line] * d, indexing="ij"), axis=-1).reshape(-1, d)
    for i in range(network.agents):
        values, vectors = np.linalg.eigh(np.tensordot(W[i], beliefs.precision, axes=1))
        points = pooled.mean[i] + (steps / np.sqrt(values)) @ vectors.T
        logs = W[i] @ beliefs.log_density(points)
        volume = np.prod(0.2 / np.sqrt(values))
        expected = logs - logsumexp(logs) - np.log(volume)
        # The axes of a matrix of condition κ are known to κ roundings; the quadratic form of a
        # belief at a point so far along its flattest axis is rounded at the size of its sharpest.
        # Most of the volume is within two deviations; beyond, errors grow with the square.
        largest = np.linalg.eigvalsh(beliefs.precision).max(axis=-1)
        far = [np.abs(points - mean).max() + np.abs(mean).max() for mean in beliefs.mean]
        reach = 1 + float((largest * np.square(far)) @ (W[i] > 0))
        near = (steps**2).sum(axis=1) <= 4
        found = pooled.log_density(points[near])[i]
        assert np.abs(found - expected[near]).max() <= 1e-10 + 1e-15 * reach


@often(25)
@given(network=networks(max_agents=6), seed=seeds, data=st.data())
def test_gaussian_beliefs_at_every_condition_number(
    network: Network, seed: int, data: st.DataObject
) -> None:
    """The pooled mean, against fractions: the weighted sums are rounded, nothing else is."""
    d = data.draw(st.integers(1, 4))
    beliefs = data.draw(stiff_beliefs(network.agents, dimension=d))
    pooled = beliefs.consensus(network.weights)
    i = seed % network.agents
    row = as_dense(network.weights)[i]
    precision = weighted(row, beliefs.precision)
    information = weighted(row, beliefs.information[..., None])
    mean = precision.solve(information)
    truth = np.array([float(Fraction(int(mean[a, 0].p), int(mean[a, 0].q))) for a in range(d)])
    values, vectors = np.linalg.eigh(pooled.precision[i])
    gap = vectors.T @ (pooled.mean[i] - truth) * np.sqrt(np.maximum(values, 0))
    # N products and sums of Ω and h, each within 2 ε: in posterior deviations an error of
    # N ε √κ √(λ |θ|²), with means of up to 3√d (exact/regression/beliefs.py).
    size = np.sqrt(values.max()) * (np.abs(truth).max() + 3 * np.sqrt(d))
    condition = values.max() / values.min()
    bound = 4 * (network.agents + 2) * d * 2.0**-52 * np.sqrt(condition) * size
    # The eigenvectors that measure the gap turn by κ roundings themselves.
    assert np.abs(gap).max() <= bound + 1e-15 * condition * np.abs(pooled.mean[i] - truth).max()
    # Nobody becomes surer than the surest, nor less sure than the least sure, along any axis.
    axes = np.eye(d)
    each = np.array([beliefs.precision[:, a, a] for a in range(d)])
    found = np.array([pooled.precision[:, a, a] for a in range(d)])
    assert (found <= each.max(axis=1, keepdims=True) * (1 + 1e-14)).all()
    assert (found >= each.min(axis=1, keepdims=True) * (1 - 1e-14)).all()
    assert (pooled.variance(axes) > 0).all()


@often(25)
@given(network=networks(max_agents=6), seed=seeds, data=st.data())
def test_beliefs_about_noise_at_every_condition_number(
    network: Network, seed: int, data: st.DataObject
) -> None:
    """The pooled scale, (Σ_j W_ij q_j − hᵀΛ⁻¹h)/2 in fractions, however flat the beliefs."""
    unit = data.draw(stiff_beliefs(network.agents, dimension=data.draw(st.integers(1, 4))))
    rng = np.random.default_rng(seed)
    shape, scale = rng.uniform(1, 4, unit.agents), 10 ** rng.uniform(-6, 0, unit.agents)
    beliefs = NormalInverseGammaBeliefs(unit.precision, unit.information, shape, scale)
    pooled = beliefs.consensus(network.weights)
    i = seed % network.agents
    row = as_dense(network.weights)[i]
    parts = zip(row, beliefs.precision, beliefs.information[..., None], scale, strict=True)
    total = sum(
        rational(w) * (2 * rational(b) + quadratic(fractions(P), fractions(h)))
        for w, P, h, b in parts
        if w > 0
    )
    left = quadratic(
        weighted(row, beliefs.precision), weighted(row, beliefs.information[..., None])
    )
    truth = (total - left) / 2
    # The minimum over θ: an error of the pooled mean counts squared. That error, in deviations,
    # is bounded as in the test before; entries of Λ times gaps are added in twice the precision.
    values = np.linalg.eigvalsh(pooled.precision[i])
    size = np.sqrt(values.max()) * np.abs(beliefs.mean).max() * np.sqrt(beliefs.dimension)
    error = 4 * (network.agents + 2) * beliefs.dimension * 2.0**-52 * size
    error *= np.sqrt(values.max() / values.min())
    assert abs(pooled.scale[i] / float(Fraction(int(truth.p), int(truth.q))) - 1) <= 1e-12 + (
        error**2 / pooled.scale[i]
    )


def quadratic(matrix: flint.fmpq_mat, column: flint.fmpq_mat) -> flint.fmpq:
    """hᵀ A⁻¹ h in fractions."""
    return (column.transpose() * matrix.solve(column))[0, 0]


def fractions(table: FloatArray) -> flint.fmpq_mat:
    """A matrix of the numbers as they are stored."""
    return flint.fmpq_mat([[rational(x) for x in line] for line in table])


def weighted(row: FloatArray, stack: FloatArray) -> flint.fmpq_mat:
    """Σ_j W_ij stack_j in fractions, of the numbers as they are stored."""
    terms = [
        fractions(matrix) * rational(weight) for weight, matrix in zip(row, stack, strict=True)
    ]
    return sum(terms[1:], terms[0])


def rational(value: float) -> flint.fmpq:
    return flint.fmpq(*float(value).as_integer_ratio())


@st.composite
def noisy_pools(draw: st.DrawFn) -> tuple[Network, NormalInverseGammaBeliefs]:
    network = draw(networks(max_agents=5))
    return network, draw(noisy_beliefs(network.agents, dimension=draw(st.integers(1, 2))))


@often(10)
@given(pool=noisy_pools())
def test_beliefs_about_noise_by_quadrature(
    pool: tuple[Network, NormalInverseGammaBeliefs],
) -> None:
    """Over log σ², and over θ in units of σ: in these the density is smooth and has light tails."""
    network, beliefs = pool
    pooled = beliefs.consensus(network.weights)
    W, d = as_dense(network.weights), beliefs.dimension
    line = np.arange(-10, 11) * 0.8
    steps = np.stack(np.meshgrid(*[line] * d, indexing="ij"), axis=-1).reshape(-1, d)
    for i in range(network.agents):
        # s = log σ² has density e^{−a s − b e^{−s}}, of width a^{−1/2}: normal near its mode, with
        # a tail of e^{−a s} above.
        a, b = pooled.shape[i], pooled.scale[i]
        width = 1 / np.sqrt(a)
        s = np.log(b / a) + np.arange(-7, 10 + 40 * width, 0.3) * width
        values, vectors = np.linalg.eigh(pooled.precision[i])
        axes = (steps / np.sqrt(values)) @ vectors.T
        noise = np.repeat(np.exp(s), len(steps))
        points = pooled.mean[i] + np.sqrt(noise)[:, None] * np.tile(axes, (len(s), 1))
        logs = W[i] @ beliefs.log_density(points, noise)
        # dθ dσ² = σ^d dz σ² ds.
        volume = (d / 2 + 1) * np.log(noise) + np.log(0.3 * width)
        volume += d * np.log(0.8) - np.log(values).sum() / 2
        expected = logs - logsumexp(logs + volume)
        near = expected > expected.max() - 8
        found = pooled.log_density(points[near], noise[near])[i]
        assert np.abs(found - expected[near]).max() <= 1e-8


@often(15)
@given(pool=gaussian_pools(), seed=seeds)
def test_the_update_is_bayes_rule(pool: tuple[Network, GaussianBeliefs], seed: int) -> None:
    """Log posterior less log prior is the log-likelihood, up to one constant."""
    _, beliefs = pool
    rng = np.random.default_rng(seed)
    d, t = beliefs.dimension, float(rng.choice([0.5, 1.0, 4.0]))
    design, labels = rng.normal(size=(3, d)), 3 * rng.normal(size=3)
    nobody: list[object] = [[]] * (beliefs.agents - 1)
    after = beliefs.update([design, *nobody], [labels, *nobody], noise_std=0.7, tempering=t)
    np.testing.assert_array_equal(after.precision[1:], beliefs.precision[1:])
    points = after.mean[0] + rng.normal(size=(20, d)) @ np.linalg.cholesky(after.covariance[0]).T
    likelihood = -t * ((labels - points @ design.T) ** 2).sum(axis=1) / (2 * 0.49)
    gained = (after.log_density(points) - beliefs.log_density(points))[0] - likelihood
    terms = np.abs(beliefs.precision[0]).max() * (np.abs(points).max() + 6) ** 2
    terms += np.abs(likelihood).max()
    # Differences of quadratic forms, each rounded at its own size.
    assert np.ptp(gained) <= 1e-14 * (1 + terms) * np.sqrt(np.linalg.cond(after.precision[0]))

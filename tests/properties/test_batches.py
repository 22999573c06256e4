"""Where nobody listens, W = I, a batch of M observations is M single ones, in any order."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from exact import bayes_update, consensus, draw_log_likelihoods, learn
from exact.beliefs import normalise
from exact.changing import learn_changing
from exact.faults.process import FaultyProcess
from exact.regression import GaussianBeliefs, NormalInverseGammaBeliefs
from tests.properties.pinned import COUPLED, RESET, pinned
from tests.properties.support import assert_close, often
from tests.strategies import (
    Problem,
    gaussian_beliefs,
    mixed_models,
    networks,
    noisy_beliefs,
    problems,
    seeds,
    stiff_beliefs,
)
from theory import FiniteModel, Network
from theory.changing import Phase
from theory.robustness import Average

agents = st.integers(1, 6)


@often(15)
@given(
    model=agents.flatmap(mixed_models),
    batch=st.integers(1, 30),
    stored=st.sampled_from([np.eye, sparse.eye_array]),
    seed=seeds,
)
def test_finite_beliefs(model: FiniteModel, batch: int, stored: type, seed: int) -> None:
    seen = draw_log_likelihoods(model, rounds=batch, seed=seed)
    nobody = stored(model.agents)
    identity = sparse.csr_array(nobody) if sparse.issparse(nobody) else nobody
    prior = normalise(model.log_priors[model.assignment])
    at_once = consensus(identity, bayes_update(prior, seen.sum(axis=0)))
    single = prior
    for row in np.random.default_rng(seed).permutation(seen):
        single = consensus(identity, bayes_update(single, row))
    assert_close(single, at_once)
    alone = learn_changing([Phase(identity)] * batch, seen, log_priors=prior)
    assert_close(alone.private[-1], at_once)


@often(15)
@given(problem=problems(max_agents=7), batch=st.integers(1, 6), seed=seeds)
@example(pinned(COUPLED), 4, 0)
@example(pinned(RESET), 4, 0)
def test_pooling_after_every_batch(problem: Problem, batch: int, seed: int) -> None:
    """Rounds in which nobody listens, and then one in which all do: one round on the sums."""
    model = problem.model
    seen = draw_log_likelihoods(model, rounds=3 * batch, seed=seed)
    sums = seen.reshape(3, batch, *seen.shape[1:]).sum(axis=1)
    expected = learn(problem.network, sums, log_priors=problem.log_priors).private[-1]
    still, pools = Phase(np.eye(model.agents)), Phase(problem.network.weights)
    found = learn_changing([*[still] * (batch - 1), pools] * 3, seen, log_priors=problem.log_priors)
    assert_close(found.private[-1], expected)
    process = FaultyProcess(problem.network, model, {}, Average(), best=0, pool_every=batch)
    process.restart(np.random.SeedSequence(0), replicates=1, columns=seen.shape[-1] - 1)
    state = (problem.log_priors[:, [0]] - problem.log_priors)[:, None, 1:]
    for row in seen:
        state = process.advance(state, (row[:, [0]] - row)[:, None, 1:].copy())
    assert_close(state[:, 0], (expected[:, [0]] - expected)[:, 1:])


@st.composite
def gaussian_priors(draw: st.DrawFn) -> GaussianBeliefs:
    kind = draw(st.sampled_from([gaussian_beliefs, stiff_beliefs]))
    return draw(kind(draw(agents), dimension=draw(st.integers(1, 4))))


@often(15)
@given(prior=gaussian_priors(), batch=st.integers(1, 12), seed=seeds)
def test_gaussian_beliefs(prior: GaussianBeliefs, batch: int, seed: int) -> None:
    """Without a network, and by the loop of learning with W = I."""
    rng = np.random.default_rng(seed)
    N, d = prior.agents, prior.dimension
    designs, targets = rng.normal(size=(N, batch, d)), rng.normal(size=(N, batch))
    options = {"noise_std": rng.uniform(0.2, 2, N), "tempering": rng.choice([0.5, 1.0, 3.0], N)}
    at_once = prior.update(designs, targets, **options)
    single = prior
    for m in rng.permutation(batch):
        single = single.update(designs[:, [m]], targets[:, [m]], **options).consensus(np.eye(N))
    assert_close(single.precision, at_once.precision)
    assert_close(single.information, at_once.information)
    # What is not seen is not learnt: nobody becomes less sure, along any direction.
    gained = np.linalg.eigvalsh(at_once.precision - prior.precision).min()
    assert gained >= -1e-14 * np.abs(at_once.precision).max() * d


@st.composite
def noisy_priors(draw: st.DrawFn) -> NormalInverseGammaBeliefs:
    return draw(noisy_beliefs(draw(agents), dimension=draw(st.integers(1, 3))))


@often(15)
@given(prior=noisy_priors(), batch=st.integers(1, 12), seed=seeds)
def test_beliefs_about_noise(prior: NormalInverseGammaBeliefs, batch: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    N, d = prior.agents, prior.dimension
    designs, targets = rng.normal(size=(N, batch, d)), rng.normal(size=(N, batch))
    power = rng.choice([0.5, 1.0, 3.0], N)
    at_once = prior.update(designs, targets, tempering=power)
    single = prior
    for m in rng.permutation(batch):
        single = single.update(designs[:, [m]], targets[:, [m]], tempering=power)
        single = single.consensus(np.eye(N))
    for name in ("precision", "information", "shape", "scale"):
        assert_close(getattr(single, name), getattr(at_once, name))


@often(10)
@given(network=networks(max_agents=6), seed=seeds)
def test_a_batch_before_pooling_is_a_batch(network: Network, seed: int) -> None:
    """Updates that follow each other without pooling may be joined on any network."""
    N = network.agents
    rng = np.random.default_rng(seed)
    prior = GaussianBeliefs.from_moments(rng.normal(size=(N, 2)), np.eye(2))
    designs, targets = rng.normal(size=(N, 4, 2)), rng.normal(size=(N, 4))
    joined = prior.update(designs, targets, noise_std=0.5)
    parts = prior.update(designs[:, :1], targets[:, :1], noise_std=0.5)
    parts = parts.update(designs[:, 1:], targets[:, 1:], noise_std=0.5)
    weights = network.weights
    one, two = joined.consensus(weights), parts.consensus(weights)
    points = rng.normal(size=(5, 2))
    assert_close(two.predict(points).mean, one.predict(points).mean)
    assert_close(two.predict(points).variance, one.predict(points).variance)

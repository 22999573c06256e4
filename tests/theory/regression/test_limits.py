"""Limits and constants against the curves they are limits of, and against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from tests.strategies import networks, regression_models
from theory import Network
from theory.regression import (
    RegressionAgent,
    RegressionModel,
    calibration,
    predicted_error,
    regression_limits,
)
from theory.regression.rational_model import four_agents, two_nodes

BENIGN = ("positive", "directed", "symmetric", "star", "sparse", "reversible")
N_ROUNDS = mp.mpf(10) ** 30


def moment_of(agent: RegressionAgent) -> mp.matrix:
    """E x xᵀ; of a data set from its rows, since a rounded average may see what they do not."""
    if agent.inputs is None:
        return mp.matrix(agent.second_moment.tolist())
    rows = mp.matrix(agent.inputs.tolist())
    return rows.T * rows / len(agent.inputs)


def at_the_end(
    model: RegressionModel, weights: list[float], *, plain: bool = False
) -> tuple[float, float]:
    """The excess error at 10³⁰ rounds in 120 digits: its limit, and n times the rest."""
    d = model.dimension
    A, B, P, p = mp.zeros(d), mp.zeros(d), mp.zeros(d), mp.zeros(d, 1)
    for j, v in enumerate(weights):
        agent = model.agent(j)
        c = mp.mpf(1 if plain else agent.tempering) / mp.mpf(agent.claimed_noise_std) ** 2
        moment = agent.batch * moment_of(agent)
        A += v * c * moment
        B += (v * c * agent.noise_std) ** 2 * moment
        precision = mp.matrix(model.prior_covariances[j].tolist()) ** -1
        gap = mp.matrix((model.prior_means[j] - model.theta).tolist())
        share = mp.mpf(v) / mp.fsum(weights)
        P += share * precision
        p += share * (precision * gap)
    inverse = (N_ROUNDS * A + P) ** -1
    square = inverse * (N_ROUNDS * B + p * p.T) * inverse
    S = mp.matrix(model.test_second_moment.tolist())
    error = mp.fsum((S * square)[k, k] for k in range(d))
    # What 10³⁰ and 4·10³⁰ rounds have in common is the limit.
    later = (4 * N_ROUNDS * A + P) ** -1
    square = later * (4 * N_ROUNDS * B + p * p.T) * later
    limit = (4 * mp.fsum((S * square)[k, k] for k in range(d)) - error) / 3
    return float(limit), float(N_ROUNDS * (error - limit))


@given(networks(kinds=BENIGN, max_agents=4), st.data())
@settings(max_examples=10)
def test_constants_are_those_of_a_later_round(network: Network, data: st.DataObject) -> None:
    model = data.draw(regression_models(network.agents))
    limits = regression_limits(network, model)
    v = network.stationary_distribution.tolist()
    with mp.workdps(120):
        together = at_the_end(model, v)
        alone = [at_the_end(model, np.eye(len(v))[i].tolist()) for i in range(len(v))]
        pooled = at_the_end(model, [1.0] * len(v), plain=True)
    # Moments of condition up to 1e6, scaled; entries of S_test, priors and θ are near 1.
    close = {"rtol": 1e-8, "atol": 1e-8}
    np.testing.assert_allclose((limits.limit, limits.excess_error_constant), together, **close)
    pairs = np.stack([limits.alone, limits.alone_constants], axis=1)
    np.testing.assert_allclose(pairs, alone, **close)
    if limits.central_constant is not None:
        np.testing.assert_allclose(limits.central_constant, pooled[1], **close)


def test_what_nobody_sees_keeps_the_prior_with_its_correlations() -> None:
    """Agents see x1 alone; the prior ties x2 to it. Exactly: E[θ2 | θ1] of the prior."""
    agent = RegressionAgent(ranges=[[-1, 1], [0, 0]], noise_std=1.0)
    prior = np.array([[1.0, 0.6], [0.6, 2.0]])
    theta = np.array([0.7, -0.4])
    model = RegressionModel(theta, [agent, agent], prior, np.eye(2))
    limits = regression_limits(Network([[0.5, 0.5], [0.5, 0.5]]), model)
    assert not limits.is_identified
    assert limits.central_constant is None
    assert sum("nobody" in n or "no agent" in n or "unseen" in n for n in limits.notes) == 2
    predicted = 0.6 / 1.0 * theta[0]
    np.testing.assert_allclose(limits.limit_estimate, [theta[0], predicted], atol=1e-14)
    assert np.isclose(limits.limit, (predicted - theta[1]) ** 2, rtol=1e-13)
    np.testing.assert_allclose(
        limits.reported_limit, [[0, 0], [0, 2.0 - 0.36]], rtol=1e-13, atol=1e-15
    )
    # The covariance carries the noise of the seen coefficient along the regression line.
    line = np.array([1.0, 0.6])
    np.testing.assert_allclose(limits.estimator_covariance, 1.5 * np.outer(line, line), rtol=1e-12)
    # No one tests what nobody sees: then nothing is amiss.
    blind = RegressionModel(theta, [agent, agent], prior, np.diag([1.0, 0.0]))
    again = regression_limits(Network([[0.5, 0.5], [0.5, 0.5]]), blind)
    assert again.notes == ()
    assert np.isclose(again.excess_error_constant, 1.5, rtol=1e-13)
    assert np.isclose(again.central_constant or 0, 1.5, rtol=1e-13)


def test_labels_of_a_data_set() -> None:
    """Two agents with half of the features each; simulated for 300 rounds, 3 000 times."""
    rng = np.random.default_rng(2)
    full = rng.standard_normal((40, 2)) @ np.array([[1.0, 0.4], [0.0, 0.9]])
    targets = full @ [1.0, -0.5] + 0.3 * rng.standard_normal(40)
    halves = [full * [1, 0], full * [0, 1]]
    agents = [RegressionAgent(inputs=x, targets=targets, noise_std=0.5) for x in halves]
    moment = full.T @ full / 40
    theta = np.linalg.solve(moment, full.T @ targets / 40)
    model = RegressionModel(theta, agents, 100 * np.eye(2), moment)
    network = Network([[0.6, 0.4], [0.3, 0.7]])
    limits = regression_limits(network, model)
    # Each half regresses alone on its own feature: that is where the network goes.
    apart = [x[:, k] @ targets / (x[:, k] @ x[:, k]) for k, x in enumerate(halves)]
    np.testing.assert_allclose(limits.limit_estimate, apart, rtol=1e-12)
    gap = np.array(apart) - theta
    assert np.isclose(limits.limit, gap @ moment @ gap, rtol=1e-12)
    assert any("data set" in note for note in limits.notes)
    W, rounds, replicates = np.asarray(network.weights), 300, 3000
    precision = np.broadcast_to(np.eye(2) / 100, (replicates, 2, 2, 2))
    information = np.zeros((replicates, 2, 2))
    early = predicted_error(network, model, [30, rounds], order=1)
    for done in range(1, rounds + 1):
        rows = rng.integers(40, size=(replicates, 2))
        x = np.stack([halves[j][rows[:, j]] for j in range(2)], axis=1)
        precision = np.einsum("ij,rjab->riab", W, precision + x[..., None] * x[:, :, None] / 0.25)
        information = np.einsum("ij,rja->ria", W, information + x * targets[rows][..., None] / 0.25)
        if done not in (30, rounds):
            continue
        estimates = np.linalg.solve(precision, information[..., None])[..., 0]
        gaps = estimates - theta
        errors = np.einsum("ria,ab,rib->ri", gaps, moment, gaps)
        standard = errors.std(axis=0) / np.sqrt(replicates)
        curve = early.excess_error[int(done == rounds)]
        # The first order: relative errors of the order of 1/n, here twice that at most.
        assert (np.abs(errors.mean(axis=0) - curve) < 4 * standard + 2 * curve / done).all()
        assert (standard < 0.02 * curve).all()
    for i in range(2):
        measured = rounds * np.cov(estimates[:, i].T)
        # A covariance of 3 000 draws has a relative error of √(2/3000) = 2.6 %, and n is finite.
        np.testing.assert_allclose(
            measured, limits.estimator_covariance, atol=0.12 * measured.max()
        )
    with pytest.raises(ValueError, match="order: expected 1 for agents whose labels"):
        predicted_error(network, model, [30])
    # The noise claimed is not the noise there is: α²A⁻¹BA⁻¹ would be far off.
    naive = regression_limits(
        network,
        RegressionModel(
            theta,
            [RegressionAgent(inputs=x, noise_std=0.5) for x in halves],
            100 * np.eye(2),
            moment,
        ),
    )
    off = np.abs(naive.estimator_covariance - limits.estimator_covariance).max()
    assert off > 0.3 * np.abs(limits.estimator_covariance).max()


def test_weights_in_place_of_a_network() -> None:
    case = four_agents().as_floats()
    given_weights = regression_limits(case.network.stationary_distribution, case.model)
    limits = regression_limits(case.network, case.model)
    assert given_weights.excess_error_constant == limits.excess_error_constant
    # Scaling all weights scales what is reported, not the estimate.
    tripled = regression_limits(3 * case.network.stationary_distribution, case.model)
    assert np.isclose(tripled.excess_error_constant, limits.excess_error_constant, rtol=1e-13)
    assert np.isclose(3 * tripled.reported_error_constant, limits.reported_error_constant)


def test_bad_input_is_named() -> None:
    case = two_nodes().as_floats()
    with pytest.raises(ValueError, match="model: expected as many agents as the network, 1, got 2"):
        regression_limits(Network([[1]]), case.model)
    with pytest.raises(ValueError, match="weights: expected one for each of 2 agents, got 3"):
        regression_limits([1, 1, 1], case.model)
    with pytest.raises(ValueError, match="weights: expected numbers of at least 0"):
        regression_limits([1, -1], case.model)


def test_a_direction_that_one_agent_of_little_weight_sees_is_seen() -> None:
    """Two agents see one direction each: a weight cancels, as in A⁻¹BA⁻¹ of either."""
    plane = [RegressionAgent(inputs=[[1.0, s]], noise_std=1.0) for s in (1.0, -1.0)]
    model = RegressionModel([1.0, 1.0], plane, np.eye(2), np.eye(2))
    limits = regression_limits([1.0, 1e-20], model)
    assert limits.is_identified
    assert np.isclose(limits.excess_error_constant, 1.0, rtol=1e-14)


def test_a_thousand_agents_in_fifty_dimensions() -> None:
    kinds = [
        RegressionAgent(second_moment=np.diag(np.arange(50.0) + k), noise_std=1.0) for k in range(4)
    ]
    model = RegressionModel(np.ones(50), kinds, np.eye(50), np.eye(50), None, np.arange(1000) % 4)
    network = Network.from_topology("ring", agents=1000)
    limits = regression_limits(network, model)
    pooled = 250 * sum(np.arange(50.0) + k for k in range(4))
    assert np.isclose(limits.excess_error_constant, (1 / pooled).sum(), rtol=1e-11)
    assert model.prior_covariances.base is not None
    np.testing.assert_allclose(calibration(network, model).ratios, 1e-3, rtol=1e-10)

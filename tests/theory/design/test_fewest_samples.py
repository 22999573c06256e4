"""The search for few samples against all networks on a grid, and its parts against differences."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from tests.models import FAIR, coin
from tests.theory.design.oracles import PAIR, ROUND, SQUARE, check_weights
from tests.theory.design.oracles import PATH as PATH  # for the slower tests
from theory import FiniteModel, GaussianAgent, Network, account
from theory.bounds.accounting.inversion import EventCurve
from theory.design import Constraints, DesignGraph, FewestSamples, fewest_samples
from theory.design.constraints import expected_network
from theory.design.directed.flow_descent import SmoothErrors
from theory.design.directed.flow_weights import FlowWeights
from theory.design.samples.mixing_descent import fastest_for

LEFT = [0.75, 0.25]


def uneven(agents: int) -> FiniteModel:
    """Agents that see one difference, the last of them three times as large."""
    kinds = [GaussianAgent([1.0], [0.0], 1.0, [[0.0], [m]], 1.0) for m in (0.8, 1.6)]
    return FiniteModel.from_agents(["zero", "other"], kinds, counts=[agents - 1, 1])


def two_faced() -> FiniteModel:
    """Three agents, each of which tells another wrong hypothesis apart, the first less well."""
    likelihoods = [[FAIR] * 4 for _ in range(3)]
    for index, claim in enumerate(([0.8, 0.2], [0.9, 0.1], [0.1, 0.9])):
        likelihoods[index][index + 1] = claim
    kinds = [coin(*claims) for claims in likelihoods]
    return FiniteModel.from_agents(["fair", "a", "b", "c"], kinds)


def check(found: FewestSamples, graph: DesignGraph, model: FiniteModel) -> None:
    """The certificate once more: what the network needs, and that no row is better."""
    again = account(found.network, model).sample_size(found.delta)
    assert found.best.rounds is not None
    # The account is sharper or less sharp with another guess to start from.
    assert again.lower <= found.certificate.value
    assert abs(again.upper - found.certificate.value) <= 0.05 * again.upper + 1
    assert found.certificate.kind == "local"
    assert 1 <= found.certificate.bound == found.bound.rounds <= found.certificate.value
    assert found.best_for_influence <= found.certificate.value
    rounds = [start.rounds for start in found.starts if start.rounds is not None]
    assert rounds == sorted(rounds)
    assert found.best is found.starts[0]
    assert set(map(tuple, DesignGraph.from_network(found.network).links)) <= set(
        map(tuple, graph.links)
    )


@pytest.mark.parametrize(
    "limits",
    [
        Constraints(minimum_self_weight=0.4, availability=0.6),
        Constraints(fixed_rows={1: np.array([0.25, 0.5, 0.25, 0.0])}, edge_budget=3),
        Constraints(symmetric=True, minimum_self_weight=0.3),
    ],
    ids=["self, lossy", "fixed, budget", "symmetric"],
)
def test_constraints_are_respected(limits: Constraints) -> None:
    model = uneven(4)
    found = fewest_samples(SQUARE, model, delta=0.3, constraints=limits, effort=0.1)
    weights = np.asarray(found.network.weights)
    check_weights(found.network, DesignGraph.from_network(found.network), limits)
    for agent, row in limits.fixed_rows.items():
        assert np.array_equal(weights[agent], row)
    if limits.symmetric:
        assert np.abs(weights - weights.T).max() <= 1e-12
    if limits.forces_uniform:
        assert np.abs(weights.sum(axis=0) - 1).max() <= 1e-12
    v = expected_network(found.network, SQUARE, limits).stationary_distribution
    assert v.min() >= (1 - 1e-8) / 40
    assert ("E[W]" in found.note) == (limits.availability == 0.6)
    assert found.certificate.bound <= found.certificate.value


def test_directed_graphs() -> None:
    model = uneven(3)
    heard: list[tuple[int, int]] = []
    found = fewest_samples(
        ROUND, model, delta=0.2, effort=0.1, progress=lambda *at: heard.append(at)
    )
    assert heard[-1][0] == heard[-1][1]
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    check(found, ROUND, model)
    assert found.certificate.value <= found.baselines[0].rounds


def test_a_target_where_no_hypothesis_is_best_for_all() -> None:
    north = coin(LEFT, [0.3, 0.7], truth=[0.8, 0.2])
    south = coin(LEFT, [0.3, 0.7], truth=[0.3, 0.7])
    model = FiniteModel.from_agents(["left", "right"], [north, south])
    for target in (0, 1):
        found = fewest_samples(PAIR, model, delta=0.2, target=target, effort=0.1)
        v = found.network.stationary_distribution
        assert model.reference_hypotheses(v) == (target,)
        assert found.target == target
        assert found.certificate.value <= 40
    with pytest.raises(ValueError, match=re.escape("target: expected the hypothesis to settle on")):
        fewest_samples(PAIR, model, delta=0.1)


def smooth() -> tuple[FiniteModel, SmoothErrors, np.ndarray, np.ndarray]:
    model = FiniteModel.from_agents(
        ["fair", "a", "b", "c"],
        list(two_faced().kinds),
        priors=[[0.4, 0.2, 0.2, 0.2], None, [0.1, 0.3, 0.3, 0.3]],
    )
    weights = np.array([[0.5, 0.5, 0.0], [0.2, 0.5, 0.3], [0.0, 0.6, 0.4]])
    errors = SmoothErrors(
        model, best=0, wrong=[1, 2, 3], v=Network(weights).stationary_distribution, rounds=9
    )
    return model, errors, weights, errors.best_tilts(weights)


def test_the_stand_in_is_chernoffs_bound() -> None:
    model, errors, weights, logs = smooth()
    exponents = []
    for i, theta in product(range(3), (1, 2, 3)):
        t = errors.tilts[theta - 1] * np.exp(logs[i, theta - 1])
        laws = model.log_ratio_laws(0, theta)
        odds = model.log_priors[:, 0] - model.log_priors[:, theta]
        total = -t * np.linalg.matrix_power(weights, 9)[i] @ odds
        for k in range(1, 10):
            row = np.linalg.matrix_power(weights, k)[i]
            total += sum(float(laws[j].cumulant(-t * row[j])) for j in range(3))
        exponents.append(total)
    # κ is read off cubics through 2049 nodes.
    assert np.isclose(errors.value(weights, logs), logsumexp(exponents), rtol=0, atol=1e-9)


def test_derivatives_of_the_stand_in() -> None:
    _, errors, weights, logs = smooth()
    rng = np.random.default_rng(0)
    v = Network(weights).stationary_distribution
    found = errors.derivatives(weights, v, logs.ravel())
    assert np.isclose(found.value, errors.value(weights, logs), rtol=1e-14)
    step = 1e-5
    for _ in range(3):
        by_w, by_t = rng.normal(size=weights.shape), rng.normal(size=logs.shape)
        for sign, gradient, moved in (
            (by_w, found.by_weights, lambda h, d=by_w: errors.value(weights + h * d, logs)),
            (by_t.ravel(), found.by_others, lambda h, d=by_t: errors.value(weights, logs + h * d)),
        ):
            slope = (moved(step) - moved(-step)) / (2 * step)
            # Differences of a cubic table's values: 1e-5 relative at this step.
            assert np.isclose(slope, (sign * gradient).sum(), rtol=1e-4, atol=1e-6)


def test_the_slope_of_the_fastest_mixing() -> None:
    """Two agents that keep 9/10: the slem is 1 − (1 + v_1/v_0)/10, as v_1 < v_0 allows no more."""
    limits = Constraints(minimum_self_weight=0.9)
    found = fastest_for(PAIR, np.array([0.8, 0.2]), limits, seed=0)
    assert found.slem == pytest.approx(1 - 0.125, abs=1e-6)
    # The solver leaves 1e-7 of the slem open.
    assert found.slope @ [1.0, -1.0] == pytest.approx(0.1 / 0.8**2, rel=1e-4)


@pytest.mark.parametrize(
    "limits",
    [
        Constraints(minimum_self_weight=0.2, availability={(0, 1): 0.5}),
        Constraints(fixed_rows={1: np.array([0.25, 0.5, 0.25, 0.0])}),
        Constraints(symmetric=True, availability=0.7),
        Constraints(symmetric=True, fixed_rows={1: np.array([0.25, 0.5, 0.25, 0.0])}),
        Constraints(doubly_stochastic=True),
    ],
)
def test_weights_there_and_back(limits: Constraints) -> None:
    start = np.array(
        [[0.5, 0.25, 0, 0.25], [0.25, 0.5, 0.25, 0], [0, 0.25, 0.5, 0.25], [0.25, 0, 0.25, 0.5]]
    )
    network = expected_network(Network(start), SQUARE, limits)
    v = network.stationary_distribution
    flows = FlowWeights(SQUARE, limits, v if limits.forces_uniform else None, 0.01)
    theta = flows.of(start, v)
    here = flows.at(theta)
    assert np.allclose(flows.weights(here), start, atol=1e-12)
    assert np.allclose(flows.expected(here), np.asarray(network.weights), atol=1e-12)
    assert np.allclose(here.v, v, atol=1e-12)
    rng = np.random.default_rng(1)
    far = theta + rng.normal(size=theta.size)
    # Wherever it goes: v is what it says, no less than it may be, and limits are met.
    there = flows.at(far)
    assert np.allclose(Network(flows.expected(there)).stationary_distribution, there.v)
    assert there.v.min() >= 0.01 - 1e-12
    weights = flows.weights(there)
    free = [i for i in range(4) if i not in limits.fixed_rows]
    assert np.diag(weights)[free].min() >= limits.minimum_self_weight - 1e-12
    for agent, row in limits.fixed_rows.items():
        assert np.array_equal(weights[agent], row)
    if limits.symmetric:
        assert np.allclose(weights, weights.T, atol=1e-12)
    by_weights, by_v = rng.normal(size=start.shape), rng.normal(size=4)
    d = rng.normal(size=theta.size)
    ahead, behind = flows.at(far + 1e-6 * d), flows.at(far - 1e-6 * d)
    slope = (by_weights * (flows.expected(ahead) - flows.expected(behind))).sum()
    slope += by_v @ (ahead.v - behind.v)
    assert np.isclose(slope / 2e-6, flows.pull(there, by_weights, by_v) @ d, rtol=1e-5)


@pytest.mark.parametrize("weights", [[[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.6, 0.4]]])
def test_means_a_million_apart_take_few_frequencies(
    weights: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """log P(error) is −10^11 in the first round: no grid of frequencies has to reach there."""
    work, forward = [], EventCurve._forward

    def counted(curve: EventCurve, begin: int, end: int, *rest: object) -> object:
        work.append((end - begin) * curve.frequencies)
        return forward(curve, begin, end, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(EventCurve, "_forward", counted)
    agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1e6]], 1.0)
    model = FiniteModel.from_agents(["near", "far"], [agent], counts=[2])
    found = account(Network(weights), model)
    size = found.sample_size(0.05)
    assert (size.lower, size.upper) == (1, 1)
    probability = found.probability(1)
    # One agent errs with probability Φ(−m/s): Λ has mean m = d²/2 and variance d² Σ_j w_j².
    row = np.asarray(weights)
    z = 1e6 / 2 / np.sqrt((row**2).sum(axis=1).max())
    exact = -(z**2) / 2 - np.log(z * np.sqrt(2 * np.pi))
    assert probability.log_lower[0] <= exact <= probability.log_upper[0] < -1e6
    assert 0 < sum(work) < 2e7  # of 2e5 frequencies each, in 24 rounds

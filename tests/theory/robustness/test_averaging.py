"""Limits under plain averaging against the recursion itself, walks, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.models import BLIND, COIN, coins
from tests.strategies import behaviours, finite_models, networks
from theory import FiniteModel, GaussianAgent, Network
from theory.robustness import (
    Behaviour,
    Colluding,
    ConstantBelief,
    Push,
    RandomLies,
    Silent,
    Split,
    StuckData,
    faulty_averaging,
    faulty_log_ratio,
)
from theory.validation import FloatArray

KINDS = ("positive", "directed", "symmetric", "star", "sparse")
PREDICTED = (ConstantBelief, Silent, Push, RandomLies, Split, StuckData)


def slow_means(
    network: Network, model: FiniteModel, faults: dict[int, Behaviour], best: int, rounds: int
) -> tuple[FloatArray, FloatArray]:
    """E Λ after `rounds` rounds and its last increment, one agent and one message at a time."""
    W = network.weights.toarray() if network.is_sparse else np.asarray(network.weights)
    N = network.agents
    prior = (model.log_priors[:, [best]] - model.log_priors)[model.assignment]
    evidence = model.information(best)
    state = prior.copy()
    last = state
    for n in range(1, rounds + 1):
        public = state + evidence
        for f, behaviour in faults.items():
            if isinstance(behaviour, StuckData):
                row = behaviour.datum(model, f)
                public[f] = state[f] + row[best] - row
        last, state = state, state.copy()
        for i in range(N):
            total = W[i, i] * public[i]
            for j in range(N):
                if j == i or W[i, j] == 0:
                    continue
                said = public[j]
                fault = faults.get(j)
                if isinstance(fault, Silent):
                    said = public[i]
                elif fault is not None and not isinstance(fault, StuckData | Colluding):
                    listeners = [k for k in range(N) if k != j and W[k, j] > 0]
                    speech = fault.speech(model, len(listeners))
                    row = (speech.offset + n * speech.slope)[listeners.index(i)]
                    said = row[best] - row
                total = total + W[i, j] * said
            state[i] = total
    return state, state - last


@settings(max_examples=8)
@given(st.data())
def test_the_limits_are_those_of_the_recursion(data: st.DataObject) -> None:
    network = data.draw(networks(kinds=KINDS, max_agents=5))
    assume(network.slem < 0.9)
    model = data.draw(finite_models(network.agents))
    M = len(model.hypotheses)
    some = st.sets(st.integers(0, network.agents - 1), min_size=1, max_size=network.agents - 1)
    kinds = behaviours(hypotheses=M).filter(lambda b: isinstance(b, PREDICTED))
    faults = {i: data.draw(kinds) for i in sorted(data.draw(some))}
    found = faulty_averaging(network, model, faults)
    assert set(found.honest.tolist()) == set(range(network.agents)) - set(faults)
    chain = np.abs(np.linalg.eigvals(_restricted(network, faults)))
    # The transient must be gone after 800 rounds.
    assume(((chain < 0.95) | (chain > 1 - 1e-12)).all())
    rounds = 800
    state, last = slow_means(network, model, faults, found.best, rounds)
    scale = 1 + np.abs(state).max()
    np.testing.assert_allclose(found.rates, last[found.honest], rtol=0, atol=1e-11 * scale)
    settled = np.isfinite(found.mean)
    residue = state[found.honest] - rounds * found.rates
    np.testing.assert_allclose(found.mean[settled], residue[settled], rtol=0, atol=1e-9 * scale)
    exact = faulty_log_ratio(network, model, faults, [1, 7])
    for index, n in enumerate((1, 7)):
        slow, _ = slow_means(network, model, faults, found.best, n)
        np.testing.assert_allclose(exact.mean[index], slow[found.honest], rtol=1e-11, atol=1e-11)


def _restricted(network: Network, faults: dict[int, Behaviour]) -> FloatArray:
    W = network.weights.toarray() if network.is_sparse else np.array(network.weights)
    for f, behaviour in faults.items():
        if isinstance(behaviour, Silent):
            for i in range(network.agents):
                if i != f:
                    W[i, i] += W[i, f]
    keep = [i for i in range(network.agents) if isinstance(faults.get(i), StuckData | None)]
    return W[np.ix_(keep, keep)]


def test_the_stationary_variance_is_the_sum_over_the_past() -> None:
    """Σ_k Q^k (V + …) Q^kᵀ, summed until nothing is left, against the Lyapunov equation."""
    network = Network(
        [[0.4, 0.4, 0.1, 0.1], [0.3, 0.3, 0.2, 0.2], [0, 0.3, 0.4, 0.3], [0.5, 0, 0, 0.5]]
    )
    model = coins(4)
    faults: dict[int, Behaviour] = {2: RandomLies(3.0), 3: ConstantBelief(np.array([0.0, 1.0]))}
    found = faulty_averaging(network, model, faults)
    W = np.asarray(network.weights)
    Q, heard = W[:2, :2], W[:2, 2]
    variance = np.log(3) ** 2 / 4  # two values log 2 and log 2/3, a half each
    total, power = np.zeros((2, 2)), np.eye(2)
    for _ in range(500):
        total += power @ (2 * 9.0 * np.outer(heard, heard)) @ power.T
        power = power @ Q
        total += variance * power @ power.T
    np.testing.assert_allclose(found.variance[:, 1], np.diag(total), rtol=1e-12)
    exact = faulty_log_ratio(network, model, faults, [1, 500])
    np.testing.assert_allclose(exact.variance[-1, :, 1], found.variance[:, 1], rtol=1e-12)
    once = variance * np.diag(Q @ Q.T) + 18 * heard**2
    np.testing.assert_allclose(exact.variance[0, :, 1], once, rtol=1e-13)
    assert (found.lowest[:, 1] == -np.inf).all()


def test_hitting_probabilities_are_those_of_walks() -> None:
    network = Network.from_topology("path", agents=5)
    found = faulty_averaging(network, coins(5), {0: Push(1, 1.0), 4: Push(0, 2.0)})
    # A walk without drift on a path leaves by the other end in proportion to where it starts.
    np.testing.assert_allclose(found.hitting, [[3 / 4, 1 / 4], [1 / 2, 1 / 2], [1 / 4, 3 / 4]])
    np.testing.assert_allclose(found.rates[:, 1], found.hitting @ [-1.0, 2.0])
    assert not found.learns


@pytest.mark.parametrize("position", range(4))
def test_one_constant_agent_stops_everybody(position: int) -> None:
    network = Network.from_topology("path", agents=4)
    found = faulty_averaging(network, coins(4), {position: ConstantBelief(np.zeros(2))})
    assert not found.rates.any()
    assert not found.learns
    assert np.isfinite(found.variance).all()
    assert (found.error_estimates[:, 1] > 0).all()


def test_the_infimum_decides_whether_errors_remain() -> None:
    """A stubborn agent that is right, and sure enough, makes errors impossible; else they stay."""
    network = Network.from_topology("complete", agents=3)
    worst = np.log(0.5 / 0.75)
    # Λ ← (2/3)(Λ + z) + c/3 for two agents alike: the lowest it can get is c + 2·worst.
    for sure in (0.5, 2.0):
        found = faulty_averaging(network, coins(3), {0: ConstantBelief(np.array([sure, 0.0]))})
        np.testing.assert_allclose(found.lowest[:, 1], sure + 2 * worst, rtol=1e-12)
        assert ((found.lowest[:, 1] > 0) == (sure > 1)).all()


def test_normal_evidence_has_no_infimum_for_those_who_hear_it() -> None:
    gauge = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    toss = COIN
    model = FiniteModel.from_agents(["a", "b"], [toss, gauge], counts=[2, 1])
    # Agent 0 hears the speaker 1 and itself; agent 2, the Gaussian one, is heard by 1 alone.
    network = Network([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    found = faulty_averaging(network, model, {1: ConstantBelief(np.zeros(2))})
    assert np.isfinite(found.lowest[0, 1])
    assert found.lowest[1, 1] == -np.inf


def test_stuck_data_turn_the_rate_at_the_threshold() -> None:
    """v_f = I/(I − z): below it the network learns, above it the opposite."""
    information, z = -np.log(0.75) / 2, float(np.log(0.5 / 0.75))
    threshold = information / (information - z)
    for confidence, learns in ((0.9 * threshold, True), (1.1 * threshold, False)):
        # A star of two: v_0 = 2a/(2a + 1) for edge confidence a.
        a = confidence / (2 * (1 - confidence))
        star = Network.from_topology("star", agents=2, edge_confidence=a)
        v = star.stationary_distribution
        assert v[0] == pytest.approx(confidence)
        found = faulty_averaging(star, coins(2), {0: StuckData(0)})
        assert found.rates[0, 1] == pytest.approx(v[1] * information + v[0] * z, rel=1e-12)
        assert found.learns is learns
        assert (found.variance[:, 1] == np.inf).all()


def check_against_late_rounds(
    network: Network, model: FiniteModel, faults: dict[int, Behaviour]
) -> FloatArray:
    """Finite means and variances are those of late rounds, infinite variances still grow there."""
    found = faulty_averaging(network, model, faults)
    late = faulty_log_ratio(network, model, faults, [800, 1600])
    finite = np.isfinite(found.variance)
    # Relative: eight hundred sums of as many products of numbers of one size.
    size = 1 + np.abs(late.variance[0])
    assert (np.abs(late.variance[0] - found.variance)[finite] <= 1e-9 * size[finite]).all()
    assert (late.variance[1] > 1.5 * late.variance[0])[~finite].all()
    np.testing.assert_array_equal(np.isnan(found.mean), ~finite)
    scale = 1 + np.abs(late.mean[0]).max()
    residue = late.mean[0] - 800 * found.rates
    assert (np.abs(residue - found.mean)[finite] <= 1e-9 * scale).all()
    assert (found.lowest <= found.mean + 1e-12 * scale)[finite].all()
    return found.variance


@pytest.mark.parametrize(
    ("weights", "sighted", "faults", "expected"),
    [
        # Agent 0, blind, hears nobody that speaks; agent 1 has evidence and hears 0.
        ([[0.5, 0, 0.5], [0.5, 0.5, 0], [0, 0.5, 0.5]], [1], {2: Silent()}, [0, 0.10058]),
        # Agent 1, blind, hears a liar's noise and agent 0, which is alone.
        (
            [[0.5, 0, 0.5, 0], [0.3, 0.4, 0, 0.3], [0, 0.5, 0.5, 0], [0, 0.5, 0, 0.5]],
            [],
            {2: Silent(), 3: RandomLies(1.0)},
            [0, 0.21429],
        ),
    ],
    ids=["evidence", "noise"],
)
def test_who_hears_only_sets_without_evidence_settles(
    weights: list[list[float]],
    sighted: list[int],
    faults: dict[int, Behaviour],
    expected: list[float],
) -> None:
    agents = [COIN if i in sighted else BLIND for i in range(len(weights))]
    priors = [[0.3, 0.7], *[None] * (len(weights) - 1)]
    model = FiniteModel.from_agents(["fair", "loaded"], agents, priors=priors)
    variance = check_against_late_rounds(Network(weights), model, faults)
    np.testing.assert_allclose(variance[:, 1], expected, atol=1e-5)
    found = faulty_averaging(Network(weights), model, faults)
    # Agent 0 never moves from its prior, and agent 1 hears it with what is left of its weight.
    assert found.mean[0, 1] == pytest.approx(np.log(3 / 7), rel=1e-12)
    assert np.isfinite(found.error_estimates).all()


@settings(max_examples=12)
@given(st.data())
def test_variances_are_those_of_late_rounds(data: st.DataObject) -> None:
    """Silent and stuck agents cut the network into parts, some of them without evidence."""
    network = data.draw(networks(kinds=("directed", "sparse"), min_agents=3, max_agents=6))
    N = network.agents
    sighted = data.draw(st.lists(st.booleans(), min_size=N, max_size=N))
    agents = [COIN if sees else BLIND for sees in sighted]
    model = FiniteModel.from_agents(["fair", "loaded"], agents, priors=[[0.3, 0.7]] * N)
    kinds = st.sampled_from([Silent(), StuckData(0), RandomLies(0.5), Push(1, 0.1)])
    some = st.sets(st.integers(0, N - 1), min_size=1, max_size=N - 1)
    faults = {i: data.draw(kinds) for i in sorted(data.draw(some))}
    chain = np.abs(np.linalg.eigvals(_restricted(network, faults)))
    # The transient must be gone after 800 rounds.
    assume(((chain < 0.95) | (chain > 1 - 1e-12)).all())
    check_against_late_rounds(network, model, faults)


def test_what_is_not_predicted_is_refused() -> None:
    ring = Network.from_topology("ring", agents=5)
    message = r"faults\[2\]: expected a behaviour that does not look at what others say"
    with pytest.raises(ValueError, match=message):
        faulty_averaging(ring, coins(5), {2: Colluding(1)})
    with pytest.raises(ValueError, match="faults: expected at least one honest agent, got none"):
        faulty_averaging(ring, coins(5), {i: Silent() for i in range(5)})
    with pytest.raises(ValueError, match="rounds: expected increasing round numbers"):
        faulty_log_ratio(ring, coins(5), {2: Silent()}, [3, 3])
    with pytest.raises(ValueError, match=r"rounds: expected a whole number of at least 1, got 2.5"):
        faulty_log_ratio(ring, coins(5), {2: Silent()}, [2.5])  # type: ignore[list-item]
    big = Network.from_topology("ring", agents=501)
    with pytest.raises(ValueError, match="network: expected a whole number of at most 500"):
        faulty_averaging(big, coins(501), {2: Silent()})


def test_weights_on_speakers_that_vanish_in_rounding_are_refused() -> None:
    weights = [[0.5 - 1e-14, 0.5, 1e-14], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]
    with pytest.raises(ValueError, match="condition number") as caught:
        faulty_averaging(Network(weights), coins(3), {2: ConstantBelief([0.0, 0.0])})
    assert ";" in str(caught.value)

"""Rates of agents on clocks of their own: networks that are known, recursions, and invariances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models import coins
from tests.strategies import networks
from theory import Network, learning_rate
from theory.changing import (
    DelayedNetwork,
    RandomLinks,
    RandomPresence,
    clock_waits,
    influence,
    measured_rhythm,
    rhythm_rate,
)
from theory.changing.mean_states import expected_weights
from theory.network.structure import as_dense
from theory.validation import FloatArray

SKEW = Network([[0.2, 0.5, 0.3], [0.4, 0.0, 0.6], [0.9, 0.1, 0.0]])
W = np.array(SKEW.weights)
V = SKEW.stationary_distribution
EVERYBODY = np.ones((3, 3))


@settings(max_examples=30)
@given(networks(max_agents=6), st.floats(0.01, 100))
def test_lock_step_is_a_round_every_round(network: Network, seconds: float) -> None:
    waits = np.full((network.agents,) * 2, seconds)
    found = rhythm_rate(as_dense(network.weights), waits)
    v = network.stationary_distribution
    assert found.seconds == pytest.approx(seconds, rel=1e-12)
    np.testing.assert_allclose(found.influence * seconds, v, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.slowness, v, rtol=1e-9, atol=1e-15)
    assert found.slowness.sum() == pytest.approx(1, rel=1e-12)


def test_messages_that_are_late() -> None:
    delays = np.array([[1, 3, 0], [2, 0, 5], [0, 1, 2]])
    known = influence(DelayedNetwork(SKEW, delays)).values
    np.testing.assert_allclose(rhythm_rate(W, 1.0 + delays).influence, known, rtol=1e-13)


@pytest.mark.parametrize("rule", ["own", "renormalise", "last"])
def test_messages_that_are_lost(rule: str) -> None:
    """Rounds a second apart: what is used is of this round, or by "last" (1 − p)/p rounds old."""
    up = np.array([[1.0, 0.9, 0.5], [0.3, 1.0, 0.8], [0.7, 0.6, 1.0]])
    links = RandomLinks(SKEW, up, rule)
    mean, age = W, np.where(np.eye(3), 0.0, (1 - up) / up)
    if rule != "last":
        mean, age = as_dense(expected_weights(links).weights), np.zeros((3, 3))
    found = rhythm_rate(mean, 1.0 + age)
    np.testing.assert_allclose(found.influence, influence(links).values, rtol=1e-12)


def test_agents_that_come_and_go() -> None:
    """Ticks are the rounds in which an agent is there: 1/q apart on average."""
    q = np.array([0.3, 1.0, 0.8])
    weights = W * q
    weights[np.diag_indices(3)] += 1 - weights.sum(axis=1)
    found = rhythm_rate(weights, np.broadcast_to(1 / q, (3, 3)))
    known = influence(RandomPresence(SKEW, q)).values
    np.testing.assert_allclose(found.influence, known, rtol=1e-12)


def test_against_the_recursion() -> None:
    """n_i(t) = Σ_j W_ij (1 + n_j(t − wait_ij)), in whole seconds: effective rounds by time t."""
    waits = np.array([[2, 3, 7], [1, 4, 2], [5, 1, 9]])
    steps = np.zeros((4000, 3))
    for t in range(9, 4000):
        for i in range(3):
            steps[t, i] = sum(W[i, j] * (1 + steps[t - waits[i, j], j]) for j in range(3))
    slope = (steps[-1] - steps[-1001]) / 1000
    # The recursion has forgotten how it began: its slope is the limit's to rounding of the sums.
    np.testing.assert_allclose(slope, rhythm_rate(W, waits).rounds_per_second, rtol=1e-9)


@settings(max_examples=30)
@given(networks(max_agents=6), st.data())
def test_clocks_that_are_off_do_not_matter(network: Network, data: st.DataObject) -> None:
    agents = network.agents
    numbers = st.lists(st.floats(0.5, 2.0), min_size=agents, max_size=agents)
    waits = clock_waits(data.draw(numbers), ticking="random")
    off = np.array(data.draw(numbers)) - 1.0
    weights = as_dense(network.weights)
    plain = rhythm_rate(weights, waits)
    shifted = rhythm_rate(weights, waits + off[:, None] - off[None, :])
    assert shifted.seconds == pytest.approx(plain.seconds, rel=1e-9)


def test_slowness_is_what_a_slower_agent_costs() -> None:
    waits = clock_waits([1.0, 2.0, 0.5], delays=0.1)
    found = rhythm_rate(W, waits)
    for j in range(3):
        slower = waits.copy()
        slower[:, j] *= 1 + 1e-6
        loss = 1 - rhythm_rate(W, slower).rounds_per_second / found.rounds_per_second
        assert loss == pytest.approx(1e-6 * found.slowness[j], rel=1e-5)


def test_whose_evidence_counts_does_not_depend_on_the_rhythm() -> None:
    """And where messages are used as soon as they are made: the v-weighted harmonic mean."""
    for periods in ([1.0, 1.0, 1.0], [1.0, 30.0, 0.1]):
        found = rhythm_rate(W, clock_waits(periods))
        np.testing.assert_allclose(found.influence / found.influence.sum(), V, rtol=1e-13)
        fresh = rhythm_rate(W, np.broadcast_to(periods, (3, 3)))
        assert fresh.seconds == pytest.approx(V @ periods, rel=1e-13)
        assert fresh.seconds < found.seconds


def test_waits_of_clocks() -> None:
    """A gap, and for others a delay and half a gap or, at random, a whole one."""
    delays = np.array([[9.0, 0.1], [0.2, 9.0]])
    regular = clock_waits([1.0, 3.0], delays=delays)
    np.testing.assert_allclose(regular, [[1.0, 4.6], [1.7, 3.0]], rtol=1e-15)
    random = clock_waits([1.0, 3.0], delays=delays, ticking="random")
    np.testing.assert_allclose(random, [[1.0, 6.1], [2.2, 3.0]], rtol=1e-15)


def test_rates_of_a_model() -> None:
    found = rhythm_rate(W, 0.25 * EVERYBODY)
    rate = learning_rate(SKEW, coins(3)).rate
    assert learning_rate(found, coins(3)).rate == pytest.approx(4 * rate, rel=1e-14)
    with pytest.raises(ValueError, match=r"^model: expected as many agents as the network, 3"):
        learning_rate(found, coins(2))


def test_sums_that_were_kept() -> None:
    rng = np.random.default_rng(0)
    waits = rng.uniform(0.5, 2.0, size=(3, 3))
    poolings = np.array([20, 31, 7])
    sums = W * poolings[:, None]
    found = measured_rhythm(sums, sums * waits, poolings=poolings)
    plain = rhythm_rate(W, waits)
    assert found.seconds == pytest.approx(plain.seconds, rel=1e-14)
    np.testing.assert_allclose(found.slowness, plain.slowness, rtol=1e-14)
    # A fourth agent was away, and nobody weighed it.
    wider = np.zeros((2, 4, 4))
    wider[:, :3, :3] = sums, sums * waits
    four = measured_rhythm(*wider)
    np.testing.assert_allclose(four.influence, [*plain.influence, 0.0], rtol=1e-14)
    with pytest.raises(ValueError, match=r"^poolings: expected .* too few of agent 2"):
        measured_rhythm(sums, sums * waits, poolings=poolings, at_least=8)


def sums(*rows: list[float]) -> FloatArray:
    return np.array(rows)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: rhythm_rate(W[:2], EVERYBODY[:2]), r"weights: expected shape \(N, N\)"),
        (lambda: rhythm_rate(2 * W, EVERYBODY), "weights: expected probabilities that sum"),
        (lambda: rhythm_rate(W, EVERYBODY[:2]), r"waits: expected shape \(3, 3\)"),
        (lambda: rhythm_rate(W, np.nan * EVERYBODY), "waits: expected finite"),
        (lambda: rhythm_rate(W, 0 * EVERYBODY), "waits: expected a positive mean"),
        (
            lambda: rhythm_rate(np.eye(2), np.ones((2, 2))),
            r"weights: expected agents that all hear.* 2 groups .*: \[0\], \[1\]",
        ),
        (lambda: measured_rhythm(W, W[:2]), "waits: expected shape"),
        (lambda: measured_rhythm(-W, W), "weights: expected sums"),
        (lambda: measured_rhythm(0 * W, W), "weights: expected agents that pool"),
        (
            lambda: measured_rhythm(sums([1, 1], [0, 0]), sums([1, 1], [0, 0])),
            "poolings: expected every agent that is heard to pool, got too few of agent 1",
        ),
        (lambda: clock_waits([]), "periods: expected positive"),
        (lambda: clock_waits([1, 0]), "periods: expected positive"),
        (lambda: clock_waits([1, 1], delays=-1), "delays: expected"),
        (lambda: clock_waits([1, 1], delays=[1, 1]), "delays: expected"),
        (lambda: clock_waits([1, 1], ticking="quartz"), "ticking: expected one of regular, random"),
    ],
)
def test_bad_arguments_are_named(build: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        build()

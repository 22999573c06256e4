from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models import COIN, coins
from tests.strategies import changing_networks
from tests.theory.changing.oracles import phase_rounds, possible_rounds
from theory import FiniteAgent, FiniteModel, Network, expected_log_ratio, learning_rate
from theory.changing import (
    ChangingNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
    influence,
    rotating_star,
)
from theory.changing.mean_states import expected_weights, mean_shares
from theory.changing.presence import joint_presence
from theory.changing.stationary import (
    before_first,
    by_markov_phase,
    by_phase,
    iterated,
    joint_walk,
    stationary_vector,
)
from theory.changing.trajectories import influence_samples
from theory.validation import FloatArray

RING = Network.from_topology("ring", agents=5)
SKEW = Network([[0.2, 0.5, 0.3], [0.4, 0.0, 0.6], [0.9, 0.1, 0.0]])


def test_periodic_phases_in_fractions() -> None:
    """v(s) from the linear equations in exact arithmetic; one phase has no positive diagonal."""
    F = Fraction
    weights = [
        [[F(1, 2), F(1, 2), F(0)], [F(0), F(1), F(0)], [F(0), F(1, 3), F(2, 3)]],
        [[F(0), F(0), F(1)], [F(1, 4), F(0), F(3, 4)], [F(0), F(1), F(0)]],
    ]
    active = [[0, 2], [1]]

    def product(a: list[list[Fraction]], b: list[list[Fraction]]) -> list[list[Fraction]]:
        return [
            [sum(x * y for x, y in zip(r, c, strict=True)) for c in zip(*b, strict=True)] for r in a
        ]

    def stationary(p: list[list[Fraction]]) -> list[Fraction]:
        # Two steps of elimination by hand, on v (P − 1) = 0 with v_2 = 1.
        a, b = p[0][0] - 1, p[1][0]
        c, d = p[0][1], p[1][1] - 1
        e, f = -p[2][0], -p[2][1]
        det = a * d - b * c
        v = [(e * d - b * f) / det, (a * f - c * e) / det, F(1)]
        return [x / sum(v) for x in v]

    v0 = stationary(product(weights[1], weights[0]))
    v1 = stationary(product(weights[0], weights[1]))
    u = [v0[0] / 2, v1[1] / 2, v0[2] / 2]
    network = PeriodicNetwork(
        [Phase(np.array(w, dtype=float), a) for w, a in zip(weights, active, strict=True)]
    )
    found = influence(network)
    np.testing.assert_allclose(before_first(network), found.by_phase[0], rtol=1e-14)
    np.testing.assert_allclose(found.values, np.array(u, dtype=float), rtol=1e-14)
    np.testing.assert_allclose(found.by_phase, np.array([v0, v1], dtype=float), rtol=1e-14)


@given(changing_networks(changes=("periodic",)))
@settings(max_examples=40)
def test_periodic_phases_are_the_limit_of_their_products(network: ChangingNetwork) -> None:
    assert isinstance(network, PeriodicNetwork)
    rounds = phase_rounds(network)
    values = by_phase(network)
    for s in range(network.period):
        product = np.eye(network.agents)
        for step in range(network.period):  # W_s is applied first
            product = rounds[(s + step) % network.period][0] @ product
        for _ in range(60):  # 2^60 periods
            product = product @ product
            product /= product.sum(axis=1, keepdims=True)
        # Squaring loses about sixty roundings, GTH none to speak of.
        np.testing.assert_allclose(product, np.tile(values[s], (network.agents, 1)), atol=1e-12)
    expected = np.mean([v * a for v, (_, a) in zip(values, rounds, strict=True)], axis=0)
    np.testing.assert_allclose(influence(network).values, expected, rtol=1e-14)


def test_an_agent_may_be_heard_in_no_phase_in_which_it_observes() -> None:
    """Agent 1 observes just before its log-belief is replaced: its data are lost, and named."""
    phases = [
        Phase([[1.0, 0.0], [1.0, 0.0]], [0, 1]),
        Phase([[0.5, 0.5], [0.0, 1.0]], [0]),
    ]
    found = influence(PeriodicNetwork(phases))
    assert found.unheard.tolist() == [1]
    assert found.values.tolist() == [0.75, 0.0]
    only_one = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.5, 0.5]]]
    )
    model = FiniteModel.from_agents(["fair", "loaded"], [only_one, COIN])
    assert learning_rate(PeriodicNetwork(phases), model).rate == 0


@pytest.mark.parametrize(
    ("groups", "size", "a"), [(5, 5, 0.5), (10, 10, 0.5), (3, 2, 0.1), (1, 4, 0.9)]
)
def test_the_rotating_star_has_a_formula(groups: int, size: int, a: float) -> None:
    """v is the same in every phase: (m + 1)a and ones, over their sum (docs)."""
    found = influence(rotating_star(groups=groups, group_size=size, edge_confidence=a))
    total = (size + 1) * a + groups * size
    v = np.append((size + 1) * a, np.ones(groups * size)) / total
    np.testing.assert_allclose(found.by_phase, np.tile(v, (groups, 1)), rtol=1e-13)
    np.testing.assert_allclose(found.values, np.append(v[0], v[1:] / groups), rtol=1e-13)


@given(changing_networks(changes=("markov",)))
@settings(max_examples=30)
def test_three_ways_to_solve_for_a_chain_of_phases(network: ChangingNetwork) -> None:
    assert isinstance(network, MarkovNetwork)
    values = by_markov_phase(network)
    np.testing.assert_allclose(iterated(network), values, atol=1e-10)  # GMRES to 1e-11
    joint = stationary_vector(joint_walk(network)).reshape(values.shape)
    np.testing.assert_allclose(joint.sum(axis=1), network.stationary_phases, rtol=1e-12)
    rounds = phase_rounds(network)
    for s, (weights, _) in enumerate(rounds):
        expected = network.transition[s] @ values @ weights
        np.testing.assert_allclose(values[s], expected, rtol=1e-9, atol=1e-14)


@given(changing_networks(changes=("periodic",)))
@settings(max_examples=20)
def test_periodic_and_independent_phases_are_special_chains(network: ChangingNetwork) -> None:
    assert isinstance(network, PeriodicNetwork)
    count = network.period
    turns = MarkovNetwork(network.phases, np.roll(np.eye(count), 1, axis=1))
    np.testing.assert_allclose(by_markov_phase(turns), by_phase(network), rtol=1e-9, atol=1e-13)
    law = np.arange(1.0, count + 1) / (count * (count + 1) / 2)
    drawn = MarkovNetwork.independent(network.phases, law)
    joint = stationary_vector(joint_walk(drawn)).reshape(count, -1)
    found = by_markov_phase(drawn)
    np.testing.assert_allclose(found, joint / law[:, None], rtol=1e-9, atol=1e-13)


def test_a_chain_that_hardly_ever_moves() -> None:
    """Long stays in each phase: m(s) tends to the stationary vector of that phase alone."""
    phases = (Phase([[0.9, 0.1], [0.6, 0.4]]), Phase([[0.5, 0.5], [0.1, 0.9]]))
    eps = 1e-9
    network = MarkovNetwork(phases, np.array([[1 - eps, eps], [3 * eps, 1 - 3 * eps]]))
    np.testing.assert_allclose(network.stationary_phases, [0.75, 0.25], rtol=1e-12)
    each = [Network(p.weights).stationary_distribution for p in phases]
    # To first order in eps; the elimination itself does not lose digits.
    np.testing.assert_allclose(by_markov_phase(network), each, rtol=1e-7)


def test_clocks_count_what_an_agent_keeps() -> None:
    """u_j = v_j W_jj / Σ_l v_l/p_l: an agent that ticks observes, and then keeps W_jj of it."""
    rates = np.array([1.0, 5.0, 2.0])
    found = influence(MarkovNetwork.clocks(SKEW, rates))
    v, p = SKEW.stationary_distribution, rates / rates.sum()
    expected = v * np.diag(SKEW.weights) / (v / p).sum()
    np.testing.assert_allclose(found.values, expected, rtol=1e-13)
    assert found.unheard.tolist() == [1, 2]
    np.testing.assert_allclose(found.per_time, 8 * expected, rtol=1e-13)
    assert influence(MarkovNetwork.gossip_pairs(RING)).per_time is None


def test_gossip_counts_everybody_by_how_often_it_meets() -> None:
    found = influence(MarkovNetwork.gossip_pairs([[0, 1], [1, 2]], probabilities=[0.25, 0.75]))
    np.testing.assert_allclose(found.values, [0.25 / 3, 1 / 3, 0.75 / 3], rtol=1e-13)


@pytest.mark.parametrize("on_loss", ["own", "renormalise"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_expected_weights_by_enumeration(on_loss: str, symmetric: bool) -> None:
    up: float | FloatArray = np.array([[1, 0.3, 0.8], [0.5, 1, 0.01], [0.99, 0.4, 1]])
    if symmetric:
        up = np.maximum(up, up.T)
    network = RandomLinks(SKEW, up, on_loss, symmetric=symmetric)  # type: ignore[arg-type]
    rounds = possible_rounds(network)
    assert sum(chance for chance, _, _ in rounds) == pytest.approx(1, rel=1e-12)
    mean = sum(chance * weights for chance, weights, _ in rounds)
    found = expected_weights(network)
    # Sixty-four cases of order one; the integral is right to rounding.
    np.testing.assert_allclose(found.weights.toarray(), mean, rtol=1e-12)
    u = influence(network).values
    np.testing.assert_allclose(u @ mean, u, rtol=1e-12)


@given(
    st.lists(
        st.tuples(st.sampled_from([1e-6, 0.01, 0.3, 1.0]), st.sampled_from([1e-3, 0.5, 1.0])),
        min_size=1,
        max_size=7,
    ),
    st.sampled_from([0.0, 1e-7, 0.2]),
)
@settings(max_examples=40)
def test_shares_of_what_arrives(links: list[tuple[float, float]], own: float) -> None:
    weights, up = np.array(links).T
    scale = weights.sum() + own
    weights, own = weights / scale, own / scale
    expected = np.zeros(len(links))
    for case in range(2 ** len(links)):
        here = (case >> np.arange(len(links))) & 1
        chance = np.prod(np.where(here, up, 1 - up))
        if here.any():
            expected += chance * weights * here / (own + weights @ here)
    np.testing.assert_allclose(mean_shares(own, weights, up), expected, rtol=1e-12)


def test_presence_by_enumeration() -> None:
    network = RandomPresence(SKEW, np.array([0.3, 1.0, 0.8]))
    rounds = possible_rounds(network)
    mean = sum(chance * weights for chance, weights, _ in rounds)
    observed = sum(chance * weights * here for chance, weights, here in rounds)
    found = expected_weights(network)
    np.testing.assert_allclose(found.weights.toarray(), mean, atol=1e-15)
    np.testing.assert_allclose(found.observed.toarray(), observed, atol=1e-15)
    mean_vector = Network(mean).stationary_distribution
    u = influence(network).values
    np.testing.assert_allclose(u, mean_vector @ observed, rtol=1e-13)
    np.testing.assert_allclose(u, mean_vector * network.present, rtol=1e-13)  # docs


def test_absences_of_given_length() -> None:
    """As long as with independent rounds: the same numbers. Longer ones: measured on a course."""
    q = np.array([0.3, 1.0, 0.8])
    drawn = influence(RandomPresence(SKEW, q)).values
    memoryless = influence(RandomPresence(SKEW, q, np.maximum(1.0, 1 / q))).values
    np.testing.assert_allclose(memoryless, drawn, rtol=1e-12)
    # The stays and absences of agent 0 are ten times longer.
    long = RandomPresence(SKEW, q, 10 / q)
    u = influence(long).values
    assert abs(u - drawn).max() > 0.01
    course = influence_samples(long, samples=40_000, seed=1)
    batches = course.reshape(40, 1000, 3).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(40)
    # The seed is fixed; at five standard errors a wrong law fails, chance does not.
    assert (np.abs(batches.mean(axis=0) - u) < 5 * error).all()
    assert (error < 0.02).all()
    crowd = Network.from_topology("ring", agents=12)
    with pytest.raises(ValueError, match="at most 10 agents that come and go"):
        influence(RandomPresence(crowd, np.full(12, 0.5), np.full(12, 3.0)))
    assert len(joint_presence(RandomPresence(SKEW, np.ones(3), np.ones(3))).phases) == 1


def augmented(network: DelayedNetwork) -> FloatArray:
    """The delayed recursion as one stochastic matrix on what everybody said when."""
    parts = [part.toarray() for part in network.weights_by_delay]
    size, depth = network.agents, len(parts)
    matrix = np.zeros((size * depth, size * depth))
    matrix[:size] = np.hstack(parts)
    matrix[size:, :-size] = np.eye(size * (depth - 1))
    return matrix


@pytest.mark.parametrize(
    "delays", [0, 1, 4, [[0, 3, 1], [2, 0, 0], [0, 5, 0]], [[1, 3, 1], [2, 1, 0], [0, 5, 2]]]
)
def test_delays_scale_the_influence(delays: int | list[list[int]]) -> None:
    network = DelayedNetwork(SKEW, np.array(delays) if isinstance(delays, list) else delays)
    values, vectors = np.linalg.eig(augmented(network).T)
    left = vectors[:, np.argmax(values.real)].real
    left /= left.sum()
    found = influence(network)
    np.testing.assert_allclose(found.values, left[:3], rtol=1e-10)  # an eigenvector solver's digits
    table = np.array(network.delays) * np.ones((3, 3))
    if np.ndim(network.delays) == 0:
        table -= np.diag(np.diag(table))
    age = SKEW.stationary_distribution @ (SKEW.weights * table).sum(axis=1)
    assert found.mean_age == pytest.approx(age, abs=1e-14)
    assert found.total == pytest.approx(1 / (1 + age), rel=1e-14)


def test_old_messages_scale_the_influence() -> None:
    """The expected recursion on log-beliefs and remembered messages, as one stochastic matrix."""
    up = np.array([[1, 0.3, 0.8], [0.5, 1, 0.01], [0.99, 0.4, 1]])
    network = RandomLinks(SKEW, up, "last")
    edges = network.network.edges
    size, links = 3, len(edges)
    matrix = np.zeros((size + links, size + links))
    for row, (i, j) in enumerate(edges, start=size):
        matrix[row, j] = up[i, j]
        matrix[row, row] = 1 - up[i, j]
        matrix[i] += SKEW.weights[i, j] * matrix[row]
    matrix[:size, :size] += np.diag(np.diag(SKEW.weights))
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-14)
    left = Network(matrix).stationary_distribution
    # An observation enters what its agent says, which reaches the state as its log-belief does.
    np.testing.assert_allclose(influence(network).values, left[:size], rtol=1e-12)


@given(changing_networks())
@settings(max_examples=40)
def test_the_rate_is_the_slope_of_the_mean(network: ChangingNetwork) -> None:
    """Two computations that share no code but the mean weights."""
    agents = network.agents
    model = FiniteModel.from_agents(
        ["fair", "loaded"],
        [
            FiniteAgent.from_tables(
                inputs=[1.0],
                truth=[[0.5, 0.5]],
                likelihood=[[[0.5, 0.5]], [[0.6 + 0.05 * j, 0.4 - 0.05 * j]]],
            )
            for j in range(agents)
        ],
    )
    period = network.period if isinstance(network, PeriodicNetwork | MarkovNetwork) else 1
    ahead = [10**7 * period, 2 * 10**7 * period]
    one, two = expected_log_ratio(network, model, ahead, best=0).values[:, :, 1]
    rate = learning_rate(network, model).rates[1]
    np.testing.assert_allclose((two - one) / (10**7 * period), rate, rtol=1e-7)


def test_many_phases() -> None:
    """A thousand agents in a hundred phases, and the phases of a chain on two hundred."""
    star = rotating_star(groups=100, group_size=10, edge_confidence=0.5)
    assert influence(star).total == pytest.approx((5.5 + 10) / (5.5 + 1000), rel=1e-12)
    ring = Network.from_topology("ring", agents=200)
    walk = influence(MarkovNetwork.walk(ring))
    np.testing.assert_allclose(walk.values, walk.values[0], rtol=1e-8)
    with pytest.raises(ValueError, match="as many agents as the network, 1001"):
        learning_rate(star, coins(3))

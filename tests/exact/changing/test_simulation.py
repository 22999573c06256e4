"""Networks that change, run: against exact means, against the papers' form, against `simulate`."""

from __future__ import annotations

from importlib import import_module
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from exact import Run, prepare, simulate
from exact.changing.exchange import worth_dense
from exact.changing.simulation import changing_task
from tests.exact.test_learning import assert_within, mixed_model
from tests.models import coins
from tests.runs import arguments
from theory import FiniteAgent, FiniteModel, Network, expected_log_ratio
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
from theory.changing.phase import moving_rows
from theory.network.structure import as_dense
from theory.validation import FloatArray

TRIO = Network([[0.5, 0.5, 0.0], [0.1, 0.6, 0.3], [0.2, 0.0, 0.8]])
# No agent hears itself: what is lost has nowhere else to go.
DEAF = Network([[0.0, 0.5, 0.5], [0.25, 0.0, 0.75], [1.0, 0.0, 0.0]])
STILL = Phase(np.eye(3), [0])
UP = np.array([[1.0, 0.3, 0.5], [0.8, 1.0, 0.6], [0.4, 1.0, 1.0]])
DELAYS = np.array([[0, 2, 1], [3, 0, 1], [1, 4, 1]])

NETWORKS = {
    "periodic": PeriodicNetwork((Phase(TRIO.weights, [0, 2]), STILL, Phase(DEAF.weights, [1]))),
    "markov": MarkovNetwork(
        (Phase(TRIO.weights, [0, 2]), STILL, Phase(DEAF.weights, [1])),
        np.array([[0.1, 0.6, 0.3], [0.5, 0.0, 0.5], [0.9, 0.1, 0.0]]),
        initial=np.array([0.0, 1.0, 0.0]),
    ),
    "independent": MarkovNetwork.independent((Phase(TRIO.weights), STILL), [0.3, 0.7]),
    "clocks": MarkovNetwork.clocks(TRIO, [1.0, 2.0, 0.5]),
    "gossip": MarkovNetwork.gossip_pairs([[0, 1], [1, 2]], agents=3),
    "walk": MarkovNetwork.walk(TRIO),
    "own": RandomLinks(TRIO, UP, "own"),
    "renormalise": RandomLinks(DEAF, UP, "renormalise"),
    "last": RandomLinks(TRIO, UP, "last"),
    "symmetric": RandomLinks(Network.from_topology("path", agents=3), 0.4, symmetric=True),
    "present": RandomPresence(TRIO, 0.6),
    "away": RandomPresence(TRIO, [0.9, 0.3, 0.6], mean_absence=4.0),
    "delays": DelayedNetwork(TRIO, DELAYS),
}


def expected_by_hand(network: ChangingNetwork, model: FiniteModel, rounds: int) -> FloatArray:
    """E Λ_t against hypothesis 0, shape (T, N, M), from the definitions of each kind."""
    gain = model.information(0)
    start = (model.log_priors[:, [0]] - model.log_priors)[model.assignment]
    match network:
        case DelayedNetwork():
            table = np.broadcast_to(network.delays, (network.agents,) * 2)
            return expected_delayed(as_dense(network.network.weights), table, gain, start, rounds)
        case RandomLinks(on_loss="last"):
            return expected_last(network, gain, start, rounds)
        case PeriodicNetwork():
            phases = network.phases
            shift = np.roll(np.eye(len(phases)), 1, axis=1)
            return expected_phases(phases, shift, np.eye(len(phases))[0], gain, start, rounds)
        case MarkovNetwork():
            chain, first = network.transition, network.first_phases
            return expected_phases(network.phases, chain, first, gain, start, rounds)
        case RandomPresence():
            return expected_phases(*presence_phases(network), gain, start, rounds)
        case _:
            phases, chances = link_phases(network)
            chain = np.broadcast_to(chances, (len(phases),) * 2)
            return expected_phases(phases, chain, chances, gain, start, rounds)


def expected_phases(
    phases: tuple[Phase, ...],
    chain: FloatArray,
    first: FloatArray,
    gain: FloatArray,
    start: FloatArray,
    rounds: int,
) -> FloatArray:
    """m_s(t) = E[Λ_t; phase s] = W_s (Σ_r Q_rs m_r(t − 1) + P(s) A_s I)."""
    chance = first
    before = np.array([c * start for c in first])  # E[Λ_{t−1}; phase of round t]
    out = []
    for _ in range(rounds):
        after = np.array(
            [
                as_dense(phase.weights) @ (before[s] + chance[s] * phase.observes[:, None] * gain)
                for s, phase in enumerate(phases)
            ]
        )
        out.append(after.sum(axis=0))
        before = np.einsum("rs,rim->sim", chain, after)
        chance = chance @ chain
    return np.array(out)


def link_phases(network: RandomLinks) -> tuple[tuple[Phase, ...], FloatArray]:
    """Every pattern of links that are up, with its weights and its probability."""
    w = as_dense(network.network.weights)
    agents = network.agents
    up = np.broadcast_to(network.up, w.shape)
    links = [(i, j) for i, j in np.argwhere(w > 0).tolist() if i != j]
    coins = [(i, j) for i, j in links if not network.symmetric or i < j]
    phases, chances = [], []
    for pattern in product([True, False], repeat=len(coins)):
        works = dict(zip(coins, pattern, strict=True))
        m = np.diag(w.diagonal())
        for i, j in links:
            if works[min(i, j), max(i, j)] if network.symmetric else works[i, j]:
                m[i, j] = w[i, j]
        if network.on_loss == "own":
            m += np.diag(1 - m.sum(axis=1))
        else:
            total = m.sum(axis=1, keepdims=True)
            m = np.where(total > 0, m / np.where(total > 0, total, 1), np.eye(agents))
        phases.append(Phase(m))
        chances.append(np.prod([up[c] if works[c] else 1 - up[c] for c in coins]))
    return tuple(phases), np.array(chances)


def presence_phases(
    network: RandomPresence,
) -> tuple[tuple[Phase, ...], FloatArray, FloatArray]:
    """Every set of agents that are present, as the states of a Markov chain."""
    w = as_dense(network.network.weights)
    states = list(product([True, False], repeat=network.agents))
    phases = []
    for state in states:
        here = np.array(state)
        m = w * here[None, :] * here[:, None] * (1 - np.eye(len(w)))
        phases.append(Phase(m + np.diag(1 - m.sum(axis=1)), here))
    leaving, returning = network.leaving, network.returning

    def step(before: tuple[bool, ...], after: tuple[bool, ...]) -> float:
        come = [1 - leaving[i] if b else returning[i] for i, b in enumerate(before)]
        return float(np.prod([c if a else 1 - c for c, a in zip(come, after, strict=True)]))

    chain = np.array([[step(a, b) for b in states] for a in states])
    first = [np.prod(np.where(state, network.present, 1 - network.present)) for state in states]
    return tuple(phases), chain, np.array(first)


def expected_delayed(
    weights: FloatArray, delays: FloatArray, gain: FloatArray, start: FloatArray, rounds: int
) -> FloatArray:
    """Λ_i(t) = Σ_j W_ij b_j(t − d_ij) with b_j(t) = Λ_j(t − 1) + I_j, and the prior before."""
    said, out, state = [start], [], start
    for t in range(1, rounds + 1):
        said.append(state + gain)
        state = np.zeros_like(start)
        for i, j in np.argwhere(weights > 0):
            state[i] += weights[i, j] * said[max(0, t - delays[i, j])][j]
        out.append(state)
    return np.array(out)


def expected_last(
    network: RandomLinks, gain: FloatArray, start: FloatArray, rounds: int
) -> FloatArray:
    """E M_ij(t) = p E b_j(t) + (1 − p) E M_ij(t − 1): whether it is up is drawn afresh."""
    w = as_dense(network.network.weights)
    up = np.broadcast_to(network.up, w.shape)[..., None] * (1 - np.eye(len(w)))[..., None]
    up = up + np.eye(len(w))[..., None]
    memory, state, out = np.broadcast_to(start, (len(w), *start.shape)), start, []
    for _ in range(rounds):
        memory = up * (state + gain) + (1 - up) * memory
        state = np.einsum("ij,ijm->im", w, memory)
        out.append(state)
    return np.array(out)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_mean_is_the_exact_one(name: str) -> None:
    """By the definitions of each kind, and by the theory; data and network both vary."""
    network, model = NETWORKS[name], mixed_model(3)
    run = simulate(network, model, run=Run(rounds=40, replicates=4000, seed=11, record=[1, 7, 40]))
    by_hand = expected_by_hand(network, model, 40)[run.rounds - 1]
    assert run.best == 0
    # The seed is fixed; at five standard errors a wrong law fails, chance does not.
    assert_within(run.mean, by_hand, run.standard_error, sigmas=5)
    assert_within(run.network_mean, by_hand.mean(axis=1), run.network_standard_error, sigmas=5)
    # And it is measured well enough for that to mean something.
    assert (run.standard_error[-1, :, 1:] < 0.05 * np.abs(by_hand[-1, :, 1:])).all()
    theory = expected_log_ratio(network, model, run.rounds, best=0).values
    np.testing.assert_allclose(theory, by_hand, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_rate_is_that_of_the_influence(name: str) -> None:
    network, model = NETWORKS[name], coins(3)
    run = simulate(network, model, run=Run(rounds=400, replicates=2000, seed=2, record=[100, 400]))
    slope = (run.mean[1] - run.mean[0])[:, 1] / 300  # whole periods
    rate = float(influence(network).values @ model.information(0)[:, 1])
    error = run.standard_error[:, :, 1].sum(axis=0) / 300
    assert (np.abs(slope - rate) < 5 * error).all()
    assert (error < 0.03 * rate).all()


@pytest.mark.parametrize("sparse_weights", [False, True])
@pytest.mark.parametrize("model", [mixed_model(3), coins(3)])
@pytest.mark.parametrize(
    "change",
    [
        lambda network: network,
        lambda network: PeriodicNetwork([network.weights]),
        lambda network: MarkovNetwork.independent([network.weights] * 2, [0.5, 0.5]),
        lambda network: RandomLinks(network, 1.0, "own"),
        lambda network: RandomLinks(network, 1.0, "renormalise"),
        lambda network: RandomLinks(network, 1.0, "last"),
        lambda network: RandomPresence(network, 1.0),
        lambda network: DelayedNetwork(network, 0),
    ],
)
def test_a_change_of_nothing_is_no_change(
    change: object, model: FiniteModel, sparse_weights: bool
) -> None:
    """The same data with the same seed, and so the same numbers up to rounding."""
    how = Run(rounds=50, replicates=300, seed=4, paths=2)
    static = simulate(TRIO, model, run=how)
    weights = sparse.csr_array(TRIO.weights) if sparse_weights else TRIO.weights
    changed = change(Network(weights))
    # The task of networks that change runs one that stays, too, where `simulate` has a quicker way.
    run = changing_task(changed, model, run=how).simulate()
    np.testing.assert_allclose(run.mean, static.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run.paths, static.paths, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run.standard_error, static.standard_error, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(run.errors, static.errors)
    np.testing.assert_array_equal(run.settled, static.settled)


def test_many_hypotheses_few_kinds_of_evidence() -> None:
    """Fewer columns are carried than there are hypotheses, and none is lost."""
    heads = np.linspace(0.1, 0.9, 12)
    coin = FiniteAgent([0.4, 0.6], np.log([heads, 1 - heads]).T)
    model = FiniteModel.from_agents([f"{p:.2f}" for p in heads], [coin], counts=[3])
    run = simulate(NETWORKS["own"], model, run=Run(rounds=30, replicates=500, seed=0))
    exact = expected_log_ratio(NETWORKS["own"], model, run.rounds, best=run.best).values
    assert_within(run.mean, exact, run.standard_error, sigmas=5)


def test_reference_follows_the_influence() -> None:
    """Two camps of opposite data: who rests more has less of a say, and the network sides so."""
    towards = [[[0.8, 0.2]], [[0.2, 0.8]]]
    yes = FiniteAgent.from_tables(inputs=[1.0], truth=[[0.8, 0.2]], likelihood=towards)
    no = FiniteAgent.from_tables(inputs=[1.0], truth=[[0.2, 0.8]], likelihood=towards)
    model = FiniteModel.from_agents(["yes", "no"], [yes, no])
    pair = np.array([[0.5, 0.5], [0.5, 0.5]])
    for often, reference in ((0, (0,)), (1, (1,))):
        network = PeriodicNetwork((Phase(pair), Phase(pair, [often])))
        run = simulate(network, model, run=Run(rounds=200, replicates=50, seed=1))
        assert run.reference == reference
        assert run.errors[-1] == 0


@pytest.mark.parametrize("name", ["periodic", "markov", "independent", "gossip"])
def test_dense_products_and_loops_give_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few agents are pooled by dense products; told that these are slow, by loops over weights."""
    how = Run(rounds=30, replicates=300, seed=6, paths=5)
    dense = simulate(NETWORKS[name], mixed_model(3), run=how)
    assert worth_dense(moving_rows(TRIO.weights), TRIO.agents)
    monkeypatch.setattr(import_module("exact.changing.exchange"), "DENSE_SPEED", 0)
    assert not worth_dense(moving_rows(TRIO.weights), TRIO.agents)
    loops = simulate(NETWORKS[name], mixed_model(3), run=how)
    np.testing.assert_allclose(loops.paths, dense.paths, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(loops.mean, dense.mean, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["gossip", "clocks", "walk"])
def test_many_phases_of_few_rows(kind: str) -> None:
    ring = Network.from_topology("ring", agents=30)
    network = {
        "gossip": MarkovNetwork.gossip_pairs(ring),
        "clocks": MarkovNetwork.clocks(ring, np.linspace(1, 2, 30)),
        "walk": MarkovNetwork.walk(ring),
    }[kind]
    run = simulate(network, coins(30), run=Run(rounds=90, replicates=1000, seed=8, record=[9, 90]))
    exact = expected_log_ratio(network, coins(30), run.rounds, best=0).values
    assert_within(run.mean, exact, run.standard_error, sigmas=5)
    assert (run.standard_error[-1, :, 1] < 0.1 * exact[-1, :, 1].mean()).all()


def test_rotating_stars_of_the_paper() -> None:
    star = rotating_star(groups=5, group_size=5, edge_confidence=0.5)
    run = simulate(star, coins(26), run=Run(rounds=100, replicates=400, seed=8))
    exact = expected_log_ratio(star, coins(26), run.rounds, best=0).values
    assert_within(run.mean, exact, run.standard_error, sigmas=5)
    # Only the centre and five others observe in the first round.
    assert (run.standard_error[0, :6, 1] > 0).all()
    assert (run.standard_error[0, 6:, 1] == 0).all()


def test_large_sparse_networks_run() -> None:
    ring = Network.from_topology("ring", agents=20_000, sparse=True)
    model = coins(20_000)
    for network in (
        RandomLinks(ring, 0.9, "last"),
        RandomPresence(ring, 0.9),
        DelayedNetwork(ring, 2),
        PeriodicNetwork((Phase(ring.weights), Phase(ring.weights, [0]))),
    ):
        run = simulate(network, model, run=Run(rounds=3, replicates=2, seed=0))
        assert run.mean.shape == (3, 20_000, 2)
        assert np.isfinite(run.mean).all()
    # All agents of the last network observe in the first round, and one in the second. W of a ring
    # is doubly stochastic: the average is that of 40 000 draws, and what a single one adds.
    average = run.network_mean[1, 1]
    law = model.kinds[0].log_ratio_law(0, 1)
    # Five standard errors of the mean of the draws.
    assert abs(average - law.mean) < 5 * np.sqrt(law.variance / 40_000) + 1e-4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": coins(2)}, "model: expected one agent for each of the network's 3, got 2;"),
        ({"rounds": 10**15}, "rounds × replicates × agents: expected at most 1e"),
        ({"memory": "1K"}, "memory: expected"),
        ({"network": Phase(np.eye(3))}, "network: expected a network, or one of the kinds in"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, object], message: str) -> None:
    good = {"model": coins(3), "rounds": 10, "replicates": 4, "seed": 0}
    with pytest.raises(ValueError, match=f"^{message}"):
        simulate(**arguments({"network": NETWORKS["own"]} | good | options))


def test_memory_is_foreseen_and_refused() -> None:
    """History and memory of links are counted in."""
    ring = Network.from_topology("ring", agents=2000)
    model = coins(2000)
    how = Run(rounds=10, replicates=10, seed=0)
    few = prepare(DelayedNetwork(ring, 1), model, run=how).cost()
    many = prepare(DelayedNetwork(ring, 1000), model, run=how).cost()
    # 999 more states of 2000 agents, of 8 bytes a number; replicates are rounded up to 16.
    assert many.bytes - few.bytes == 999 * 2000 * 16 * 8
    with pytest.raises(ValueError, match=r"expected at most .* GiB"):
        simulate(
            DelayedNetwork(ring, 1000),
            model,
            run=Run(rounds=10, replicates=10, seed=0, memory="100M"),
        )

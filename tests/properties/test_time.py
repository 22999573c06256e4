"""What the order of rounds does not change, and what a round does not change."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from exact import belief_law, draw_log_likelihoods, learn_fast
from exact.changing import process_for
from exact.regression import GaussianBeliefs, NormalInverseGammaBeliefs, learn_regression
from tests.properties.pinned import COUPLED, LEANING, RESET, RING, SWAP, pinned
from tests.properties.support import assert_close, often
from tests.strategies import (
    Problem,
    changing_networks,
    networks,
    noisy_beliefs,
    problems,
    seeds,
    stiff_beliefs,
)
from theory import FiniteAgent, Network
from theory.changing import PeriodicNetwork, influence
from theory.network.structure import as_dense


def decidable(problem: Problem) -> bool:
    """Whether there is something to reject."""
    v = problem.network.stationary_distribution
    return len(problem.model.reference_hypotheses(v)) < len(problem.model.hypotheses)


@often(15)
@given(problem=problems(max_agents=3, finite=True), rounds=st.integers(1, 3), seed=seeds)
def test_rounds_may_come_in_any_order_in_law(problem: Problem, rounds: int, seed: int) -> None:
    """Λ_n = W^n Λ_0 + Σ_k W^k z_k in law, whichever round is called k.

    Its characteristic function is a product over rounds and agents, which knows no order: the law
    that enumeration finds round by round has the same one.
    """
    assume(decidable(problem))
    network, model = problem.network, problem.model
    law = belief_law(network, model, min(rounds, 5 - network.agents))
    W = as_dense(network.weights)
    columns = list(law.hypotheses)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        s = rng.normal(size=(network.agents, len(columns)))
        found = law.probabilities @ np.exp(1j * np.tensordot(law.log_ratios, s, axes=2))
        power = np.linalg.matrix_power(W, law.rounds)
        prior = (problem.log_priors[:, [law.best]] - problem.log_priors)[:, columns]
        expected = np.exp(1j * (s * (power @ prior)).sum())
        for k in rng.permutation(np.arange(1, law.rounds + 1)):
            turned = np.linalg.matrix_power(W, int(k)).T @ s
            for j, kind in enumerate(model.assignment):
                agent = model.kinds[kind]
                assert isinstance(agent, FiniteAgent)
                z = agent.log_likelihoods[[law.best]] - agent.log_likelihoods[columns]
                expected *= agent.probabilities @ np.exp(1j * (turned[j] @ z))
        # The law is displaced by at most 1e-9 in every log-ratio.
        assert abs(found - expected) <= 1e-12 + law.displacement * np.abs(s).sum()


@often(25)
@given(
    network=networks(kinds=("reversible", "symmetric", "star", "sparse")),
    rounds=st.integers(1, 40),
)
@example(Network.from_topology("star", agents=7, edge_confidence=1 - 1e-9), 40)
@example(COUPLED, 40)
def test_a_reversible_network_runs_backwards(network: Network, rounds: int) -> None:
    """v_i [W^k]_ij = v_j [W^k]_ji: what i hears of j in k rounds, and j of i.

    Observations of one agent in one round, each in a replicate of its own, are the columns of W^k.
    """
    assert network.is_reversible
    N = network.agents
    observed = np.zeros((rounds, N, N, 2))
    observed[0, np.arange(N), np.arange(N), 1] = -1.0
    heard = learn_fast(network, observed, record=[rounds]).log_ratios[0, :, :, 1].T
    assert_close(heard, np.linalg.matrix_power(as_dense(network.weights), rounds))
    v = network.stationary_distribution
    flow = v[:, None] * heard
    # W^k is right to a rounding a round in each entry; v relatively.
    slack = 4 * rounds * N * 2.0**-52 * np.maximum(v[:, None], v)
    assert (np.abs(flow - flow.T) <= slack).all()


@often(25)
@given(problem=problems(), rounds=st.integers(1, 60), seed=seeds)
@example(pinned(COUPLED), 60, 0)
@example(pinned(RESET), 60, 0)
@example(pinned(RING), 60, 0)
@example(pinned(LEANING), 60, 0)
def test_pooling_keeps_the_weighted_sum(problem: Problem, rounds: int, seed: int) -> None:
    """Σ_i v_i Λ_i gains Σ_j v_j z_j in a round, and pooling changes nothing; in any order."""
    network, v = problem.network, problem.network.stationary_distribution
    observed = draw_log_likelihoods(problem.model, rounds=rounds, seed=seed)
    run = learn_fast(network, observed, log_priors=problem.log_priors)
    gain = np.cumsum(v @ (observed[..., [0]] - observed), axis=0)
    start = v @ (problem.log_priors[:, [0]] - problem.log_priors)
    total = np.einsum("i,tim->tm", v, run.log_ratios)
    assert_close(total, start + gain)
    turned = np.random.default_rng(seed).permutation(observed)
    again = learn_fast(network, turned, log_priors=problem.log_priors, record=[rounds])
    assert_close(v @ again.log_ratios[0], total[-1])


@often(15)
@given(network=networks(max_agents=7), rounds=st.integers(1, 20), seed=seeds)
def test_who_says_it_does_not_matter_if_all_weigh_alike(
    network: Network, rounds: int, seed: int
) -> None:
    """With W = 1 vᵀ the rounds may be permuted, each agent's apart from the others'."""
    v = network.stationary_distribution
    alike = Network(np.tile(v, (network.agents, 1)))
    rng = np.random.default_rng(seed)
    observed = rng.normal(size=(rounds, network.agents, 3))
    order = np.argsort(rng.random((rounds, network.agents)), axis=0)
    turned = np.take_along_axis(observed, order[..., None], axis=0)
    one = learn_fast(alike, observed, record=[rounds]).log_ratios
    two = learn_fast(alike, turned, record=[rounds]).log_ratios
    assert_close(two, one)


@often(15)
@given(network=networks(max_agents=7), rounds=st.integers(1, 10), seed=seeds, data=st.data())
def test_pooling_keeps_the_weighted_sum_of_precisions(
    network: Network, rounds: int, seed: int, data: st.DataObject
) -> None:
    N, d, v = network.agents, 2, network.stationary_distribution
    rng = np.random.default_rng(seed)
    designs, targets = rng.normal(size=(rounds, N, 2, d)), rng.normal(size=(rounds, N, 2))
    prior: GaussianBeliefs = data.draw(stiff_beliefs(N, dimension=d))
    last = learn_regression(network, designs, targets, prior=prior, noise_std=0.5).private
    squares = np.einsum("tnma,tnmb->nab", designs, designs) / 0.25
    products = np.einsum("tnma,tnm->na", designs, targets) / 0.25
    assert_close(
        np.tensordot(v, last.precision[-1], axes=1),
        np.tensordot(v, prior.precision + squares, axes=1),
    )
    assert_close(v @ last.information[-1], v @ (prior.information + products))
    noisy: NormalInverseGammaBeliefs = data.draw(noisy_beliefs(N, dimension=d))
    end = learn_regression(network, designs, targets, prior=noisy).private
    assert_close(v @ end.shape[-1], v @ (noisy.shape + rounds))
    # q = 2b + μᵀΛμ is pooled like the others; it gains yᵀy.
    before = 2 * noisy.scale + (noisy.mean * noisy.information).sum(axis=-1)
    after = 2 * end.scale[-1] + (end.mean[-1] * end.information[-1]).sum(axis=-1)
    assert_close(v @ after, v @ (before + (targets**2).sum(axis=(0, 2))))


@often(20)
@given(network=changing_networks(changes=("periodic",)), rounds=st.integers(1, 20), seed=seeds)
@example(SWAP, 20, 0)
def test_phases_keep_their_weighted_sums(network: PeriodicNetwork, rounds: int, seed: int) -> None:
    """With v(s) of the phase that is next: v(s + 1) W_s = v(s), so v(s) Λ changes by data alone."""
    v = influence(network).by_phase
    assert v is not None
    rng = np.random.default_rng(seed)
    state = rng.normal(size=(network.agents, 1, 2))
    process = process_for(network)
    process.restart(np.random.SeedSequence(0), replicates=1, columns=2)
    total = v[0] @ state[:, 0]
    for t in range(rounds):
        phase = t % network.period
        seen = rng.normal(size=state.shape)
        total = total + (v[phase] * network.phases[phase].observes) @ seen[:, 0]
        state = process.advance(state, seen)
        assert_close(v[(t + 1) % network.period] @ state[:, 0], total, 1e-11)

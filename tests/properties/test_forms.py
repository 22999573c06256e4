"""The papers' form and the fast form are the same, on every network and model."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from exact import (
    Run,
    draw_log_likelihoods,
    exchange,
    learn,
    learn_fast,
    prepare_regression,
    simulate,
)
from exact.changing import Receipt, learn_changing, process_for
from exact.changing.beliefs import read_off
from exact.faults.process import FaultyProcess
from exact.regression import learn_regression
from exact.regression.cost import RegressionWork
from exact.regression.state import Observer
from tests.models import coins
from tests.properties.pinned import COUPLED, LEANING, RESET, RING, SWAP, pinned
from tests.properties.support import assert_close, often
from tests.strategies import (
    Problem,
    changing_networks,
    mixed_models,
    networks,
    problems,
    regression_models,
    seeds,
)
from theory import FiniteModel, Network
from theory.changing import ChangingNetwork, DelayedNetwork, PeriodicNetwork, Phase
from theory.network.structure import as_dense
from theory.regression import RegressionModel
from theory.robustness import Average, Clip, Rule, TrimmedMean
from theory.validation import FloatArray, IntArray


def ratios(log_beliefs: FloatArray, best: int = 0) -> FloatArray:
    return log_beliefs[..., [best]] - log_beliefs


@often(30)
@given(problem=problems(), rounds=st.integers(1, 60), replicates=st.integers(1, 3), seed=seeds)
@example(pinned(COUPLED), 60, 2, 0)
@example(pinned(RESET), 60, 2, 0)
@example(pinned(RING), 60, 2, 0)
@example(pinned(LEANING), 60, 2, 0)
def test_fixed_networks(problem: Problem, rounds: int, replicates: int, seed: int) -> None:
    observed = draw_log_likelihoods(problem.model, rounds=rounds, replicates=replicates, seed=seed)
    record = sorted({1, rounds // 2 + 1, rounds})
    fast = learn_fast(problem.network, observed, log_priors=problem.log_priors, record=record)
    for r in range(replicates):
        papers = learn(problem.network, observed[:, r], log_priors=problem.log_priors)
        private = papers.private[np.array(record) - 1]
        assert_close(fast.private[:, r], private)
        assert_close(fast.log_ratios[:, r], ratios(private))


@st.composite
def changing_problems(draw: st.DrawFn) -> tuple[ChangingNetwork, FiniteModel]:
    network = draw(changing_networks())
    return network, draw(mixed_models(network.agents))


@often(30)
@given(problem=changing_problems(), rounds=st.integers(1, 15), seed=seeds)
@example((SWAP, coins(3)), 15, 0)
def test_changing_networks(
    problem: tuple[ChangingNetwork, FiniteModel], rounds: int, seed: int
) -> None:
    """Each of two replicates, through the weights and the ages of messages that it met."""
    network, model = problem
    process, stream = process_for(network), np.random.SeedSequence(seed)
    went = read_off(process, stream, agents=network.agents, rounds=rounds, replicates=2)
    observed = draw_log_likelihoods(model, rounds=rounds, seed=seed, replicates=2)
    priors = model.log_priors[model.assignment]
    process.restart(stream, replicates=2, columns=len(model.hypotheses))
    state = np.repeat(ratios(priors)[:, None], 2, axis=1)
    for t in range(rounds):
        seen = ratios(observed[t]).swapaxes(0, 1)
        state = process.advance(state, np.ascontiguousarray(seen))
    for r, rows in enumerate(went):
        for phase in rows.phases:
            # Weights of averages: what they pool never exceeds what went in.
            assert (as_dense(phase.weights) >= 0).all()
            np.testing.assert_allclose(phase.weights.sum(axis=1), 1, rtol=1e-14)
        papers = learn_changing(rows.phases, observed[:, r], log_priors=priors, ages=rows.ages)
        assert_close(state[:, r], ratios(papers.private[-1]))
        if isinstance(network, PeriodicNetwork | DelayedNetwork):
            phases, ages = by_definition(network, rounds)
            papers = learn_changing(phases, observed[:, r], log_priors=priors, ages=ages)
            assert_close(state[:, r], ratios(papers.private[-1]))


def by_definition(
    network: PeriodicNetwork | DelayedNetwork, rounds: int
) -> tuple[list[Phase], IntArray | None]:
    """Phases and ages that nothing has run through: where nothing is random, they are known."""
    if isinstance(network, PeriodicNetwork):
        return [network.phase_of(t) for t in range(1, rounds + 1)], None
    table = np.broadcast_to(network.delays, (network.agents,) * 2)
    ages = np.minimum(table, np.arange(1, rounds + 1)[:, None, None])
    return [Phase(network.network.weights)] * rounds, ages


@often(8)
@given(problem=problems(max_agents=6), rounds=st.integers(1, 30), seed=seeds)
@example(pinned(COUPLED), 30, 0)
@example(pinned(RESET), 30, 0)
def test_a_network_of_one_phase_is_a_fixed_network(
    problem: Problem, rounds: int, seed: int
) -> None:
    """Simulated with the same seed, which means the same data."""
    network = Network(as_dense(problem.network.weights))
    run = Run(rounds=rounds, replicates=20, seed=seed, paths=20)
    fixed = simulate(network, problem.model, run=run)
    changing = simulate(PeriodicNetwork([network.weights]), problem.model, run=run)
    assert fixed.reference == changing.reference
    assert_close(changing.paths, fixed.paths)
    assert_close(changing.mean, fixed.mean)


@often(6)
@given(problem=problems(max_agents=5), rounds=st.integers(1, 8), seed=seeds)
@example(pinned(COUPLED), 8, 0)
def test_messages(problem: Problem, rounds: int, seed: int) -> None:
    """Agents that do nothing but send and receive are the network."""
    observed = draw_log_likelihoods(problem.model, rounds=rounds, seed=seed)
    sent = exchange(problem.network, observed, seed=seed, log_priors=problem.log_priors)
    papers = learn(problem.network, observed, log_priors=problem.log_priors)
    assert_close(sent.beliefs.private, papers.private)
    assert_close(sent.beliefs.public, papers.public)
    assert sent.receipts[Receipt.NEW] == sum(sent.receipts.values())


@often(10)
@given(
    problem=problems(),
    rounds=st.integers(1, 12),
    seed=seeds,
    rule=st.sampled_from([Average(), TrimmedMean(0), Clip(1e6)]),
)
@example(pinned(LEANING), 12, 0, Average())
def test_nobody_is_faulty(problem: Problem, rounds: int, seed: int, rule: Rule) -> None:
    """Pooling against any hypothesis."""
    against = seed % problem.log_priors.shape[1]
    observed = draw_log_likelihoods(problem.model, rounds=rounds, seed=seed, replicates=2)
    process = FaultyProcess(problem.network, problem.model, {}, rule, best=0, against=against)
    process.restart(np.random.SeedSequence(0), replicates=2, columns=problem.log_priors.shape[1])
    state = np.repeat(ratios(problem.log_priors)[:, None, 1:], 2, axis=1)
    for seen in observed:
        state = process.advance(state, np.ascontiguousarray(ratios(seen)[..., 1:].swapaxes(0, 1)))
    fast = learn_fast(problem.network, observed, log_priors=problem.log_priors, record=[rounds])
    assert_close(state.swapaxes(0, 1), fast.log_ratios[0, ..., 1:])


@st.composite
def regression_problems(draw: st.DrawFn) -> tuple[Network, RegressionModel]:
    network = draw(networks(max_agents=6))
    return network, draw(regression_models(network.agents))


@often(12)
@given(problem=regression_problems(), rounds=st.sampled_from([1, 6, 40, 200]), seed=seeds)
def test_regression(problem: tuple[Network, RegressionModel], rounds: int, seed: int) -> None:
    """Records far apart, so that rounds between them are pooled by v where W has settled."""
    network, model = problem
    record = sorted({1, rounds // 2 + 1, rounds})
    work = prepare_regression(
        network, model, run=Run(rounds=rounds, replicates=2, seed=seed, record=record)
    ).work
    carried = fast_states(work)
    for r in range(2):
        designs, targets = drawn(work, rounds, r)
        papers = learn_regression(
            network,
            designs,
            targets,
            prior=work.prior,
            noise_std=[model.agent(i).claimed_noise_std for i in range(network.agents)],
            tempering=[model.agent(i).tempering for i in range(network.agents)],
        )
        private = papers.private
        for (precision, information), n in zip(carried, record, strict=True):
            assert_close(precision[:, r], private.precision[n - 1])
            assert_close(information[:, r], private.information[n - 1])


def fast_states(work: RegressionWork) -> list[tuple[FloatArray, FloatArray]]:
    """Precision (N, R, d, d) and information (N, R, d) at the recorded rounds."""
    run = work.carrier.run(observer(work), work.rounds, replicates=work.replicates, shared=False)
    return [
        (
            work.columns.unpack(snapshot.precision.swapaxes(1, 2)).copy(),
            snapshot.information.swapaxes(1, 2).copy(),
        )
        for _, snapshot in run
        if snapshot is not None
    ]


def observer(work: RegressionWork) -> Observer:
    return Observer(
        work.model,
        work.samples,
        replicates=work.replicates,
        shared=False,
        seed=work.seed,
        chunk=0,
    )


def drawn(work: RegressionWork, rounds: int, r: int) -> tuple[list[Any], list[Any]]:
    """What the agents see in replicate r, one list of batches a round."""
    inputs, noise = observer(work).draw(rounds)
    samples, designs, targets = work.samples, [], []
    for t in range(rounds):
        rows: list[list[FloatArray]] = [[] for _ in range(work.prior.agents)]
        labels: list[list[float]] = [[] for _ in range(work.prior.agents)]
        for s, owner in enumerate(samples.owner):
            part = slice(samples.start[s], samples.start[s + 1])
            x = np.zeros(work.model.dimension)
            x[samples.coordinates[part]] = inputs[t, part, r]
            rows[owner].append(x)
            labels[owner].append(noise[t, s, r] * samples.noise_std[s] + x @ work.model.theta)
        designs.append([np.array(x) for x in rows])
        targets.append([np.array(y) for y in labels])
    return designs, targets

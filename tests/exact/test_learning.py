"""The fast path against the papers' form, the exact mean, and enumeration."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from exact import Run, draw_log_likelihoods, learn, learn_fast, simulate
from exact.propagation import agent_order, plan_for, reach
from exact.sampling import Sampler, group_size
from tests.models import coins, error_probability
from tests.runs import arguments
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network, expected_log_ratio
from theory.validation import FloatArray

PAIR = Network([[0.9, 0.1], [0.6, 0.4]])


def log_ratios(log_beliefs: FloatArray) -> FloatArray:
    return log_beliefs[..., [0]] - log_beliefs


def assert_same(fast: FloatArray, papers: FloatArray, tolerance: float = 1e-12) -> None:
    """Relative to the largest log-ratio: normalising rounds all of them at that size."""
    assert np.abs(fast - papers).max() <= tolerance * max(1.0, np.abs(papers).max())


def ring(agents: int) -> Network:
    return Network.from_topology("ring", agents=agents, sparse=True)


def mixed_model(agents: int) -> FiniteModel:
    """Finite and Gaussian agents with priors of their own."""
    finite = FiniteAgent.from_tables(
        inputs=[0.3, 0.7],
        truth=[[0.2, 0.8], [0.5, 0.5]],
        likelihood=[[[0.2, 0.8], [0.5, 0.5]], [[0.6, 0.4], [0.3, 0.7]], [[0.1, 0.9], [0.9, 0.1]]],
    )
    gaussian = GaussianAgent(
        inputs=np.array([0.5, 0.5]),
        truth_means=np.array([0.0, 1.0]),
        truth_std=1.5,
        means=np.array([[0.0, 1.0], [0.5, 1.0], [0.0, 0.0]]),
        std=1.0,
    )
    half = agents // 2
    kinds = 2 if half else 1
    return FiniteModel.from_agents(
        ["a", "b", "c"],
        [finite, gaussian][:kinds],
        counts=[agents - half, half][:kinds],
        priors=[[0.2, 0.3, 0.5], None][:kinds],
    )


@pytest.mark.parametrize("network", [PAIR, ring(11), Network.from_topology("star", agents=12)])
def test_both_forms_agree_after_2000_rounds(network: Network) -> None:
    """Recorded rounds that cut the engine's blocks at every length."""
    model = mixed_model(network.agents)
    observed = draw_log_likelihoods(model, rounds=2000, replicates=3, seed=5)
    record = [1, 2, 4, 7, 11, 16, 22, 29, 37, 100, 1000, 1999, 2000]
    fast = learn_fast(network, observed, record=record)
    assert fast.private.shape == (len(record), 3, network.agents, 3)
    assert np.abs(fast.log_ratios[-1]).max() > 100
    for r in range(3):
        papers = learn(network, observed[:, r]).private[np.array(record) - 1]
        assert_same(fast.log_ratios[:, r], log_ratios(papers))
        assert_same(fast.private[:, r], papers)


def test_log_ratios_of_a_hundred_thousand() -> None:
    observed = np.zeros((10, 2, 2))
    observed[:, :, 1] = -2e4
    assert learn_fast(PAIR, observed).private[-1, 0, 1] == pytest.approx(-2e5, rel=1e-14)


@pytest.mark.parametrize("agents", [1, 7, 10, 30, 100])
@pytest.mark.parametrize("replicates", [1, 3, 40])
def test_simulate_learns_from_what_its_sampler_draws(agents: int, replicates: int) -> None:
    """The same observations, drawn again from the same stream, through the papers' form."""
    rng = np.random.default_rng(agents)
    weights = rng.random((agents, agents)) + 0.1
    network = Network(weights / weights.sum(axis=1, keepdims=True))
    model = coins(agents) if agents == 10 else mixed_model(agents)
    record = [1, 3, 14]
    run = simulate(
        network,
        model,
        run=Run(rounds=14, replicates=replicates, seed=9, record=record, paths=replicates),
    )
    group = group_size(model, columns=len(model.hypotheses) - 1, replicates=replicates)
    columns = len(model.hypotheses) - 1
    plan = plan_for(network, columns=columns, group=group)
    sampler = Sampler(model, group=group)
    streams = np.random.SeedSequence(9).spawn(-(-replicates // plan.replicates))
    first = 0
    for stream in streams:
        size = min(plan.replicates, replicates - first)
        room = plan.storage(size)
        sampler.restart(stream, replicates=room)
        draws = sampler.draw(14)
        rows = np.empty((14, agents, room * (columns + 1)))
        sampler.table.look_up(draws.symbols, draws.noise, rows)
        rows = rows.reshape(14, agents, room, columns + 1)
        for r in range(size):
            papers = learn(
                network, rows[:, :, r], log_priors=model.log_priors[model.assignment]
            ).private[np.array(record) - 1]
            expected = papers[..., [run.best]] - papers
            assert_same(run.paths[first + r], expected)
        first += size
    assert first == replicates
    np.testing.assert_allclose(run.mean, run.paths.mean(axis=0), rtol=0, atol=1e-12)


def assert_within(mean: FloatArray, exact: FloatArray, error: FloatArray, *, sigmas: float) -> None:
    """Rounding at the size of Λ is allowed for where the error itself is zero."""
    slack = sigmas * error + 1e-10 * np.maximum(1.0, np.abs(exact))
    assert (np.abs(mean - exact) <= slack).all()


def test_ordering_brings_neighbours_together() -> None:
    i = np.random.default_rng(0).permutation(500)
    weights = sparse.csr_array(ring(500).weights)[i][:, i]
    order = agent_order(Network(weights))
    assert reach(weights) > 400
    assert reach(sparse.csr_array(weights[order][:, order])) == 2
    path = Network.from_topology("path", agents=50, sparse=True)
    assert agent_order(path) is None


@pytest.mark.parametrize("replicates", [2, 5000])
def test_the_mean_is_the_exact_one(replicates: int) -> None:
    """Σ_k W^k I plus the prior's part, for dense W and several kinds of agents."""
    network = Network([[0.5, 0.5, 0.0], [0.1, 0.6, 0.3], [0.2, 0.0, 0.8]])
    model = mixed_model(3)
    run = simulate(network, model, run=Run(rounds=60, replicates=replicates, seed=4))
    assert run.rounds[0] == 1
    assert run.rounds[-1] == 60
    exact = expected_log_ratio(network, model, run.rounds, best=run.best).values
    if replicates == 5000:
        # The seed is fixed; at five standard errors a wrong law fails, chance does not.
        assert_within(run.mean, exact, run.standard_error, sigmas=5)
        network_exact = exact.mean(axis=1)
        assert_within(run.network_mean, network_exact, run.network_standard_error, sigmas=5)
        # And it is measured well enough for that to mean something.
        assert (run.standard_error[-1, :, 1:] < 0.01 * np.abs(exact[-1, :, 1:])).all()
    assert (run.mean[..., run.best] == 0).all()
    np.testing.assert_allclose(run.rates.mean, run.mean[-1] / 60, rtol=1e-15)
    np.testing.assert_allclose(run.rates.standard_error, run.standard_error[-1] / 60, rtol=1e-15)
    assert run.rates.rounds == 60


def test_the_standard_error_is_that_of_the_paths() -> None:
    run = simulate(PAIR, coins(2), run=Run(rounds=30, replicates=500, seed=1, paths=500))
    expected = run.paths.std(axis=0, ddof=1) / np.sqrt(500)
    np.testing.assert_allclose(run.standard_error, expected, rtol=1e-10, atol=1e-15)
    averages = run.paths.mean(axis=2)
    np.testing.assert_allclose(run.network_mean, averages.mean(axis=0), rtol=0, atol=1e-13)
    expected = averages.std(axis=0, ddof=1) / np.sqrt(500)
    np.testing.assert_allclose(run.network_standard_error, expected, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_error_probability_by_enumeration(rounds: int) -> None:
    """Every history of two coins, ties included; the interval covers at 1 − 1e-4."""
    network = Network([[0.5, 0.5], [0.25, 0.75]])
    exact = error_probability(network, coins(2), rounds)
    run = simulate(network, coins(2), run=Run(rounds=rounds, replicates=20_000, seed=rounds))
    interval = run.error_probability(confidence=1 - 1e-4)
    assert 0.05 < exact < 0.95
    assert interval.lower <= exact <= interval.upper
    assert interval.upper - interval.lower < 0.03
    assert interval.trials == 20_000
    assert (run.agent_errors <= run.errors[:, None]).all()
    assert (run.agent_errors.sum(axis=1) >= run.errors).all()
    np.testing.assert_array_equal(run.settled[:, 1:].sum(axis=1), run.agent_errors.sum(axis=1))
    np.testing.assert_array_equal(run.settled.sum(axis=1), 40_000)


def test_ties_count_as_errors() -> None:
    """A lone agent and a coin with odds 2:1 either way: Λ = 0 half the time after two tosses."""
    symmetric = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[2 / 3, 1 / 3]], likelihood=[[[2 / 3, 1 / 3]], [[1 / 3, 2 / 3]]]
    )
    model = FiniteModel.from_agents(["right", "wrong"], [symmetric])
    run = simulate(Network([[1.0]]), model, run=Run(rounds=2, replicates=20_000, seed=0))
    interval = run.error_probability(confidence=1 - 1e-4)
    assert interval.lower <= 5 / 9 <= interval.upper  # 4/9 of ties, 1/9 wrong
    np.testing.assert_array_equal(run.settled[:, 1], run.errors)
    # After 400 tosses rounding must not decide between a tie and none.
    run = simulate(
        Network([[1.0]]), model, run=Run(rounds=400, replicates=2000, seed=0, paths=2000)
    )
    assert run.errors[-1] == (run.paths[:, -1, 0, 1] < 0.5 * np.log(2)).sum()


def test_real_sized_tables() -> None:
    """An empirical law of 6000 images and ten hypotheses."""
    table = np.log(np.random.default_rng(0).dirichlet(np.ones(10), size=6000)).T
    agent = FiniteAgent.from_log_likelihoods(table)
    model = FiniteModel.from_agents([f"h{m}" for m in range(10)], [agent], counts=[9])
    star = Network.from_topology("star", agents=9, edge_confidence=0.5)
    run = simulate(star, model, run=Run(rounds=40, replicates=300, seed=6))
    exact = expected_log_ratio(star, model, run.rounds, best=run.best).values
    assert_within(run.mean, exact, run.standard_error, sigmas=5)


def test_memory_does_not_grow_with_rounds_or_replicates() -> None:
    def peak(rounds: int, replicates: int) -> int:
        tracemalloc.start()
        simulate(
            PAIR, coins(2), run=Run(rounds=rounds, replicates=replicates, seed=0, record=[rounds])
        )
        _, top = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return top

    peak(10, 10_000)  # compiles and imports
    small = peak(200, 20_000)
    # All of Λ would take 16 bytes · 4000 rounds · 40 000 replicates.
    assert peak(4000, 40_000) < 1.5 * small + 100_000


@settings(max_examples=20)
@example(20)  # few enough rounds to record them all
@example(21)
@given(st.integers(1, 10**6))
def test_default_record(rounds: int) -> None:
    from exact.results import recorded_rounds

    record = recorded_rounds(None, rounds)
    assert record[0] == 1
    assert record[-1] == rounds
    assert (np.diff(record) > 0).all()
    assert record.size == rounds if rounds <= 20 else 12 <= record.size <= 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"record": [0, 3]}, "record: expected a whole number of at least 1, got 0"),
        ({"model": coins(3)}, "model: expected one agent for each of the network's 2, got 3;"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"model": coins(2), "rounds": 10, "replicates": 4, "seed": 0}
    with pytest.raises(ValueError, match=f"^{message}"):
        simulate(PAIR, **arguments(good | options))


def test_given_observations_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"hypotheses\) for a network of 2, got shape \(4, 3, 2\)"):
        learn_fast(PAIR, np.zeros((4, 3, 2)))
    with pytest.raises(ValueError, match="at least two hypotheses, got 1"):
        learn_fast(PAIR, np.zeros((4, 2, 1)))
    with pytest.raises(ValueError, match=r"a likelihood of zero \(log −inf\) at \[0, 1, 1\]"):
        learn_fast(PAIR, [[[0.0, 0.0], [0.0, -np.inf]]])

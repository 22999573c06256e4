"""The algorithm with batches: exact laws against single observations, runs against predictions."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from exact import Run, belief_law, draw_log_likelihoods, error_law, rare_errors, simulate
from exact.law.law_problem import in_doubles
from tests.models import COIN, Tables, by_sequences, coins, error_probability
from theory import (
    FiniteAgent,
    FiniteModel,
    GaussianAgent,
    Network,
    account,
    expected_log_ratio,
    learning_rate,
    sample_sizes,
)
from theory.changing import PeriodicNetwork, Phase, RandomLinks
from theory.messages import Uniform, compressed_learning
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork
from theory.robustness import Average, Faults, StuckData, faulty_log_ratio

F = Fraction
W = [[F(9, 10), F(1, 10)], [F(3, 5), F(2, 5)]]
ALONE = [[F(1), F(0)], [F(0), F(1)]]
PAIR = Network([[0.9, 0.1], [0.6, 0.4]])
TABLES: Tables = (
    [F(1)],
    [[F(1, 2), F(3, 10), F(1, 5)]],
    [
        [[F(1, 2), F(3, 10), F(1, 5)]],
        [[F(3, 10), F(3, 10), F(2, 5)]],
        [[F(1, 4), F(1, 4), F(1, 2)]],
    ],
)
DIE = RationalFiniteAgent.from_tables(inputs=TABLES[0], truth=TABLES[1], likelihood=TABLES[2])
SINGLE = RationalModel.from_agents("abc", [DIE], counts=[2])


def law_of(weights: Any, model: RationalModel, rounds: int) -> dict[bytes, Fraction]:
    """The joint law of all agents' log-ratios: atoms, rounded to 1e-9, with their chances."""
    law = belief_law(weights, model, rounds, exact=True, reference=[0])
    found: dict[bytes, Fraction] = {}
    for atom, chance in zip(law.log_ratios, law.fractions or (), strict=True):
        key = (np.round(atom, 9) + 0.0).tobytes()  # no −0
        found[key] = found.get(key, F(0)) + chance
    return found


@pytest.mark.parametrize("batch", [2, 3])
def test_where_nobody_listens_a_batch_is_as_many_rounds(batch: int) -> None:
    one = law_of([ALONE] * batch, SINGLE, batch)
    assert law_of([ALONE], SINGLE.batched(batch), 1) == one


def test_rounds_with_batches_are_rounds_that_rarely_pool() -> None:
    """n rounds with batches of 2: single observations in 2n rounds, pooled in every second."""
    rarely = law_of([ALONE, W, ALONE, W], SINGLE, 4)
    often = law_of([W] * 4, SINGLE, 4)
    batched = law_of([W, W], SINGLE.batched(2), 2)
    assert batched == rarely != often


@pytest.mark.parametrize("batches", [[2, 2], [3, 1]])
def test_laws_against_all_sequences(batches: list[int]) -> None:
    brute = RationalModel.from_agents(
        "abc",
        [
            RationalFiniteAgent.from_tables(inputs=p, truth=f, likelihood=q)
            for p, f, q in (by_sequences(TABLES, b) for b in batches)
        ],
    )
    network = RationalNetwork.from_rows(W)
    found, wanted = (
        error_law(network, model, 2, exact=True) for model in (SINGLE.batched(batches), brute)
    )
    assert found.fractions == wanted.fractions is not None
    # In doubles, and by an enumeration of every history.
    doubles = in_doubles(SINGLE.batched(batches))
    assert doubles.batches.tolist() == batches
    chance = error_probability(PAIR, doubles, 1)
    assert float(found.fractions[0]) == pytest.approx(chance, rel=1e-10)
    known = account(PAIR, doubles).probability([1, 2])
    for k in (0, 1):
        assert known.lower[k] <= float(wanted.fractions[k]) * (1 + 1e-12)
        assert float(wanted.fractions[k]) <= known.upper[k] * (1 + 1e-12)


NORMAL = GaussianAgent([0.0, 1.0], [3.0, 0.0], 1.2, [[9.0, 0.0], [1.0, 0.4], [1.0, -0.3]], 1.0)
MIXED = FiniteModel.from_agents(
    "abc",
    [
        NORMAL,
        FiniteAgent.from_tables(
            truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]], [[0.4, 0.6]]]
        ),
    ],
).batched([5, 7])


@pytest.mark.parametrize("sparse", [False, True])
def test_runs_against_predictions(sparse: bool) -> None:
    network = Network(PAIR.weights) if not sparse else Network(as_sparse(PAIR))
    run = simulate(network, MIXED, run=Run(rounds=40, replicates=1500, seed=1))
    wanted = expected_log_ratio(network, MIXED, [40], best=0).values[0] / 40
    error = np.abs(run.rates.mean - wanted)[:, 1:] / run.rates.standard_error[:, 1:]
    assert error.max() < 5  # four numbers
    spread = run.rates.standard_error[:, 1:] * np.sqrt(1500 * 40)
    # Var z of a batch: standard errors know it to some per cent, at v = (6/7, 1/7).
    v = PAIR.stationary_distribution
    kinds = [MIXED.log_ratio_laws(0, m) for m in (1, 2)]
    limit = [np.sqrt(v**2 @ [law.variance for law in laws]) for laws in kinds]
    assert (np.abs(spread / limit - 1) < 0.15).all()


def as_sparse(network: Network) -> Any:
    from scipy import sparse

    return sparse.csr_array(np.asarray(network.weights))


def test_errors_of_runs_are_as_rare_as_certified() -> None:
    model = coins(2).batched([3, 1])
    needed = sample_sizes(PAIR, model, delta=0.1).certified
    assert needed.upper is not None
    run = simulate(PAIR, model, run=Run(rounds=needed.upper, replicates=1500, seed=5))
    known = account(PAIR, model).probability([needed.upper])
    observed = run.error_probability(confidence=0.9999)
    assert observed.lower <= known.upper[0] <= 0.1
    assert known.lower[0] <= observed.upper
    rare = rare_errors(PAIR, coins(2).batched(4), rounds=12, replicates=2000, seed=3).some_agent
    sure = account(PAIR, coins(2).batched(4)).probability([12])
    assert sure.lower[0] - 5 * rare.standard_error <= rare.probability
    assert rare.probability <= sure.upper[0] + 5 * rare.standard_error


def test_batches_on_networks_that_change() -> None:
    """On phases I, W with batches of b: rates are b times those of single observations."""
    phases = PeriodicNetwork([Phase(np.eye(2)), Phase(np.asarray(PAIR.weights))])
    losing = RandomLinks(PAIR, up=0.5)
    for network in (phases, losing):
        single = learning_rate(network, coins(2)).rate
        assert learning_rate(network, coins(2).batched(3)).rate == pytest.approx(3 * single)
        model = coins(2).batched([1, 6])
        run = simulate(network, model, run=Run(rounds=30, replicates=800, seed=2))
        wanted = expected_log_ratio(network, model, [30], best=0).values[0, :, 1] / 30
        error = np.abs(run.rates.mean[:, 1] - wanted) / run.rates.standard_error[:, 1]
        assert error.max() < 5
    # Single observations on I, W are batches of two on W, pair by pair of rounds.
    twice = learning_rate(phases, coins(2)).rate
    assert 2 * twice == pytest.approx(learning_rate(PAIR, coins(2).batched(2)).rate)


def test_batches_among_faulty_agents() -> None:
    """Who is stuck sees a batch of the same; the others are as predicted."""
    ring = Network.from_topology("ring", agents=4)
    model = coins(4).batched([2, 3, 1, 2])
    stuck = StuckData(outcome=1)
    np.testing.assert_allclose(stuck.datum(model, 1), 3 * COIN.log_likelihoods[:, 1], rtol=1e-15)
    faults = Faults({1: stuck}, Average())
    run = simulate(ring, model, faults=faults, run=Run(rounds=25, replicates=800, seed=4))
    exact = faulty_log_ratio(ring, model, faults.behaviours, [25])
    assert exact.honest.tolist() == [0, 2, 3]
    rates, errors = run.rates.mean[:, 1], run.rates.standard_error[:, 1]  # of the honest
    assert (np.abs(rates - exact.mean[0, :, 1] / 25) < 5 * errors).all()


def test_batches_in_compressed_messages() -> None:
    """No replica is ever off by more than half a step with the levels that are proved enough."""
    model, quantiser = coins(2).batched([4, 2]), Uniform(step=F(1, 2))
    found = compressed_learning(PAIR, model, quantiser, delta=0.05)
    assert found.compressed is not None
    run = simulate(
        PAIR, model, messages=found.quantiser, run=Run(rounds=60, replicates=300, seed=6)
    )
    assert run.messages is not None
    assert run.messages.largest_error <= 0.25 + 1e-9
    assert run.messages.largest_deviation <= np.max(found.deviation) + 1e-9


@pytest.mark.parametrize("sparse", [False, True])
def test_normal_agents_of_several_inputs_draw_a_label_for_each_observation(sparse: bool) -> None:
    """Against rounds of single observations that nobody pools, whose law is that of a batch."""
    several = GaussianAgent(
        [0.3, 0.0, 0.7], [0.1, 9.0, 1.0], 1.1, [[0.0] * 3, [0.5, 9.0, 2.0], [1.0, 0.0, -0.5]], 0.9
    )
    model = FiniteModel.from_agents("abc", [several, MIXED.kinds[1]]).batched([3, 1])
    network = Network(as_sparse(PAIR)) if sparse else PAIR
    rows = draw_log_likelihoods(model, rounds=4000, seed=7)[:, 0]
    single = draw_log_likelihoods(model.batched(1), rounds=12_000, seed=8)[:, 0]
    sums = single.reshape(4000, 3, 3).sum(axis=1)
    for pair in ((0, 1), (0, 2), (1, 2)):
        one, other = (x[:, pair[0]] - x[:, pair[1]] for x in (rows, sums))
        assert stats.ks_2samp(one, other).pvalue > 1e-3  # the seeds are fixed
    # Jointly too: the log-ratios of one label would be one number times a vector.
    assert np.corrcoef((rows[:, :2] - rows[:, 2:]).T)[0, 1] == pytest.approx(
        np.corrcoef((sums[:, :2] - sums[:, 2:]).T)[0, 1], abs=0.08
    )
    run = simulate(network, model, run=Run(rounds=30, replicates=1000, seed=9))
    best = run.best
    wanted = expected_log_ratio(network, model, [30], best=best).values[0] / 30
    others = [m for m in range(3) if m != best]
    error = np.abs(run.rates.mean - wanted)[:, others] / run.rates.standard_error[:, others]
    assert error.max() < 5
    with pytest.raises(ValueError, match="agents of kind 0: expected one input"):
        rare_errors(network, model, rounds=5, replicates=100, seed=0)

"""Learning is linear: an engine that is fed what is expected of every observation gives the means.

So predictions of any room can be held against the engines of another without drawing a number.
"""

from __future__ import annotations

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from exact import learn_fast
from exact.changing import process_for
from exact.faults.process import FaultyProcess
from tests.models import coins
from tests.properties.pinned import COUPLED, LEANING, RESET, RING, SWAP, pinned
from tests.properties.support import assert_close, often
from tests.strategies import (
    Problem,
    behaviours,
    changing_networks,
    finite_models,
    mixed_models,
    networks,
    problems,
)
from theory import FiniteModel, expected_log_ratio, learning_rate
from theory.changing import DelayedNetwork, PeriodicNetwork
from theory.robustness import Average, Behaviour, Colluding, RandomLies
from theory.robustness.averaging import faulty_log_ratio
from theory.validation import FloatArray


def odds(model: FiniteModel, best: int) -> FloatArray:
    """Λ(best, ·) of the priors, agent by agent."""
    return (model.log_priors[:, [best]] - model.log_priors)[model.assignment]


@often(20)
@given(problem=problems(), rounds=st.sampled_from([1, 7, 400]))
@example(pinned(COUPLED), 400)
@example(pinned(RESET), 400)
@example(pinned(RING), 400)
@example(pinned(LEANING), 400)
def test_fixed_networks(problem: Problem, rounds: int) -> None:
    network, model = problem.network, problem.model
    gain = model.information(0)
    fed = np.broadcast_to(-gain, (rounds, *gain.shape))
    found = learn_fast(network, fed, log_priors=problem.log_priors, record=[rounds]).log_ratios[0]
    expected = expected_log_ratio(network, model, [rounds], best=0).values[0]
    assert_close(found, expected)
    # What all rounds after this one bring, weighed by v, is the rate.
    v = network.stationary_distribution
    rate = learning_rate(network, model)
    totals = v @ (found - odds(model, 0)) / rounds
    assert_close(totals - totals[rate.reference[0]], rate.rates, 1e-11)


@st.composite
def changing_problems(
    draw: st.DrawFn,
) -> tuple[PeriodicNetwork | DelayedNetwork, FiniteModel]:
    network = draw(changing_networks(changes=("periodic", "delays")))
    return network, draw(mixed_models(network.agents))


@often(20)
@given(problem=changing_problems(), rounds=st.sampled_from([1, 7, 200]))
@example((SWAP, coins(3)), 200)
def test_networks_that_change(
    problem: tuple[PeriodicNetwork | DelayedNetwork, FiniteModel], rounds: int
) -> None:
    network, model = problem
    gain = model.information(0)
    process = process_for(network)
    process.restart(np.random.SeedSequence(0), replicates=1, columns=gain.shape[1])
    state = odds(model, 0)[:, None].copy()
    for _ in range(rounds):
        state = process.advance(state, gain[:, None].copy())
    expected = expected_log_ratio(network, model, [rounds], best=0).values[0]
    assert_close(state[:, 0], expected)
    # The slope between two records, many periods apart, is the rate once phases have mixed.
    later = expected_log_ratio(network, model, [60_000, 120_000], best=0).values
    slope = (later[1] - later[0]) / 60_000
    rate = learning_rate(network, model)
    slope = slope - slope[:, [rate.reference[0]]]
    assert np.abs(slope - rate.rates).max() <= 1e-9 * (1 + np.abs(later).max() / 60_000)


@st.composite
def faulty(draw: st.DrawFn) -> tuple[Problem, dict[int, Behaviour]]:
    network = draw(networks(min_agents=2, max_agents=7))
    model = draw(finite_models(network.agents))
    liars = draw(st.integers(1, min(2, network.agents - 1)))
    chosen = draw(st.permutations(range(network.agents)))[:liars]
    what = behaviours(hypotheses=len(model.hypotheses))
    return Problem(network, model), {i: draw(what) for i in chosen}


@often(20)
@given(case=faulty(), rounds=st.integers(1, 40))
def test_faulty_agents(case: tuple[Problem, dict[int, Behaviour]], rounds: int) -> None:
    problem, faults = case
    # There is no prediction for the first, and the second draws.
    assume(not any(isinstance(fault, Colluding | RandomLies) for fault in faults.values()))
    network, model = problem.network, problem.model
    predicted = faulty_log_ratio(network, model, faults, [rounds])
    best = predicted.best
    process = FaultyProcess(network, model, faults, Average(), best=best)
    wrong = [m for m in range(len(model.hypotheses)) if m != best]
    process.restart(np.random.SeedSequence(0), replicates=1, columns=len(wrong))
    state = odds(model, best)[:, None, wrong].copy()
    gain = model.information(best)[:, None, wrong]
    for _ in range(rounds):
        state = process.advance(state, gain.copy())
    assert_close(state[predicted.honest, 0], predicted.mean[0][:, wrong])

"""Exact laws against simulation: intervals that hold with a probability that is known.

All intervals of all examples of a test together fail with probability 1e-6 at most if the law is
right: what is asked of one of them is divided by how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from exact import BeliefLaw, Run, Simulation, belief_law, proportion, simulate
from exact.law.law_problem import in_doubles
from tests.exact.law.oracles import reference_of
from tests.properties.pinned import COUPLED, one_who_sees, pinned
from tests.properties.support import TIMES, assert_close, often
from tests.strategies import (
    Problem,
    finite_models,
    networks,
    problems,
    rational_models,
    rational_networks,
    seeds,
)
from theory import FiniteModel, Network, error_bound, expected_log_ratio, log_ratio_spread
from theory.changing import PeriodicNetwork
from theory.rational import RationalModel, RationalNetwork

EXAMPLES = 10
REPLICATES = 3000


def tail(comparisons: int) -> float:
    """What one of so many comparisons of an example may fail with."""
    return 1e-6 / (EXAMPLES * TIMES + 10) / comparisons


def assert_frequencies(law: BeliefLaw, run: Simulation) -> None:
    """Clopper–Pearson intervals of errors, for every agent and for some agent."""
    confidence = 1 - tail(4 * (len(law.agents) + 1))
    for agent in (None, *law.agents):
        count = run.errors[-1] if agent is None else run.agent_errors[-1, agent]
        measured = proportion(int(count), run.replicates, confidence=confidence)
        truth = law.error_enclosure(agent)
        assert measured.lower <= truth.upper
        assert truth.lower <= measured.upper


def assert_means(law: BeliefLaw, run: Simulation) -> None:
    """Bernstein's inequality: log-ratios are bounded, and their variances known exactly."""
    mean, variance = law.log_ratio_mean, law.log_ratio_variance
    reach = np.abs(law.log_ratios - mean).max(axis=0)
    log = np.log(2 / tail(4 * mean.size))
    root = np.sqrt((reach * log / 3) ** 2 + 2 * run.replicates * variance * log)
    radius = (reach * log / 3 + root) / run.replicates
    found = run.mean[-1][np.ix_(law.agents, law.hypotheses)]
    assert (np.abs(found - mean) <= radius + law.displacement + 1e-12).all()


def decidable(problem: Problem) -> bool:
    """Whether there is something to reject."""
    v = problem.network.stationary_distribution
    return len(problem.model.reference_hypotheses(v)) < len(problem.model.hypotheses)


@often(EXAMPLES)
@given(problem=problems(max_agents=3, finite=True), seed=seeds)
@example(pinned(COUPLED), 0)
@example(one_who_sees(), 0)
def test_any_network(problem: Problem, seed: int) -> None:
    assume(decidable(problem))
    network, model = problem.network, problem.model
    rounds = max(2, 5 - network.agents)
    law = belief_law(network, model, rounds)
    run = simulate(network, model, run=Run(rounds=rounds, replicates=REPLICATES, seed=seed))
    assert run.best == law.best
    assert_frequencies(law, run)
    assert_means(law, run)
    # And against theory, which knows the two moments without the law.
    wrong = list(law.hypotheses)
    expected = expected_log_ratio(network, model, [rounds], best=law.best).values[0][:, wrong]
    spread = log_ratio_spread(network, model, [rounds], best=law.best).agents[0][:, wrong]
    scale = 1 + float(np.abs(law.log_ratios).max())
    assert np.abs(law.log_ratio_mean - expected).max() <= law.displacement + 1e-12 * scale
    slack = 4 * law.displacement * scale + 1e-12 * scale**2
    assert np.abs(law.log_ratio_variance - spread).max() <= slack


@st.composite
def rational_problems(draw: st.DrawFn) -> tuple[RationalNetwork, RationalModel]:
    network = draw(rational_networks(max_agents=2))
    model = draw(rational_models(network.agents))
    assume(len(reference_of(network, model)) < len(model.hypotheses))
    return network, model


@often(EXAMPLES)
@given(problem=rational_problems(), seed=seeds)
def test_ties(problem: tuple[RationalNetwork, RationalModel], seed: int) -> None:
    """Small fractions tie all the time: exact laws decide ties, simulation counts near ones."""
    network, model = problem
    rounds = 4 if network.agents == 1 else 2
    law = belief_law(network, model, rounds, exact=True)
    twin = in_doubles(model)
    run = simulate(
        network.as_network(), twin, run=Run(rounds=rounds, replicates=REPLICATES, seed=seed)
    )
    assume(set(run.reference) == reference_of(network, model))
    assert_frequencies(law, run)
    truth = float(law.error_fraction())
    # A sum of a few dozen doubles.
    assert abs(law.error_probability() - truth) <= 1e-14 * truth


@st.composite
def periodic(draw: st.DrawFn) -> tuple[PeriodicNetwork, FiniteModel]:
    """Everybody observes in all phases: one of them mixes, the others are what they are."""
    first = draw(networks(kinds=("positive",), max_agents=2))
    others = networks(min_agents=first.agents, max_agents=first.agents)
    more = [draw(others) for _ in range(draw(st.integers(1, 2)))]
    phases = [network.weights for network in (first, *more)]
    return PeriodicNetwork(phases), draw(finite_models(first.agents))  # type: ignore[arg-type]


@often(EXAMPLES)
@given(problem=periodic(), seed=seeds)
def test_networks_that_change(problem: tuple[PeriodicNetwork, FiniteModel], seed: int) -> None:
    network, model = problem
    rounds = 3
    run = simulate(network, model, run=Run(rounds=rounds, replicates=REPLICATES, seed=seed))
    assume(len(run.reference) < len(model.hypotheses))
    law = belief_law(weights_of(network, rounds), model, rounds, reference=run.reference)
    assert_frequencies(law, run)
    assert_means(law, run)
    expected = expected_log_ratio(network, model, [rounds], best=run.best).values[0]
    scale = 1 + float(np.abs(law.log_ratios).max())
    difference = law.log_ratio_mean - expected[:, list(law.hypotheses)]
    assert np.abs(difference).max() <= law.displacement + 1e-12 * scale
    if model.optimal_hypotheses:
        bound = error_bound(network, model, rounds)
        assert law.error_enclosure().lower <= bound * (1 + 1e-12)


def weights_of(network: PeriodicNetwork, rounds: int) -> Sequence[object]:
    return [network.phase_of(t + 1).weights for t in range(rounds)]


@often(EXAMPLES)
@given(network=networks(kinds=("reversible", "symmetric", "star"), max_agents=2), seed=seeds)
def test_the_first_round_of_a_pair_by_hand(network: Network, seed: int) -> None:
    """Two coins and one round: four outcomes, all written down."""
    model = pinned(network).model
    law = belief_law(network, model, 1)
    W, first, second = network.weights, model.kinds[0], model.kinds[1]
    prior = (model.log_priors[:, 0] - model.log_priors[:, 1])[model.assignment]
    z = [kind.log_likelihoods[0] - kind.log_likelihoods[1] for kind in (first, second)]
    p = [kind.probabilities for kind in (first, second)]
    seen = np.array([[z[0][a], z[1][b]] for a in (0, 1) for b in (0, 1)])
    values = (prior + seen) @ np.asarray(W).T
    chances = np.array([p[0][a] * p[1][b] for a in (0, 1) for b in (0, 1)])
    assert_close(law.log_ratio_mean[:, 0], chances @ values, 1e-8)
    wrong = (values <= 1e-9).any(axis=1)
    assert abs(law.error_probability() - chances[wrong].sum()) < 1e-12
    run = simulate(network, model, run=Run(rounds=1, replicates=REPLICATES, seed=seed))
    assert_frequencies(law, run)

"""What is run lies in what is proved: exact means and errors against certified intervals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from exact import belief_law, error_law, learn_fast
from exact.law.law_problem import in_doubles
from tests.exact.law.oracles import reference_of
from tests.properties.support import often
from tests.strategies import Problem, problems, rational_models, rational_networks
from tests.theory.rational.networks import directed_ring, reset_chain
from theory import account, expected_log_ratio
from theory.certified import certify_learning, certify_network
from theory.numbers import Enclosure
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork

COIN = RationalFiniteAgent.from_tables(
    inputs=[1], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
)


def rational_coins(network: RationalNetwork) -> tuple[RationalNetwork, RationalModel]:
    return network, RationalModel.from_agents(["fair", "loaded"], [COIN], counts=[network.agents])


@st.composite
def rational_problems(draw: st.DrawFn) -> tuple[RationalNetwork, RationalModel]:
    network = draw(rational_networks(max_agents=4))
    model = draw(rational_models(network.agents))
    assume(len(reference_of(network, model)) < len(model.hypotheses))
    return network, model


def scaled(interval: Enclosure, low: float, high: float) -> tuple[float, float]:
    """All products of a number of the interval with one from `low` to `high`."""
    ends = [
        interval.lower * low,
        interval.lower * high,
        interval.upper * low,
        interval.upper * high,
    ]
    return min(ends), max(ends)


@often(5)
@given(problem=rational_problems(), rounds=st.sampled_from([1, 10, 300]))
@example(rational_coins(reset_chain(6)), 300)
@example(rational_coins(directed_ring(3, Fraction(1, 1000))), 300)
def test_expected_log_ratios(problem: tuple[RationalNetwork, RationalModel], rounds: int) -> None:
    """|E Λ_i − n K| ≤ D_i max_j |I_j| + max_j |Λ_j(0)|, with certified K, D and I."""
    network, model = problem
    learning = certify_learning(network, model)
    deviation = certify_network(network).deviation
    best = learning.reference[0]
    twin = in_doubles(model)
    found = expected_log_ratio(network.as_network(), twin, [rounds], best=best).values[0]
    # The engine itself, fed with what is expected of every observation.
    gain = -np.broadcast_to(twin.information(best), (rounds, *found.shape))
    run = learn_fast(
        network.as_network(),
        gain,
        log_priors=twin.log_priors[twin.assignment],
        record=[rounds],
    ).log_ratios[0]
    means = run - run[:, [best]]
    scale = 1 + float(np.abs(found).max())
    assert np.abs(means - found).max() <= 1e-12 * scale
    priors = twin.log_priors[twin.assignment]
    for theta in range(len(model.hypotheses)):
        rate = scaled(learning.rates[theta], rounds, rounds)
        if theta in learning.reference:
            continue
        size = max(max(abs(e.lower), abs(e.upper)) for e in learning.information[theta])
        start = float(np.abs(priors[:, best] - priors[:, theta]).max())
        for i in range(network.agents):
            reach = deviation[i].upper * size + start + 1e-12 * scale
            assert rate[0] - reach <= means[i, theta] <= rate[1] + reach


@often(8)
@given(problem=rational_problems(), rounds=st.integers(1, 2))
def test_laws(problem: tuple[RationalNetwork, RationalModel], rounds: int) -> None:
    """Means of the exact law, between sums of certified numbers with rational weights."""
    network, model = problem
    assume(network.agents <= 3)
    law = belief_law(network, model, rounds)
    N = network.agents
    power = [[Fraction(int(i == j)) for j in range(N)] for i in range(N)]
    total = [[Fraction(0)] * N for _ in range(N)]
    for _ in range(rounds):
        power = [
            [sum((row[k] * network.rows[k][j] for k in range(N)), Fraction(0)) for j in range(N)]
            for row in power
        ]
        total = [
            [a + b for a, b in zip(x, y, strict=True)] for x, y in zip(total, power, strict=True)
        ]
    for place, theta in enumerate(law.hypotheses):
        gains = [x.enclosure() for x in model.information(law.best, theta)]
        odds = [x.enclosure() for x in model.prior_log_odds(law.best, theta)]
        for i in range(N):
            low = high = 0.0
            for j, kind in enumerate(model.assignment):
                for interval, weight in ((gains[kind], total[i][j]), (odds[kind], power[i][j])):
                    a, b = scaled(interval, float(weight), float(weight))
                    low, high = low + a, high + b
            slack = 1e-12 * (1 + float(np.abs(law.log_ratios).max()))
            assert low - slack <= law.log_ratio_mean[i, place] <= high + slack
            assert high - low <= slack


@often(8)
@given(problem=problems(max_agents=2, finite=True))
def test_errors(problem: Problem) -> None:
    """The certified account of the probability of error, against all histories."""
    network, model = problem.network, problem.model
    reference = model.reference_hypotheses(network.stationary_distribution)
    assume(len(reference) < len(model.hypotheses))
    law = error_law(network, model, 3)
    proved = account(network, model).probability([1, 2, 3])
    assert (proved.lower <= law.some_upper).all()
    assert (law.some_lower <= proved.upper).all()

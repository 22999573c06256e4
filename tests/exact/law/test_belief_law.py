"""Laws by convolution against laws by brute force, in fractions and in doubles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import Run, draw_log_likelihoods, learn, proportion, simulate
from exact.law import belief_law, pair_law
from exact.law.law_problem import in_doubles
from tests.exact.law.oracles import error_patterns, log_ratio_moments, reference_of
from tests.models import COIN, coins, error_probability
from tests.strategies import finite_models, networks, rational_models, rational_networks
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network, expected_log_ratio
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork

HALF = Fraction(1, 2)
RATIONAL_COIN = RationalFiniteAgent.from_tables(
    inputs=[1], truth=[[HALF, HALF]], likelihood=[[[HALF, HALF]], [["3/4", "1/4"]]]
)
EVEN_COIN = RationalFiniteAgent.from_tables(
    inputs=[1], truth=[["3/4", "1/4"]], likelihood=[[["3/4", "1/4"]], [["1/4", "3/4"]]]
)
PAIR = Network([[0.9, 0.1], [0.6, 0.4]])
RATIONAL_PAIR = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]])


def rational_coins(agents: int, coin: RationalFiniteAgent = RATIONAL_COIN) -> RationalModel:
    return RationalModel.from_agents(["fair", "loaded"], [coin], counts=[agents])


@settings(max_examples=30)
@given(st.data())
def test_fractions_are_those_of_all_histories(data: st.DataObject) -> None:
    """Every pattern of wrong agents, ties included, exactly; and the moments of one log-ratio."""
    network = data.draw(rational_networks(max_agents=2))
    model = data.draw(rational_models(network.agents))
    rounds = data.draw(st.integers(1, 3 if network.agents == 1 else 2))
    reference = reference_of(network, model)
    if len(reference) == len(model.hypotheses):
        return
    law = belief_law(network, model, rounds, exact=True)
    weights = [network.rows] * rounds
    found = law.joint_errors()
    assert found.fractions is not None
    keys = [tuple(bool(x) for x in row) for row in found.patterns]
    expected = error_patterns(weights, model, reference)
    assert dict(zip(keys, found.fractions, strict=True)) == expected
    assert law.error_fraction() == sum(p for key, p in expected.items() if any(key))
    for agent in law.agents:
        assert law.error_fraction(agent) == sum(p for key, p in expected.items() if key[agent])
        assert law.error_probability(agent) == pytest.approx(float(law.error_fraction(agent)))
    column = law.hypotheses.index(min(set(range(len(model.hypotheses))) - reference))
    moments = log_ratio_moments(weights, model, law.best, law.hypotheses[column])
    # Sums of a few hundred products of numbers below 10.
    np.testing.assert_allclose(law.log_ratio_mean[:, column], [m for m, _ in moments], atol=1e-12)
    np.testing.assert_allclose(
        law.log_ratio_variance[:, column], [v for _, v in moments], atol=1e-11
    )
    diagonal = np.einsum("acac->ac", law.log_ratio_covariance)
    np.testing.assert_allclose(diagonal, law.log_ratio_variance, atol=1e-12)
    assert law.displacement == 0.0


@settings(max_examples=40)
@given(st.data())
def test_doubles_are_those_of_all_histories(data: st.DataObject) -> None:
    network = data.draw(networks(max_agents=2))
    model = data.draw(finite_models(network.agents))
    reference = model.reference_hypotheses(network.stationary_distribution)
    if len(reference) == len(model.hypotheses):
        return
    rounds = data.draw(st.integers(1, 2))
    law = belief_law(network, model, rounds)
    expected = error_probability(network, model, rounds)
    found = law.error_enclosure()
    # The oracle adds up to 1296 products in another order.
    assert found.lower * (1 - 1e-12) <= expected <= found.upper * (1 + 1e-12)
    assert law.error_probability() == pytest.approx(expected, rel=1e-12)
    ratios = expected_log_ratio(network, model, [rounds], best=law.best).values[0]
    np.testing.assert_allclose(law.log_ratio_mean, ratios[:, list(law.hypotheses)], atol=1e-8)


@settings(max_examples=15)
@given(st.data())
def test_doubles_enclose_fractions_however_coarse(data: st.DataObject) -> None:
    network = data.draw(rational_networks(max_agents=2))
    model = data.draw(rational_models(network.agents))
    if len(reference_of(network, model)) == len(model.hypotheses):
        return
    rounds = data.draw(st.integers(1, 3))
    exact = belief_law(network, model, rounds)
    coarse = data.draw(st.sampled_from([1e-9, 1e-2, 0.5]))
    law = belief_law(
        network,
        in_doubles(model),
        rounds,
        merge_within=coarse,
        reference=sorted(reference_of(network, model)),
    )
    assert law.displacement <= coarse * (1 + 1e-6)
    for agent in (None, *law.agents):
        found = law.error_enclosure(agent)
        assert found.lower <= exact.error_probability(agent) * (1 + 1e-12)
        assert found.upper >= exact.error_probability(agent) * (1 - 1e-12)


def test_ties_are_decided() -> None:
    """Coins of ±log 3: after an even number of tosses as many heads as tails are a tie."""
    model = rational_coins(1, EVEN_COIN)
    law = belief_law(RationalNetwork([["1"]]), model, 4, exact=True)
    heads = [Fraction(1, 256), Fraction(12, 256), Fraction(54, 256)]
    assert law.error_fraction() == sum(heads)
    assert law.states == 5
    assert law.log_ratios[law.log_ratios == 0].size == 1
    apart = belief_law(RationalNetwork([["1"]]), model, 5, exact=True)
    assert apart.error_fraction() == Fraction(1 + 15 + 90, 1024)


def test_no_probability_is_above_one() -> None:
    """Priors that decide: every run errs, and masses in doubles sum to 1 + 4e-16."""
    truth = [[0.1] * 10]
    skewed = [[2 * (i + 1) / 110 for i in range(10)]]
    agent = FiniteAgent.from_tables(truth=truth, likelihood=[truth, skewed])
    model = FiniteModel.from_agents(["a", "b"], [agent], counts=[2], priors=[[1e-12, 1 - 1e-12]])
    law = belief_law(PAIR, model, 2)
    found = law.error_enclosure(0)
    assert law.error_probability(0) == law.error_probability() == found.upper == 1.0
    assert found.lower <= 1.0
    assert law.joint_errors().probabilities.max() <= 1.0


def test_a_near_tie_is_no_tie() -> None:
    """2⁵³ heads' worth against one: two numbers that doubles do not tell apart."""
    tiny = Fraction(1, 10**18)
    coin = RationalFiniteAgent.from_tables(
        inputs=[1],
        truth=[[HALF, HALF]],
        likelihood=[[[HALF, HALF]], [[HALF * (1 + tiny), HALF * (1 - tiny)]]],
    )
    model = RationalModel.from_agents(["fair", "loaded"], [coin])
    # A head and a tail: log 1/(1 − 10⁻³⁶) > 0, barely, and no error.
    law = belief_law(RationalNetwork([["1"]]), model, 2, exact=True)
    assert law.error_fraction() == Fraction(1, 4)


def test_merging_is_complete() -> None:
    """Equal rows: only the number of heads matters, and all agents agree."""
    rows = [["1/3"] * 3] * 3
    law = belief_law(RationalNetwork(rows), rational_coins(3), 40, exact=True)
    assert law.states == 121
    assert np.array_equal(law.log_ratios[:, 0], law.log_ratios[:, 2])
    assert law.joint_errors().patterns.tolist() == [[False] * 3, [True] * 3]
    # The weight of every state is a binomial coefficient.
    assert law.fractions is not None
    assert law.fractions[1] == Fraction(120, 2**120)
    assert sum(law.fractions) == 1


def test_merging_across_rounds() -> None:
    """W² = 1vᵀ: the newest round is told apart, all older ones are pooled."""
    W = [["1/2", "1/2", "0"], ["1/6", "1/6", "2/3"], ["1/3", "1/3", "1/3"]]
    law = belief_law(RationalNetwork(W), rational_coins(3), 30)
    assert law.states <= 8 * 88
    doubles = belief_law(RationalNetwork(W), coins(3), 30)
    assert doubles.error_probability() == pytest.approx(law.error_probability(), rel=1e-12)


def test_weights_of_every_round() -> None:
    """The same weights given round by round, and weights that change, against brute force."""
    model = rational_coins(2)
    fixed = belief_law(RATIONAL_PAIR, model, 4, exact=True)
    listed = belief_law([RATIONAL_PAIR.rows] * 4, model, 4, exact=True)
    assert listed.fractions == fixed.fractions
    rows = (
        [["1/2", "1/2"], ["1/4", "3/4"]],
        [["1/3", "2/3"], ["1", "0"]],
        [["0", "1"], ["3/5", "2/5"]],
    )
    table = [tuple(tuple(Fraction(x) for x in row) for row in W) for W in rows]
    law = belief_law(rows, model, 3, exact=True)
    found = law.joint_errors()
    assert found.fractions is not None
    keys = [tuple(bool(x) for x in row) for row in found.patterns]
    assert dict(zip(keys, found.fractions, strict=True)) == error_patterns(table, model, {0})
    # The order of the rounds matters.
    assert belief_law(rows[::-1], model, 3, exact=True).fractions != law.fractions
    doubles = belief_law([np.array(W, dtype=float) for W in table], coins(2), 3)
    assert doubles.error_probability() == pytest.approx(law.error_probability(), rel=1e-12)


def test_one_agent_of_many_rounds() -> None:
    """The single log-ratio, at any coarseness, against the joint law; then far beyond it."""
    joint = belief_law(RATIONAL_PAIR, rational_coins(2), 9)
    for agent in (0, 1):
        law = pair_law(PAIR, coins(2), 9, agent=agent, hypothesis=1, merge_within=1e-3)
        found = law.error_enclosure(agent)
        assert found.lower <= joint.error_probability(agent) <= found.upper
        assert law.agents == (agent,)
        # Tight: few states lie within a thousandth of a tie.
        assert found.upper - found.lower < 0.02
        coarse = pair_law(PAIR, coins(2), 9, agent=agent, hypothesis=1, merge_within=0.3)
        wide = coarse.error_enclosure(agent)
        assert wide.lower <= joint.error_probability(agent) <= wide.upper
        assert coarse.states < law.states / 10
    far = pair_law(PAIR, coins(2), 60, agent=0, hypothesis=1, merge_within=0.05)
    run = simulate(PAIR, coins(2), run=Run(rounds=60, replicates=40_000, seed=3, record=[60]))
    measured = proportion(int(run.agent_errors[0, 0]), 40_000, confidence=0.999)
    assert far.error_enclosure().lower <= measured.upper
    assert far.error_enclosure().upper >= measured.lower


def test_beliefs_are_those_of_the_papers() -> None:
    """Every state that a run can reach is in the law."""
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[2], priors=[[0.3, 0.7]])
    law = belief_law(PAIR, model, 3)
    for seed in range(5):
        observed = draw_log_likelihoods(model, rounds=3, seed=seed)
        priors = model.log_priors[model.assignment]
        beliefs = np.exp(learn(PAIR, observed, log_priors=priors).private[-1])
        gaps = np.abs(law.beliefs() - beliefs).max(axis=(1, 2))
        assert gaps.min() < 1e-9  # merge_within
    assert law.best == 0


def test_several_best_hypotheses() -> None:
    """Two that nobody tells apart: an error must beat both."""
    coin = RationalFiniteAgent.from_tables(
        inputs=[1],
        truth=[[HALF, HALF]],
        likelihood=[[[HALF, HALF]], [["3/4", "1/4"]], [[HALF, HALF]]],
    )
    model = RationalModel.from_agents(["a", "b", "c"], [coin], priors=[["1/4", "1/4", "1/2"]])
    network = RationalNetwork([["1"]])
    law = belief_law(network, model, 2, exact=True)
    assert law.hypotheses == (1, 2)
    expected = error_patterns([network.rows] * 2, model, {0, 2})
    assert law.error_fraction() == expected[(True,)] == Fraction(1, 4)
    doubles = belief_law(network, in_doubles(model), 2)
    assert doubles.error_probability() == pytest.approx(0.25)


GAUSSIAN = FiniteModel.from_agents(
    ["zero", "one"], [GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)], counts=[2]
)
SAME = FiniteModel.from_agents(
    ["a", "b"],
    [FiniteAgent.from_tables(inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]]] * 2)],
    counts=[2],
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: belief_law(PAIR, GAUSSIAN, 1), "agents of kind 0: .* use exact.rare_errors"),
        (lambda: belief_law(PAIR, coins(3), 1), "model: expected one agent for each .* 2, got 3"),
        (lambda: belief_law(PAIR, coins(2), 0), "rounds: "),
        (lambda: belief_law(PAIR, coins(2), 1, agents=[2]), "agents: "),
        (lambda: belief_law(PAIR, coins(2), 1, agents=[]), "agents: expected at least one"),
        (lambda: belief_law(PAIR, coins(2), 1, hypotheses=[0]), "hypotheses: .* to reject"),
        (lambda: belief_law(PAIR, SAME, 1), "hypotheses: expected a hypothesis to reject"),
        (lambda: belief_law(PAIR, coins(2), 1, exact=True), "exact: .* RationalModel"),
        (lambda: belief_law(PAIR, coins(2), 1, merge_within=0.0), "merge_within: "),
        (lambda: belief_law([PAIR], coins(2), 2), "rounds: expected at most 1"),
        (lambda: belief_law([], coins(2), 2), "network: expected weights for each round"),
        (lambda: belief_law([[[0.5, 0.6], [1, 0]]], coins(2), 1), r"network\[0\]: "),
        (lambda: belief_law([[[0.5, 0.5]]], coins(2), 1), r"network\[0\]: .* square"),
        (lambda: belief_law(PAIR, coins(2), 9, limit=99), "limit: expected at most 99 .* states"),
        (lambda: belief_law(PAIR, coins(2), 1).error_fraction(), "exact: .* exact=True"),
        (lambda: belief_law(PAIR, coins(2), 1, agents=[0]).error_probability(1), "agent: "),
    ],
)
def test_what_cannot_be_done_is_refused(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)

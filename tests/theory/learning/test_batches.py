"""Agents that draw batches: types against all sequences, and against single observations."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models import COIN, PAIR, Tables, by_sequences, coin
from tests.strategies import finite_agents
from theory import (
    FiniteAgent,
    FiniteModel,
    GaussianAgent,
    LogRatioLaw,
    error_exponent,
    gaussian_pair,
    learning_rate,
)
from theory.certified import certify_learning
from theory.learning.batches import type_counts, type_law
from theory.numbers import LogSum
from theory.rational import (
    RationalFiniteAgent,
    RationalGaussianAgent,
    RationalModel,
    RationalNetwork,
    rational_rate,
)

F = Fraction
NAMES = ("a", "b", "c")
# Two inputs; the second hypothesis explains two of the outcomes like the first.
TABLES: Tables = (
    [F(1, 4), F(3, 4)],
    [[F(1, 2), F(1, 2)], [F(2, 5), F(3, 5)]],
    [
        [[F(1, 2), F(1, 2)], [F(1, 3), F(2, 3)]],
        [[F(1, 2), F(1, 2)], [F(1, 2), F(1, 2)]],
        [[F(1, 4), F(3, 4)], [F(1, 3), F(2, 3)]],
    ],
)
U = np.array([-0.9, -0.3, 0.4])


def finite(tables: Tables) -> FiniteAgent:
    inputs, truth, likelihood = tables
    return FiniteAgent.from_tables(
        inputs=np.array(inputs, dtype=float),
        truth=np.array(truth, dtype=float),
        likelihood=np.array(likelihood, dtype=float),
    )


def rational(tables: Tables) -> RationalFiniteAgent:
    inputs, truth, likelihood = tables
    return RationalFiniteAgent.from_tables(inputs=inputs, truth=truth, likelihood=likelihood)


@pytest.mark.parametrize("batch", [2, 3])
def test_a_batch_is_all_its_sequences(batch: int) -> None:
    """The brute force has 16 and 64 outcomes; the types of three distinct columns are 6 and 10."""
    batched, brute = finite(TABLES).batched(batch), finite(by_sequences(TABLES, batch))
    assert batched.probabilities.size == math.comb(batch + 3, 3) < brute.probabilities.size
    # Sums and logarithms of tens of doubles of order one.
    np.testing.assert_allclose(batched.divergences, brute.divergences, rtol=1e-12, atol=1e-14)
    assert batched.entropy == pytest.approx(brute.entropy, rel=1e-13)
    assert batched.likelihood_bounds.lower == pytest.approx(brute.likelihood_bounds.lower)
    assert batched.likelihood_bounds.upper == pytest.approx(brute.likelihood_bounds.upper)
    for other in (1, 2):
        law, oracle = (agent.log_ratio_law(0, other) for agent in (batched, brute))
        np.testing.assert_allclose(law.cumulant(U), oracle.cumulant(U), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(law.tilted(0.3).mean, oracle.tilted(0.3).mean, rtol=1e-12)
        assert law.mean == pytest.approx(oracle.mean, rel=1e-12)
        assert law.variance == pytest.approx(oracle.variance, rel=1e-12)
        assert (law.minimum, law.maximum) == pytest.approx((oracle.minimum, oracle.maximum))
        # What brute force cannot know: the batch has independent terms.
        assert law.squared_range == pytest.approx(oracle.squared_range / batch)
    values, doubt = batched.compare(0).values, batched.compare(0).doubt
    assert (np.abs(values - brute.compare(0).values) <= doubt + brute.compare(0).doubt).all()


def test_alike_outcomes_are_counted_together() -> None:
    same = FiniteAgent.from_tables(
        inputs=[0.3, 0.7], truth=[[0.5, 0.5]] * 2, likelihood=[[[0.5, 0.5]] * 2] * 2
    )
    assert same.batched(1000).probabilities.tolist() == [1.0]
    assert same.batched(1000).indistinguishable(0, 1)


def test_a_batch_of_one_is_the_agent_itself() -> None:
    normal = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN, normal, COIN], counts=[2, 1, 1])
    assert COIN.batched(1) is COIN
    assert COIN.batched(5).batched(1) is COIN
    assert COIN.batched(5).batched(3) == COIN.batched(3) != COIN
    assert normal.batched(1) == normal != normal.batched(2)
    assert model.batched(1) == model == model.batched(3).batched(1)
    assert model.batched(1).batches.tolist() == [1, 1, 1, 1]


def test_agents_of_one_kind_may_draw_differently() -> None:
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[3]).batched([2, 1, 2])
    assert model.batches.tolist() == [2, 1, 2]
    assert len(model.kinds) == 2
    gain = COIN.divergences[1]
    np.testing.assert_allclose(model.information(0)[:, 1], [2 * gain, gain, 2 * gain], rtol=1e-15)
    assert model.log_ratio_bound == pytest.approx(np.log(3 / 4) - 2 * np.log(1 / 4))
    hundreds = FiniteModel.from_agents(["fair", "loaded"], [COIN]).batched(900)
    assert hundreds.log_ratio_bound == pytest.approx(900 * np.log(3), rel=1e-12)  # α^900 underflows


@pytest.mark.parametrize("batches", [[3, 3], [1, 4]])
def test_rate_and_exponent_of_batches(batches: list[int]) -> None:
    one = FiniteModel.from_agents(NAMES, [finite(TABLES)], counts=[2])
    brute = FiniteModel.from_agents(NAMES, [finite(by_sequences(TABLES, b)) for b in batches])
    batched = one.batched(batches)
    v = PAIR.stationary_distribution
    rate, exponent = learning_rate(PAIR, batched), error_exponent(PAIR, batched)
    np.testing.assert_allclose(rate.rates, (v * batches) @ one.information(0), rtol=1e-13)
    np.testing.assert_allclose(rate.rates, learning_rate(PAIR, brute).rates, rtol=1e-11)
    # The tilt is searched to 1e-9, at a maximum.
    np.testing.assert_allclose(exponent.exponents, error_exponent(PAIR, brute).exponents, rtol=1e-9)
    if batches == [3, 3]:
        alone = error_exponent(PAIR, one)
        np.testing.assert_allclose(exponent.exponents[1:], 3 * alone.exponents[1:], rtol=1e-9)
        np.testing.assert_allclose(exponent.tilts[1:], alone.tilts[1:], rtol=1e-6)
        assert rate.rate == pytest.approx(3 * learning_rate(PAIR, one).rate, rel=1e-13)


def test_a_batch_weighs_like_influence() -> None:
    """Who draws more decides a network whose agents disagree."""
    left, right = [0.75, 0.25], [0.25, 0.75]
    agents = [coin(left, right, truth=t) for t in (left, right)]
    model = FiniteModel.from_agents(["left", "right"], agents)
    assert learning_rate(PAIR, model).reference == (0,)  # v = (6/7, 1/7)
    assert learning_rate(PAIR, model.batched([1, 5])).reference == (0,)
    assert learning_rate(PAIR, model.batched([1, 7])).reference == (1,)


def test_in_fractions_everything_is_exact() -> None:
    one, brute = rational(TABLES), rational(by_sequences(TABLES, 3))
    batched = one.batched(3)
    assert batched.divergences == brute.divergences
    assert batched.outcomes.divergences == brute.divergences
    assert sum(batched.outcomes.probabilities) == 1
    for other in (1, 2):
        law, oracle = batched.log_ratio(0, other), brute.log_ratio(0, other)
        atoms = dict(zip(law.arguments, law.probabilities, strict=True))
        assert atoms == dict(zip(oracle.arguments, oracle.probabilities, strict=True))
        assert law.mean == oracle.mean
        assert law.minimum == min(oracle.values)
    bounds, wanted = batched.log_likelihood_bounds, brute.log_likelihood_bounds
    assert bounds.lower == wanted.lower
    assert bounds.upper == wanted.upper
    network = RationalNetwork.from_rows([["9/10", "1/10"], ["3/5", "2/5"]])
    model = RationalModel.from_agents(NAMES, [one], counts=[2])
    rate = rational_rate(network, model.batched([2, 3]))
    assert (
        rate.rate
        == rational_rate(
            network, RationalModel.from_agents(NAMES, [rational(by_sequences(TABLES, 2)), brute])
        ).rate
    )
    assert model.batched([2, 1]).batched(1).kinds[0] == one
    # Doubles of the fractions lie in what is certified of them.
    found = certify_learning(network, model.batched([2, 3]))
    doubles = FiniteModel.from_agents(NAMES, [finite(TABLES)], counts=[2]).batched([2, 3])
    assert found.rate.midpoint == pytest.approx(learning_rate(PAIR, doubles).rate, rel=1e-12)
    exponent = error_exponent(PAIR, doubles).exponent
    assert found.exponent.midpoint == pytest.approx(exponent, rel=1e-9)


def test_doubles_become_the_fractions_of_single_observations() -> None:
    batched = RationalFiniteAgent.from_agent(COIN.batched(4))
    assert batched == RationalFiniteAgent.from_agent(COIN).batched(4)
    normal = GaussianAgent([0.5, 0.5], [0.0, 1.0], 1.0, [[0.0, 1.0], [1.0, 1.0]], 1.0, batch=3)
    fractions = RationalGaussianAgent.from_agent(normal)
    assert fractions.batch == 3
    assert [float(x.enclosure().lower) for x in fractions.divergences] == pytest.approx(
        normal.divergences.tolist(), rel=1e-14
    )


def test_many_observations_stay_exact() -> None:
    """A law of 301 types whose likelihoods have 10^144 in their denominators."""
    coin = RationalFiniteAgent.from_tables(
        truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
    )
    law = coin.batched(300).log_ratio(0, 1)
    assert law.atoms == 301
    assert law.mean == 300 * coin.log_ratio(0, 1).mean
    assert law.minimum == 300 * (LogSum.log(F(2, 3)))


def test_normal_batches_of_one_input_are_their_mean() -> None:
    """log p(y₁ … y_B | θ) depends on θ through the mean alone: normal, of deviation σ/√B."""
    one = GaussianAgent([1.0], [0.2], 1.3, [[0.0], [0.7], [-0.4]], 0.8)
    mean = GaussianAgent([1.0], [0.2], 1.3 / 3, [[0.0], [0.7], [-0.4]], 0.8 / 3)
    batched = one.batched(9)
    for other in (1, 2):
        law, oracle = batched.log_ratio_law(0, other), mean.log_ratio_law(0, other)
        assert (law.mean, law.variance) == pytest.approx((oracle.mean, oracle.variance), rel=1e-13)
    np.testing.assert_allclose(batched.compare(0).values, mean.compare(0).values, rtol=1e-13)
    pair = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    known = [
        gaussian_pair(PAIR, FiniteModel.from_agents(["null", "one"], [agent, pair]))
        for agent in (pair.batched(4), GaussianAgent([1.0], [0.0], 0.5, [[0.0], [1.0]], 0.5))
    ]
    np.testing.assert_array_equal(known[0].separations, known[1].separations)


def test_normal_batches_of_several_inputs_are_mixtures_over_their_types() -> None:
    one = GaussianAgent([0.3, 0.0, 0.7], [0.1, 5.0, 1.0], 1.1, [[0.0] * 3, [0.5, 9.0, 2.0]], 0.9)
    batched = one.batched(4)
    law, single = batched.log_ratio_law(0, 1), one.log_ratio_law(0, 1)
    assert law.means.size == 5  # inputs that never occur have no types
    np.testing.assert_allclose(law.cumulant(U), 4 * single.cumulant(U), rtol=1e-13)
    np.testing.assert_allclose(law.cumulant_slope(U), 4 * single.cumulant_slope(U), rtol=1e-13)
    np.testing.assert_allclose(batched.divergences, 4 * one.divergences, rtol=1e-15)
    fractions = RationalGaussianAgent.from_agent(batched).log_ratio(0, 1)
    assert fractions.mean == 4 * RationalGaussianAgent.from_agent(one).log_ratio(0, 1).mean
    assert sum(fractions.probabilities) == 1
    assert fractions.atoms == 5


@given(finite_agents(3), st.integers(2, 6))
@settings(max_examples=25)
def test_cumulants_are_multiplied(agent: FiniteAgent, batch: int) -> None:
    law, single = agent.batched(batch).log_ratio_law(0, 2), agent.log_ratio_law(0, 2)
    # Sums of types, each off by a few roundings of its logarithms.
    np.testing.assert_allclose(law.cumulant(U), batch * single.cumulant(U), rtol=1e-9, atol=1e-12)
    assert law.terms == batch


def test_weights_of_types_are_multinomial() -> None:
    weights, counts = np.array([0.25, 0.5, 0.25]), type_counts(3, 5)
    assert counts.shape == (21, 3)
    assert (counts.sum(axis=1) == 5).all()
    assert len(np.unique(counts, axis=0)) == 21
    exact = [
        float(
            F(math.factorial(5), math.prod(math.factorial(c) for c in row))
            * math.prod(F(w) ** c for w, c in zip(weights.tolist(), row, strict=True))
        )
        for row in counts.tolist()
    ]
    assert type_law(weights, counts).tolist() == exact  # each correct to the last bit


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: COIN.batched(0), "batch: expected a whole number of at least 1, got 0"),
        (lambda: COIN.batched(1.5), "batch: expected a whole number"),  # type: ignore[arg-type]
        (lambda: COIN.batched(10**6), "at most 65536 types .* got 1000001"),
        (lambda: COIN.batched(5000), "none of whose types is rarer than 1e-290"),
        (lambda: finite_data(200).batched(4), "at most 65536 types"),
        (lambda: GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0, batch=0), "batch: expected"),
        (
            lambda: FiniteModel.from_agents(["a", "b"], [COIN]).batched([1, 2]),
            "one for each of 1 agents, got 2",
        ),
        (
            lambda: FiniteModel.from_agents(["a", "b"], [COIN]).batched("4"),  # type: ignore[arg-type]
            "batch: expected a whole number of at least 1, or a list",
        ),
        (
            lambda: FiniteAgent([1.0], [[0.0], [0.0]], batch=2),
            "single: expected .* the agent of single observations",
        ),
        (lambda: LogRatioLaw(np.ones(1), np.zeros(1), np.zeros(1), 0), "terms: expected"),
    ],
)
def test_bad_batches_get_one_line(make: Callable[[], Any], wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted) as error:
        make()
    assert "\n" not in str(error.value)


def test_batches_too_rare_are_refused_before_they_are_weighed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("theory.learning.batches.type_sizes", pytest.fail)
    with pytest.raises(ValueError, match="12000 of outcomes as rare as 0"):
        COIN.batched(12_000)


def finite_data(rows: int) -> FiniteAgent:
    rng = np.random.default_rng(0)
    return FiniteAgent.from_log_likelihoods(np.log(rng.dirichlet([1, 1], size=rows).T))

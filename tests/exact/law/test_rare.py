"""Importance sampling against exact laws, closed forms and certified bounds, to 1e-30."""

from __future__ import annotations

from math import comb, floor, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from exact import Run, simulate
from exact.law import RareError, belief_law, error_law, rare_errors
from exact.law.mixture import Cumulants, lags
from exact.law.rare import _prepare, _Sums
from tests.exact.law.test_belief_law import PAIR, RATIONAL_PAIR, SAME, rational_coins
from tests.exact.test_learning import mixed_model
from tests.models import coins
from tests.strategies import finite_models, networks
from theory import (
    FiniteAgent,
    FiniteModel,
    GaussianAgent,
    Network,
    account,
    gaussian_pair,
    refined_error_probability,
)

ALONE = Network([[1.0]])
STAR = Network.from_topology("star", agents=9, edge_confidence=0.5)

INPUTS = FiniteModel.from_agents(
    ["a", "b", "c"],
    [GaussianAgent([0.3, 0.7], [0.0, 1.0], 1.5, [[0.0, 1.0], [0.8, 1.3], [0.0, 0.0]], 1.0)],
    counts=[2],
)

# One input says much more than the other: tilting moves probability between them.
UNEVEN = FiniteModel.from_agents(
    ["a", "b"],
    [GaussianAgent([0.3, 0.7], [0.0, 0.0], 1.0, [[0.0, 0.0], [3.0, 0.4]], 1.0)],
    counts=[2],
)


def agrees(found: RareError, log_truth: float) -> bool:
    """Within four standard errors, or a rounding where there is no spread."""
    gap = abs(np.expm1(log_truth - found.log_probability))
    return bool(gap <= 4 * found.relative_standard_error + 1e-9)


def log_binomial_error(tosses: int) -> float:
    most = floor(tosses * log(3 / 2) / log(3))
    count = sum(comb(tosses, k) for k in range(most + 1))
    return log(count) - tosses * log(2)


@pytest.mark.parametrize("rounds", [20, 200, 700, 2000])
def test_one_coin_down_to_1e_31(rounds: int) -> None:
    found = rare_errors(ALONE, coins(1), rounds=rounds, seed=1).some_agent
    truth = log_binomial_error(rounds)
    assert agrees(found, truth)
    assert found.relative_standard_error < 0.05
    assert found.trusted
    interval = found.interval()
    assert interval.lower <= np.exp(truth) <= interval.upper
    if rounds == 700:
        assert 1e-13 < found.probability < 1e-11


def test_two_coins_in_all_their_rounds() -> None:
    law = error_law(RATIONAL_PAIR, rational_coins(2), 9)
    for n in range(1, 10):
        found = rare_errors(PAIR, coins(2), rounds=n, seed=n, target_standard_error=0.01)
        for agent in (0, 1):
            assert agrees(found.each_agent[agent], np.log(law.each_agent[n - 1, agent]))
        assert agrees(found.some_agent, np.log(law.some_agent[n - 1]))
        assert found.some_agent.relative_standard_error < 0.012


@settings(max_examples=20)
@given(st.data())
def test_any_small_problem(data: st.DataObject) -> None:
    """Every network and model, priors, several hypotheses and all: the exact law."""
    network = data.draw(networks(max_agents=2))
    model = data.draw(finite_models(network.agents))
    if len(model.reference_hypotheses(network.stationary_distribution)) == len(model.hypotheses):
        return
    rounds = data.draw(st.integers(1, 3))
    law = error_law(network, model, rounds)
    found = rare_errors(
        network, model, rounds=rounds, seed=3, replicates=20_000, target_standard_error=0.02
    )
    truths = [*law.each_agent[-1].tolist(), float(law.some_agent[-1])]
    for estimate, truth in zip([*found.each_agent, found.some_agent], truths, strict=True):
        if estimate.is_impossible or estimate.log_probability == -np.inf:
            # Nothing was seen: then the interval says how little that means.
            assert truth <= estimate.interval(confidence=1 - 1e-6).upper + 1e-12
        elif estimate.trusted:
            # 60 estimates or so: five standard errors.
            gap = abs(truth / estimate.probability - 1)
            assert gap <= 5 * estimate.relative_standard_error + 1e-9


def test_nine_coins_on_a_star_at_1e_14() -> None:
    """The certified bounds hold the estimate of some agent's error, and estimates agree."""
    found = rare_errors(STAR, coins(9), rounds=150, seed=1)
    bounds = account(STAR, coins(9)).probability(150)
    some = found.some_agent
    assert some.trusted
    assert some.probability < 1e-12
    assert some.relative_standard_error < 0.05
    slack = 4 * some.standard_error
    assert bounds.lower[0] - slack <= some.probability <= bounds.upper[0] + slack
    refined = refined_error_probability(STAR, coins(9), [150])
    for agent, estimate in enumerate(found.each_agent):
        assert estimate.relative_standard_error < 0.05
        # The asymptotic estimate is off by O(1/n) beside the sampling error.
        gap = abs(estimate.log_probability - refined.log_agents[0, agent])
        assert gap < 4 * estimate.relative_standard_error + 5 / 150
    # All leaves are alike; someone errs at least as often as each, and less than all together.
    largest = max(e.probability for e in found.each_agent)
    assert largest < some.probability < sum(e.probability for e in found.each_agent)


def test_normal_agents_in_closed_form() -> None:
    kind = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    model = FiniteModel.from_agents(["zero", "one"], [kind], counts=[2], priors=[[0.3, 0.7]])
    exact = gaussian_pair(PAIR, model)
    for rounds in (1, 10, 170):
        truths = exact.log_error_probabilities(rounds)
        found = rare_errors(PAIR, model, rounds=rounds, seed=2)
        for agent in (0, 1):
            assert agrees(found.each_agent[agent], float(truths[agent]))
            assert found.each_agent[agent].relative_standard_error < 0.05
        bracket = exact.some_agent(rounds)
        assert bracket.log_lower - 0.2 <= found.some_agent.log_probability
        assert found.some_agent.log_probability <= bracket.log_upper + 0.2
    assert truths.max() < log(1e-10)


def test_normal_agents_with_several_inputs_and_hypotheses() -> None:
    """Settled lags, where outcomes are counted, against lags one by one."""
    model = INPUTS
    even = Network([[0.5, 0.5], [0.5, 0.5]])
    # A network that settles late computes nearly the same by another way.
    late = Network([[0.5 + 1e-7, 0.5 - 1e-7], [0.5 - 1e-7, 0.5 + 1e-7]])
    one = rare_errors(even, model, rounds=60, seed=4, target_standard_error=0.01).some_agent
    two = rare_errors(late, model, rounds=60, seed=5, target_standard_error=0.01).some_agent
    spread = np.hypot(one.relative_standard_error, two.relative_standard_error)
    assert abs(one.log_probability - two.log_probability) < 4 * spread
    refined = refined_error_probability(even, model, [60])
    assert refined.log_lower[0] - 0.2 < one.log_probability < refined.log_upper[0] + 0.2


@pytest.mark.parametrize(
    ("network", "model", "rounds"),
    [
        (Network.from_topology("ring", agents=4), mixed_model(4), 12),
        (PAIR, UNEVEN, 3),
        (Network([[0.5, 0.5], [0.5, 0.5]]), UNEVEN, 3),
    ],
    ids=["mixed", "uneven", "counted"],
)
def test_plain_sampling_agrees(network: Network, model: FiniteModel, rounds: int) -> None:
    run = simulate(
        network, model, run=Run(rounds=rounds, replicates=200_000, seed=8, record=[rounds])
    )
    found = rare_errors(network, model, rounds=rounds, seed=9, target_standard_error=0.01)
    counts = [*run.agent_errors[0].tolist(), int(run.errors[0])]
    for estimate, count in zip([*found.each_agent, found.some_agent], counts, strict=True):
        plain = np.sqrt((1 - count / 200_000) / count)
        spread = np.hypot(estimate.relative_standard_error, plain)
        assert abs(count / 200_000 / estimate.probability - 1) < 4 * spread


def test_the_tilt_balances_every_agent() -> None:
    """The slope of c against a difference, and against zero at the tilt."""
    mixture, _ = _prepare(STAR, coins(9), 40, None)
    past = lags(STAR, 40)
    assert int(past.counts.sum()) == 40
    assert len(past.weights) < 40 or past.counts[-1] == 1
    for component in mixture.components:
        sums = Cumulants.of(coins(9), past, component.agents[0], 0, 1)
        assert component.log_scale == pytest.approx(sums.value(component.tilt))
        assert abs(sums.slope(component.tilt)) < 1e-4 * abs(sums.slope(0.0))
        step = 1e-4 * component.tilt
        for tilt in (component.tilt / 2, 2 * component.tilt):
            difference = (sums.value(tilt + step) - sums.value(tilt - step)) / (2 * step)
            assert sums.slope(tilt) == pytest.approx(difference, rel=1e-5)
    assert mixture.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("network", [PAIR, Network([[0.5, 0.5], [0.5, 0.5]])])
@pytest.mark.parametrize("model", [coins(2), INPUTS], ids=["coins", "normal"])
def test_weights_average_to_one(network: Network, model: FiniteModel) -> None:
    """Truth over mixture has mean one under the mixture, whatever happens: at rounds one by one,
    and where outcomes are counted.
    """
    mixture, _ = _prepare(network, model, 3, None)
    rng = np.random.default_rng(0)
    means, variances = [], []
    for component, share in zip(mixture.components, mixture.shares, strict=True):
        weights = np.exp(mixture.log_weights(mixture.draw(rng, component, 100_000)))
        means.append(share * weights.mean())
        variances.append(share**2 * weights.var() / 100_000)
    error = np.sqrt(sum(variances))
    assert abs(sum(means) - 1) < 4 * error
    assert error < 0.01


@pytest.mark.parametrize("reference", [(0, 1), (1, 0)])
def test_of_several_that_are_no_error_the_best_decides(reference: tuple[int, ...]) -> None:
    """θ must beat both: the chance of that is bounded, and sampled, by the harder of the two.

    Against the exact law; and e^c by minimising the moment generating function over a grid.
    """
    likelihood = [[[0.5, 0.5]], [[0.45, 0.55]], [[0.75, 0.25]]]
    coin = FiniteAgent.from_tables(inputs=[1.0], truth=[[0.5, 0.5]], likelihood=likelihood)
    model = FiniteModel.from_agents(["fair", "nearly", "loaded"], [coin])
    rounds, tilts = 200, np.linspace(0, 3, 30_001)[:, None]
    logs = np.log([row[0] for row in likelihood])
    bounds = {
        r: rounds * float(np.log(np.exp(-tilts * (logs[r] - logs[2])).mean(axis=1)).min())
        for r in (0, 1)
    }
    assert bounds[0] < bounds[1] - 1
    mixture, _ = _prepare(ALONE, model, rounds, reference)
    (component,) = mixture.components
    assert (component.against, component.hypothesis) == (0, 2)
    assert component.log_scale == pytest.approx(bounds[0], abs=1e-6)
    # By heads alone: loaded is believed more than both.
    heads = np.arange(rounds + 1)
    beliefs = heads[:, None] * logs[:, 0] + (rounds - heads)[:, None] * logs[:, 1]
    wrong = beliefs[:, 2] >= beliefs[:, :2].max(axis=1)
    truth = sum(comb(rounds, int(k)) for k in heads[wrong]) / 2**rounds
    found = rare_errors(ALONE, model, rounds=rounds, seed=1, reference=reference).some_agent
    assert agrees(found, log(truth))
    law = belief_law(ALONE, model, rounds, reference=reference)
    assert law.error_probability() == pytest.approx(truth, rel=1e-9)


def test_no_error_weighs_more_than_the_bound() -> None:
    mixture, judge = _prepare(STAR, coins(9), 30, None)
    rng = np.random.default_rng(0)
    for component in mixture.components:
        drawn = mixture.draw(rng, component, 2000)
        weights, errors = mixture.log_weights(drawn), judge.errors(drawn)
        for agent in range(9):
            mine = weights[errors[agent] > 0]
            assert mine.max() <= mixture.log_weight_bounds[agent] + 1e-9
    # Tight: the least likely error of all is next to a tie.
    assert weights[errors.any(axis=0)].max() > mixture.log_weight_bounds.max() - 3


def test_who_hears_only_what_cannot_mislead_is_never_wrong() -> None:
    """In the first round agent 0 hears 0 and 2; normal evidence, without least value, is 1's."""
    sure = FiniteAgent.from_tables(truth=[[1.0, 0.0]], likelihood=[[[0.9, 0.1]], [[0.1, 0.9]]])
    model = FiniteModel.from_agents(
        ["right", "wrong"], [sure, GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0), sure]
    )
    network = Network([[0.5, 0.0, 0.5], [0.5, 0.5, 0.0], [0.0, 0.9, 0.1]])
    found = rare_errors(network, model, rounds=1, replicates=50_000, seed=0)
    assert found.each_agent[0].is_impossible
    assert found.replicates < 50_000
    # Agent 1: z/2 + log(9)/2 ≤ 0, z of mean 1/2 and variance 1; agent 2: .9 z + .1 log 9 ≤ 0.
    assert agrees(found.each_agent[1], float(norm.logcdf(-0.5 - log(9))))
    assert agrees(found.each_agent[2], float(norm.logcdf(-0.5 - log(9) / 9)))


def test_what_is_impossible_and_what_is_certain() -> None:
    sure = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[1.0, 0.0]], likelihood=[[[0.9, 0.1]], [[0.1, 0.9]]]
    )
    model = FiniteModel.from_agents(["right", "wrong"], [sure])
    never = rare_errors(ALONE, model, rounds=3, seed=0).some_agent
    assert never.is_impossible
    assert never.trusted
    assert (never.probability, never.standard_error, never.interval().upper) == (0.0, 0.0, 0.0)
    # Nine to one against a prior of 1 : 729, so that two rounds are not enough and three tie.
    stubborn = FiniteModel.from_agents(["right", "wrong"], [sure], priors=[[1 / 730, 729 / 730]])
    for rounds, probability in ((2, 1.0), (3, 1.0), (4, 0.0)):
        found = rare_errors(ALONE, stubborn, rounds=rounds, seed=0).some_agent
        assert found.probability == pytest.approx(probability)


def test_evidence_that_comes_down_to_zero_and_no_further() -> None:
    """An outcome that says nothing: an error is n such outcomes, a tie."""
    half = FiniteAgent.from_tables(
        inputs=[1.0],
        truth=[[0.5, 0.25, 0.25]],
        likelihood=[[[0.5, 0.4, 0.1]], [[0.5, 0.2, 0.3]]],
    )
    kept = FiniteAgent(half.probabilities[:2] / 0.75, half.log_likelihoods[:, :2])
    model = FiniteModel.from_agents(["a", "b"], [kept])
    found = rare_errors(ALONE, model, rounds=60, seed=0, reference=[0]).some_agent
    assert agrees(found, 60 * log(2 / 3))


def test_an_estimate_that_is_not_to_be_trusted_says_so() -> None:
    found = rare_errors(STAR, coins(9), rounds=100, seed=1, replicates=40).some_agent
    assert not found.trusted
    interval = found.interval()
    assert interval.lower == 0.0 or interval.lower < found.probability / 10
    assert interval.upper > 2 * found.probability
    unseen = RareError(-np.inf, np.inf, 0.0, -20.0, 100)
    assert not unseen.trusted
    assert unseen.probability == 0.0
    assert unseen.standard_error == np.inf
    assert 0 < unseen.interval().upper < 1e-8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rare_errors(PAIR, coins(3), rounds=1, seed=0), "model: expected one agent for"),
        (lambda: rare_errors(PAIR, coins(2), rounds=0, seed=0), "rounds: "),
        (lambda: rare_errors(PAIR, coins(2), rounds=1, seed=-1), "seed: "),
        (lambda: rare_errors(PAIR, coins(2), rounds=1, seed=0, replicates=1), "replicates: "),
        (
            lambda: rare_errors(PAIR, coins(2), rounds=1, seed=0, target_standard_error=0),
            "target_standard_error: ",
        ),
        (lambda: rare_errors(PAIR, SAME, rounds=1, seed=0), "model: expected hypotheses"),
        (lambda: rare_errors([PAIR], coins(2), rounds=1, seed=0), "network: "),  # type: ignore[arg-type]
        (
            lambda: rare_errors(
                Network.from_topology("ring", agents=2001), coins(2001), rounds=1, seed=0
            ),
            "model: expected at most 2000 agents times",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()


def test_equal_weights_are_no_certainty() -> None:
    """Nearly every run errs, all with one weight: the one in a million that does not is unseen."""
    agent = FiniteAgent.from_tables(
        inputs=[1.0],
        truth=[[1 - 1e-6, 1e-6]],
        likelihood=[[[1 - 1e-6, 1e-6]], [[1 - 1e-9, 1e-9]]],
    )
    model = FiniteModel.from_agents(["true", "likely"], [agent], priors=[[0.1, 0.9]])
    truth = error_law(ALONE, model, rounds=1).some_agent[0]
    found = rare_errors(ALONE, model, rounds=1, seed=1).some_agent
    assert truth < 1
    assert found.probability <= 1
    assert found.standard_error > 0
    assert abs(found.probability - truth) <= 4 * found.standard_error
    interval = found.interval()
    assert interval.lower <= truth <= interval.upper


@pytest.mark.parametrize("seed", range(6))
def test_saturated_estimates_stay_probabilities(seed: int) -> None:
    """Few rounds, strong priors and many claims: events that are nearly sure."""
    rng = np.random.default_rng(seed)
    tables = rng.dirichlet([0.3, 1.0, 5.0], size=4).clip(1e-6)
    tables /= tables.sum(axis=1, keepdims=True)
    agent = FiniteAgent.from_tables(
        inputs=[1.0], truth=tables[:1].tolist(), likelihood=[[row] for row in tables.tolist()]
    )
    prior = [0.01, 0.5, 0.3, 0.19]
    model = FiniteModel.from_agents(list("abcd"), [agent], counts=[2], priors=[prior])
    network = Network([[0.9, 0.1], [0.4, 0.6]])
    for rounds in (1, 3):
        law = error_law(network, model, rounds=rounds)
        found = rare_errors(network, model, rounds=rounds, replicates=300, seed=seed)
        for one, truth in zip(
            (*found.each_agent, found.some_agent),
            (*law.each_agent[0], law.some_agent[0]),
            strict=True,
        ):
            assert 0 <= one.probability <= 1
            if not one.is_impossible:
                assert one.standard_error > 0
            if one.trusted:
                assert abs(one.probability - truth) <= 5 * one.standard_error + 1e-12


def test_a_mean_above_one_says_how_far_it_is_off() -> None:
    """Three hundred draws, all errors of weight 1.2: no such probability, and no zero error."""
    sums = _Sums(np.log(np.array([1.2, 1.2])))
    sums.replicates = 300
    sums.first[:] = sums.second[:] = 300.0
    one = sums.estimates()[0]
    assert one.probability == 1.0
    assert one.standard_error >= 0.2 - 1e-9
    assert not one.trusted

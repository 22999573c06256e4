"""Hypotheses that are nets: tables by hand, rates by formulas, runs; and rank correlations."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, kendalltau, spearmanr

from empirical import Partition, classifier_model, star_partition
from empirical.classifiers import LikelihoodTable
from empirical.forecast import (
    Site,
    label_hypotheses,
    label_losses,
    rate_forecast,
    rounds_to_loss,
    run_beside_forecast,
    snapshot_table,
)
from empirical.rank_correlation import kendall_interval, rank_correlation
from tests.empirical.support import refused
from theory import Network

# Snapshots as hypotheses -------------------------------------------------------------------------


SHARE = 0.02
LABELS = np.repeat(np.arange(10), 40)


def readers() -> LikelihoodTable:
    """Ten images of which each net is certain; *without y* calls y by the next label's name."""
    hypotheses = label_hypotheses([range(2, 10), range(2)])
    known = np.eye(10)[LABELS]
    tables = [
        np.where(np.isin(LABELS, h.labels)[:, None], known, np.roll(known, 1, axis=1))
        for h in hypotheses
    ]
    return snapshot_table([h.name for h in hypotheses], tables, LABELS, uniform_share=SHARE)


def star(a: float) -> Site:
    partition = star_partition(LABELS, centre_labels=range(2, 10), edge_labels=[0, 1], seed=0)
    return Site(Network.from_topology("star", agents=9, edge_confidence=a), partition)


def test_label_hypotheses_of_the_star() -> None:
    names = [h.name for h in label_hypotheses([range(2, 10), [0, 1]])]
    assert names == [
        "all labels",
        *(f"without {y}" for y in range(10)),
        "only 2, 3, 4, 5, 6, 7, 8, 9",
        "only 0, 1",
    ]
    words = label_hypotheses([[0], [1]], names=["T-shirt", "trouser"])
    assert [h.name for h in words] == ["all labels", "without T-shirt", "without trouser"]


def test_table_by_hand() -> None:
    probabilities = [[[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.5], [1.0, 0.0]]]
    table = snapshot_table(["a", "b"], probabilities, [0, 1], uniform_share=0.1)
    expected = [[0.9 * 0.7 + 0.05, 0.9 * 0.6 + 0.05], [0.5, 0.05]]
    np.testing.assert_allclose(table.log_likelihoods, np.log(expected), rtol=1e-15)
    # A tie goes to the first class.
    assert table.accuracies.tolist() == [1.0, 0.5]
    second = table.only([1])
    assert second.hypotheses == ("b",)
    np.testing.assert_array_equal(second.log_likelihoods, table.log_likelihoods[1:])


@pytest.mark.parametrize("a", ["1/10", "1/2", "7/10"])
def test_rate_is_the_smallest_label_weight_times_what_a_miss_costs(a: str) -> None:
    # Nets that are certain: I(y) is the same for all, and c_y = Σ_j v_j P_j(y) by hand.
    value = Fraction(a)
    centre = 9 * value / (9 * value + 8)  # P2's v_1
    weights = {y: centre / 8 if y >= 2 else (1 - centre) / 2 for y in range(10)}
    cost = math.log((1 - SHARE + SHARE / 10) / (SHARE / 10))
    found = rate_forecast(readers(), star(float(value)))
    assert found.reference == "all labels"
    assert not found.is_compromise
    for y, weight in weights.items():
        assert found.rates[f"without {y}"] == pytest.approx(float(weight) * cost, rel=1e-12)
    assert found.rate == pytest.approx(float(min(weights.values())) * cost, rel=1e-12)
    assert found.binding in {f"without {y}" for y in range(2, 10)}
    alone = sum(float(weights[y]) for y in range(2, 10)) * cost
    assert found.rates["only 0, 1"] == pytest.approx(alone, rel=1e-12)
    assert found.influence == pytest.approx(float(centre), rel=1e-12)


def test_divergences_are_label_losses_in_the_agents_proportions() -> None:
    generator = np.random.default_rng(1)
    probabilities = generator.dirichlet(np.ones(4), size=(3, 30))
    labels = generator.integers(4, size=30)
    table = snapshot_table("abc", probabilities, labels)
    losses = label_losses(table, labels, classes=4)
    # An agent with all images of labels 1 and 3: its own proportions of each.
    own = np.flatnonzero(np.isin(labels, [1, 3]))
    share = np.mean(labels[own] == 1)
    model = classifier_model(table, Partition((own, np.flatnonzero(labels == 0))))
    expected = share * losses[:, 1] + (1 - share) * losses[:, 3]
    np.testing.assert_allclose(model.divergences[0], expected, rtol=1e-12)
    assert np.isnan(label_losses(table, labels, classes=5)[:, 4]).all()


def test_social_learning_over_snapshots_is_as_forecast() -> None:
    generator = np.random.default_rng(2)
    blurred = generator.dirichlet(np.full(10, 0.3), size=(3, LABELS.size))
    known = 0.6 * np.eye(10)[LABELS] + 0.4 * blurred
    table = snapshot_table("abc", known, LABELS)
    site = star(0.3)
    model = classifier_model(table, site.partition)
    run = run_beside_forecast(site.network, model, rounds=60, replicates=400, seed=5)
    # 18 differences in standard errors: five are exceeded with a probability below 1e-5.
    assert run.largest_score < 5
    others = [m for m in range(3) if m != run.best]
    assert (run.standard_error[:, others] > 0).all()
    # The same numbers beside another network's expectation are far off.
    wrong = run_beside_forecast(star(0.9).network, model, rounds=60, replicates=2, seed=5)
    error = np.sqrt(run.variance[:, others] / run.replicates)
    assert (np.abs(run.measured - wrong.expected)[:, others] / error).max() > 5


def test_rounds_to_loss() -> None:
    rounds, losses = [0, 1, 5, 9], [2.0, 3.0, 1.0, 0.5]
    assert rounds_to_loss(rounds, losses, 2.0) == 0.0
    assert rounds_to_loss(rounds, losses, 1.2) == pytest.approx(1 + 4 * 0.9)
    assert rounds_to_loss(rounds, losses, 0.5) == 9.0
    assert rounds_to_loss(rounds, losses, 0.4) == math.inf
    refused("increasing", rounds_to_loss, [1, 1], [1, 1], 0)
    refused("NaN", rounds_to_loss, [0, 1], [1, math.nan], 0)


@pytest.mark.parametrize(
    ("names", "probabilities", "labels", "words"),
    [
        (["a", "a"], np.full((2, 1, 2), 0.5), [0], "distinct"),
        (["a", "b"], np.full((3, 1, 2), 0.5), [0], "2 hypotheses and 1 labels"),
        (["a", "b"], np.full((2, 1, 2), 0.5), [2], "classes from 0 to 1"),
        (["a", "b"], np.full((2, 1, 2), 0.6), [0], "sum to one"),
        (["a", "b"], np.full((2, 1, 2), np.nan), [0], "sum to one"),
        (["a", "b"], [[[0.5, 0.5]], [[1.5, -0.5]]], [0], "of 'b' for image 0"),
    ],
)
def test_bad_tables_are_refused(
    names: list[str], probabilities: object, labels: list[int], words: str
) -> None:
    refused(words, snapshot_table, names, probabilities, labels)


def test_bad_hypotheses_are_refused() -> None:
    refused("held", label_hypotheses, [[0, 1], []])
    refused("at least two labels", label_hypotheses, [[3], [3]])
    same = np.full((2, 400, 10), 0.1)
    refused("all equally good", rate_forecast, snapshot_table("ab", same, LABELS), star(0.5))


# Rank correlations -------------------------------------------------------------------------------


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("ties", [False, True])
def test_statistics_are_those_of_scipy(ties: bool) -> None:
    x, y = RNG.normal(size=(2, 25))
    if ties:
        x, y = np.round(x), np.round(y)
    found = rank_correlation(x, y, resamples=100, seed=0)
    assert found.spearman == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert found.kendall == pytest.approx(kendalltau(x, y).statistic, abs=1e-12)


def test_p_value_counts_all_orders() -> None:
    x, y = [1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 3.0, 5.0, 4.0]
    seen = abs(spearmanr(x, y).statistic)
    every = [abs(spearmanr(x, order).statistic) for order in permutations(y)]
    found = rank_correlation(x, y, resamples=100, seed=0)
    assert found.exact
    assert found.p_value == pytest.approx(np.mean(np.array(every) >= seen - 1e-12))
    # A perfect order of n points is as good as its reverse, and nothing else is: 2 of n!.
    assert rank_correlation(range(7), range(7), resamples=100, seed=0).p_value == 2 / 5040


def test_random_orders_where_there_are_too_many() -> None:
    x = np.arange(12)
    found = rank_correlation(x, x**2, resamples=999, seed=0)
    assert not found.exact
    assert found.p_value == 1 / 1000  # never 0: the order seen is one of those that can be seen


def test_only_the_order_counts() -> None:
    x, y = RNG.normal(size=8), RNG.normal(size=(8, 3))
    first = rank_correlation(x, y, resamples=300, seed=4)
    assert rank_correlation(np.exp(x), y**3, resamples=300, seed=4) == first
    reverse = rank_correlation(-x, y, resamples=300, seed=4)
    assert reverse.spearman == pytest.approx(-first.spearman)
    assert reverse.p_value == first.p_value
    assert reverse.certain.lower == pytest.approx(-first.certain.upper)


def test_the_median_of_replicates_counts_and_never_is_last() -> None:
    never = math.inf
    # In order by the median, and by neither the least nor the largest nor the mean.
    y = [[1, 2, 90], [0, 4, 5], [6, never, 7], [never, 5, never]]
    found = rank_correlation([1, 2, 3, 4], y, resamples=100, seed=0)
    assert found.spearman == pytest.approx(1.0)
    both = rank_correlation([1, 2, 3], [5, never, never], resamples=100, seed=0)
    assert both.kendall == pytest.approx(math.sqrt(2 / 3))  # of three pairs one ties in y


def test_seeds_interval_against_all_redraws() -> None:
    y = np.array([[1.0, 4.0], [2.0, 3.0], [2.5, 6.0]])
    # The larger of two draws with replacement is the larger value with probability 3/4.
    law: dict[float, float] = {}
    for chosen in product((0, 1), repeat=3):
        rho = float(spearmanr([1, 2, 3], [row[k] for row, k in zip(y, chosen, strict=True)])[0])
        weight = math.prod(0.75 if k else 0.25 for k in chosen)
        law[round(rho, 9)] = law.get(round(rho, 9), 0.0) + weight
    values = sorted(law)
    cumulative = np.cumsum([law[v] for v in values])
    confidence = 0.6  # both quantiles lie well inside a step of the law
    found = rank_correlation([1, 2, 3], y, confidence=confidence, resamples=4000, seed=1)
    assert found.seeds is not None
    assert found.seeds.lower == pytest.approx(values[int(np.searchsorted(cumulative, 0.2))])
    assert found.seeds.upper == pytest.approx(values[int(np.searchsorted(cumulative, 0.8))])


def test_a_perfect_order_of_few_points_is_little_evidence() -> None:
    found = rank_correlation(range(7), range(7), resamples=200, seed=0)
    assert (found.over_points.lower, found.over_points.upper) == pytest.approx((1.0, 1.0))
    assert found.certain.lower < 0
    assert found.seeds is None


@pytest.mark.parametrize("points", [2, 7, 20, 41])
def test_certain_interval_of_a_perfect_order_is_that_of_clopper_and_pearson(points: int) -> None:
    pairs = points // 2
    lower = beta.ppf(0.025, pairs, 1)  # all of `pairs` independent pairs in order
    found = kendall_interval(1.0, points)
    assert found.lower == pytest.approx(2 * lower - 1, rel=1e-9)
    assert found.upper == 1.0


@given(st.floats(-1, 1), st.integers(2, 200), st.floats(0.5, 0.999))
def test_ends_of_the_certain_interval_are_where_chernoff_says(
    tau: float, points: int, confidence: float
) -> None:
    found = kendall_interval(tau, points, confidence=confidence)
    assert -1 <= found.lower <= tau + 1e-12 <= found.upper + 2e-12 <= 1 + 3e-12
    allowed = math.log(2 / (1 - confidence)) / (points // 2)
    for end in (found.lower, found.upper):
        q, p = (1 + tau) / 2, (1 + end) / 2
        # Nearer to 0 or 1 than this, p has too few digits left to compute its entropy from.
        if min(q, p) > 1e-6 and max(q, p) < 1 - 1e-6:
            entropy = q * math.log(q / p) + (1 - q) * math.log((1 - q) / (1 - p))
            assert entropy == pytest.approx(allowed, rel=1e-6)


def test_certain_interval_covers() -> None:
    generator = np.random.default_rng(3)
    tau = 2 / math.pi * math.asin(0.9)  # of two normal variables of correlation .9
    missed = 0
    for _ in range(400):
        x = generator.normal(size=8)
        y = 0.9 * x + math.sqrt(1 - 0.81) * generator.normal(size=8)
        certain = kendall_interval(kendalltau(x, y).statistic, 8, confidence=0.8)
        missed += not certain.lower <= tau <= certain.upper
    # At most 20 % by the theorem; five standard errors of 400 draws are 10 %.
    assert missed / 400 <= 0.3


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([1, 2], [1, 2], "at least 3 predicted points"),
        ([1, 2, 3], [1, 2], "shape"),
        ([1, math.inf, 3], [1, 2, 3], "finite numbers"),
        ([1, 2, 3], [1, math.nan, 3], "infinite at most"),
        ([1, 1, 1], [1, 2, 3], "predicted: expected at least two different values"),
        ([1, 2, 3], [math.inf] * 3, "measured: expected at least two different values"),
    ],
)
def test_what_has_no_order_is_refused(x: list[float], y: list[float], words: str) -> None:
    refused(words, rank_correlation, x, y, resamples=100, seed=0)


def test_arguments_out_of_range_are_refused() -> None:
    refused("confidence", rank_correlation, [1, 2, 3], [1, 2, 3], confidence=1.0, seed=0)
    refused("resamples", rank_correlation, [1, 2, 3], [1, 2, 3], resamples=9, seed=0)
    refused("tau", kendall_interval, 1.5, 4)

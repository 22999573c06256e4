"""Snapshots as hypotheses: tables by hand, rates by formulas, runs beside forecasts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

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
from tests.empirical.support import refused
from theory import Network

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

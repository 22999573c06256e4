"""Metrics of stacked predictions equal scikit-learn's and scipy's, agent by agent."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sklearn_metrics

from empirical.nets import metrics
from tests.empirical.support import refused
from theory.validation import FloatArray, IntArray


def predictions(
    agents: int = 3, images: int = 400, classes: int = 5, *, seed: int = 0
) -> tuple[FloatArray, IntArray]:
    """Random predictions of any sharpness, right more often than chance."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, images)
    logits = generator.normal(0, 2, (agents, images, classes))
    logits[:, np.arange(images), labels] += 1.5
    odds = np.exp(logits)
    return odds / odds.sum(axis=2, keepdims=True), labels


def test_accuracy_likelihood_entropy_and_confusion_equal_the_references() -> None:
    probabilities, labels = predictions()
    scores = metrics.image_scores(probabilities, labels)
    assert scores.agents == 3
    for agent, own in enumerate(probabilities):
        predicted = own.argmax(axis=1)
        assert metrics.accuracy(scores)[agent] == sklearn_metrics.accuracy_score(labels, predicted)
        np.testing.assert_array_equal(
            metrics.confusion_matrix(scores)[agent],
            sklearn_metrics.confusion_matrix(labels, predicted),
        )
        # Double precision throughout: what is left is the order of summation.
        np.testing.assert_allclose(
            metrics.negative_log_likelihood(scores)[agent],
            sklearn_metrics.log_loss(labels, own),
            rtol=1e-12,
        )
        np.testing.assert_allclose(scores.entropy[agent], stats.entropy(own, axis=1), rtol=1e-12)
        np.testing.assert_array_equal(scores.true[agent], own[np.arange(labels.size), labels])
        np.testing.assert_array_equal(scores.top[agent], own.max(axis=1))


def test_torch_and_numpy_give_the_same() -> None:
    probabilities, labels = predictions()
    single = probabilities.astype(np.float32)
    by_numpy = metrics.image_scores(single, labels)
    by_torch = metrics.image_scores(torch.from_numpy(single), torch.from_numpy(labels))
    double = metrics.image_scores(probabilities, labels)
    for name in ("labels", "predicted", "top", "true", "entropy"):
        np.testing.assert_array_equal(getattr(by_numpy, name), getattr(by_torch, name))
        # Entropies of at most log 5, from probabilities rounded to 2⁻²⁴.
        np.testing.assert_allclose(getattr(by_numpy, name), getattr(double, name), atol=1e-6)


def test_calibration_error_by_hand() -> None:
    """Four images in the bin of .75, two right: gap .25; two in that of 1, one right: gap .5."""
    probabilities = [[[0.75, 0.25]] * 4 + [[0.0, 1.0]] * 2]
    scores = metrics.image_scores(probabilities, [0, 0, 1, 1, 0, 1])
    np.testing.assert_allclose(
        metrics.calibration_error(scores), [4 / 6 * 0.25 + 2 / 6 * 0.5], rtol=1e-15
    )
    # In one bin, the mean accuracy .5 meets the mean top probability 5/6.
    np.testing.assert_allclose(
        metrics.calibration_error(scores, bins=1), [5 / 6 - 1 / 2], rtol=1e-15
    )


def test_a_bin_holds_its_upper_end() -> None:
    """With two bins .5 belongs to the lower one: its gap does not cancel that of .75."""
    scores = metrics.image_scores([[[0.5, 0.5], [0.75, 0.25]]], [0, 1])
    np.testing.assert_allclose(metrics.calibration_error(scores, bins=2), [0.5 * 0.5 + 0.5 * 0.75])


@given(seed=st.integers(0, 1000), images=st.integers(1, 60), bins=st.integers(1, 20))
def test_calibration_error_equals_a_loop_over_bins(seed: int, images: int, bins: int) -> None:
    probabilities, labels = predictions(2, images, 3, seed=seed)
    found = metrics.calibration_error(metrics.image_scores(probabilities, labels), bins=bins)
    for agent, own in enumerate(probabilities):
        top, right = own.max(axis=1), own.argmax(axis=1) == labels
        edges = np.linspace(0, 1, bins + 1)
        expected = 0.0
        for low, high in pairwise(edges):
            inside = (top > low) & (top <= high)
            if inside.any():
                gap = abs(right[inside].mean() - top[inside].mean())
                expected += inside.sum() / images * gap
        assert found[agent] == pytest.approx(expected, abs=1e-12)


def test_honest_predictions_are_calibrated() -> None:
    """Labels drawn from the predictions themselves: only sampling error is left."""
    probabilities, _ = predictions(1, 20_000, seed=5)
    generator = np.random.default_rng(6)
    labels = (probabilities[0].cumsum(axis=1) < generator.random((20_000, 1))).sum(axis=1)
    scores = metrics.image_scores(probabilities, labels)
    # A bin of share s has a gap of about sqrt(p(1 - p) / (n s)): in all at most
    # Σ sqrt(s / 4n) ≤ sqrt(15 / 4n) = .014.
    assert metrics.calibration_error(scores)[0] < 0.014
    # And what the labels cost is what the entropy announced; 5 standard errors of the mean.
    surprise = -np.log(scores.true[0])
    np.testing.assert_allclose(
        surprise.mean(), scores.entropy.mean(), atol=5 * surprise.std() / 20_000**0.5
    )


@given(
    positive=st.lists(st.integers(0, 6), min_size=1, max_size=30),
    negative=st.lists(st.integers(0, 6), min_size=1, max_size=30),
)
def test_detection_equals_scikit_learn_with_ties(positive: list[int], negative: list[int]) -> None:
    truth = [1] * len(positive) + [0] * len(negative)
    found = metrics.detection_auroc(positive, negative)
    assert found == pytest.approx(
        sklearn_metrics.roc_auc_score(truth, [*positive, *negative]), abs=1e-12
    )
    assert found + metrics.detection_auroc(negative, positive) == pytest.approx(1, abs=1e-15)


def test_detection_without_a_side_is_undefined() -> None:
    assert np.isnan(metrics.detection_auroc([], [1.0]))
    assert np.isnan(metrics.detection_auroc([1.0], []))


def test_means_by_class_and_by_mask() -> None:
    probabilities, labels = predictions(2, 50, 4)
    labels[labels == 2] = 1  # no image of class 2
    scores = metrics.image_scores(probabilities, labels)
    by_class = metrics.class_means(scores.true, scores)
    for agent in range(2):
        for label in (0, 1, 3):
            np.testing.assert_allclose(
                by_class[agent, label], scores.true[agent, labels == label].mean(), rtol=1e-12
            )
    assert np.isnan(by_class[:, 2]).all()
    mask = np.array([labels == 0, np.zeros(50, dtype=bool)])
    means = metrics.masked_means(scores.true, mask)
    np.testing.assert_allclose(means, [by_class[0, 0], np.nan], rtol=1e-12)


def test_scores_of_some_images_and_of_stacked_agents() -> None:
    probabilities, labels = predictions()
    scores = metrics.image_scores(probabilities, labels)
    apart = [metrics.image_scores(own[None], labels) for own in probabilities]
    again = metrics.stacked(apart)
    some = scores.of_images(labels == 3)
    direct = metrics.image_scores(probabilities[:, labels == 3], labels[labels == 3])
    for name in ("labels", "predicted", "top", "true", "entropy", "classes"):
        np.testing.assert_array_equal(getattr(again, name), getattr(scores, name))
        np.testing.assert_array_equal(getattr(some, name), getattr(direct, name))


def test_a_probability_that_underflowed_costs_87_nats() -> None:
    scores = metrics.image_scores(np.array([[[1.0, 0.0]]], dtype=np.float32), [1])
    # 126 log 2: the smallest normal float32 is 2^−126.
    np.testing.assert_allclose(metrics.negative_log_likelihood(scores), [126 * np.log(2)])
    assert scores.entropy.item() == 0


@pytest.mark.parametrize(
    ("probabilities", "labels", "message"),
    [
        ([[0.5, 0.5]], [0], "probabilities: expected shape"),
        (np.ones((1, 0, 2)), [], "probabilities: expected shape"),
        ([[[0.5, 0.5]]], [0, 1], r"labels: expected shape \(1,\)"),
        ([[[0.5, 0.5]]], [2], "labels: expected classes from 0 to 1, got 2 to 2"),
        ([[[0.5, 0.5]]], [-1], "labels: expected classes from 0 to 1"),
        ([[[0.5, 0.5]], [[0.5, 0.6]]], [0], "probabilities: .* for agent 1"),
        ([[[-0.5, 1.5]]], [0], "probabilities: .* for agent 0"),
        ([[[0.5, 0.5]], [[np.nan, 0.5]]], [0], "probabilities: .* for agent 1"),
    ],
)
def test_bad_predictions_are_named(probabilities: object, labels: object, message: str) -> None:
    refused(message, metrics.image_scores, probabilities, labels)


def test_bins_must_be_positive() -> None:
    scores = metrics.image_scores([[[1.0, 0.0]]], [0])
    with pytest.raises(ValueError, match="bins: expected a whole number of at least 1"):
        metrics.calibration_error(scores, bins=0)

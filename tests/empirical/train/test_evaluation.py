"""What agents know in and out of their domains, against scikit-learn, scipy, loops, quadrature."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sklearn_metrics

from empirical.nets.architecture import Architecture, Dense, perceptron
from empirical.train.averaging import Belief
from empirical.train.evaluation import evaluate, judged, mean_probabilities
from empirical.train.kernel_net import KernelNet
from empirical.train.scores import Scores, detection_auroc
from tests.empirical.support import refused
from theory.validation import FloatArray, IntArray

OWN = [(0, 1), (2, 3), (0, 1, 2, 3)]  # nobody has label 4


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


NET = KernelNet(perceptron(6, 8, outputs=5))


def beliefs(agents: int = 3) -> Belief:
    """Agents whose means differ, over the weights of a small net."""
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(agents, NET.parameters, generator=generator)
    return Belief(mean, torch.full_like(mean, 0.09))


def images(count: int = 80, *, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 5, (count,), generator=generator)
    return torch.rand(count, 6, generator=generator), labels


def same(found: Scores, expected: Scores, agents: Any = slice(None), rtol: float = 0.0) -> None:
    assert found.measures == expected.measures
    np.testing.assert_allclose(found.values, expected.values[agents], rtol=rtol)
    for name, table in expected.by_class.items():
        np.testing.assert_allclose(found.by_class[name], table[agents], rtol=rtol)


# Given predictions ------------------------------------------------------------------------------


def mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else np.nan


def binned(top: FloatArray, right: IntArray) -> float:
    """Expected calibration error, bin by bin."""
    gaps = [
        abs(right[inside].mean() - top[inside].mean()) * inside.mean()
        for low, high in pairwise(np.linspace(0, 1, 16))
        if (inside := (top > low) & (top <= high)).any()
    ]
    return sum(gaps)


def auroc(positive: FloatArray, negative: FloatArray) -> float:
    if not positive.size or not negative.size:
        return np.nan
    truth = [1] * positive.size + [0] * negative.size
    return float(sklearn_metrics.roc_auc_score(truth, np.concatenate([positive, negative])))


def reference(
    p: FloatArray, labels: IntArray, own: tuple[int, ...], other: FloatArray
) -> dict[str, float]:
    """All measures of one agent, label 4 never seen."""
    entropy, right = stats.entropy(p, axis=1), p.argmax(axis=1) == labels
    seen, true = labels != 4, p[np.arange(labels.size), labels]
    found = {
        "accuracy": sklearn_metrics.accuracy_score(labels[seen], p[seen].argmax(axis=1)),
        "nll": sklearn_metrics.log_loss(labels[seen], p[seen], labels=range(5)),
        "calibration_error": binned(p[seen].max(axis=1), right[seen]),
        "entropy": entropy[seen].mean(),
    }
    inside = seen & np.isin(labels, own)
    for side, where in (("in_domain", inside), ("out_of_domain", seen & ~inside)):
        for name, values in (("accuracy", right), ("confidence", true), ("entropy", entropy)):
            found[f"{side}_{name}"] = mean(values[where])
    found["out_of_domain_auroc"] = auroc(entropy[seen & ~inside], entropy[inside])
    found["never_seen_auroc"] = auroc(entropy[~seen], entropy[seen])
    found["other_data_auroc"] = auroc(stats.entropy(other, axis=1), entropy[seen])
    return found


@pytest.mark.parametrize("size", [40, 200, 400])
def test_all_measures_equal_the_references(size: int) -> None:
    probabilities, labels = predictions(3, size)
    other, _ = predictions(3, 70, seed=9)
    found = judged(probabilities, labels, own_labels=OWN, never_seen=[4], others=other)
    seen = labels != 4
    assert set(found.examples) == {seen.sum()}
    assert seen.sum() < size
    for agent, (p, own) in enumerate(zip(probabilities, OWN, strict=True)):
        expected = reference(p, labels, own, other[agent])
        assert found.measures == tuple(expected)
        # Double precision throughout: what is left is the order of summation.
        np.testing.assert_allclose(found.values[agent], [*expected.values()], rtol=1e-12)
        table = sklearn_metrics.confusion_matrix(labels[seen], p[seen].argmax(1), labels=range(5))
        np.testing.assert_array_equal(found.by_class["confusion"][agent], table)
        confidence = [mean(p[labels == y, y]) for y in range(4)]
        np.testing.assert_allclose(found.by_class["confidence"][agent], [*confidence, np.nan])
    # The last agent has every label.
    assert np.isnan(found["out_of_domain_auroc"]).tolist() == [False, False, True]


def test_what_was_not_asked_for_is_missing() -> None:
    probabilities, labels = predictions(2, 30)
    found = judged(probabilities, labels, own_labels=[range(5)] * 2)
    for name in ("never_seen_auroc", "other_data_auroc", "out_of_domain_confidence"):
        assert np.isnan(found[name]).all()
    assert judged(probabilities, labels).measures == ("accuracy", "nll", "calibration_error")
    with pytest.raises(ValueError, match="read-only"):
        found.by_class["confusion"][0] = 1


def test_torch_and_numpy_single_and_double_give_the_same() -> None:
    probabilities, labels = predictions()
    single = probabilities.astype(np.float32)
    by_numpy = judged(single, labels, own_labels=OWN)
    same(judged(torch.from_numpy(single), torch.from_numpy(labels), own_labels=OWN), by_numpy)
    # Entropies of at most log 5, from probabilities rounded to 2⁻²⁴.
    same(judged(probabilities, labels, own_labels=OWN), by_numpy, rtol=1e-5)


def test_calibration_error_by_hand() -> None:
    """Four images in the bin of .75, two right: gap .25; two in that of 1, one right: gap .5.

    A bin holds its upper end: with .75 in its bin, .8 = 12/15 would be of gap 0.
    """
    found = judged([[[0.75, 0.25]] * 4 + [[0.0, 1.0]] * 2], [0, 0, 1, 1, 0, 1])
    np.testing.assert_allclose(found["calibration_error"], [4 / 6 * 0.25 + 2 / 6 * 0.5])
    found = judged([[[0.8, 0.2], [0.81, 0.19]]], [0, 1])
    np.testing.assert_allclose(found["calibration_error"], [(0.2 + 0.81) / 2])


def test_honest_predictions_are_calibrated() -> None:
    """Labels drawn from the predictions themselves: only sampling error is left."""
    probabilities, _ = predictions(1, 20_000, seed=5)
    generator = np.random.default_rng(6)
    labels = (probabilities[0].cumsum(axis=1) < generator.random((20_000, 1))).sum(axis=1)
    found = judged(probabilities, labels, own_labels=[()])
    # A bin of share s has a gap of about sqrt(p(1 - p) / (n s)): in all at most
    # Σ sqrt(s / 4n) ≤ sqrt(15 / 4n) = .014.
    assert found["calibration_error"][0] < 0.014
    # And what the labels cost is what the entropy announced; 5 standard errors of the mean.
    spread = np.log(probabilities[0, np.arange(20_000), labels]).std()
    assert abs(found["nll"][0] - found["entropy"][0]) < 5 * spread / 20_000**0.5


@given(*[st.lists(st.integers(0, 6), min_size=1, max_size=30)] * 2)
def test_detection_equals_scikit_learn_with_ties(positive: list[int], negative: list[int]) -> None:
    found = detection_auroc(positive, negative)
    assert found == pytest.approx(auroc(np.array(positive), np.array(negative)), abs=1e-12)
    assert found + detection_auroc(negative, positive) == pytest.approx(1, abs=1e-15)
    assert np.isnan(detection_auroc([], negative))
    assert np.isnan(detection_auroc(positive, []))


def test_a_probability_that_underflowed_costs_87_nats() -> None:
    found = judged(np.array([[[1.0, 0.0]]], dtype=np.float32), [1], own_labels=[()])
    # 126 log 2: the smallest normal float32 is 2^−126.
    np.testing.assert_allclose(found["nll"], [126 * np.log(2)])
    assert found["entropy"] == 0


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
    refused(message, judged, probabilities, labels)


# Beliefs ----------------------------------------------------------------------------------------


def test_mean_weights_predict_as_torchs_net_does() -> None:
    belief, (inputs, labels) = beliefs(), images()
    found = evaluate(NET, belief, inputs, labels, draws=0, seed=0, own_labels=OWN)
    first, second = NET.architecture.blocks
    rows = []
    for w in belief.mean:
        hidden = torch.relu(inputs @ w[first.weight].reshape(first.shape) + w[first.bias])
        rows.append(hidden @ w[second.weight].reshape(second.shape) + w[second.bias])
    p = torch.softmax(torch.stack(rows), dim=2)
    np.testing.assert_allclose(mean_probabilities(NET, belief, inputs), p, rtol=1e-5)
    same(found, judged(p, labels, own_labels=OWN), rtol=1e-5)


def test_samples_average_to_the_integral_over_the_belief() -> None:
    """One weight, two classes, no hidden layer: ∫ sigmoid(z) N(z; m, s²) dz by quadrature."""
    net = KernelNet(Architecture((1,), (Dense(2),)))
    mean = torch.tensor([[0.0, 1.0, 0.0, 0.0]])  # two weights, then two biases
    variance = torch.tensor([[1e-12, 4.0, 1e-12, 1e-12]])
    belief, x = Belief(mean, variance), torch.tensor([[1.0]])
    found = evaluate(net, belief, x, [1], draws=4000, seed=3, own_labels=[(1,)])
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    exact = (weights / (1 + np.exp(-(1.0 + 2.0 * nodes)))).sum() / weights.sum()
    by_mean = 1 / (1 + np.exp(-1.0))
    # 5 standard errors; a probability's standard deviation is at most 1/2. The two differ by more.
    margin = 5 * 0.5 / 4000**0.5
    assert abs(exact - by_mean) > margin
    assert found["in_domain_confidence"][0] == pytest.approx(exact, abs=margin)
    assert found.draws == 4000


def test_an_agents_samples_are_its_own() -> None:
    """Measured alone or with others, on some images or all, an agent predicts the same."""
    belief = beliefs()
    options: dict[str, Any] = {"draws": 4, "seed": 7}
    for seed in range(10):  # a sum in another order would have other last bits now and then
        inputs, labels = images(seed=seed)
        together = evaluate(NET, belief, inputs, labels, own_labels=OWN, **options)
        few = evaluate(NET, belief.of([0, 1]), inputs, labels, own_labels=OWN[:2], **options)
        same(few, together, slice(2))
    other = evaluate(NET, belief, inputs, labels, own_labels=OWN, **{**options, "seed": 8})
    assert (other["nll"] != together["nll"]).all()
    # The same beliefs, but not the same samples: errors of agents do not go together.
    apart = evaluate(NET, belief.of([0, 0]), inputs, labels, own_labels=OWN[:2], **options)
    assert apart["nll"][0] != apart["nll"][1]


def test_other_data_and_unseen_labels_reach_the_measures() -> None:
    belief, (inputs, labels) = beliefs(), images()
    options: dict[str, Any] = {"own_labels": OWN, "never_seen": [4]}
    other = 10 * inputs[:30]
    found = evaluate(NET, belief, inputs, labels, draws=0, seed=0, other_inputs=other, **options)
    p, q = (mean_probabilities(NET, belief, x) for x in (inputs, other))
    same(found, judged(p, labels, others=q, **options))
    # Ten times the input, ten times the logits, but for the biases: surer.
    assert (found["other_data_auroc"] < 0.5).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draws": -1}, "draws: expected a whole number"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"own_labels": OWN[:2]}, "own_labels: expected the labels of each of 3 agents"),
        ({"own_labels": OWN * 2}, "own_labels: expected the labels of each of 3 agents"),
        ({"labels": [0]}, r"labels: expected shape \(80,\)"),
        ({"never_seen": range(5)}, "never_seen: expected images of other labels too"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    inputs, labels = images()
    options = {"labels": labels, "draws": 0, "seed": 0, "own_labels": OWN, **change}
    refused(message, evaluate, NET, beliefs(), inputs, options.pop("labels"), **options)


@pytest.mark.parametrize(
    ("field", "value"),
    [*product(["mean"], [np.nan, -np.inf]), *product(["variance"], [0.0, -1.0, np.nan, np.inf])],
)
def test_a_damaged_belief_is_named(field: str, value: float) -> None:
    belief, (inputs, labels) = beliefs(), images()
    getattr(belief, field)[1, 7] = value  # as a run in progress might leave it
    message = r"belief: .* others at agent 1"
    refused(message, evaluate, NET, belief, inputs, labels, draws=0, seed=0, own_labels=OWN)

"""What agents know in and out of their domains, against loops, scikit-learn and quadrature."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from empirical.nets.architecture import Architecture, Dense, perceptron
from empirical.nets.evaluation import (
    Evaluation,
    evaluate,
    evaluate_probabilities,
)
from empirical.nets.likelihood import mean_probabilities, sampled_probabilities
from empirical.nets.posterior import Posterior
from tests.empirical.nets.test_metrics import predictions
from tests.empirical.support import refused

OWN = [(0, 1), (2, 3), (0, 1, 2, 3)]  # nobody has label 4


def beliefs(agents: int = 3, *, seed: int = 0) -> Posterior:
    """Agents whose means differ, over the weights of a small net."""
    architecture = perceptron(6, 8, outputs=5)
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(agents, architecture.parameters, generator=generator)
    return Posterior(architecture, mean, torch.full_like(mean, 0.09))


def images(count: int = 80, *, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 5, (count,), generator=generator)
    return torch.rand(count, 6, generator=generator), labels


def check_same(found: Evaluation, expected: Evaluation) -> None:
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), value, err_msg=name)


# Given predictions ------------------------------------------------------------------------------


def test_domains_are_averaged_apart() -> None:
    probabilities, labels = predictions(3, 200, 5)
    other, _ = predictions(3, 70, 5, seed=9)
    found = evaluate_probabilities(
        probabilities, labels, own_labels=OWN, never_seen=[4], other_probabilities=other
    )
    seen = labels != 4
    assert found.images == seen.sum() < 200
    assert found.confusion.sum(axis=(1, 2)).tolist() == [found.images] * 3
    for agent, (p, own) in enumerate(zip(probabilities, OWN, strict=True)):
        sides = {
            "in_domain": [k for k in range(200) if labels[k] in own],
            "out_of_domain": [k for k in range(200) if seen[k] and labels[k] not in own],
        }
        entropy = -(p * np.log(p)).sum(axis=1)
        for side, where in sides.items():
            expected = {
                "accuracy": [p[k].argmax() == labels[k] for k in where],
                "confidence": [p[k, labels[k]] for k in where],
                "entropy": entropy[where],
            }
            for name, values in expected.items():
                got = getattr(found, f"{side}_{name}")[agent]
                if where:
                    assert got == pytest.approx(np.mean(values), rel=1e-12)
                else:  # the last agent has every label
                    assert np.isnan(got)
        np.testing.assert_allclose(found.accuracy[agent], (p.argmax(1) == labels)[seen].mean())
        np.testing.assert_allclose(found.entropy[agent], entropy[seen].mean(), rtol=1e-12)
        np.testing.assert_allclose(
            found.confidence[agent, :4],
            [p[labels == label, label].mean() for label in range(4)],
            rtol=1e-12,
        )
        assert np.isnan(found.confidence[agent, 4])

        def detected(positive: np.ndarray, negative: np.ndarray) -> Any:
            truth = [1] * positive.size + [0] * negative.size
            return pytest.approx(roc_auc_score(truth, np.concatenate([positive, negative])))

        if agent < 2:
            outside, inside = (entropy[sides[side]] for side in ("out_of_domain", "in_domain"))
            assert found.out_of_domain_auroc[agent] == detected(outside, inside)
        assert found.never_seen_auroc[agent] == detected(entropy[~seen], entropy[seen])
        strange = -(other[agent] * np.log(other[agent])).sum(axis=1)
        assert found.other_data_auroc[agent] == detected(strange, entropy[seen])
    assert np.isnan(found.out_of_domain_auroc[2])


def test_what_was_not_asked_for_is_missing_in_json() -> None:
    probabilities, labels = predictions(2, 30, 5)
    found = evaluate_probabilities(probabilities, labels, own_labels=[range(5)] * 2)
    body = found.as_json()
    assert json.loads(json.dumps(body, allow_nan=False)) == body
    assert set(body) == set(vars(found))
    assert body["never_seen_auroc"] == body["other_data_auroc"] == [None, None]
    assert body["out_of_domain_confidence"] == [None, None]
    assert body["agents"] == [0, 1]
    assert body["images"] == 30
    assert body["accuracy"] == found.accuracy.tolist()
    assert body["confusion"] == found.confusion.tolist()
    with pytest.raises(ValueError, match="read-only"):
        found.accuracy[0] = 1.0


# Beliefs ----------------------------------------------------------------------------------------


def test_mean_weights_predict_as_the_engine_does() -> None:
    posterior, (inputs, labels) = beliefs(), images()
    found = evaluate(posterior, inputs, labels, draws=0, seed=0, own_labels=OWN)
    expected = evaluate_probabilities(mean_probabilities(posterior, inputs), labels, own_labels=OWN)
    # A product for one agent or for all may round differently: 2⁻²⁴ of numbers of about 1.
    np.testing.assert_allclose(found.nll, expected.nll, rtol=1e-5)
    np.testing.assert_array_equal(found.confusion, expected.confusion)


def test_samples_average_to_the_integral_over_the_belief() -> None:
    """One weight, two classes, no hidden layer: ∫ sigmoid(z) N(z; m, s²) dz by quadrature."""
    architecture = Architecture((1,), (Dense(2),))
    mean = torch.tensor([[0.0, 1.0, 0.0, 0.0]])  # two weights, then two biases
    variance = torch.tensor([[1e-12, 4.0, 1e-12, 1e-12]])
    found = evaluate(
        Posterior(architecture, mean, variance),
        torch.tensor([[1.0]]),
        [1],
        draws=4000,
        seed=3,
        own_labels=[(1,)],
    )
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    exact = (weights / (1 + np.exp(-(1.0 + 2.0 * nodes)))).sum() / weights.sum()
    by_mean = 1 / (1 + np.exp(-1.0))
    # 5 standard errors; a probability's standard deviation is at most 1/2. The two differ by more.
    margin = 5 * 0.5 / 4000**0.5
    assert abs(exact - by_mean) > margin
    assert found.in_domain_confidence[0] == pytest.approx(exact, abs=margin)
    assert found.draws == 4000


def test_an_agents_samples_are_its_own() -> None:
    """Measured alone or with others, on some images or all, an agent predicts the same."""
    posterior = beliefs()
    options: dict[str, Any] = {"draws": 4, "seed": 7, "own_labels": OWN}
    for seed in range(10):  # a sum in another order would have other last bits now and then
        inputs, labels = images(seed=seed)
        together = evaluate(posterior, inputs, labels, **options)
        alone = evaluate(posterior, inputs, labels, agents=[2], **options)
        assert alone.agents == (2,)
        for name in ("nll", "entropy", "in_domain_entropy"):
            of_all = getattr(together, name)[2:]
            np.testing.assert_array_equal(getattr(alone, name), of_all, err_msg=name)
    swapped = evaluate(posterior, inputs, labels, agents=[2, 0], **options)
    np.testing.assert_array_equal(swapped.nll, together.nll[[2, 0]])
    np.testing.assert_array_equal(
        swapped.in_domain_confidence, together.in_domain_confidence[[2, 0]]
    )
    check_same(evaluate(posterior, inputs, labels, **options), together)
    other = evaluate(posterior, inputs, labels, **{**options, "seed": 8})
    assert (other.nll != together.nll).all()
    # The same beliefs, but not the same samples: errors of agents do not go together.
    twins = posterior.of([0, 0])
    apart = evaluate(twins, inputs, labels, draws=4, seed=7, own_labels=OWN[:2])
    assert apart.nll[0] != apart.nll[1]


def test_some_images_are_those_named() -> None:
    posterior, (inputs, labels) = beliefs(), images()
    places = np.array([3, 40, 5, 77])
    found = evaluate(posterior, inputs, labels, draws=3, seed=0, own_labels=OWN, images=places)
    direct = evaluate(posterior, inputs[places], labels[places], draws=3, seed=0, own_labels=OWN)
    assert found.images == 4
    check_same(found, direct)


def test_other_data_and_unseen_labels_reach_the_metrics() -> None:
    posterior, (inputs, labels) = beliefs(), images()
    found = evaluate(
        posterior,
        inputs,
        labels,
        draws=2,
        seed=0,
        own_labels=OWN,
        never_seen=[4],
        other_inputs=10 * inputs[:30],
    )
    seeds = [int(np.random.SeedSequence((0, agent)).generate_state(1)[0]) for agent in range(3)]
    p, q = (
        torch.cat(
            [
                sampled_probabilities(posterior.of([agent]), x, draws=2, seed=seed)
                for agent, seed in enumerate(seeds)
            ]
        )
        for x in (inputs, 10 * inputs[:30])
    )
    expected = evaluate_probabilities(
        p, labels, own_labels=OWN, never_seen=[4], other_probabilities=q, draws=2
    )
    check_same(found, expected)
    # Ten times the input, ten times the logits, but for the biases: surer.
    assert (found.other_data_auroc < 0.5).all()


# Bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draws": -1}, "draws: expected a whole number"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"own_labels": OWN[:2]}, "own_labels: expected the labels of each of 3 agents"),
        ({"agents": []}, "agents: expected at least one agent"),
        ({"agents": [3]}, "agents: expected a whole number of at most 2"),
        ({"images": [80]}, "images: expected at least one position from 0 to 79"),
        ({"images": []}, "images: expected at least one position"),
        ({"images": [-1]}, "images: expected at least one position"),
        ({"labels": [0]}, r"labels: expected shape \(80,\)"),
        ({"never_seen": range(5)}, "never_seen: expected images of other labels too"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    inputs, labels = images()
    options = {"labels": labels, "draws": 0, "seed": 0, "own_labels": OWN, **change}
    refused(message, evaluate, beliefs(), inputs, options.pop("labels"), **options)


def test_a_damaged_belief_is_named() -> None:
    posterior, (inputs, labels) = beliefs(), images()
    posterior.mean[1, 0] = float("nan")  # as a run in progress might leave it
    with pytest.raises(ValueError, match=r"posterior: .* others at agent 1"):
        evaluate(posterior, inputs, labels, draws=0, seed=0, own_labels=OWN)

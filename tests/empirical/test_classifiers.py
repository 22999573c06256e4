"""Classifiers as hypotheses: probabilities, bounds, exact means, repeatability; the papers."""

from __future__ import annotations

import functools
import math
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from empirical import (
    LABEL_SPLITS,
    RECIPES,
    Images,
    LikelihoodTable,
    Partition,
    Recipe,
    classifier_model,
    likelihood_table,
    load_digits,
    papers,
    star_partition,
)
from empirical.classifiers import (
    GRADIENT_TOLERANCE,
    UNIFORM_SHARE,
    image_features,
    look_table,
    train_classifier,
    training_sample,
)
from tests.empirical.support import refused

# Classifiers as hypotheses -----------------------------------------------------------------------


EDGE_CONFIDENCES = (0.1, 0.2, 0.3, 0.5, 0.7)


@functools.cache
def digits() -> Images:
    return load_digits()


@functools.cache
def digits_table() -> LikelihoodTable:
    return likelihood_table(digits(), seed=5)


def star(images: Images, name: str) -> Partition:
    split = LABEL_SPLITS[name]
    return star_partition(
        images.labels, centre_labels=split.centre, edge_labels=split.edges, seed=0
    )


def star_weights(a: float) -> np.ndarray:
    """v of the star with edge confidence a (docs: mathematics/rate): v_1 = 9a/(9a+8)."""
    centre = 9 * a / (9 * a + 8)
    return np.array([centre, *[(1 - centre) / 8] * 8])


def test_features_are_means_of_blocks() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 28, 28), dtype=np.uint8)
    features = image_features(Images(pixels, np.zeros(3), "noise", ("a",)))
    assert features.shape == (3, 196)
    # Block (row 2, column 5) of image 1, by the definition.
    block = [int(pixels[1, y, x]) for y in (4, 5) for x in (10, 11)]
    assert features[1, 2 * 14 + 5] == sum(block) / 4 / 255
    small = image_features(digits())
    assert small.shape == (1797, 64)
    np.testing.assert_array_equal(small, digits().pixels.reshape(1797, 64) / 16)
    odd = Images(np.full((1, 35, 35), 255, np.uint8), [0], "odd", ("a",))
    assert image_features(odd).shape == (1, 35 * 35)  # what cannot be pooled evenly is left


def test_a_sample_has_the_balance_it_was_asked_for() -> None:
    labels = np.repeat(np.arange(3), 1000)
    recipe = Recipe("1:3", (1, 3, 0), images=400)
    chosen = training_sample(labels, recipe, seed=0)
    assert np.bincount(labels[chosen], minlength=3).tolist() == [100, 300, 0]
    assert np.unique(chosen).size == chosen.size
    # Class 1 has 1 000 images, of which half may be used: 500 of 667 wanted.
    many = training_sample(labels, Recipe("1:3", (1, 3, 0), images=3000), seed=0)
    assert np.bincount(labels[many], minlength=3).tolist() == [167, 500, 0]
    rare = training_sample(labels, Recipe("rare", (1, 1e-6, 0), images=300), seed=0)
    assert np.bincount(labels[rare], minlength=3).tolist() == [300, 1, 0]
    with pytest.raises(ValueError, match="none of class 2"):
        training_sample(labels[labels < 2], Recipe("all", (1, 1, 1)), seed=0)


@pytest.mark.parametrize("balance", [(1,) * 10, (0, 1, 0, 1, 0, 0, 0, 0, 0, 0), (1,) * 9 + (0,)])
def test_probabilities_are_scikit_learns_with_a_floor(balance: tuple[float, ...]) -> None:
    recipe = Recipe("test", balance, images=300, penalty=1e-2)
    features, labels = image_features(digits()), digits().labels
    classifier = train_classifier(features, labels, recipe, seed=1)
    assert classifier.converged
    sample = classifier.trained_on
    oracle = LogisticRegression(C=1 / (1e-2 * sample.size), tol=GRADIENT_TOLERANCE, max_iter=2000)
    oracle.fit(features[sample], labels[sample])
    expected = np.full((labels.size, 10), UNIFORM_SHARE / 10)
    expected[:, oracle.classes_] += (1 - UNIFORM_SHARE) * oracle.predict_proba(features)
    got = classifier.probabilities(features)
    # The same iterates: what differs is the rounding of two ways to write a softmax.
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    np.testing.assert_allclose(got.sum(axis=1), 1, rtol=1e-14)
    unseen = [label for label in range(10) if balance[label] == 0]
    np.testing.assert_array_equal(got[:, unseen], UNIFORM_SHARE / 10)


def test_training_minimises_the_penalised_loss() -> None:
    """Independent of the optimiser: no step in a random direction improves the objective."""
    features, labels = image_features(digits()), digits().labels
    recipe = Recipe("test", (1,) * 10, images=200, penalty=1e-2)
    classifier = train_classifier(features, labels, recipe, seed=2)
    x, y = features[classifier.trained_on], labels[classifier.trained_on]

    def loss(coefficients: np.ndarray, intercepts: np.ndarray) -> float:
        scores = x @ coefficients.T + intercepts
        log_sums = np.log(np.exp(scores).sum(axis=1))
        data = (log_sums - scores[np.arange(y.size), y]).mean()
        return float(data + 1e-2 / 2 * (coefficients**2).sum())

    lowest = loss(classifier.coefficients, classifier.intercepts)
    generator = np.random.default_rng(0)
    for _ in range(20):
        step = generator.normal(size=classifier.coefficients.shape)
        shift = generator.normal(size=classifier.intercepts.shape)
        scale = 0.3 / math.sqrt((step**2).sum() + (shift**2).sum())
        moved = loss(classifier.coefficients + scale * step, classifier.intercepts + scale * shift)
        # A gradient of at most 1e-5 per entry over 650 entries can win at most
        # 1e-5·√650·0.3 ≈ 8e-5; the penalty alone costs 1e-2/2·0.09 = 4.5e-4.
        assert moved > lowest


def test_the_table_holds_each_images_own_label() -> None:
    table = digits_table()
    features, labels = image_features(digits()), digits().labels
    assert table.hypotheses == tuple(recipe.name for recipe in RECIPES)
    assert table.log_likelihoods.shape == (10, 1797)
    assert not table.log_likelihoods.flags.writeable
    for index in (0, 4):
        probabilities = table.classifiers[index].probabilities(features)
        for image in (0, 17, 1796):
            expected = math.log(probabilities[image, labels[image]])
            assert table.log_likelihoods[index, image] == pytest.approx(expected, rel=1e-15)
        right = sum(int(np.argmax(probabilities[k]) == labels[k]) for k in range(labels.size))
        assert table.accuracies[index] == right / labels.size


def test_log_likelihoods_are_bounded_as_documented() -> None:
    for share in (UNIFORM_SHARE, 0.3):
        table = likelihood_table(digits(), recipes=RECIPES[4:6], seed=0, uniform_share=share)
        # One unit in the last place of log for the lower bound.
        assert table.log_likelihoods.min() == pytest.approx(math.log(share / 10), rel=1e-15)
        assert table.log_likelihoods.max() < math.log(1 - share + share / 10) + 1e-15


def test_classes_never_seen_get_the_floor_alone() -> None:
    table = digits_table()
    only = table.hypotheses.index("only 1,2,5,7,9")
    unseen = np.isin(digits().labels, [0, 3, 4, 6, 8])
    np.testing.assert_array_equal(table.log_likelihoods[only, unseen], math.log(UNIFORM_SHARE / 10))


def test_information_is_the_mean_over_an_agents_images() -> None:
    table, shares = digits_table(), star(digits(), "star-fmnist-2")
    model = classifier_model(table, shares)
    assert model.agents == 9
    assert model.hypotheses == table.hypotheses
    information = model.information(2)
    for agent in (0, 1, 8):
        own = shares.indices[agent].tolist()
        for other in range(10):
            ratios = [table.log_likelihoods[2, k] - table.log_likelihoods[other, k] for k in own]
            # fsum is correctly rounded; the model's sums have at most 1 100 terms of size 6.
            assert information[agent, other] == pytest.approx(
                math.fsum(ratios) / len(own), abs=1e-13
            )
        assert model.divergences[agent, 2] == pytest.approx(
            -math.fsum(table.log_likelihoods[2, k] for k in own) / len(own), abs=1e-13
        )
    assert model.log_ratio_bound <= math.log((1 - 0.9 * UNIFORM_SHARE) / (UNIFORM_SHARE / 10))


def test_placement_moves_the_rows_of_the_model() -> None:
    shares = star(digits(), "star-fmnist-1")
    here = classifier_model(digits_table(), shares).divergences
    there = classifier_model(digits_table(), shares.placed_at(4)).divergences
    np.testing.assert_array_equal(here[0], there[4])
    np.testing.assert_array_equal(here[[1, 2, 3, 4]], there[[0, 1, 2, 3]])


def test_the_same_seed_gives_the_same_numbers() -> None:
    again = likelihood_table(digits(), seed=5)
    np.testing.assert_array_equal(again.log_likelihoods, digits_table().log_likelihoods)
    part = likelihood_table(digits(), recipes=RECIPES[:3], seed=5)
    np.testing.assert_array_equal(part.log_likelihoods, again.log_likelihoods[:3])
    other = likelihood_table(digits(), recipes=RECIPES[:1], seed=6)
    assert not np.array_equal(other.log_likelihoods, again.log_likelihoods[:1])


def test_progress_counts_classifiers() -> None:
    steps: list[tuple[int, int]] = []
    likelihood_table(
        digits(),
        recipes=RECIPES[:3],
        seed=0,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert steps == [(1, 3), (2, 3), (3, 3)]


def check_that_something_is_worth_seeing(images: Images, table: LikelihoodTable) -> None:
    """What the recipes are for; computed here, assumed nowhere."""
    assert all(classifier.converged for classifier in table.classifiers)
    moved = False
    for name in ("star-fmnist-1", "star-fmnist-2"):
        model = classifier_model(table, star(images, name))
        assert model.optimal_hypotheses == ()
        assert model.ambiguous_pairs == ()
        settled = {model.compromise(star_weights(a)) for a in EDGE_CONFIDENCES}
        moved = moved or len(settled) > 1
        for a in EDGE_CONFIDENCES:
            v = star_weights(a)
            (best,) = model.compromise(v)
            laws = [model.log_ratio_laws(best, other) for other in range(10)]
            rates = v @ model.information(best)
            for other in range(10):
                if other == best:
                    continue
                variance = sum(
                    v[j] ** 2 * laws[other][model.assignment[j]].variance for j in range(9)
                )
                # After 10^7 independent rounds the rate has this relative standard error.
                assert math.sqrt(variance / 1e7) < 0.02 * rates[other]
    assert moved


def test_the_network_compromise_moves_on_digits() -> None:
    check_that_something_is_worth_seeing(digits(), digits_table())


def test_bad_recipes_are_named() -> None:
    refused("two of them positive", Recipe, "one class", (1, 0, 0))
    refused("balance", Recipe, "negative", (1, -1, 1))
    refused("images: expected a whole number", Recipe, "none", (1, 1), images=0)
    refused("penalty", Recipe, "none", (1, 1), penalty=0)
    with pytest.raises(ValueError, match="one share for each of the 10 classes, got 3"):
        likelihood_table(digits(), recipes=[Recipe("three", (1, 1, 1))], seed=0)
    refused("uniform_share", likelihood_table, digits(), seed=0, uniform_share=0)
    with pytest.raises(ValueError, match=r"partition: expected positions below 1797, .* got 1797"):
        classifier_model(digits_table(), Partition(([0], [1797])))


def test_the_front_door_opens_without_learning_libraries() -> None:
    """The second line shows that the check can fail."""
    look = "print({'sklearn', 'torch', 'pooch', 'matplotlib'} & set(sys.modules) or 'none')\n"
    program = f"import sys, empirical\n{look}import sklearn\n{look}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["none", "{'sklearn'}"]


# What images look like, against a loop over images -----------------------------------------------


def test_looks_one_image_at_a_time() -> None:
    """In fractions, on a few of the digits, where no rounding can turn the scales."""
    digits = load_digits()
    few = Images(digits.pixels[:120], digits.labels[:120], "few", digits.classes, white=16)
    images = [[int(p) for p in pixels.ravel()] for pixels in few.pixels]
    members = {y: np.flatnonzero(few.labels == y).tolist() for y in range(10)}
    means = {
        y: [Fraction(sum(images[i][p] for i in own), len(own)) for p in range(64)]
        for y, own in members.items()
    }
    counts = np.zeros((10, 10), dtype=np.int64)
    for image, label in zip(images, few.labels.tolist(), strict=True):
        distances = [sum((a - b) ** 2 for a, b in zip(image, means[y], strict=True)) for y in means]
        counts[label, distances.index(min(distances))] += 1
    table = look_table(few, per=10_000)
    assert (table.sum(axis=1) == 10_000).all()
    shares = 10_000 * counts / counts.sum(axis=1, keepdims=True)
    assert (np.abs(table - shares) < 1).all()
    assert ((table > 0) == (counts > 0)).all()


def test_largest_remainders() -> None:
    """Three images of class 0, each with a look of its own: 34, 33 and 33 of a hundred."""
    pixels = np.array([[[0]], [[60]], [[90]], [[60]], [[90]]], dtype=np.uint8)
    images = Images(pixels, np.array([0, 0, 0, 1, 2]), "three", ("a", "b", "c"))
    # The mean of class 0 is 50: 60 and 90 have images of other classes that are nearer.
    np.testing.assert_array_equal(look_table(images, per=100)[0], [34, 33, 33])


def test_bad_input() -> None:
    images = Images(np.zeros((2, 1, 1), dtype=np.uint8), np.array([0, 2]), "two", ("a", "b", "c"))
    refused("images: expected images of every class, got none of class 1", look_table, images)
    refused("per: expected a whole number of at least 1, got 0", look_table, load_digits(), per=0)


# The papers as data ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    name: str
    groups: tuple[tuple[str, tuple[int, ...]], ...] = ()
    words: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    share: float = 0.5
    main: str = ""


def test_every_file_of_the_folder_is_read() -> None:
    names = [path.stem for path in Path(papers.__file__).parent.glob("*.toml")]
    assert len(names) >= 6
    assert all(papers.tables(name) for name in names)


def test_lists_are_tuples_where_fields_are_and_stay_lists_elsewhere() -> None:
    table = {"name": "a", "groups": [["all", []], ["two", [0, 1]]], "words": {"shape": [3, 3]}}
    made = papers.built(Whole, {"parts": [table]}, main="a")
    (part,) = made.parts
    assert part.groups == (("all", ()), ("two", (0, 1)))
    assert part.words == {"shape": [3, 3]}
    assert (made.share, made.main) == (0.5, "a")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"parts": [], "shares": 0.1}, "expected one of parts, share, main, got shares"),
        ({"parts": [], "share": "0.1"}, "Whole.share: expected of type float, got '0.1'"),
        ({"parts": [{"name": 3}]}, "Part.name: expected of type str, got 3"),
        ({"share": 0.1}, "missing 1 required positional argument: 'parts'"),
    ],
    ids=["unknown", "type", "inner type", "missing"],
)
def test_what_is_misspelt_is_one_line(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r"parts|type") as error:
        papers.built(Whole, table)
    assert said in str(error.value)
    assert "\n" not in str(error.value)

"""What images look like, against a loop over images."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from empirical.classifiers import look_table
from empirical.data import Images, load_digits
from tests.empirical.support import refused


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

"""Classifiers of the published images as hypotheses."""

from __future__ import annotations

import functools
import math

import pytest

from empirical import LikelihoodTable, classifier_model, likelihood_table
from tests.empirical.support import fashion_mnist
from tests.empirical.test_classifiers import check_that_something_is_worth_seeing, star


@functools.cache
def fashion_table() -> LikelihoodTable:
    return likelihood_table(fashion_mnist(), seed=5)


def test_the_network_compromise_moves_on_fashion_mnist() -> None:
    check_that_something_is_worth_seeing(fashion_mnist(), fashion_table())


def test_information_on_fashion_mnist_is_the_mean_over_images() -> None:
    table, shares = fashion_table(), star(fashion_mnist(), "star-fmnist-1")
    model = classifier_model(table, shares)
    for agent in (0, 5):
        own = shares.indices[agent].tolist()
        for theta in (0, 3, 9):
            expected = -math.fsum(table.log_likelihoods[theta, k] for k in own) / len(own)
            # 36 000 terms of size at most 6.2: √36 000 roundings of 1e-16 relative each.
            assert model.divergences[agent, theta] == pytest.approx(expected, abs=1e-12)

"""Certified numbers of many random networks and problems that are hard on floating point."""

from __future__ import annotations

import pytest

from tests.theory.certified import test_deviation, test_spectrum, test_stationary
from tests.theory.certified.adversaries import ADVERSARIES, adversaries
from tests.theory.certified.test_learning import check_random_problems


def test_a_thousand_stationary_distributions() -> None:
    for network in adversaries(1000, seed=1):
        test_stationary.check(network)


def test_a_thousand_spectra() -> None:
    for network in adversaries(1000, seed=2):
        test_spectrum.check(network)


@pytest.mark.parametrize("kind", ADVERSARIES)
def test_deviations(kind: str) -> None:
    test_deviation.check(kind, count=50, most_agents=6)


def test_five_hundred_learning_problems() -> None:
    check_random_problems(500)

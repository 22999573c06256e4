"""Samples of beliefs: bytes by listing all messages, and a ceiling by the loudest of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tests.theory.messages.cases import NETWORK, coins
from theory import Network
from theory.messages import Samples, compressed_learning, message_levels, sampled_ceiling


@pytest.mark.parametrize(("draws", "hypotheses"), [(1, 2), (5, 4), (40, 3), (254, 2), (256, 2)])
def test_a_message_is_one_of_all_counts(draws: int, hypotheses: int) -> None:
    counts = {
        one
        for one in itertools.product(range(draws + 1), repeat=hypotheses - 1)
        if sum(one) <= draws
    }
    found = Samples(draws=draws, header=3).frame(hypotheses - 1) - 3
    assert 256 ** (found - 1) < len(counts) <= 256**found or (found, len(counts)) == (0, 1)


@pytest.mark.parametrize("mixing", [1.0, 0.25])
@pytest.mark.parametrize("prior", [None, [0.999999, 0.000001]])
def test_nothing_passes_the_ceiling(mixing: float, prior: list[float] | None) -> None:
    """All draws of one hypothesis, and data for it, in every round."""
    quantiser = Samples(draws=20, smoothing=0.5, mixing=mixing)
    ceiling = sampled_ceiling(NETWORK, coins(2, prior), quantiser)
    loudest = math.log(20.5 / 0.5)
    weights = (1 - mixing) * np.eye(2) + mixing * np.asarray(NETWORK.weights)
    own = weights.diagonal()
    held = np.full(2, 0.0 if prior is None else math.log(prior[0] / prior[1]))
    largest = np.abs(held).max()
    for _ in range(1500):
        held = own * (held + math.log(2)) + (1 - own) * loudest
        largest = max(largest, np.abs(held).max())
    assert largest <= ceiling
    # Tight: agent 0, or the prior, comes to within rounding.
    assert largest == pytest.approx(ceiling, rel=1e-6)


def test_nothing_is_promised_but_that() -> None:
    found = compressed_learning(NETWORK, coins(2), Samples(draws=10))
    assert (found.frame, found.bytes_per_round) == (5, 10.0)
    assert found.certified_bytes == (None, None)
    assert "learning ends" in found.note
    assert math.isinf(message_levels(NETWORK, coins(2), Samples(draws=10)).error)


def test_agents_who_listen_to_nobody_have_no_ceiling() -> None:
    assert math.isinf(sampled_ceiling(Network([[1.0]]), coins(1), Samples(draws=10)))

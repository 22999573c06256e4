"""How often agents speak: bounds against all histories at once, and against closed forms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tests.theory.messages.cases import NETWORK, PAIR, RATIOS, coins
from tests.theory.messages.oracles import compressed_run, lazy
from theory import FiniteModel, Network
from theory.messages import (
    Deadband,
    SpeakingShares,
    Uniform,
    message_levels,
    speaking,
    speaking_shares,
)
from theory.messages.levels import mixed_network

RATE = math.log(4 / 3) / 2
SPREAD = math.log(3) / 2


def shares(
    network: Network, model: FiniteModel, quantiser: Deadband, rounds: int | None = None
) -> SpeakingShares:
    levels = message_levels(network, model, quantiser)
    mixed = mixed_network(network, quantiser.mixing)
    return speaking_shares(mixed, model, quantiser, levels, rounds=rounds)


@pytest.mark.parametrize("prior", [None, [0.1, 0.9]])
@pytest.mark.parametrize(
    ("step", "threshold", "mixing"),
    [(Fraction(1, 10), Fraction(1, 4), 1), (Fraction(1, 2), 1, Fraction(1, 20)), (1, 2, 1)],
)
def test_the_mean_over_all_histories_is_between(
    prior: list[float] | None, step: Fraction, threshold: Fraction, mixing: Fraction
) -> None:
    rounds = 4
    quantiser = Deadband(step=step, threshold=threshold, mixing=mixing)
    model = coins(2, prior)
    odds = [Fraction(float(x)) for x in (model.log_priors[0, 0] - model.log_priors[0, 1],) * 2]
    sent = 0
    for seen in itertools.product(itertools.product(RATIOS, repeat=2), repeat=rounds):
        sent += compressed_run(
            lazy(PAIR, Fraction(mixing)),
            seen,
            Fraction(step),
            threshold=Fraction(threshold),
            prior=odds,
        ).sent
    mean = sent / 4**rounds / rounds
    found = shares(NETWORK, model, quantiser, rounds)
    assert found.lower.sum() <= mean <= found.upper.sum()


def test_a_lone_agent_in_closed_form() -> None:
    """No neighbours: D is K, and both ends follow from the coin alone."""
    network, step, threshold = Network([[1.0]]), 0.5, 30.0
    quantiser = Deadband(step=step, threshold=threshold)
    levels = message_levels(network, coins(1), quantiser)
    found = shares(network, coins(1), quantiser)
    assert levels.reach == pytest.approx(threshold + math.log(2), rel=1e-8)
    assert found.lower[0] == pytest.approx(RATE / (levels.reach + step / 2), rel=1e-8)
    gap = threshold - step / 2
    root = (SPREAD + math.sqrt(SPREAD**2 + 4 * gap * RATE)) / (2 * gap)
    assert found.upper[0] == pytest.approx(root**2, rel=1e-6)
    # Brownian motion with drift leaves an interval after (T/K) tanh(KT/s²).
    level = threshold + 0.5825971579390106 * SPREAD
    expected = RATE / level / math.tanh(RATE * level / SPREAD**2)
    assert found.estimate[0] == pytest.approx(expected, rel=1e-9)


def exit_share(threshold: float, cells: int) -> float:
    """One over the mean time in which a lone coin's walk leaves ±T: linear equations on a grid."""
    places = np.linspace(-threshold, threshold, cells)
    step = places[1] - places[0]
    system = np.eye(cells)
    for ratio in (math.log(0.5 / 0.75), math.log(0.5 / 0.25)):
        target = np.rint((places + ratio + threshold) / step).astype(int)
        inside = (target >= 0) & (target < cells)
        system[np.flatnonzero(inside), target[inside]] -= 0.5
    return float(1 / np.linalg.solve(system, np.ones(cells))[cells // 2])


@pytest.mark.parametrize("threshold", [2.0, 5.0, 20.0])
def test_the_estimate_is_that_of_a_walk_that_leaves_an_interval(threshold: float) -> None:
    """Within a few per cent: the correction for overshooting is one of first order."""
    quantiser = Deadband(step=1e-3, threshold=threshold)
    estimate = shares(Network([[1.0]]), coins(1), quantiser).estimate[0]
    assert estimate == pytest.approx(exit_share(threshold, 1201), rel=0.08)


def test_both_ends_meet_at_the_rate_over_the_threshold() -> None:
    """Tight: as thresholds grow and mixing falls faster."""
    for threshold, allowed in ((1e2, 1.6), (1e4, 1.15)):
        quantiser = Deadband(step=1.0, threshold=threshold, mixing=1e-3 / threshold)
        found = shares(NETWORK, coins(2), quantiser)
        assert found.lower.max() <= found.estimate.min()
        assert found.estimate.max() <= found.upper.min()
        assert found.upper.max() < allowed * found.lower.min()
        assert found.estimate == pytest.approx(RATE / threshold, rel=0.02)


@pytest.mark.parametrize("mixing", [1.0, 0.05])
def test_swings_are_sums_over_rounds(mixing: float) -> None:
    """Directed, with unequal variances; 5 000 rounds one by one leave nothing that counts."""
    network = mixed_network(Network([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.7, 0.2, 0.1]]), mixing)
    W, variances = np.asarray(network.weights), np.array([0.3017372358, 1.0, 0.01])
    rows, total = W - np.eye(3), np.zeros(3)
    for _ in range(5000):
        total += (rows * rows) @ variances
        rows = W @ rows
    np.testing.assert_allclose(speaking._swings(network, variances), total, rtol=2e-9)


def test_others_always_speak() -> None:
    uniform = Uniform(step=1)
    levels = message_levels(NETWORK, coins(2), uniform)
    found = speaking_shares(NETWORK, coins(2), uniform, levels)
    assert found.lower.tolist() == found.upper.tolist() == found.estimate.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="rounds: expected a whole number of at least 1"):
        shares(NETWORK, coins(2), Deadband(step=1, threshold=2), 0)

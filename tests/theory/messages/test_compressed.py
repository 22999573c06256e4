"""Certified rounds and bytes against every history gone through, one by one, in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tests.theory.messages.cases import NETWORK, PAIR, RATIOS, coins
from tests.theory.messages.oracles import compressed_run
from theory import FiniteAgent, FiniteModel, account, sample_sizes
from theory.messages import Deadband, Plain, Quantiser, Uniform, compressed_learning
from theory.messages.compressed import shifted

MODEL = coins(2)


def error_probabilities(rounds: int, quantiser: Uniform) -> list[float]:
    """P(some agent is wrong after n rounds) for n = 1, …; all histories are equally likely."""
    wrong = [0] * rounds
    draws = list(itertools.product(RATIOS, repeat=2))
    for seen in itertools.product(draws, repeat=rounds):
        found = compressed_run(
            PAIR,
            seen,
            Fraction(quantiser.step),
            mixing=Fraction(quantiser.mixing),
            levels=quantiser.levels,
        )
        for n, held in enumerate(found.history):
            wrong[n] += min(held) <= 0
    return [count / 4**rounds for count in wrong]


@pytest.mark.parametrize(
    "quantiser",
    [
        Uniform(step=Fraction(1, 100)),
        Uniform(step=Fraction(1, 2)),
        Uniform(step=Fraction(2), mixing=Fraction(1, 2)),
    ],
)
def test_the_true_probability_lies_between_the_two_priors(quantiser: Uniform) -> None:
    found = compressed_learning(NETWORK, MODEL, quantiser)
    worst = float(found.deviation.max())
    true = error_probabilities(4, quantiser)
    for n, probability in enumerate(true, start=1):
        harder = account(found.network, shifted(found.network, MODEL, -worst)).probability(n)
        easier = account(found.network, shifted(found.network, MODEL, worst)).probability(n)
        # The account's lower end leaves out ties, which doubles cannot tell.
        assert easier.lower[0] <= probability + 1e-9
        assert probability <= harder.upper[0] + 1e-9


def test_a_fine_step_costs_next_to_nothing() -> None:
    """Tight: both ends meet those without compression, up to a round."""
    plain = sample_sizes(NETWORK, MODEL, delta=0.05).certified
    found = compressed_learning(NETWORK, MODEL, Uniform(step=1e-6), delta=0.05)
    lower, upper = found.certified_rounds
    assert plain.upper <= upper <= plain.upper + 2
    assert plain.lower - 2 <= lower
    assert found.extra_rounds == upper - plain.upper


def test_bytes_are_rounds_times_links_times_frames() -> None:
    quantiser = Uniform(step=0.5, levels=20, header=3)
    found = compressed_learning(NETWORK, MODEL, quantiser)
    lower, upper = found.certified_rounds
    assert (found.links, found.frame, found.bytes_per_round) == (2, 4, 8.0)
    assert found.certified_bytes == ((lower or 0) * 8, upper * 8)
    silent = Deadband(step=1, threshold=5, mixing=Fraction(1, 10))
    found = compressed_learning(NETWORK, MODEL, silent)
    assert found.levels.silence > 1
    assert found.bytes_after(2 * found.levels.silence) == 2 * 2 * (found.frame or 0)
    assert found.certified_bytes[0] == 0


def test_hypotheses_other_than_the_first_move_twice_as_far() -> None:
    claims = [[[0.5, 0.5]], [[0.75, 0.25]], [[0.9, 0.1]]]
    agent = FiniteAgent.from_tables(inputs=[1.0], truth=[[0.75, 0.25]], likelihood=claims)
    model = FiniteModel.from_agents(["fair", "loaded", "crooked"], [agent], counts=[2])
    moved = shifted(NETWORK, model, -0.5).log_priors[0] - model.log_priors[0]
    np.testing.assert_allclose(moved - moved[1], [0.5, 0.0, 1.0])


@pytest.mark.parametrize(
    "quantiser", [Plain(step=0.5), Plain(step=2.0, levels=3)], ids=["plain", "plain-levels"]
)
def test_nothing_is_guaranteed_without_a_replica(quantiser: Quantiser) -> None:
    found = compressed_learning(NETWORK, MODEL, quantiser)
    assert found.certified_rounds == (None, None)
    assert found.certified_bytes == (None, None)
    assert found.extra_rounds is None
    assert math.isinf(found.deviation.max())
    assert found.note == "nothing is guaranteed without a replica"

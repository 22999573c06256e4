"""Certified rounds and bytes against every history gone through, one by one, in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tests.theory.messages.oracles import compressed_run, lazy, uncompressed_run
from theory import FiniteAgent, FiniteModel, Network, account, learning_rate, sample_sizes
from theory.messages import (
    Deadband,
    Plain,
    Quantiser,
    Uniform,
    compressed_learning,
    mixed_network,
)
from theory.messages.compressed import shifted

PAIR = [[Fraction(9, 10), Fraction(1, 10)], [Fraction(3, 5), Fraction(2, 5)]]
NETWORK = Network([["9/10", "1/10"], ["3/5", "2/5"]])
HEAD, TAIL = Fraction(1, 4), Fraction(3, 4)
COIN = FiniteAgent.from_tables(
    inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
)
MODEL = FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[2])
# log ℓ(fair)/ℓ(loaded) of heads and of tails, as the doubles they are.
RATIOS = [Fraction(float(np.log(0.5) - np.log(p))) for p in (0.75, 0.25)]


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
    true = error_probabilities(5, quantiser)
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


def test_coarser_steps_take_more_rounds() -> None:
    steps = [0.01, 0.1, 1.0, 4.0]
    found = [
        compressed_learning(NETWORK, MODEL, Uniform(step=s)).certified_rounds[1] for s in steps
    ]
    known = [n for n in found if n is not None]
    assert len(known) == 4
    assert known == sorted(known)
    assert known[0] < known[-1]


def test_bytes_are_rounds_times_links_times_frames() -> None:
    quantiser = Uniform(step=0.5, levels=20, header=3)
    found = compressed_learning(NETWORK, MODEL, quantiser)
    lower, upper = found.certified_rounds
    assert (found.links, found.frame, found.bytes_per_round) == (2, 4, 8.0)
    assert found.certified_bytes == ((lower or 0) * 8, upper * 8)
    silent = Deadband(step=1, threshold=20, mixing=Fraction(1, 50))
    found = compressed_learning(NETWORK, MODEL, silent)
    assert found.levels.silence > 1
    assert found.bytes_after(2 * found.levels.silence) == 2 * 2 * (found.frame or 0)
    assert found.certified_bytes[0] == 0


def test_the_identity_holds_whatever_is_left_out() -> None:
    """Σ v_i Λ_i is that without compression, exactly: also where levels overload."""
    v = [Fraction(6, 7), Fraction(1, 7)]
    rng = np.random.default_rng(3)
    seen = [[RATIOS[int(b)] for b in row] for row in rng.integers(0, 2, (40, 2))]
    for mixing in (Fraction(1), Fraction(1, 3)):
        plain = uncompressed_run(lazy(PAIR, mixing), seen)
        for levels in (None, 2):
            found = compressed_run(PAIR, seen, Fraction(1, 3), mixing=mixing, levels=levels)
            for one, other in zip(found.history, plain, strict=True):
                assert sum(a * b for a, b in zip(v, one, strict=True)) == sum(
                    a * b for a, b in zip(v, other, strict=True)
                )


def test_rates_and_exponents_are_those_of_w() -> None:
    mixed = mixed_network(NETWORK, 0.1)
    np.testing.assert_allclose(
        learning_rate(mixed, MODEL).rates, learning_rate(NETWORK, MODEL).rates, rtol=1e-12
    )


def test_hypotheses_other_than_the_first_move_twice_as_far() -> None:
    coins = [[[0.5, 0.5]], [[0.75, 0.25]], [[0.9, 0.1]]]
    agent = FiniteAgent.from_tables(inputs=[1.0], truth=[[0.75, 0.25]], likelihood=coins)
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


# Two phases in which one agent listens and one does not. Their influences are no common v.
FIRST = [[Fraction(1, 2), Fraction(1, 2)], [Fraction(0), Fraction(1)]]
SECOND = [[Fraction(1), Fraction(0)], [Fraction(1, 2), Fraction(1, 2)]]


def _in_turn(
    phases: list[list[list[Fraction]]], seen: list[Fraction], step: Fraction | None, rounds: int
) -> list[list[Fraction]]:
    """Λ after each round of phases in turn; None sends log-ratios as they are."""
    held, replica, history = [Fraction(0)] * 2, [Fraction(0)] * 2, []
    for t in range(rounds):
        W = phases[t % len(phases)]
        public = [a + b for a, b in zip(held, seen, strict=True)]
        if step is None:
            replica = public
        else:
            cells = [(y - r) / step + Fraction(1, 2) for y, r in zip(public, replica, strict=True)]
            replica = [r + step * math.floor(c) for r, c in zip(replica, cells, strict=True)]
        held = [
            public[i] + sum(W[i][j] * (replica[j] - replica[i]) for j in range(2)) for i in range(2)
        ]
        history.append(held)
    return history


def test_networks_that_change_may_lose_their_rate() -> None:
    """A counterexample in fractions: evidence −1/45 a round without compression, none with it."""
    phases, seen = [FIRST, FIRST, SECOND], [Fraction(1, 3), Fraction(-1, 5)]
    without = _in_turn(phases, seen, None, 300)
    compressed = _in_turn(phases, seen, Fraction(1), 300)
    for i in range(2):
        assert abs((without[299][i] - without[149][i]) / 150 + Fraction(1, 45)) < Fraction(1, 10**9)
        assert abs(compressed[299][i]) < 2


def test_networks_that_change_but_share_their_v_keep_it() -> None:
    """Doubly stochastic phases: the mean of Λ is what it is without compression, exactly."""
    half, third = Fraction(1, 2), Fraction(1, 3)
    phases = [[[half, half], [half, half]], [[third, 2 * third], [2 * third, third]]]
    seen = [Fraction(1, 3), Fraction(-1, 5)]
    without = _in_turn(phases, seen, None, 50)
    compressed = _in_turn(phases, seen, Fraction(1), 50)
    assert [sum(row) for row in without] == [sum(row) for row in compressed]

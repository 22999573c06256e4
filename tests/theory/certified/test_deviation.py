"""D and the signed deviation against sums in rationals, long sums of balls and closed forms."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings

from tests.strategies import networks
from tests.theory.certified.adversaries import (
    ADVERSARIES,
    adversary,
    holds,
    summed_deviation,
)
from tests.theory.rational.networks import reset_chain
from theory import Network
from theory.certified.network import certified_deviation, deviation_matrix_balls
from theory.certified.running_sum import CertifiedDeviation, RunningSum
from theory.certified.spectrum import certified_spectrum, difference_matrix, refined_bases
from theory.numbers import Enclosure, precision
from theory.rational import RationalNetwork


def _deviation(network: RationalNetwork, *, slem: float | None = None) -> CertifiedDeviation:
    reversible = network.is_reversible
    spectrum = certified_spectrum(network, reversible=reversible, relative_width=1e-12)
    return certified_deviation(
        network,
        lambda extra: refined_bases(
            network, difference_matrix(network), reversible=reversible, extra_bits=extra
        ),
        reversible=reversible,
        slem=float(spectrum.slem) if slem is None else slem,
        relative_width=1e-12,
    )


def _relative_width(found: CertifiedDeviation) -> float:
    return max(Enclosure.from_ball(ball).relative_width for ball in found.balls)


def _agrees(found: CertifiedDeviation, truth: list[flint.arb]) -> bool:
    """Whether each ball meets the bracket in which the truth is known to lie."""
    return all(
        bool(ball.upper() >= exact.lower()) and bool(ball.lower() <= exact.upper())
        for ball, exact in zip(found.balls, truth, strict=True)
    )


@pytest.mark.parametrize("kind", ADVERSARIES)
def test_sums_of_adversaries_contain_the_truth(kind: str) -> None:
    check(kind, count=12, most_agents=5)


def check(kind: str, *, count: int, most_agents: int) -> None:
    """D of some networks of a kind, and that they are of use."""
    rng = np.random.default_rng(4)
    compared = narrow = 0
    for _ in range(count):
        network = adversary(kind, rng, most_agents=most_agents)
        found = _deviation(network)
        narrow += _relative_width(found) <= 1e-12
        slem = network.as_network().slem
        if slem < 0.97:
            # A bracket of relative width 1e-20 at most, from up to 1500 rounds.
            truth = summed_deviation(network, 40 if slem < 0.3 else 1500 if slem > 0.9 else 450)
            assert _agrees(found, truth)
            compared += 1
    assert kind in {"nearly-decomposable", "nearly-periodic"} or compared > 0.4 * count
    assert kind == "nearly-periodic" or narrow == count


@settings(max_examples=15)
@given(networks(max_agents=6))
def test_sums_contain_what_network_brackets(network) -> None:
    found = _deviation(RationalNetwork.from_network(network))
    bracket = network.deviation
    slack = 1e-9  # its allowance for rounding grows with the rounds
    for ball, lower, upper in zip(found.balls, bracket.lower, bracket.upper, strict=True):
        assert float(ball.upper()) >= lower * (1 - slack)
        assert float(ball.lower()) <= upper * (1 + slack)
    assert _relative_width(found) <= 1e-12 or found.method == "strides"


@pytest.mark.parametrize("seed", range(2))
def test_slow_networks_with_signs_that_settle(seed: int) -> None:
    # Slow enough for the closed form, fast enough to be summed to the end here.
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 7))
    weights = rng.random((size, size))
    if seed % 2:  # reversible, exactly
        counts = rng.integers(1, 9, (size, size))
        counts = counts + counts.T
        blocks = np.arange(size) % 2
        counts = np.where(blocks[:, None] == blocks, 100 * counts, counts)
        network = RationalNetwork(
            [[Fraction(int(c), int(row.sum())) for c in row] for row in counts]
        )
    else:
        blocks = np.arange(size) % 2
        weights *= np.where(blocks[:, None] == blocks, 1.0, 0.01)
        network = RationalNetwork.from_network(
            Network(weights / weights.sum(axis=1, keepdims=True))
        )
    found = _deviation(network)
    assert found.method == "rounds-and-signs"
    assert found.rounds < 100
    truth = summed_deviation(network, 6000)
    assert _agrees(found, truth)
    assert _relative_width(found) <= 1e-12
    for ball, exact in zip(found.balls, truth, strict=True):
        assert float(exact.rad() / exact.mid()) < 1e-15
        assert abs(float(ball.mid() / exact.mid()) - 1) < 1e-12


@pytest.mark.parametrize("other", [Fraction(1, 10**12), Fraction(1, 3), 1 - Fraction(1, 10**9)])
def test_two_agents_in_closed_form(other: Fraction) -> None:
    # a_k = 2 (1 − v_i)|λ|^k with λ = 1 − a − b; the last case has λ near −1.
    a, b = other, other / 2 if other < Fraction(1, 2) else other
    network = RationalNetwork([[1 - a, a], [b, 1 - b]])
    v = network.stationary_distribution
    size = abs(1 - a - b)
    found = _deviation(network)
    for ball, entry in zip(found.balls, v, strict=True):
        assert holds(ball, 2 * (1 - entry) * size / (1 - size))
    assert _relative_width(found) <= 1e-12


@pytest.mark.parametrize("agents", [20, 60])
def test_reset_chain_in_finitely_many_rounds(agents: int) -> None:
    network = reset_chain(agents)
    found = _deviation(network)
    assert _relative_width(found) <= 1e-12
    # W^N has equal rows: D is a finite sum, here in rationals for the first and the last agent.
    size = agents
    v = flint.fmpq_mat(
        [[flint.fmpq(x.numerator, x.denominator) for x in network.stationary_distribution]]
    )
    for agent in (0, size - 1):
        row = flint.fmpq_mat([[int(j == agent) for j in range(size)]])
        total = flint.fmpq(0)
        for _ in range(size):
            row = row * network.matrix
            total += sum((abs(x) for x in (row - v).entries()), flint.fmpq(0))
        assert row == v
        assert holds(found.balls[agent], Fraction(int(total.p), int(total.q)))


def test_ring_of_fifty_in_doubles() -> None:
    # Pairs of eigenvalues that doubles have torn apart by 1e-17.
    network = Network.from_topology("ring", agents=50)
    found = _deviation(RationalNetwork.from_network(network))
    assert found.method == "rounds-and-signs"
    assert _relative_width(found) <= 1e-12
    bracket = network.deviation
    assert bracket.lower[0] * (1 - 1e-9) <= float(found.balls[0]) <= bracket.upper[0] * (1 + 1e-9)


def test_strides_are_true_and_say_their_width() -> None:
    # A cycle that pauses with 1e-3: complex eigenvalues, 10⁴ rounds to mix.
    pause, size = Fraction(1, 1000), 5
    rows = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        rows[i][i], rows[i][(i + 1) % size] = pause, 1 - pause
    network = RationalNetwork(rows)
    truth = summed_deviation(network, 20_000, bits=128)
    exactly = _deviation(network)
    assert _agrees(exactly, truth)
    # Told that W is far slower than it is, the sum takes strides from the beginning.
    strides = _deviation(network, slem=1 - 1e-9)
    assert strides.method == "strides"
    assert _agrees(strides, truth)
    assert 1e-12 < _relative_width(strides) < 1e-2


def test_every_term_is_bounded_by_itself() -> None:
    # Products of doubles: their rounding must lie within what is allowed for it, round by round.
    rng = np.random.default_rng(5)
    weights = rng.random((12, 12)) + 20 * np.eye(12)
    exact = RationalNetwork.from_network(Network(weights / weights.sum(axis=1, keepdims=True)))
    v = [flint.fmpq(x.numerator, x.denominator) for x in exact.stationary_distribution]
    with precision(128):
        sums = RunningSum(exact, 128, 1e-12, 0.9)
        for _ in range(4):
            sums._next_stretch()
    with precision(400):
        power = flint.arb_mat(exact.matrix - flint.fmpq_mat([v] * 12))
        for lower, upper in zip(sums.lower, sums.upper, strict=True):
            for row, below, above in zip(power.table(), lower, upper, strict=True):
                truth = sum((abs(entry) for entry in row), flint.arb(0))
                assert flint.arb(float(below)) <= truth <= flint.arb(float(above))
                assert above - below < 1e-11 * above
            power = power * flint.arb_mat(exact.matrix)


def test_an_agent_whose_row_is_v_never_deviates() -> None:
    equal = RationalNetwork([["1/4", "3/4"], ["1/4", "3/4"]])
    assert _deviation(equal).balls == (0, 0)
    # Row 0 is v = (1/2, 1/4, 1/4), the others are not.
    still = RationalNetwork([["1/2", "1/4", "1/4"], ["3/4", "1/4", "0"], ["1/4", "1/4", "1/2"]])
    assert still.stationary_distribution == still.rows[0]
    found = _deviation(still)
    assert found.balls[0] == 0
    assert found.balls[1] > 0
    assert _relative_width(found) <= 1e-12


@given(networks(max_agents=7))
def test_signed_deviation_matrix(network) -> None:
    exact = RationalNetwork.from_network(network)
    size = exact.agents
    with precision(256):
        balls = deviation_matrix_balls(exact)
    limit = flint.fmpq_mat(
        [[flint.fmpq(x.numerator, x.denominator) for x in exact.stationary_distribution]] * size
    )
    one = flint.fmpq_mat(size, size)
    for i in range(size):
        one[i, i] = 1
    truth = (one - exact.matrix + limit).inv() - limit
    for ball, entry in zip(balls.entries(), truth.entries(), strict=True):
        assert holds(ball, Fraction(int(entry.p), int(entry.q)))
        assert float(ball.rad()) < 1e-40

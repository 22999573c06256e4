"""How many levels are enough: no overload in any run, and what happens with too few."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks
from tests.theory.messages.cases import HALVES, NETWORK, PAIR, coins, normals
from tests.theory.messages.oracles import compressed_run, lazy, plain_run, rounded
from theory import Network
from theory.messages import Deadband, Uniform, compressed_learning, message_levels, stalling_step
from theory.network.structure import as_dense


@settings(deadline=None, max_examples=30)
@given(
    networks(max_agents=3),
    st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(8)]),
    st.sampled_from([Fraction(1), Fraction(1, 10)]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_no_overload_with_the_least_number_of_levels(
    drawn: Network, step: Fraction, mixing: Fraction, event: bool, seed: int
) -> None:
    """Any data at the ends of their ranges, chosen at random or to pull in two directions."""
    agents = drawn.agents
    weights = [[Fraction(x) for x in row] for row in as_dense(drawn.weights).tolist()]
    for i, row in enumerate(weights):
        row[i] += 1 - sum(row)
    threshold = 3 * step if event else None
    kind = (
        Deadband(step=step, mixing=mixing, threshold=threshold)
        if event
        else Uniform(step=step, mixing=mixing)
    )
    model = coins(agents, [0.1, 0.9])
    levels = message_levels(drawn, model, kind).least
    assert levels is not None
    low, high = (Fraction(float(x)) for x in (np.log(0.5 / 0.75), np.log(0.5 / 0.25)))
    prior = [Fraction(float(np.log(0.1) - np.log(0.9)))] * agents
    rng = np.random.default_rng(seed)
    ends = (
        [[(low, high)[int(b)] for b in row] for row in rng.integers(0, 2, (12, agents))]
        if seed % 2
        else [[(low, high)[(i + t // 4) % 2] for i in range(agents)] for t in range(12)]
    )
    found = compressed_run(
        weights, ends, step, mixing=mixing, levels=levels, threshold=threshold, prior=prior
    )
    assert max(abs(e) for row in found.errors for e in row) <= Fraction(kind.error_bound)


def test_with_fewer_levels_than_necessary_replicas_fall_behind_without_end() -> None:
    step = Fraction(1, 20)
    found = message_levels(NETWORK, coins(2), Uniform(step=step))
    assert found.necessary <= found.least
    heads = [[Fraction(math.log(2))] * 2] * 200
    few = found.necessary - 1
    errors = compressed_run(PAIR, heads, step, levels=few).errors
    assert errors[-1][0] - errors[99][0] > 99 * (Fraction(math.log(2)) - step * (few // 2)) / 2
    errors = compressed_run(PAIR, heads, step, levels=found.necessary).errors
    assert max(abs(e) for row in errors for e in row) < 1


def test_one_bit_is_enough_if_little_is_mixed() -> None:
    """Two levels; the certificate needs a small share of mixing and large steps."""
    star = Network.from_topology("star", agents=3, edge_confidence=0.5)
    assert message_levels(star, coins(3), Uniform(step=8)).least == 5
    bit = Uniform(step=8, mixing=Fraction(1, 10), levels=2)
    found = compressed_learning(star, coins(3), bit)
    assert found.quantiser.levels == 2
    assert found.certified_rounds[1] is not None


def test_the_bound_is_not_far_from_what_happens() -> None:
    """Tight: some run uses more than half of the reach."""
    rng = np.random.default_rng(1)
    low, high = Fraction(math.log(2 / 3)), Fraction(math.log(2))
    reach = message_levels(NETWORK, coins(2), Uniform(step=1)).reach
    seen = [[(low, high)[int(b)] for b in row] for row in rng.integers(0, 2, (400, 2))]
    found = compressed_run(PAIR, seen, Fraction(1))
    largest = max(abs(x) for row in found.differences for x in row)
    assert 0.5 * reach < largest <= reach


def test_silence_lasts_as_long_as_is_promised() -> None:
    weights = lazy(PAIR, Fraction(1, 20))
    quantiser = Deadband(step=Fraction(1), threshold=Fraction(12), mixing=Fraction(1, 20))
    promised = message_levels(NETWORK, coins(2), quantiser).silence
    assert promised > 3
    heads = [[Fraction(math.log(2))] * 2] * 300
    sent = compressed_run(weights, heads, Fraction(1), threshold=Fraction(12)).sent
    assert 2 <= sent <= 2 * -(-300 // promised)


def test_plain_rounding_beyond_the_stalling_step_learns_nothing() -> None:
    step = stalling_step(NETWORK, coins(2))
    rng = np.random.default_rng(2)
    low, high = Fraction(math.log(2 / 3)), Fraction(math.log(2))
    seen = [[(low, high)[int(b)] for b in row] for row in rng.integers(0, 2, (500, 2))]
    held = max(abs(x) for row in plain_run(PAIR, seen, Fraction(step)) for x in row)
    assert held <= Fraction(9, 10) * high / (1 - Fraction(9, 10))
    # With one tenth of the step, and with a replica, the network learns.
    learnt = plain_run(PAIR, seen, Fraction(step) / 20)[-1]
    assert min(abs(x) for x in learnt) > 3 * held
    replica = compressed_run(PAIR, seen, Fraction(step)).history[-1]
    assert min(abs(x) for x in replica) > 3 * held


@pytest.mark.parametrize("levels", [None, 2, 3, 8, 9])
def test_cells_are_those_of_the_oracle(levels: int | None) -> None:
    values = np.linspace(-5.03, 5.07, 200)
    quantiser = Uniform(step=0.7, levels=levels)
    expected = [float(rounded(Fraction(v), Fraction(7, 10), levels)) for v in values]
    np.testing.assert_allclose(quantiser.cells(values), expected, atol=1e-12)


def test_bytes_of_a_message() -> None:
    assert Uniform(step=1, levels=2, header=0).frame(8) == 1
    assert Uniform(step=1, levels=2, header=0).frame(9) == 2
    assert Uniform(step=1, levels=256, header=0).frame(1) == 1
    assert Uniform(step=1, levels=257, header=0).frame(1) == 2
    assert Uniform(step=1, levels=3, header=4).frame(5) == 4 + 1  # 3⁵ = 243
    assert Uniform(step=1).frame(1) is None


def test_normal_data_have_no_least_number() -> None:
    model = normals(2)
    found = message_levels(NETWORK, model, Uniform(step=1))
    assert (found.least, found.necessary, found.reach) == (None, None, math.inf)
    learnt = compressed_learning(NETWORK, model, Uniform(step=1))
    assert learnt.bytes_per_round is None
    assert learnt.certified_bytes == (None, None)
    assert learnt.certified_rounds[1] is not None


def test_two_alike_agents_in_closed_form() -> None:
    """W_γ has λ = 1/2 and v = (1/2, 1/2): B = 1, B² = 1 − λ = 1/2, and 1 − w_ii = 1/4."""
    network = Network(HALVES)
    step, threshold, mixing = 0.5, 40.0, 0.5
    largest, reach = math.log(2), math.log(3) / 2
    uniform = message_levels(network, coins(2), Uniform(step=step, mixing=mixing))
    grown = largest + reach + (2 / 4 + 1 / 2) * step / 2
    assert uniform.growth == pytest.approx(grown, rel=1e-8)
    assert uniform.reach == pytest.approx(grown + step / 2, rel=1e-8)
    assert uniform.least == math.ceil(2 * (grown + step / 2) / step)
    assert uniform.necessary == math.ceil(2 * largest / step + 1)
    assert uniform.silence == 1
    rare = Deadband(step=step, mixing=mixing / 8, threshold=threshold)
    found = message_levels(network, coins(2), rare)
    # λ = 15/16: B is 1 still, B² = 1/16, and 1 − w_ii = 1/32.
    grown = largest + reach + (2 / 32 + 1 / 16) * threshold
    assert found.growth == pytest.approx(grown, rel=1e-8)
    assert found.silence == 1 + math.floor((threshold - step / 2) / grown)
    assert found.silence == 7

"""One log-ratio a message: bounds against runs in fractions, and against all choices at once."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks
from tests.theory.messages.cases import DICE, HALVES, NETWORK, PAIR, coins, dice, normals
from tests.theory.messages.oracles import Pick, Row, lazy, picked_run, uncompressed_run
from theory import FiniteAgent, FiniteModel, Network
from theory.messages import (
    Single,
    Uniform,
    compressed_learning,
    message_levels,
    replica_deviation,
)
from theory.messages.levels import mixed_network
from theory.network.structure import as_dense

# What each face says of the first hypothesis against the others, as the doubles they are.
FACES = [
    [Fraction(float(x)) for x in row]
    for row in (DICE.log_likelihoods[:1] - DICE.log_likelihoods[1:]).T
]
MIXING = Fraction(1, 20)


def in_turn(n: int, agent: int, differences: Row) -> set[int]:
    return {n % len(differences)}


def most_off(n: int, agent: int, differences: Row) -> set[int]:
    return {max(range(len(differences)), key=lambda c: abs(differences[c]))}


PICKS: dict[str, Pick] = {"rotation": in_turn, "largest": most_off}


@settings(deadline=None, max_examples=15)
@given(
    networks(max_agents=4),
    st.sampled_from(sorted(PICKS)),
    st.sampled_from([Fraction(1, 4), Fraction(4)]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_errors_and_deviations_keep_to_their_bounds(
    drawn: Network, choice: str, step: Fraction, skewed: bool, seed: int
) -> None:
    """With the least number of levels: an overload would break the bound."""
    agents = drawn.agents
    weights = [[Fraction(x) for x in row] for row in as_dense(drawn.weights).tolist()]
    for row in weights:
        row[0] += 1 - sum(row)
    model = dice(agents, [0.7, 0.1, 0.1, 0.1] if skewed else None)
    quantiser = Single(step=step, mixing=MIXING, choice=choice)  # type: ignore[arg-type]
    bound = message_levels(drawn, model, quantiser)
    assert bound.least is not None
    assert bound.mean_error == bound.error
    rng = np.random.default_rng(seed)
    # Some data change slowly, so that agents are pulled apart.
    slow = 1 + 3 * (seed % 2)
    faces = rng.integers(0, 3, (8 // slow, agents)).repeat(slow, axis=0)
    seen = [[FACES[face] for face in row] for row in faces]
    odds = [Fraction(float(x)) for x in model.log_priors[0, 0] - model.log_priors[0, 1:]]
    mixed = lazy(weights, MIXING)
    found = picked_run(
        mixed, seen, step, PICKS[choice], levels=bound.least, prior=[odds for _ in range(agents)]
    )
    largest = max(abs(e) for row in found.errors for agent in row for e in agent)
    assert largest <= Fraction(bound.error)
    moved = Fraction(0)
    for c in range(3):
        column = [[face[c] for face in row] for row in seen]
        without = uncompressed_run(mixed, column, [odds[c]] * agents)[-1]
        moved = max(
            [moved, *(abs(a[c] - b) for a, b in zip(found.history[-1], without, strict=True))]
        )
    most = replica_deviation(mixed_network(drawn, MIXING)).largest * bound.error
    assert moved <= Fraction(most)


@pytest.mark.parametrize("choice", sorted(PICKS))
def test_the_bound_on_errors_is_not_far_from_what_happens(choice: str) -> None:
    """Tight: data that make the columns wait use more than half of the bound.

    In turn it is the face that says most; by size, what says as much of every column.
    """
    mixing = Fraction(1, 1000)
    quantiser = Single(step=Fraction(1, 10), mixing=mixing, choice=choice)  # type: ignore[arg-type]
    model, seen = dice(2), [[FACES[2], FACES[2]]] * 60
    if choice == "largest":
        alike = FiniteAgent.from_tables(
            inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], *[[[0.75, 0.25]]] * 3]
        )
        model = FiniteModel.from_agents(list("abcd"), [alike], counts=[2])
        seen = [[[Fraction(math.log(2))] * 3] * 2] * 60
    bound = message_levels(Network(HALVES), model, quantiser).error
    found = picked_run(lazy(HALVES, mixing), seen, Fraction(1, 10), PICKS[choice])
    largest = max(abs(e) for row in found.errors for agent in row for e in agent)
    assert Fraction(bound) / 2 < largest <= Fraction(bound)


def test_two_alike_agents_in_closed_form() -> None:
    """λ = 1 − γ and v = (1/2, 1/2): B = 1, B² = γ, 1 − w_ii = γ/2; so ρ = 2γ, and two wait."""
    network = Network(HALVES)
    mixing, step = 0.05, 0.5
    ends = np.array([[float(x) for x in face] for face in FACES])
    half = np.ptp(ends, axis=0).max() / 2
    expected = (step / 2 + 2 * (np.abs(ends).max() + half)) / (1 - 2 * 2 * mixing)
    found = message_levels(network, dice(2), Single(step=step, mixing=mixing))
    assert found.error == pytest.approx(expected, rel=1e-8)
    grown = np.abs(ends).max() + half + 2 * mixing * expected
    assert found.growth == pytest.approx(grown, rel=1e-8)
    assert found.reach == pytest.approx(grown + expected, rel=1e-8)
    # 2 ρ = 1 at γ = 1/4: beyond it nothing is proved.
    assert math.isfinite(message_levels(network, dice(2), Single(step=1, mixing=0.24)).error)
    assert math.isinf(message_levels(network, dice(2), Single(step=1, mixing=0.26)).error)


def test_two_hypotheses_are_sent_whole() -> None:
    expected = message_levels(NETWORK, coins(2), Uniform(step=0.5))
    for choice in ("rotation", "largest", "random"):
        assert message_levels(NETWORK, coins(2), Single(step=0.5, choice=choice)) == expected  # type: ignore[arg-type]


def test_a_choice_by_chance_is_bounded_in_the_mean() -> None:
    """All choices of three rounds at once, for the data that pull hardest."""
    quantiser = Single(step=Fraction(1, 2), mixing=MIXING, choice="random")
    found = message_levels(NETWORK, dice(2), quantiser)
    assert found.error == math.inf
    rotation = message_levels(NETWORK, dice(2), Single(step=Fraction(1, 2), mixing=MIXING))
    assert found.mean_error == rotation.error
    seen = [[FACES[2], FACES[2]]] * 3
    total = [[[Fraction(0)] * 3 for _ in range(2)] for _ in range(3)]
    worst = Fraction(0)
    for choices in itertools.product(range(3), repeat=6):
        run = picked_run(
            lazy(PAIR, MIXING),
            seen,
            Fraction(1, 2),
            lambda n, j, _, chosen=choices: {chosen[2 * n + j]},  # type: ignore[misc]
        )
        for n in range(3):
            for j in range(2):
                for c in range(3):
                    total[n][j][c] += abs(run.errors[n][j][c])
                    worst = max(worst, abs(run.errors[n][j][c]))
    mean = max(x for row in total for agent in row for x in agent) / 3**6
    assert mean <= Fraction(found.mean_error)
    # Tight to a factor of five after three rounds; and a bound on the mean alone.
    assert 0.2 * found.mean_error < mean < 0.6 * worst
    learnt = compressed_learning(NETWORK, dice(2), quantiser)
    assert np.isinf(learnt.deviation).all()
    each = replica_deviation(mixed_network(NETWORK, MIXING)).upper
    np.testing.assert_allclose(learnt.mean_deviation, each * found.mean_error, rtol=1e-9)
    assert learnt.certified_rounds == (None, None)
    assert "by chance" in learnt.note


def test_bytes_of_a_message() -> None:
    assert Single(step=1, levels=256, header=0).frame(100) == 1
    assert Single(step=1, levels=256, header=0, choice="largest").frame(1) == 1
    assert Single(step=1, levels=256, header=0, choice="largest").frame(2) == 2
    assert Single(step=1, levels=85, header=0, choice="largest").frame(3) == 1  # 255 messages
    assert Single(step=1).frame(3) is None


def test_what_waits_without_bound_is_said() -> None:
    found = compressed_learning(NETWORK, dice(2), Single(step=1))
    assert math.isinf(found.levels.error)
    assert found.levels.least is None
    assert "so much mixing" in found.note
    normal = normals(2, (0.0, 1.0, 2.0))
    assert compressed_learning(NETWORK, normal, Single(step=1, mixing=0.01)).note == found.note

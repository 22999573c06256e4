"""Realised rounds of every kind of network against `exact.changing`."""

from typing import Any

import numpy as np
import pytest

from empirical.train.pooling import NetworkRounds, Round
from exact.changing.beliefs import draw_rounds
from tests.empirical.support import refused
from theory import Network
from theory.changing import (
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    RandomLinks,
    RandomPresence,
    rotating_star,
)
from theory.network.structure import as_dense

RING = Network.from_topology("ring", agents=5)
STAR = Network.from_topology("star", agents=5, edge_confidence=0.5)
ROTATING = rotating_star(groups=2, group_size=2, edge_confidence=0.3)
DELAYS = np.array([[0, 2, 0, 0, 1], [1, 0, 3, 0, 0], [0, 0, 0, 1, 0], [0, 0, 2, 1, 0], [0] * 5])
NETWORKS: dict[str, Any] = {
    "fixed": RING,
    "periodic": ROTATING,
    "own": RandomLinks(RING, 0.5),
    "renormalise": RandomLinks(RING, 0.5, on_loss="renormalise"),
    "last": RandomLinks(RING, 0.5, on_loss="last"),
    "symmetric": RandomLinks(RING, 0.5, symmetric=True),
    "presence": RandomPresence(STAR, 0.7, mean_absence=3.0),
    "markov": MarkovNetwork(ROTATING.phases, np.full((2, 2), 0.5)),
    "delayed": DelayedNetwork(RING, DELAYS),
}


def dense(round: Round, values: np.ndarray) -> np.ndarray:
    """Values of entries as a table."""
    table = np.zeros((round.observes.size,) * 2, dtype=values.dtype)
    table[round.listeners, round.speakers] = values
    return table


@pytest.mark.parametrize("name", NETWORKS)
def test_rounds_are_those_of_exact(name: str) -> None:
    network = NETWORKS[name]
    # `exact` wants a network that changes: a fixed one is one of a single phase.
    changing = PeriodicNetwork([RING.weights]) if network is RING else network
    drawn = draw_rounds(changing, rounds=30, seed=4)
    rounds = NetworkRounds(network, seed=4)
    for t, phase in enumerate(drawn.phases):
        round = rounds.at(t + 1)
        np.testing.assert_array_equal(dense(round, round.weights), as_dense(phase.weights))
        np.testing.assert_array_equal(round.observes, phase.observes)
        weighed = dense(round, round.weights) > 0
        np.testing.assert_array_equal(dense(round, round.ages), np.where(weighed, drawn.ages[t], 0))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_round_does_not_depend_on_those_asked_for_before(name: str) -> None:
    network = NETWORKS[name]
    in_turn = NetworkRounds(network, seed=4)
    for t in range(1, 12):
        late = in_turn.at(t)
    jumped = NetworkRounds(network, seed=4)
    jumped.at(20)
    at_once = jumped.at(11)
    np.testing.assert_array_equal(late.weights, at_once.weights)
    np.testing.assert_array_equal(late.ages, at_once.ages)
    assert late.heard == at_once.heard


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_pooled_was_held_or_is_new(name: str) -> None:
    network = NETWORKS[name]
    rounds = NetworkRounds(network, seed=4)
    everybody = range(network.agents)
    held: frozenset[tuple[int, int]] = frozenset()
    for t in range(1, 25):
        round = rounds.at(t)
        pooled = set(zip(round.speakers.tolist(), (t - round.ages).tolist(), strict=True))
        assert all(said in (0, t) or (j, said) in held for j, said in pooled)
        held = round.held(everybody, number=t)
        if name not in ("last", "delayed"):
            assert not held
        longest = rounds.longest
        if longest is not None:
            assert all(t - said < max(longest, 1) + 1 for _, said in held)


def test_what_travels() -> None:
    # Lost messages do not travel; late ones travel when they are said.
    lossy = NetworkRounds(NETWORKS["last"], seed=4)
    for t in range(1, 10):
        round = lossy.at(t)
        fresh = (round.ages == 0) & (round.speakers != round.listeners)
        assert round.links.sum() == fresh.sum()
    late = NetworkRounds(NETWORKS["delayed"], seed=4).at(3)
    assert late.links.tolist() == [2] * 5
    assert late.heard == ((1, 4), (0, 2), (1, 3), (2, 4), (0, 3))


def test_bad_rounds() -> None:
    refused("round: expected a whole number of at least 1", NetworkRounds(RING, seed=0).at, 0)
    refused("seed: expected", NetworkRounds, RING, seed=-1)

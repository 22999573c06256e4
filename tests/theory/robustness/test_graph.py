"""Robustness of graphs and the spread of evidence, against all pairs of sets."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks
from theory import Network
from theory.network.structure import off_diagonal
from theory.robustness import is_robust, robustness, tolerated_liars, trimmed_spread
from theory.robustness.graph import _enumerate, _search, is_closed


def hears(network: Network) -> list[set[int]]:
    links = off_diagonal(network.weights)
    return [set(links.column[links.row == i].tolist()) for i in range(network.agents)]


def closed(neighbours: list[set[int]], members: set[int], r: int) -> bool:
    return bool(members) and all(len(neighbours[i] - members) < r for i in members)


def slow_robust(network: Network, r: int) -> bool:
    """Every way to put each agent in the first set, the second, or neither."""
    neighbours = hears(network)
    for sides in product(range(3), repeat=network.agents):
        first = {i for i, s in enumerate(sides) if s == 1}
        second = {i for i, s in enumerate(sides) if s == 2}
        if closed(neighbours, first, r) and closed(neighbours, second, r):
            return False
    return True


@settings(max_examples=25)
@given(networks(max_agents=6), st.integers(0, 5))
def test_every_answer_is_that_of_all_pairs_of_sets(network: Network, r: int) -> None:
    check = is_robust(network, r)
    assert check.status == ("holds" if slow_robust(network, r) else "fails")
    neighbours = hears(network)
    if check.status == "fails":
        first, second = map(set, check.witness)
        assert not first & second
        assert closed(neighbours, first, r)
        assert closed(neighbours, second, r)
    # The three ways agree, whichever was taken.
    if r > 0:
        assert (_enumerate(network, r) is None) == (check.status == "holds")
        assert (_search(network, r) is None) == (check.status == "holds")


@settings(max_examples=20)
@given(networks(max_agents=6))
def test_the_largest_r(network: Network) -> None:
    found = robustness(network)
    assert found.lower == found.upper
    assert slow_robust(network, found.lower)
    assert not slow_robust(network, found.lower + 1)
    assert tolerated_liars(network).lower == max(0, (found.lower - 1) // 2)


@pytest.mark.parametrize(
    ("topology", "options", "largest"),
    [
        ("torus", {"shape": [3, 3]}, 2),
        ("torus", {"shape": [5, 5]}, 1),
        ("torus", {"shape": [7, 7]}, 1),
        ("ring", {"agents": 30}, 1),
        ("complete", {"agents": 4}, 2),
        ("complete", {"agents": 25}, 13),
        ("hypercube", {"dimension": 4}, 1),
        ("star", {"agents": 12}, 1),
    ],
)
def test_known_graphs(topology: str, options: dict[str, object], largest: int) -> None:
    network = Network.from_topology(topology, **options)  # type: ignore[arg-type]
    found = robustness(network)
    assert (found.lower, found.upper) == (largest, largest)
    assert all(is_closed(network, part, largest + 1) for part in found.witness)


def test_two_pairs_of_rows_of_a_torus_keep_to_themselves() -> None:
    torus = Network.from_topology("torus", shape=[5, 5])
    check = is_robust(torus, 2)
    assert check.status == "fails"
    assert check.method == "an integer programme found two sets"
    assert is_closed(torus, tuple(range(10)), 2)
    assert is_closed(torus, tuple(range(10, 20)), 2)
    assert not is_closed(torus, tuple(range(10)), 1)
    assert tolerated_liars(torus).upper == 0


def test_large_graphs_that_no_proof_covers_are_undecided() -> None:
    rng = np.random.default_rng(0)
    chosen = rng.random((210, 210)) < 0.3
    edges = np.argwhere(np.triu(chosen, 1))
    network = Network.from_edges(edges, agents=210)
    check = is_robust(network, 5)
    assert (check.status, check.witness) == ("undecided", None)
    assert is_robust(network, 1).status == "holds"
    assert is_robust(network, 106).status == "fails"


@settings(max_examples=12)
@given(networks(min_agents=4, max_agents=5))
def test_blocked_agents_are_the_largest_set_closed_to_what_is_known(network: Network) -> None:
    """For all sets of informative agents."""
    N = network.agents
    neighbours = hears(network)
    subsets = [set(chosen) for k in range(N + 1) for chosen in combinations(range(N), k)]

    def largest(informative: set[int], r: int) -> set[int]:
        found = [s for s in subsets if not s & informative and closed(neighbours, s, r)]
        return set().union(*found)

    keeps = (network.weights.diagonal() > 0).all()
    for f in (0, 1, 2):
        for informative in subsets[1:]:
            spread = trimmed_spread(network, informative, tolerate=f)
            assert set(spread.blocked) == largest(informative, f + 1)
            assert set(range(N)) - set(spread.reached) == largest(informative, 2 * f + 1)
            all_reached = len(spread.reached) == N and (len(informative) == N or keeps)
            expected = "blocked" if spread.blocked else "reached" if all_reached else "undecided"
            assert spread.status == expected


def test_agents_that_keep_nothing_are_not_promised_to_learn() -> None:
    """Theorem 5 needs a weight of one's own; with evidence everywhere Theorem 2 does not."""
    weights = (np.ones((4, 4)) - np.eye(4)) / 3
    crowd = Network(weights)
    assert trimmed_spread(crowd, [0, 1, 2], tolerate=1).status == "undecided"
    assert trimmed_spread(crowd, range(4), tolerate=1).status == "reached"
    lazy = Network((weights + np.eye(4)) / 2)
    assert trimmed_spread(lazy, [0, 1, 2], tolerate=1).status == "reached"


def test_bad_arguments_are_named() -> None:
    ring = Network.from_topology("ring", agents=5)
    with pytest.raises(ValueError, match="informative: expected at least one agent, got none"):
        trimmed_spread(ring, [], tolerate=1)
    with pytest.raises(ValueError, match="informative: expected a whole number of at most 4"):
        trimmed_spread(ring, [5], tolerate=1)
    with pytest.raises(ValueError, match="r: expected a whole number of at least 0, got -1"):
        is_robust(ring, -1)


def test_why_a_graph_is_not_robust_is_said_in_words() -> None:
    """One other agent, two others."""
    ring = [[(i - 1) % 7, i] for i in range(7)]
    one_way = Network.from_edges(ring, agents=7, directed=True)
    assert is_robust(one_way, 3).method == "agent 0 hears 1 other only"
    both_ways = Network.from_topology("ring", agents=7)
    assert is_robust(both_ways, 3).method == "agent 0 hears 2 others only"

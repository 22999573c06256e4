"""Rounds: classes under the network's symmetries, and enclosures of every class."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models import error_probability
from tests.strategies import networks
from tests.theory.design.placement.oracles import coins
from theory import FiniteModel, Network
from theory.bounds.accounting import account
from theory.design import place
from theory.design.placement.placement_problem import automorphisms, orbits
from theory.network.structure import as_dense


@given(networks(max_agents=5), st.data())
@settings(max_examples=40, deadline=None)
def test_symmetries_are_those_of_all_permutations(network: Network, data: st.DataObject) -> None:
    weights = np.round(as_dense(network.weights), 13)
    agents = network.agents
    colours = np.array(data.draw(st.lists(st.integers(0, 1), min_size=agents, max_size=agents)))
    group = [
        p
        for p in permutations(range(agents))
        if (weights[np.ix_(p, p)] == weights).all() and (colours[list(p)] == colours).all()
    ]
    found = automorphisms(as_dense(network.weights), colours)
    for permutation in found:
        assert tuple(int(i) for i in permutation) in group
    rows = np.array(sorted(set(permutations([0, 0, 1, 2, 2][:agents]))))
    grouped = orbits(rows, found)
    expected = {min(tuple(int(row[i]) for i in p) for p in group) for row in rows}
    assert grouped.rows.size == len(expected)
    assert grouped.sizes.sum() == len(rows)
    for label, row in zip(grouped.labels, rows, strict=True):
        representative = rows[grouped.rows[label]]
        assert any((row[list(p)] == representative).all() for p in group)


def smallest(network: Network, model: FiniteModel, delta: float, most: int) -> int:
    """The smallest n up to `most` from which on P(error) ≤ δ, by enumerating histories."""
    errors = [error_probability(network, model, n) for n in range(1, most + 1)]
    above = [n for n, error in enumerate(errors, start=1) if error > delta]
    return max(above, default=0) + 1


def test_every_class_is_enclosed_and_the_best_one_found() -> None:
    """Three on a path: the well-informed agent in the middle, or at an end."""
    network = Network.from_topology("path", agents=3)
    model = coins([[0.45], [0.0]], [1, 2])
    found = place(network, model, objective="samples", delta=0.3)
    assert (found.method, found.placements, found.classes) == ("exhaustive", 3, 2)
    assert found.certificate.kind == "certified"
    assert found.certificate.sense == "minimise"
    truths = {}
    for place_of_data in (0, 1):
        order = [0, 1, 2]
        order[0], order[place_of_data] = order[place_of_data], order[0]
        placed = FiniteModel(
            model.hypotheses, model.kinds, model.assignment[order], model.log_priors
        )
        truths[place_of_data] = smallest(network, placed, 0.3, 5)
    assert found.certificate.bound <= min(truths.values()) <= found.value
    assert max(truths.values()) <= found.worst


def test_a_placement_is_proved_best_where_enclosures_separate() -> None:
    """A weak and a strong data set on a star whose leaves hardly count."""
    network = Network.from_topology("star", agents=4, edge_confidence=0.98)
    model = coins([[0.1], [0.02]], [1, 3])
    placed = FiniteModel(model.hypotheses, model.kinds, np.array([1, 0, 1, 1]), model.log_priors)
    found = place(network, placed, objective="samples", delta=0.05)
    enclosures = {
        place_of_data: account(
            network,
            FiniteModel(
                model.hypotheses,
                model.kinds,
                np.where(np.arange(4) == place_of_data, 0, 1),
                model.log_priors,
            ),
        ).sample_size(0.05)
        for place_of_data in (0, 1)
    }
    centre, leaf = enclosures[0], enclosures[1]
    assert leaf.upper is not None
    assert centre.upper < leaf.lower
    assert found.note.startswith("proved")
    assert found.assignment.tolist() == [1, 0, 2, 3]
    assert (found.value, found.original, found.worst) == (centre.upper, leaf.upper, leaf.upper)
    assert found.equivalent == 1
    assert found.certificate.bound == centre.lower


def test_priors_travel_with_the_data() -> None:
    """Two equal coins, one agent convinced of the wrong thing: not equal data sets."""
    model = FiniteModel.from_agents(
        ["fair", "loaded"],
        [coins([[0.25]]).kinds[0]] * 3,
        priors=[[0.5, 0.5], [0.5, 0.5], [0.01, 0.99]],
    )
    network = Network.from_topology("star", agents=3, edge_confidence=0.2)
    rate = place(network, model)
    assert rate.method == "none"
    samples = place(network, model, objective="samples")
    assert (samples.placements, samples.classes) == (3, 2)
    assert samples.worst > samples.value
    assert (samples.model.log_priors[samples.model.assignment[samples.assignment == 2]] < -1).any()


def test_a_search_is_labelled_as_one() -> None:
    network = Network.from_topology("path", agents=4)
    model = coins([[0.3], [0.2], [0.1], [0.0]])
    every = place(network, model, objective="samples", method="exhaustive", delta=0.3)
    local = place(network, model, objective="samples", method="local", restarts=0, delta=0.3)
    assert every.classes == 12
    assert every.note.startswith("not separated")
    assert (local.certificate.kind, local.certificate.is_proved) == ("local", False)
    assert local.classes is None
    assert "not separated" in local.note
    assert every.certificate.bound <= local.value
    assert local.value <= local.original


def test_placements_that_teach_something_else_are_passed_over() -> None:
    """Without a best hypothesis, the network must settle on the target first."""
    north = coins([[0.4]]).kinds[0]
    fair, left = [0.5, 0.5], [0.9, 0.1]
    south = type(north).from_tables(inputs=[1.0], truth=[left], likelihood=[[fair], [left]])
    model = FiniteModel.from_agents(["fair", "left"], [south, north, north])
    network = Network.from_topology("star", agents=3, edge_confidence=0.99)
    found = place(network, model, objective="samples", target=0)
    assert found.original == np.inf
    assert np.isfinite(found.value)
    assert found.assignment[0] != 0
    assert found.worst is None

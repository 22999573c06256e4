"""Designs as a page asks for them: the document is the design, with its numbers."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest

import peerbayes as pb
from peerbayes.explorer.designs import design
from peerbayes.explorer.documents import problem_of
from peerbayes.explorer.edits import edited
from peerbayes.explorer.numbers import numbers_of
from tests.peerbayes.explore.starts import BLIND, COIN, finite, starts

Table = dict[str, Any]


def star() -> Table:
    """A star whose informed agent is at the edge."""
    network = {"topology": "star", "agents": 4, "edge_confidence": "1/2"}
    return edited(finite(network, [{"count": 3, **BLIND}, COIN]), [])


def rate_of(document: Table) -> float:
    """K of a document."""
    problem = problem_of(document)
    return float(pb.learning_rate(problem.network, problem.model).rate)


@pytest.fixture(scope="module")
def best() -> Table:
    return design({"document": star(), "objective": "rate", "constraints": {}})


def test_the_document_has_the_rate_that_is_promised(best: Table) -> None:
    after = rate_of(best["document"])
    assert after > 1.2 * rate_of(star())
    # Weights with a stationary distribution to rounding: the rate to a dozen digits.
    assert after == pytest.approx(best["designed"]["rate"], rel=1e-10)
    assert best["certificate"]["value"] <= best["certificate"]["bound"]
    assert after <= best["certificate"]["bound"] * (1 + 1e-10)
    assert {"as given", "uniform", "metropolis"} <= set(best["baselines"])
    assert best["baselines"]["as given"]["rate"] == pytest.approx(rate_of(star()), rel=1e-12)
    json.dumps(best, allow_nan=False)


def test_changes_lead_from_the_weights_before_to_those_after(best: Table) -> None:
    before, after = (problem_of(d).network.weights for d in (star(), best["document"]))
    changed = {(i, j) for i, j, *_ in best["changes"]}
    for i in range(4):
        for j in range(4):
            gap = abs(before[i, j] - after[i, j])
            assert ((i, j) in changed) == (gap > 1e-12)
    for i, j, old, new in best["changes"]:
        assert (old, new) == (before[i, j], after[i, j])
    assert best["document"]["model"] == star()["model"]


def test_an_agent_that_is_not_ours_keeps_its_weights() -> None:
    request = {"document": star(), "objective": "mixing", "constraints": {"fixed_agents": [1]}}
    found = design(request)
    assert found["changes"]
    assert not [i for i, *_ in found["changes"] if i == 1]


def test_the_next_edge_is_the_one_that_saves_most_rounds() -> None:
    network = {"topology": "path", "agents": 5}
    document = edited(finite(network, [COIN, {"count": 4, **BLIND}]), [])
    found = design({"document": document, "objective": "next-edge"})
    assert found["document"]["network"]["edges"][-1] == found["edge"][::-1]
    assert rate_of(found["document"]) == pytest.approx(found["designed"]["rate"], rel=1e-12)
    rounds = {}
    for a, b in combinations(range(5), 2):
        try:
            new = edited(document, [{"kind": "add-link", "from": a, "to": b}])
        except ValueError:
            continue  # joined already
        problem = problem_of(new)
        sizes = pb.sample_sizes(problem.network, problem.model, delta=0.05, certify=False)
        rounds[a, b] = sizes.chernoff.rounds
    assert len(rounds) == 6
    assert rounds[tuple(sorted(found["edge"]))] == min(rounds.values())


def test_the_next_edge_of_free_weights_is_one_by_the_uniform_rule() -> None:
    free = edited(star(), [{"kind": "free-weights"}])
    found = design({"document": free, "objective": "next-edge"})
    assert "edges" in found["document"]["network"]
    assert any("rule uniform" in line for line in found["words"])
    assert rate_of(found["document"]) == pytest.approx(found["designed"]["rate"], rel=1e-12)


def test_a_placement_hands_the_data_round() -> None:
    document = {**star(), "learning": {"batch": [1, 1, 1, 2]}}
    found = design({"document": document, "objective": "placement"})
    assert found["moved"]
    numbers = numbers_of(found["document"])["learning"]
    assert numbers["rate"] == pytest.approx(found["designed"]["value"], rel=1e-12)
    best = max(
        rate_of(edited(star(), [swap, {"kind": "set-batch", "agent": a, "value": 2}]))
        for a in range(4)
        for swap in [{"kind": "swap-evidence", "a": a, "b": 3}]
    )
    assert numbers["rate"] == pytest.approx(best, rel=1e-12)
    kept = {"document": star(), "objective": "placement", "constraints": {"fixed_agents": [3]}}
    assert design(kept)["moved"] == []


@pytest.mark.parametrize("name", ["failing", "faulty", "p1-regression"])
def test_other_kinds_are_designed_too(name: str) -> None:
    document = edited(starts()[name], [])
    found = design({"document": document, "objective": "rate", "seconds": 20})
    assert problem_of(found["document"])
    assert found["certificate"]["gap"] is not None
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"objective": "speed"}, "expected one of rate, exponent"),
        ({"objective": "rate", "constraints": {"edge_budgt": 1}}, "did you mean"),
        ({"objective": "rate", "constraints": [1]}, "expected a table of limits"),
        ({"objective": "rate", "delta": 2}, "delta"),
        ({"objective": "rate", "seconds": -1}, "seconds"),
        ({"objective": "placement", "constraints": {"edge_budget": 3}}, "constraints"),
        ({"objective": "rate", "constraints": {"fixed_agents": [9]}}, "agents from 0 to 3"),
    ],
)
def test_bad_requests_are_refused_in_one_line(request_: Table, words: str) -> None:
    with pytest.raises(ValueError, match="expected") as refusal:
        design({"document": star(), **request_})
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)

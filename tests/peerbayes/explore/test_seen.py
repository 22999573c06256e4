"""What a page shows of a document, against what the file's own reader makes of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from peerbayes.explorer.documents import opened, problem_of
from peerbayes.explorer.edits import EDITS, edited
from peerbayes.explorer.seen import view_of
from peerbayes.front.problems import load
from peerbayes.problem.problems import graph_of
from tests.peerbayes.explore.starts import BLIND, COIN, Randomly, finite, starts

STARTS = {name: edited(document, []) for name, document in starts().items()}
KINDS = {"sequence": "changing", "failing": "changing", "late": "changing", "faulty": "faulty"}


@pytest.mark.parametrize("name", STARTS)
def test_agents_weights_and_places_are_those_of_the_network(name: str) -> None:
    document = STARTS[name]
    view, problem = view_of(document), problem_of(document)
    agents = problem.network.agents
    assert len(view["agents"]) == len(view["layout"]) == len(view["evidence"]) == agents
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in view["layout"])
    assert len({tuple(place) for place in view["layout"]}) == agents
    shown = np.zeros((agents, agents))
    for i, j, weight in view["weights"]:
        assert weight > 0
        shown[i, j] = weight
    np.testing.assert_allclose(shown.sum(axis=1), 1, rtol=0, atol=1e-12)
    if view["kind"] == "changing":
        graph = graph_of(problem.network, np.ones(agents))
        rows, columns = np.transpose(graph.edges)
        np.testing.assert_array_equal(shown[rows, columns], graph.weights)
    else:
        weights = problem.network.weights
        np.testing.assert_array_equal(shown, getattr(weights, "toarray", lambda: weights)())
    assert view["kind"] == KINDS.get(name, view["kind"])
    json.dumps(view, allow_nan=False)


def test_agents_of_one_group_see_the_same_and_others_do_not() -> None:
    prior = {"prior": ["1/4", "3/4"]}
    agents = [COIN, BLIND, {**COIN, **prior, "batch": 3}, BLIND]
    view = view_of(finite({"topology": "ring", "agents": 4}, agents))
    assert [entry["of"] for entry in view["evidence"]] == [0, 1, 0, 1]
    assert [entry["batch"] for entry in view["evidence"]] == [1, 1, 3, 1]
    assert view["groups"] == ["A", "B, uninformative"]


def test_what_is_said_to_be_impossible_is_refused() -> None:
    """Reasons are given in advance for edits that no problem file would take."""
    # These lead back to where one is, or take a parameter away.
    harmless = {"free-weights", "set-parameter"}
    for number, document in enumerate(STARTS.values()):
        can = view_of(document)["can"]
        assert set(can) == set(EDITS)
        draw, seen = Randomly(number), 0
        while seen < 40:
            edit = draw.edit(document)
            why = can[edit["kind"]]
            if why is True or edit["kind"] in harmless or _takes_away(edit):
                seen += 1
                continue
            assert isinstance(why, str)
            if edit["kind"] == "set-truth" and edit.get("agent") is not None:
                continue
            with pytest.raises(ValueError, match="expected"):
                edited(document, [edit])
            seen += 1


def _takes_away(edit: dict[str, Any]) -> bool:
    return edit.get("change") == "none" or edit in (
        {"kind": "set-messages"},
        {"kind": "set-faults", "faulty": []},
    )


def test_controls_move_what_they_say() -> None:
    for document in STARTS.values():
        for control in view_of(document)["controls"]:
            value = control["value"]
            other = (
                next(c for c in control["choices"] if c != value)
                if control["choices"]
                else round((control["minimum"] + value) / 2, 2) or control["step"]
            )
            if not control["choices"] and control["step"] == 1:
                other = value + 1
            edit = {"kind": control["edit"], "key": control["key"], "value": other}
            try:
                new = edited(document, [edit])
            except ValueError:
                continue  # a topology without one of its parameters
            moved = [c["value"] for c in view_of(new)["controls"] if c["key"] == control["key"]]
            assert moved == [other]


def test_a_built_in_without_a_file_is_shown_too() -> None:
    document = opened(load("diabetes"))
    view = view_of(document)
    assert view["kind"] == "regression"
    assert view["hypotheses"] == []
    assert view["objectives"]["exponent"] != view["objectives"]["rate"]
    assert view["objectives"]["rate"] is True

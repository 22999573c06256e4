"""Problem files become the right networks and models, exactly, and go back."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerbayes.problem.problems import Problem
from peerbayes.problem.reading import problem_from_document, read_problem
from tests.peerbayes.documents import COINS, GAUSSIAN, TWO_COINS, changed
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network


def same(a: Problem, b: Problem) -> bool:
    """Whether two problems are the same to the last bit."""
    kinds = zip(a.model.kinds, b.model.kinds, strict=True)
    return (
        a.specification == b.specification
        and a.name == b.name
        and np.array_equal(a.network.weights, b.network.weights)
        and a.model.hypotheses == b.model.hypotheses
        and np.array_equal(a.model.assignment, b.model.assignment)
        and np.array_equal(a.model.log_priors, b.model.log_priors)
        and all(np.array_equal(x.divergences, y.divergences) for x, y in kinds)
    )


def test_the_documented_example_loads_verbatim(tmp_path: Path) -> None:
    path = tmp_path / "two-coins.toml"
    path.write_text(TWO_COINS, encoding="utf-8")
    problem = read_problem(path)
    assert problem.name == problem.family == "two-coins"
    assert problem.is_exact
    assert problem.model.agents == problem.network.agents == 2
    np.testing.assert_array_equal(problem.network.weights, [[0.9, 0.1], [0.6, 0.4]])
    specification = problem.specification
    assert specification is not None
    assert specification.network.weights[0] == (Fraction(9, 10), Fraction(1, 10))
    # KL(1/2 ‖ 3/4) = ½ log(½/¾) + ½ log(½/¼) = ½ log(4/3), on half of the inputs.
    np.testing.assert_allclose(problem.model.divergences[:, 1], np.log(4 / 3) / 4, rtol=1e-14)


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    toml = tmp_path / "a.toml"
    toml.write_text(TWO_COINS, encoding="utf-8")
    problem = read_problem(toml)
    assert problem.specification is not None
    path = tmp_path / "b.json"
    path.write_text(problem.specification.to_json(), encoding="utf-8-sig")
    assert same(read_problem(path), problem)


def test_numbers_keep_their_kind() -> None:
    mixed = changed("network.weights.0", [0.9, "1/10"])
    problem = problem_from_document(mixed)
    assert problem.specification is not None
    row = problem.specification.network.weights[0]
    assert row == (0.9, Fraction(1, 10))
    assert [type(entry) for entry in row] == [float, Fraction]
    assert not problem.is_exact
    assert problem_from_document(COINS).is_exact


@pytest.mark.parametrize("text", ["0.9", "9/10", " 9/10 ", "9e-1", ".9", "0.90", "+0.9", "90/100"])
def test_ways_to_write_an_exact_number(text: str) -> None:
    problem = problem_from_document(changed("network.weights.0", [text, "0.1"]))
    assert problem.specification is not None
    assert problem.specification.network.weights[0][0] == Fraction(9, 10)


def test_thirds_sum_to_one_exactly_though_their_floats_need_not() -> None:
    weights = [["1/3", "1/3", "1/3"]] * 3
    agent = {**COINS["model"]["agents"][1], "count": 3}
    document = {
        "name": "thirds",
        "network": {"weights": weights},
        "model": {"hypotheses": ["a", "b"], "agents": [agent]},
    }
    assert problem_from_document(document).is_exact


def test_what_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "my coins.json"
    document = dict(COINS)
    del document["name"]
    path.write_text(json.dumps(document))
    problem = read_problem(path)
    assert problem.name == "my coins"
    assert problem.title == ""
    # No prior: uniform. No inputs: one. No count: one agent.
    np.testing.assert_allclose(np.exp(problem.model.log_priors), 0.5, rtol=1e-15)
    assert problem.model.agents == 2


def test_truth_by_name_is_the_truth_by_table() -> None:
    named = problem_from_document(changed("model.agents.0.truth", "loaded"))
    table = problem_from_document(changed("model.agents.0.truth", [["3/4", "1/4"]]))
    np.testing.assert_array_equal(named.model.divergences, table.model.divergences)


def test_priors_and_counts_reach_the_right_agents() -> None:
    document = changed("model.agents.0.prior", ["1/4", "3/4"])
    problem = problem_from_document(document)
    np.testing.assert_allclose(
        np.exp(problem.model.log_priors[problem.model.assignment]),
        [[0.25, 0.75], [0.5, 0.5]],
        rtol=1e-15,
    )


def test_a_likelihood_may_be_zero_where_nothing_is_observed() -> None:
    agent = {
        "count": 2,
        "inputs": ["1", "0"],
        "truth": [["1/2", "1/2", "0"], ["1", "0", "0"]],
        # Zero at an outcome the truth excludes, and at an input that never comes.
        "likelihood": [
            [["1/2", "1/2", "0"], ["0", "1", "0"]],
            [["1/4", "3/4", "0"], ["0", "0", "1"]],
        ],
    }
    problem = problem_from_document(changed("model.agents", [agent]))
    # KL((½, ½) ‖ (¼, ¾)) = ½ log(4/3).
    np.testing.assert_allclose(problem.model.divergences[0], [0, np.log(4 / 3) / 2], atol=1e-15)


def test_gaussian_agents() -> None:
    problem = problem_from_document(GAUSSIAN)
    assert problem.is_exact
    first, second = problem.model.kinds
    assert isinstance(first, GaussianAgent)
    assert isinstance(second, GaussianAgent)
    assert list(problem.model.assignment) == [0, 0, 1]
    # D(warm) = E (Δ/std)²/2 = ¼ · (½/2)²/2 for the first kind, whose truth is "cold".
    np.testing.assert_allclose(first.divergences, [0, 1 / 128], rtol=1e-14)
    assert (second.truth_std, second.std) == (1.5, 1.0)
    assert first.truth_std == first.std == 2.0


def test_finite_agents_may_have_different_tables() -> None:
    problem = problem_from_document(COINS)
    agents = [
        FiniteAgent.from_tables(inputs=[1.0], truth=[[0.5, 0.5]], likelihood=table)
        for table in ([[[0.5, 0.5]], [[0.75, 0.25]]], [[[0.5, 0.5]], [[2 / 3, 1 / 3]]])
    ]
    model = FiniteModel.from_agents(["fair", "loaded"], agents)
    np.testing.assert_array_equal(problem.model.divergences, model.divergences)


@pytest.mark.parametrize(
    "network",
    [
        {"topology": "star", "agents": 9, "edge_confidence": "1/2"},
        {"topology": "ring", "agents": 9},
        {"topology": "path", "agents": 9, "rule": "lazy-metropolis"},
        {"topology": "grid", "shape": [3, 3]},
        {"topology": "torus", "shape": [3, 3], "rule": "metropolis"},
        {"topology": "complete", "agents": 9},
        {"topology": "tree", "agents": 9, "branching": 2},
        {"topology": "erdos-renyi", "agents": 9, "probability": 0.9},
        {"topology": "geometric", "agents": 9, "radius": 1.5, "seed": 3},
    ],
)
def test_topologies(network: dict[str, Any]) -> None:
    agent = {**COINS["model"]["agents"][0], "count": 9}
    document = {
        "name": "n",
        "network": network,
        "model": {"hypotheses": ["a", "b"], "agents": [agent]},
    }
    problem = problem_from_document(document)
    options = dict(network)
    if "edge_confidence" in options:
        options["edge_confidence"] = 0.5
    if network["topology"] == "erdos-renyi":
        options["seed"] = 0  # the documented default, so that a file always means one graph
    expected = Network.from_topology(**options)
    np.testing.assert_array_equal(problem.network.weights, expected.weights)
    # The parameters of random graphs do not enter any formula.
    assert problem.is_exact


def test_directed_edges_say_who_hears_whom() -> None:
    network = {"edges": [[0, 1], [1, 0], [1, 2], [2, 0]], "agents": 3, "directed": True}
    agent = {**COINS["model"]["agents"][0], "count": 3}
    document = {"network": network, "model": {"hypotheses": ["a", "b"], "agents": [agent]}}
    weights = problem_from_document({"name": "n", **document}).network.weights
    # b hears a: agent 2 hears agent 1, agent 1 does not hear agent 2.
    assert weights[2, 1] > 0
    assert weights[1, 2] == 0


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Problem files of small networks, exact, floating or mixed."""

    def row(size: int) -> list[Any]:
        parts = [draw(st.integers(1, 9)) for _ in range(size)]
        exact = [Fraction(part, sum(parts)) for part in parts]
        if draw(st.booleans()):
            return [str(entry) for entry in exact]
        return [float(entry) for entry in exact]

    agents, hypotheses = draw(st.integers(1, 4)), draw(st.integers(2, 3))
    entries = []
    for _ in range(agents):
        inputs, outcomes = draw(st.integers(1, 3)), draw(st.integers(2, 3))
        table = [[row(outcomes) for _ in range(inputs)] for _ in range(hypotheses)]
        entry: dict[str, Any] = {"inputs": row(inputs), "likelihood": table}
        entry["truth"] = draw(st.sampled_from(["h0", [row(outcomes) for _ in range(inputs)]]))
        if draw(st.booleans()):
            entry["prior"] = row(hypotheses)
        entries.append(entry)
    return {
        "name": draw(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)),
        "network": {"weights": [row(agents) for _ in range(agents)]},
        "model": {"hypotheses": [f"h{k}" for k in range(hypotheses)], "agents": entries},
    }


@settings(max_examples=25, deadline=None)
@given(documents())
def test_round_trip(document: dict[str, Any]) -> None:
    problem = problem_from_document(document)
    assert problem.specification is not None
    again = problem_from_document(json.loads(problem.specification.to_json()))
    assert same(problem, again)
    assert again.is_exact == problem.is_exact


@pytest.mark.parametrize("document", [COINS, GAUSSIAN])
def test_round_trip_of_the_examples(document: dict[str, Any]) -> None:
    problem = problem_from_document(document)
    assert problem.specification is not None
    assert problem.specification.document() == document
    assert same(problem, problem_from_document(problem.specification.document()))


def test_problems_are_immutable() -> None:
    problem = problem_from_document(COINS)
    assert problem.specification is not None
    with pytest.raises(ValueError, match="frozen"):
        problem.specification.name = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        problem.name = "other"  # type: ignore[misc]


def test_a_problem_needs_as_many_agents_in_both_parts() -> None:
    problem = problem_from_document(COINS)
    with pytest.raises(ValueError, match=r"expected 3 agents, .* got counts that add up to 2"):
        Problem("p", "", Network.from_topology("ring", agents=3), problem.model)

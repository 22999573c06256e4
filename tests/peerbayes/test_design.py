"""`design`: results for every kind of problem, limits, certificates, failures, bad input."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import peerbayes.designs.objectives as objectives_room
from peerbayes.designs.request import runs_of
from peerbayes.front.design import design
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.problem.problems import Problem
from peerbayes.problem.reading import problem_from_document
from peerbayes.records import read_record
from peerbayes.schemas import read_schema
from peerbayes.settings.questions import Design
from tests.peerbayes.commands import Patch
from tests.peerbayes.documents import STATIONS, changed
from theory import Network, error_exponent, learning_rate
from theory.design import DesignFailed

SCHEMA = Draft202012Validator(read_schema("design"))


def stations(path: str = "title", value: object = "nine stations") -> Problem:
    """Nine weather stations, with one entry of their file changed."""
    problem = problem_from_document(changed(path, value, base=STATIONS))
    assert isinstance(problem, Problem)
    return problem


def designed(
    problem: Any = None, objective: str = "rate", *, replicates: int = 0, **options: Any
) -> dict[str, Any]:
    """The JSON of a design, checked against its schema."""
    request = Design(objective=objective, replicates=replicates, **options)
    result = design(stations() if problem is None else problem, request).as_json()
    SCHEMA.validate(json.loads(json.dumps(result)))
    return result


@cache
def designed_stations(objective: str) -> dict[str, Any]:
    """The same, of the nine stations as they are; not to be changed."""
    return designed(stations(), objective)


def check_weights(objective: str) -> None:
    """That v, K, E and the modulus that are said are those of the weights, on the given graph."""
    problem = stations()
    result = designed_stations(objective)
    network = Network(np.array(result["weights"]))
    np.testing.assert_allclose(
        network.stationary_distribution, result["stationary_distribution"], rtol=1e-9
    )
    assert learning_rate(network, problem.model).rate == pytest.approx(result["rate"], rel=1e-9)
    exponent = error_exponent(network, problem.model).exponent
    assert exponent == pytest.approx(result["error_exponent"], rel=1e-9)
    assert network.slem == pytest.approx(result["slem"], abs=1e-9)
    # The graph is respected.
    given = problem.network.weights
    assert not np.array(result["weights"])[given == 0].any()


def test_what_is_said_is_what_the_weights_do() -> None:
    check_weights("rate")


def test_the_certificate_of_the_rate_by_hand() -> None:
    # Weak duality: multipliers λ prove max over v of Σ_θ λ_θ Σ_j v_j I_j(θ).
    problem = stations()
    result = designed_stations("rate")
    names, information = problem.model.hypotheses, problem.model.information(1)
    worth = sum(
        share * information[:, names.index(name)] for name, share in result["multipliers"].items()
    )
    assert sum(result["multipliers"].values()) == pytest.approx(1, abs=1e-9)
    floor = 1 / 90
    bound = floor * worth.sum() + (1 - 9 * floor) * worth.max()
    assert result["certificate"]["bound"] == pytest.approx(bound, rel=1e-9)
    assert result["rate"] == pytest.approx(bound, rel=1e-9)  # tight
    assert result["boundary"]["rate"] == pytest.approx(worth.max(), rel=1e-9)
    assert result["agents"]["silent"] == list(range(1, 9))


def test_links_that_fail() -> None:
    problem = stations("design", {"availability": 0.5})
    result = designed(problem, "mixing", stationary="uniform")
    weights = np.array(result["weights"])
    lost = 0.5 * (weights - np.diag(np.diag(weights)))
    expected = weights - lost + np.diag(lost.sum(axis=1))
    v = Network(expected).stationary_distribution
    np.testing.assert_allclose(v, np.full(9, 1 / 9), rtol=1e-9)
    assert Network(expected).slem == pytest.approx(result["slem"], abs=1e-9)
    assert result["samples"] is None
    assert any("E[W]" in note for note in result["notes"])


def test_a_search_that_gives_up(monkeypatch: Patch) -> None:
    def gives_up(*_: object, **__: object) -> None:
        raise DesignFailed("no progress", tried=("search",), best=None, remedy="ask for less")

    monkeypatch.setattr(objectives_room, "best_exponent", gives_up)
    problem = load_problem("two-coins")
    result = designed(problem, "exponent")
    assert result["failed"]
    assert result["certificate"] is None
    assert any("no progress" in note for note in result["notes"])
    v = problem.network.stationary_distribution
    np.testing.assert_allclose(result["stationary_distribution"], v, rtol=1e-9)


def test_faulty_agents_are_taken_for_honest_ones() -> None:
    result = designed(load_problem("liars-torus"), "mixing")
    assert result["notes"][0] == "designed as if nobody were faulty"


def test_one_agent_has_no_edges_to_choose() -> None:
    alone = changed("network", {"weights": [["1"]]}, base=STATIONS)
    alone["model"]["agents"] = alone["model"]["agents"][:1]
    alone["design"] = {"edge_budget": 0, "cost_budget": 1}
    assert designed(problem_from_document(alone))["weights"] == [[1.0]]


def test_the_record_is_complete_and_the_same_again(tmp_path: Path) -> None:
    request = Design(objective="rate", replicates=100, seed=3)
    found = design(load_problem("two-coins"), request, out=tmp_path)
    assert found.record_path == tmp_path / "design-two-coins-rate.json"
    first = found.record_path.read_bytes()
    body = read_record(found.record_path).body
    assert {"before", "after", "curves", "result", "seed", "delta"} <= set(body)
    assert next(curve["name"] for curve in body["curves"]) == "designed"
    design(load_problem("two-coins"), request, out=tmp_path)
    assert found.record_path.read_bytes() == first


def test_rare_errors_are_not_simulated() -> None:
    assert runs_of(Design(delta=0.05)) == 1000
    assert runs_of(Design(delta=0.01)) == 2000
    assert runs_of(Design(delta=1e-6)) == 0
    assert runs_of(Design(delta=1e-6, replicates=7)) == 7

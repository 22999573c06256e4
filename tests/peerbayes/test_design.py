"""`design` and `place`: every kind of problem, limits, certificates, failures, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import peerbayes.designs.objectives as objectives_room
from peerbayes.designs.request import runs_of
from peerbayes.front.design import design, place
from peerbayes.problem.builtins.loading import load_problem, load_variants
from peerbayes.problem.problems import Problem
from peerbayes.problem.reading import problem_from_document
from peerbayes.records import read_record
from peerbayes.schemas import read_schema
from peerbayes.settings.declared import made_flat
from peerbayes.settings.questions import Design, Files, Placement
from tests.peerbayes.commands import Capture, Patch, text_of
from tests.peerbayes.documents import STATIONS, changed
from theory import Network, error_exponent, learning_rate
from theory.design import DesignFailed
from theory.regression import regression_limits

# `design` ----------------------------------------------------------------------------------------


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
    request = made_flat(Design, dict(objective=objective, replicates=replicates, **options))
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
    found = design(load_problem("two-coins"), request, files=Files(out=tmp_path))
    assert found.record_path == tmp_path / "design-two-coins-rate.json"
    first = found.record_path.read_bytes()
    body = read_record(found.record_path).body
    assert {"before", "after", "curves", "result", "seed", "delta"} <= set(body)
    assert next(curve["name"] for curve in body["curves"]) == "designed"
    design(load_problem("two-coins"), request, files=Files(out=tmp_path))
    assert found.record_path.read_bytes() == first


def test_rare_errors_are_not_simulated() -> None:
    assert runs_of(Design(delta=0.05)) == 1000
    assert runs_of(Design(delta=0.01)) == 2000
    assert runs_of(Design(delta=1e-6)) == 0
    assert runs_of(Design(delta=1e-6, replicates=7)) == 7


# `place` -----------------------------------------------------------------------------------------


PLACED = Draft202012Validator(read_schema("place"))


@cache
def placed(name: str, **options: Any) -> dict[str, Any]:
    """The JSON of a placement, checked against its schema; not to be changed."""
    options = {"replicates": 0, **options}
    result = place(load_problem(name), Placement(**options)).as_json()
    PLACED.validate(json.loads(json.dumps(result)))
    return result


def test_the_centre_beats_the_side_beats_the_corner() -> None:
    # P2 4.2.2: predicted for all three classes of places, and simulated.
    result = placed("p2-grid corner", replicates=1000)
    classes = result["classes"]
    assert [entry["count"] for entry in classes] == [1, 4, 4]
    rates = [entry["rate"] for entry in classes]
    assert rates[0] > rates[1] > rates[2]
    # W is uniform: the informative agent's influence is proportional to its degree plus one.
    np.testing.assert_allclose(np.divide(rates, rates[2]), [5 / 3, 4 / 3, 1], rtol=1e-9)
    for entry in classes:
        run = entry["simulated_rate"]
        assert abs(run["mean"] - run["predicted"]) <= 5 * run["standard_error"]
    assert (result["assignment"][4], result["assignment"][0]) == (0, 4)
    assert result["value"] == pytest.approx(rates[0], rel=1e-12)


def check_placement(name: str) -> None:
    """That no order of the agents' data has a larger rate, all orders tried."""
    problem = load_problem(name)
    assert isinstance(problem, Problem)
    result = placed(name)
    kinds, present = problem.model.assignment, learning_rate(problem.network, problem.model)
    orders = np.array(sorted(set(permutations(kinds.tolist()))))
    # Every order at once: Σ_j v_j D_j by hypothesis, and the least gap to the reference.
    totals = np.zeros((len(orders), len(problem.model.hypotheses)))
    for say, agent in zip(problem.network.stationary_distribution, orders.T, strict=True):
        totals += say * problem.model.kind_divergences[agent]
    wrong = np.delete(totals, present.reference, axis=1).min(axis=1)
    rates = wrong - totals[:, present.reference[0]]
    for number in np.random.default_rng(0).integers(0, len(orders), 50):
        one = learning_rate(problem.network, replace(problem.model, assignment=orders[number]))
        if one.reference == present.reference:
            assert rates[number] == pytest.approx(one.rate, rel=1e-9)
        else:
            assert rates[number] <= 0
    best = rates.max()
    assert result["value"] == pytest.approx(best, rel=1e-9)
    given = kinds[result["assignment"]]
    again = learning_rate(problem.network, replace(problem.model, assignment=given)).rate
    assert again == pytest.approx(best, rel=1e-9)


def test_no_other_placement_is_better() -> None:
    check_placement("p2-star a=0.3")


def test_agents_that_keep_their_data() -> None:
    free = placed("p2-grid corner", replicates=1000)
    kept = placed("p2-grid corner", fixed=(4,))
    assert kept["value"] < free["value"]
    assert 4 not in kept["moved"]
    # Of nine places for the agent that tells most, eight are left, and the best of them is chosen.
    counts = [sum(entry["count"] for entry in result["classes"]) for result in (free, kept)]
    assert counts == [9, 8]
    assert kept["classes"][0]["rate"] == pytest.approx(kept["value"], rel=1e-12)


def test_networks_that_change_go_by_influence() -> None:
    result = placed("rotating-star 25")
    assert result["value"] >= result["original"]
    assert result["classes"] is None


def test_faulty_agents_are_placed_as_honest_ones() -> None:
    assert placed("liars-torus")["notes"][0] == "predicted as if nobody were faulty"


def check_regressions(name: str) -> None:
    """That no order of the data has a smaller limit, in any variant."""
    for problem in load_variants(name):
        result = placed(problem.name)
        model = problem.regression  # type: ignore[union-attr]
        v = problem.network.stationary_distribution  # type: ignore[union-attr]
        values = []
        for order in permutations(range(model.agents)):
            swapped = replace(model, assignment=np.asarray(model.assignment)[list(order)])
            limits = regression_limits(v, swapped)
            values.append((limits.limit, limits.excess_error_constant))
        assert result["limit"] == pytest.approx(min(values)[0], rel=1e-9, abs=1e-12)


def test_placements_of_regressions() -> None:
    check_regressions("p1-regression")


def test_the_record_of_a_placement(tmp_path: Path, capsys: Capture) -> None:
    arguments = ["place", "two-coins", "--out", str(tmp_path), "--quiet", "--replicates", "20"]
    out = text_of(capsys, arguments)
    assert "Placements that are alike" in out
    body = read_record(tmp_path / "place-two-coins-rate.json").body
    assert {"result", "network", "seed", "delta"} <= set(body)


@pytest.mark.parametrize(
    ("name", "objective"),
    [
        ("two-coins", "samples"),
        ("two-coins", "trade-off"),
        ("two-coins", "bytes"),
        ("restless-ring delays", "rate"),
    ],
)
def test_without_time_there_is_an_answer_that_says_so(name: str, objective: str) -> None:
    result = design(load_problem(name), objective=objective, replicates=0, seconds=1e-6)
    assert result.stopped
    assert result.as_json()["stopped_by_time_budget"]
    assert "stopped by the time budget of 1e-06 seconds" in result.notes[0]
    assert result.document().weights


def check_twin(ask: Callable[[Any, str | None], dict[str, Any]], folder: Path) -> None:
    """That a hypothesis that is a twin of the target changes no answer about it."""
    claims = [[["3/5", "2/5"]], [["3/5", "2/5"]], [["1/2", "1/2"]]]
    agents = [
        {"truth": [["3/5", "2/5"]], "likelihood": claims},
        {"truth": [["1/2", "1/2"]], "likelihood": claims},
    ]
    alone = [{**agent, "likelihood": claims[1:]} for agent in agents]

    def result(given: list[Any], names: list[str], target: str | None) -> Any:
        document = {
            "network": {"weights": [["9/10", "1/10"], ["3/5", "2/5"]]},
            "model": {"hypotheses": names, "agents": given},
        }
        path = folder / f"{len(names)}.json"
        path.write_text(json.dumps(document))
        return ask(load_problem(str(path)), target)

    # The same problem without the twin is the oracle.
    expected = result(alone, ["b", "c"], "b")
    for target in (None, "a", "b"):
        assert result(agents, ["a", "b", "c"], target) == expected


def placed_by(objective: str) -> Callable[[Any, str | None], dict[str, Any]]:
    """What a placement says of the target."""

    def ask(problem: Any, target: str | None) -> dict[str, Any]:
        wanted = Placement(objective=objective, target=target, replicates=0)
        found = place(problem, wanted).as_json()
        return {key: found[key] for key in ("value", "assignment")}

    return ask


def test_a_target_with_a_twin_where_no_hypothesis_is_best_for_all(tmp_path: Path) -> None:
    check_twin(placed_by("rate"), tmp_path)


@pytest.mark.parametrize("objective", ["rate", "exponent"])
def test_designs_for_a_target_with_a_twin(objective: str, tmp_path: Path) -> None:
    def ask(problem: Any, target: str | None) -> dict[str, Any]:
        found = designed(problem, objective, target=target)
        assert found["samples"]["certified"]
        return {key: found[key] for key in ("rate", "error_exponent", "weights", "certificate")}

    check_twin(ask, tmp_path)

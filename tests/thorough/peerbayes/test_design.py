"""Designs that take seconds: bounds, limits, targets, every kind of problem; files; placements."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerbayes.designs.weights as weights_room
from peerbayes.cli import main
from peerbayes.designs.outcome import weight_parts
from peerbayes.designs.quantities import NEXT_EDGE
from peerbayes.front.design import design
from peerbayes.kinds.registry import kind_of
from peerbayes.problem.builtins.loading import load_problem, load_variants
from peerbayes.problem.problems import Problem
from peerbayes.problem.reading import problem_from_document
from peerbayes.report.designed import design_view, finding
from peerbayes.settings.questions import Design
from peerbayes.tables import render
from tests.peerbayes.commands import Patch
from tests.peerbayes.documents import STATIONS, changed
from tests.peerbayes.test_design import (
    check_placement,
    check_regressions,
    check_twin,
    check_weights,
    designed,
    designed_stations,
    placed_by,
    stations,
)
from tests.peerbayes.test_written_designs import DICE, _analysis, check_file, written
from theory import Network, learning_rate
from theory.design import DesignFailed

# Designs that take seconds -----------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["exponent", "mixing"])
def test_what_is_said_is_what_the_weights_do(objective: str) -> None:
    check_weights(objective)


def test_no_baseline_beats_the_bound() -> None:
    for objective, key in (("rate", "rate"), ("exponent", "error_exponent")):
        result = designed_stations(objective)
        bound = result["certificate"]["bound"]
        values = [row[key] for row in result["baselines"].values()]
        assert max(values) <= bound * (1 + 1e-9)
        assert result[key] == pytest.approx(bound, rel=1e-4)
    mixing = designed(None, "mixing", stationary="uniform")
    slems = [
        row["slem"]
        for name, row in mixing["baselines"].items()
        if name in ("metropolis", "max-degree", "lazy-metropolis")  # those of the same v
    ]
    assert mixing["certificate"]["bound"] <= mixing["slem"] + 1e-9
    assert mixing["slem"] < min(slems)


def test_samples_and_trade_off_keep_their_promises() -> None:
    problem = load_problem("two-coins")
    assert isinstance(problem, Problem)
    fewest = designed(problem, "samples")
    best = fewest["samples"]["certified"][1]
    assert fewest["certificate"]["value"] == best
    assert fewest["certificate"]["bound"] <= best
    assert all(row["samples"]["certified"][1] >= best for row in fewest["baselines"].values())
    path = changed("network", {"topology": "path", "agents": 4}, base=STATIONS)
    path = changed("model.agents.1.count", 3, base=path)
    curve = designed(problem_from_document(path), "trade-off")["trade_off"]
    assert len(curve) > 1
    efficient = [point for point in curve if point["efficient"]]
    for point in efficient:
        assert not any(
            other["rate"] > point["rate"] + 1e-9 and other["slem"] < point["slem"] - 1e-9
            for other in curve
        )


def test_simulated_rounds_lie_where_they_are_proved_to_be() -> None:
    result = designed(load_problem("two-coins"), replicates=2000)
    rows = [result, *result["baselines"].values()]
    for row in rows:
        lower, upper = row["samples"]["certified"]
        assert row["simulated"]["lower"] <= upper
        assert row["simulated"]["upper"] is None or row["simulated"]["upper"] >= lower


def test_limits_of_the_file_are_kept() -> None:
    limits = {
        "minimum_self_weight": "1/10",
        "fixed_agents": [8],
        "edge_budget": 10,
        "minimum_influence": 0.02,
    }
    problem = stations("design", limits)
    result = designed(problem)
    weights = np.array(result["weights"])
    np.testing.assert_allclose(weights[8], problem.network.weights[8], atol=1e-9)
    assert (np.diag(weights)[:8] >= 0.1 - 1e-9).all()
    assert (np.triu(weights, 1) > 0).sum() <= 10
    assert min(result["stationary_distribution"]) >= 0.02 - 1e-9
    # The request takes precedence over the file.
    freer = designed(problem, changes={"minimum_influence": 0.001})
    assert freer["rate"] > result["rate"]


def test_other_edges_than_those_of_the_network() -> None:
    edges = [[i, (i + 1) % 9] for i in range(9)]
    ring = designed(stations("design", {"edges": edges}), "mixing", stationary="uniform")
    weights = np.array(ring["weights"])
    assert {(i, j) for i, j in np.argwhere(np.triu(weights, 1))} == {
        (min(e), max(e)) for e in map(tuple, edges)
    }
    directed = stations("design", {"edges": edges, "directed": True})
    around = designed(directed, "mixing", stationary="uniform")
    assert around["certificate"]["kind"] == "local"


def test_a_solver_that_gives_up(monkeypatch: Patch, tmp_path: Path) -> None:
    def gives_up(*_: object, **__: object) -> None:
        raise DesignFailed("stalled", tried=("barrier",), best=None, remedy="ask for less")

    monkeypatch.setattr(weights_room, "fastest_mixing", gives_up)
    problem = stations()
    result = designed(problem)
    assert result["failed"]
    assert any("stalled" in note for note in result["notes"])
    # What is kept has the v that was asked for.
    network = Network(np.array(result["weights"]))
    assert learning_rate(network, problem.model).rate == pytest.approx(
        result["certificate"]["value"], rel=1e-9
    )
    (tmp_path / "stations.json").write_text(json.dumps(STATIONS))
    code = main(
        ["design", str(tmp_path / "stations.json"), "--out", str(tmp_path), "--quiet",
         "--replicates", "0", "--json"]
    )  # fmt: skip
    assert code == 1


@pytest.mark.parametrize("family", ["two-coins", "p2-star", "p2-grid", "rotating-star"])
def test_built_in_problems(family: str) -> None:
    problem = load_variants(family)[0]
    result = designed(problem)
    certificate = result["certificate"]
    assert certificate["value"] <= certificate["bound"] * (1 + 1e-9)
    assert (
        result["rate"]
        >= max(row["rate"] for row in result["baselines"].values() if row["rate"] is not None)
        - 1e-9
    )


@pytest.mark.parametrize("name", ["restless-ring delays", "restless-ring links"])
def test_networks_that_change(name: str) -> None:
    result = designed(load_problem(name))
    assert result["rate"] > 1.2 * result["baselines"]["as given"]["rate"]
    assert result["rate"] <= result["certificate"]["bound"] * (1 + 1e-9)
    for table in result["weights"]:
        sums = np.bincount(table["listener"], table["weight"])
        np.testing.assert_allclose(sums, 1, atol=1e-12)


def test_designs_of_regressions() -> None:
    two = designed(load_problem("p1-regression"))
    assert two["excess_error_constant"] == pytest.approx(1.6, rel=1e-9)
    assert two["certificate"]["gap"] == 0
    constants = [row["excess_error_constant"] for row in two["baselines"].values()]
    assert min(constants) >= 1.6 - 1e-9
    data = designed(load_problem("diabetes"))
    assert data["certificate"]["bound"] is None
    assert data["limit"] <= min(row["limit"] for row in data["baselines"].values()) + 1e-9


def test_the_next_edge() -> None:
    result = designed(None, "next-edge")
    assert result["candidates"] == 36 - 12
    assert result["added"][0]["chernoff"] <= result["base"]["chernoff"]
    assert result["bridges"] == []
    path = changed("network", {"topology": "path", "agents": 9}, base=STATIONS)
    bridges = designed(problem_from_document(path), "next-edge")["bridges"]
    assert sorted(bridges) == [[i, i + 1] for i in range(8)]


def test_budgets_on_directed_graphs() -> None:
    around = [[i, (i + 1) % 9] for i in range(9)]
    edges: dict[str, Any] = {"edges": [*around, [4, 0]], "directed": True}
    for name, most in (("edge_budget", 9), ("cost_budget", 9.5), ("degree_budget", 1)):
        with pytest.raises(ValueError, match=rf"stations: design\.{name}: .* directed graph"):
            designed(stations("design", {**edges, name: most}), "mixing", stationary="uniform")
    kept = designed(
        stations("design", {**edges, "edge_budget": 10}), "mixing", stationary="uniform"
    )
    assert (np.array(kept["weights"]) > 0).sum() <= 9 + 10


def test_target() -> None:
    # Half of the agents fit one hypothesis, half the other: v decides who wins.
    split = changed("model.agents.1.truth", "wet", base=STATIONS)
    split = changed("model.agents.1.likelihood.2", [["3/10", "7/10"]], base=split)
    problem = problem_from_document(split)
    for name in ("mild", "wet"):
        result = designed(problem, target=name)
        assert result["target"] == name
        assert result["rate"] > 0
    with pytest.raises(ValueError, match="dry"):
        designed(problem, target="dry")


def test_the_next_edge_among_those_that_the_file_lists() -> None:
    grid = [[int(i), int(j)] for i, j in stations().network.edges if i < j]
    limits = {"edges": [*grid, [0, 4], [8, 4]], "edge_budget": 20}
    result = designed(stations("design", limits), "next-edge")
    assert sorted(effect["edge"] for effect in result["added"]) == [[0, 4], [4, 8]]
    assert "passed by: edge_budget" in result["notes"][0]
    one_way = stations("design", {"edges": [[i, (i + 1) % 9] for i in range(9)], "directed": True})
    with pytest.raises(ValueError, match=r"stations: design\.edges: .* both ways"):
        designed(one_way, "next-edge")


def test_what_is_as_good_as_the_target_does_not_bind() -> None:
    same = changed("model.agents.0.likelihood.2", [["1/2", "1/2"]], base=STATIONS)
    result = designed(problem_from_document(same), "mixing")
    assert result["binding"] == ["dry"]


def test_the_page_says_what_is_true() -> None:
    request = Design(objective="mixing", replicates=100)
    ring = changed("network", {"topology": "ring", "agents": 9}, base=STATIONS)
    body = design(problem_from_document(ring), request).record().as_json()
    # As given and by the uniform rule are one network, and one curve.
    assert [curve["name"] for curve in body["curves"]] in (
        ["designed", "as given"],
        ["designed"],
    )
    assert "No reversible W with this v does better" in design_view(body, key="a").finding
    body["result"] |= {"certificate": None, "failed": True}
    assert "gave up" in design_view(body, key="a").finding
    edges = design(problem_from_document(ring), Design(objective="next-edge")).document()
    assert isinstance(edges, NEXT_EDGE.model)
    edge = edges.added[0].model_copy(update={"edge": (0, 2), "chernoff": 9})
    for most, words in ((10, "between agents 0 and 2"), (9, "No edge lowers")):
        base = edges.base.model_copy(update={"chernoff": most})
        assert words in finding(
            edges.model_copy(update={"base": base, "added": [edge]}), delta=0.05
        )


# Written designs that take seconds ---------------------------------------------------------------


def test_older_records_are_shown() -> None:
    new = {"recommended", "written", "mean_slem", "stopped_by_time_budget"}
    for name in ("two-coins", "restless-ring links", "p1-regression"):
        body = design(load_problem(name), Design(replicates=0)).record().as_json()
        view = design_view(body, key="a")
        assert len(view.tables) > 1  # what is compared, and W
        older = json.loads(json.dumps(body), object_hook=lambda table: {
            key: value for key, value in table.items() if key not in new
        })  # fmt: skip
        before = design_view(older, key="a")
        assert before.tables[1:] == view.tables[1:]
        assert before.facts == view.facts
        assert before.finding == view.finding
        # No rounds are proved of links that fail.
        assert ("Recommended" in before.finding) is (name != "restless-ring links")


def test_a_changing_design_is_written(tmp_path: Path) -> None:
    again, said = written(load_problem("restless-ring links"), tmp_path / "ring.json")
    analysis = kind_of(again).analyse(again, _analysis(), None).as_json()
    assert analysis["learning"]["rate"] == pytest.approx(said.rate, rel=1e-9)
    assert analysis["learning"]["error_exponent"] == pytest.approx(said.error_exponent, rel=1e-9)
    np.testing.assert_allclose(analysis["network"]["influence"], said.influence, rtol=1e-9)


@pytest.mark.parametrize(
    ("objective", "suffix"), [("rate", "toml"), ("samples", "toml"), ("mixing", "json")]
)
def test_the_file_agrees_with_the_table(objective: str, suffix: str, tmp_path: Path) -> None:
    check_file(objective, suffix, tmp_path)


def test_another_network_than_the_designed_one_may_be_best() -> None:
    said = design(stations(), Design(objective="rate", replicates=0, delta=0.01)).as_json()
    ends = {name: row["samples"]["certified"][1] for name, row in said["baselines"].items()}
    ends["designed"] = said["samples"]["certified"][1]
    assert ends[said["recommended"]["network"]] == min(ends.values())
    assert said["recommended"]["network"] != "designed"
    assert "the objective rate costs" in said["recommended"]["sentence"]


def test_the_table_can_be_pasted() -> None:
    said = design(
        problem_from_document(DICE), Design(objective="exponent", replicates=0)
    ).document()
    lines = render(weight_parts(said)).splitlines()
    rows = [line.split()[1:] for line in lines if line[:2].strip().isdigit() and len(line) > 12]
    pasted = Network(np.array([[float(Fraction(w)) for w in row] for row in rows[-3:]]))
    np.testing.assert_allclose(pasted.weights, said.weights, atol=1.01e-6)  # type: ignore[union-attr]
    many = design(_ring(14), Design(objective="mixing", replicates=0)).document()
    text = render(weight_parts(many))
    assert "whom each agent hears" in text
    assert text.count("0.476410") == 28


def _ring(agents: int) -> Any:
    ring = changed("network", {"topology": "ring", "agents": agents}, base=STATIONS)
    return problem_from_document(changed("model.agents.1.count", agents - 1, base=ring))


# Placements beside all orders of the data; objectives that take long -----------------------------


@pytest.mark.parametrize("name", ["p2-grid side", "digits grid corner"])
def test_no_other_placement_is_better(name: str) -> None:
    check_placement(name)


def test_regressions_learnt_from_data() -> None:
    check_regressions("diabetes")


@pytest.mark.parametrize("objective", ["exponent", "samples"])
def test_a_target_with_a_twin_where_no_hypothesis_is_best_for_all(
    objective: str, tmp_path: Path
) -> None:
    check_twin(placed_by(objective), tmp_path)

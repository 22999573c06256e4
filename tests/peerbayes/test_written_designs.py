"""What `design` writes, shows and recommends: files agree with its table, rows sum to one."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerbayes.cli import main
from peerbayes.designs.outcome import by_rounds
from peerbayes.designs.request import checked_design
from peerbayes.designs.shared import ROUNDS
from peerbayes.designs.weight_text import row_text
from peerbayes.front.design import design
from peerbayes.kinds.registry import kind_of
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.problem.problems import ChangingProblem, Problem
from peerbayes.problem.reading import problem_from_document
from peerbayes.problem.writing import with_network, write_problem
from peerbayes.settings.declared import made_flat
from peerbayes.settings.questions import Design
from tests.peerbayes.commands import Capture, Patch, complaint
from tests.peerbayes.documents import STATIONS, changed
from theory import Network
from theory.changing import RandomLinks, influence, mean_slem
from theory.regression import regression_limits

DICE: dict[str, Any] = {
    "name": "dice",
    "network": {"weights": [["1/2", "1/2", "0"], ["1/4", "1/2", "1/4"], ["0", "1/2", "1/2"]]},
    "model": {
        "hypotheses": ["even", "low"],
        "agents": [
            {"truth": "even", "likelihood": [[["1/3", "2/3"]], [["1/2", "1/2"]]]},
            {"truth": "even", "likelihood": [[["1/2", "1/2"]], [["3/5", "2/5"]]]},
            {"truth": "even", "likelihood": [[["1/2", "1/2"]], [["2/3", "1/3"]]]},
        ],
    },
}


@pytest.fixture
def uncertified(monkeypatch: Patch) -> None:
    """Without certified rounds, which take most of the time of a small design."""
    monkeypatch.setattr("theory.bounds.samples._MOST_AGENTS", 0)


def written(problem: Any, path: Path, objective: str = "rate", **options: Any) -> Any:
    """The problem of the file that a design wrote, with the document of the design."""
    request = made_flat(Design, dict(objective=objective, replicates=0, **options))
    result = design(problem, request, write=path)
    assert result.written_path == path
    return load_problem(path), result.document()


@pytest.mark.parametrize(("objective", "suffix"), [("exponent", "json")])
def test_the_file_agrees_with_the_table(objective: str, suffix: str, tmp_path: Path) -> None:
    check_file(objective, suffix, tmp_path)


def check_file(objective: str, suffix: str, tmp_path: Path) -> None:
    """That the problem of the file that a design wrote has the numbers of its table."""
    problem = problem_from_document(DICE)
    again, said = written(problem, tmp_path / f"faster.{suffix}", objective)
    assert np.array_equal(again.network.weights, np.array(said.weights))
    # v and K by numpy alone.
    values, vectors = np.linalg.eig(np.array(said.weights).T)
    v = np.real(vectors[:, np.argmax(np.real(values))])
    v /= v.sum()
    np.testing.assert_allclose(v, said.stationary_distribution, rtol=1e-9)
    rate = min(v @ again.model.information(0)[:, 1:])
    analysis = kind_of(again).analyse(again, _analysis(), None).as_json()
    assert analysis["learning"]["rate"] == pytest.approx(rate, rel=1e-9)
    assert said.rate == pytest.approx(rate, rel=1e-9)
    assert analysis["learning"]["error_exponent"] == pytest.approx(said.error_exponent, rel=1e-9)
    assert analysis["samples"]["certified"] == said.samples.certified
    # All else is as it was.
    assert again.specification.model == problem.specification.model  # type: ignore[union-attr]
    assert again.name == "dice"


def _analysis() -> Any:
    from peerbayes.settings.questions import USUAL

    return USUAL


def test_verify_agrees(tmp_path: Path) -> None:
    again, said = written(load_problem("two-coins"), tmp_path / "coins.toml")
    statements = kind_of(again).verify(again, seed=1, delta=0.05, progress=None).comparisons
    assert not any(statement.is_broken for statement in statements)
    assert any(s.predicted == pytest.approx(said.rate, rel=1e-9) for s in statements)


@pytest.mark.usefixtures("uncertified")
def test_exact_designs_are_written_as_fractions(tmp_path: Path) -> None:
    again, said = written(problem_from_document(DICE), tmp_path / "exact.toml", exact=True)
    file = tomllib.loads((tmp_path / "exact.toml").read_text())
    rows = [[Fraction(share) for share in row] for row in file["network"]["weights"]]
    v = [Fraction(share) for share in said.exact.stationary_distribution]
    assert all(sum(row) == 1 for row in rows)
    # Exactly stationary, by fractions alone.
    assert [sum(v[i] * rows[i][j] for i in range(3)) for j in range(3)] == v
    assert again.is_exact
    np.testing.assert_allclose(np.array(rows, dtype=float), said.weights, rtol=1e-12, atol=1e-15)


@pytest.mark.usefixtures("uncertified")
def test_rows_that_stay_keep_their_fractions(tmp_path: Path) -> None:
    problem = problem_from_document({**DICE, "design": {"fixed_agents": [2]}})
    again, _ = written(problem, tmp_path / "fixed.toml", "mixing")
    rows = again.specification.network.weights
    assert rows[2] == (Fraction(0), Fraction(1, 2), Fraction(1, 2))
    assert again.specification.design.fixed_agents == (2,)


@pytest.mark.parametrize(
    "name",
    [
        f"restless-ring {kind}"
        for kind in ("links", "presence", "delays", "gossip", "clocks", "walk")
    ]
    + ["rotating-star 25"],
)
def test_networks_that_change_are_written_and_read(name: str, tmp_path: Path) -> None:
    problem = load_problem(name)
    assert isinstance(problem, ChangingProblem)
    file = write_problem(with_network(problem, problem.network), tmp_path / "again.toml")
    again = load_problem(file)
    assert isinstance(again, ChangingProblem)
    assert mean_slem(again.network) == pytest.approx(mean_slem(problem.network), abs=1e-12)
    np.testing.assert_allclose(
        influence(again.network).values, influence(problem.network).values, rtol=1e-9, atol=1e-12
    )


def test_a_regression_is_written(tmp_path: Path) -> None:
    again, said = written(load_problem("p1-regression"), tmp_path / "line.toml")
    limits = regression_limits(again.network, again.regression)
    assert limits.excess_error_constant == pytest.approx(said.excess_error_constant, rel=1e-9)


@pytest.mark.parametrize(("agents", "sparse"), [(144, False), (2100, True)])
def test_many_agents_are_written_link_by_link(agents: int, sparse: bool, tmp_path: Path) -> None:
    ring = changed("network", {"topology": "ring", "agents": agents}, base=STATIONS)
    ring = changed("model.agents.1.count", agents - 1, base=ring)
    problem = problem_from_document(ring)
    assert isinstance(problem, Problem)
    shares = np.random.default_rng(1).dirichlet(np.ones(3), size=agents)
    here = np.arange(agents)
    from scipy.sparse import coo_array

    rows, columns = np.repeat(here, 3), np.array([here - 1, here, here + 1]).T.ravel() % agents
    table = coo_array((shares.ravel(), (rows, columns)), shape=(agents, agents)).tocsr()
    network = Network(table if sparse else table.toarray())
    file = write_problem(with_network(problem, network), tmp_path / "ring.toml")
    assert "links" in file.read_text()
    again = load_problem(file)
    assert isinstance(again, Problem)
    assert again.network.is_sparse is sparse
    assert abs(again.network.weights - network.weights).max() == 0


LINKS = [[0, 0, "1/2"], [0, 1, "1/2"], [1, 0, "1/3"], [1, 1, "2/3"]]


def test_links_are_weights() -> None:
    base = changed("model.agents", [{**DICE["model"]["agents"][0], "count": 2}], base=DICE)
    linked = problem_from_document(changed("network", {"agents": 2, "links": LINKS}, base=base))
    table = {"weights": [["1/2", "1/2"], ["1/3", "2/3"]]}
    dense = problem_from_document(changed("network", table, base=base))
    assert isinstance(linked, Problem)
    assert isinstance(dense, Problem)
    assert np.array_equal(linked.network.weights, dense.network.weights)
    assert linked.rational_network.rows == dense.rational_network.rows
    bad: list[tuple[list[Any], str]] = [
        ([*LINKS[:3], [1, 2, "2/3"]], "links[3][1]: expected an agent from 0 to 1"),
        ([*LINKS, [1, 1, "2/3"]], "each link once"),
        (LINKS[:2], "none of agent 1"),
        ([*LINKS[:3], [1, 1, "1/3"]], "sum to exactly 1 for agent 1"),
        ([*LINKS[:3], [1, 1, "0"]], "above 0"),
    ]
    for links, words in bad:
        with pytest.raises(ValueError, match=r"^network\.links") as caught:
            problem_from_document(changed("network", {"agents": 2, "links": links}, base=base))
        assert words in str(caught.value)


@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=30), st.booleans())
@settings(max_examples=100, deadline=None)
def test_rows_sum_to_one_as_they_are_shown(parts: list[float], thirds: bool) -> None:
    weights = np.full(len(parts), 1 / len(parts)) if thirds else np.array(parts) / sum(parts)
    shown = row_text(dict(enumerate(weights.tolist())))
    shares = {j: Fraction(text) for j, text in shown.items()}
    assert sum(shares.values()) == 1
    assert all(share > 0 for share in shares.values())
    # Six digits at least, one unit of the last from moving it: numbers up to 1e-6 apart.
    assert all(abs(float(share) - weights[j]) <= 1.01e-6 for j, share in shares.items())
    if thirds:
        assert set(shown.values()) == {"1" if len(parts) == 1 else f"1/{len(parts)}"}


def _rounds(chernoff: int | None, ends: list[int] | None) -> Any:
    return ROUNDS.read({"delta": 0.1, "chernoff": chernoff, "certified": ends})


def test_the_fewest_certified_rounds_are_recommended() -> None:
    rows = {"designed": _rounds(9, [50, 60]), "as given": None, "metropolis": _rounds(99, [50, 58])}
    best = by_rounds("rate", rows, delta=0.1)
    assert best is not None
    assert (best.network, best.value, best.designed) == ("metropolis", 58, 60)
    assert "the objective rate costs 2 rounds" in best.sentence
    # Chernoff's bounds where nothing is certified; the design first among equals.
    bounded = {"designed": _rounds(70, None), "uniform": _rounds(70, None)}
    best = by_rounds("rate", bounded, delta=0.1)
    assert best is not None
    assert (best.network, best.by) == ("designed", "rounds by Chernoff's bound")
    assert best.sentence.endswith(", as few as any of these networks")
    assert by_rounds("rate", {"designed": None}, delta=0.1) is None


def test_a_design_says_what_is_best() -> None:
    line = design(load_problem("p1-regression"), Design(replicates=0)).as_json()
    assert line["recommended"]["network"] == "designed"


def test_ties_on_a_network_that_changes_go_to_the_exponent_then_to_mixing() -> None:
    alike = {
        "name": "alike",
        "network": {
            "topology": "path", "agents": 4, "rule": "lazy-metropolis",
            "changes": {"kind": "links", "up": "3/4"},
        },
        "model": {
            "hypotheses": ["fair", "loaded"],
            "agents": [
                {"count": 4, "truth": "fair", "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]]}
            ],
        },
    }  # fmt: skip
    problem = problem_from_document(alike)
    said = design(problem, Design(replicates=0)).as_json()
    given = said["baselines"]["as given"]
    # All agents see the same: K is the same for every W.
    assert said["rate"] == pytest.approx(given["rate"], rel=1e-12)
    assert said["error_exponent"] >= given["error_exponent"]
    assert said["mean_slem"] <= given["mean_slem"] + 1e-12
    assert "among equals" in said["method"] or said["error_exponent"] > given["error_exponent"]


def test_mean_mixing_by_the_mean_weights() -> None:
    network = Network.from_topology("path", agents=4, rule="metropolis")
    mean = 0.75 * network.weights + 0.25 * np.eye(4)
    values = np.sort(np.abs(np.linalg.eigvals(mean)))
    assert mean_slem(RandomLinks(network, up=0.75)) == pytest.approx(values[-2], abs=1e-12)


@pytest.mark.usefixtures("uncertified")
def test_what_cannot_be_written_is_said_early(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "dice.json"
    file.write_text(json.dumps(DICE))
    quick = ["--out", str(tmp_path), "--quiet", "--replicates", "0"]
    for name, words in (
        ("dice.txt", ".toml or .json"),
        ("none/dice.toml", "existing folder"),
        ("dice.json", "another file than the problem's own"),
        ("design-dice-rate.json", "another file than the record"),
        ("d" * 300 + ".toml", "file name too long; name another place"),
        ("di\0ce.toml", "null byte; name another place"),
        ("dice.json/d.toml", "a folder that does not exist"),
    ):
        line = complaint(capsys, "design", str(file), "--write", str(tmp_path / name), *quick)
        assert words in line
    line = complaint(capsys, "design", str(file), "--write", "/dev/null/d.toml", *quick)
    assert "--out" not in line
    assert [path.name for path in tmp_path.iterdir()] == ["dice.json"]
    with pytest.raises(ValueError, match="another file than the problem's own"):
        design(file, write=file)
    target = ["--write", str(tmp_path / "new.toml")]
    line = complaint(capsys, "design", str(file), "--objective", "next-edge", *target, *quick)
    assert "an objective that designs weights" in line
    assert not (tmp_path / "new.toml").exists()
    assert main(["design", str(file), *target, *quick]) == 0
    assert "written to" in capsys.readouterr().out
    assert load_problem(tmp_path / "new.toml").name == "dice"


@pytest.mark.usefixtures("uncertified")
def test_problems_built_in_memory_are_written_too(tmp_path: Path) -> None:
    bare = replace(problem_from_document(DICE), specification=None)
    again, said = written(bare, tmp_path / "bare.toml")
    np.testing.assert_allclose(again.network.weights, said.weights, rtol=1e-15)
    assert again.model.hypotheses == bare.model.hypotheses


def test_names_are_those_of_the_command_line() -> None:
    assert checked_design(Design(objective="trade_off")).objective == "trade-off"
    halves = checked_design(made_flat(Design, {"objective": "mixing", "stationary": "1/2,1/2"}))
    assert halves.variant.stationary == (0.5, 0.5)
    # Whether these are names or numbers says the network.
    limits = checked_design(
        made_flat(Design, {"changes": {"fixed": "0,2", "edge-budget": 3}})
    ).limits.changes
    assert limits == {"fixed_agents": ("0,2",), "edge_budget": 3}
    with pytest.raises(ValueError, match="edge_budget"):
        checked_design(made_flat(Design, {"changes": {"edge_bugdet": 3}}))
    with pytest.raises(ValueError, match="did you mean 'exponent'"):
        checked_design(Design(objective="exponnent"))

"""Problem files on networks that change: what they mean, and what is wrong with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from peerbayes.cli import main
from peerbayes.front.verify import verify
from peerbayes.kinds.changing.analyse import analyse_changing, kind_of_change
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.problem.problems import ChangingProblem
from peerbayes.problem.reading import problem_from_document
from peerbayes.schemas import read_schema
from tests.peerbayes.commands import Capture, json_of
from theory.changing import PeriodicNetwork, Phase, RandomPresence, influence, rotating_star
from theory.network import Network

HALF = [["1/2", "1/2"], ["1/2", "1/2"]]
LAZY = [["3/4", "1/4"], ["1/4", "3/4"]]
COIN = {"truth": "fair", "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]]}


def document(network: dict[str, Any], *, agents: int = 2, **more: Any) -> dict[str, Any]:
    """A problem of coins on a network."""
    model = {"hypotheses": ["fair", "loaded"], "agents": [{"count": agents, **COIN}]}
    return {"name": "coins", "network": network, "model": model, **more}


def ring(changes: dict[str, Any], *, agents: int = 5) -> dict[str, Any]:
    """Coins on a ring that changes."""
    network = {"topology": "ring", "agents": agents, "rule": "metropolis", "changes": changes}
    return document(network, agents=agents)


def test_a_sequence_is_the_periodic_network() -> None:
    phases = [{"weights": HALF, "active": [0]}, {"weights": LAZY, "active": [1]}]
    problem = problem_from_document(document({"sequence": phases}))
    assert isinstance(problem, ChangingProblem)
    network = PeriodicNetwork(
        (
            Phase(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([True, False])),
            Phase(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([False, True])),
        )
    )
    np.testing.assert_array_equal(influence(problem.network).values, influence(network).values)
    assert problem.specification is not None
    again = problem_from_document(problem.specification.document())
    assert again.specification == problem.specification


def test_probabilities_and_transition_are_laws_of_the_phase() -> None:
    phases = [{"weights": HALF, "active": [0]}, {"weights": LAZY, "active": [1]}]
    law = ["1/3", "2/3"]
    drawn = problem_from_document(document({"sequence": phases, "probabilities": law}))
    chain = problem_from_document(document({"sequence": phases, "transition": [law, law]}))
    assert isinstance(drawn, ChangingProblem)
    assert isinstance(chain, ChangingProblem)
    # A chain that forgets where it is draws its phases independently: the same linear equations
    # but for the order of sums.
    np.testing.assert_allclose(
        influence(drawn.network).values, influence(chain.network).values, rtol=1e-12
    )


def test_rotation_is_the_rotating_star() -> None:
    problem = load_problem("rotating-star 25")
    assert isinstance(problem, ChangingProblem)
    reference = rotating_star(groups=5, group_size=5, edge_confidence=0.5)
    np.testing.assert_array_equal(influence(problem.network).values, influence(reference).values)
    assert problem.network.agents == 26
    assert load_problem("rotating-star 100").network.agents == 101


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("presence", "agents present with probability 0.75"),
        ("links", "up with probability 0.5; the own belief stands in for a lost message"),
        ("links last", "up with probability 0.5; the last message that came is used again"),
    ],
)
def test_what_changes_in_words(variant: str, words: str) -> None:
    problem = load_problem(f"restless-ring {variant}")
    assert isinstance(problem, ChangingProblem)
    assert kind_of_change(problem).endswith(words)
    present = np.linspace(0.5, 0.9, problem.network.agents)
    static = Network.from_topology("ring", agents=problem.network.agents)
    uneven = replace(problem, network=RandomPresence(static, present=present))
    assert kind_of_change(uneven) == "agents present with probability 0.5 to 0.9"


def test_lost_messages_cost_no_rate_and_late_ones_do() -> None:
    fixed = Network.from_topology("ring", agents=5, rule="metropolis")
    rates = {}
    for name, changes in {
        "links": {"kind": "links", "up": "1/2"},
        "delays": {"kind": "delays", "delay": 3},
    }.items():
        problem = problem_from_document(ring(changes))
        assert isinstance(problem, ChangingProblem)
        analysis = analyse_changing(problem)
        rates[name] = analysis.rate.rate
    plain = float(np.log(4 / 3)) / 2
    # Uniform v; three rounds late on two links of weight 1/3 each: two rounds on average.
    assert rates["links"] == pytest.approx(plain, rel=1e-9)
    assert rates["delays"] == pytest.approx(plain / 3, rel=1e-9)
    assert fixed.stationary_distribution == pytest.approx(np.full(5, 0.2))


@pytest.mark.parametrize("name", ["restless-ring gossip"])
def test_json_of_analyse_fits_its_schema(name: str, capsys: Capture) -> None:
    result = json_of(capsys, ["analyse", name, "--json"])
    Draft202012Validator(read_schema("analyse")).validate(result)
    assert sum(result["network"]["influence"]) == pytest.approx(
        result["network"]["total_influence"]
    )
    assert main(["analyse", name]) == 0
    assert "influence" in capsys.readouterr().out


def test_verify_holds_and_leaves_a_report(tmp_path: Path) -> None:
    outcome = verify(["restless-ring links last"], seed=3, out=tmp_path)
    assert outcome.statements
    assert not outcome.failed
    page = outcome.report_path.read_text(encoding="utf-8")
    assert "Total influence" in page


def test_simulate_leaves_a_record(tmp_path: Path, capsys: Capture) -> None:
    options = ["--rounds", "50", "--replicates", "20", "--json", "--quiet"]
    result = json_of(capsys, ["simulate", "restless-ring walk", *options, "--out", str(tmp_path)])
    Draft202012Validator(read_schema("simulate")).validate(result)
    assert Path(result["record"]).is_file()


def test_one_agent_has_no_links_that_could_fail() -> None:
    alone = {"weights": [["1"]], "changes": {"kind": "links", "up": "1/2"}}
    problem = problem_from_document(document(alone, agents=1))
    assert isinstance(problem, ChangingProblem)
    found = analyse_changing(problem).as_json()
    assert found["network"]["changes"] == "no links that could fail"
    assert found["network"]["influence"] == [1.0]

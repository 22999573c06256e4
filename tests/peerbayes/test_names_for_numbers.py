"""Wherever a file or a call takes an agent's number it takes its name: the same problems follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerbayes as pb
from peerbayes.problem.reading import problem_from_document
from peerbayes.settings import Limits
from theory import Network
from theory.network.labels import agent_numbers, numbered
from theory.robustness import Push, Silent

NAMES = ["Hafen", "Mole", "Kai süd", "2"]
COIN = {"truth": "fair", "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]]}
MODEL = {"hypotheses": ["fair", "loaded"], "agents": [{**COIN, "count": 4}]}
PUSH = {"behaviour": "push", "hypothesis": "loaded", "strength": 1.0}
RING = [[0, 1], [1, 2], [2, 3], [3, 0]]
LINKS = [[i, j, "1/3"] for i in range(4) for j in range(4) if (i - j) % 4 != 2]
LAZY = [["1/2" if i == j or i == (j + 1) % 4 else "0" for j in range(4)] for i in range(4)]


def posed(network: dict[str, Any], **tables: Any) -> Any:
    document = {"name": "p", "network": network, "model": MODEL} | tables
    return problem_from_document(json.loads(json.dumps(document)))


def named(value: Any) -> Any:
    """Names for the numbers in a list of lists."""
    return NAMES[value] if isinstance(value, int) else [named(one) for one in value]


def test_networks_by_name_are_those_by_number() -> None:
    labels = {"names": NAMES}
    assert posed({"edges": named(RING), **labels}) == posed({"edges": RING, "agents": 4, **labels})
    # The order in which names appear is that of the agents.
    assert posed({"edges": named(RING)}) == posed({"edges": RING, "agents": 4, **labels})
    by_name = [[*named(link[:2]), link[2]] for link in LINKS]
    by_number = posed({"links": LINKS, "agents": 4, **labels})
    assert posed({"links": by_name, **labels}) == by_number
    assert posed({"topology": "ring", **labels}) == posed(
        {"topology": "ring", "agents": 4, **labels}
    )
    phases = [{"weights": LAZY, "active": [0, 1, 2]}, {"weights": LAZY, "active": [3]}]
    other = [{"weights": LAZY, "active": ["Hafen", "Mole", 2]}, {"weights": LAZY, "active": ["2"]}]
    assert posed({"sequence": other, **labels}) == posed({"sequence": phases, **labels})
    # "2" is the last one, whose name it is; 2 is "Kai süd".
    assert posed({"edges": [[0, "Mole"], ["Mole", 2], [2, "2"], ["2", 0]], **labels}) == by_edges()


def by_edges() -> Any:
    return posed({"edges": RING, "agents": 4, "names": NAMES})


def test_the_other_tables_too() -> None:
    edges = {"edges": RING, "agents": 4, "names": NAMES}
    clocks = {**edges, "changes": {"kind": "clocks", "rates": {"2": "3", "Hafen": 1}}}
    assert posed(clocks) == posed(
        {**edges, "changes": {"kind": "clocks", "rates": [1, "1", "1", "3"]}}
    )
    assert posed(edges, learning={"batch": {"Mole": 3}}) == posed(
        edges, learning={"batch": [1, 3, 1, 1]}
    )
    faulty = posed(edges, faults={"agents": [{"agents": ["Kai süd"], **PUSH}]})
    assert faulty == posed(edges, faults={"agents": [{"agents": [2], **PUSH}]})
    limits = {
        "fixed_agents": ["Mole"],
        "edges": named(RING),
        "link_costs": [{"link": ["2", "Hafen"], "cost": 2.0}],
        "link_availability": [{"link": ["Mole", 0], "up": 0.5}],
    }
    section = posed(edges, design=limits).specification.design
    assert section.fixed_agents == (1,)
    assert [list(edge) for edge in section.edges] == RING
    assert section.link_costs[0].link == (3, 0)
    assert section.link_availability[0].link == (1, 0)


BLIND = {"truth": "fair", "likelihood": [[["1/2", "1/2"]], [["1/2", "1/2"]]]}


def described(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"model": {**MODEL, "agents": [*entries]}}


def test_entries_of_agents_may_say_whose_they_are(tmp_path: Path) -> None:
    edges = {"edges": RING, "agents": 4, "names": NAMES}
    mixed = [{**COIN, "name": "2"}, {**BLIND, "name": "Mole"}, {**COIN, "name": "Kai süd"},
             {**COIN, "name": "Hafen", "batch": 2}]  # fmt: skip
    problem = posed(edges, **described(*mixed))
    ordered = described({**COIN, "batch": 2}, BLIND, {**COIN, "count": 2})
    assert problem == posed(edges, **ordered)
    # A fault is that of its own agent, whose outcomes it names.
    fault = {"agents": ["Mole"], "behaviour": "stuck-data", "outcome": "low"}
    named_outcomes = [{**mixed[1], "outcomes": ["low", "high"]}, mixed[0], *mixed[2:]]
    faulty = posed(edges, **described(*named_outcomes), faults={"agents": [fault]})
    assert [*faulty.faults.behaviours] == [1]
    # Names are written back, in the network's order.
    again = pb.load(pb.save(problem, tmp_path / "p.toml"))
    assert again == problem
    written = again.specification.document()["model"]["agents"]
    assert [entry["name"] for entry in written] == NAMES
    # Without names in the network a text may be a number.
    by_text = described(*({**entry, "name": str(NAMES.index(entry["name"]))} for entry in mixed))
    assert posed({"edges": RING, "agents": 4}, **by_text) == posed(
        {"edges": RING, "agents": 4}, **ordered
    )
    seen = {"ranges": ["1", ["-1", "1"]]}
    table = {"theta": ["1", "2"], "noise_std": "1", "prior_std": "1", "test_ranges": seen["ranges"]}
    lines = [
        problem_from_document(
            {"name": "line", "network": edges, "regression": table | {"agents": a}}
        )
        for a in (
            [{**seen, "name": n, "tempering": str(1 + NAMES.index(n))} for n in sorted(NAMES)],
            [{**seen, "tempering": str(1 + k)} for k in range(4)],
        )
    ]
    assert lines[0] == lines[1]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([{**COIN, "name": "Moole"}], "model.agents[0].name: expected an agent (Hafen, Mole, Kai"),
        ([{**COIN, "name": "Mole"}, {**COIN, "name": "Hafen"}, {**COIN, "name": "Mole"}],
         "model.agents[2].name: expected each agent once, got 'Mole' again"),
        ([{**COIN, "name": "Mole"}, COIN], "model.agents[1].name: expected a name in every entry"),
        ([{**COIN, "name": "Mole", "count": 2}], "model.agents[0].count: expected 1 beside a name"),
        ([{**COIN, "name": "Mole"}], "model.agents: expected 4 agents, as many as the network has"),
        ([{**COIN, "name": ""}], "model.agents[0].name: expected a name, got an empty text"),
    ],
)  # fmt: skip
def test_entries_of_nobody_are_refused(entries: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        posed({"edges": RING, "agents": 4, "names": NAMES}, **described(*entries))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_names_a_text_may_be_a_number() -> None:
    ring = {"topology": "ring", "agents": 4}
    assert posed(ring, learning={"batch": {"3": 2}}) == posed(
        ring, learning={"batch": [1, 1, 1, 2]}
    )
    assert posed({"edges": [[str(a), str(b)] for a, b in RING]}) == posed(
        {"edges": RING, "agents": 4}
    )


@pytest.mark.parametrize(
    ("network", "tables", "said"),
    [
        ({"edges": [["Hafen", "Moole"]], "names": NAMES}, {},
         "network.edges[0][1]: expected an agent (Hafen, Mole, Kai süd, 2), got 'Moole'; did you "
         "mean 'Mole'?"),
        ({"links": [[0, "x", 1]], "names": NAMES}, {}, "network.links[0][1]: expected an agent"),
        ({"topology": "ring", "names": NAMES}, {"faults": {"agents": [{"agents": ["x"], **PUSH}]}},
         "faults.agents[0].agents[0]: expected an agent"),
        ({"topology": "ring", "agents": 4}, {"learning": {"batch": {"x": 2}}},
         "learning.batch.x: expected agents' numbers between commas"),
        ({"topology": "ring", "agents": 4}, {"learning": {"batch": {"4": 2}}},
         "learning.batch.4: expected an agent from 0 to 3, got 4"),
        ({"topology": "ring", "names": NAMES}, {"design": {"fixed_agents": ["Kai"]}},
         "design.fixed_agents[0]: expected an agent"),
        ({"edges": [["Hafen", "Mole"], ["Kai süd", "2"]]}, {}, "{Hafen, Mole}, {Kai süd, 2}"),
        ({"sequence": [{"weights": LAZY, "active": [0, "Mole", "2"]}], "names": NAMES}, {},
         "got {Kai süd} active in none"),
        ({"edges": [[0, 1]]}, {}, "network.agents: expected the key 'agents'"),
        ({"weights": [["1/2", "1/3"], ["1/2", "2/3"]]}, {}, "give the transpose"),
        ({"weights": [[2, -1], [1, 1]], "normalise": True}, {}, "weights[0][1]: expected a number"),
        ({"weights": [[0, 0], [1, 1]], "normalise": True}, {}, "network.weights[0]: expected"),
        ({"weights": [[1, "x"], [1, 1]], "normalise": True}, {}, "weights[0][1]: expected"),
        ({"file": "coast.gml"}, {}, "network.file: expected a problem that is read from a file"),
    ],
)  # fmt: skip
def test_who_is_not_there_is_said_with_the_place(
    network: dict[str, Any], tables: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        posed(network, **tables)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


nasty = st.text(min_size=1, max_size=6) | st.integers(0, 12).map(str)


@given(st.lists(nasty, min_size=2, max_size=8, unique=True))
def test_any_text_is_a_name(names: list[str]) -> None:
    numbers = [[k, k + 1] for k in range(len(names) - 1)]
    edges = [[names[a], names[b]] for a, b in numbers]
    network = Network.from_edges(edges, names=names)
    assert network == Network.from_edges(numbers, agents=len(names), names=names)
    assert agent_numbers("who", names, network) == tuple(range(len(names)))
    found = Network.from_edges(edges)
    if found.names is None:  # texts of the numbers from 0 are the numbers
        assert sorted(names) == sorted(map(str, range(len(names))))
        assert numbered(names)[0] == {name: int(name) for name in names}
    else:
        assert found == network


def test_rows_are_normalised_exactly_where_they_are_exact() -> None:
    rows = [["2", "1", "1", "0"], ["1", "1", "0", "0"], ["0", "3", "1", "0.5"], [1, 0, 0, 3]]
    problem = posed({"weights": rows, "normalise": True})
    written = problem.specification.document()["network"]["weights"]
    assert written[:3] == [
        ["1/2", "1/4", "1/4", "0"], ["1/2", "1/2", "0", "0"], ["0", "2/3", "2/9", "1/9"]
    ]  # fmt: skip
    assert written[3] == [0.25, 0.0, 0.0, 0.75]
    assert "normalise" not in problem.specification.document()["network"]


def test_faults_batches_and_designs_in_python() -> None:
    network = Network.from_edges(named(RING), rule="metropolis")
    model = posed({"topology": "ring", "agents": 4}).model
    by_name = pb.problem_of(network, model, faults=pb_faults({"2": Silent()}))
    assert by_name == pb.problem_of(network, model, faults=pb_faults({3: Silent()}))
    with pytest.raises(ValueError, match="'Mole' twice, by name and by number"):
        pb.problem_of(network, model, faults=pb_faults({1: Silent(), "Mole": Push(0, 1.0)}))
    with pytest.raises(ValueError, match=r"faults: expected an agent \(Hafen, Mole"):
        pb.problem_of(network, model, faults=pb_faults({"Pier": Silent()}))
    batched = pb.problem_of(network, model, batch={"Mole": 3})
    assert batched == pb.problem_of(network, model, batch=[1, 3, 1, 1])
    problem = pb.problem_of(network, model, name="coast")
    designs = [
        pb.design(problem, limits=Limits(changes={"fixed": fixed}), replicates=0).as_json()
        for fixed in (["Mole"], [1], "Mole", "1")
    ]
    assert all(design == designs[0] for design in designs)
    with pytest.raises(ValueError, match=r"fixed_agents: .*got 'Moole'; did you mean 'Mole'"):
        pb.design(problem, limits=Limits(fixed=["Moole"]), replicates=0)
    placed = pb.place(problem, fixed=["Mole", "Hafen"], replicates=0)
    assert placed.as_json() == pb.place(problem, fixed="0, 1", replicates=0).as_json()
    with pytest.raises(ValueError, match=r"fixed: .*got 'Moole'"):
        pb.place(problem, fixed="Moole", replicates=0)


def pb_faults(behaviours: dict[Any, Any]) -> Any:
    from theory.robustness import Faults

    return Faults(behaviours)


def test_outcomes_have_names(tmp_path: Path) -> None:
    model: dict[str, Any] = {"hypotheses": ["fair", "loaded"],
             "agents": [{**COIN, "count": 4, "outcomes": ["heads", "tails"]}]}  # fmt: skip
    edges = {"edges": RING, "agents": 4, "names": NAMES}
    stuck = {"agents": ["Mole"], "behaviour": "stuck-data"}
    problem = posed(edges, model=model, faults={"agents": [{**stuck, "outcome": "tails"}]})
    assert problem == posed(edges, faults={"agents": [{**stuck, "outcome": 1}]})
    again = pb.load(pb.save(problem, tmp_path / "p.toml"))
    assert again == problem
    with pytest.raises(ValueError, match=r"faults\.agents\[0\]\.outcome: expected one of heads"):
        posed(edges, model=model, faults={"agents": [{**stuck, "outcome": "tail"}]})
    with pytest.raises(ValueError, match=r"agents\[0\]\.outcome: expected a number, where"):
        posed(edges, faults={"agents": [{**stuck, "outcome": "tails"}]})
    for names, said in ((["h", "h"], "outcomes.1.: expected names"), (["a", "b", "c"], "outcomes")):
        worse = {**model, "agents": [{**model["agents"][0], "outcomes": names}]}
        with pytest.raises(ValueError, match=said):
            posed(edges, model=worse)

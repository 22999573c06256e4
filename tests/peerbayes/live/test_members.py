"""Lists of members: weights as networks have them, leads, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import peerbayes as pb
from peerbayes.live.members import Members
from peerbayes.live.preparing import members_of, network_id
from theory import Network
from theory.network.structure import as_dense

_NETWORK = "0123456789abcdef"


def _ruled(graph: nx.Graph, rule: str) -> Members:
    names = tuple(f"n{k}" for k in graph)
    return Members(_NETWORK, 0, names, edges=tuple(graph.edges), rule=rule)


def test_rows_are_those_of_the_problem() -> None:
    problem = pb.load("p2-grid")
    members = members_of(problem)
    rows = np.array([members.row(name) for name in members.names])
    assert (rows == as_dense(problem.network.weights)).all()
    priors = np.array(members.log_priors)
    assert (priors == problem.model.log_priors[problem.model.assignment]).all()


@pytest.mark.parametrize("rule", ["metropolis", "lazy-metropolis"])
def test_rules_are_those_of_networks(rule: str) -> None:
    graph = nx.lollipop_graph(4, 3)
    members = _ruled(graph, rule)
    rows = np.array([members.row(k) for k in range(7)])
    wanted = as_dense(Network.from_graph(graph, rule="metropolis").weights)
    if rule == "lazy-metropolis":
        wanted = (wanted + np.eye(7)) / 2
    # Both sum a handful of fractions, in other orders.
    np.testing.assert_allclose(rows, wanted, atol=1e-15)


def test_a_newcomer_changes_only_the_rows_near_it() -> None:
    before = _ruled(nx.path_graph(6), "metropolis")
    after = replace(before, epoch=1, names=(*before.names, "new"), edges=(*before.edges, (5, 6)))
    for k in range(4):
        assert (after.row(k)[:6] == before.row(k)).all()
    assert after.row("new")[5] > 0


def _brute_lead(weighed: list[set[int]], agent: int) -> dict[int, int]:
    """How far ahead others get while one agent does not move at all, by playing it."""
    agents = len(weighed)
    begun = [1] * agents  # all have begun round 1 and said so
    moved = True
    while moved:
        moved = False
        for k in range(agents):
            # k ends its round when all that it weighs have begun it, and begins the next.
            if k != agent and all(begun[j] >= begun[k] for j in weighed[k]) and begun[k] < 50:
                begun[k] += 1
                moved = True
    return {j: begun[j] - 1 for j in weighed[agent]}


def test_leads_are_what_others_can_reach_without_an_agent() -> None:
    random = np.random.default_rng(3)
    for _ in range(10):
        graph = nx.gnp_random_graph(6, 0.3, seed=int(random.integers(10**6)), directed=True)
        graph.add_edges_from((k, (k + 1) % 6) for k in range(6))  # strongly connected
        rows = tuple({i: 0.5} | {j: 0.5 / graph.out_degree(i) for j in graph[i]} for i in graph)
        members = Members(_NETWORK, 0, tuple("abcdef"), rows=rows)
        weighed = [set(graph[i]) for i in graph]
        for i in graph:
            lead = {members.names.index(name): n for name, n in members.lead(i).items()}
            assert lead == _brute_lead(weighed, i)


def test_lists_come_back_from_their_files(tmp_path: Path) -> None:
    for members in (members_of(pb.load("p2-star")), _ruled(nx.cycle_graph(4), "metropolis")):
        (tmp_path / "members.json").write_text(json.dumps(members.document()))
        assert Members.read(tmp_path / "members.json") == members
        assert Members.from_bytes(members.content().replace(b"}", b"}")).epoch == 0


def test_networks_differ_by_what_their_problems_say() -> None:
    coins = pb.load("two-coins")
    assert network_id(coins) == network_id(pb.load("two-coins"))
    assert network_id(coins) != network_id(pb.load("p2-star"))
    digits = pb.load("digits")
    assert len(network_id(digits)) == 16


@pytest.mark.parametrize("name", ["diabetes", "rotating-star"])
def test_problems_without_a_live_network_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        members_of(pb.load(name))


@pytest.mark.parametrize(
    "changes",
    [
        {"names": ("a", "a")},
        {"rows": None},
        {"rows": ({0: 1.0},)},
        {"rows": ({0: 0.5, 1: 0.4}, {1: 1.0})},
        {"rows": ({0: 0.5, 2: 0.5}, {1: 1.0})},
        {"rows": None, "rule": "best", "edges": ((0, 1),)},
        {"rows": None, "rule": "metropolis", "edges": ((0, 0),)},
        {"epoch": -1},
        {"log_priors": ((0.0,),)},
    ],
)
def test_lists_that_do_not_fit_are_refused(changes: dict[str, object]) -> None:
    good = Members(_NETWORK, 0, ("a", "b"), rows=({0: 0.5, 1: 0.5}, {1: 1.0}))
    with pytest.raises(ValueError, match="members"):
        replace(good, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"format": "peerbayes-members"}', b"\xff"])
def test_other_files_are_no_lists(data: bytes) -> None:
    with pytest.raises(ValueError, match="members"):
        Members.from_bytes(data)

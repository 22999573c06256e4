"""Designs for bytes on networks of several agents."""

from __future__ import annotations

from pathlib import Path

import peerbayes as pb
from peerbayes.problem.reading import problem_from_document
from tests.peerbayes.test_messages_problem import document


def test_trees_for_bytes_grow_from_the_middle_and_from_the_agent_that_knows_most() -> None:
    told = document(None)
    ignorant, knowing = ({**told["model"]["agents"][0]} for _ in range(2))
    ignorant |= {"likelihood": [[["1/2", "1/2"]] * 2] * 2, "count": 5}
    told["model"] = {**told["model"], "agents": [ignorant, {**knowing, "count": 1}]}
    told["network"] = {"edges": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [2, 4]],
                       "agents": 6, "rule": "metropolis"}  # fmt: skip
    del told["messages"]
    printed = pb.design(problem_from_document(told), objective="bytes", replicates=0).as_json()
    trees = [row["network"] for row in printed["prices"] if "tree" in row["network"]]
    assert trees == ["uniform, tree from 2", "uniform, tree from 5"]


def test_a_design_for_bytes_leaves_out_links_that_do_not_pay(tmp_path: Path) -> None:
    """Ten agents who all hear all: a ninth of the links cost more rounds, and fewer bytes."""
    network = {"topology": "complete", "agents": 10}
    path = tmp_path / "best.toml"
    told = document(None)
    agents = [{**told["model"]["agents"][0], "count": 10}]
    told |= {"network": network, "model": {**told["model"], "agents": agents}}
    del told["messages"]
    problem = problem_from_document(told)
    printed = pb.design(problem, objective="bytes", replicates=0, write=path).as_json()
    prices = {row["network"]: row["certified_bytes"] for row in printed["prices"]}
    # The lower end of the whole graph's is not below the upper end of the tree's.
    assert prices["as given"][0] >= prices["uniform, tree from 0"][1]
    assert printed["messages"]["links"] == 18
    assert (
        pb.analyse(path).as_json()["messages"]["certified_bytes"] == prices["uniform, tree from 0"]
    )

"""Designs for bytes on networks of several agents; verification of messages that take long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import peerbayes as pb
from peerbayes.problem.reading import problem_from_document
from tests.peerbayes.commands import Capture, Patch
from tests.peerbayes.test_messages_problem import (
    check_proof,
    check_verification,
    coins,
    document,
)
from theory.messages import MeanBytes


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


@pytest.mark.parametrize(
    "messages",
    [
        {"step": 4, "mixing": "1/4"},
        {"quantiser": "deadband", "step": 1, "threshold": 12, "mixing": "1/20"},
        {"quantiser": "acknowledged", "step": "1/2", "loss": "1/10", "burst": 1, "mixing": "1/10"},
    ],
)
def test_verify_holds_and_leaves_a_report(messages: dict[str, Any], tmp_path: Path) -> None:
    check_verification(messages, tmp_path)


def test_verify_checks_expected_bytes(monkeypatch: Patch) -> None:
    """Both ends; and an end that is a tenth of the way beyond what is sent is found out."""
    problem = coins({"quantiser": "deadband", "step": 1, "threshold": 4, "mixing": "1/4"})
    expected = [one for one in pb.verify(problem).statements if "expected bytes" in one.statement]
    assert [(one.side, one.holds) for one in expected] == [("upper", True), ("lower", True)]
    measured = expected[0].measured
    assert measured is not None

    def wrong(speaking: Any, bytes_each: Any) -> MeanBytes:
        return MeanBytes(1.1 * measured, measured, 0.9 * measured)

    monkeypatch.setattr(MeanBytes, "of", wrong)
    broken = [one.statement for one in pb.verify(problem).statements if one.is_broken]
    assert broken == [one.statement for one in expected]


def test_a_design_for_bytes_needs_no_messages_in_the_file() -> None:
    printed = pb.design("two-coins", objective="bytes", replicates=0).as_json()
    assert printed["messages"]["message_bytes"] == 5


def test_proofs_know_messages(tmp_path: Path, capsys: Capture) -> None:
    check_proof("--certify", tmp_path, capsys)

"""Problem files with a table [messages], from the file to the report."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import peerbayes as pb
from peerbayes.cli import main
from peerbayes.designs.details import PRICE
from peerbayes.problem.exchange_sections import MessagesSection
from peerbayes.problem.problems import Problem
from peerbayes.problem.reading import problem_from_document
from peerbayes.problem.writing import document_of
from peerbayes.schemas import read_schema
from tests.peerbayes.commands import Capture, Patch, json_of
from tests.peerbayes.documents import TWO_COINS
from theory import Network
from theory.messages import (
    Acknowledged,
    Deadband,
    Plain,
    Quantiser,
    Samples,
    Single,
    Unacknowledged,
    Uniform,
    compressed_learning,
)

PROBLEM = Draft202012Validator(read_schema("problem"))
HALF = {"quantiser": "uniform", "step": "1/2", "mixing": "1"}
TABLES: list[dict[str, Any]] = [HALF, {"step": 2, "levels": 90}, {"step": 1, "header": 0}]


def document(messages: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    coins = tomllib.loads(TWO_COINS)
    return {"name": "coins", **coins, "messages": messages, **more}


def coins(messages: dict[str, Any]) -> Problem:
    problem = problem_from_document(document(messages))
    assert isinstance(problem, Problem)
    return problem


def test_a_file_says_what_is_sent() -> None:
    problem = coins(HALF)
    assert problem.messages == Uniform(step=Fraction(1, 2), mixing=Fraction(1))
    assert problem.is_exact
    assert not coins({"step": 0.5}).is_exact
    assert coins({"quantiser": "plain", "step": 2}).messages == Plain(step=2.0, mixing=Fraction(1))
    assert coins({"quantiser": "deadband", "step": 2, "threshold": "5/2"}).messages == Deadband(
        step=2.0, threshold=Fraction(5, 2), mixing=Fraction(1)
    )


@pytest.mark.parametrize(
    "quantiser",
    [
        Uniform(step=Fraction(1, 3), mixing=Fraction(2, 7), levels=40),
        Uniform(step=0.1, header=0),
        Deadband(step=Fraction(1), threshold=Fraction(9, 2), mixing=0.25),
        Single(step=0.5, mixing=Fraction(1, 8)),
        Single(step=Fraction(1, 2), choice="largest", levels=90),
        Acknowledged(step=0.5, mixing=Fraction(1, 9), loss=Fraction(1, 10), burst=1),
        Acknowledged(step=0.5, loss=0.25),
        Unacknowledged(step=0.5, loss=Fraction(1, 4)),
        Samples(draws=10),
        Samples(draws=3, smoothing=0.25, mixing=Fraction(1, 2), header=1),
        Plain(step=1.5, levels=7),
    ],
    ids=lambda quantiser: quantiser.name,
)
@pytest.mark.parametrize("ending", ["toml", "json"])
def test_round_trip(quantiser: Quantiser, ending: str, tmp_path: Path) -> None:
    bare = pb.load("two-coins")
    made = pb.problem_of(bare.network, bare.model, name="coins", messages=quantiser)
    back = pb.load(pb.save(made, tmp_path / f"coins.{ending}"))
    assert back == made
    assert back.messages == quantiser
    again = pb.load(pb.save(back, tmp_path / f"again.{ending}"))
    assert again == made
    assert bare != made
    PROBLEM.validate(document_of(back))


def test_analyse_prints_what_it_costs() -> None:
    problem = coins(HALF)
    printed = pb.analyse(problem).as_json()
    Draft202012Validator(read_schema("analyse")).validate(printed)
    expected = compressed_learning(problem.network, problem.model, Uniform(step=0.5))
    found = printed["messages"]
    assert found["bytes_per_round"] == expected.bytes_per_round
    assert found["extra_rounds"] == expected.extra_rounds
    assert found["certified_bytes"] == list(expected.certified_bytes)
    assert found["levels"] == expected.quantiser.levels
    # What needs no messages is as it was.
    bare = pb.analyse("two-coins").as_json()
    assert "messages" not in bare
    assert printed["samples"] == bare["samples"]


def test_simulate_prints_what_was_sent(tmp_path: Path, capsys: Capture) -> None:
    path = pb.save(coins(HALF), tmp_path / "coins.toml")
    run = ["simulate", str(path), "--rounds", "50", "--replicates", "20", "--quiet"]
    printed = json_of(capsys, [*run, "--out", str(tmp_path), "--json"])
    Draft202012Validator(read_schema("simulate")).validate(printed)
    sent = printed["messages"]
    assert sent["messages"] == 2 * 50 * 20
    assert sent["bytes_per_round"] == pb.analyse(path).as_json()["messages"]["bytes_per_round"]
    assert 0 < sent["largest_error"] <= 0.25 + 1e-12
    assert main([*run, "--out", str(tmp_path)]) == 0
    assert "replica off by at most" in capsys.readouterr().out


def check_verification(messages: dict[str, Any], folder: Path) -> None:
    """That everything that is proved of such messages is claimed, and holds."""
    outcome = pb.verify(coins(messages), out=folder)
    words = " ".join(statement.statement for statement in outcome.statements)
    assert not any(statement.is_broken for statement in outcome.statements)
    for part in ("replica is off", "moves a log-ratio", "learning rate K", "certified sample size"):
        assert part in words
    assert all(statement.holds for statement in outcome.statements)
    assert "Certified bytes" in (folder / "report.html").read_text(encoding="utf-8")


def test_verify_holds_and_leaves_a_report(tmp_path: Path) -> None:
    check_verification(HALF, tmp_path)


def test_verify_can_fail(monkeypatch: Patch) -> None:
    """A bound that is ten times too small is found out."""
    monkeypatch.setattr("theory.messages.compressed._UP", 0.1)
    outcome = pb.verify(coins(HALF))
    broken = [statement.statement for statement in outcome.statements if statement.is_broken]
    assert broken == ["compression moves a log-ratio, in nats: at most"]


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (
            {"quantiser": "acknowledged", "step": 1, "loss": 0.3, "mixing": "1/10"},
            ["mean log-odds of every agent", "learning rate K"],
        ),
        (
            {"quantiser": "unacknowledged", "step": "1/4", "loss": 0.3},
            ["mean log-ratios stop where replicas out of step"],
        ),
        (
            {"quantiser": "samples", "draws": 7},
            ["bytes a round", "mean log-ratios where samples are pooled"],
        ),
    ],
)
def test_verify_says_of_means_what_is_proved_of_them(
    messages: dict[str, Any], words: list[str]
) -> None:
    statements = pb.verify(coins(messages)).statements
    assert all(one.holds for one in statements)
    assert len(statements) == len(words)
    for one, word in zip(statements, words, strict=True):
        assert word in one.statement


def test_nothing_is_claimed_of_plain_rounding() -> None:
    outcome = pb.verify(coins({"quantiser": "plain", "step": 2}))
    assert list(outcome.statements) == []


def test_python_users_are_told_the_same() -> None:
    bare = pb.load("two-coins")
    with pytest.raises(ValueError, match="messages: expected none but with hypotheses"):
        pb.problem_of(bare.network, pb.load("p1-regression").regression, messages=Uniform(step=1))
    with pytest.raises(ValueError, match=r"^messages: expected"):
        pb.problem_of(bare.network, bare.model, messages=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="levels: expected at least"):
        pb.problem_of(bare.network, bare.model, messages=Uniform(step=0.01, levels=2))
    other = Network([[0.5, 0.5], [0.5, 0.5]])
    assert pb.problem_of(other, bare.model, messages=Uniform(step=1)) != pb.problem_of(
        other, bare.model, messages=Uniform(step=2)
    )


def test_the_example_of_the_reference_reads() -> None:
    text = '[messages]\nquantiser = "uniform"\nstep = "1/2"\nmixing = "1"\n'
    assert MessagesSection.model_validate(tomllib.loads(text)["messages"]).build() == Uniform(
        step=Fraction(1, 2), mixing=Fraction(1)
    )


def test_a_design_names_the_cheapest_messages(tmp_path: Path) -> None:
    path = tmp_path / "best.toml"
    result = pb.design(coins(HALF), objective="bytes", replicates=0, write=path)
    printed = result.as_json()
    Draft202012Validator(read_schema("design")).validate(printed)
    cheapest = min(price["certified_bytes"][1] for price in printed["prices"])
    assert printed["messages"]["certified_bytes"][1] == cheapest
    assert {"as given", "uniform", "metropolis"} <= {row["network"] for row in printed["prices"]}
    # No dearer than what the file said.
    assert cheapest <= pb.analyse(coins(HALF)).as_json()["messages"]["certified_bytes"][1]
    # The file that is written costs what was said.
    again = pb.analyse(path).as_json()["messages"]
    assert again["certified_bytes"] == printed["messages"]["certified_bytes"]
    assert again["levels"] == printed["messages"]["levels"]


def test_proofs_know_messages(tmp_path: Path, capsys: Capture) -> None:
    check_proof("--exact", tmp_path, capsys)


def check_proof(option: str, folder: Path, capsys: Capture) -> None:
    """That what is proved of messages agrees with what doubles say of them."""
    path = pb.save(coins(HALF), folder / "coins.toml")
    run = ["analyse", str(path), option, "--quiet", "--out", str(folder)]
    printed = json_of(capsys, [*run, "--json"])
    Draft202012Validator(read_schema("analyse")).validate(printed)
    found, doubles = printed["messages"], pb.analyse(path).as_json()["messages"]
    assert (found["step"], found["mixing"]) == ("1/2", "1")
    assert found["least_levels"] == doubles["least_levels"]
    assert Fraction(found["bytes_per_round"]) == doubles["bytes_per_round"]
    assert found["deviation"][0]["lower"] <= doubles["deviation"]
    assert found["certified_bytes"][1] == found["certified_rounds"][1] * doubles["bytes_per_round"]
    assert main(run) == 0
    assert "bytes enough" in capsys.readouterr().out


def test_proofs_say_where_there_is_none() -> None:
    problem = coins({"quantiser": "plain", "step": "1"})
    printed = pb.analyse(problem, exact=True).as_json()
    assert "messages" not in printed
    assert "messages: nothing is proved without a replica, nor of normal data" in printed["notes"]


def test_prices_tell_exact_numbers_as_floats() -> None:
    quantiser = Uniform(step=Fraction(1, 3), mixing=Fraction(3, 4))
    priced = SimpleNamespace(quantiser=quantiser, certified_rounds=(3, 4), certified_bytes=None)
    row = PRICE.document(("ring", priced)).model_dump()
    assert (row["step"], row["mixing"], row["levels"]) == (1 / 3, 0.75, None)

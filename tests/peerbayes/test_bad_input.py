"""Every kind of bad problem file: exit code 2, one line that names the place and the remedy."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from peerbayes.cli import main
from tests.peerbayes.documents import COINS, GAUSSIAN, REMOVE, TWO_COINS, changed
from tests.peerbayes.test_records import unusable_folders


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error that a command with bad input ends with."""
    code = main(arguments)
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    assert captured.err.startswith("peerbayes: ")
    return captured.err.strip()


BAD_NETWORKS: list[tuple[str, str, object, list[str]]] = [
    (
        "exact rows that do not sum to one",
        "network.weights.1",
        ["3/5", "1/5"],
        ["network.weights[1]: expected exact numbers", "sum of 4/5 = 0.8", "mend the row"],
    ),
    (
        "exact rows off by less than a float can show",
        "network.weights.1",
        ["3/5", "400000000000000001/1000000000000000000"],
        ["network.weights[1]", "exactly 1"],
    ),
    (
        "float rows that do not sum to one",
        "network.weights.0",
        [0.9, 0.2],
        ["network.weights[0]", "a sum of 1.1", "mend the row"],
    ),
    (
        "negative weights",
        "network.weights.0",
        ["11/10", "-1/10"],
        ["network.weights[0][1]", "at least 0, got -1/10", "make it non-negative"],
    ),
    (
        "infinite weights",
        "network.weights.0.0",
        float("inf"),
        ["network.weights[0][0]", "a finite number, got inf", "replace it"],
    ),
    (
        "undefined weights",
        "network.weights.0.0",
        float("nan"),
        ["network.weights[0][0]", "a finite number, got nan", "replace it"],
    ),
    (
        "ragged weights",
        "network.weights.1",
        ["3/5", "1/5", "1/5"],
        ["network.weights[1]", "2 numbers", "got 3", "make the matrix square"],
    ),
    (
        "weights that are not square",
        "network.weights",
        [["1/2", "1/2"]],
        ["network.weights[0]", "1 numbers", "got 2", "make the matrix square"],
    ),
    (
        "a row that is no list",
        "network.weights.0",
        "1/2",
        ["network.weights[0]: expected a list, got '1/2'", "square brackets"],
    ),
    ("an empty matrix", "network.weights", [], ["network.weights", "at least one entry", "fill"]),
    (
        "a reducible network",
        "network.weights",
        [["1", "0"], ["1/2", "1/2"]],
        ["network.weights: ", "irreducible", ";"],
    ),
    (
        "a periodic network",
        "network.weights",
        [["0", "1"], ["1", "0"]],
        ["network.weights: ", "period", ";"],
    ),
    (
        "not a number",
        "network.weights.0.0",
        "nine tenths",
        ["network.weights[0][0]: expected a number", "'nine tenths'", "write a decimal"],
    ),
    ("a boolean", "network.weights.0.0", True, ["network.weights[0][0]", "true", "give a number"]),
    (
        "division by zero",
        "network.weights.0.0",
        "1/0",
        ["network.weights[0][0]", "'1/0'", "mend the denominator"],
    ),
    (
        "a number too large to reckon with",
        "network.weights.0.0",
        "1e999999999",
        ["network.weights[0][0]", "'1e999999999'", "write a decimal"],
    ),
    (
        "a positive number whose float is zero",
        "network.weights.0",
        ["1e-310", "1"],
        ["network.weights[0][0]", "1e-300", "rescale"],
    ),
    (
        "a weight that is no normal double",
        "network.weights.0",
        [1.0, 1e-320],
        ["network.weights[0][1]", "1e-300", "got 9.99989e-321", "rescale"],
    ),
    ("two forms of a network", "network.topology", "ring", ["weights and topology", "keep one"]),
    ("no form of a network", "network", {}, ["network: expected exactly one of", "add one"]),
    (
        "a mistyped form",
        "network",
        {"weigths": [[1]]},
        ["network", "weigths", "did you mean 'weights'?"],
    ),
    (
        "a network that changes",
        "network",
        {"sequence": []},
        ["network.sequence", "at least one entry", "fill it in"],
    ),
    ("a network that is no table", "network", 3, ["network: expected a table, got 3", "[network]"]),
    ("no network at all", "network", REMOVE, ["network: expected the key 'network'", "add it"]),
    (
        "an unknown topology",
        "network",
        {"topology": "rign", "agents": 2},
        ["network.topology", "got 'rign'", "did you mean 'ring'?"],
    ),
    (
        "a topology without its parameter",
        "network",
        {"topology": "ring"},
        ["network", "agents", ";"],
    ),
    (
        "a parameter of another topology",
        "network",
        {"topology": "path", "agents": 2, "edge_confidence": "1/2"},
        ["network.edge_confidence", ";"],
    ),
    (
        "an unknown rule",
        "network",
        {"edges": [[0, 1]], "agents": 2, "rule": "metropolitan"},
        ["network.rule", "'metropolitan'", "did you mean 'metropolis'?"],
    ),
    (
        "an edge to nobody",
        "network",
        {"edges": [[0, 1], [1, 2]], "agents": 2},
        ["network.edges[1][1]", "an agent from 0 to 1, got 2", "raise network.agents"],
    ),
    (
        "an edge with three ends",
        "network",
        {"edges": [[0, 1, 1]], "agents": 2},
        ["network.edges[0]", "at most 2", "remove"],
    ),
    (
        "an edge with a fraction",
        "network",
        {"edges": [[0, 1.5]], "agents": 2},
        ["network.edges[0][1]", "a whole number, got 1.5", "give a whole number"],
    ),
    (
        "a graph in two parts",
        "network",
        {"edges": [[0, 0]], "agents": 2},
        ["network", ";"],
    ),
    (
        "agents beyond counting",
        "network",
        {"topology": "ring", "agents": 10**30},
        ["network.agents: expected", "at most 10000000, got 1000", "use 10000000 or fewer"],
    ),
    (
        "an edge list of agents beyond counting",
        "network",
        {"edges": [[0, 1]], "agents": 10**30},
        ["network.agents: expected", "at most 10000000, got 1000", "use 10000000 or fewer"],
    ),
    (
        "a shape of agents beyond counting",
        "network",
        {"topology": "torus", "shape": [3] * 60},
        ["network.shape: expected at most 24 sides, got 60"],
    ),
    (
        "a long side",
        "network",
        {"topology": "grid", "shape": [10**9, 10**9]},
        ["network.shape: expected", "at most 10000000, got 1000"],
    ),
    (
        "branching beyond counting",
        "network",
        {"topology": "tree", "agents": 2, "branching": 10**30},
        ["network.branching: expected", "at most 10000000, got 1000"],
    ),
    (
        "a graph with too many links",
        "network",
        {"topology": "geometric", "agents": 10**6, "radius": 0.5},
        ["network.radius: expected at most 2e+08 links", "use at most 0.008"],
    ),
    (
        "half a character",
        "network.topology",
        "\udfff",
        ["weights and topology"],
    ),
    (
        "an unknown key of a network",
        "network",
        {"edges": [[0, 1]], "agents": 2, "directd": True},
        ["network.directd", "did you mean 'directed'?"],
    ),
]

BAD_MODELS: list[tuple[str, str, object, list[str]]] = [
    (
        "more agents than rows",
        "model.agents.0.count",
        2,
        ["model.agents: expected 2 agents", "got 3", "change a count"],
    ),
    (
        "no agents",
        "model.agents.0.count",
        0,
        ["model.agents[0].count", "at least 1, got 0", "make it larger"],
    ),
    (
        "a count in quotation marks",
        "model.agents.0.count",
        "2",
        ["model.agents[0].count", "a whole number, got '2'", "without quotation marks"],
    ),
    (
        "a likelihood of zero where the truth is positive",
        "model.agents.1.likelihood.1",
        [["1", "0"]],
        ["model.agents[1].likelihood[1][0][1]", "the truth there is 0.5", "positive likelihood"],
    ),
    (
        "a truth that is no distribution",
        "model.agents.1.truth",
        [["1/2", "1/3"]],
        ["model.agents[1].truth[0]", "a sum of 5/6", "mend the row"],
    ),
    (
        "a truth with a negative share",
        "model.agents.0.truth",
        [["3/2", "-1/2"]],
        ["model.agents[0].truth[0][1]", "at least 0, got -1/2", "make it non-negative"],
    ),
    (
        "a truth that names no hypothesis",
        "model.agents.0.truth",
        "fare",
        ["model.agents[0].truth", "'fare'", "did you mean 'fair'?"],
    ),
    (
        "a likelihood that is no distribution",
        "model.agents.1.likelihood.0",
        [["1/2", "1/4"]],
        ["model.agents[1].likelihood[0][0]", "a sum of 3/4", "mend the row"],
    ),
    (
        "a flat likelihood",
        "model.agents.0.likelihood",
        [["1/2", "1/2"], ["3/4", "1/4"]],
        ["model.agents[0].likelihood[0][0]: expected a list, got '1/2'", "square brackets"],
    ),
    (
        "a hypothesis without a likelihood",
        "model.agents.0.likelihood",
        [[["1/2", "1/2"]]],
        ["model.agents[0].likelihood", "a list of 2", "got 1", "make it 2 long"],
    ),
    (
        "another number of inputs",
        "model.agents.0.inputs",
        ["1/2", "1/2"],
        ["model.agents[0].truth", "a list of 2 (one row for each input), got 1"],
    ),
    (
        "another number of outcomes",
        "model.agents.0.likelihood.1",
        [["1/2", "1/4", "1/4"]],
        ["model.agents[0].likelihood[1][0]", "a list of 2", "got 3"],
    ),
    (
        "inputs that are no distribution",
        "model.agents.0.inputs",
        ["1/2"],
        ["model.agents[0].inputs", "a sum of 1/2", "mend the row"],
    ),
    (
        "a prior of another length",
        "model.agents.0.prior",
        ["1/3", "1/3", "1/3"],
        ["model.agents[0].prior", "a list of 2 (one for each hypothesis), got 3"],
    ),
    (
        "a prior of zero",
        "model.agents.0.prior",
        ["1", "0"],
        ["model.agents[0].prior[1]", "above 0, got 0", "give 'loaded' some prior"],
    ),
    (
        "a prior that is no distribution",
        "model.agents.0.prior",
        ["1/2", "1/3"],
        ["model.agents[0].prior", "a sum of 5/6", "mend the row"],
    ),
    (
        "a name twice",
        "model.hypotheses",
        ["fair", "fair"],
        ["model.hypotheses[1]", "names that differ, got 'fair'", "rename"],
    ),
    ("one hypothesis", "model.hypotheses", ["fair"], ["model.hypotheses", "at least 2", "add"]),
    (
        "a hypothesis that is no text",
        "model.hypotheses.0",
        1,
        ["model.hypotheses[0]: expected text, got 1", "quotation marks"],
    ),
    (
        "half a character in a name",
        "name",
        "a\ud800b",
        ["name: expected text of whole Unicode characters, got 'a\\ud800b'", "retype it"],
    ),
    (
        "a count beyond counting",
        "model.agents.0.count",
        10**30,
        ["model.agents: expected 2 agents", "change a count"],
    ),
    ("an empty name", "name", "", ["name: expected a name", "give it a name"]),
    (
        "an unknown key",
        "model.agents.0.likelyhood",
        [],
        ["model.agents[0].likelyhood", "did you mean 'likelihood'?"],
    ),
    (
        "an unknown key at the top",
        "titel",
        "x",
        ["titel: expected one of the keys", "did you mean 'title'?"],
    ),
    (
        "an unknown key that resembles none",
        "model.zzz",
        1,
        ["model.zzz", "hypotheses, agents", "remove it"],
    ),
    (
        "a missing key",
        "model.agents.0.likelihood",
        REMOVE,
        ["model.agents[0].likelihood: expected the key 'likelihood', got none", "add it"],
    ),
    ("no model", "model", REMOVE, ["model: expected the key 'model'", "add it"]),
    ("a regression too", "regression", {}, ["exactly one of the tables", "both", "keep one"]),
    ("agents that are no list", "model.agents", {}, ["model.agents: expected a list, got a table"]),
    (
        "an agent that is no table",
        "model.agents.0",
        7,
        ["model.agents[0]: expected a table, got 7"],
    ),
]

LONG = "n" * 3000

BAD_LONG: list[tuple[str, str, object]] = [
    ("a prior of zero for a long name", "model.hypotheses.1", LONG),
    ("a long name twice", "model.hypotheses", [LONG, LONG]),
    ("a long name for a truth", "model.agents.0.truth", LONG),
    ("a long unknown key", f"model.{LONG}", 1),
    ("a long key of a network", "network", {LONG: 1}),
    ("a long topology", "network", {"topology": LONG}),
    ("a long number", "network.weights.0.0", "1/" + "7" * 3000),
]


@pytest.mark.parametrize(("label", "path", "value"), BAD_LONG)
def test_messages_stay_short(
    label: str, path: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = changed(path, value)
    if label.startswith("a prior"):
        document["model"]["agents"][0]["prior"] = ["1", "0"]
    (tmp_path / "bad.json").write_text(json.dumps(document))
    line = complaint(capsys, "analyse", str(tmp_path / "bad.json"))
    # Twice a name of 60 characters, and the words around it.
    assert len(line.replace(str(tmp_path), "")) < 450


def test_a_long_list_of_hypotheses_is_shortened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = changed("model.hypotheses", [f"{k} {LONG}" for k in range(50)])
    document["model"]["agents"] = [{"truth": "x", "likelihood": [[["1/2", "1/2"]]] * 50}]
    (tmp_path / "bad.json").write_text(json.dumps(document))
    line = complaint(capsys, "analyse", str(tmp_path / "bad.json"))
    assert len(line.replace(str(tmp_path), "")) < 450


BAD_GAUSSIANS: list[tuple[str, str, object, list[str]]] = [
    (
        "no truth",
        "model.agents.0.truth",
        REMOVE,
        ["model.agents[0]", "exactly one of truth", "got neither", "add one"],
    ),
    (
        "two truths",
        "model.agents.0.truth_mean",
        ["0", "1"],
        ["model.agents[0]", "exactly one of truth", "got both", "keep one"],
    ),
    (
        "a spread beside a named truth",
        "model.agents.0.truth_std",
        "1",
        ["model.agents[0]", "truth_std only beside truth_mean", "leave truth_std out"],
    ),
    (
        "a spread beyond floating point",
        "model.agents.0.likelihood_std",
        "1e-300",
        ["model.agents[0]: std: expected a size of 1e-100 to 1e100", "rescale"],
    ),
    (
        "means beyond floating point",
        "model.agents.0.likelihood_mean.1",
        ["1e300", "0"],
        ["model.agents[0]: means: expected log-likelihood ratios below 1e100 nats", "rescale"],
    ),
    (
        "no spread",
        "model.agents.0.likelihood_std",
        "0",
        ["model.agents[0].likelihood_std", "above 0, got 0", "make it positive"],
    ),
    (
        "means of another number of inputs",
        "model.agents.1.likelihood_mean.1",
        ["1", "2"],
        ["model.agents[1].likelihood_mean[1]", "a list of 1", "got 2"],
    ),
    (
        "true means of another number of inputs",
        "model.agents.1.truth_mean",
        ["1", "2"],
        ["model.agents[1].truth_mean", "a list of 1", "got 2"],
    ),
    (
        "a hypothesis without means",
        "model.agents.1.likelihood_mean",
        [["1"]],
        ["model.agents[1].likelihood_mean", "a list of 2", "got 1"],
    ),
    (
        "a mistyped key",
        "model.agents.1.truth_sdt",
        "1",
        ["model.agents[1].truth_sdt", "did you mean 'truth_std'?"],
    ),
]

CASES = [
    pytest.param(changed(path, value, base=base), parts, id=label)
    for base, table in ((COINS, BAD_NETWORKS), (COINS, BAD_MODELS), (GAUSSIAN, BAD_GAUSSIANS))
    for label, path, value, parts in table
]


@pytest.mark.parametrize(("document", "parts"), CASES)
def test_bad_documents(
    document: dict[str, Any], parts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document))
    line = complaint(capsys, "analyse", str(path))
    assert line.startswith(f"peerbayes: {path}: ")
    for part in [*parts, "expected", "got", ";"]:
        assert part in line


def test_a_mistyped_key_is_called_mistyped_rather_than_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = changed("model.agents.0.likelyhood", [])
    del document["model"]["agents"][0]["likelihood"]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document))
    line = complaint(capsys, "analyse", str(path))
    assert "model.agents[0].likelyhood" in line
    assert "did you mean 'likelihood'?" in line


def test_the_good_documents_are_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Or else the cases above would prove nothing.
    for document in (COINS, GAUSSIAN):
        path = tmp_path / "good.json"
        path.write_text(json.dumps(document))
        assert main(["analyse", str(path), "--json"]) == 0
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("a.toml", "name = 'x'\n[network\n", ["a.toml: line 2", "valid TOML", "mend"]),
        ("a.toml", "name = 1\nname = 2\n", ["valid TOML", "mend"]),
        ("a.toml", f"x = {'9' * 5000}\n", ["valid values", "mend"]),
        ("a.toml", "x = " + "[" * 5000, ["few levels", "use fewer"]),
        ("a.json", '{"name": "x",\n}', ["a.json: line 2, column 1", "valid JSON", "mend"]),
        ("a.json", '{"name": "x", "name": "y"}', ["'name' twice", "mend"]),
        ("a.json", "[1, 2]", ["expected a table", "begin with a brace"]),
        ("a.json", "[" * 200_000, ["few levels", "use fewer"]),
        ("a", '{"name": }', ["valid JSON", "mend"]),
        ("a", "name = ", ["valid TOML", "mend"]),
        ("a.toml", b"x = 1\ny = '\xff'\n", ["a.toml: line 2", "UTF-8", "save it"]),
        ("a.toml", "", ["network", "add it"]),
    ],
)
def test_broken_files(
    name: str,
    content: str | bytes,
    parts: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = complaint(capsys, "analyse", str(path))
    for part in parts:
        assert part in line


def test_files_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "a directory; name a file inside it" in complaint(capsys, "analyse", str(tmp_path))
    absent = complaint(capsys, "analyse", str(tmp_path / "absent.toml"))
    assert "no such file; correct the path" in absent
    assert "correct the path" in complaint(capsys, "analyse", "nul\0l.toml")
    assert "file name too long" in complaint(capsys, "analyse", "x" * 5000)

    secret = tmp_path / "secret.toml"
    secret.write_text(TWO_COINS)

    def refuse(self: Path, *arguments: object) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    # Set by hand, as the tests may run with all rights.
    monkeypatch.setattr(Path, "open", refuse)
    line = complaint(capsys, "analyse", str(secret))
    assert "permission denied; correct the path or its permissions" in line


def test_unknown_builtins_suggest_the_nearest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "did you mean 'two-coins'?" in complaint(capsys, "analyse", "two-coin")
    assert "did you mean 'fashion-mnist'?" in complaint(capsys, "analyse", "fashion")
    assert "did you mean 'p2-star" in complaint(capsys, "analyse", "p2-star a=0.9")
    assert "see 'peerbayes list'" in complaint(capsys, "analyse", "qqqq")
    assert complaint(capsys, "simulate", "qqqq") == complaint(capsys, "analyse", "qqqq")


def test_data_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = complaint(capsys, "analyse", "fashion-mnist", "--data", str(tmp_path))
    assert "train-images-idx3-ubyte.gz" in empty
    assert str(tmp_path) in empty
    absent = complaint(capsys, "analyse", "fashion-mnist", "--data", str(tmp_path / "absent"))
    assert "no directory" in absent
    for kind in ("train", "t10k"):
        for part in ("images-idx3", "labels-idx1"):
            (tmp_path / f"{kind}-{part}-ubyte.gz").write_bytes(b"not what was published")
    damaged = complaint(capsys, "analyse", "fashion-mnist", "--data", str(tmp_path))
    assert "fetch the file again" in damaged


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["simulate", "two-coins", "--rounds", "-5"], ["--rounds", "at least 1, got '-5'"]),
        (["simulate", "two-coins", "--rounds", "0"], ["--rounds", "at least 1, got '0'"]),
        (["simulate", "two-coins", "--rounds", "many"], ["--rounds", "got 'many'"]),
        (["simulate", "two-coins", "--rounds", "1" + "0" * 30], ["--rounds", "got '1000"]),
        (["simulate", "two-coins", "--replicates", "-1"], ["--replicates", "got '-1'"]),
        (["simulate", "two-coins", "--replicates", "1.5"], ["--replicates", "got '1.5'"]),
        (["simulate", "two-coins", "--seed", "-1"], ["--seed", "at least 0, got '-1'"]),
        (["analyse", "two-coins", "--delta", "2"], ["--delta", "(0, 1), such as", "got '2'"]),
        (["analyse", "two-coins", "--delta", "nan"], ["--delta", "got 'nan'"]),
        (["verify", "two-coins", "--delta", "0"], ["--delta", "got '0'"]),
        (["verify", "two-coins", "--seed", "x"], ["--seed", "got 'x'"]),
        (["analyse", "two-coins", "--exact", "--certify"], ["keep one", "analyse --help'"]),
        (["analyse", "two-coins", "--exactly"], ["--exactly", "see 'peerbayes analyse --help'"]),
        (["analyse", "two-coins", "--jsn"], ["--jsn", "--json"]),
        (["analyse", "two-coins", "--delta"], ["--delta", "--help"]),
        (["analyse"], ["PROBLEM", "see 'peerbayes analyse --help'"]),
        (["analyse", "two-coins", "p2-star"], ["p2-star", "--help"]),
        (["analyze", "two-coins"], ["analyze", "see 'peerbayes --help'"]),
        ([], ["command", "see 'peerbayes --help'"]),
        (["schema", "analyze"], ["did you mean 'analyse'?"]),
        (["schema", "qqqq"], ["choose one"]),
    ],
)
def test_usage(arguments: list[str], parts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    line = complaint(capsys, *arguments)
    for part in parts:
        assert part in line


def test_verify_looks_at_all_problems(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "did you mean 'two-coins'?" in complaint(capsys, "verify", "two-coin")
    assert os.listdir(tmp_path) == []


def test_records_that_are_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nothing = complaint(capsys, "report", "--out", str(tmp_path))
    assert "run 'peerbayes verify' first" in nothing
    foreign = tmp_path / "foreign.json"
    foreign.write_text("{}")
    assert "foreign.json" in complaint(capsys, "report", str(foreign), "--out", str(tmp_path))


def test_output_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    options = ["--rounds", "3", "--replicates", "2", "--quiet", "--out", str(blocked)]
    line = complaint(capsys, "simulate", "two-coins", *options)
    assert str(blocked) in line
    assert "choose another folder with --out" in line


def test_a_key_with_half_a_character(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"\\ud800": 1}')
    line = complaint(capsys, "analyse", str(path))
    assert line.startswith(f"peerbayes: {path}: expected text of whole Unicode characters, got")
    assert "Input should" not in line


@pytest.mark.parametrize("option", ["--rounds", "--replicates", "--seed"])
@pytest.mark.parametrize("text", ["1_0", "١", "1e3", "", "0x1"])
def test_whole_numbers_are_digits(
    option: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = complaint(capsys, "simulate", "two-coins", option, text)
    assert f"'{option}': expected a whole number of at least" in line


@pytest.mark.parametrize("text", ["0.0_5", "0_0.5", ".٥"])
def test_probabilities_are_digits(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "a number in (0, 1)" in complaint(capsys, "analyse", "two-coins", "--delta", text)


@pytest.mark.parametrize(
    "text", ["0/1", "1/1", "3/2", "1/0", "1//20", "1/2/4", "/20", "1/", "-1/2"]
)
def test_probabilities_are_fractions_in_bounds(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = complaint(capsys, "analyse", "two-coins", f"--delta={text}")
    assert f"a number in (0, 1), such as 0.05 or 1/20, got {text!r}" in line


def test_a_probability_may_be_a_fraction_as_in_files(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for text in ("0.05", "1/20"):
        assert main(["analyse", "two-coins", "--delta", text, "--json"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("list.json", "[{}]", "in braces, got a list of 1; take it out of the square brackets"),
        ("list.json", "[1, 2]", 'got a list of 2; begin with a brace, {"network": …'),
        ("list.json", "3", "got 3; begin with a brace"),
        ("list.json", "null", "got null; begin with a brace"),
        ("list", ' [ {"network": 1}]', "got a list of 1; take it out of the square brackets"),
    ],
)
def test_json_that_is_no_table(
    name: str, content: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content)
    line = complaint(capsys, "analyse", str(tmp_path / name))
    assert f"{name}: expected a table, in braces, got" in line
    assert words in line


def test_toml_without_a_suffix_may_begin_with_a_table(tmp_path: Path) -> None:
    (tmp_path / "coins").write_text(TWO_COINS.replace('name = "two-coins"', "").lstrip())
    assert main(["analyse", str(tmp_path / "coins"), "--json"]) == 0


@pytest.mark.parametrize("command", ["analyse", "simulate", "verify"])
def test_an_empty_problem(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = complaint(capsys, command, "")
    assert line.startswith("peerbayes: PROBLEM: expected a file, or a built-in")
    assert "got ''" in line


def test_a_file_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "good.json"
    path.write_text(json.dumps(COINS))
    line = complaint(capsys, "analyse", f"{path}/")
    assert "got a file, with a slash behind its name; leave out the slash" in line


@pytest.mark.parametrize("command", ["simulate", "verify"])
def test_an_unusable_folder_is_refused_before_the_run(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(*arguments: object, **options: object) -> None:
        raise AssertionError("the run has begun")

    monkeypatch.setattr("exact.task.Task.simulate", run)
    monkeypatch.setattr("peerbayes.front.verify.load_variants", run)
    monkeypatch.setattr("peerbayes.problem.builtins.loading.load_problem", run)
    for folder in unusable_folders(tmp_path):
        if "\0" not in str(folder):
            line = complaint(capsys, command, "two-coins", "--out", str(folder))
            assert "expected a folder that can be written" in line
            assert "choose another folder with --out" in line


@pytest.mark.parametrize("command", ["simulate", "verify", "report", "analyse"])
@pytest.mark.parametrize("option", ["--out", "--data"])
def test_folders_have_names(command: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = complaint(capsys, command, "two-coins", option, "")
    assert f"'{option}': expected the name of a folder, got ''" in line


def test_bad_problems_leave_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("simulate", "verify"):
        complaint(capsys, command, "nothing-such", "--out", str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []

"""Bad command lines and files that cannot be read: exit code 2, one line with the remedy."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from peerbayes.cli import main
from tests.peerbayes.commands import Capture, Patch, assert_says, complaint
from tests.peerbayes.documents import COINS, STATIONS, TWO_COINS, changed
from tests.peerbayes.test_records import unusable_folders

_PAIR = {"hypotheses": ["x", "y"], "agents": [{"count": 2, "truth": "x", "likelihood": [
    [["1/2", "1/2"]], [["1/4", "3/4"]]]}]}  # fmt: skip
_STAR = {"topology": "star", "agents": 2, "edge_confidence": 0.5}
_SAME = [["1/2", "1/2"]]
# What stands in the folder where each command is called.
FILES: dict[str, dict[str, Any]] = {
    "coins.json": COINS,
    "stations.json": STATIONS,
    "floats.json": {"network": {"weights": [[0.9, 0.1], [0.6, 0.4]]}, "model": _PAIR},
    "star.json": {"network": _STAR, "model": _PAIR},
    "twins.json": changed(
        "model.agents.0.likelihood.1",
        _SAME,
        base=changed("model.agents.1.likelihood.1", _SAME),
    ),
    **{
        f"limits-{k}.json": changed("design", limits, base=STATIONS)
        for k, limits in enumerate(
            [
                {"edge_bugdet": 9},
                {"fixed_agents": [12]},
                {"availability": 0},
                {"availability": 1.5},
                {"link_availability": [{"link": [0, 8], "up": 0.5}]},
                {"link_costs": [{"link": [1, 1], "cost": 2}]},
                {"edges": [[0, 1], [2, 3]]},
                {"directed": True},
            ]
        )
    },
}
# By command: what follows its name, and what is said of it.
LINES: dict[str, list[tuple[str, str]]] = {
    "": [
        ("analyze two-coins", "analyze … did you mean 'analyse'? … see 'peerbayes --help'"),
        ("keys renew", "renew … did you mean 'new'? … see 'peerbayes keys --help'"),
        ("schema analyze", "did you mean 'analyse'?"),
        ("schema qqqq", "choose one"),
    ],
    "analyse": [
        ("", "PROBLEM … see 'peerbayes analyse --help'"),
        ("two-coins p2-star", "p2-star … --help"),
        ("two-coins --exact --certify", "exact, certify … keep one"),
        ("two-coins --exactly", "--exactly … see 'peerbayes analyse --help'"),
        ("two-coins --jsn", "--jsn … --json"),
        ("two-coins --delta", "--delta … --help"),
        ("two-coins --delta 2", "--delta … (0, 1), such as … got '2'"),
        ("two-coins --delta nan", "--delta … got 'nan'"),
        ("two-coins --rounds 0", "--rounds … at least 1, got '0'"),
        *((f"two-coins --delta {x}", "a number in (0, 1)") for x in ("0.0_5", "0_0.5", ".٥")),
        *(
            (f"two-coins --delta={x}", f"a number in (0, 1), such as 0.05 or 1/20, got '{x}'")
            for x in ("0/1", "1/1", "3/2", "1/0", "1//20", "1/2/4", "/20", "1/", "-1/2")
        ),
        *((f"two-coins --batch {x}", "atch") for x in ("0", "4,x", "1.5", ",", "4,4,4")),
        *((f"{x} --delta 0.01", "--delta: expected a problem with sample sizes")
          for x in ("p1-regression", "liars-torus")),
        *((f"p1-regression {x}",
           "p1-regression: expected finitely many hypotheses … got a regression")
          for x in ("--certify", "--rounds 9")),
        *((f"rotating-star {x}", f"{x[:7]} … a network that changes")
          for x in ("--exact", "--certify", "--rounds 5")),
        ("coins.json/", "got a file, with a slash behind its name; leave out the slash"),
        (".", "a directory; name a file inside it"),
        ("absent.toml", "no such file; correct the path"),
        (f"{'x' * 5000}", "file name too long"),
    ],
    "simulate": [
        *((f"two-coins --rounds {x}", f"--rounds … at least 1, got '{x[:4]}")
          for x in ("-5", "0", "many", "1" + "0" * 30)),
        ("two-coins --replicates -1", "--replicates … got '-1'"),
        ("two-coins --replicates 1.5", "--replicates … got '1.5'"),
        ("two-coins --seed -1", "--seed … at least 0, got '-1'"),
        *((f"two-coins {option} '{x}'", f"'{option}': expected a whole number of at least")
          for option in ("--rounds", "--replicates", "--seed")
          for x in ("1_0", "١", "1e3", "", "0x1")),
        ("two-coins --workers 0", "'--workers': expected a whole number of at least 1, got '0'"),
        ("two-coins --workers two", "'--workers': expected a whole number"),
        ("two-coins --memory lots", "--memory … expected a size such as 500M or 2GiB, got 'lots'"),
        ("two-coins --memory ''", "--memory … expected a size such as 500M or 2GiB, got ''"),
        ("two-coins --hours 0", "'--hours': expected a number above 0"),
        ("two-coins --rounds 300 --replicates 20000 --memory 1M",
         "memory: expected at most 0.00093 GiB for the run"),
        ("two-coins --rounds 5 --backend slurm", "backend: expected one of dask, loky"),
    ],
    "verify": [
        ("two-coin", "did you mean 'two-coins'?"),
        ("two-coins --delta 0", "--delta … got '0'"),
        ("two-coins --seed x", "--seed … got 'x'"),
        ("--claims --batch 2", "--claims"),
        ("two-coins --claims", "expected no problem beside it, got two-coins"),
        *((f"--claims --effort {x}", "expected a number above 0")
          for x in ("0", "-1", "1_0", "inf")),
        ("--claims --out /dev/null/x", "choose another folder with --out"),
    ],
    "design": [
        ("stations.json --objective speed", "objective … 'speed'"),
        ("stations.json --objective rates", "did you mean 'rate'"),
        ("stations.json --target wett", "target … did you mean 'wet'"),
        ("stations.json --target dry", "dry"),
        ("stations.json --objective mixing --stationary 1,0,0,0,0,0,0,0,0", "positive influence"),
        ("stations.json --objective mixing --stationary 1/2,1/2", "9 agents"),
        ("stations.json --objective mixing --stationary 1,1,1,1,1,1,1,1,1", "sum to 1"),
        ("stations.json --objective mixing --stationary even", "'even'"),
        ("stations.json --stationary uniform", "mixing"),
        ("stations.json --objective next-edge --target wet", "target … next-edge"),
        ("stations.json --objective next-edge --edge-budget 9", "edge-budget"),
        ("stations.json --rule metropolis", "next-edge"),
        ("stations.json --objective next-edge --rule best", "'best'"),
        ("stations.json --objective exponent --exact", "rate"),
        ("stations.json --worst-case", "exponent"),
        ("stations.json --minimum-influence 0.2", "1/N"),
        ("stations.json --minimum-influence -1", "[0, 1)"),
        ("stations.json --minimum-self-weight 1", "[0, 1)"),
        ("stations.json --edge-budget 7", "edge_budget … at least 8"),
        ("stations.json --degree-budget 1", "degree_budget"),
        ("stations.json --fixed 9", "fixed_agents … 0 to 8"),
        ("stations.json --fixed a", "0,3"),
        ("stations.json --delta 1", "(0, 1)"),
        ("stations.json --replicates -1", "replicates"),
        ("stations.json --replicates 71", "at least 72 … or none"),
        ("limits-0.json", "design.edge_bugdet … edge_budget"),
        ("limits-1.json", "design … 0 to 8"),
        ("limits-2.json", "design.availability … (0, 1]"),
        ("limits-3.json", "design.availability … [0, 1]"),
        ("limits-4.json", "design … link … (0, 8)"),
        ("limits-5.json", "design … (1, 1)"),
        ("limits-6.json", "design … parts … {0, 1}, {2, 3}"),
        ("limits-7.json", "design.edges"),
        *((f"twins.json --objective {x}", "'fair' from 'loaded' … no network separates them")
          for x in ("rate", "exponent", "samples", "trade-off")),
        ("p1-regression --objective samples", "rate or mixing"),
        ("restless-ring --objective mixing", "'rate'"),
        *((f"'{x}' --objective bytes", "objective")
          for x in ("p1-regression", "restless-ring delays", "liars-torus")),
    ],
    "place": [
        ("p2-grid --objective speed", "objective … 'speed'"),
        ("p2-grid --method magic", "method … 'magic'"),
        ("p2-grid --fixed 9", "fixed … 9"),
        ("p2-grid --fixed 1,1", "fixed"),
        ("p2-grid --target nobody", "target … 'nobody'"),
        ("restless-ring --objective samples", "'rate'"),
        ("p1-regression --objective samples", "'rate'"),
    ],
    "formula": [
        ("rign", "did you mean 'ring'?"),
        ("nothing-like-it", "see 'peerbayes formula list'"),
        ("star --agents 2", "agents: expected whole number, N >= 3, got 2"),
        ("star --agents 3.5", "agents: expected whole number"),
        ("star --agents many", "agents: expected an exact number"),
        ("star --edge-confidence 3/2", "edge_confidence: expected 0 < a < 1, got 3/2"),
        ("star --edge-confidence 1/0", "mend the denominator"),
        ("star --agents 10000000000", "so that the result can be printed"),
        ("wheel --agents 101", "at most 100"),
        ("hypercube --dimension 65", "at most 64"),
        ("ring --edge-confidence 1/2", "a parameter of 'ring'"),
        ("star --set a", "expected LETTER=VALUE"),
        ("star --set delta=1/20", "a parameter of 'star'"),
        ("star --samples --set delta=2", "delta: expected 0 < delta < 1, got 2"),
        ("risk --samples", "--samples: expected none, for risk"),
        ("risk --set N=0", "agents: expected whole number, N >= 1, got 0"),
        ("weights --weights '1-p p; b 1-b' --samples", "got p; rename it"),
        ("star --set b=1", "a parameter of 'star'"),
        ("two-agents --a 1/2 --set a=1/3", "each parameter once"),
        ("star --weights 1", "expected none, for any topology but 'weights'"),
        ("weights", "--weights: expected a matrix"),
        ("weights --weights ''", "at least one row"),
        ("weights --weights '1/2 1/3; 1/2 1/2'", "a sum of exactly 1, got 5/6"),
        ("weights --weights '1 0; 0 1'", "irreducible"),
        ("weights --weights 'exit() 1; 1 0'", "an expression such as 1-a"),
        ("list --agents 3", "a name, to which the values belong"),
        ("--weights 1", "a name, to which the values belong"),
        ("digits", "a problem that is written as a file"),
        ("missing.toml", "missing.toml"),
        ("floats.json", "the float 0.9"),
        ("star.json", "network.edge_confidence: expected an exact number"),
    ],
    "report": [
        ("", "run 'peerbayes verify' first"),
        ("coins.json", "coins.json"),
    ],
    "run": [
        ("regresion-2", "EXPERIMENT: expected one of regression-2 … did you mean 'regression-2'?"),
        ("regression-2 --replicates 1", "at least 2"),
        ("regression-2 --out coins.json", "a folder"),
        ("regression-2 --recipe best",
         "--recipe: expected an experiment with neural nets, got regression-2"),
        ("star-mnist-1 --recipe bset", "--recipe: expected paper or best or once, got 'bset'"),
        ("fedavg-iid --recipe once", "has no priors"),
        ("star-mnist-1 --part 'seed 9'", "--part"),
        *((f"{x} --part qq", "--part: expected words of")
          for x in ("gae", "codecs", "rate-link", "star-mnist-1", "star-mnist-1 --recipe tuned")),
        *((f"{x} --codec sign",
           f"--codec: expected a row of Bayesian nets, got {x}; leave it out")
          for x in ("regression-2", "gae", "rate-link", "codecs")),
        ("codecs --recipe best", "--recipe: expected an experiment with recipes, got codecs;"),
        ("codecs --device cuda", "--device: expected cpu, where codecs work, got 'cuda'; leave"),
        ("codecs --quick --part x", "--part: expected words of codecs seed 0, got 'x'; use"),
    ],
    "figures": [("p2-5x", "FIGURE … p2-5")],
    "train": [("gone.toml", "gone.toml")],
}  # fmt: skip
CASES = [
    pytest.param([*command.split(), *shlex.split(line)], words, id=f"{command} {line[:60]}")
    for command, lines in LINES.items()
    for line, words in lines
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, document in FILES.items():
        Path(name).write_text(json.dumps(document))
    return tmp_path


@pytest.mark.parametrize(("arguments", "words"), CASES)
def test_bad_command_lines(arguments: list[str], words: str, here: Path, capsys: Capture) -> None:
    assert_says(complaint(capsys, *arguments), words)
    assert sorted(os.listdir(here)) == sorted(FILES), "nothing is written"


@pytest.mark.parametrize("command", ["analyse", "simulate", "verify"])
def test_no_problem_and_another(command: str, here: Path, capsys: Capture) -> None:
    assert complaint(capsys, command, "").startswith(
        "peerbayes: PROBLEM: expected a file, or a built-in"
    )
    for name, words in {
        "two-coin": "did you mean 'two-coins'?",
        "fashion": "did you mean 'fashion-mnist'?",
        "p2-star a=0.9": "did you mean 'p2-star",
        "qqqq": "see 'peerbayes list'",
    }.items():
        assert words in complaint(capsys, command, name, "--quiet")
    assert sorted(os.listdir(here)) == sorted(FILES)


@pytest.mark.parametrize("command", ["simulate", "verify", "report", "analyse"])
@pytest.mark.parametrize("option", ["--out", "--data"])
def test_folders_have_names(command: str, option: str, capsys: Capture) -> None:
    line = complaint(capsys, command, "two-coins", option, "")
    assert f"'{option}': expected the name of a folder, got ''" in line


def test_a_probability_may_be_a_fraction_as_in_files(capsys: Capture) -> None:
    outputs = []
    for text in ("0.05", "1/20"):
        assert main(["analyse", "two-coins", "--delta", text, "--json"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.toml", "name = 'x'\n[network\n", "a.toml: line 2 … valid TOML … mend"),
        ("a.toml", "name = 1\nname = 2\n", "valid TOML … mend"),
        ("a.toml", f"x = {'9' * 5000}\n", "valid values … mend"),
        ("a.toml", "x = " + "[" * 5000, "few levels … use fewer"),
        ("a.json", '{"name": "x",\n}', "a.json: line 2, column 1 … valid JSON … mend"),
        ("a.json", '{"name": "x", "name": "y"}', "'name' twice … mend"),
        ("a.json", "[" * 200_000, "few levels … use fewer"),
        ("a", '{"name": }', "valid JSON … mend"),
        ("a", "name = ", "valid TOML … mend"),
        ("a.toml", b"x = 1\ny = '\xff'\n", "a.toml: line 2 … UTF-8 … save it"),
        ("a.toml", "", "network … add it"),
        ("a.json", "[{}]", "a.json: expected a table, in braces, got a list of 1; take it out of"),
        ("a.json", "[1, 2]", "expected a table, in braces, got a list of 2; begin with a brace, {"),
        ("a.json", "3", "expected a table, in braces, got 3; begin with a brace"),
        ("a.json", "null", "expected a table, in braces, got null; begin with a brace"),
        ("a.txt", "0 1\n", "valid TOML … ; a graph's file ends in .graphml, .edges, .csv"),
        ("a.npy", b"\x93NUMPY", "UTF-8 text … write the matrix as text: numpy.savetxt"),
        ("a", ' [ {"network": 1}]', "got a list of 1; take it out of the square brackets"),
        ("a.json", '{"\\ud800": 1}', "a.json: expected text of whole Unicode characters, got"),
    ],
    ids=range(19),
)
def test_broken_files(
    name: str, content: str | bytes, words: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = complaint(capsys, "analyse", str(path))
    assert_says(line, words)
    assert "Input should" not in line


def test_toml_without_a_suffix_may_begin_with_a_table(tmp_path: Path) -> None:
    (tmp_path / "coins").write_text(TWO_COINS.replace('name = "two-coins"', "").lstrip())
    assert main(["analyse", str(tmp_path / "coins"), "--json"]) == 0


def test_files_that_may_not_be_read(here: Path, capsys: Capture, monkeypatch: Patch) -> None:
    assert "correct the path" in complaint(capsys, "analyse", "nul\0l.toml")

    def refuse(self: Path, *arguments: object) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    # Set by hand, as the tests may run with all rights.
    monkeypatch.setattr(Path, "open", refuse)
    line = complaint(capsys, "analyse", "coins.json")
    assert "permission denied; correct the path or its permissions" in line


def test_data_folders(tmp_path: Path, capsys: Capture) -> None:
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


@pytest.mark.parametrize("command", ["simulate", "verify"])
def test_an_unusable_folder_is_refused_before_the_run(
    command: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: Patch,
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

"""The command `formula`: what it prints, what it refuses, and its exit codes."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
import sympy
from jsonschema import Draft202012Validator

import peerbayes as pb
import peerbayes.formulas.checked
from peerbayes import cli
from peerbayes.formulas.checked import families, formulas
from peerbayes.formulas.quantities import CHECKS
from peerbayes.formulas.text import checked
from peerbayes.schemas import read_schema
from tests.peerbayes.commands import Capture, Patch, text_of
from theory.symbolic import FAMILIES
from theory.symbolic.checks import Comparison, FormulaCheck

SCHEMA = Draft202012Validator(read_schema("formula"))
# A sheet of every family costs seconds; these cover classes, cases and letters.
SHOWN: list[list[str]] = [
    ["star"],
    ["ring", "--self-confidence", "0.25"],
    ["two-agents", "--a", "1/3"],
    ["weights", "--weights", "1-a a; b 1-b"],
    ["weights", "--weights", "1/2 1/2 0, 0 1/2 1/2; 1/2, 0, 1/2".replace(" 0, 0", " 0; 0")],
    ["weights", "--weights", "1"],
    ["two-coins"],
    ["p2-grid"],
    ["risk", "--set", "r=1/10", "--set", "span=2"],
]


def run(arguments: list[str], capsys: Capture) -> tuple[int, str, str]:
    code = cli.main(["formula", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("arguments", SHOWN, ids=" ".join)
def test_json_fits_its_schema_and_the_tables(arguments: list[str], capsys: Capture) -> None:
    check_sheet(arguments, capsys)


def check_sheet(arguments: list[str], capsys: Capture) -> None:
    """That a sheet passes its checks, and that its table says what its JSON says."""
    code, out, err = run([*arguments, "--json"], capsys)
    assert (code, err) == (0, "")
    result = json.loads(out)
    SCHEMA.validate(result)
    assert result["checks"]["passed"]
    code, table, err = run(arguments, capsys)
    assert (code, err) == (0, "")
    assert max(map(len, table.splitlines())) <= 80
    points = result.get("samples", result)["checks"]["points"]
    where = f"{points} random rational parameter values" if points > 1 else "the values given"
    assert table.endswith(f"checked at {where} against exact arithmetic\n")
    assert all(note.split(";")[0][:40] in " ".join(table.split()) for note in result["notes"])


def test_the_star_of_p2(capsys: Capture) -> None:
    code, out, _ = run(["star", "--agents", "9", "--json"], capsys)
    assert code == 0
    result = json.loads(out)
    a = sympy.Symbol("a")
    centre = sympy.sympify(result["classes"][0]["stationary"]["expression"], locals={"a": a})
    assert sympy.cancel(centre - 9 * a / (9 * a + 8)) == 0
    assert result["slem"]["text"] == "1 - a if a <= 5/9, else (9*a - 1)/9"
    assert result["matrix"] is None
    code, out, _ = run(["star", "--agents", "9", "--edge-confidence", "0.5", "--json"], capsys)
    result = json.loads(out)
    assert [c["stationary"]["expression"] for c in result["classes"]] == ["9/25", "2/25"]
    assert [sum(map(Fraction, row)) for row in result["matrix"]] == [1] * 9
    assert result["parameters"][1]["value"] == "1/2"


def test_where_no_closed_form_is_known(capsys: Capture) -> None:
    # Beyond a = (1 + c)/2 the edges' deviation has none, and the centre's still has.
    _, out, _ = run(["star", "--agents", "9", "--edge-confidence", "3/4", "--json"], capsys)
    result = json.loads(out)
    assert result["classes"][0]["deviation"] is not None
    assert result["classes"][1]["deviation"] is None
    assert "no closed form of D_i is known for edge" in result["notes"]


def test_sample_sizes_and_risk_as_numbers(capsys: Capture) -> None:
    given = ["M=2", "delta=1/20", "p=3/5", "a=1/2"]
    settings = [word for one in given for word in ("--set", one)]
    _, out, _ = run(["complete", "--agents", "5", "--samples", *settings, "--json"], capsys)
    bounds = {bound["name"]: bound for bound in json.loads(out)["samples"]["bounds"]}
    # D = 2 (4/5) (3/8) / (5/8); n = (log 20 + 5/2 log(3/2) D) / (-5 log(2 sqrt(.24))) = 38.9.
    assert bounds["n coins, best t"]["value"] == 39
    assert bounds["n coins"]["value"] is None, "t is not given"
    assert not bounds["n printed"]["is_theorem"]
    letters = re.findall("[A-Za-z_]+", bounds["n printed"]["expanded"]["expression"])
    assert set(letters) == {"C", "S", "log"}
    _, out, _ = run(["risk", "--set", "B=1", "--set", "r=4/25", "--json"], capsys)
    (printed, *_) = json.loads(out)["bounds"]
    assert printed["value"] == 0.2


def test_notebooks_have_the_formulas_that_latex_prints(capsys: Capture) -> None:
    _, out, _ = run(["star", "--latex"], capsys)
    assert pb.formula("star")._repr_latex_() == f"$$\n{out}$$"
    assert "aligned" in pb.formula("risk")._repr_latex_()


def test_latex(capsys: Capture) -> None:
    code, out, err = run(["star", "--latex"], capsys)
    assert (code, err) == (0, "")
    assert out.startswith("\\begin{aligned}\n")
    assert out.endswith("\\end{aligned}\n")
    assert r"\frac{N a}{N a + N - 1}" in out
    assert out.count("&=") == out.count(r"\\" + "\n") + 1


def test_the_list(capsys: Capture) -> None:
    code, out, _ = run(["list"], capsys)
    assert code == 0
    assert all(name in out for name in FAMILIES)
    assert max(map(len, out.splitlines())) <= 80
    _, out, _ = run(["--json"], capsys)
    listing = json.loads(out)
    SCHEMA.validate(listing)
    assert listing == families().as_json()
    assert [f["name"] for f in listing["families"]] == [*FAMILIES, "weights"]


def test_every_parameter_is_an_option(capsys: Capture) -> None:
    text = text_of(capsys, ["formula", "--help"])
    for family in families().families:
        for name in family.parameters:
            assert "--" + name.replace("_", "-") in text


def test_edges_and_rules_of_a_problem_are_exact(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    model = {"hypotheses": ["x", "y"], "agents": [{"count": 3, "truth": "x", "likelihood": [
        [["1/2", "1/2"]], [["1/4", "3/4"]]]}]}  # fmt: skip
    network = {"edges": [[0, 1], [1, 2]], "agents": 3, "rule": "metropolis"}
    Path("line.json").write_text(json.dumps({"network": network, "model": model}))
    result = formulas("line.json", {}).as_json()
    assert result["matrix"] == [["2/3", "1/3", "0"], ["1/3", "1/3", "1/3"], ["0", "1/3", "2/3"]]
    assert [c["stationary"]["expression"] for c in result["classes"]] == ["1/3"] * 3


def test_a_failed_check_is_exit_code_1(monkeypatch: Patch, capsys: Capture) -> None:
    broken = FormulaCheck(({"a": "1/2"},) * 2, (Comparison("Z", "exact", 2, ("a=1/2",)),), False)
    monkeypatch.setattr(peerbayes.formulas.checked, "check_formula", lambda *_, **__: broken)
    sheet = ["weights", "--weights", "1"]
    code, out, _ = run(sheet, capsys)
    assert code == 1
    assert "CHECK FAILED at 2 random rational parameter values: Z" in out
    assert run([*sheet, "--json"], capsys)[0] == 1
    assert run([*sheet, "--latex"], capsys)[0] == 1


def test_the_seed_moves_the_points() -> None:
    first, again, other = (formulas("two-agents", {}, seed=s).check.points for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_last_line() -> None:
    compared = {"quantity": "v", "method": "exact", "points": 12, "failures": []}
    values = [{"a": "1/2"}] * 12
    tree = {"points": 12, "seed": 0, "passed": True, "values": values, "comparisons": [compared]}
    checks = CHECKS.read(tree)
    assert checked(checks) == (
        "checked at 12 random rational parameter values against exact arithmetic"
    )

"""The page's sections on regressions: complete, valid, and true to their record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peerbayes import cli
from peerbayes.experiments.experiment import RunRecord
from peerbayes.figures.chart import plotting_style
from peerbayes.figures.curves import calibration_plot, errors_plot, honesty_plot
from peerbayes.figures.views import Row
from peerbayes.kinds.regression.verify import verify_regression
from peerbayes.kinds.regression.view import regression_view
from peerbayes.measured import CoordinateCurve, ErrorCurve
from peerbayes.problem.reading import problem_from_document
from peerbayes.records import plain, write_record
from peerbayes.report.experiments import run_view
from tests.peerbayes import reports
from tests.peerbayes.commands import Capture, Patch
from tests.peerbayes.regressions import LINE, NORMAL, shorten_verification
from tests.peerbayes.test_report import HOSTILE, page_of


def curve(name: str, role: str = "cooperating", *, level: float = 2.0, limit: float = 0.0) -> Any:
    """A curve made by hand, measured a standard error above its prediction."""
    rounds = np.array([1, 10, 100, 1000])
    predicted = limit + level / (rounds + level)
    return plain(
        {
            "name": name, "role": role, "rounds": rounds, "replicates": 100,
            "measured": 1.02 * predicted, "standard_error": 0.02 * predicted,
            "predicted": predicted, "predicted_standard_error": 0 * predicted,
            "constant": level, "limit": limit,
            "reported": {
                "rounds": rounds, "measured": 3 * predicted, "standard_error": 0.01 * predicted,
                "predicted": 3 * predicted, "constant": 3 * level,
            },
            "coordinates": [coordinate("coefficient 0")],
        }
    )  # fmt: skip


def coordinate(name: str) -> dict[str, Any]:
    return {
        "name": name, "rounds": [1, 10, 100], "measured": [0.1, 0.4, 0.5],
        "standard_error": [0.01, 0.02, 0.02], "limit": 0.5,
    }  # fmt: skip


def run_body(*, broken: bool = False, name: str = "regression-2") -> dict[str, Any]:
    """The body of a record of ``run``."""
    line = {
        "what": "excess error", "printed": "MSE stays high", "measured": 0.25,
        "standard_error": 0.01, "predicted": 0.24, "holds": True, "remark": "tends to 0.2",
    }  # fmt: skip
    lines = [line, {**line, "printed": "", "holds": None}]
    if broken:
        lines.append({**line, "holds": False})
    return {
        "experiment": name, "title": "a line", "source": "P1 5.1", "seed": 1, "replicates": 100,
        "parts": ["cooperating", "alone"], "lines": lines,
        "content": {
            "cooperating": curve("cooperating"), "alone": curve("alone", "alone", limit=0.5),
        },
    }  # fmt: skip


def test_a_verified_regression(tmp_path: Path, monkeypatch: Patch) -> None:
    shorten_verification(monkeypatch)
    entries = [
        plain(verify_regression(problem_from_document(document), seed=1).as_record())
        for document in (LINE, NORMAL)
    ]
    entries[0]["title"] = " ".join(HOSTILE)
    page, _ = page_of(tmp_path, reports.verify_body(reports.problem(), *entries))
    assert page.tags["script"] == 0
    with plotting_style():
        view = regression_view(entries[0], key="k")
    assert len(view.pictures) == 4
    assert len(view.statements) == len(entries[0]["comparisons"])
    assert "times as much" in view.finding
    assert "2 of 2 agents keep an error for ever" in view.finding
    for statement in entries[1]["comparisons"]:
        assert " ".join(statement["statement"].split()) in page.text
    for words in ("Reported error and true error", "Calibration of each coefficient", "1.763/n"):
        assert words in page.text


def run_rows(body: dict[str, Any]) -> tuple[Row, ...]:
    """The lines of an experiment as its page has them."""
    with plotting_style():
        return run_view(RunRecord.model_validate(body), key="k").statements.rows


def test_an_experiment(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, run_body(), kind="run")
    for words in ("MSE stays high", "tends to 0.2", "0.25", "0.24", "P1 5.1"):
        assert words in page.text
    answer = "✓ Measured and predicted agree in 1 of 2 lines, sampling error allowed for; "
    assert f"{answer}nothing is claimed of the other one." in page.text
    # How many claim nothing is said once; a line of such a kind has no verdict.
    assert page.text.count("claimed") == 1
    assert [v.words for row in run_rows(run_body()) if (v := row.verdict)] == ["holds", ""]
    page, _ = page_of(tmp_path, run_body(broken=True), kind="run")
    assert "1 of 3 lines contradicts its prediction beyond sampling error" in page.text
    silent = run_body()
    silent["lines"] = silent["lines"][1:]
    page, text = page_of(tmp_path, silent, kind="run")
    assert "○ Nothing is claimed of 1 line:" in page.text
    assert '<th scope="col">verdict</th>' not in text


def test_records_together(tmp_path: Path, capsys: Capture) -> None:
    write_record(tmp_path / "a.json", kind="run", body=run_body())
    write_record(tmp_path / "b.json", kind="verify", body=reports.verify_body(reports.problem()))
    assert cli.main(["report", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Record 1: regression-2: a line" in text
    assert "Record 2: p2-star a=0.3: prediction beside measurement" in text


def check_simulated(replicates: int, folder: Path, capsys: Capture) -> None:
    """That the page of a simulated regression has its errors."""
    (folder / "line.json").write_text(json.dumps(LINE))
    arguments = ["simulate", str(folder / "line.json"), "--rounds", "50", "--json", "--quiet"]
    assert cli.main([*arguments, "--replicates", f"{replicates}", "--out", str(folder)]) == 0
    record = json.loads(capsys.readouterr().out)["record"]
    assert cli.main(["report", record, "--out", str(folder)]) == 0
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "agent 1" in text
    assert "excess error" in text
    assert "Measured excess error" in text


def test_a_simulated_regression(tmp_path: Path, capsys: Capture) -> None:
    check_simulated(20, tmp_path, capsys)


def test_words_on_honesty() -> None:
    together = ErrorCurve.model_validate(curve("cooperating"))
    with plotting_style():
        for factor, words in ((3.0, "knows more"), (1.0, "word is good"), (0.5, "says more")):
            measured = [factor * value for value in together.measured]
            reported = together.reported.model_copy(update={"measured": measured})
            assert words in honesty_plot(together, reported).finding


def test_many_curves_are_cut_and_said() -> None:
    with plotting_style():
        curves = [curve(f"agent {k} alone", "alone") for k in range(12)]
        plot = errors_plot([ErrorCurve.model_validate(one) for one in curves])
        assert "3 curves are not drawn" in plot.finding
        entries = [coordinate(f"coefficient {k}") for k in range(12)]
        shown = [CoordinateCurve.model_validate(entry) for entry in entries]
        assert len(calibration_plot(shown).legend) == 10


def test_damage_is_one_line(tmp_path: Path) -> None:
    body = run_body()
    del body["content"]["alone"]["rounds"]
    with pytest.raises(ValueError, match="keys that this version writes"):
        page_of(tmp_path, body, kind="run")
    with plotting_style(), pytest.raises(KeyError):
        run_view(RunRecord.model_validate({**run_body(), "parts": ["absent"]}), key="k")

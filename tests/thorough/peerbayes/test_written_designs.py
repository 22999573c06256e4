"""Written designs that take seconds."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peerbayes.designs.outcome import weight_parts
from peerbayes.front.design import design
from peerbayes.kinds.registry import kind_of
from peerbayes.layout import render
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.problem.reading import problem_from_document
from peerbayes.report.designed import design_view
from peerbayes.settings.questions import Design
from tests.peerbayes.documents import STATIONS, changed
from tests.peerbayes.test_design import stations
from tests.peerbayes.test_written_designs import DICE, _analysis, check_file, written
from theory import Network


def test_older_records_are_shown() -> None:
    new = {"recommended", "written", "mean_slem", "stopped_by_time_budget"}
    for name in ("two-coins", "restless-ring links", "p1-regression"):
        body = design(load_problem(name), Design(replicates=0)).record().as_json()
        view = design_view(body, key="a")
        assert len(view.tables) > 1  # what is compared, and W
        older = json.loads(json.dumps(body), object_hook=lambda table: {
            key: value for key, value in table.items() if key not in new
        })  # fmt: skip
        before = design_view(older, key="a")
        assert before.tables[1:] == view.tables[1:]
        assert before.facts == view.facts
        assert before.finding == view.finding
        # No rounds are proved of links that fail.
        assert ("Recommended" in before.finding) is (name != "restless-ring links")


def test_a_changing_design_is_written(tmp_path: Path) -> None:
    again, said = written(load_problem("restless-ring links"), tmp_path / "ring.json")
    analysis = kind_of(again).analyse(again, _analysis(), None).as_json()
    assert analysis["learning"]["rate"] == pytest.approx(said.rate, rel=1e-9)
    assert analysis["learning"]["error_exponent"] == pytest.approx(said.error_exponent, rel=1e-9)
    np.testing.assert_allclose(analysis["network"]["influence"], said.influence, rtol=1e-9)


@pytest.mark.parametrize(
    ("objective", "suffix"), [("rate", "toml"), ("samples", "toml"), ("mixing", "json")]
)
def test_the_file_agrees_with_the_table(objective: str, suffix: str, tmp_path: Path) -> None:
    check_file(objective, suffix, tmp_path)


def test_another_network_than_the_designed_one_may_be_best() -> None:
    said = design(stations(), Design(objective="rate", replicates=0, delta=0.01)).as_json()
    ends = {name: row["samples"]["certified"][1] for name, row in said["baselines"].items()}
    ends["designed"] = said["samples"]["certified"][1]
    assert ends[said["recommended"]["network"]] == min(ends.values())
    assert said["recommended"]["network"] != "designed"
    assert "the objective rate costs" in said["recommended"]["sentence"]


def test_the_table_can_be_pasted() -> None:
    said = design(
        problem_from_document(DICE), Design(objective="exponent", replicates=0)
    ).document()
    lines = render(weight_parts(said)).splitlines()
    rows = [line.split()[1:] for line in lines if line[:2].strip().isdigit() and len(line) > 12]
    pasted = Network(np.array([[float(Fraction(w)) for w in row] for row in rows[-3:]]))
    np.testing.assert_allclose(pasted.weights, said.weights, atol=1.01e-6)  # type: ignore[union-attr]
    many = design(_ring(14), Design(objective="mixing", replicates=0)).document()
    text = render(weight_parts(many))
    assert "whom each agent hears" in text
    assert text.count("0.476410") == 28


def _ring(agents: int) -> Any:
    ring = changed("network", {"topology": "ring", "agents": agents}, base=STATIONS)
    return problem_from_document(changed("model.agents.1.count", agents - 1, base=ring))

"""Documents of problems of every kind: what is written is read back as the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from peerbayes.comparison import Comparison
from peerbayes.documents import Document, GraphDocument, numbers
from peerbayes.figures.canvas import plotting_style
from peerbayes.front.verify import VERIFY_RECORD
from peerbayes.kinds.changing.analyse import CHANGING_ANALYSIS
from peerbayes.kinds.changing.verify import ChangingVerification
from peerbayes.kinds.faulty.analyse import FAULTY_ANALYSIS
from peerbayes.kinds.faulty.verify import FaultyVerification
from peerbayes.kinds.finite.analyse import ANALYSIS, PROVED_ANALYSIS, analyse
from peerbayes.kinds.finite.proofs import prove
from peerbayes.kinds.finite.verify import ProblemVerification
from peerbayes.kinds.registry import kind_of, kind_of_record
from peerbayes.kinds.regression.analyse import EXACT_REGRESSION, REGRESSION_ANALYSIS
from peerbayes.kinds.regression.simulate import REGRESSION_RUN, RegressionSummary
from peerbayes.kinds.regression.verify import RegressionVerification
from peerbayes.kinds.shared.simulate import SimulationSummary
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.quantities.network import NETWORK, in_doubles
from peerbayes.quantities.numbers import ExpressionDocument, IntervalDocument, Proved
from peerbayes.quantities.quantity import Table
from peerbayes.quantities.sizes import SAMPLES, sufficient
from peerbayes.settings.questions import Analyse
from tests.peerbayes import reports
from tests.peerbayes.commands import Patch
from tests.peerbayes.golden import path_of
from theory import Network

# Documents of finitely many hypotheses -----------------------------------------------------------


def written_and_read(document: Document) -> Any:
    return type(document).model_validate(json.loads(json.dumps(document.as_json())))


def test_analyses_are_read_back_as_they_were() -> None:
    problem = load_problem("two-coins")
    document = analyse(problem).document()
    assert isinstance(document, ANALYSIS.model)
    assert written_and_read(document) == document
    for arithmetic in get_args(PROVED_ANALYSIS["arithmetic"].type):
        asked = Analyse(exact=arithmetic == "exact", certify=arithmetic == "certified")
        proved = prove(problem, asked).document()
        assert isinstance(proved, PROVED_ANALYSIS.model)
        assert proved.arithmetic == arithmetic
        assert written_and_read(proved) == proved
        # Notes of the parts are those of the whole.
        assert "notes" not in proved.as_json()["network"]


def test_a_proof_without_a_folder_leaves_nothing(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("peerbayes.kinds.finite.proofs._KEEP_SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)
    problem = load_problem("two-coins")
    result = kind_of(problem).analyse(problem, Analyse(certify=True), None)
    assert result.as_json()["record"] is None
    assert list(tmp_path.iterdir()) == []
    kept = prove(problem, Analyse(certify=True, out=tmp_path)).document()
    assert kept.record is not None
    assert kept.as_json() | {"record": None} == result.as_json()


def test_numbers_are_told_apart() -> None:
    """A fraction, an expression and an interval each keep what they are."""

    class Holder(Document):
        value: Proved

    interval = {"lower": 0.25, "upper": None}
    for value, kind in (
        ("-9/25", str),
        ({"expression": "log(2)", "lower": 0.69, "upper": 0.7}, ExpressionDocument),
        ({"expression": None, **interval}, ExpressionDocument),
        (interval, IntervalDocument),
    ):
        holder = Holder.model_validate({"value": value})
        assert isinstance(holder.value, kind)
        assert holder.as_json() == {"value": value}
    for wrong in ("0.36", {"lower": 0.25}, {**interval, "middle": 1}):
        with pytest.raises(ValidationError):
            Holder.model_validate({"value": wrong})


def test_numbers_that_are_not_finite_are_null() -> None:
    inf, nan = float("inf"), float("nan")
    assert numbers([0.5, inf, nan, -inf]) == [0.5, None, None, None]
    assert numbers([]) == []
    one = Network([[1.0]])
    document = NETWORK.document(in_doubles(one))
    assert document.second_eigenvalue is None
    assert json.loads(json.dumps(document.as_json(), allow_nan=False))["agents"] == 1


def test_what_some_objects_lack_is_not_written() -> None:
    graph = GraphDocument.of(load_problem("two-coins").network)
    assert list(graph.as_json()) == ["edges", "weights", "positions", "stationary_distribution"]
    marked = GraphDocument.of(load_problem("two-coins").network, marked=[])
    assert marked.as_json()["marked"] == []


def test_records_are_read_whatever_their_age() -> None:
    """Older records have upper limits alone, and sweeps without their slowest rates."""
    body = reports.verify_body(
        reports.problem(), reports.problem(names=("best",)), sweeps=(reports.sweep(),)
    )
    assert "side" not in body["problems"][0]["comparisons"][0]
    record = VERIFY_RECORD.read(body)
    assert record.sweeps[0].slowest == []
    problem = ProblemVerification.record.read(record.problems[0])
    assert problem.comparisons[0].side == "upper"
    assert "form" not in problem.as_json()
    simulated = SimulationSummary.record.read(reports.simulate_body())
    assert simulated.as_json() == reports.simulate_body()


def test_keys_of_later_versions_are_kept() -> None:
    later = {**reports.comparison("p", "s"), "colour": "red"}
    assert Comparison.model_validate(later).as_json() == {**later, "side": "upper"}


@pytest.mark.parametrize(
    "changes", [{"delta": 1.0}, {"chernoff": 0}, {"certified": [3]}, {"printed": "many"}]
)
def test_impossible_sample_sizes_are_refused(changes: dict[str, Any]) -> None:
    sizes = {"delta": 0.05, "printed": None, "repaired": 5, "chernoff": 3, "certified": [1, 2]}
    assert sufficient(SAMPLES.read(sizes)) == ("certified", 2)
    with pytest.raises(ValidationError):
        SAMPLES.read({**sizes, **changes})


# Types of documents against documents that were written before there were types ------------------


PRINTED = {
    "analyse changing": CHANGING_ANALYSIS,
    "analyse sequence": CHANGING_ANALYSIS,
    "analyse faulty": FAULTY_ANALYSIS,
    "analyse p1-regression": REGRESSION_ANALYSIS,
    "analyse p1-regression exact": EXACT_REGRESSION,
    "simulate p1-regression": REGRESSION_RUN,
}
VERIFIED = {
    "verify changing": ChangingVerification.record,
    "verify sequence": ChangingVerification.record,
    "verify faulty": FaultyVerification.record,
    "verify p1-regression": RegressionVerification.record,
}


def long(value: Any) -> Any:
    """The document with long lists again: even steps from the first entry to the last."""
    if isinstance(value, list):
        return [long(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if not {"length", "ends"} <= value.keys():
        return {key: long(entry) for key, entry in value.items()}
    (first, last), count = value["ends"], value["length"]
    if not isinstance(first, int | float) or not isinstance(last, int | float):
        return [long(first)] * (count - 1) + [long(last)]
    steps = np.linspace(first, last, count)
    return (steps.astype(int) if isinstance(first, int) else steps).tolist()


def golden(name: str) -> Any:
    return long(json.loads(path_of(name).read_text(encoding="utf-8")))


def body_of(name: str) -> Any:
    (record,) = golden(name)["records"].values()
    return record["body"]


def entry_of(name: str) -> Any:
    return body_of(name)["problems"][0]


def unknown(value: object, path: str = "") -> Iterator[str]:
    """Keys that a type does not know, anywhere in a document."""
    if isinstance(value, BaseModel):
        yield from (f"{path}.{key}" for key in value.model_extra or ())
        for key in type(value).model_fields:
            yield from unknown(getattr(value, key), f"{path}.{key}")
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from unknown(entry, f"{path}.{key}")
    elif isinstance(value, list):
        for entry in value:
            yield from unknown(entry, f"{path}[]")


def check(kept: Any, table: Table) -> None:
    document = table.read(kept)
    assert document.as_json() == kept
    assert list(unknown(document)) == []


@pytest.mark.parametrize("name", PRINTED)
def test_what_was_printed(name: str) -> None:
    check(golden(name)["printed"], PRINTED[name])


@pytest.mark.parametrize("name", VERIFIED)
def test_what_verify_recorded(name: str) -> None:
    for entry in body_of(name)["problems"]:
        check(entry, VERIFIED[name])


def test_what_simulate_recorded() -> None:
    check(body_of("simulate p1-regression"), RegressionSummary.record)


@pytest.mark.parametrize("name", VERIFIED)
def test_a_page_is_made_of_earlier_records(name: str) -> None:
    entry = entry_of(name)
    with plotting_style():
        view = kind_of_record(entry["form"]).view(entry, key="k")
    assert len(view.statements) == len(entry["comparisons"])
    assert view.pictures


@pytest.mark.parametrize("name", VERIFIED)
def test_a_damaged_record_is_refused(name: str) -> None:
    entry = entry_of(name)
    for key in ("analysis", "graph", "comparisons", "replicates"):
        with pytest.raises(ValidationError, match=key):
            VERIFIED[name].read({k: v for k, v in entry.items() if k != key})

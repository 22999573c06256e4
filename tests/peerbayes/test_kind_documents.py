"""Types of documents against documents that were written before there were types.

The golden files hold what each command printed and recorded then, but for the inner numbers of long
lists, for which others stand here. A type that misses a key, or that reads or writes one
differently, does not give the same document back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from peerbayes.documents import Document
from peerbayes.figures.chart import plotting_style
from peerbayes.kinds.changing.analyse import CHANGING_ANALYSIS
from peerbayes.kinds.changing.documents import ChangingRecord
from peerbayes.kinds.faulty.documents import FaultyRecord
from peerbayes.kinds.faulty.quantities import FAULTY_ANALYSIS
from peerbayes.kinds.registry import kind_of_record
from peerbayes.kinds.regression.documents import (
    ExactRegressionDocument,
    RegressionAnalysisDocument,
    RegressionRecord,
    RegressionRunDocument,
    RegressionRunRecord,
)
from tests.peerbayes.golden import path_of

PRINTED: dict[str, type[Document]] = {
    "analyse changing": CHANGING_ANALYSIS.model,
    "analyse sequence": CHANGING_ANALYSIS.model,
    "analyse faulty": FAULTY_ANALYSIS.model,
    "analyse p1-regression": RegressionAnalysisDocument,
    "analyse p1-regression exact": ExactRegressionDocument,
    "simulate p1-regression": RegressionRunDocument,
}
VERIFIED: dict[str, type[Document]] = {
    "verify changing": ChangingRecord,
    "verify sequence": ChangingRecord,
    "verify faulty": FaultyRecord,
    "verify p1-regression": RegressionRecord,
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


def check(kept: Any, kind: type[Document]) -> None:
    document = kind.model_validate(kept)
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
    check(body_of("simulate p1-regression"), RegressionRunRecord)


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
            VERIFIED[name].model_validate({k: v for k, v in entry.items() if k != key})

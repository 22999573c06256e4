"""The page of net files, and their JSON schema, know every key that the code knows."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from peerbayes.nets.sections import (
    NetSpecification,
)
from peerbayes.schemas import read_schema
from tests.peerbayes.nets.net_files import net_document

SCHEMA = Draft202012Validator(read_schema("net"))
ONE = {"files": None, "file": "all.csv"}
CLASSES = {"kind": "classes", "std": None}


@pytest.mark.parametrize(
    "document",
    [
        net_document(),
        net_document(data={"files": {"a": "a.csv"}, "target": ["u", "v"], "features": ["x"]}),
        net_document(data={**ONE, "agent": "site", "test": 0.2}),
        net_document(data={**ONE, "deal": {"by": "dirichlet", "alpha": 0.1}}),
        net_document(data={**ONE, "deal": {"by": "labels", "groups": [[0], ["b"], ["c"]]}}),
        net_document(net={"hidden": [], "convolutions": [8]}),
        net_document(net={"hidden": None, "module": "a.py:f"}),
        net_document(likelihood=CLASSES),
        net_document(likelihood={"std": 0.5}),
        net_document(
            likelihood={"kind": "heads", "std": None, "parts": [{"kind": "counts"}, CLASSES]}
            | {"parts": [{"kind": "counts", "dispersion": "learned"}]}
        ),
        net_document(training={"settings": {"rate": 0.1, "nesterov": True, "form": "x"}}),
        {**net_document(), "messages": {"codec": "sign"}},
        {
            **net_document(),
            "messages": {"codec": "d", "missing": "zero", "settings": {"inner": {"codec": "s"}}},
        },
    ],
)
def test_net_files_fit_the_schema(document: dict[str, Any]) -> None:
    NetSpecification.model_validate(document)
    SCHEMA.validate(document)


@pytest.mark.parametrize(
    "document",
    [
        net_document(data={"fles": "x"}),
        net_document(data={"files": None}),
        net_document(data={"files": 3}),
        net_document(data={**ONE, "files": "x"}),
        net_document(data={"validation": "x"}),
        net_document(net={"hidden": None}),
        net_document(net={"module": "a.py:f"}),
        net_document(likelihood={"std": "none"}),
        net_document(likelihood={"kind": "gauss"}),
        net_document(training={"rounds": 0}),
        net_document(training={"settings": {"rate": [1]}}),
        {**net_document(), "messages": {}},
        {**net_document(), "messages": {"codec": "sign", "missing": "x"}},
        {**net_document(), "messages": {"codec": "sign", "settings": {"k": [1]}}},
    ],
)
def test_what_is_no_net_file_does_not(document: dict[str, Any]) -> None:
    assert not SCHEMA.is_valid(document)
    with pytest.raises(ValueError, match="validation error"):
        NetSpecification.model_validate(document)

"""The page of net files, and their JSON schema, know every key that the code knows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic_core import PydanticUndefined

from peerbayes.nets.sections import (
    LIKELIHOODS,
    RULES,
    DataSection,
    DealSection,
    MessagesSection,
    NetSection,
    NetSpecification,
    TrainingSection,
)
from peerbayes.problem.entries import Section
from peerbayes.schemas import read_schema
from tests.peerbayes.nets.net_files import net_document

PAGE = (Path(__file__).parents[3] / "docs/reference/net-files.md").read_text(encoding="utf-8")
PLACES: list[tuple[str, type[Section]]] = [
    ("Top level", NetSpecification),
    ("`[data]`", DataSection),
    ("`[data.deal]`", DealSection),
    ("`[net]`", NetSection),
    *[("`[likelihood]`", section) for section in LIKELIHOODS.values()],
    ("`[training]`", TrainingSection),
    ("`[messages]`", MessagesSection),
]


def rows_of(heading: str) -> dict[str, str]:
    """The rows of the tables under a heading, by their first cell."""
    text = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \|(.*)$", text, re.MULTILINE))


@pytest.mark.parametrize(("heading", "section"), PLACES)
def test_every_key_is_on_the_page_and_every_default(heading: str, section: type[Section]) -> None:
    rows = rows_of(heading)
    assert section.model_fields.keys() <= rows.keys()
    for key, field in section.model_fields.items():
        if field.default not in (None, PydanticUndefined, {}):
            shown = str(field.default).lower() if field.default is not True else "true"
            assert f"`{shown}`" in rows[key] or f'`"{shown}"`' in rows[key], key


def test_the_page_has_no_key_that_there_is_not() -> None:
    known: dict[str, set[str]] = {}
    for heading, section in PLACES:
        known.setdefault(heading, set()).update(section.model_fields)
    known["`[likelihood]`"] |= set(LIKELIHOODS)  # the first table there is of kinds
    for heading, keys in known.items():
        assert rows_of(heading).keys() <= keys


def test_every_rule_and_likelihood_is_on_the_page() -> None:
    assert all(f'"{rule}"' in rows_of("`[data.deal]`")["by"] for rule in RULES)
    assert LIKELIHOODS.keys() <= rows_of("`[likelihood]`").keys()


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

"""The JSON schemas are in step with the code, accept what is good and refuse what is bad."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

import peerbayes as pb
from peerbayes.messages import nearest
from peerbayes.problem.builtins.families import BUILTINS, WrittenBuiltin
from peerbayes.problem.network_section import TOPOLOGIES, Rule
from peerbayes.problem.reading import problem_from_document
from peerbayes.schemas import SCHEMAS, read_schema
from tests.peerbayes.documents import COINS, GAUSSIAN, REMOVE, TWO_COINS, changed
from tests.peerbayes.regressions import LINE, NORMAL
from tests.peerbayes.test_agent_names import FORMS, MODEL, NAMES
from tests.peerbayes.test_faulty_problem import FAULTS
from tests.peerbayes.test_faulty_problem import document as on_torus
from tests.peerbayes.test_messages_problem import TABLES
from tests.peerbayes.test_problem import documents
from theory.network import RULES
from theory.network.topologies import TOPOLOGIES as KNOWN_TOPOLOGIES

PROBLEM = Draft202012Validator(read_schema("problem"))


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_valid_and_explained(name: str) -> None:
    schema = read_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["title"]
    assert schema["description"]
    assert json.loads(json.dumps(schema)) == schema


def test_names_are_those_of_the_floors_below() -> None:
    assert set(TOPOLOGIES) == set(KNOWN_TOPOLOGIES)
    assert set(Rule.__args__) == set(RULES)  # type: ignore[attr-defined]


def coins_on(network: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Three agents that toss coins on a network."""
    return {"name": "p", "network": network, "model": MODEL, **more}


GOOD: dict[str, dict[str, Any]] = {
    "coins": COINS,
    "thermometers": GAUSSIAN,
    "two coins": tomllib.loads(TWO_COINS),
    "line": LINE,
    "normal": NORMAL,
    "batches": changed("learning", {"batch": [4, 1]}),
    "design": changed("design", {"edges": [[0, 1]], "minimum_influence": "1/10"}),
    "outcomes": changed("model.agents", [{"count": 2, "probabilities": ["1/2", "1/2"],
                                          "log_likelihoods": [[-0.5, -1.5], [-1.0, -1.0]]}]),
    "clocks": coins_on({**FORMS["edges"], "changes": {"kind": "clocks", "rates": ["1", "2", "3"]}}),
    **{f"network: {form}": coins_on({**given, "names": NAMES}) for form, given in FORMS.items()},
    **{f"fault: {fault['behaviour']}": on_torus({"agents": [{"agents": [4], **fault}]})
       for fault in FAULTS},
    **{f"messages: {list(table.values())}": {**tomllib.loads(TWO_COINS), "messages": table}
       for table in TABLES},
}  # fmt: skip
BUILT_IN = {
    name: document
    for family in BUILTINS.values()
    if isinstance(family, WrittenBuiltin)
    for name, (document, _) in family.documents.items()
}


@pytest.mark.parametrize("name", [*GOOD, *BUILT_IN])
def test_problems_fit_go_to_a_file_and_come_back(name: str, tmp_path: Path) -> None:
    document = GOOD.get(name) or BUILT_IN[name]
    PROBLEM.validate(document)
    problem = problem_from_document(document)
    assert problem.specification is not None
    written = problem.specification.document()
    PROBLEM.validate(written)
    assert problem_from_document(written) == problem
    for ending in ("toml", "json") if name in GOOD else ():  # test_front saves built-in ones
        again = pb.load(pb.save(problem, tmp_path / f"p.{ending}"))
        assert (type(again), again.specification) == (type(problem), problem.specification)
        assert again == problem


@settings(max_examples=40, deadline=None)
@given(documents())
def test_whatever_loads_fits(document: dict[str, Any]) -> None:
    specification = problem_from_document(document).specification
    assert specification is not None
    PROBLEM.validate(document)
    PROBLEM.validate(specification.document())


@pytest.mark.parametrize(
    "document",
    [
        {},
        changed("network", REMOVE),
        changed("network.topology", "ring"),
        changed("network", {"sequence": []}),
        changed("network", {"topology": "rign"}),
        changed("network", {"edges": [[0, 1]]}),
        changed("network", {"edges": [[0, 1, 1]], "agents": 2}),
        changed("network", {"edges": [[0]], "agents": 2}),
        changed("network.weights.0.0", "nine tenths"),
        changed("network.weights.0.0", "-9/10"),
        changed("network.weights.0.0", -0.9),
        changed("network.weights.0.0", 1.9),
        changed("network.weights.0.0", True),
        changed("model.hypotheses", ["one"]),
        changed("model.hypotheses.0", ""),
        changed("model.agents", []),
        changed("model.agents.0.count", 0),
        changed("model.agents.0.count", 1.5),
        changed("model.agents.0.likelihood", REMOVE),
        changed("model.agents.0.likelihood", [["1/2", "1/2"], ["1/2", "1/2"]]),
        changed("model.agents.0.likelyhood", []),
        changed("model.agents.0.likelihood_std", 0, base=GAUSSIAN),
        changed("titel", "x"),
        changed("regression", {}),
    ],
)
def test_bad_documents_do_not(document: dict[str, Any]) -> None:
    assert not PROBLEM.is_valid(document)
    # The schema promises no more than the loader does.
    with pytest.raises(ValueError, match="expected"):
        problem_from_document(document)


def changing(kind: str, **keys: Any) -> dict[str, Any]:
    """Two coins on a network that changes."""
    return changed("network.changes", {"kind": kind, **keys})


def faulty(**keys: Any) -> dict[str, Any]:
    """Two coins, and a table of faults."""
    return changed("faults", keys)


def line(path: str, value: Any) -> dict[str, Any]:
    """The regression of the tests with one entry changed."""
    return changed(path, value, base=LINE)


SEQUENCE = {"sequence": [{"weights": [["1/2", "1/2"], ["1/2", "1/2"]]}]}


@pytest.mark.parametrize(
    "document",
    [
        changing("delays"),
        changing("delays", delay=1, delays=[[0, 1], [1, 0]]),
        changing("links", up=3),
        changing("presence", present=1.5),
        changed("network", {"sequence": [{**SEQUENCE["sequence"][0], "active": [-1]}]}),
        faulty(rule="trimmed-mean"),
        faulty(rule="clip"),
        faulty(rule="median", tolerate=1),
        faulty(radius=1.0),
        line("regression.test_second_moment", [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]]),
        line("regression.test_ranges", REMOVE),
        line("regression.agents.0.ranges", REMOVE),
        line("regression.prior_std", 1.0),
        line("faults", {"rule": "median"}),
        line("network", SEQUENCE),
        line("network.changes", {"kind": "gossip"}),
        line("messages", {"step": "1/2"}),
        {**changed("messages", {"step": "1/2"}), "faults": {"rule": "median"}},
        {**changed("messages", {"step": "1/2"}), "network": SEQUENCE},
        {**changing("gossip"), "faults": {"rule": "median"}},
        {**changed("network", SEQUENCE), "faults": {"rule": "median"}},
    ],
)
def test_what_excludes_each_other(document: dict[str, Any]) -> None:
    assert not PROBLEM.is_valid(document)
    with pytest.raises(ValueError, match="expected"):
        problem_from_document(document)


@pytest.mark.parametrize(
    "document",
    [
        changing("delays", delay=1, delays=None),
        changing("delays", delays=[[0, 1], [1, 0]]),
        changing("links", up="1/2"),
        changed("network", SEQUENCE),
        faulty(rule="median", tolerate=None),
        faulty(rule="clip", radius="1/2"),
        faulty(),
        line("regression.prior_std", None),
        line("regression.agents.0.prior_std", 1.0),
        {**changing("gossip"), "faults": None},
    ],
)
def test_what_goes_together(document: dict[str, Any]) -> None:
    problem_from_document(document)
    PROBLEM.validate(document)


@pytest.mark.parametrize("text", ["9/10", " 9/10 ", "0.9", ".9", "9.", "9e-1", "9E+1", "+1"])
def test_the_schema_knows_the_same_exact_numbers(text: str) -> None:
    number = {**read_schema("problem"), "$ref": "#/$defs/Number"}
    for key in ("type", "required", "oneOf", "allOf", "properties", "additionalProperties"):
        number.pop(key)
    assert Draft202012Validator(number).is_valid(text)
    assert Draft202012Validator(number).is_valid("-" + text.strip(" +"))
    assert not Draft202012Validator(number).is_valid(text + "x")
    assert not Draft202012Validator(number).is_valid("")


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("verify", {}),
        ("verify", [{"statement": "s"}]),
        ("analyse", {"network": {}, "learning": {}, "samples": {}}),
        ("simulate", {"rounds": 0}),
        ("list", {"problems": [{}]}),
        ("record", {"format": "another", "version": 1, "kind": "", "sha256": "", "body": 0}),
    ],
)
def test_output_schemas_refuse(name: str, bad: object) -> None:
    assert not Draft202012Validator(read_schema(name)).is_valid(bad)


@pytest.mark.parametrize(
    ("word", "words", "expected"),
    [
        ("likelyhood", ["truth", "likelihood"], "likelihood"),
        ("FASHION-MNIST", ["fashion-mnist", "digits"], "fashion-mnist"),
        ("fashion", ["fashion-mnist", "digits"], "fashion-mnist"),
        ("", ["a"], None),
        ("qqqq", ["fashion-mnist", "digits"], None),
    ],
)
def test_nearest(word: str, words: list[str], expected: str | None) -> None:
    assert nearest(word, words) == expected

"""Every JSON schema takes what is printed, and refuses it with a key lost or a number as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from peerbayes.schemas import SCHEMAS, read_schema
from tests.peerbayes.golden import HOME, PROBLEMS
from tests.peerbayes.nets.support import NUMBERS

# By schema: keys that had to be there when schemas were written by hand. ``.a[].b`` is the key
# ``b`` of the entries of the list ``a``; a star stands for any key. What had to be in intervals and
# expressions where there are only plain numbers is not in the list.
REQUIRED: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("required_keys.json").read_text(encoding="utf-8")
)


def read(*names: str) -> Any:
    """A JSON file beside this one."""
    return json.loads(Path(__file__).parent.joinpath(*names).read_text(encoding="utf-8"))


EXAMPLES: dict[str, list[Any]] = {
    **read("printed_examples.json"),
    "problem": list(PROBLEMS.values()),
    "net": [NUMBERS],
    "train": [read("nets", "printed.json")],
    "watch": [read("live", "watch", "printed.json")],
}


def whole(value: Any) -> Any:
    """A frozen document with the ends of its long lists in their places."""
    if isinstance(value, dict) and {"length", "ends"} <= set(value):
        return [whole(entry) for entry in value["ends"]]
    if isinstance(value, dict):
        return {key: whole(entry) for key, entry in value.items()}
    return [whole(entry) for entry in value] if isinstance(value, list) else value


# Keys that came after the documents were frozen, or are not frozen with them.
NEWER: dict[str, dict[str, Any]] = {
    "analyse": {"record": None},
    "design": {"recommended": None, "written": None},
}


def up_to_date(command: str, document: Any) -> Any:
    """A frozen document with the keys that it would have today."""
    if command in NEWER:
        document = NEWER[command] | document
    if "baselines" in document:
        rows = {name: {"mean_slem": None} | row for name, row in document["baselines"].items()}
        document = {"mean_slem": None} | document | {"baselines": rows}
    return document


for path in sorted(HOME.glob("*.json")):
    command = path.stem.partition("-")[0]
    if command in SCHEMAS:
        printed = whole(json.loads(path.read_text(encoding="utf-8"))["printed"])
        EXAMPLES.setdefault(command, []).append(up_to_date(command, printed))
# Without these keys a table is another one that is as good.
EITHER: dict[str, set[str]] = {
    "problem": {".network.agents"},
    "analyse": {key for key in REQUIRED["analyse"] if key.endswith(".expression")},
}


# Places that take an agent's name as well as its number.
AGENTS = {
    ".network.edges[][]",
    ".network.sequence[].active[]",
    ".faults.agents[].agents[]",
    ".design.fixed_agents[]",
}


def places(
    value: Any, names: Iterable[str] = frozenset({""})
) -> Iterator[tuple[Any, Any, set[str]]]:
    """Every entry, once: what holds it, its key there, and all that the place may be called."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        steps = ("[]",) if isinstance(value, list) else (f".{key}", ".*")
        inner = {name + step for name in names for step in steps}
        yield value, key, inner
        if isinstance(entry, dict | list):
            yield from places(entry, inner)


def required(schema: Any, root: Any, place: str = "") -> set[str]:
    """The keys that a schema asks for, in one of its alternatives at least."""
    found = {f"{place}.{key}" for key in schema.get("required", ())}
    inner = [(schema["properties"][key], f".{key}") for key in schema.get("properties", ())]
    for key in ("anyOf", "oneOf", "allOf"):
        inner += [(one, "") for one in schema.get(key, ())]
    for key, step in (("items", "[]"), ("additionalProperties", ".*")):
        inner += [(schema[key], step)] if isinstance(schema.get(key), dict) else []
    if "$ref" in schema:
        inner.append((root["$defs"][schema["$ref"].rpartition("/")[2]], ""))
    return found.union(*(required(one, root, place + step) for one, step in inner))


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_key_is_asked_for_less(name: str) -> None:
    schema = read_schema(name)
    assert set(REQUIRED[name]) <= required(schema, schema)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_lost_key_and_a_number_as_text_are_refused(name: str) -> None:
    validator = Draft202012Validator(read_schema(name))
    known = set(REQUIRED[name]) - EITHER.get(name, set())
    accepted, tried = [], set()
    for document in EXAMPLES[name]:
        validator.validate(document)
        changed = deepcopy(document)
        for holder, key, names in list(places(changed)):
            value = holder[key]
            # Once for each place and the keys beside it: entries of lists are alike, and so is what
            # the list above knows by a star.
            beside = frozenset(holder) if isinstance(holder, dict) else None
            if (place := (frozenset(names & known or names), beside, type(value))) in tried:
                continue
            tried.add(place)
            if isinstance(holder, dict) and names & known:
                del holder[key]
                accepted += [f"{sorted(names)} lost"] * validator.is_valid(changed)
            if type(value) in (int, float) and not names & AGENTS:
                holder[key] = "so"
                accepted += [f"{sorted(names)} as text"] * validator.is_valid(changed)
            holder[key] = value
    assert sorted(set(accepted)) == []


def test_a_weaker_schema_is_noticed() -> None:
    schema = read_schema("run")
    schema["$defs"]["Line"]["required"].remove("remark")
    assert set(REQUIRED["run"]) - required(schema, schema) == {".lines[].remark"}

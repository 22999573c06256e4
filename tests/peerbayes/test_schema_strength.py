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
LINE = {
    "what": "error", "printed": "", "measured": 1.5, "standard_error": None, "predicted": 1,
    "holds": True, "remark": "",
}  # fmt: skip
WITNESS = {
    "role": "support", "text": "t", "holds": True, "predicted": None, "measured": 0.5, "cases": 3,
    "closest": 0.1,
}  # fmt: skip
EXAMPLES: dict[str, list[Any]] = {
    "problem": list(PROBLEMS.values()),
    "record": [
        {"format": "peerbayes-record", "version": 1, "kind": "run", "sha256": 64 * "0", "body": []}
    ],
    "run": [
        {
            "experiment": "regression-2", "title": "t", "source": "s", "seed": 0, "replicates": 2,
            "parts": ["a"], "lines": [LINE], "reused": [], "record": "r", "report": "p",
        }
    ],
    "net": [NUMBERS],
    "train": [
        json.loads(
            Path(__file__).with_name("nets").joinpath("printed.json").read_text(encoding="utf-8")
        )
    ],
    "campaign": [
        {
            "build": "0123456789ab", "out": "o", "records": "r", "hours_left": 0.5,
            "finished": [], "parts": [
                {
                    "row": "r", "part": "p", "state": "missing", "share": 0.25, "seconds": 1.0,
                    "build": "", "remark": "",
                }
            ],
        }
    ],
    "figures": [
        {
            "figures": [
                {
                    "name": "p1-2", "source": "P1 Fig. 2", "shows": "s", "sentence": "s",
                    "verdict": "not reproduced", "builds": ["0123456789ab"],
                    "checks": [
                        {
                            "what": "w", "printed": "85.8", "measured": 71.7, "wanted": "85.8 ± 2",
                            "holds": False, "reason": "r",
                        }
                    ],
                    "panels": [
                        {
                            "title": "t", "x": "round", "y": "y", "log_y": False, "levels": [],
                            "curves": [
                                {"name": "n", "along": [1.0], "values": [0.5], "dashed": False}
                            ],
                        }
                    ],
                    "missing": [{"part": "p", "lacks": "the record", "command": "c"}],
                }
            ],
            "record": "r", "report": "p",
        }
    ],
    "keys": [
        {
            "network": "0123456789abcdef", "epoch": 1, "agents": 2, "notes": [],
            "keys": [
                {
                    "folder": "agents/0", "name": "0", "role": "agent", "expires": "2030-01-01",
                    "fault": "",
                }
            ],
        }
    ],
    "router": [{"seconds": 1.5, "epoch": None, "refused": {"not-allowed": 3}}],
    "launch": [
        {
            "problem": "two-coins", "network": "0123456789abcdef", "pace": "lockstep",
            "rounds": 50, "seed": 4, "secured": False, "seconds": 2.5, "seconds_to_start": 1.5,
            "hypotheses": ["fair", "bent"], "reports": [],
            "agents": [
                {
                    "agent": "0", "done": True, "rounds": 50, "rounds_per_second": 100.0,
                    "probabilities": [0.25, 0.75], "belief": {},
                    "refused": 0, "rss_mb": 106.5, "deaths": 0, "code": 0,
                }
            ],
        }
    ],
    "watch": [
        json.loads(
            Path(__file__).parent.joinpath("live", "watch", "printed.json").read_text("utf-8")
        )
    ],
    "claims": [
        [
            {
                "key": "k-1", "statement": "s", "words": "w", "latex": "l", "source": "P1",
                "published": True, "verdict": "holds", "condition": "", "repaired": "",
                "predicted": 1.0, "measured": 1.0, "standard_error": None, "kind": "exact",
                "holds": True, "confirmed": True, "witness": "w", "cases": 3,
                "witnesses": [WITNESS],
            }
        ]
    ],
}  # fmt: skip


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
CASES = [(name, example) for name in SCHEMAS for example in EXAMPLES[name]]


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


@pytest.mark.parametrize(("name", "document"), CASES)
def test_a_lost_key_and_a_number_as_text_are_refused(name: str, document: Any) -> None:
    validator = Draft202012Validator(read_schema(name))
    validator.validate(document)
    changed = deepcopy(document)
    known = set(REQUIRED[name]) - EITHER.get(name, set())
    accepted = []
    for holder, key, names in list(places(changed)):
        value = holder[key]
        if isinstance(holder, dict) and names & known:
            del holder[key]
            accepted += [f"{sorted(names)} lost"] * validator.is_valid(changed)
        if isinstance(value, int | float) and not isinstance(value, bool):
            holder[key] = "so"
            accepted += [f"{sorted(names)} as text"] * validator.is_valid(changed)
        holder[key] = value
    assert sorted(set(accepted)) == []


def test_a_weaker_schema_is_noticed() -> None:
    schema = read_schema("run")
    schema["$defs"]["Line"]["required"].remove("remark")
    assert set(REQUIRED["run"]) - required(schema, schema) == {".lines[].remark"}

"""The reference of JSON keys: made from schemas, in which every key has a meaning."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peerbayes.schemas import SCHEMAS, read_schema

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "reference/json.md"
PRINTED = tuple(name for name in SCHEMAS if name not in {"problem", "net", "record"})
MADE = runpy.run_path(str(DOCS / "key_tables.py"))
key_table, variants = MADE["table"], MADE["variants"]
DIRECTIVES = re.findall(r"^```\{keys\} (.+)$", PAGE.read_text("utf-8"), re.MULTILINE)


def keys_without_meaning(schema: Any) -> Iterator[str]:
    objects = schema.get("$defs", {})
    for title, thing in {"": schema, **objects}.items():
        for key, value in thing.get("properties", {}).items():
            if not value.get("description"):
                yield f"{title}.{key}"


@pytest.mark.parametrize("name", PRINTED)
def test_every_key_of_a_schema_has_a_meaning(name: str) -> None:
    assert list(keys_without_meaning(read_schema(name))) == []


@pytest.mark.parametrize("directive", DIRECTIVES)
def test_every_table_of_the_page_can_be_made(directive: str) -> None:
    name, *objects = directive.split()
    rows = list(key_table(name, *(one.lstrip("-") for one in objects)))
    assert len(rows) > 3
    assert all(
        re.fullmatch(r"\| (`[\w.\[\]*]+`|key) \| .+ \|", row) for row in rows if "---" not in row
    )


@pytest.mark.parametrize("name", ["problem", "net"])
def test_the_page_of_a_file_has_every_section(name: str) -> None:
    """By a table made from the schema, or, of what differs by a word alone, a row with its keys."""
    page = (DOCS / f"reference/{name}-files.md").read_text("utf-8")
    apart = re.findall(r"^```\{variants\} (.+)$", page, re.MULTILINE)
    page += "\n".join(row for words in apart for row in variants(*words.split()))
    made = set(re.findall(rf"^```\{{keys\}} {name} (\w+)$", page, re.MULTILINE))
    schema = read_schema(name)
    assert f"```{{keys}} {name}\n" in page
    for title, section in schema["$defs"].items():
        keys = section.get("properties", {})
        # The page of net files has tables of its own sections; the others are of problem files.
        elsewhere = name == "net" and title in read_schema("problem")["$defs"]
        if not keys or title in made or (elsewhere and title != "MessagesSection"):
            continue
        words = [word for key in ("kind", "behaviour") if (word := keys.get(key, {}).get("const"))]
        shown = keys.keys() - {"kind", "behaviour", "agents", "link"}
        rows = [row for row in page.splitlines() if f"| `{words[0]}`" in row] if words else [page]
        assert all(f"`{key}`" in rows[0] for key in shown), title


def test_a_table_of_a_file_has_words_and_what_is_left_out() -> None:
    rows = list(key_table("net", "TrainingSection"))
    (schedule,) = (row for row in rows if row.startswith("| `schedule`"))
    assert schedule.endswith('`cosine`, `geometric`. Left out: `"cosine"`. |')
    assert any(row.startswith("| `rounds`") and row.endswith("Required. |") for row in rows)


def test_the_page_has_a_table_for_everything_that_is_printed() -> None:
    named = {directive.split()[0] for directive in DIRECTIVES}
    assert named == {*PRINTED, "peerbayes.live.watch.reports.Report"}


def test_objects_that_a_word_tells_apart_are_rows_with_their_own_keys() -> None:
    rows = list(variants("problem", "behaviour"))
    (push,) = (row for row in rows if row.startswith("| `push` |"))
    assert "`hypothesis`: The hypothesis it speaks for. `strength`: " in push
    assert not any("`agents`" in row for row in rows)  # all have it
    likelihoods = [row.split("`")[1] for row in list(variants("net", "kind", "Section"))[2:]]
    assert likelihoods == ["classes", "counts", "gaussian", "heads"]
    with pytest.raises(ValueError, match="variants: expected a key of objects of net, got 'type'"):
        list(variants("net", "type"))


def test_keys_of_inner_objects_follow_by_their_path() -> None:
    keys = [row.split("`")[1] for row in list(key_table("run"))[2:]]
    assert "lines" in keys
    assert "lines[].what" in keys
    assert "learning.rate" in "".join(key_table("analyse", "AnalysisDocument"))
    assert "learning.rate" not in "".join(
        key_table("analyse", "AnalysisDocument", "LearningDocument")
    )


def test_an_object_that_is_not_there_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"keys: expected objects of run, \[.*Line.*\], got \{'Lin'\}"
    ):
        list(key_table("run", "Lin"))

"""Tables of JSON keys, made from the schemas of what commands print.

As a Sphinx extension it gives pages written in Markdown a directive,

    ```{keys} analyse AnalysisDocument
    ```

which becomes a table of the keys of that object in the schema ``analyse``: what each is, as its
declaration says. Keys of objects inside it follow, joined by dots (``learning.rate``, and
``lines[].what`` of each of a list). Objects that are named after the first, with a minus, are left
to tables of their own. Without an object it is the whole of what is printed. What has no schema of
its own goes by the place of its class, ``peerbayes.live.watch.reports.Report``.

Of the schemas of files, ``problem`` and ``net``, a row says besides which words a key may have,
what it is where it is left out, and whether it may be; objects inside have tables of their own.

    ```{variants} problem behaviour
    ```

becomes a table of the objects of a schema that a word under the key ``behaviour`` tells apart, each
with its other keys but those that all of them have. A third word is how their names end, where one
key tells apart objects of several kinds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from peerbayes.schemas import SCHEMAS, read_schema

Schema = Mapping[str, Any]
FILES = ("problem", "net")


def table(schema: str, of: str | None = None, *apart: str) -> Iterator[str]:
    """Yield the lines of the table of an object's keys, in Markdown.

    Parameters
    ----------
    schema
        Name of a schema.
    of
        Name of one of its objects; None: the whole.
    apart
        Objects whose keys are not listed here.

    Raises
    ------
    ValueError
        If there is no such schema or object.
    """
    whole = _schema(schema)
    objects = whole.get("$defs", {})
    missing = {name for name in (of, *apart) if name is not None} - set(objects)
    if missing:
        raise ValueError(f"keys: expected objects of {schema}, {sorted(objects)}, got {missing}")
    yield "| key | value |"
    yield "|---|---|"
    top = whole if of is None else objects[of]
    if schema in FILES:
        yield from _of_file(top, objects)
        return
    for key, meaning in _rows(top.get("items", top), objects, frozenset(apart)):
        yield f"| `{key}` | {meaning.replace('|', chr(92) + '|')} |"


def variants(schema: str, key: str, ending: str = "") -> Iterator[str]:
    """Yield the lines of the table of objects that a word under `key` tells apart, in Markdown.

    Raises
    ------
    ValueError
        If there are none.
    """
    found = {
        one["properties"][key]["const"]: one
        for name, one in _schema(schema)["$defs"].items()
        if "const" in one.get("properties", {}).get(key, ()) and name.endswith(ending)
    }
    if not found:
        raise ValueError(f"variants: expected a key of objects of {schema}, got {key!r}")
    shared = set.intersection(*(set(one["properties"]) for one in found.values()))
    yield f"| `{key}` | | keys |"
    yield "|---|---|---|"
    for word, one in found.items():
        own = {k: v for k, v in one["properties"].items() if k not in shared}
        keys = " ".join(f"`{name}`: {value.get('description', '')}" for name, value in own.items())
        yield f"| `{word}` | {one.get('description', '')} | {keys} |".replace("\n", " ")


def _of_file(top: Schema, objects: Schema) -> Iterator[str]:
    """Rows of a section of a file."""
    for key, value in top.get("properties", {}).items():
        words, names = value.get("description", ""), [*_words(value, objects)]
        if names:
            words += " " + ", ".join(f"`{name}`" for name in dict.fromkeys(names)) + "."
        if "left out" not in words:
            default = value.get("default")
            if key in top.get("required", ()):
                words += " Required."
            elif default not in (None, [], {}):
                words += f" Left out: `{json.dumps(default)}`."
        yield f"| `{key}` | {words.strip().replace('|', chr(92) + '|')} |"


def _words(schema: Schema, objects: Schema) -> Iterator[str]:
    """The words that a key may have, where they are known."""
    if "$ref" in schema:
        yield from _words(objects[str(schema["$ref"]).rpartition("/")[2]], objects)
    yield from schema.get("enum", ())
    if "const" in schema:
        yield schema["const"]
    for one in schema.get("anyOf", ()):
        yield from _words(one, objects)


def _rows(schema: Schema, objects: Schema, apart: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Keys of an object and of those inside it, each with its meaning."""
    schema, _, name = _seen(schema, objects)
    for key, value in schema.get("properties", {}).items():
        inner, mark, inside = _seen(value, objects)
        words = value.get("description") or (inner.get("description", "") if inside else "")
        yield key, words
        if inside and inside not in apart:
            for below, meaning in _rows(inner, objects, apart | {name, inside}):
                yield f"{key}{mark}.{below}", meaning


def _seen(schema: Schema, objects: Schema) -> tuple[Schema, str, str]:
    """What a value is in the end: its schema, the mark of lists, and the name of an object."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return objects[name], "", name
    if schema.get("type") == "array" and "items" in schema:
        found, mark, name = _seen(schema["items"], objects)
        return (found, "[]" + mark, name) if name else (schema, "", "")
    if isinstance(schema.get("additionalProperties"), Mapping):
        found, mark, name = _seen(schema["additionalProperties"], objects)
        return (found, ".*" + mark, name) if name else (schema, "", "")
    for one in schema.get("anyOf", ()):
        found, mark, name = _seen(one, objects)
        if name:
            return found, mark, name
    return schema, "", ""


@cache
def _schema(name: str) -> Schema:
    if name not in SCHEMAS and "." in name:
        module, _, model = name.rpartition(".")
        found: Schema = getattr(import_module(module), model).model_json_schema()
        return found
    return read_schema(name)


def read_all(_: Any) -> None:
    """Read the schemas before modules are documented: autodoc imports some of them anew."""
    for name in SCHEMAS:
        _schema(name)


class Keys(SphinxDirective):
    """The directives."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        schema, *objects = self.arguments[0].split()
        if self.name == "variants":
            lines = list(variants(schema, *objects))
        else:
            lines = list(table(schema, *(name.lstrip("-") for name in objects)))
        holder = nodes.container()
        source, line = self.get_source_info()
        self.state.nested_parse(
            StringList(lines, source=f"{source}:{line}"), self.content_offset, holder
        )
        return holder.children


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of the directives."""
    for name in ("keys", "variants"):
        app.add_directive(name, Keys)
    app.connect("builder-inited", read_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

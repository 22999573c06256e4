"""Reading a TOML or JSON file into plain tables, with errors of one line.

Duplicate keys are refused in both formats: the second would silently win in JSON.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peerbayes.messages import describe, input_error, shorten

# Keys of so many parts between dots: reading them takes a time that grows with the square.
_DEEPEST = 200
_DEEP_KEY = re.compile(
    r"(?:^|[{,])[ \t]*\[{0,2}"
    rf"(?:[ \t]*(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*\.){{{_DEEPEST}}}",
    re.MULTILINE,
)


def read_document(path: Path) -> dict[str, Any]:
    """The tables of a file; JSON if its name ends in ``.json`` or it opens with a brace.

    Raises
    ------
    ValueError
        If the file cannot be read, or is not valid TOML or JSON; in one line that names the file
        and, for a syntax error, the line.
    """
    source = str(path)
    text = _read_text(path)
    is_json = path.suffix.lower() == ".json" or (
        path.suffix.lower() != ".toml" and re.match(r"\s*(\[\s*)?\{", text) is not None
    )
    if not is_json:
        _check_keys(source, text)
    try:
        document = _parse_json(text) if is_json else tomllib.loads(text)
    except json.JSONDecodeError as error:
        where = f"{source}: line {error.lineno}, column {error.colno}"
        raise input_error(where, (), "valid JSON", repr(error.msg), "mend the syntax") from None
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(source, str(error)) from None
    except RecursionError:
        raise input_error(source, (), "a few levels of brackets", "hundreds", "use fewer") from None
    except ValueError as error:
        # Such as a key given twice, or an integer of more digits than Python reads.
        got = shorten(str(error), length=100)
        raise input_error(source, (), "valid values", got, "mend that value") from None
    if not isinstance(document, dict):
        remedy = 'begin with a brace, {"network": …, "model": …}'
        if isinstance(document, list) and len(document) == 1:
            remedy = "take it out of the square brackets"
        raise input_error(source, (), "a table, in braces", describe(document), remedy)
    return document


def _read_text(path: Path) -> str:
    source = str(path)
    wanted = "a readable TOML or JSON file"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        remedy = "correct the path; 'peerbayes list' shows the built-in problems"
        raise input_error(source, (), wanted, "no such file", remedy) from None
    except IsADirectoryError:
        raise input_error(source, (), wanted, "a directory", "name a file inside it") from None
    except (OSError, ValueError) as error:
        # ValueError: a path with a null character.
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        remedy = "correct the path or its permissions"
        raise input_error(source, (), wanted, reason, remedy) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"{source}: line {content.count(bytes([10]), 0, error.start) + 1}"
        raise input_error(where, (), "UTF-8 text", "other bytes", "save it as UTF-8") from None


def _toml_error(source: str, text: str) -> ValueError:
    """The parser's ``reason (at line 3, column 5)``, with the line moved to the front."""
    reason, bracket, place = text.rpartition(" (at ")
    if not bracket:
        return input_error(source, (), "valid TOML", repr(text), "mend the syntax")
    where = f"{source}: {place.rstrip(')')}"
    return input_error(where, (), "valid TOML", repr(reason), "mend the syntax there")


def _check_keys(source: str, text: str) -> None:
    """Refuse keys of very many parts, before they are read."""
    deep = _DEEP_KEY.search(text)
    if deep is not None:
        where = f"{source}: line {text.count(chr(10), 0, deep.start()) + 1}"
        raise input_error(where, (), f"a key of at most {_DEEPEST} parts", "more", "shorten it")


def _parse_json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_without_duplicates)


def _without_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for k, key in enumerate(keys) if key in keys[:k])
        raise ValueError(f"the key {twice!r} twice in one table")
    return table

"""Reading a TOML or JSON file into plain tables, with errors of one line.

Duplicate keys are refused in both formats: the second would silently win in JSON.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from exact.whole_files import MOST_BYTES
from peerbayes.messages import describe, input_error, shorten
from peerbayes.records import check_folder, unwritable, write_whole
from theory.validation import fail

STANDARD_INPUT = "-"
_ELSEWHERE = "name another place"
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
    source = source_of(path)
    text = read_text(path)
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
        raise _toml_error(source, str(error), path.suffix) from None
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


def source_of(path: Path) -> str:
    """What messages call a file; ``-`` is standard input."""
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


def read_text(
    path: Path,
    *,
    wanted: str = "a readable TOML or JSON file",
    remedy: str = "correct the path; 'peerbayes list' shows the built-in problems",
    most: int = MOST_BYTES,
) -> str:
    """The text of a file, or of standard input.

    Parameters
    ----------
    wanted, remedy
        What messages say was expected, and what to do if there is no such file.
    most
        Bytes of the largest file that is read.

    Raises
    ------
    ValueError
        If it cannot be read, is too large, or is no UTF-8.
    """
    source = source_of(path)
    try:
        if str(path) == STANDARD_INPUT:
            content = sys.stdin.buffer.read(most + 1)
        else:
            with path.open("rb") as file:  # which may be a pipe: of a shell, say
                content = file.read(most + 1)
    except FileNotFoundError:
        raise input_error(source, (), wanted, "no such file", remedy) from None
    except IsADirectoryError:
        raise input_error(source, (), wanted, "a directory", "name a file inside it") from None
    except (OSError, ValueError) as error:
        # ValueError: a path with a null character.
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        remedy = "correct the path or its permissions"
        raise input_error(source, (), wanted, reason, remedy) from None
    if len(content) > most:
        got = f"more than {most >> 20} MiB"
        raise input_error(source, (), wanted, got, "name another file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"{source}: line {content.count(bytes([10]), 0, error.start) + 1}"
        remedy = "save it as UTF-8"
        if path.suffix.lower() == ".npy":
            remedy = 'write the matrix as text: numpy.savetxt("W.csv", W, delimiter=",")'
        raise input_error(where, (), "UTF-8 text", "other bytes", remedy) from None


def _toml_error(source: str, text: str, ending: str) -> ValueError:
    """The parser's ``reason (at line 3, column 5)``, with the line moved to the front.

    A file with another ending may be a graph, whose form its name has to say.
    """
    remedy = "mend the syntax there"
    if ending.lower() not in ("", ".toml"):
        remedy += "; a graph's file ends in .graphml, .edges, .csv, … by what it is"
    reason, bracket, place = text.rpartition(" (at ")
    if not bracket:
        return input_error(source, (), "valid TOML", repr(text), "mend the syntax")
    where = f"{source}: {place.rstrip(')')}"
    return input_error(where, (), "valid TOML", repr(reason), remedy)


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


def write_document(path: Path, document: Mapping[str, Any]) -> Path:
    """Write tables to a TOML or JSON file, by its ending, in place of what stands there.

    Raises
    ------
    ValueError
        If the ending is another or the file cannot be written.
    """
    _check_suffix("path", path)
    tables = _without_nulls(document)
    if path.suffix.lower() == ".toml":
        import tomli_w

        text = _narrowed(tomli_w.dumps(tables), tables)
    else:
        text = json.dumps(tables, indent=2, ensure_ascii=False) + "\n"
    write_whole(path, text, remedy=_ELSEWHERE)
    return path


def check_writable(argument: str, path: Path, *, given: str | Path | None = None) -> None:
    """See that a problem file can be written, before anything takes long.

    Parameters
    ----------
    given
        The file that the problem was read from, which is not written over; None if there is none.

    Raises
    ------
    ValueError
        If the name does not end in .toml or .json or is none that a file can have, the folder does
        not exist or cannot be written, or it is the file of the problem.
    """
    _check_suffix(argument, path)
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.lstat()
    except (OSError, ValueError) as error:
        # Such as a name that is too long, or that has a null character.
        raise unwritable(path, "a file", error, remedy=_ELSEWHERE) from None
    if path.is_dir() or not path.parent.is_dir():
        got = f"{path}, {'a folder' if path.is_dir() else 'in a folder that does not exist'}"
        raise fail(argument, "a file in an existing folder", got, _ELSEWHERE)
    check_folder(path.parent, remedy=_ELSEWHERE)
    if given is not None and path.exists() and os.path.exists(given) and path.samefile(given):
        raise fail(
            argument, "another file than the problem's own", str(path), "choose another name"
        )


def _check_suffix(argument: str, path: Path) -> None:
    if path.suffix.lower() not in (".toml", ".json"):
        wanted = "a file name that ends in .toml or .json"
        raise fail(argument, wanted, repr(str(path)), "choose one of the two")


def _narrowed(text: str, document: dict[str, Any]) -> str:
    """TOML with lists of numbers and names on one line each, where that says the same."""
    flat = re.sub(
        r"\[\n\s+([^\[\]{}#]*?),?\n\s*\]",
        lambda found: "[" + re.sub(r",\n\s+", ", ", found[1]) + "]",
        text,
    )
    try:
        return flat if tomllib.loads(flat) == document else text
    except tomllib.TOMLDecodeError:
        return text


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(entry) for key, entry in value.items() if entry is not None}
    return [_without_nulls(entry) for entry in value] if isinstance(value, list) else value

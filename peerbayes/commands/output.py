"""What commands print on standard output, and the exit codes they end with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from peerbayes.kinds.registry import Result

DONE, CHECK_FAILED, BAD_INPUT, FAULT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 70, 130, 141


def show(result: Result, *, json: bool, code: int = DONE) -> int:
    """Print a result as JSON, or as tables for people."""
    if json:
        return print_json(result.as_json(), code)
    return print_tables(result.tables(), code)


def print_json(result: Any, code: int = DONE) -> int:
    """Print a result as JSON."""
    import json

    from peerbayes.records import plain

    # Escapes for all but ASCII: valid wherever standard output goes.
    return _put(json.dumps(plain(result), indent=2, allow_nan=False) + "\n", code)


def print_tables(parts: Sequence[RenderableType], code: int = DONE) -> int:
    """Print a result for people."""
    from peerbayes.layout import render

    return _put(render(parts), code)


def print_lines(text: str, code: int = DONE) -> int:
    """Write lines for people to standard output."""
    from peerbayes.terminal import visible

    return _put(visible(text), code)


def _put(text: str, code: int = DONE) -> int:
    """Write to standard output; a reader that has gone away ends the program quietly."""
    from peerbayes.terminal import write_out

    try:
        write_out(text)
    except BrokenPipeError:
        raise typer.Exit(BROKEN_PIPE) from None
    return code

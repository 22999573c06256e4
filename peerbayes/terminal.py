"""What goes to a terminal: text in which nothing acts, and streams that may be closed.

Names in problem files, names of files and messages made of them are anybody's: control characters
and escape sequences in them could move the cursor or hide text, and characters that turn the
direction of writing could make one thing look like another. All text for people goes through
:func:`visible` on its way out. JSON and records keep names as they are, escaped where JSON asks
for it.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

# Control, format (direction, invisible), half of a pair, line and paragraph separators.
_ACTING = ("Cc", "Cf", "Cs", "Zl", "Zp")


def visible(text: str) -> str:
    r"""The text with every character that acts instead of showing written as its escape.

    Line feeds and tabulators stay.

    >>> print(visible("a\x1b[31mb, \u202egnp.exe, \x9b2J"))
    a\x1b[31mb, \u202egnp.exe, \x9b2J
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _escape(c) if unicodedata.category(c) in _ACTING and c not in "\n\t" else c for c in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


class Visible:
    """A part of a result for `rich`, in which nothing acts but the styles that it was given."""

    def __init__(self, part: RenderableType) -> None:
        self._part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        from rich.segment import Segment

        for segment in console.render(self._part, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


def say(text: str) -> None:
    """Say something beside the result, on standard error; if nobody can hear it, so be it."""
    with suppress(OSError, ValueError):
        print(visible(text), file=sys.stderr, flush=True)


def check_streams() -> None:
    """See that there is somewhere to write a result to; messages go nowhere if nobody hears them.

    Closed descriptors are opened on the null device, lest the next file gets their numbers and
    with them what was meant for the stream.

    Raises
    ------
    ValueError
        If standard output is closed; in one line.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the end
    if sys.stdout is None:
        from theory.validation import fail

        raise fail(
            "standard output", "an open stream", "a closed one",
            "leave it open, or send it to a file or to the null device",
        )  # fmt: skip


def write_out(text: str) -> None:
    """Write to standard output, what its encoding lacks as question marks.

    Raises
    ------
    BrokenPipeError
        If whoever read it has gone away.
    ValueError
        If it cannot be written; in one line.
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        settle_output()
        if isinstance(error, BrokenPipeError):
            raise
        from theory.validation import fail

        reason = (error.strerror or str(error)).lower()
        remedy = "send it to a place with room"
        raise fail("standard output", "a stream that can be written", reason, remedy) from None


def settle_output() -> None:
    """Forget what cannot be written any more: Python flushes once more at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except ValueError:  # it is closed
            continue

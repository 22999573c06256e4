"""Laying out tables for the width at hand, so that no number and no word is ever cut.

A table is drawn as it is where it fits. Where it does not, each row becomes a block of lines, a
cell a line. Only a number or a name that is longer than a line runs over its end.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes.terminal import Visible

PLAIN_WIDTH = 80
_NARROWEST, _WIDEST = 20, 1000
# A longer name may be broken where a column ends.
_LONGEST_WORD = 20
_NUMBER = re.compile(r"\d+(?:[.,/]\d+)*(?:e[+-]?\d+)?")
# Blanks between thousands belong to the number.
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?: \d{3})+(?![\d.])")
# What stays on one line, and the blanks behind it.
_WORD = re.compile(rf"\s*(?:{_THOUSANDS.pattern}\S*|\S+)\s*")


def render(parts: Sequence[RenderableType], *, stream: TextIO | None = None) -> str:
    """The parts as text: with colours and the terminal's width if `stream` is one, else plain."""
    stream = sys.stdout if stream is None else stream
    terminal = stream.isatty()
    # rich looks at COLUMNS too, but of a terminal alone.
    width = Console(file=stream).width if terminal else _columns()
    console = _console(width, terminal=terminal)
    for part in parts:
        if isinstance(part, Table) and not _fits(part, width):
            _print_lines(console, _records(part, width))
        elif isinstance(part, Text):
            _print_lines(console, _broken(part, width))
        else:
            console.print(Visible(part))
    lines = [line.rstrip() for line in _written(console).split("\n")]
    return "\n".join(lines).strip("\n") + "\n"


def _columns() -> int:
    """The width where there is no terminal: what COLUMNS says, if it is a width."""
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isdecimal() and _NARROWEST <= int(said) <= _WIDEST else PLAIN_WIDTH


def _console(width: int, *, terminal: bool) -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=terminal,
        no_color=not terminal,
        width=width,
        highlight=False,
        emoji=False,
        markup=False,
    )


def _written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _print_lines(console: Console, lines: Iterable[Text]) -> None:
    for line in lines:
        console.print(Visible(line), no_wrap=True, overflow="ignore", crop=False)


def _fits(table: Table, width: int) -> bool:
    """Whether the table, drawn in this width, has every number and every word whole."""
    console = _console(width, terminal=False)
    console.print(table)
    drawn = _written(console)
    texts = [cell.plain for column in table.columns for cell in _cells(column.cells)]
    texts += [_text(column.header).plain for column in table.columns if table.show_header]
    texts.append(_title(table).plain)
    wanted = "\n".join(texts)
    return not (_words(wanted) - _words(drawn) or _numbers(wanted) - _numbers(drawn))


def _words(text: str) -> Counter[str]:
    return Counter(word for word in text.split() if len(word) <= _LONGEST_WORD)


def _numbers(text: str) -> Counter[str]:
    return Counter(_NUMBER.findall(text)) + Counter(_THOUSANDS.findall(text))


def _text(cell: RenderableType) -> Text:
    """A cell as styled text; tables here hold nothing else."""
    assert isinstance(cell, str | Text)
    return cell.copy() if isinstance(cell, Text) else Text(cell)


def _title(table: Table) -> Text:
    return Text("" if table.title is None else str(table.title), style="table.title")


def _cells(cells: Iterable[RenderableType]) -> list[Text]:
    return [_text(cell) for cell in cells]


def _records(table: Table, width: int) -> Iterator[Text]:
    """Each row of the table as lines: its first cell, then a label and a value a line."""
    if table.title is not None:
        yield from _broken(_title(table), width)
    headers = _cells(column.header for column in table.columns)
    rows = zip(*(_cells(column.cells) for column in table.columns), strict=True)
    if len(headers) == 2:
        # A name and one thing to be said of it.
        for name, value in rows:
            yield from _broken(_labelled(name, value), width, hanging=2)
    else:
        for first, *others in rows:
            named = _labelled(headers[0], first) if _is_figure(first) else first
            yield from _broken(named, width, hanging=2)
            for header, value in zip(headers[1:], others, strict=True):
                if not value.plain:
                    continue
                yield from _broken(_labelled(header, value), width, indent=2, hanging=4)
    yield Text()


def _is_figure(cell: Text) -> bool:
    """Whether a cell says nothing without its header."""
    return not any(sign.isalpha() for sign in cell.plain)


def _labelled(label: Text, value: Text) -> Text:
    if not label.plain.strip():
        return value
    label.rstrip()
    return Text.assemble(label, ": ", value) if value.plain else label


def _broken(text: Text, width: int, *, indent: int = 0, hanging: int = 0) -> Iterator[Text]:
    """The text in lines that end between words."""
    hanging = max(indent, hanging)
    first = True
    for paragraph in text.split("\n", allow_blank=True):
        for line in paragraph.divide(_line_starts(paragraph.plain, width - hanging)):
            line.rstrip()
            line.pad_left(indent if first else hanging)
            first = False
            yield line


def _line_starts(text: str, width: int) -> list[int]:
    """Where new lines begin, so that none is longer than it must be."""
    starts: list[int] = []
    column = 0
    for word in _WORD.finditer(text):
        length = cell_len(word[0].rstrip())
        if column and column + length > width:
            starts.append(word.start())
            column = 0
        column += cell_len(word[0])
    return starts

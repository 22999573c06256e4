"""Results as tables for people, laid out for the width at hand: no number and no word is ever cut.

A table is drawn as it is where it fits. Where it does not, each row becomes a block of lines, a
cell a line. Only a number or a name that is longer than a line runs over its end. Tables are made
of the JSON object of a command, so that they and ``--json`` cannot disagree.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from peerbayes.terminal import Visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# More agents than this are summed up by smallest and largest.
_MOST_LISTED = 12


# Words -------------------------------------------------------------------------------------------


def number(value: float | None) -> str:
    """A number for people, or a dash for null."""
    return "-" if value is None else f"{value:.4g}"


def rounds(value: int | None) -> str:
    """A number of rounds, or a dash for null."""
    return "-" if value is None else f"{value:,}".replace(",", " ")


def interval(ends: Sequence[int] | None) -> str:
    """Both ends of an interval of rounds, or a dash for null."""
    return "-" if ends is None else f"{rounds(ends[0])} to {rounds(ends[1])}"


def spread(values: Sequence[float | None]) -> str:
    """All of a few values, or the range of many."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    if len(values) <= _MOST_LISTED:
        return " ".join(number(value) for value in values)
    return f"{number(min(known))} to {number(max(known))}"


def agent_names(numbers: Sequence[int], names: Sequence[str] | None = None) -> str:
    """Agents by their numbers, so that agent 0 is not taken for none; the first of many.

    `names` are those of all agents, if they have names.

    >>> agent_names([0]), agent_names([0, 3]), agent_names([])
    ('agent 0', 'agents 0, 3', 'none')
    >>> agent_names([1], ["mast", "roof"])
    'agent roof'
    """
    if not numbers:
        return "none"
    shown = ", ".join(str(i) if names is None else names[i] for i in numbers[:_MOST_LISTED])
    more = ", …" * (len(numbers) > _MOST_LISTED)
    return f"agent{'s' * (len(numbers) > 1)} {shown}{more}"


# Tables ------------------------------------------------------------------------------------------


def figures_table(title: str, *columns: str) -> Table:
    """A table whose first column is text and whose others are figures."""
    table = names_table(title, *columns)
    for column in table.columns:
        column.no_wrap = not column.no_wrap
        column.justify = "right" if column.no_wrap else "left"
    return table


def names_table(title: str, *columns: str, has_head: bool = True) -> Table:
    """A table of text: names that stay on one line, and columns of words."""
    lines = box.SIMPLE_HEAD if has_head else None
    table = Table(title=title, title_justify="left", box=lines, show_header=has_head)
    table.pad_edge = False
    for index, column in enumerate(columns):
        table.add_column(column, no_wrap=index == 0, overflow="fold")
    return table


def facts_table(title: str, facts: Mapping[str, str]) -> Table:
    """Names and what is to be said of them, line by line."""
    table = names_table(title, "", "", has_head=False)
    for name, fact in facts.items():
        table.add_row(Text(name), Text(fact))
    return table


def notes_text(notes: Sequence[str]) -> Text:
    """Notes, a line each."""
    return Text("\n".join(f"note: {note}" for note in notes))


# Layout ------------------------------------------------------------------------------------------

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
    from rich.console import Console
    from rich.segment import Segments

    stream = sys.stdout if stream is None else stream
    terminal, written = stream.isatty(), io.StringIO()
    # rich looks at COLUMNS too, but of a terminal alone.
    width = Console(file=stream).width if terminal else _columns()
    console = Console(
        file=written, force_terminal=terminal, no_color=not terminal, width=width,
        highlight=False, emoji=False, markup=False,
    )  # fmt: skip
    for part in parts:
        if isinstance(part, Text):
            _print_lines(console, _broken(part, width))
            continue
        if isinstance(part, Table):
            drawn = Segments(console.render(part) if _least_width(part) <= width else ())
            if not _shows(part, "".join(segment.text for segment in drawn.segments)):
                _print_lines(console, _records(part, width))
                continue
            part = drawn
        console.print(Visible(part))
    lines = [line.rstrip() for line in written.getvalue().split("\n")]
    return "\n".join(lines).strip("\n") + "\n"


def _columns() -> int:
    """The width where there is no terminal: what COLUMNS says, if it is a width."""
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isdecimal() and _NARROWEST <= int(said) <= _WIDEST else PLAIN_WIDTH


def _print_lines(console: Console, lines: Iterable[Text]) -> None:
    whole = Text("\n").join(lines)
    console.print(Visible(whole), no_wrap=True, overflow="ignore", crop=False)


def _least_width(table: Table) -> int:
    """How wide a table is at least that shows every short word whole: it need not be drawn to see.

    A column that does not wrap is as wide as its longest line, unless a long word ends that.
    """
    widest = []
    for column, header in zip(table.columns, _headers(table), strict=True):
        texts = [cell.plain for cell in _cells(column.cells)] + [header.plain] * table.show_header
        parts = [one for t in texts for one in (t.splitlines() if column.no_wrap else t.split())]
        short = [cell_len(one) for one in parts if len(one.split(" ")[-1]) <= _LONGEST_WORD]
        widest.append(max(short, default=0))
    return sum(widest) + 2 * (len(widest) - 1)


def _shows(table: Table, drawn: str) -> bool:
    """Whether the table, as it was drawn, has every number and every word whole."""
    texts = [cell.plain for column in table.columns for cell in _cells(column.cells)]
    texts += [cell.plain for cell in _headers(table) if table.show_header]
    wanted = "\n".join([*texts, _title(table).plain])
    return not (_words(wanted) - _words(drawn) or _numbers(wanted) - _numbers(drawn))


def _words(text: str) -> Counter[str]:
    return Counter(word for word in text.split() if len(word) <= _LONGEST_WORD)


def _numbers(text: str) -> Counter[str]:
    return Counter(_NUMBER.findall(text)) + Counter(_THOUSANDS.findall(text))


def _title(table: Table) -> Text:
    return Text("" if table.title is None else str(table.title), style="table.title")


def _headers(table: Table) -> list[Text]:
    return _cells(column.header for column in table.columns)


def _cells(cells: Iterable[RenderableType]) -> list[Text]:
    """Cells as styled text; tables here hold nothing else."""
    return [cell.copy() if isinstance(cell, Text) else Text(str(cell)) for cell in cells]


def _records(table: Table, width: int) -> Iterator[Text]:
    """Each row of the table as lines: its first cell, then a label and a value a line."""
    if table.title is not None:
        yield from _broken(_title(table), width)
    headers = _headers(table)
    rows = zip(*(_cells(column.cells) for column in table.columns), strict=True)
    if len(headers) == 2:
        # A name and one thing to be said of it.
        for name, value in rows:
            yield from _broken(_labelled(name, value), width, hanging=2)
    else:
        for first, *others in rows:
            # A cell without a letter says nothing without its header.
            is_figure = not any(sign.isalpha() for sign in first.plain)
            named = _labelled(headers[0], first) if is_figure else first
            yield from _broken(named, width, hanging=2)
            for header, value in zip(headers[1:], others, strict=True):
                if value.plain:
                    yield from _broken(_labelled(header, value), width, indent=2, hanging=4)
    yield Text()


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

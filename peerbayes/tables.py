"""Results as tables for people, laid out by :mod:`peerbayes.layout`.

Each function takes the JSON object of a command, so that tables and ``--json`` cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

# More agents than this are summed up by smallest and largest.
_MOST_LISTED = 12


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


def figures_table(title: str, *columns: str) -> Table:
    """A table whose first column is text and whose others are figures."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(
            column, justify="right" if index else "left", overflow="fold", no_wrap=bool(index)
        )
    return table


def names_table(title: str, *columns: str) -> Table:
    """A table of text: names that stay on one line, and columns of words."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, no_wrap=index == 0, overflow="fold")
    return table


def facts_table(title: str, facts: Mapping[str, str]) -> Table:
    """Names and what is to be said of them, line by line."""
    table = Table(title=title, title_justify="left", box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        table.add_row(Text(name), Text(fact))
    return table


def notes_text(notes: Sequence[str]) -> Text:
    """Notes, a line each."""
    return Text("\n".join(f"note: {note}" for note in notes))

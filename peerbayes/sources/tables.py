"""Figures of the sources as tables for people."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes.sources.documents import FiguresPrinted, Outcome

_STYLES = {"reproduced": "green", "not reproduced": "red", "undecidable here": ""}


def figures_table(result: FiguresPrinted) -> list[RenderableType]:
    """One line a figure, then what has to be run for those that are undecidable."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("figure", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("what it shows, and why", overflow="fold")
    for one in result.figures:
        words = Text(f"{one.source}: {one.shows}\n  {one.sentence}")
        table.add_row(one.name, Text(one.verdict, style=_STYLES[one.verdict]), words)
    counts = Counter(one.verdict for one in result.figures)
    told = [f"{counts[verdict]} {verdict}" for verdict in get_args(Outcome) if counts[verdict]]
    shown: list[RenderableType] = [table, Text(", ".join(told))]
    commands = dict.fromkeys(lack.command for one in result.figures for lack in one.missing)
    if commands:
        shown.append(Text("\n".join(("What is missing is made by", *commands))))
    return shown

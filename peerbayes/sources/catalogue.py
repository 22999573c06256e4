"""Every figure of the sources by name, in the order of the sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import get_args

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes.messages import choose
from peerbayes.sources import others, p1, p2_confidence, p2_stars, regressions
from peerbayes.sources.documents import (
    FiguresPrinted,
    Outcome,
)
from peerbayes.sources.figure import SourceFigure

# What a figure of a source is ---------------------------------------------------------------------


# Figures of the sources as tables for people ------------------------------------------------------


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


# Every figure of the sources by name, in the order of the sources ---------------------------------


_ALL = (
    *regressions.FIGURES, *p1.FIGURES, *p2_stars.FIGURES, *p2_confidence.FIGURES, *others.FIGURES,
)  # fmt: skip
_SOURCES = ("p1", "p2", "slides", "gae")


def _place(figure: SourceFigure) -> tuple[int, bool, str]:
    source, _, number = figure.name.partition("-")
    return _SOURCES.index(source), number.startswith("remark"), number


FIGURES: Mapping[str, SourceFigure] = MappingProxyType(
    {one.name: one for one in sorted(_ALL, key=_place)}
)
"""The figures by name."""


def chosen_figures(names: Sequence[str]) -> tuple[SourceFigure, ...]:
    """The figures of these names, all if none is named.

    Raises
    ------
    ValueError
        If there is none of that name; in one line.

    Examples
    --------
    >>> [figure.source for figure in chosen_figures(["p2-5b"])]
    ['P2 Fig. 5b']
    """
    if not names:
        return tuple(FIGURES.values())
    return tuple(FIGURES[choose("FIGURE", name, FIGURES)] for name in names)

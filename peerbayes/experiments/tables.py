"""Experiments as tables for people; each function takes the JSON object of a command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes.experiments.campaign_documents import STATES, CampaignDocument, TaskDocument
from peerbayes.experiments.documents import RunPrinted
from peerbayes.tables import number
from peerbayes.terminal import duration


def run_parts(result: RunPrinted) -> list[RenderableType]:
    """The table of `run`: printed, measured, predicted."""
    table = Table(
        title=f"{result.experiment}: {result.title} ({result.source})",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("what, and what is printed", overflow="fold")
    for name in ("measured", "± s.e.", "predicted"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for line in result.lines:
        words = line.what
        if line.printed:
            words += f"\n  printed: {line.printed}"
        if line.remark:
            words += f"\n  {line.remark}"
        holds = {True: "holds", False: "BROKEN", None: ""}[line.holds]
        table.add_row(
            Text(words),
            number(line.measured),
            number(line.standard_error),
            number(line.predicted),
            Text(holds, style="bold red" if line.holds is False else ""),
        )
    plural = "s" * (result.replicates != 1)
    again = f"; read back: {', '.join(result.reused)}" if result.reused else ""
    return [table, Text(f"{result.replicates} replicate{plural}, seed {result.seed}{again}")]


def campaign_parts(result: CampaignDocument) -> list[RenderableType]:
    """The table of `campaign`: where every part stands."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("part", overflow="fold")
    table.add_column("state", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("mark, or why", overflow="fold")
    for same in _together(result.parts):
        one = same[0]
        state, time = str(one.state), duration(sum(each.seconds for each in same))
        if state != "done":
            share = f" {100 * one.share:.0f} %" if one.share > 0 else ""
            state, time = f"{state}{share}", f"about {time}"
        style = "bold red" if one.state == "failed" else ""
        remark = Text(one.behaviour or one.remark)
        name = f"{one.row}: {one.part}"
        if len(same) > 1:
            name += f" … {same[-1].part} ({len(same)} parts)"
        table.add_row(Text(name), Text(state, style=style), time, remark)
    counts = Counter(one.state for one in result.parts)
    words = [f"{counts[s]} {s}" for s in STATES if counts[s]]
    left = result.hours_left
    ending = f"; about {duration(3600 * left)} of one core left" if left else ""
    return [
        table,
        Text(f"{', '.join(words)}{ending}"),
        Text(f"version {result.version}, all marks: {result.behaviour}"),
        Text(f"short records: {result.records}"),
        *(Text(words, style="bold red") for words in result.damage),
    ]


def _together(parts: Sequence[TaskDocument]) -> Iterator[Sequence[TaskDocument]]:
    """Parts that one line says enough about: neighbours of one row's comparison that stand alike.

    A comparison (`tuned`) has over a hundred short parts; other parts have a line each.
    """
    for key, some in groupby(parts, lambda one: (one.row, one.state, one.behaviour, one.remark)):
        same = list(some)
        if key[0].endswith("-tuned"):
            yield same
        else:
            yield from ([one] for one in same)

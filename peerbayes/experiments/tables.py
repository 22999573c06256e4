"""Experiments as tables for people; each function takes the JSON object of a command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes.resources import duration
from peerbayes.tables import number


def run_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    """The table of `run`: printed, measured, predicted."""
    table = Table(
        title=f"{result['experiment']}: {result['title']} ({result['source']})",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("what, and what is printed", overflow="fold")
    for name in ("measured", "± s.e.", "predicted"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for line in result["lines"]:
        words = line["what"]
        if line["printed"]:
            words += f"\n  printed: {line['printed']}"
        if line["remark"]:
            words += f"\n  {line['remark']}"
        holds = {True: "holds", False: "BROKEN", None: ""}[line["holds"]]
        table.add_row(
            Text(words),
            number(line["measured"]),
            number(line["standard_error"]),
            number(line["predicted"]),
            Text(holds, style="bold red" if line["holds"] is False else ""),
        )
    number_of = result["replicates"]
    count = f"{number_of} replicate{'s' * (number_of != 1)}, seed {result['seed']}"
    reused = result["reused"]
    again = f"; read back: {', '.join(reused)}" if reused else ""
    return [table, Text(count + again)]


def campaign_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    """The table of `campaign`: where every part stands."""
    parts = result["parts"]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("part", overflow="fold")
    table.add_column("state", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("build, or why", overflow="fold")
    for one in parts:
        state, time = one["state"], duration(one["seconds"])
        if state != "done":
            share = f" {100 * one['share']:.0f} %" if one["share"] > 0 else ""
            state, time = f"{state}{share}", f"about {time}"
        style = "bold red" if one["state"] == "failed" else ""
        remark = Text(one["build"] or one["remark"])
        table.add_row(Text(f"{one['row']}: {one['part']}"), Text(state, style=style), time, remark)
    counts = Counter(one["state"] for one in parts)
    words = [f"{counts[s]} {s}" for s in ("done", "running", "failed", "missing") if counts[s]]
    left = result["hours_left"]
    ending = f"; about {duration(3600 * left)} of one core left" if left else ""
    return [
        table,
        Text(f"{', '.join(words)}{ending}"),
        Text(f"this build: {result['build']}; short records: {result['records']}"),
    ]


def experiment_list_parts(experiments: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """The table of experiments in `list`."""
    table = Table(
        title="Experiments, for 'peerbayes run'",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("name", no_wrap=True)
    table.add_column("what it is", overflow="fold")
    table.add_column("source", no_wrap=True)
    table.add_column("on record", overflow="fold")
    for entry in experiments:
        table.add_row(entry["name"], entry["title"], entry["source"], entry["done"])
    return [table]

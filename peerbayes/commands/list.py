"""`peerbayes list`: options in, words out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes.commands.options import DEFAULT_OUT, Data, Json, Out, Quiet, Seed
from peerbayes.commands.output import print_json, print_tables


def list_problems(
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """The built-in problems and their variants, and the experiments, with what is on record."""
    from peerbayes.experiments import EXPERIMENTS
    from peerbayes.experiments.done import what_is_done
    from peerbayes.problem.loading import BUILTINS

    problems = [
        {
            "name": family.name,
            "title": family.title,
            "needs_data": family.needs_data,
            "default": family.default,
            "variants": list(family.variants),
        }
        for family in BUILTINS.values()
    ]
    experiments = [
        {
            "name": entry.name,
            "title": entry.title,
            "source": entry.source,
            "done": what_is_done(entry.name, out),
        }
        for entry in EXPERIMENTS.values()
    ]
    if json:
        return print_json({"problems": problems, "experiments": experiments})
    from peerbayes.experiments.tables import experiment_list_parts

    return print_tables([*list_parts(problems), *experiment_list_parts(experiments)])


def list_parts(problems: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """The table of `list`."""
    table = Table(
        title="Built-in problems", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("name", no_wrap=True)
    table.add_column("what it is", overflow="fold")
    table.add_column("variants", justify="right")
    for problem in problems:
        table.add_row(problem["name"], problem["title"], str(len(problem["variants"])))
    hint = Text("Variants go by name too (see 'peerbayes list --json').")
    return [table, hint]

"""`peerbayes figures`: options in, words out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerbayes.commands.options import DEFAULT_OUT, Data, Force, Json, Out, Quiet, Seed, folder
from peerbayes.commands.output import CHECK_FAILED, DONE, show


def figures(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIGURE]...", help="Such as p1-4a or p2-5b; every figure if left out."
        ),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records",
            parser=folder,
            metavar="DIR",
            help="Folder of short records; docs/experiments of a checkout if left out.",
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    force: Force = False,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Redraw the figures of the papers from records: each beside what is printed, with a verdict.

    A figure is reproduced, not reproduced, or undecidable here; then the command that makes what
    is missing is named. Records of 'run' in the --out folder count too. Exit code 1 if a short
    record is damaged: the others count.
    """
    from peerbayes.experiments.campaign_state import usual_records
    from peerbayes.front.figures import redraw
    from peerbayes.progress import Stages
    from peerbayes.records import check_folder
    from peerbayes.resources import to_standard_error

    check_folder(out)
    with Stages(quiet=quiet) as stages:
        found = redraw(
            names or [],
            records=usual_records(out) if records is None else records,
            out=out,
            force=force,
            progress=stages,
        )
    for words in found.damage:
        to_standard_error(words)
    return show(found, json=json, code=CHECK_FAILED if found.damage else DONE)

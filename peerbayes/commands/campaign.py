"""`peerbayes campaign`: options in, words out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerbayes.commands.options import (
    DEFAULT_OUT,
    Data,
    Json,
    Out,
    Quiet,
    Seed,
    folder,
    whole_number,
)
from peerbayes.commands.output import CHECK_FAILED, DONE, show


def campaign(
    status: Annotated[
        bool, typer.Option("--status", help="Say what is done, runs, failed or is missing.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="PATTERN",
            help="Parts whose names contain this or fit it, such as 'star-*: paper*'.",
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            parser=whole_number(1),
            metavar="N",
            help="Parts at once, each a process of one thread.",
        ),
    ] = 1,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records",
            parser=folder,
            metavar="DIR",
            help="Folder of short records; docs/experiments of a checkout if left out.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also parts whose behaviour mark is not today's.")
    ] = False,
    device: Annotated[
        str, typer.Option("--device", metavar="NAME", help="cpu, or cuda for a GPU.")
    ] = "cpu",
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Run the papers' experiments with neural nets, part by part, until nothing is missing.

    Most telling parts come first. A campaign may be stopped or killed at any moment: started
    again, it goes on where it was. Exit code 1 if a part failed, or a short record is damaged.
    """
    from peerbayes.experiments.net_run import check_installed

    check_installed("campaign")
    from peerbayes.experiments.campaign import campaign_status, run_campaign
    from peerbayes.experiments.campaign_plan import selected
    from peerbayes.experiments.campaign_state import Campaign, usual_records
    from peerbayes.progress import Stages
    from peerbayes.records import check_folder
    from peerbayes.resources import to_standard_error
    from theory.validation import fail

    if seed:
        raise fail("--seed", "0: a campaign's seeds are part of its plan", seed, "leave it out")
    tasks = selected(only)
    home = Campaign(out, usual_records(out) if records is None else records, device, data, again)
    if status:
        result = campaign_status(home, tasks)
    else:
        check_folder(out)
        check_folder(home.records)
        with Stages(quiet=quiet) as stages:
            result = run_campaign(
                home,
                tasks,
                workers=workers,
                progress=stages,
                say=None if quiet else to_standard_error,
            )
    code = CHECK_FAILED if result.damage or (result.failed and not status) else DONE
    return show(result, json=json, code=code)

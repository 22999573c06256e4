"""`peerbayes run`: options in, words out."""

from __future__ import annotations

from typing import Annotated

import typer

from peerbayes.commands.options import (
    DEFAULT_OUT,
    NETS,
    Data,
    Force,
    Json,
    Out,
    Quiet,
    Seed,
    whole_number,
)
from peerbayes.commands.output import BAD_INPUT, CHECK_FAILED, DONE, print_lines, show


def run_named_experiment(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="Its name; 'peerbayes list' shows them.")
    ],
    replicates: Annotated[
        int | None,
        typer.Option(
            "--replicates",
            parser=whole_number(1),
            metavar="R",
            help="Independent runs of each part; left out: what the experiment says.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Take the parts that are on record already, and go on in others."
        ),
    ] = False,
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe",
            metavar="NAME",
            help="paper, best, once or tuned; best if left out.",
            rich_help_panel=NETS,
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="WORDS",
            help="Only the part of this name, or all that contain it, such as 'a=0.5'.",
            rich_help_panel=NETS,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A look of less than a minute, kept apart.", rich_help_panel=NETS
        ),
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(
            "--device", metavar="NAME", help="cpu, or cuda for a GPU.", rich_help_panel=NETS
        ),
    ] = None,
    codec: Annotated[
        str | None,
        typer.Option(
            "--codec",
            metavar="NAME",
            help="How agents write messages, such as posterior:step=2, or difference+sign, in "
            "records of its own; left out, or none: as they are.",
            rich_help_panel=NETS,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            parser=whole_number(1),
            metavar="K",
            help="Of gae: threads that train its nodes side by side; the numbers stay the same.",
            rich_help_panel=NETS,
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    force: Force = False,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Run an experiment of the papers: printed beside measured and predicted.

    Exit code 1 if a measurement contradicts its prediction beyond sampling error. Under torchrun
    its processes share the parts; the numbers stay the same.
    """
    from peerbayes.experiments.team import PartFailed, is_first_process
    from peerbayes.front.run import run
    from peerbayes.progress import Stages
    from peerbayes.resources import to_standard_error

    first = is_first_process()
    quiet = quiet or not first
    try:
        with Stages(quiet=quiet) as stages:
            outcome = run(
                experiment,
                replicates=replicates,
                resume=resume,
                recipe=recipe,
                part=part,
                quick=quick,
                device=device,
                codec=codec,
                workers=workers,
                seed=seed,
                out=out,
                force=force,
                data=data,
                progress=stages,
                notice=None if quiet else to_standard_error,
            )
    except ValueError as error:
        if first or isinstance(error, PartFailed):
            raise
        return BAD_INPUT  # the first process says why
    code = CHECK_FAILED if outcome.failed else DONE
    if not first:
        return code
    show(outcome, json=json, code=code)
    if not json:
        print_lines(f"\nrecord: {outcome.run.record_path}\nreport: {outcome.report_path}\n")
    return code

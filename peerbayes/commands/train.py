"""`peerbayes train`: options in, words out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerbayes.commands.options import (
    DEFAULT_OUT,
    SHARED,
    Data,
    Force,
    Json,
    Out,
    Quiet,
    file,
    whole_number,
)
from peerbayes.commands.output import BAD_INPUT, DONE, print_lines, show


def train(
    net: Annotated[
        Path,
        typer.Argument(
            metavar="NET", parser=file, help="A TOML or JSON file: network, data, net, training."
        ),
    ],
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            parser=whole_number(1),
            metavar="N",
            help="Rounds at most; left out: those of the file.",
        ),
    ] = None,
    codec: Annotated[
        str | None,
        typer.Option(
            "--codec",
            metavar="NAME",
            help="How messages are written, such as topk:share=0.05, or difference+sign; none: as "
            "they are; left out: as the file says.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from where a killed run was."),
    ] = False,
    device: Annotated[
        str,
        typer.Option("--device", metavar="NAME", help="cpu, or cuda for a GPU."),
    ] = "cpu",
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Refuse a training that would take more, such as 500M or 2GiB.",
        ),
    ] = None,
    json: Json = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            parser=whole_number(0),
            metavar="S",
            help="Seed of all that is random; left out: that of the file.",
            rich_help_panel=SHARED,
        ),
    ] = None,
    out: Out = DEFAULT_OUT,
    force: Force = False,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Train a net of your own on a network, with your own data.

    Under torchrun the agents are spread over its processes; the numbers stay the same.
    """
    from exact.limits import as_memory
    from peerbayes.experiments.team import is_first_process
    from peerbayes.front.train_file import train_file
    from peerbayes.progress import Stages
    from peerbayes.resources import to_standard_error

    first = is_first_process()
    quiet = quiet or not first
    try:
        with Stages(quiet=quiet) as stages:
            outcome = train_file(
                net,
                rounds=rounds,
                seed=seed,
                codec=codec,
                out=out,
                force=force,
                data=data,
                resume=resume,
                device=device,
                memory=None if memory is None else as_memory("--memory", memory),
                progress=stages,
                notice=None if quiet else to_standard_error,
            )
    except ValueError:
        if first:
            raise
        return BAD_INPUT  # the first process says why
    if not first:
        return DONE
    show(outcome, json=json)
    if not json:
        print_lines(f"\nrecord: {outcome.record_path}\nreport: {outcome.report_path}\n")
    return DONE

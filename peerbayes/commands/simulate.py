"""`peerbayes simulate`: options in, words out."""

from __future__ import annotations

from typing import Annotated

import typer

from peerbayes.commands.options import (
    DEFAULT_OUT,
    Batch,
    Data,
    Force,
    Json,
    Out,
    ProblemArgument,
    Quiet,
    Seed,
    factor,
    whole_number,
)
from peerbayes.commands.output import show


def simulate(
    problem: ProblemArgument,
    rounds: Annotated[
        int,
        typer.Option("--rounds", parser=whole_number(1), metavar="N", help="Rounds n."),
    ] = 1000,
    replicates: Annotated[
        int,
        typer.Option(
            "--replicates", parser=whole_number(1), metavar="R", help="Independent runs R."
        ),
    ] = 100,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            parser=whole_number(1),
            metavar="K",
            help="Processes that share the replicates; the numbers stay the same.",
        ),
    ] = 1,
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend", metavar="NAME", help="Where they run: loky (here), dask, ray, ..."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Refuse runs that would take more, such as 500M or 2GiB.",
        ),
    ] = None,
    hours: Annotated[
        float,
        typer.Option(
            "--hours",
            parser=factor,
            metavar="H",
            help="Refuse runs that are expected to take longer.",
        ),
    ] = 24.0,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from where a killed run was."),
    ] = False,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    force: Force = False,
    quiet: Quiet = False,
    data: Data = None,
    batch: Batch = None,
) -> int:
    """Run the exact algorithm on drawn observations; leaves a record.

    A long run keeps a checkpoint beside its record, removed at the end.
    """
    from exact.limits import as_memory
    from exact.parallel import check_backend
    from peerbayes.front.problems import load
    from peerbayes.front.simulate import simulate as run
    from peerbayes.progress import Stages
    from peerbayes.records import check_folder
    from peerbayes.resources import Resources, to_standard_error

    # Before classifiers are trained.
    check_folder(out)
    check_backend(backend)
    resources = Resources(
        workers=workers,
        backend=backend,
        memory=None if memory is None else as_memory("--memory", memory),
        resume=resume,
        hours=hours,
        notice=None if quiet else to_standard_error,
    )
    with Stages(quiet=quiet) as stages:
        loaded = load(problem, data=data, progress=stages(f"{problem}: prepare"))
        result = run(
            loaded,
            batch=batch,
            rounds=rounds,
            replicates=replicates,
            seed=seed,
            out=out,
            force=force,
            progress=stages(f"{loaded.name}: simulate"),
            resources=resources,
        )
    return show(result, json=json)

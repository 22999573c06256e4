"""`peerbayes place`: options in, words out."""

from __future__ import annotations

from typing import Annotated

import typer

from peerbayes.commands.options import (
    DEFAULT_DELTA,
    DEFAULT_OUT,
    Batch,
    Data,
    Delta,
    Force,
    Json,
    Out,
    ProblemArgument,
    Quiet,
    Seed,
    Target,
    agent_numbers,
    whole_number,
)
from peerbayes.commands.output import DONE, print_lines, show


def place(
    problem: ProblemArgument,
    objective: Annotated[
        str,
        typer.Option("--objective", metavar="NAME", help="rate, exponent or samples."),
    ] = "rate",
    delta: Delta = DEFAULT_DELTA,
    target: Target = None,
    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME", help="auto, milp, exhaustive or local."),
    ] = "auto",
    fixed: Annotated[
        str | None,
        typer.Option("--fixed", metavar="AGENTS", help="Agents that keep their data: 0,3."),
    ] = None,
    replicates: Annotated[
        int,
        typer.Option(
            "--replicates",
            parser=whole_number(0),
            metavar="R",
            help="Simulated runs of each class of placements; 0 for none.",
        ),
    ] = 1000,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    force: Force = False,
    quiet: Quiet = False,
    data: Data = None,
    batch: Batch = None,
) -> int:
    """The best placement of the agents' data, the network as it is; leaves a record."""
    from peerbayes.designs.place import PlacementRequest
    from peerbayes.front.place import place as run
    from peerbayes.problem.builtins.loading import load_problem
    from peerbayes.progress import Stages
    from peerbayes.records import check_folder

    request = PlacementRequest(
        objective=objective,
        delta=delta,
        method=method,
        fixed=agent_numbers("--fixed", fixed),
        target=target,
        replicates=replicates,
        seed=seed,
    )
    check_folder(out)
    with Stages(quiet=quiet) as stages:
        loaded = load_problem(problem, data=data, progress=stages(f"{problem}: prepare"))
        result = run(loaded, request, batch=batch, out=out, progress=stages(f"{problem}: place"))
    show(result, json=json)
    return DONE if json else print_lines(f"\nrecord: {result.record_path}\n")

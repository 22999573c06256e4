"""`peerbayes analyse`: options in, words out."""

from __future__ import annotations

from typing import Annotated

import typer

from peerbayes.commands.options import (
    DEFAULT_OUT,
    Batch,
    Data,
    GivenDelta,
    Json,
    Out,
    ProblemArgument,
    Quiet,
    Seed,
    whole_number,
)
from peerbayes.commands.output import show


def analyse(
    problem: ProblemArgument,
    delta: GivenDelta = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Fractions and expressions; needs exact numbers."),
    ] = False,
    certify: Annotated[
        bool, typer.Option("--certify", help="Intervals that contain the truth.")
    ] = False,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            parser=whole_number(1),
            metavar="N",
            help="Also certify what N rounds are good for.",
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
    batch: Batch = None,
) -> int:
    """Mixing, best hypotheses, rate, exponent and sample sizes. Draws nothing.

    With --exact or --certify, parts that take long are kept in the folder for records.
    """
    from peerbayes.front.analyse import analyse as run
    from peerbayes.front.problems import load
    from peerbayes.progress import Stages
    from peerbayes.resources import announce_analysis

    if exact and certify:
        raise typer.BadParameter("--exact and --certify exclude each other; keep one of them")
    with Stages(quiet=quiet) as stages:
        loaded = load(problem, data=data, progress=stages(f"{problem}: prepare"))
        if not quiet:
            announce_analysis(loaded.name, loaded.network.agents)
        result = run(
            loaded,
            delta=delta,
            exact=exact,
            certify=certify,
            rounds=rounds,
            batch=batch,
            out=out,
            progress=stages(f"{loaded.name}: {'prove' if exact or certify else 'analyse'}"),
        )
    return show(result, json=json)

"""`peerbayes design`: options in, words out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerbayes.commands.options import (
    DEFAULT_DELTA,
    DEFAULT_OUT,
    LIMITS,
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
    distribution,
    file,
    share,
    whole_number,
)
from peerbayes.commands.output import CHECK_FAILED, DONE, print_lines, show


def design(
    problem: ProblemArgument,
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            metavar="NAME",
            help="rate, exponent, samples, mixing, trade-off, bytes or next-edge.",
        ),
    ] = "rate",
    delta: Delta = DEFAULT_DELTA,
    target: Target = None,
    stationary: Annotated[
        str | None,
        typer.Option(
            "--stationary",
            metavar="V",
            help="With mixing: 'uniform', or numbers between commas; left out: as it is.",
        ),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option("--rule", metavar="NAME", help="With next-edge: uniform, metropolis, ..."),
    ] = None,
    worst_case: Annotated[
        bool,
        typer.Option("--worst-case", help="With exponent: whichever hypothesis is true."),
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="With rate: prove the optimum in exact arithmetic.")
    ] = False,
    minimum_influence: Annotated[
        float | None,
        typer.Option(
            "--minimum-influence",
            parser=share,
            metavar="V",
            help="Smallest v_j; left out: 1/(10 N).",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    minimum_self_weight: Annotated[
        float | None,
        typer.Option(
            "--minimum-self-weight",
            parser=share,
            metavar="S",
            help="Smallest weight on oneself.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    edge_budget: Annotated[
        int | None,
        typer.Option(
            "--edge-budget",
            parser=whole_number(0),
            metavar="M",
            help="Most edges in use.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    degree_budget: Annotated[
        int | None,
        typer.Option(
            "--degree-budget",
            parser=whole_number(0),
            metavar="D",
            help="Most neighbours of an agent.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    fixed: Annotated[
        str | None,
        typer.Option(
            "--fixed",
            metavar="AGENTS",
            help="Agents whose weights stay, such as 0,3.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    symmetric: Annotated[
        bool,
        typer.Option("--symmetric", help="W symmetric.", rich_help_panel=LIMITS),
    ] = False,
    doubly_stochastic: Annotated[
        bool,
        typer.Option("--doubly-stochastic", help="Columns sum to one.", rich_help_panel=LIMITS),
    ] = False,
    replicates: Annotated[
        int | None,
        typer.Option(
            "--replicates",
            parser=whole_number(0),
            metavar="R",
            help="Simulated runs of each network; 0 for none; left out: enough for delta.",
        ),
    ] = None,
    seconds: Annotated[
        int,
        typer.Option(
            "--seconds",
            parser=whole_number(1),
            metavar="S",
            help="Time for all searches; what they have by then is shown.",
        ),
    ] = 120,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            parser=file,
            metavar="FILE",
            help="Write the problem with the designed weights, as .toml or .json.",
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    force: Force = False,
    quiet: Quiet = False,
    data: Data = None,
    batch: Batch = None,
) -> int:
    """The best v and W on the problem's graph, how good they are, and what rules would give.

    Limits are those of the problem's [design] table, and of the options. Leaves a record that
    'report' shows. Exit code 1 if a solver gave up; the best weights that it had are printed.
    """
    from peerbayes.designs.request import DesignRequest
    from peerbayes.front.design import design as run
    from peerbayes.problem.builtins.loading import load_problem
    from peerbayes.problem.files import check_writable
    from peerbayes.progress import Stages
    from peerbayes.records import check_folder

    limits = {
        "minimum_influence": minimum_influence,
        "minimum_self_weight": minimum_self_weight,
        "edge_budget": edge_budget,
        "degree_budget": degree_budget,
        "fixed": agent_numbers("--fixed", fixed) or None,
        "symmetric": symmetric or None,
        "doubly_stochastic": doubly_stochastic or None,
    }
    request = DesignRequest(
        objective=objective,
        delta=delta,
        target=target,
        stationary=distribution("--stationary", stationary),
        rule=rule,
        worst_case=worst_case,
        exact=exact,
        changes={name: value for name, value in limits.items() if value is not None},
        replicates=replicates,
        seed=seed,
        seconds=float(seconds),
    )
    check_folder(out)
    if write is not None:
        check_writable("--write", write, given=problem)
    with Stages(quiet=quiet) as stages:
        loaded = load_problem(problem, data=data, progress=stages(f"{problem}: prepare"))
        result = run(
            loaded,
            request,
            batch=batch,
            out=out,
            force=force,
            write=write,
            progress=stages(f"{problem}: design"),
        )
    code = CHECK_FAILED if result.failed else DONE
    show(result, json=json)
    return code if json else print_lines(f"\nrecord: {result.record_path}\n", code)

"""`peerbayes peer`: options in, one agent of a live network."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Annotated

import typer

from peerbayes.commands.live_options import (
    Attached,
    Gather,
    Interval,
    Journal,
    Keys,
    LiveProblem,
    LiveRounds,
    LiveSeed,
    OnLoss,
    Pace,
    Patience,
    Recipe,
    Robust,
)
from peerbayes.commands.options import (
    DEFAULT_OUT,
    Data,
    Json,
    Out,
    Quiet,
    file,
)
from peerbayes.commands.output import DONE


def peer(
    problem: LiveProblem,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="NAME", help="Which agent this is: its name or number."),
    ] = None,
    listen: Annotated[
        list[str] | None,
        typer.Option("--listen", metavar="EP", help="Endpoint, such as tcp/0.0.0.0:7447."),
    ] = None,
    connect: Annotated[
        list[str] | None,
        typer.Option("--connect", metavar="EP", help="Endpoint of a neighbour; may be repeated."),
    ] = None,
    router: Annotated[
        bool,
        typer.Option("--router", help="The endpoint to connect with is a router's; only it."),
    ] = False,
    keys: Keys = None,
    members: Annotated[
        Path | None,
        typer.Option(
            "--members", parser=file, metavar="FILE", help="A list of members; the problem's else."
        ),
    ] = None,
    evidence: Annotated[
        str,
        typer.Option(
            "--evidence",
            metavar="SRC",
            help="draw (from the problem), - (standard input), a file, or zenoh:KEY.",
        ),
    ] = "draw",
    pace: Pace = "lockstep",
    interval: Interval = None,
    patience: Patience = None,
    gather: Gather = None,
    on_loss: OnLoss = None,
    robust: Robust = None,
    recipe: Recipe = None,
    rounds: LiveRounds = None,
    journal: Journal = False,
    attached: Attached = False,
    json: Json = False,
    seed: LiveSeed = None,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Run one agent of a live network, until it is done or Ctrl-C.

    It goes on from what it left in the folder for records. With --json, each report is a line.
    """
    from peerbayes.live.agent import run_agent
    from peerbayes.live.finding import own_share, robust_keys
    from peerbayes.live.options import AgentOptions
    from peerbayes.live.pacing import pacing_of
    from peerbayes.live.telling import Teller

    share = own_share(problem, agent, data, seed=seed, recipe=recipe)
    teller = Teller(share, quiet=quiet, json=json)
    options = AgentOptions(
        share=share,
        listen=listen or (),
        connect=connect or (),
        router=router,
        keys=keys,
        members=members,
        evidence=evidence,
        pacing=pacing_of(
            share.kind,
            pace=pace,
            interval=interval,
            patience=patience,
            gather=gather,
            rounds=share.content.get("rounds") if rounds is None else rounds,
            batch=share.content.get("batch", 1),
        ),
        on_loss=on_loss,
        robust=robust_keys(robust),
        out=out,
        journal=journal,
        seed=seed or 0,
        attached=attached,
    )
    teller.last(run_agent(options, log=teller.log, on_report=teller.report))
    gc.freeze()  # the end of the process need not go through all that torch has made
    return DONE

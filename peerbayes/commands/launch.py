"""`peerbayes launch`: options in, words out."""

from __future__ import annotations

from typing import Annotated

import typer

from peerbayes.commands.live_options import (
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
    Force,
    Json,
    Out,
    Quiet,
)
from peerbayes.commands.output import CHECK_FAILED, DONE, print_lines, show


def launch(
    problem: LiveProblem,
    rounds: LiveRounds = None,
    pace: Pace = "lockstep",
    interval: Interval = None,
    patience: Patience = None,
    gather: Gather = None,
    on_loss: OnLoss = None,
    robust: Robust = None,
    recipe: Recipe = None,
    keys: Keys = None,
    journal: Journal = False,
    revive: Annotated[
        bool,
        typer.Option("--revive", help="Start an agent that died again; it goes on from its state."),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from what the agents left in the folder."),
    ] = False,
    json: Json = False,
    seed: LiveSeed = None,
    out: Out = DEFAULT_OUT,
    force: Force = False,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Run all agents of a problem on this machine, each as a process; Ctrl-C ends them."""
    from peerbayes.live.launching import LaunchRequest, run_launch
    from peerbayes.progress import Stages

    request = LaunchRequest(
        rounds=rounds,
        pace=pace,
        interval=interval,
        patience=patience,
        gather=gather,
        on_loss=on_loss,
        robust=robust,
        keys=keys,
        journal=journal,
        revive=revive,
        resume=resume,
        force=force,
        seed=seed,
        recipe=recipe,
    )
    from peerbayes.terminal import say

    with Stages(quiet=quiet) as stages:
        outcome = run_launch(
            problem, request, out=out, data=data, progress=stages, notice=None if quiet else say
        )
    show(outcome, json=json)
    if not json:
        print_lines(f"\nrecord: {outcome.record_path}\n")
    return DONE if outcome.complete else CHECK_FAILED

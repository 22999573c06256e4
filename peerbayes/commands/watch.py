"""`peerbayes watch`: options in, words out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerbayes.commands.options import DEFAULT_OUT, Data, Json, Out, Quiet, Seed, factor, folder
from peerbayes.commands.output import DONE, print_lines, show


def watch(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="What the agents run, a file or a built-in; or their network's 16 digits.",
        ),
    ],
    connect: Annotated[
        list[str] | None,
        typer.Option(
            "--connect",
            metavar="EP",
            help="Endpoint of an agent, such as tcp/127.0.0.1:7447; once for each agent. Left out: "
            "those of 'peerbayes launch' with the same --out.",
        ),
    ] = None,
    router: Annotated[
        bool, typer.Option("--router", help="What --connect names is a router.")
    ] = False,
    keys: Annotated[
        Path | None,
        typer.Option(
            "--keys",
            parser=folder,
            metavar="DIR",
            help="Keys of the network, or of its watcher alone, written by 'peerbayes keys'.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            parser=factor,
            metavar="S",
            help="How long; left out: until all agents are done, or Ctrl-C.",
        ),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Show it in a browser too; the address is printed.")
    ] = False,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Live agents as they run: who is heard, how late, how fast, beside what theory predicts.

    It only listens. Ctrl-C ends it in order, with a record of what was seen.
    """
    from peerbayes.front.watch import watch as watch_network
    from peerbayes.live.watch.watching import on_terminal

    shown = None
    if page:
        from peerbayes.live.watch.page import LivePage
        from peerbayes.resources import to_standard_error

        shown = LivePage(to_standard_error)
    with on_terminal(quiet=quiet) as drawn:
        outcome = watch_network(
            problem,
            connect=connect or (),
            router=router,
            keys=keys,
            seconds=seconds,
            launched_in=out,
            out=out,
            data=data,
            show=drawn,
            page=shown,
        )
    show(outcome, json=json)
    if not json:
        print_lines(f"\nrecord: {outcome.record_path}\nreport: {outcome.report_path}\n")
    return DONE

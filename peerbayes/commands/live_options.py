"""Options of the commands that run live agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerbayes.commands.options import NETS, SHARED, choice, folder, seconds, whole_number

ROUNDS_HELP = "Rounds after which an agent is done; left out: it goes on until Ctrl-C."
Pace = Annotated[
    str,
    typer.Option(
        "--pace",
        parser=choice("lockstep", "own"),
        metavar="NAME",
        help="lockstep: all count the same rounds; own: each ticks by itself.",
    ),
]
Interval = Annotated[
    float | None,
    typer.Option(
        "--interval",
        parser=seconds,
        metavar="S",
        help="Seconds between an agent's rounds, at least; left out: as soon as it can.",
    ),
]
Patience = Annotated[
    float | None,
    typer.Option(
        "--patience",
        parser=seconds,
        metavar="S",
        help="Seconds that lock-step waits for a message that is missing; left out: 1, for nets "
        "60.",
    ),
]
Gather = Annotated[
    float | None,
    typer.Option(
        "--gather",
        parser=seconds,
        metavar="S",
        help="Seconds for which neighbours are waited for before the first round; left out: 10, "
        "launched 30, for nets 120.",
    ),
]
OnLoss = Annotated[
    str | None,
    typer.Option(
        "--on-loss",
        parser=choice("own", "renormalise", "last"),
        metavar="RULE",
        help="What takes the place of a missing message: own, renormalise or last; left out: as "
        "the problem says, or last.",
    ),
]
Robust = Annotated[
    str | None,
    typer.Option(
        "--robust",
        metavar="RULE",
        help="How it pools: average, median, trimmed-mean:F or clip:R; left out: as the problem "
        "says.",
    ),
]
LiveRounds = Annotated[
    int | None,
    typer.Option("--rounds", parser=whole_number(1), metavar="n", help=ROUNDS_HELP),
]
Keys = Annotated[
    Path | None,
    typer.Option("--keys", parser=folder, metavar="DIR", help="Folder of 'peerbayes keys'."),
]
Journal = Annotated[
    bool,
    typer.Option("--journal", help="Keep all that an agent did, so that it can be replayed."),
]
Attached = Annotated[
    bool,
    typer.Option("--attached", hidden=True, help="End when standard input does."),
]
LiveSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        parser=whole_number(0),
        metavar="S",
        help="Seed of what is drawn at random; left out: 0, or that of the net file.",
        rich_help_panel=SHARED,
    ),
]
Recipe = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        metavar="NAME",
        help="paper, best or once; best if left out.",
        rich_help_panel=NETS,
    ),
]
LiveProblem = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="A TOML or JSON file, a built-in problem, a net file, or an experiment with nets.",
    ),
]

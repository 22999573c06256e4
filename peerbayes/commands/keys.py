"""`peerbayes keys`: options in, words out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerbayes.commands.live_options import LiveProblem
from peerbayes.commands.options import (
    Data,
    Json,
    Quiet,
    folder,
    whole_number,
)
from peerbayes.commands.output import CHECK_FAILED, DONE, show

keys = typer.Typer(
    help="Keys and certificates of a live network's processes.",
    add_completion=False,
    rich_markup_mode=None,
)

Keys = Annotated[
    Path,
    typer.Option("--out", parser=folder, metavar="DIR", help="Folder of the network's keys."),
]
Days = Annotated[
    int,
    typer.Option(
        "--days", parser=whole_number(1), metavar="D", help="How long certificates are valid."
    ),
]
_OUT = Path("keys")
_DAYS = 365


@keys.command("new")
def new(
    problem: LiveProblem,
    out: Keys = _OUT,
    days: Days = _DAYS,
    json: Json = False,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Make an authority, and keys for every agent of a problem, a router and a watcher."""
    from peerbayes.live.finding import every_share
    from peerbayes.live.security import needs_cryptography

    needs_cryptography()
    from peerbayes.live.keys import new_keys
    from peerbayes.live.keys_check import check_keys

    folder = new_keys(every_share(problem, data)[0].members, out, days=days)
    return show(check_keys(folder), json=json)


@keys.command("add")
def add(
    agent: Annotated[str, typer.Argument(metavar="NAME", help="The agent's name.")],
    out: Keys = _OUT,
    renew: Annotated[
        bool, typer.Option("--renew", help="Replace keys, also those of 'router' and 'watcher'.")
    ] = False,
    days: Days = _DAYS,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Make keys for one more agent; 'keys members' makes it a member."""
    from peerbayes.live.security import needs_cryptography

    needs_cryptography()
    from peerbayes.live.keys import add_keys
    from peerbayes.live.keys_check import check_keys

    folder = add_keys(out, agent, renew=renew, days=days)
    return show(check_keys(folder), json=json)


@keys.command("members")
def members(
    problem: LiveProblem,
    out: Keys = _OUT,
    json: Json = False,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Sign the problem's network as the next list of members, for all folders."""
    from peerbayes.live.finding import every_share
    from peerbayes.live.security import needs_cryptography

    needs_cryptography()
    from peerbayes.live.keys import sign_members
    from peerbayes.live.keys_check import check_keys

    sign_members(every_share(problem, data)[0].members, out)
    return show(check_keys(out), json=json)


@keys.command("check")
def check(
    path: Annotated[
        Path,
        typer.Argument(metavar="[DIR]", parser=folder, help="All keys, or one process's."),
    ] = _OUT,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Examine keys, certificates and lists of members; exit code 1 if something is wrong."""
    from peerbayes.live.security import needs_cryptography

    needs_cryptography()
    from peerbayes.live.keys_check import check_keys

    document = check_keys(path)
    return show(document, json=json, code=CHECK_FAILED if document.failed else DONE)

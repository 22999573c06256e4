"""`peerbayes router`: options in, words out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerbayes.commands.options import Json, Quiet, factor, folder
from peerbayes.commands.output import show


def router(
    listen: Annotated[
        list[str],
        typer.Option("--listen", metavar="EP", help="Where, such as tls/0.0.0.0:7447; repeatable."),
    ],
    connect: Annotated[
        list[str] | None,
        typer.Option("--connect", metavar="EP", help="Another router; repeatable."),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option("--keys", parser=folder, metavar="DIR", help="The router's keys."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", parser=factor, metavar="S", help="Stop after this time."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Pass on what live agents say, where they do not reach one another; Ctrl-C ends it."""
    from contextlib import suppress

    from peerbayes.live.security import needs_cryptography
    from peerbayes.terminal import say

    needs_cryptography()
    from peerbayes.live.router import Router, router_keys

    own = None if keys is None else router_keys(keys)
    with Router(listen=listen, connect=connect or (), keys=own) as running:
        if not quiet:
            say(f"router at {', '.join(listen)}; Ctrl-C ends it")
        with suppress(KeyboardInterrupt):
            running.run(seconds)
        document = running.document()
    return show(document, json=json)

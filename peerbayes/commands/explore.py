"""`peerbayes explore`: options in, words out."""

from __future__ import annotations

from typing import Annotated

import typer

from peerbayes.commands.options import (
    DEFAULT_OUT,
    Data,
    Json,
    Out,
    Quiet,
    Seed,
    whole_number,
)
from peerbayes.commands.output import DONE, print_json, print_lines


def explore(
    problem: Annotated[
        str | None,
        typer.Argument(
            metavar="[PROBLEM]", help="A TOML or JSON file, or a built-in; a star if left out."
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address; open no browser.")
    ] = False,
    port: Annotated[
        int,
        typer.Option(
            "--port", parser=whole_number(0), metavar="P", help="Of 127.0.0.1; 0 for any free one."
        ),
    ] = 0,
    seconds: Annotated[
        int,
        typer.Option(
            "--seconds",
            parser=whole_number(1),
            metavar="S",
            help="Time that one long computation of the page may take.",
        ),
    ] = 300,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """A page on which a problem can be seen, moved and designed; Ctrl-C ends it.

    The page is on this machine alone, at an address that is printed and that nobody else knows.
    It writes no files: what is to be kept is saved from the page.
    """
    from peerbayes.explorer.serving import serve
    from peerbayes.progress import Stages

    first = {} if problem is None else {"problem": problem}
    try:
        with serve(first, port=port, seconds=seconds, data=data) as page:
            with Stages(quiet=quiet) as stages:
                page.check(stages(f"{problem}: prepare") if problem else None)
            opened = not no_browser and page.open()
            if json:
                print_json({"address": page.address})
            else:
                hint = "" if opened or no_browser else "open it in a browser of this machine; "
                print_lines(f"{page.address}\n" + ("" if quiet else f"{hint}Ctrl-C ends it\n"))
            page.wait()
    except KeyboardInterrupt:
        return DONE
    return DONE

"""`peerbayes schema`: options in, words out."""

from __future__ import annotations

from typing import Annotated

import typer

from peerbayes.commands.options import DEFAULT_OUT, Data, Json, Out, Quiet, Seed
from peerbayes.commands.output import print_json


def schema(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="problem or net (the files), or a command whose JSON is described.",
        ),
    ] = "problem",
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """The JSON schema of a problem or net file, a record, or a command's JSON."""
    from peerbayes.schemas import read_schema

    return print_json(read_schema(name))

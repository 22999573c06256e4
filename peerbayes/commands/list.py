"""`peerbayes list`: options in, words out."""

from __future__ import annotations

from peerbayes.commands.options import DEFAULT_OUT, Data, Json, Out, Quiet, Seed
from peerbayes.commands.output import show


def list_problems(
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """The built-in problems and their variants, and the experiments, with what is on record."""
    from peerbayes.front.listing import listing

    return show(listing(out), json=json)

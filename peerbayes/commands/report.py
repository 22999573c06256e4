"""`peerbayes report`: options in, words out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerbayes.commands.options import DEFAULT_OUT, Data, Json, Out, Quiet, Seed
from peerbayes.commands.output import CHECK_FAILED, DONE, print_json, print_lines


def report(
    records: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RECORD]...", help="Records of verify; those in the folder if left out."
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """One self-contained HTML page: prediction beside measurement, with figures.

    Exit code 1 if beliefs that a record speaks of are damaged, or some records in a file of many;
    they are named.
    """
    from peerbayes.records import find_records
    from peerbayes.resources import to_standard_error

    also = ("claims", "run", "design", "place", "train", "figures", "watch")
    paths = records or find_records(out, kind="verify", also=also)
    from peerbayes.report import write_report

    damaged: list[str] = []
    page = write_report(paths, out / "report.html", notice=damaged.append)
    for damage in damaged:
        to_standard_error(damage)
    code = CHECK_FAILED if damaged else DONE
    if json:
        found = {"report": str(page), "records": [str(path) for path in paths]}
        return print_json(found | ({"damaged": damaged} if damaged else {}), code)
    return print_lines(f"report: {page}\n", code)

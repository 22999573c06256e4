"""`peerbayes verify`: options in, words out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from peerbayes.commands.options import (
    DEFAULT_DELTA,
    DEFAULT_OUT,
    Batch,
    Data,
    Delta,
    Force,
    Json,
    Out,
    Quiet,
    Seed,
    factor,
)
from peerbayes.commands.output import (
    CHECK_FAILED,
    DONE,
    print_json,
    print_lines,
    print_tables,
    show,
)


def verify(
    problems: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROBLEM]...", help="Files or built-in problems; all built-ins if left out."
        ),
    ] = None,
    delta: Delta = DEFAULT_DELTA,
    claims: Annotated[
        bool,
        typer.Option("--claims", help="Put the papers' statements on trial instead."),
    ] = False,
    effort: Annotated[
        float,
        typer.Option(
            "--effort",
            parser=factor,
            metavar="E",
            help="With --claims: multiplies the cases that are tried.",
        ),
    ] = 1.0,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    force: Force = False,
    quiet: Quiet = False,
    data: Data = None,
    batch: Batch = None,
) -> int:
    """Compare theory with simulation; exit code 1 if a proved statement is broken.

    With --claims: the papers' statements, each with its verdict and a witness; exit code 1 if a
    witness no longer confirms its verdict.
    """
    if claims:
        if batch is not None:
            raise typer.BadParameter("--batch does not go with --claims; leave out one of them")
        return _verify_claims(
            problems or [], effort, json=json, seed=seed, out=out, force=force, quiet=quiet
        )
    from peerbayes.front.verify import verify as run
    from peerbayes.progress import Stages
    from peerbayes.resources import to_standard_error

    names = problems or []
    with Stages(quiet=quiet) as stages:
        outcome = run(
            names,
            data=data,
            batch=batch,
            seed=seed,
            delta=delta,
            out=out,
            force=force,
            progress=stages,
            notice=None if quiet else to_standard_error,
        )
    if not quiet:
        for notice in outcome.skipped:
            to_standard_error(notice)
    code = CHECK_FAILED if outcome.failed else DONE
    if json:
        return print_json(outcome.as_json(), code)
    print_tables(outcome.tables(every=bool(names)))
    if outcome.unjudged:
        print_lines(f"\nmeasured only, nothing is claimed: {', '.join(outcome.unjudged)}\n")
    print_lines(f"\nrecord: {outcome.record_path}\nreport: {outcome.report_path}\n")
    return code


def _verify_claims(
    problems: Sequence[str],
    effort: float,
    *,
    json: bool,
    seed: int,
    out: Path,
    force: bool,
    quiet: bool,
) -> int:
    from peerbayes.front.claims import verify_claims
    from peerbayes.progress import Stages
    from theory.validation import fail

    if problems:
        got = " ".join(problems)[:60]
        raise fail("--claims", "no problem beside it", got, "leave out one of the two")
    with Stages(quiet=quiet) as stages:
        outcome = verify_claims(seed=seed, effort=effort, out=out, force=force, progress=stages)
    code = CHECK_FAILED if outcome.failed else DONE
    show(outcome, json=json, code=code)
    if not json:
        print_lines(f"\nrecord: {outcome.record_path}\nreport: {outcome.report_path}\n")
    return code

"""Answers of commands that are more, or less, than a question of the front door."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.commands.command import (
    CHECK_FAILED,
    DONE,
    print_json,
    print_lines,
    print_tables,
    show,
)

if TYPE_CHECKING:
    from peerbayes.commands.command import Terminal
    from peerbayes.front.claims import ClaimsOutcome
    from peerbayes.settings.declared import Settings
    from peerbayes.settings.live import Explore
    from peerbayes.settings.nets import CampaignRun, Figures, Listing, Report
    from peerbayes.settings.questions import Formula, Verify, VerifyClaims


def verify(
    problems: Sequence[str] | None, how: Verify, trial: VerifyClaims, terminal: Terminal
) -> int | ClaimsOutcome:
    """Theory beside simulation, or the papers' statements on trial."""
    names = list(problems or [])
    if trial.claims:
        return _claims(names, how, trial)
    from peerbayes.front.verify import verify as run

    outcome = run(names, how)
    for sentence in outcome.skipped:
        terminal.notice(sentence)
    code = CHECK_FAILED if outcome.failed else DONE
    if terminal.json:
        return print_json(outcome.as_json(), code)
    print_tables(outcome.tables(every=bool(names)))
    if outcome.unjudged:
        print_lines(f"\nmeasured only, nothing is claimed: {', '.join(outcome.unjudged)}\n")
    return print_lines(f"\nrecord: {outcome.record_path}\nreport: {outcome.report_path}\n", code)


def _claims(names: Sequence[str], how: Verify, trial: VerifyClaims) -> ClaimsOutcome:
    from peerbayes.front.claims import verify_claims
    from theory.validation import fail

    if how.batch is not None:
        raise fail("--batch", "no batch with --claims", "one", "leave out one of them")
    if names:
        raise fail(
            "--claims", "no problem beside it", " ".join(names)[:60], "leave out one of the two"
        )
    return verify_claims(trial)


def formula(topology: str, how: Formula, terminal: Terminal) -> int:
    """Closed forms of a family, or what families there are."""
    from peerbayes.formulas.checked import families, formulas, read_settings

    values = read_settings(how.values, list(how.given))
    if topology == "list":
        listed = families(values, weights=how.weights)
        if terminal.json:
            return print_json(listed.as_json())
        from peerbayes.formulas.text import family_parts

        return print_tables(family_parts(listed.families))
    result = formulas(topology, values, weights=how.weights, seed=how.seed, samples=how.samples)
    code = DONE if result.passed else CHECK_FAILED
    if how.latex and not terminal.json:
        from peerbayes.formulas.text import latex_text

        return print_lines(latex_text(result.document()), code)
    return show(result, json=terminal.json, code=code)


def explore(problem: str | None, how: Explore, terminal: Terminal) -> int:
    """Serve a page until Ctrl-C."""
    from peerbayes.explorer.serving import serve

    first: dict[str, Any] = {} if problem is None else {"problem": problem}
    try:
        with serve(first, port=how.port, seconds=how.seconds, data=how.images) as page:
            page.check(terminal.stages(f"{problem}: prepare") if problem else None)
            opened = not how.no_browser and page.open()
            if terminal.json:
                print_json({"address": page.address})
            else:
                seen = opened or how.no_browser
                hint = "" if seen else "open it in a browser of this machine; "
                print_lines(
                    f"{page.address}\n" + ("" if terminal.quiet else f"{hint}Ctrl-C ends it\n")
                )
            page.wait()
    except KeyboardInterrupt:
        return DONE
    return DONE


def campaign(how: CampaignRun, terminal: Terminal) -> int:
    """Where a campaign stands, or what it came to."""
    from peerbayes.experiments.setting import check_installed

    check_installed("campaign")
    from peerbayes.experiments.campaign import campaign_status, run_campaign
    from peerbayes.experiments.campaign_plan import Campaign, selected, usual_records
    from peerbayes.records import check_folder
    from theory.validation import fail

    if how.seed:
        wanted = "0: a campaign's seeds are part of its plan"
        raise fail("--seed", wanted, how.seed, "leave it out")
    out = _folder(how.folder)
    tasks = selected(how.only)
    records = usual_records(out) if how.records is None else Path(how.records)
    home = Campaign(out, records, how.device, how.images, how.again)
    if how.status:
        result = campaign_status(home, tasks)
    else:
        check_folder(out)
        check_folder(home.records)
        result = run_campaign(
            home, tasks, workers=how.workers, progress=terminal.stages, say=how.notice
        )
    failed = result.damage or (result.failed and not how.status)
    return show(result, json=terminal.json, code=CHECK_FAILED if failed else DONE)


def figures(names: Sequence[str] | None, how: Figures, terminal: Terminal) -> int:
    """Figures of the papers from records."""
    from peerbayes.front.run import redraw
    from peerbayes.terminal import say

    found = redraw(names or [], how)
    for words in found.damage:
        say(words)
    return show(found, json=terminal.json, code=CHECK_FAILED if found.damage else DONE)


def report(records: Sequence[Path] | None, how: Report, terminal: Terminal) -> int:
    """One page of records."""
    from peerbayes.records import find_records
    from peerbayes.report import write_report
    from peerbayes.terminal import say

    out = _folder(how.folder)
    also = ("claims", "run", "design", "place", "train", "figures", "watch")
    paths = list(records or find_records(out, kind="verify", also=also))
    damaged: list[str] = []
    page = write_report(paths, out / "report.html", notice=damaged.append)
    for damage in damaged:
        say(damage)
    code = CHECK_FAILED if damaged else DONE
    if terminal.json:
        found = {"report": str(page), "records": [str(path) for path in paths]}
        return print_json(found | ({"damaged": damaged} if damaged else {}), code)
    return print_lines(f"report: {page}\n", code)


def listing(how: Listing, terminal: Terminal) -> int:
    """Built-in problems and experiments."""
    from peerbayes.front.listing import listing as listed

    return show(listed(_folder(how.folder)), json=terminal.json)


def schema(name: str, _: Settings, terminal: Terminal) -> int:
    """A JSON schema, which is JSON whether that is asked for or not."""
    from peerbayes.schemas import read_schema

    return print_json(read_schema(name))


def _folder(given: Path | None) -> Path:
    """The folder of records, which commands always have."""
    assert given is not None
    return given

"""From records to a page: read, find the view of each kind, fill the template, write in one step.

A view makes a `peerbayes.figures.views.Section` of a record's body; the template shows sections and
knows nothing of kinds. A page of one record has its title; a page of several lists them first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from peerbayes._version import __version__
from peerbayes.experiments.experiment import RunRecord
from peerbayes.experiments.net_rows import NetRun
from peerbayes.experiments.registry import damaged_posteriors
from peerbayes.experiments.short_records import ENDING, RecordLines, read_lines
from peerbayes.figures.chart import plotting_style
from peerbayes.figures.svg import share_styles
from peerbayes.figures.views import BROKEN, Remarks, Section, Verdict
from peerbayes.figures.wording import clean
from peerbayes.kinds.registry import kind_of_record
from peerbayes.messages import shorten
from peerbayes.nets.run import damaged_beliefs
from peerbayes.records import Record, read_record, write_whole
from peerbayes.report.designed import design_view, placement_view
from peerbayes.report.experiments import codecs_view, gae_view, link_view, run_view, tuned_view
from peerbayes.report.nets import net_run_view
from peerbayes.report.trained import train_view
from peerbayes.report.verified import claims_view, sources_view, titled, verified_view
from peerbayes.report.watched import watched_view
from theory.validation import fail


def write_report(
    records: Sequence[str | Path],
    path: str | Path,
    *,
    notice: Callable[[str], None] | None = None,
) -> Path:
    """Write one page that shows the records, one after the other.

    Parameters
    ----------
    records
        Files written by `peerbayes.records.write_record`, or ``.jsonl.gz`` files of many such
        records; their checksums are verified.
    path
        Where the page goes; what was there stays until the page is complete.
    notice
        Told, in a line each, of damaged records in a file of many, which the page leaves out, and
        of damaged files beside the records; the page says of these too.

    Raises
    ------
    ValueError
        In one line, if a record cannot be read or shown, or the page cannot be written.
    """
    if isinstance(records, str | Path):
        raise fail("records", "a list of files", f"one: {records}", "put it in square brackets")
    if not records:
        raise fail("records", "at least one", "none", "run 'peerbayes verify' first")
    files = [_loaded(Path(record)) for record in records]
    loaded = [record for file in files for record in file.records.values()]
    with plotting_style():
        chapters = [_chapter(record, key=f"r{index}") for index, record in enumerate(loaded, 1)]
    if notice is not None:
        for line in (line for file in files for line in file.damage):
            notice(line)
        for remark in (remark for chapter in chapters for remark in chapter.remarks):
            for *_, line in remark.lines if remark.verdict == _DAMAGED else ():
                notice(line)
    title = chapters[0].heading
    if len(chapters) > 1:
        title = f"{len(chapters)} records: {titled([chapter.name for chapter in chapters])}"
    page = _template().render(chapters=chapters, title=title, version=__version__)
    path = Path(path)
    write_whole(path, share_styles(page))
    return path


def _loaded(path: Path) -> RecordLines:
    """The records of a file: of one with many, those that are whole."""
    if not path.name.endswith(ENDING) or not path.exists():
        return RecordLines(path, {"": read_record(path)})
    lines = read_lines(path)
    if not lines.records:
        lines.check()
        raise fail(str(path), "at least one record", "none", "name another file")
    return lines


def _chapter(record: Record, *, key: str) -> Section:
    """The section of a record, with what is damaged beside it."""
    try:
        damage = (*damaged_posteriors(record), *damaged_beliefs(record))
        view: Callable[..., Section] = _VIEWS.get(record.kind, _unknown)
        section = view(clean(record.body), key=key)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        # The checksum fits, so that the record is whole: it was written by other code.
        raise fail(
            str(record.path),
            "a record with the keys that this version writes",
            f"one on which the page stumbles ({type(error).__name__}: {shorten(str(error))})",
            "write it again, by repeating the run",
        ) from error
    if record.kind not in _VIEWS:
        name = clean(record.kind)
        section = replace(section, name=name, heading=f"A record of “{name}”")
    if not damage:
        return section
    told = Remarks(_DAMAGED, tuple(("", "", clean(line)) for line in damage))
    return replace(section, remarks=(told, *section.remarks))


def _simulated(body: Mapping[str, Any], *, key: str) -> Section:
    return kind_of_record(body.get("form")).simulation_view(body, key=key)


def _run(body: Mapping[str, Any], *, key: str) -> Section:
    """An experiment; those with regressions name no form."""
    form = body.get("settings", {}).get("form")
    document = NetRun if form == "nets" else RunRecord
    return _EXPERIMENTS[form](document.model_validate(body), key=key)


def _unknown(body: Any, *, key: str) -> Section:
    text = json.dumps(body, indent=1, ensure_ascii=False)
    return Section(key, "", finding="This version shows it as it was written.", record=text)


_EXPERIMENTS: Mapping[str | None, Callable[..., Section]] = {
    None: run_view,
    "nets": net_run_view,
    "gae": gae_view,
    "tuned": tuned_view,
    "codecs": codecs_view,
    "rate-link": link_view,
}
_VIEWS: Mapping[str, Callable[..., Section]] = {
    "verify": verified_view,
    "claims": claims_view,
    "simulate": _simulated,
    "run": _run,
    "design": design_view,
    "place": placement_view,
    "train": train_view,
    "watch": watched_view,
    "figures": sources_view,
}


_DAMAGED = Verdict(BROKEN.style, BROKEN.mark, "Damaged, beside a record that is whole:")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("page.html")

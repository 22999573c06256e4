"""From records to a page: read, order by family, fill the template, write in one step."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from peerbayes._version import __version__
from peerbayes.claims import ClaimsRecord
from peerbayes.experiments.codecs_documents import CodecsRun
from peerbayes.experiments.gae_documents import GaeRun
from peerbayes.experiments.link_documents import LinkRun
from peerbayes.experiments.net_documents import NetRun
from peerbayes.experiments.posterior_files import damaged_posteriors
from peerbayes.experiments.record_lines import ENDING, RecordLines, read_lines
from peerbayes.experiments.regression import RegressionRun
from peerbayes.experiments.tuned_documents import TunedRun
from peerbayes.figures.canvas import plotting_style
from peerbayes.figures.compact import share_styles
from peerbayes.figures.views import (
    BROKEN,
    HOLDS,
    NOT_RUN,
    REFUTED,
    ProblemView,
    Statement,
    Verdict,
    worst,
)
from peerbayes.figures.wording import clean, number, shorten
from peerbayes.kinds.finite.sweep_view import SweepView, sweep_view
from peerbayes.kinds.registry import kind_of_record
from peerbayes.kinds.shared.simulated_view import SimulationView
from peerbayes.nets.kept import damaged_beliefs
from peerbayes.records import Record, read_record, write_whole
from peerbayes.report.claims import ClaimsView, claims_view
from peerbayes.report.codecs import codecs_view
from peerbayes.report.designed import DesignView, design_view, placement_view
from peerbayes.report.gae import gae_view
from peerbayes.report.link import link_view
from peerbayes.report.nets import net_run_view
from peerbayes.report.run_view import RunView, run_view
from peerbayes.report.sources import SourcesView, sources_view
from peerbayes.report.summary import SummaryRow, summary_row
from peerbayes.report.trained import TrainView, train_view
from peerbayes.report.tuned import tuned_view
from peerbayes.report.watched import WatchedView, watched_view
from peerbayes.sources.documents import FiguresRecord
from theory.validation import fail


@dataclass(frozen=True)
class Family:
    """Problems that differ in their parameters alone, and their sweeps."""

    key: str
    name: str
    sweeps: tuple[SweepView, ...]
    problems: tuple[ProblemView, ...]

    @property
    def groups(self) -> tuple[ProblemView | SweepView, ...]:
        """Whatever has statements, in the page's order."""
        return (*self.sweeps, *self.problems)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Every statement of the family."""
        return tuple(statement for group in self.groups for statement in group.statements)

    @property
    def verdict(self) -> Verdict:
        """The worst of its statements' verdicts."""
        return worst([statement.verdict for statement in self.statements])

    @property
    def summary(self) -> SummaryRow:
        """Its line of the first table."""
        problems = len(self.problems)
        return summary_row(self.key, self.name, self.verdict, self.groups, problems=problems)

    def short_name(self, problem: ProblemView) -> str:
        """The problem's name without the family's in front; its title where nothing is left."""
        return problem.name.removeprefix(self.name).strip() or problem.title or problem.name

    def heading(self, problem: ProblemView) -> str:
        """The problem's name; where that is the family's, which is printed above it, its title."""
        return problem.name if problem.name != self.name else problem.title or problem.name


@dataclass(frozen=True)
class Chapter:
    """One record as the page shows it."""

    key: str
    kind: str
    setting: str
    families: tuple[Family, ...] = ()
    skipped: tuple[str, ...] = ()
    simulation: SimulationView | None = None
    claims: ClaimsView | None = None
    experiment: RunView | None = None
    design: DesignView | None = None
    training: TrainView | None = None
    sources: SourcesView | None = None
    watched: WatchedView | None = None
    other: str | None = None
    damaged: tuple[str, ...] = ()

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Every statement of the record."""
        return tuple(statement for family in self.families for statement in family.statements)

    @property
    def total(self) -> SummaryRow:
        """The last line of the first table: all families together."""
        groups = [group for family in self.families for group in family.groups]
        problems = sum(len(family.problems) for family in self.families)
        return summary_row("", "all", None, groups, problems=problems)

    @property
    def broken(self) -> tuple[tuple[str, str, Statement], ...]:
        """(key of the section, its name, statement) for each proved statement that is broken."""
        return self._with(BROKEN)

    @property
    def refuted(self) -> tuple[tuple[str, str, Statement], ...]:
        """The same for each published statement that is no theorem and fails."""
        return self._with(REFUTED)

    @property
    def holding(self) -> tuple[tuple[str, str, Statement], ...]:
        """The same for each statement that was checked and holds."""
        return self._with(HOLDS)

    @property
    def not_run(self) -> tuple[tuple[str, str, Statement], ...]:
        """The same for each statement that no run has checked."""
        return self._with(NOT_RUN)

    def _with(self, verdict: Verdict) -> tuple[tuple[str, str, Statement], ...]:
        return tuple(
            (group.key, group.name, statement)
            for family in self.families
            for group in family.groups
            for statement in group.statements
            if statement.verdict == verdict
        )


def write_report(
    records: Sequence[Path], path: Path, *, notice: Callable[[str], None] | None = None
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
        chapters = [_chapter(record, key=f"r{i}") for i, record in enumerate(loaded, 1)]
    if notice is not None:
        found = [file.damage for file in files] + [chapter.damaged for chapter in chapters]
        for damage in (damage for one in found for damage in one):
            notice(damage)
    text = share_styles(_template().render(chapters=chapters, version=__version__))
    path = Path(path)
    write_whole(path, text)
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


def _chapter(record: Record, *, key: str) -> Chapter:
    try:
        kept = (*damaged_posteriors(record), *damaged_beliefs(record))
        damaged = tuple(clean(damage) for damage in kept)
        return replace(_known_chapter(record.kind, clean(record.body), key=key), damaged=damaged)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        # The checksum fits, so that the record is whole: it was written by other code.
        raise fail(
            str(record.path),
            "a record with the keys that this version writes",
            f"one on which the page stumbles ({type(error).__name__}: {shorten(str(error), 60)})",
            "write it again, by repeating the run",
        ) from error


def _value(body: Any, key: str, kind: type) -> Any:
    """The entry of a body, which must be of this kind."""
    value = body[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{key} is {value!r}")
    return value


def _known_chapter(kind: str, body: Any, *, key: str) -> Chapter:
    if kind == "verify":
        setting = f"seed {_value(body, 'seed', int)}, δ = {number(_value(body, 'delta', float))}"
        families = _families(body, key)
        return Chapter(key, kind, setting, families, tuple(_value(body, "skipped", list)))
    if kind == "simulate":
        kind_of_problem = kind_of_record(body.get("form"))
        simulation = kind_of_problem.simulation_view(body, key=f"{key}-s")
        return Chapter(key, kind, simulation.name, simulation=simulation)
    if kind == "run":
        form = body.get("settings", {}).get("form")  # experiments with regressions name none
        shown = _run_view(form, body, key=f"{key}-x")
        setting = f"{shown.name}, seed {_value(body, 'seed', int)}"
        return Chapter(key, kind, setting, experiment=shown)
    if kind == "claims":
        trial = ClaimsRecord.model_validate(body)
        setting = f"seed {trial.seed}, effort {number(trial.effort)}"
        return Chapter(key, kind, setting, claims=claims_view(trial, key=key))
    if kind in ("design", "place"):
        designed = (design_view if kind == "design" else placement_view)(body, key=f"{key}-d")
        return Chapter(key, kind, designed.name, design=designed)
    if kind == "train":
        training = train_view(body, key=f"{key}-t")
        return Chapter(key, kind, training.name, training=training)
    if kind == "watch":
        watched = watched_view(body, key=f"{key}-l")
        return Chapter(key, kind, watched.name, watched=watched)
    if kind == "figures":
        sources = sources_view(FiguresRecord.model_validate(body), key=f"{key}-g")
        return Chapter(key, kind, sources.summary, sources=sources)
    other = json.dumps(body, indent=1, ensure_ascii=False)
    return Chapter(key, kind, "as recorded", other=other)


def _run_view(form: str | None, body: Any, *, key: str) -> RunView:
    if form == "nets":
        return net_run_view(NetRun.model_validate(body), key=key)
    if form == "gae":
        return gae_view(GaeRun.model_validate(body), key=key)
    if form == "tuned":
        return tuned_view(TunedRun.model_validate(body), key=key)
    if form == "codecs":
        return codecs_view(CodecsRun.model_validate(body), key=key)
    if form == "rate-link":
        return link_view(LinkRun.model_validate(body), key=key)
    return run_view(RegressionRun.model_validate(body), key=key)


def _families(body: Any, key: str) -> tuple[Family, ...]:
    """Problems and sweeps by family, in the record's order."""
    problems: dict[str, list[ProblemView]] = {}
    for index, entry in enumerate(_value(body, "problems", list), 1):
        problem = kind_of_record(entry.get("form")).view(entry, key=f"{key}-p{index}")
        problems.setdefault(problem.family, []).append(problem)
    sweeps: dict[str, list[SweepView]] = {}
    for index, entry in enumerate(_value(body, "sweeps", list), 1):
        sweep = sweep_view(entry, key=f"{key}-w{index}")
        # A sweep is named after its family (peerbayes.kinds.finite.sweeps).
        sweeps.setdefault(sweep.name.partition(" over ")[0], []).append(sweep)
    names = [*problems, *(name for name in sweeps if name not in problems)]
    return tuple(
        Family(f"{key}-f{i}", name, tuple(sweeps.get(name, ())), tuple(problems.get(name, ())))
        for i, name in enumerate(names, 1)
    )


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

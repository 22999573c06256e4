"""`pb.run` and `peerbayes figures`: the papers' experiments and figures, with record and page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.documents import Documented
from peerbayes.experiments.experiment import Experiment as Paper
from peerbayes.experiments.experiment import RunPrinted
from peerbayes.experiments.registry import configured
from peerbayes.experiments.run import ExperimentRun, run_experiment, team_of_torchrun
from peerbayes.records import RecordPlace
from peerbayes.settings.declared import question
from peerbayes.settings.nets import Experiment, Figures
from peerbayes.settings.questions import DEFAULT_OUT

if TYPE_CHECKING:
    from rich.console import RenderableType

    from peerbayes.sources.documents import FigureDocument, FiguresPrinted


@dataclass(frozen=True, eq=False)
class RunOutcome(Documented):
    """What an experiment found, and where its record and its page are."""

    run: ExperimentRun
    report_path: Path

    def _title(self) -> str:
        return f"{type(self).__name__} of {self.run.record.experiment!r}"

    def _facts(self) -> Iterator[tuple[str, object]]:
        record = self.run.record
        yield "title", record.title
        yield "source", record.source
        yield "parts", tuple(record.parts)
        yield "replicates", record.replicates
        yield "seed", record.seed
        yield "lines", len(record.lines)
        yield "contradicted", self.failed
        yield "record", str(self.run.record_path)
        yield "report", str(self.report_path)

    @property
    def record_path(self) -> Path:
        """Where the record is."""
        return self.run.record_path

    @property
    def failed(self) -> bool:
        """Whether a measurement contradicts its prediction beyond sampling error."""
        return self.run.failed

    def document(self) -> RunPrinted:
        """What `run` prints."""
        kept = {"settings", "version", "content"}
        return RunPrinted(
            **{k: v for k, v in self.run.record if k not in kept},
            reused=list(self.run.reused),
            record=str(self.run.record_path),
            report=str(self.report_path),
        )

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        from peerbayes.experiments.run import run_parts

        return run_parts(self.document())


@question(Experiment)
def run(experiment: str | Paper[Any], how: Experiment) -> RunOutcome:
    """Run an experiment of the papers, and leave its record, its parts, and a page.

    Under torchrun each process runs some of the parts; all have to see the folder `out`.

    Parameters
    ----------
    experiment
        Its name, such as ``"regression-2"``, or the experiment itself.

    Raises
    ------
    ValueError
        If there is no such experiment, an option is of no use to it or out of range, something
        that it needs is missing, or records cannot be written to `out` or would replace others,
        which is seen first.
    """
    from peerbayes.experiments import find_experiment
    from peerbayes.report import write_report

    folder = DEFAULT_OUT if how.folder is None else how.folder
    with team_of_torchrun() as team:
        how = replace(how, resume=how.resume or team.restarted)
        given = experiment if isinstance(experiment, Paper) else find_experiment(experiment)
        chosen, only = configured(given, how, folder)
        found = run_experiment(
            chosen,
            seed=how.seed,
            replicates=how.replicates,
            only=only,
            resume=how.resume,
            out=folder,
            force=how.force,
            progress=how.progress,
            team=team,
        )
    if how.notice is not None:
        for sentence in found.discarded:
            how.notice(sentence)
    page = found.record_path.with_suffix(".html")
    if team.is_first:
        write_report([found.record_path], page)
    return RunOutcome(found, page)


# Figures of the sources --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Redrawn(Documented):
    """Figures with their verdicts, and where their record and their page are.

    `damage` has a sentence about every short record that cannot be read; the others count.
    """

    figures: tuple[FigureDocument, ...]
    record_path: Path
    report_path: Path
    damage: tuple[str, ...] = ()

    def _facts(self) -> Iterator[tuple[str, object]]:
        for figure in self.figures:
            yield figure.name, figure.verdict

    def document(self) -> FiguresPrinted:
        """What `figures` prints."""
        from peerbayes.sources.documents import FiguresPrinted

        return FiguresPrinted(
            figures=list(self.figures), record=str(self.record_path), report=str(self.report_path)
        )

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        from peerbayes.sources.catalogue import figures_table

        return figures_table(self.document())


@question(Figures)
def redraw(names: Sequence[str], how: Figures) -> Redrawn:
    """Redraw figures of the sources, and leave a record and a page.

    Parameters
    ----------
    names
        Such as ``p2-5b``; none: every figure.

    Raises
    ------
    ValueError
        If there is no figure of a name, a record of `run` is damaged, or the record cannot be
        written to `out` or would replace one of figures that are not among these; in one line.
        Damage in short records is part of the result.
    """
    from peerbayes.experiments.campaign_plan import usual_records
    from peerbayes.report import write_report
    from peerbayes.sources.catalogue import chosen_figures
    from peerbayes.sources.documents import FiguresRecord, Kept

    out = DEFAULT_OUT if how.folder is None else how.folder
    records = usual_records(out) if how.records is None else Path(how.records)
    chosen = chosen_figures(names)
    of = {"records": str(records), "parts": [one.name for one in chosen]}
    place = RecordPlace(out / "figures.json", "figures", of, how.force)
    place.check()
    report = None if how.progress is None else how.progress("figures")
    kept, figures = Kept(records, out), []
    for done, figure in enumerate(chosen, 1):
        figures.append(figure.redraw(kept))
        if report is not None:
            report(done, len(chosen))
    path = place.write(FiguresRecord(figures=figures).as_json())
    page = write_report([path], out / "figures.html")
    return Redrawn(tuple(figures), path, page, kept.damage)

"""`pb.run`: an experiment with its record, and the page made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.documents import Documented
from peerbayes.experiments.experiment import Experiment as Paper
from peerbayes.experiments.experiment import RunPrinted
from peerbayes.experiments.registry import configured
from peerbayes.experiments.run import (
    ExperimentRun,
    run_experiment,
    run_parts,
    team_of_torchrun,
)
from peerbayes.settings.declared import question
from peerbayes.settings.groups import DEFAULT_OUT
from peerbayes.settings.nets import Experiment

if TYPE_CHECKING:
    from rich.console import RenderableType


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
        return run_parts(self.document())


@question(Experiment)
def run(experiment: str | Paper, how: Experiment) -> RunOutcome:
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

"""`peerbayes run`: an experiment with its record, and the page made of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.documents import Documented
from peerbayes.experiments.documents import RunPrinted
from peerbayes.experiments.experiment import Experiment
from peerbayes.experiments.run import ExperimentRun, run_experiment
from theory.progress import Progress

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, eq=False)
class RunOutcome(Documented):
    """What an experiment found, and where its record and its page are."""

    run: ExperimentRun
    report_path: Path

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
        from peerbayes.experiments.tables import run_parts

        return run_parts(self.document())


def run(
    experiment: Experiment,
    *,
    seed: int = 0,
    replicates: int | None = None,
    only: Collection[str] | None = None,
    resume: bool = False,
    out: Path,
    progress: Callable[[str], Progress] | None = None,
) -> RunOutcome:
    """Run an experiment and leave its record, its parts, and a page.

    The arguments are those of `peerbayes.experiments.run_experiment`.

    Raises
    ------
    ValueError
        If a number is out of range, or nothing can be written to `out`, which is tried first.
    """
    from peerbayes.report import write_report

    found = run_experiment(
        experiment,
        seed=seed,
        replicates=replicates,
        only=only,
        resume=resume,
        out=out,
        progress=progress,
    )
    page = write_report([found.record_path], found.record_path.with_suffix(".html"))
    return RunOutcome(found, page)

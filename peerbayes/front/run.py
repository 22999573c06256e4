"""`pb.run`: an experiment with its record, and the page made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.documents import Documented
from peerbayes.experiments.documents import RunPrinted
from peerbayes.experiments.experiment import Experiment
from peerbayes.experiments.options import configured
from peerbayes.experiments.run import ExperimentRun, run_experiment
from peerbayes.experiments.team import team_of_torchrun
from theory.progress import Progress

if TYPE_CHECKING:
    from rich.console import RenderableType


DEFAULT_OUT = Path("peerbayes-out")


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
    experiment: str | Experiment,
    *,
    replicates: int | None = None,
    resume: bool = False,
    recipe: str | None = None,
    part: str | None = None,
    quick: bool = False,
    device: str | None = None,
    codec: str | None = None,
    workers: int | None = None,
    seed: int = 0,
    out: str | Path = DEFAULT_OUT,
    force: bool = False,
    data: str | Path | None = None,
    progress: Callable[[str], Progress] | None = None,
    notice: Callable[[str], None] | None = None,
) -> RunOutcome:
    """Run an experiment of the papers, and leave its record, its parts, and a page.

    Under torchrun each process runs some of the parts; all have to see the folder `out`.

    Parameters
    ----------
    experiment
        Its name, such as ``"regression-2"``, or the experiment itself.
    replicates
        Independent runs of each part; left out: what the experiment says.
    resume
        Take parts that are on record, whole and of these very settings, instead of running them.
    recipe, part, quick, device
        Of experiments with neural nets: ``"paper"``, ``"best"``, ``"once"`` or ``"tuned"``; words
        of the names of the parts to run; whether to look for less than a minute; ``"cpu"`` or
        ``"cuda"``.
    codec
        What writes the messages of a row of Bayesian nets, in records of its own: a name
        (``empirical.messages.codecs.CODECS``), or such as ``"difference+sign"``, a codec around
        another. Left out, or ``"none"``: beliefs are sent as they are.
    workers
        Of `gae`: threads that train its nodes, or the trajectories that its autoencoder learns
        from, side by side; the numbers stay the same. Left out: one.
    out
        Folder of the records.
    force
        Whether records of another seed, of other settings or of parts that are not asked for may be
        replaced.
    data
        Folder of the image files.
    progress
        Maps the name of a part to a callable of (done, total).
    notice
        Told, in one sentence each, of parts on record that were not taken.

    Raises
    ------
    ValueError
        If there is no such experiment, an option is of no use to it or out of range, something
        that it needs is missing, or records cannot be written to `out` or would replace others,
        which is seen first.
    """
    from peerbayes.experiments import find_experiment
    from peerbayes.report import write_report

    folder = Path(out)
    with team_of_torchrun() as team:
        resume = resume or team.restarted
        chosen, only = configured(
            experiment if isinstance(experiment, Experiment) else find_experiment(experiment),
            replicates=replicates,
            recipe=recipe,
            part=part,
            quick=quick,
            device=device,
            codec=codec,
            workers=workers,
            data=None if data is None else Path(data),
            resume=resume,
            out=folder,
            notice=notice,
        )
        found = run_experiment(
            chosen,
            seed=seed,
            replicates=replicates,
            only=only,
            resume=resume,
            out=folder,
            force=force,
            progress=progress,
            team=team,
        )
    if notice is not None:
        for sentence in found.discarded:
            notice(sentence)
    page = found.record_path.with_suffix(".html")
    if team.is_first:
        write_report([found.record_path], page)
    return RunOutcome(found, page)

"""`pb.train_file`: a training that a net file describes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.experiments.run import is_first_process
from peerbayes.experiments.setting import check_installed
from peerbayes.settings.declared import question
from peerbayes.settings.nets import TrainFile

if TYPE_CHECKING:
    from peerbayes.nets.run import TrainOutcome


@question(TrainFile)
def train_file(path: str | Path, how: TrainFile) -> TrainOutcome:
    """Train what a net file says, and leave a record, the beliefs, and a page.

    Under torchrun the agents are spread over its processes, of which the first one writes.

    Parameters
    ----------
    path
        A TOML or JSON file ([](../reference/net-files.md)).

    Raises
    ------
    ValueError
        As of :func:`~peerbayes.front.train.train`, or if the file is not one; in one line.
    """
    check_installed("train")
    from empirical.nets.distributed import connect
    from exact.cost import as_memory
    from peerbayes.nets.planning import plan_of
    from peerbayes.nets.reading import read_net_file
    from peerbayes.nets.run import run_plan

    problem = read_net_file(path, directory=how.images, seed=how.seed)
    with connect(how.device) as exchange:
        outcome = run_plan(
            plan_of(problem, how.rounds, how.codec, source=str(path)),
            out=how.folder,
            force=how.force,
            resume=how.resume,
            device=how.device,
            memory=None if how.memory is None else as_memory("memory", how.memory),
            exchange=exchange,
            progress=None if how.progress is None else how.progress(problem.name),
            notice=how.notice,
        )
    if outcome.record_path is None or not is_first_process():
        return outcome
    from peerbayes.report import write_report

    page = write_report([outcome.record_path], outcome.record_path.with_suffix(".html"))
    return replace(outcome, report_path=page)

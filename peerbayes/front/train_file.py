"""`pb.train_file`: a training that a net file describes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.experiments.net_run import check_installed
from peerbayes.experiments.team import is_first_process
from theory.progress import Progress

if TYPE_CHECKING:
    from peerbayes.nets.run import TrainOutcome


def train_file(
    path: str | Path,
    *,
    rounds: int | None = None,
    seed: int | None = None,
    codec: str | None = None,
    out: str | Path | None = None,
    data: str | Path | None = None,
    force: bool = False,
    resume: bool = False,
    device: str = "cpu",
    memory: int | None = None,
    progress: Callable[[str], Progress] | None = None,
    notice: Callable[[str], None] | None = None,
) -> TrainOutcome:
    """Train what a net file says, and leave a record, the beliefs, and a page.

    Under torchrun the agents are spread over its processes, of which the first one writes.

    Parameters
    ----------
    path
        A TOML or JSON file ([](../reference/net-files.md)).
    rounds, seed
        In place of the file's own.
    codec
        In place of the file's own: a name (``empirical.messages.codecs.CODECS``), ``"none"``, or
        such as ``"difference+sign"``, a codec around another.
    out
        Folder of the record; left out: nothing is written.
    data
        Folder of the files of MNIST and Fashion-MNIST.
    force, resume, device, memory, notice
        As of :func:`~peerbayes.front.train.train`.
    progress
        Maps the name of a stage to a callable of (done, total).

    Raises
    ------
    ValueError
        As of :func:`~peerbayes.front.train.train`, or if the file is not one; in one line.
    """
    check_installed("train")
    from empirical.nets.distributed import connect
    from peerbayes.nets.planning import plan_of
    from peerbayes.nets.reading import read_net_file
    from peerbayes.nets.run import run_plan

    directory = None if data is None else Path(data)
    problem = read_net_file(path, directory=directory, seed=seed)
    with connect(device) as exchange:
        outcome = run_plan(
            plan_of(problem, rounds, codec, source=str(path)),
            out=None if out is None else Path(out),
            force=force,
            resume=resume,
            device=device,
            memory=memory,
            exchange=exchange,
            progress=None if progress is None else progress(problem.name),
            notice=notice,
        )
    if outcome.record_path is None or not is_first_process():
        return outcome
    from peerbayes.report import write_report

    page = write_report([outcome.record_path], outcome.record_path.with_suffix(".html"))
    return replace(outcome, report_path=page)

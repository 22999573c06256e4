"""`pb.train_file`: a training that a net file describes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.experiments.net_run import check_installed
from peerbayes.experiments.team import is_first_process
from theory.progress import Progress

if TYPE_CHECKING:
    from empirical.train.plan import TrainingPlan
    from peerbayes.nets.run import TrainOutcome
    from peerbayes.nets.training_problem import TrainingProblem


def train_file(
    path: str | Path,
    *,
    rounds: int | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    data: str | Path | None = None,
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
    out
        Folder of the record; left out: nothing is written.
    data
        Folder of the files of MNIST and Fashion-MNIST.
    resume, device, memory, notice
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
    from peerbayes.nets.reading import read_net_file
    from peerbayes.nets.run import run_plan

    directory = None if data is None else Path(data)
    problem = read_net_file(path, directory=directory, seed=seed)
    with connect(device) as exchange:
        outcome = run_plan(
            _plan_of(problem, rounds, source=str(path)),
            out=None if out is None else Path(out),
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


def _plan_of(problem: TrainingProblem, rounds: int | None, *, source: str) -> TrainingPlan:
    from empirical.train.learners import learner_of
    from empirical.train.likelihoods.words import likelihood_of
    from empirical.train.making import net_for
    from empirical.train.plan import DRAWS, TrainingPlan

    training, found = problem.training, likelihood_of(problem.likelihood)
    try:
        learner = learner_of(training.learner, **training.settings)
    except ValueError as error:
        raise ValueError(f"{source}: training: {error}") from None

    def build() -> Any:
        return problem.module(outputs=found.outputs - found.constants)

    own = problem.specification.net.module_file is not None
    return TrainingPlan(
        name=problem.name,
        title=problem.title,
        net=net_for(build if own else build(), found, problem.data.train[0].inputs[:4]),
        likelihood=found,
        network=problem.network,
        learner=learner,
        data=problem.data,
        rounds=training.rounds if rounds is None else rounds,
        local_steps=training.local_steps,
        batch=training.batch,
        seed=training.seed,
        patience=training.patience,
        every=training.every,
        draws=DRAWS if training.draws is None else training.draws,
        schedule=training.schedule,
        decay=training.decay,
        warm_up=training.warm_up,
        products=training.products,
    )

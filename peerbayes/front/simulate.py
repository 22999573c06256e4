"""`pb.simulate`: the exact algorithm on drawn observations, many times over."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from exact.cost import gibibytes
from peerbayes.front.problems import as_problem
from peerbayes.settings.declared import question
from peerbayes.settings.questions import Simulate
from peerbayes.terminal import (
    ANNOUNCED_BYTES,
    ANNOUNCED_SECONDS,
    Predicted,
    check_hours,
    duration,
    stage,
)

if TYPE_CHECKING:
    from exact.results import Run
    from peerbayes.front.typed import ByKind, P
    from peerbayes.kinds.regression.simulate import RegressionSummary
    from peerbayes.kinds.shared.simulate import Simulated, SimulationSummary
    from peerbayes.problem.problems import AnyProblem
    from theory.progress import Progress

    _Simulations: TypeAlias = ByKind[
        SimulationSummary, SimulationSummary, SimulationSummary, RegressionSummary, P
    ]


def _question(settings: Callable[P, Simulate]) -> Callable[[Any], _Simulations[P]]:
    """The question, its answer typed by the kind of the problem."""
    made: Any = question(settings)
    return cast("Callable[[Any], _Simulations[P]]", made)


@_question(Simulate)
def simulate(problem: AnyProblem | str | Path, how: Simulate) -> Simulated:
    """Finite social learning or Gaussian regression, simulated; the same seed, the same numbers.

    With a folder for the record, a long run keeps a checkpoint beside it, removed at the end.

    Parameters
    ----------
    problem
        Of any kind, or the name or the file of one.

    Raises
    ------
    ValueError
        If a number is out of range, the run would take too much memory or time, or the record
        cannot be written or would replace one of another problem, which is seen before the run.

    Examples
    --------
    >>> run = simulate("two-coins", rounds=50, replicates=20, seed=1)
    >>> run.as_json()["rounds"]
    50
    """
    from exact.parallel import check_backend
    from peerbayes.kinds.registry import kind_of
    from peerbayes.records import RecordPlace, check_folder, file_name, resumable

    # Before classifiers are trained.
    if how.folder is not None:
        check_folder(how.folder)
    check_backend(how.resources.backend)
    found = as_problem(problem, how)
    place = None
    if how.folder is not None:
        sizes = {"rounds": how.rounds, "replicates": how.replicates, "seed": how.seed}
        name = file_name(
            "simulate", found.name, f"n{how.rounds}", f"r{how.replicates}", f"s{how.seed}"
        )
        of = {"problem": found.sha256, **sizes}
        place = RecordPlace(how.folder / name, "simulate", of, how.force)
        place.check()
    progress = stage(how.progress, f"{found.name}: simulate")
    run = run_of(how, out=None if place is None else place.path, progress=progress)
    kind = kind_of(found)
    task = kind.simulation(found, run)
    announce(how, found.name, task.cost())
    left = [] if run.checkpoint is None else [Path(run.checkpoint)]
    with resumable(left, resume=how.resources.resume, say=how.notice):
        simulation = task.simulate()
    summary: Simulated = kind.summary(found, simulation)
    if place is None:
        return summary
    return replace(summary, record_path=place.write(summary.as_record()))


def run_of(how: Simulate, *, out: Path | None, progress: Progress | None) -> Run:
    """The run that settings ask for, its checkpoint beside the record-to-be `out`.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    from exact.results import Run

    machine = how.resources
    checkpoint = None if out is None else out.with_suffix(".checkpoint")
    return Run(
        rounds=how.rounds,
        replicates=how.replicates,
        seed=how.seed,
        workers=machine.workers,
        backend=machine.backend,
        memory=machine.memory,
        checkpoint=checkpoint,
        resume=machine.resume and checkpoint is not None,
        progress=progress,
    )


def announce(how: Simulate, name: str, cost: Predicted) -> None:
    """Say what a long or large run is expected to take; refuse one that is too long.

    Raises
    ------
    ValueError
        If the run is expected to take more than `hours`.
    """
    check_hours(cost, hours=how.resources.hours, remedy=f"allow it with --hours {_hours(cost)}")
    large = cost.seconds >= ANNOUNCED_SECONDS or cost.bytes >= ANNOUNCED_BYTES
    if large and how.notice is not None:
        memory = f"{gibibytes(cost.bytes)} GiB of memory"
        how.notice(f"{name}: about {duration(cost.seconds)}, up to {memory} (estimates)")


def _hours(cost: Predicted) -> int:
    """Hours that are enough, rounded up to two digits."""
    hours = math.ceil(cost.seconds / 3600)
    unit = int(10 ** max(0, len(str(hours)) - 2))
    return -(-hours // unit) * unit

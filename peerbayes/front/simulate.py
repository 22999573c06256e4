"""`pb.simulate`: the exact algorithm on drawn observations, many times over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.front.problems import Batch, as_problem
from theory.typed import require

if TYPE_CHECKING:
    from peerbayes.kinds.shared.kind import SimulationOutcome
    from peerbayes.problem.problems import AnyProblem
    from peerbayes.resources import Resources
    from theory.progress import Progress


def simulate(
    problem: AnyProblem | str | Path,
    *,
    rounds: int = 1000,
    replicates: int = 100,
    seed: int = 0,
    out: str | Path | None = None,
    force: bool = False,
    data: str | Path | None = None,
    batch: Batch | None = None,
    resources: Resources | None = None,
    progress: Progress | None = None,
) -> SimulationOutcome:
    """Finite social learning or Gaussian regression, simulated.

    Parameters
    ----------
    problem
        Of any kind, or the name or the file of one.
    rounds, replicates, seed
        n ≥ 1, R ≥ 1 and a whole number of at least 0; the same seed gives the same numbers.
    out
        Folder for the record; left out: none is written.
    force
        Whether a record of another problem of this name may be replaced.
    data
        Folder of the image files, for built-ins that need them.
    batch
        Observations a round, in place of the problem's: a number, or one for each agent. The name
        of the problem then says so.
    resources
        Workers, memory and the like (`peerbayes.resources.Resources`). With `out`, a long run
        keeps a checkpoint beside its record, removed at the end.
    progress
        Called with (done, total).

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
    from peerbayes.kinds.registry import kind_of
    from peerbayes.record_names import file_name
    from peerbayes.records import RecordPlace
    from peerbayes.resources import Resources

    found = as_problem(problem, data, batch)
    place = None
    if out is not None:
        name = file_name("simulate", found.name, f"n{rounds}", f"r{replicates}", f"s{seed}")
        of = {"problem": found.sha256, "rounds": rounds, "replicates": replicates, "seed": seed}
        place = RecordPlace(Path(out) / name, "simulate", of, force)
        place.check()
    resources = Resources() if resources is None else resources
    require("resources", resources, Resources)
    run = resources.run(
        rounds=rounds,
        replicates=replicates,
        seed=seed,
        out=None if place is None else place.path,
        progress=progress,
    )
    kind = kind_of(found)
    task = kind.simulation(found, run)
    resources.begin(found.name, task.cost(), run)
    simulation = task.simulate()
    summary = kind.summary(found, simulation)
    if place is None:
        return summary
    return kind.summary(found, simulation, place.write(summary.as_record()))

"""`pb.simulate`: the exact algorithm on drawn observations, many times over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.front.problems import as_problem

if TYPE_CHECKING:
    from peerbayes.kinds.shared.kind import Result
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
    data: str | Path | None = None,
    resources: Resources | None = None,
    progress: Progress | None = None,
) -> Result:
    """Finite social learning or Gaussian regression, simulated.

    Parameters
    ----------
    problem
        Of any kind, or the name or the file of one.
    rounds, replicates, seed
        n ≥ 1, R ≥ 1 and a whole number of at least 0; the same seed gives the same numbers.
    out
        Folder for the record; left out: none is written.
    data
        Folder of the image files, for built-ins that need them.
    resources
        Workers, memory and the like (`peerbayes.resources.Resources`). With `out`, a long run
        keeps a checkpoint beside its record, removed at the end.
    progress
        Called with (done, total).

    Raises
    ------
    ValueError
        If a number is out of range, the run would take too much memory or time, or the record
        cannot be written; the folder is tried before the run.

    Examples
    --------
    >>> run = simulate("two-coins", rounds=50, replicates=20, seed=1)
    >>> run.as_json()["rounds"]
    50
    """
    from peerbayes.kinds.registry import kind_of

    found = as_problem(problem, data)
    result: Result = kind_of(found).simulate(
        found,
        rounds=rounds,
        replicates=replicates,
        seed=seed,
        out=None if out is None else Path(out),
        progress=progress,
        resources=resources,
    )
    return result

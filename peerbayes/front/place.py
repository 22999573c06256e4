"""`peerbayes place`: which agent should hold which data, for a problem of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peerbayes.designs.place import PlacementRequest, PlacementResult
from peerbayes.front.problems import Batch, as_problem, as_request
from peerbayes.kinds.registry import kind_of
from peerbayes.problem.problems import AnyProblem
from peerbayes.record_names import file_name
from peerbayes.records import RecordPlace
from theory.progress import Progress


def place(
    problem: AnyProblem | str | Path,
    request: PlacementRequest | None = None,
    *,
    out: str | Path | None = None,
    force: bool = False,
    data: str | Path | None = None,
    batch: Batch | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> PlacementResult:
    """The best placement of the agents' data on a network that stays as it is.

    Parameters
    ----------
    problem
        Of any kind, or the name or the file of one.
    request
        What is asked; left out: what `settings` say, which are those of
        `peerbayes.designs.place.PlacementRequest`: `objective`, `delta`, `fixed` and others.
    out
        Folder for the record; left out: none is written.
    force
        Whether a record of another request, or of another problem of this name, may be replaced.
    data
        Folder of the image files, for built-ins that need them.
    batch
        Observations a round, in place of the problem's: a number, or one for each agent. The name
        of the problem then says so.
    progress
        Called with (done, total).

    Raises
    ------
    ValueError
        If the request does not go with the problem, or the record cannot be written.

    Examples
    --------
    >>> place("p2-grid corner").document().moved
    [0, 4]
    """
    request = as_request(PlacementRequest, request, settings)
    problem = as_problem(problem, data, batch)
    spot = None
    if out is not None:
        path = Path(out) / file_name("place", problem.name, request.objective)
        spot = RecordPlace(path, "place", {"problem": problem.sha256, **vars(request)}, force)
        spot.check()
    result: PlacementResult = kind_of(problem).place(problem, request, progress)
    if spot is None:
        return result
    return result.remarked(record_path=spot.write(result.record().as_json()))

"""`peerbayes place`: which agent should hold which data, for a problem of any kind."""

from __future__ import annotations

from pathlib import Path

from peerbayes.designs.place import PlacementRequest, PlacementResult
from peerbayes.kinds.registry import kind_of
from peerbayes.problem.problems import AnyProblem
from peerbayes.record_names import file_name
from peerbayes.records import check_folder, write_record
from theory.progress import Progress


def place(
    problem: AnyProblem,
    request: PlacementRequest,
    *,
    out: Path | None = None,
    progress: Progress | None = None,
) -> PlacementResult:
    """The best placement of the agents' data on a network that stays as it is.

    Parameters
    ----------
    out
        Folder for the record; left out: none is written.

    Raises
    ------
    ValueError
        If the request does not go with the problem, or the record cannot be written.
    """
    if out is not None:
        check_folder(out)
    result: PlacementResult = kind_of(problem).place(problem, request, progress)
    if out is None:
        return result
    path = out / file_name("place", problem.name, request.objective)
    write_record(path, kind="place", body=result.record().as_json())
    return result.remarked(record_path=path)

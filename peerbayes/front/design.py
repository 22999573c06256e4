"""`peerbayes design`: one problem of any kind, one request, one result, one record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peerbayes.designs.outcome import DesignOutcome
from peerbayes.designs.request import DesignRequest
from peerbayes.front.problems import Batch, as_problem, as_request
from peerbayes.kinds.registry import kind_of
from peerbayes.problem.files import check_writable
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.writing import write_problem
from peerbayes.record_names import file_name
from peerbayes.records import RecordPlace
from theory.design.time_budget import time_budget
from theory.progress import Progress
from theory.validation import fail


def design(
    problem: AnyProblem | str | Path,
    request: DesignRequest | None = None,
    *,
    out: str | Path | None = None,
    force: bool = False,
    write: str | Path | None = None,
    data: str | Path | None = None,
    batch: Batch | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> DesignOutcome:
    """The design that a request asks for, for a problem of any kind.

    Faulty agents are designed for as if they were honest; a note says so.

    Parameters
    ----------
    problem
        Of any kind, or the name or the file of one.
    request
        What is asked; left out: what `settings` say, which are those of
        `peerbayes.designs.request.DesignRequest`: `objective`, `delta`, `target` and others.
    out
        Folder for the record; left out: none is written.
    force
        Whether a record of another request, or of another problem of this name, may be replaced.
    write
        File for the problem with the designed weights, TOML or JSON by its suffix; all else of the
        problem is kept. Left out: none is written.
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
        If the request does not go with the problem, no design reaches the objective, limits
        exclude each other, or the record or the file cannot be written; in one line.

    Examples
    --------
    >>> found = design("p2-grid", objective="rate", replicates=0)
    >>> round(found.document().rate, 4)
    0.0636
    """
    request = as_request(DesignRequest, request, settings)
    given = problem if isinstance(problem, str | Path) else None
    problem = as_problem(problem, data, batch)
    place, write = None, None if write is None else Path(write)
    if out is not None:
        path = Path(out) / file_name("design", problem.name, request.objective)
        place = RecordPlace(path, "design", {"problem": problem.sha256, **vars(request)}, force)
        place.check()
    if write is not None:
        check_writable("write", write, given=given)
        if place is not None and write.absolute() == place.path.absolute():
            raise fail("write", "another file than the record", str(write), "choose another name")
        if request.objective == "next-edge":
            raise fail("write", "an objective that designs weights", "next-edge", "leave it out")
    if progress is not None:
        progress(0, 1)  # a bar from the start, before anything is known of how far there is to go
    with time_budget(request.seconds) as budget:
        result = kind_of(problem).design(problem, request, progress)
    if budget.stopped:
        remark = (
            f"stopped by the time budget of {budget.seconds:g} seconds: the best found by then; "
            "more time may find better (--seconds)"
        )
        result = result.remarked(remark, stopped=True)
    if write is not None:
        write_problem(result.designed_problem(), write)
        result = result.remarked(written_path=write)
    if place is None:
        return result
    return result.remarked(record_path=place.write(result.record().as_json()))

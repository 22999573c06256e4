"""`peerbayes place`: which agent should hold which data, for a problem of any kind."""

from __future__ import annotations

from pathlib import Path

from peerbayes.designs.place import PlacementResult, checked_placement, identity_of, placement_on
from peerbayes.front.problems import as_problem
from peerbayes.kinds.registry import kind_of
from peerbayes.problem.problems import AnyProblem
from peerbayes.records import RecordPlace, check_folder, file_name
from peerbayes.settings.declared import question
from peerbayes.settings.questions import Placement
from peerbayes.terminal import stage


@question(Placement)
def place(problem: AnyProblem | str | Path, how: Placement) -> PlacementResult:
    """The best placement of the agents' data, the network as it is.

    Faulty agents are placed as if they were honest; a note says so.

    Parameters
    ----------
    problem
        Of any kind, or the name or the file of one.

    Raises
    ------
    ValueError
        If the request does not go with the problem, or the record cannot be written.

    Examples
    --------
    >>> place("p2-grid corner").document().moved
    [0, 4]
    """
    how = checked_placement(how)
    if how.folder is not None:
        check_folder(how.folder)
    subject = as_problem(problem, how)
    how = placement_on(how, subject.network)
    spot = None
    if how.folder is not None:
        path = how.folder / file_name("place", subject.name, how.objective)
        of = {"problem": subject.sha256, **identity_of(how)}
        spot = RecordPlace(path, "place", of, how.force)
        spot.check()
    named = problem if isinstance(problem, str | Path) else subject.name
    progress = stage(how.progress, f"{named}: place")
    result: PlacementResult = kind_of(subject).place(subject, how, progress)
    if spot is None:
        return result
    return result.remarked(record_path=spot.write(result.record().as_json()))

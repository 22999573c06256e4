"""`pb.design` and `pb.place`: one problem of any kind, one request, one result, one record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from peerbayes.designs.outcome import DesignOutcome
from peerbayes.designs.placements import (
    PlacementResult,
    checked_placement,
    placement_on,
)
from peerbayes.designs.request import checked_design, design_on
from peerbayes.designs.shared import Outcome
from peerbayes.front.problems import as_problem
from peerbayes.kinds.registry import kind_of
from peerbayes.problem.files import check_writable
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.writing import write_problem
from peerbayes.records import RecordPlace, check_folder, file_name
from peerbayes.settings.declared import question
from peerbayes.settings.questions import Design, Placement
from peerbayes.terminal import stage
from theory.design.search import TimeBudget, time_budget
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.front.typed import ByKind, P
    from peerbayes.kinds.changing.design import ChangingDesign
    from peerbayes.kinds.finite.design import Design as FiniteDesign
    from peerbayes.kinds.regression.design import RegressionDesign

    _Designs: TypeAlias = ByKind[FiniteDesign, ChangingDesign, DesignOutcome, RegressionDesign, P]


Left = TypeVar("Left", bound=Outcome)

# Settings that say which answer a record holds.
_ASKED = ("objective", "delta", "target", "replicates", "seed")


def _question(settings: Callable[P, Design]) -> Callable[[Any], _Designs[P]]:
    """The question, its answer typed by the kind of the problem."""
    made: Any = question(settings)
    return cast("Callable[[Any], _Designs[P]]", made)


@_question(Design)
def design(problem: AnyProblem | str | Path, how: Design) -> DesignOutcome:
    """The best weights on the problem's graph, for a problem of any kind, with a certificate.

    Faulty agents are designed for as if they were honest; a note says so.

    Parameters
    ----------
    problem
        Of any kind, or the name or the file of one.

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
    how = checked_design(how)
    given = problem if isinstance(problem, str | Path) else None
    write = None if how.write is None else Path(how.write)
    if how.files.folder is not None:
        check_folder(how.files.folder)
    if write is not None:
        check_writable("write", write, given=given)
    subject = as_problem(problem, how.files, how.progress)
    how = design_on(how, subject.network)
    spot = _spot("design", subject, how)
    if write is not None:
        if spot is not None and write.absolute() == spot.path.absolute():
            raise fail("write", "another file than the record", str(write), "choose another name")
        if how.objective == "next-edge":
            raise fail("write", "an objective that designs weights", "next-edge", "leave it out")
    progress = stage(how.progress, f"{problem if given else subject.name}: design")
    if progress is not None:
        progress(0, 1)  # a bar from the start, before anything is known of how far there is to go
    with time_budget(how.seconds) as budget:
        result = kind_of(subject).design(subject, how, progress)
    if budget.stopped:
        result = result.remarked(_stopped(budget), stopped=True)
    if write is not None:
        write_problem(result.designed_problem(), write)
        result = result.remarked(written_path=write)
    return _left(result, spot)


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
    if how.files.folder is not None:
        check_folder(how.files.folder)
    subject = as_problem(problem, how.files, how.progress)
    how = placement_on(how, subject.network)
    spot = _spot("place", subject, how)
    named = problem if isinstance(problem, str | Path) else subject.name
    progress = stage(how.progress, f"{named}: place")
    with time_budget(how.seconds) as budget:
        result: PlacementResult = kind_of(subject).place(subject, how, progress)
    return _left(result.remarked(_stopped(budget)) if budget.stopped else result, spot)


def _stopped(budget: TimeBudget) -> str:
    return (
        f"stopped by the time budget of {budget.seconds:g} seconds: the best found by then; "
        "more time may find better (--seconds)"
    )


def _spot(command: str, subject: AnyProblem, how: Design | Placement) -> RecordPlace | None:
    """Where the record of an answer is to go, which is free; None if none is to be left."""
    files = how.files
    if files.folder is None:
        return None
    path = files.folder / file_name(command, subject.name, how.objective)
    of = {"problem": subject.sha256, **{name: getattr(how, name) for name in _ASKED}}
    if isinstance(how, Design):
        of |= {"seconds": how.seconds, **vars(how.variant), "changes": how.limits.changes}
    else:
        of |= {"method": how.method, "fixed": how.fixed}
    spot = RecordPlace(path, command, of, files.force)
    spot.check()
    return spot


def _left(result: Left, spot: RecordPlace | None) -> Left:
    """The answer, its record left."""
    if spot is None:
        return result
    return result.remarked(record_path=spot.write(result.record().as_json()))

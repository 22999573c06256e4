"""Which agent should hold which data, on a network that changes."""

from __future__ import annotations

from peerbayes.designs.placements import PlacementResult, search_options
from peerbayes.designs.request import target_of
from peerbayes.problem.changing import ChangingProblem
from peerbayes.settings.questions import Placement
from theory.changing import influence
from theory.design import place
from theory.progress import Progress
from theory.validation import fail


def place_changing(
    problem: ChangingProblem, request: Placement, progress: Progress | None = None
) -> PlacementResult:
    """The placement with the largest rate; the influence of each agent stands in for v.

    Raises
    ------
    ValueError
        If the objective is another than the rate, or an option is out of range.
    """
    if request.objective != "rate":
        got = repr(request.objective)
        raise fail("objective", "'rate' for a network that changes", got, "choose it")
    found = place(
        influence(problem.network).values,
        problem.model,
        target=target_of(request, problem),
        progress=progress,
        **search_options(request),
    )
    note = "the influence of each agent stands in for v"
    return PlacementResult(
        problem=problem, request=request, found=found, before=None, remarks=(note,)
    )

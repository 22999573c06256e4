"""Which agent should hold which data, on a network that changes."""

from __future__ import annotations

from peerbayes.designs.place import PlacementResult, search_options
from peerbayes.designs.request import named_hypothesis
from peerbayes.problem.problems import ChangingProblem
from peerbayes.settings.questions import Placement
from theory import learning_rate
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
    network, model = problem.network, problem.model
    wanted = named_hypothesis(request.target, model)
    if wanted is None:
        wanted = learning_rate(network, model).reference[0]
    found = place(
        influence(network).values,
        model,
        target=wanted,
        progress=progress,
        **search_options(request),
    )
    note = "the influence of each agent stands in for v"
    return PlacementResult(
        problem=problem, request=request, found=found, before=None, remarks=(note,)
    )

"""Finitely many hypotheses on a network that changes: what the commands can do with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from peerbayes.kinds.shared.kind import DEFAULT_DELTA, AnalysisRequest, SocialLearningKind
from peerbayes.problem.problems import ChangingProblem, Problem, of_kind
from theory.progress import Progress

if TYPE_CHECKING:
    from peerbayes.designs.place import PlacementResult
    from peerbayes.figures.views import Section
    from peerbayes.kinds.changing.analyse import ChangingAnalysis
    from peerbayes.kinds.changing.design import ChangingDesign
    from peerbayes.kinds.changing.verify import ChangingVerification
    from peerbayes.settings.questions import Design, Placement


class ChangingKind(SocialLearningKind[ChangingProblem]):
    """Finitely many hypotheses on a network that changes."""

    problem = ChangingProblem
    form = "changing"

    def analyse(
        self, problem: ChangingProblem, request: AnalysisRequest, progress: Progress | None
    ) -> ChangingAnalysis:
        from peerbayes.kinds.changing.analyse import analyse_changing

        if request.proved or request.rounds is not None:
            of_kind(problem, Problem, request.command)
        delta = DEFAULT_DELTA if request.delta is None else request.delta
        return analyse_changing(problem, delta=delta)

    def verify(
        self, problem: ChangingProblem, *, seed: int, delta: float, progress: Progress | None
    ) -> ChangingVerification:
        from peerbayes.kinds.changing.verify import verify_changing

        return verify_changing(problem, seed=seed, delta=delta, progress=progress)

    def design(
        self, problem: ChangingProblem, request: Design, progress: Progress | None
    ) -> ChangingDesign:
        from peerbayes.kinds.changing.design import design_changing

        return design_changing(problem, request, progress=progress)

    def place(
        self, problem: ChangingProblem, request: Placement, progress: Progress | None
    ) -> PlacementResult:
        from peerbayes.kinds.changing.place import place_changing

        return place_changing(problem, request, progress)

    def view(self, entry: Mapping[str, Any], *, key: str) -> Section:
        from peerbayes.kinds.changing.view import changing_view

        return changing_view(entry, key=key)

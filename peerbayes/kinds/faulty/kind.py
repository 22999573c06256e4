"""Finitely many hypotheses, faulty agents among the honest: what the commands can do with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from peerbayes.kinds.finite.kind import FiniteKind
from peerbayes.kinds.shared.kind import AnalysisRequest, SocialLearningKind
from peerbayes.problem.problems import FaultyProblem, Problem, of_kind
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.designs.outcome import DesignOutcome
    from peerbayes.designs.place import PlacementResult
    from peerbayes.figures.views import Section
    from peerbayes.kinds.faulty.analyse import FaultyAnalysis
    from peerbayes.kinds.faulty.verify import FaultyVerification
    from peerbayes.settings.questions import Design, Placement


class FaultyKind(SocialLearningKind[FaultyProblem]):
    """Finitely many hypotheses on a fixed network, with faulty agents among the honest ones."""

    problem = FaultyProblem
    form = "faulty"

    def analyse(
        self, problem: FaultyProblem, request: AnalysisRequest, progress: Progress | None
    ) -> FaultyAnalysis:
        from peerbayes.kinds.faulty.analyse import FaultyAnalysis

        if request.delta is not None:
            raise fail("--delta", "a problem with sample sizes", problem.name, "leave it out")
        if request.proved or request.rounds is not None:
            of_kind(problem, Problem, request.command)
        return FaultyAnalysis(problem)

    def verify(
        self, problem: FaultyProblem, *, seed: int, delta: float, progress: Progress | None
    ) -> FaultyVerification:
        from peerbayes.kinds.faulty.verify import verify_faulty

        return verify_faulty(problem, seed=seed, progress=progress)

    def design(
        self, problem: FaultyProblem, request: Design, progress: Progress | None
    ) -> DesignOutcome:
        if request.objective == "bytes":
            of_kind(problem, Problem, "design --objective bytes")
        found = FiniteKind().design(problem.problem, request, progress)
        return found.remarked("designed as if nobody were faulty", problem=problem)

    def place(
        self, problem: FaultyProblem, request: Placement, progress: Progress | None
    ) -> PlacementResult:
        found = FiniteKind().place(problem.problem, request, progress)
        return found.remarked("predicted as if nobody were faulty", problem=problem)

    def view(self, entry: Mapping[str, Any], *, key: str) -> Section:
        from peerbayes.kinds.faulty.view import faulty_view

        return faulty_view(entry, key=key)

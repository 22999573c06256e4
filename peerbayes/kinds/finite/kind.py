"""Finitely many hypotheses on a network that stays as it is: what the commands can do with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from peerbayes.kinds.shared.kind import DEFAULT_DELTA, AnalysisRequest, SocialLearningKind
from peerbayes.problem.problems import Problem
from theory.progress import Progress

if TYPE_CHECKING:
    from peerbayes.designs.next_edge import NextEdge
    from peerbayes.designs.place import PlacementResult
    from peerbayes.figures.views import Section
    from peerbayes.kinds.finite.analysis import Analysis
    from peerbayes.kinds.finite.design import Design
    from peerbayes.kinds.finite.sweeps import Sweep
    from peerbayes.kinds.finite.verify import ProblemVerification
    from peerbayes.settings import questions


class FiniteKind(SocialLearningKind[Problem]):
    """Finitely many hypotheses on a network that stays as it is."""

    problem = Problem
    form = None

    def analyse(
        self, problem: Problem, request: AnalysisRequest, progress: Progress | None
    ) -> Analysis:
        from peerbayes.kinds.finite.analyse import analyse

        delta = DEFAULT_DELTA if request.delta is None else request.delta
        result = analyse(
            problem,
            arithmetic=request.arithmetic,
            delta=delta,
            out=request.out,
            progress=progress,
        )
        if request.rounds is None:
            return result
        from peerbayes.kinds.finite.at_rounds import at_rounds

        rate, exponent = (None, None) if request.proved else (result.rate, result.exponent)
        later = at_rounds(problem, request.rounds, delta=delta, rate=rate, exponent=exponent)
        return replace(result, at_rounds=later)

    def verify(
        self, problem: Problem, *, seed: int, delta: float, progress: Progress | None
    ) -> ProblemVerification:
        from peerbayes.kinds.finite.verify import verify_problem

        return verify_problem(problem, seed=seed, delta=delta, progress=progress)

    def design(
        self, problem: Problem, request: questions.Design, progress: Progress | None
    ) -> Design | NextEdge:
        from peerbayes.designs.next_edge import next_edge
        from peerbayes.kinds.finite.design import design_problem

        if request.objective == "next-edge":
            return next_edge(problem, request)
        return design_problem(problem, request, progress=progress)

    def place(
        self, problem: Problem, request: questions.Placement, progress: Progress | None
    ) -> PlacementResult:
        from peerbayes.kinds.finite.place import place_finite

        return place_finite(problem, request, progress)

    def view(self, entry: Mapping[str, Any], *, key: str) -> Section:
        from peerbayes.kinds.finite.view import problem_view

        return problem_view(entry, key=key)

    def sweeps(self, verifications: Sequence[ProblemVerification]) -> Sequence[Sweep]:
        from peerbayes.kinds.finite.sweeps import find_sweeps

        return find_sweeps(verifications)

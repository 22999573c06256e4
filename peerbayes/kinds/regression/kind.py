"""Linear regression with Gaussian beliefs: what the commands can do with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.kinds.shared.kind import AnalysisRequest, Kind
from peerbayes.problem.problems import Problem, RegressionProblem, of_kind
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    from exact import RegressionSimulation, RegressionTask, Run
    from peerbayes.designs.place import PlacementResult
    from peerbayes.figures.views import Section
    from peerbayes.kinds.regression.analyse import ExactRegressionAnalysis, RegressionAnalysis
    from peerbayes.kinds.regression.design import RegressionDesign
    from peerbayes.kinds.regression.simulate import RegressionSummary
    from peerbayes.kinds.regression.verify import RegressionVerification
    from peerbayes.settings.questions import Design, Placement


class RegressionKind(Kind[RegressionProblem]):
    """Linear regression with Gaussian beliefs."""

    problem = RegressionProblem
    form = "regression"

    def analyse(
        self, problem: RegressionProblem, request: AnalysisRequest, progress: Progress | None
    ) -> RegressionAnalysis | ExactRegressionAnalysis:
        from peerbayes.kinds.regression.analyse import (
            analyse_regression,
            analyse_regression_exactly,
        )

        if request.delta is not None:
            raise fail("--delta", "a problem with sample sizes", problem.name, "leave it out")
        if request.arithmetic == "certified":
            of_kind(problem, Problem, "analyse --certify")
        if request.rounds is not None:
            of_kind(problem, Problem, "analyse --rounds")
        run = analyse_regression_exactly if request.proved else analyse_regression
        return run(problem)

    def simulation(self, problem: RegressionProblem, run: Run) -> RegressionTask:
        from exact import prepare_regression
        from peerbayes.kinds.regression.simulate import recorded_rounds

        run = replace(run, record=recorded_rounds(run.rounds))
        return prepare_regression(problem.network, problem.regression, run=run)

    def summary(
        self,
        problem: RegressionProblem,
        simulation: RegressionSimulation,
        record_path: Path | None = None,
    ) -> RegressionSummary:
        from peerbayes.kinds.regression.simulate import RegressionSummary

        return RegressionSummary(problem, simulation, record_path)

    def verify(
        self, problem: RegressionProblem, *, seed: int, delta: float, progress: Progress | None
    ) -> RegressionVerification:
        from peerbayes.kinds.regression.verify import verify_regression

        return verify_regression(problem, seed=seed, progress=progress)

    def design(
        self, problem: RegressionProblem, request: Design, progress: Progress | None
    ) -> RegressionDesign:
        from peerbayes.kinds.regression.design import design_regression

        return design_regression(problem, request)

    def place(
        self, problem: RegressionProblem, request: Placement, progress: Progress | None
    ) -> PlacementResult:
        from peerbayes.kinds.regression.place import place_regression

        return place_regression(problem, request, progress)

    def view(self, entry: Mapping[str, Any], *, key: str) -> Section:
        from peerbayes.kinds.regression.view import regression_view

        return regression_view(entry, key=key)

    def simulation_view(self, body: Mapping[str, Any], *, key: str) -> Section:
        from peerbayes.kinds.regression.view import regression_simulation_view

        return regression_simulation_view(body, key=key)

"""The papers' linear regressions as experiments: printed beside measured and predicted.

The papers draw one error curve each: nodes alone, cooperating, and a central node, and say that
the first stay high and the second equals the third. Here each curve is the mean of many runs with
its expectation drawn through it; all data in one place stands beside them, and what the beliefs
report beside what is true, which the papers do not show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from peerbayes.experiments.documents import RunSummary
from peerbayes.experiments.experiment import Line
from peerbayes.measured import ErrorCurve
from peerbayes.resources import check_hours
from theory.progress import Progress


class RegressionRun(RunSummary):
    """A record of an experiment with a regression."""

    content: dict[str, ErrorCurve]


@dataclass(frozen=True)
class RegressionExperiment:
    """One regression, run as a network, alone, in one place, and at a central node.

    Attributes
    ----------
    problem
        Name of the built-in problem.
    rounds, records, draws
        n; how many rounds are recorded; over how many sets of inputs predictions are averaged.
    printed_alone, printed_cooperating
        What the paper says of its figure.
    """

    name: str
    title: str
    source: str
    problem: str
    agents: int
    rounds: int = 1000
    records: int = 20
    draws: int = 100
    replicates: int = 2000
    printed_alone: str = "MSE stays high"
    printed_cooperating: str = "MSE equals the central node's"

    @property
    def parts(self) -> tuple[str, ...]:
        """The network, each agent alone, all data in one place, the central node."""
        lone = (f"agent {i} alone" for i in range(self.agents))
        return ("cooperating", *lone, "all data in one place", "central node")

    @property
    def replicates_are_parts(self) -> bool:
        """They are run together, in every part."""
        return False

    def stream(self, part: str) -> int:
        """One for each part."""
        return self.parts.index(part)

    def part_settings(self, part: str) -> dict[str, Any]:
        """All of them."""
        return self.settings()

    def settings(self) -> dict[str, Any]:
        """The configuration, and the problem's own file."""
        from peerbayes.problem.builtins.loading import load_problem

        specification = load_problem(self.problem).specification
        assert specification is not None
        return {**asdict(self), "specification": specification.document()}

    def run_part(
        self, part: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> ErrorCurve:
        """One curve, measured and predicted."""
        from exact import Run, prepare_regression
        from peerbayes.kinds.regression.curves import coordinate_curves, learners, run_learner
        from peerbayes.kinds.regression.simulate import recorded_rounds
        from peerbayes.problem.builtins.loading import load_problem
        from peerbayes.problem.problems import RegressionProblem, of_kind
        from theory.regression import calibration

        problem = of_kind(load_problem(self.problem), RegressionProblem, self.name)
        record = recorded_rounds(self.rounds, most=self.records)
        run = Run(rounds=self.rounds, replicates=replicates, seed=seed, record=record)
        check_hours(prepare_regression(problem.network, problem.regression, run=run).cost())
        learner = next(one for one in learners(problem) if one.name == part)
        curve = run_learner(
            learner,
            rounds=self.rounds,
            record=record,
            replicates=replicates,
            draws=self.draws,
            seed=seed,
            progress=progress,
        )
        coordinates = None
        if learner.role == "cooperating":
            limits = calibration(problem.network, problem.regression).coordinates
            coordinates = coordinate_curves(curve, limits)
        return curve.document(coordinates, with_ends=True)

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """Each curve's last point, what the papers say of it, and how the curves compare."""
        curves = {name: ErrorCurve.model_validate(part) for name, part in parts.items()}
        lines = []
        for name, curve in curves.items():
            predicted, measured, error, allowed = _at_end(curve)
            alone = curve.role == "alone"
            lines.append(
                Line(
                    f"excess error after {self.rounds} rounds, {name}",
                    self.printed_alone if alone else "",
                    measured,
                    error,
                    predicted,
                    _agree(measured, predicted, allowed),
                    f"tends to {curve.limit:.4g}" if alone else f"tends to {curve.constant:.5g}/n",
                )
            )
        together, central = curves["cooperating"], curves["central node"]
        pooled = curves["all data in one place"]
        lines.append(
            _quotient(
                "cooperating over central node",
                _at_end(together),
                _at_end(central),
                self.printed_cooperating,
                _tends(together.constant, central.constant)
                + f": {self.agents} samples a round against one",
            )
        )
        lines.append(
            _quotient(
                "cooperating over all data in one place",
                _at_end(together),
                _at_end(pooled),
                "",
                _tends(together.constant, pooled.constant),
            )
        )
        lines.append(
            _quotient(
                "true error over reported error, cooperating",
                _at_end(together),
                together.report_at_end or [],
                "",
                _tends(together.constant, together.reported.constant)
                + "; the papers do not show it",
            )
        )
        return tuple(lines)


def _agree(measured: float, predicted: float, allowed: float) -> bool:
    return bool(abs(measured - predicted) <= allowed + 1e-11 * abs(predicted))


def _at_end(curve: ErrorCurve) -> list[float]:
    """The error at the last round: predicted, measured, standard error, allowed."""
    return curve.error_at_end or []


def _tends(above: float | None, below: float | None) -> str:
    return f"tends to {(above or 0.0) / (below or np.nan):.4g}"


def _quotient(what: str, above: list[float], below: list[float], printed: str, remark: str) -> Line:
    """A quotient of two errors, each (predicted, measured, standard error, allowed)."""
    (p, m, e, a), (q, r, f, b) = above, below
    predicted, measured = p / q, m / r
    allowed = (p + a) / max(q - b, 1e-300) - predicted
    error = measured * float(np.hypot(e / m, f / r))
    holds = _agree(measured, predicted, allowed)
    return Line(what, printed, measured, error, predicted, holds, remark)

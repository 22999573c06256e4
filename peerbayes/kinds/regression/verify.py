"""Theory beside simulation, for a regression.

The network is run, and beside it each agent alone, all data in one place, and the papers' central
node, as long and as often as there is time and memory for. What is said of them is in
`peerbayes.kinds.regression.statements`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from peerbayes.comparison import Comparison
from peerbayes.documents import GraphDocument
from peerbayes.kinds.regression.analyse import RegressionAnalysis, analyse_regression
from peerbayes.kinds.regression.curves import Curve, coordinate_curves, run_learner
from peerbayes.kinds.regression.documents import RegressionRecord
from peerbayes.kinds.regression.learners import Learner, learners
from peerbayes.kinds.regression.simulate import recorded_rounds
from peerbayes.kinds.regression.statements import of_a_data_set, of_a_model
from peerbayes.kinds.shared.verified import Verified
from peerbayes.messages import input_error
from peerbayes.problem.problems import RegressionProblem
from theory.progress import Progress, part_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUNDS = 1000
_REPLICATES = 2000
_LEAST_REPLICATES = 100
_RECORDS = 16
# Inputs over which the predictions are averaged: the noise is integrated out, so that few do. More,
# up to five times as many, where agents × squared coefficients × rounds are few: about a second.
_DRAWS = 60
_MOST_SUMMED = 2e7
# Numbers drawn at most for each curve: a few seconds on one core.
_MOST_DRAWS = 6e7
# Numbers that a prediction keeps: a quarter of a gigabyte.
_MOST_KEPT = 3e7
_LEAST_ROUNDS = 50
# Agents whose life alone is shown.
_MOST_ALONE = 4


@dataclass(frozen=True, eq=False)
class RegressionVerification(Verified):
    """Everything `verify` knows of one regression: prediction, measurement and verdicts."""

    problem: RegressionProblem
    analysis: RegressionAnalysis
    curves: tuple[Curve, ...]  # the cooperating network first
    comparisons: tuple[Comparison, ...]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Excess errors over the rounds, predicted and measured, with error bars.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.chart import on_axes
        from peerbayes.figures.curves import errors_plot

        curves = self.as_record().curves
        return on_axes(lambda axes: errors_plot(curves, axes=axes), ax)

    def as_record(self) -> RegressionRecord:
        """What the report needs."""
        problem, together = self.problem, self.curves[0]
        return RegressionRecord(
            name=problem.name,
            title=problem.title,
            family=problem.family,
            parameters=dict(problem.parameters),
            analysis=self.analysis.document(),
            graph=GraphDocument.of(problem.network),
            curves=[curve.document() for curve in self.curves],
            coordinates=coordinate_curves(together, self.analysis.calibration.coordinates),
            replicates=together.run.replicates,
            comparisons=list(self.comparisons),
        )


def verify_regression(
    problem: RegressionProblem, *, seed: int = 0, progress: Progress | None = None
) -> RegressionVerification:
    """Predict and measure a regression.

    Parameters
    ----------
    seed
        Of every run; the same seed gives the same verdicts.
    progress
        Called with (done, total).
    """
    rounds = _rounds(problem)
    analysis = analyse_regression(problem)
    count = problem.network.agents
    alone = sorted({round(float(i)) for i in np.linspace(0, count - 1, min(count, _MOST_ALONE))})
    every = learners(problem, alone=alone)
    record = recorded_rounds(rounds, most=_RECORDS)
    curves = tuple(
        run_learner(
            learner,
            rounds=rounds,
            record=record,
            replicates=_affordable(learner, rounds),
            draws=_draws(learner, rounds),
            seed=seed + index,
            progress=part_of(progress, index, len(every)),
        )
        for index, learner in enumerate(every)
    )
    statements = of_a_data_set if problem.regression.has_targets else of_a_model
    comparisons = tuple(statements(problem, curves, seed=seed, draws=_DRAWS))
    return RegressionVerification(problem, analysis, curves, comparisons)


def _rounds(problem: RegressionProblem) -> int:
    """As many rounds as there is memory for: a prediction keeps every round's second moments.

    Raises
    ------
    ValueError
        If these are too few.
    """
    model = problem.regression
    rounds = int(_MOST_KEPT / (model.agents * model.dimension**2))
    if rounds < _LEAST_ROUNDS:
        most = int(_MOST_KEPT / _LEAST_ROUNDS)
        raise input_error(
            problem.name,
            ("regression",),
            f"agents times squared coefficients of at most {most}, to be verified",
            f"{model.agents} times {model.dimension}²",
            "use 'peerbayes simulate', which needs less memory",
        )
    return min(rounds, _ROUNDS)


def _affordable(learner: Learner, rounds: int) -> int:
    """As many replicates as there is time for, between the least and enough."""
    model = learner.model
    numbers = model.agents * model.batch * model.dimension * rounds
    return int(np.clip(_MOST_DRAWS / numbers, _LEAST_REPLICATES, _REPLICATES))


def _draws(learner: Learner, rounds: int) -> int:
    """Over how many sets of inputs a prediction is averaged."""
    model = learner.model
    # What beliefs report scatters less than errors do.
    least = _DRAWS // 4 if model.has_targets else _DRAWS
    affordable = _MOST_SUMMED / (model.agents * model.dimension**2 * rounds)
    return int(np.clip(affordable, least, 5 * least))

"""Theory beside simulation, for a network that changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerbayes.comparison import Comparison
from peerbayes.kinds.changing.analyse import ChangingAnalysis, analyse_changing
from peerbayes.kinds.changing.documents import ChangingRecord
from peerbayes.kinds.changing.runs import Measurement, measure
from peerbayes.kinds.changing.statements import statements
from peerbayes.kinds.shared.verified import Verified, plain_parameters
from peerbayes.learning_documents import (
    FailuresDocument,
    RateDocument,
    TrajectoryDocument,
    settled_shares,
)
from peerbayes.problem.problems import ChangingProblem, graph_of
from theory.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class ChangingVerification(Verified):
    """Everything `verify` knows of one problem on a network that changes."""

    measured: Measurement
    comparisons: tuple[Comparison, ...]

    @property
    def problem(self) -> ChangingProblem:
        """What was verified."""
        return self.measured.problem

    @property
    def analysis(self) -> ChangingAnalysis:
        """What theory predicts of it."""
        return self.measured.analysis

    def plot(self, ax: Axes | None = None) -> Axes:
        """Rates of rejection, predicted and measured, with error bars.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.rows import draw_rates

        record = self.as_record()
        return draw_rates(record.rates, ax, replicates=record.replicates)

    def as_record(self) -> ChangingRecord:
        """What the report needs."""
        problem, analysis, measured = self.problem, self.analysis, self.measured
        expected, limits = measured.expected.mean(axis=1), analysis.rate.rates
        shown, agents = measured.wrong[:1], problem.network.agents
        failures = measured.failures
        return ChangingRecord(
            name=problem.name,
            title=problem.title,
            family=problem.family,
            parameters=plain_parameters(problem.parameters),
            analysis=analysis.document(),
            graph=graph_of(problem.network, analysis.influence.values),
            trajectory=None
            if not shown
            else TrajectoryDocument.of(
                measured.rates,
                shown[0],
                rate=float(limits[shown[0]]),
                expected=expected[:, shown[0]],
                agents=sorted({0, agents // 2, agents - 1}),
            ),
            rates=[
                RateDocument.of(
                    measured.rates, m, limit=float(limits[m]), expected=float(expected[-1, m])
                )
                for m in measured.wrong
            ],
            replicates=measured.rates.replicates,
            settled=settled_shares(measured.rates),
            failures=None
            if failures is None
            else FailuresDocument.of(failures, delta=analysis.samples.delta),
            comparisons=list(self.comparisons),
        )


def verify_changing(
    problem: ChangingProblem, *, seed: int, delta: float = 0.05, progress: Progress | None = None
) -> ChangingVerification:
    """Run the exact algorithm on a network that changes, and compare it with the predictions.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    measured = measure(analyse_changing(problem, delta=delta), seed=seed, progress=progress)
    return ChangingVerification(measured, statements(measured))

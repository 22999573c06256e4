"""Theory beside simulation, for one problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerbayes.comparison import Comparison
from peerbayes.documents import GraphDocument
from peerbayes.kinds.finite.analyse import analyse
from peerbayes.kinds.finite.analysis import Analysis
from peerbayes.kinds.finite.documents import FiniteRecord
from peerbayes.kinds.finite.runs import Measurement, measure, named_sizes
from peerbayes.kinds.finite.statements import statements
from peerbayes.kinds.shared.verified import Verified, plain_parameters
from peerbayes.learning_documents import (
    FailuresDocument,
    RateDocument,
    TrajectoryDocument,
    settled_shares,
)
from peerbayes.problem.problems import Problem
from theory.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class ProblemVerification(Verified):
    """Everything `verify` knows of one problem: prediction, measurement and verdicts."""

    measured: Measurement
    comparisons: tuple[Comparison, ...]

    @property
    def problem(self) -> Problem:
        """What was verified."""
        return self.measured.problem

    @property
    def analysis(self) -> Analysis:
        """What theory predicts of it."""
        return self.measured.analysis

    @property
    def rates(self) -> list[RateDocument]:
        """The rates of rejecting each wrong hypothesis, slowest first."""
        return [
            RateDocument.of(
                self.measured.rates,
                m,
                limit=float(self.analysis.rate.rates[m]),
                expected=float(self.measured.expected[-1, m]),
            )
            for m in self.measured.wrong
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Rates of rejection, predicted and measured, with error bars.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.rows import draw_rates

        record = self.as_record()
        return draw_rates(record.rates, ax, replicates=record.replicates)

    def as_record(self) -> FiniteRecord:
        """What the report needs."""
        problem, measured, samples = self.problem, self.measured, self.analysis.samples
        analysis, ladder = self.analysis.document(), self.analysis.ladder
        failures = measured.failures
        return FiniteRecord(
            name=problem.name,
            title=problem.title,
            family=problem.family,
            parameters=plain_parameters(problem.parameters),
            analysis=analysis.model_copy(
                update={"notes": [*analysis.notes, *_not_simulated(measured)]}
            ),
            graph=GraphDocument.of(problem.network),
            trajectory=self._trajectory(),
            rates=self.rates,
            replicates=measured.rates.replicates,
            settled=settled_shares(measured.rates),
            failures=FailuresDocument.of(
                failures,
                delta=samples.delta,
                bound=None
                if ladder is None
                else [ladder.probability(int(n)) for n in failures.rounds],
            ),
            comparisons=list(self.comparisons),
        )

    def _trajectory(self) -> TrajectoryDocument | None:
        """The log belief ratio of the slowest hypothesis, with paths of at most three agents."""
        measured = self.measured
        if not measured.wrong:
            return None
        shown, last = measured.wrong[0], self.problem.network.agents - 1
        return TrajectoryDocument.of(
            measured.rates,
            shown,
            rate=float(self.analysis.rate.rates[shown]),
            expected=measured.expected[:, shown],
            agents=sorted({0, last // 2, last}),
        )


def verify_problem(
    problem: Problem, *, seed: int, delta: float = 0.05, progress: Progress | None = None
) -> ProblemVerification:
    """Run the exact algorithm and compare it with the predictions.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    measured = measure(analyse(problem, delta=delta), seed=seed, progress=progress)
    return ProblemVerification(measured, statements(measured))


def _not_simulated(measured: Measurement) -> list[str]:
    """Sample sizes that no run reached, in words."""
    reached = set(measured.failures.rounds.tolist())
    return [
        f"{name}: {size.rounds} rounds were too many to simulate"
        for name, size in named_sizes(measured.analysis)
        if size.rounds is not None and size.rounds not in reached
    ]

"""`peerbayes simulate` for a regression: what a run of the Gaussian algorithm came to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import RenderableType

from exact.regression import RegressionSimulation
from peerbayes.documents import Documented, numbers
from peerbayes.error_curves import MeasuredErrors
from peerbayes.kinds.regression.documents import (
    MeasuredCalibration,
    MeasuredMean,
    MeasuredMeans,
    RegressionMeasurement,
    RegressionResult,
    RegressionRunDocument,
    RegressionRunRecord,
)
from peerbayes.kinds.regression.tables import regression_run_parts
from peerbayes.problem.problems import RegressionProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rounds recorded: enough for a curve on logarithmic axes.
_RECORDS = 40


@dataclass(frozen=True, eq=False)
class RegressionSummary(Documented):
    """A simulated regression, of which problem, and where its record is (None if it left none)."""

    problem: RegressionProblem
    simulation: RegressionSimulation
    record_path: Path | None = None

    def _facts(self) -> Iterator[tuple[str, object]]:
        run = self.simulation
        yield "rounds", int(run.rounds[-1])
        yield "replicates", run.replicates
        yield "seed", run.seed
        yield "excess error", run.network_error[-1]
        yield "standard error", run.network_standard_error[-1]
        yield "of each agent", run.excess_error[-1]
        yield "reported", run.reported_error[-1]
        if self.record_path is not None:
            yield "record", str(self.record_path)

    @property
    def notes(self) -> list[str]:
        """Why a number is missing or needs a word, one sentence each."""
        notes = [
            "errors are excess errors: mean squared error on the test's inputs, less the noise",
            "calibration is true over reported variance: 1 is honest, below 1 under-confident",
        ]
        if self.simulation.replicates == 1:
            notes.append("one replicate cannot show a spread: standard errors are null")
        return notes

    def document(self) -> RegressionRunDocument:
        """What `simulate` prints; errors are measured at the last round, agent by agent."""
        run = self.simulation
        return RegressionRunDocument(
            problem=self.problem.name,
            rounds=int(run.rounds[-1]),
            replicates=run.replicates,
            seed=run.seed,
            regression=RegressionMeasurement(
                excess_error=MeasuredMeans(
                    mean=numbers(run.excess_error[-1]),
                    standard_error=numbers(run.excess_standard_error[-1]),
                ),
                reported_error=MeasuredMeans(
                    mean=numbers(run.reported_error[-1]),
                    standard_error=numbers(run.reported_standard_error[-1]),
                ),
                network_error=MeasuredMean(
                    mean=float(run.network_error[-1]),
                    standard_error=float(run.network_standard_error[-1]),
                ),
                calibration=MeasuredCalibration(
                    ratio=run.calibration[-1].tolist(),
                    standard_error=run.calibration_standard_error[-1].tolist(),
                ),
            ),
            record=None if self.record_path is None else str(self.record_path),
            notes=self.notes,
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Excess errors over the rounds, made and reported.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.chart import on_axes
        from peerbayes.figures.curves import measured_errors_plot

        curves = self.as_record().curves
        return on_axes(lambda axes: measured_errors_plot(curves, axes=axes), ax)

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return regression_run_parts(self.document())

    def as_record(self) -> RegressionRunRecord:
        """What is left on disk: what is printed, the problem's file, and the curves."""
        run, specification = self.simulation, self.problem.specification
        return RegressionRunRecord(
            title=self.problem.title,
            specification=None if specification is None else specification.document(),
            # A record does not say where it is, so that it can be moved, and runs be compared.
            result=RegressionResult(**self.document().model_dump(exclude={"record"})),
            curves=MeasuredErrors(
                mode=run.mode,
                rounds=run.rounds.tolist(),
                replicates=run.replicates,
                excess_error=run.excess_error.tolist(),
                excess_standard_error=run.excess_standard_error.tolist(),
                reported_error=run.reported_error.tolist(),
                reported_standard_error=run.reported_standard_error.tolist(),
                network_error=run.network_error.tolist(),
                network_standard_error=run.network_standard_error.tolist(),
            ),
        )


def recorded_rounds(rounds: int, *, most: int = _RECORDS) -> list[int]:
    """Rounds to record, even on a logarithmic axis, the first and the last among them.

    >>> recorded_rounds(100, most=5)
    [1, 3, 10, 32, 100]
    """
    return sorted({round(float(n)) for n in np.geomspace(1, rounds, most)})

"""`peerbayes simulate` for a regression: what a run of the Gaussian algorithm came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType

from exact.regression import prepare_regression
from peerbayes.documents import Number, PerAgent
from peerbayes.kinds.shared.simulate import Simulated, measured_run, printed_run, recorded_run
from peerbayes.measured import MeasuredErrors
from peerbayes.problem.problems import RegressionProblem
from peerbayes.quantities.quantity import Quantity, Table, entries, entry
from peerbayes.quantities.showing import around
from peerbayes.tables import figures_table, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from exact import Run
    from exact.regression import RegressionTask

# Rounds recorded: enough for a curve on logarithmic axes.
_RECORDS = 40
# More agents than this are not listed one by one.
_MOST_LISTED = 12


# What is said of it -----------------------------------------------------------------------------


def _with_error(name: str, meaning: str, key: str, type: Any, **more: Any) -> Table:
    """A mean over replicates with its standard error, of a pair of both."""
    error = Quantity("standard_error", type, "null of one replicate", get=itemgetter(1))
    mean = Quantity(key, type, get=itemgetter(0), **more)
    return Table(name, meaning, (mean, error), kind="measured")


def _at_end(*names: str) -> Callable[[Any], Any]:
    """What was measured at the last round, by its names in the simulation."""
    return lambda summary: tuple(getattr(summary.simulation, name)[-1] for name in names)


def _mean(value: Any, _: Any) -> str:
    return f"{number(value.mean)}, standard error {number(value.standard_error)}"


_EACH = _with_error(
    "MeasuredMeans",
    "Means over replicates, agent by agent, with their standard errors.",
    "mean",
    PerAgent,
)
MEASUREMENT = Table(
    "RegressionMeasurement",
    "What a simulation measured at its last round.",
    entries(
        excess_error=entry(
            _EACH.changed(mean={"short": "of each agent"}),
            get=_at_end("excess_error", "excess_standard_error"),
        ),
        reported_error=entry(
            _EACH.changed(mean={"short": "reported"}),
            get=_at_end("reported_error", "reported_standard_error"),
        ),
        network_error=entry(
            _with_error(
                "MeasuredMean",
                "A mean over replicates and agents, with its standard error.",
                "mean",
                Number,
                short="excess error",
            ),
            get=_at_end("network_error", "network_standard_error"),
            label="excess error, all agents",
            words=_mean,
        ),
        calibration=entry(
            _with_error(
                "MeasuredCalibration",
                "True over reported variance of each coefficient, agent by agent.",
                "ratio",
                list[PerAgent],
            ),
            get=_at_end("calibration", "calibration_standard_error"),
        ),
    ),
)
REGRESSION_RESULT = measured_run(
    "RegressionResult",
    "What a record keeps of a simulated regression's end.",
    regression=entry(MEASUREMENT, get=lambda summary: summary),
)
REGRESSION_RUN = printed_run(
    "RegressionRunDocument", "What `simulate` prints of a regression.", REGRESSION_RESULT
)


# The result -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RegressionSummary(Simulated):
    """What a run of the Gaussian algorithm came to."""

    quantities = REGRESSION_RUN
    record = recorded_run(
        "RegressionRunRecord",
        REGRESSION_RESULT,
        curves=entry(MeasuredErrors),
        form="regression",
    )

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

    @property
    def curves(self) -> MeasuredErrors:
        """The errors at every recorded round."""
        return MeasuredErrors.taken_from(self.simulation)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Excess errors over the rounds, made and reported.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.chart import on_axes
        from peerbayes.figures.curves import measured_errors_plot

        return on_axes(lambda axes: measured_errors_plot(self.curves, axes=axes), ax)

    def tables(self) -> list[RenderableType]:
        """Terminal tables of this result."""
        document = self.document()
        error, reported = document.regression.excess_error, document.regression.reported_error
        columns = (error.mean, error.standard_error, reported.mean, reported.standard_error)
        heads = ("agent", "excess error", "st. error", "reported", "st. error")
        table = figures_table("Measured at the last round", *heads)
        for i, row in enumerate([*zip(*columns, strict=True)][:_MOST_LISTED]):
            table.add_row(f"agent {i}", *map(number, row))
        return around(self.table, document, table)


def recorded_rounds(rounds: int, *, most: int = _RECORDS) -> list[int]:
    """Rounds to record, even on a logarithmic axis, the first and the last among them.

    >>> recorded_rounds(100, most=5)
    [1, 3, 10, 32, 100]
    """
    return sorted({round(float(n)) for n in np.geomspace(1, rounds, most)})


def prepared(problem: RegressionProblem, run: Run) -> RegressionTask:
    """The Gaussian algorithm on drawn pairs, many times over: ready to run."""
    run = replace(run, record=recorded_rounds(run.rounds))
    return prepare_regression(problem.network, problem.regression, run=run)

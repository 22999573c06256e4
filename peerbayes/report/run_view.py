"""What the page says of an experiment: printed, measured and predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from peerbayes.experiments.documents import RunSummary
from peerbayes.experiments.experiment import Line
from peerbayes.experiments.regression import RegressionRun
from peerbayes.figures.canvas import Plot
from peerbayes.figures.errors import calibration_plot, errors_plot, honesty_plot
from peerbayes.figures.views import BROKEN, HOLDS, Fact, Picture, Verdict, picture
from peerbayes.figures.wording import DASH, count, number

_NOTHING = Verdict("quiet", DASH, "nothing claimed")


@dataclass(frozen=True)
class LineRow:
    """Printed, measured and predicted, as text."""

    what: str
    printed: str
    measured: str
    error: str
    predicted: str
    remark: str
    verdict: Verdict


@dataclass(frozen=True)
class RunView:
    """One record of ``run``."""

    key: str
    name: str
    title: str
    source: str
    facts: tuple[Fact, ...]
    lines: tuple[LineRow, ...]
    pictures: tuple[Picture, ...]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()  # a table of what was run

    @classmethod
    def of(
        cls,
        run: RunSummary,
        facts: Sequence[Fact],
        plots: Sequence[Plot],
        *,
        key: str,
        columns: tuple[str, ...] = (),
        rows: tuple[tuple[str, tuple[str, ...]], ...] = (),
    ) -> RunView:
        """What every record of ``run`` has, with `facts` behind its source, and its pictures."""
        return cls(
            key=key,
            name=run.experiment,
            title=run.title,
            source=run.source,
            facts=(Fact("Source", run.source), *facts),
            lines=tuple(line_row(line) for line in run.lines),
            pictures=tuple(picture(plot, f"{key}-{index}") for index, plot in enumerate(plots)),
            columns=columns,
            rows=rows,
        )

    @property
    def claimed(self) -> int:
        """How many lines have a prediction that can be contradicted."""
        return sum(line.verdict != _NOTHING for line in self.lines)

    @property
    def broken(self) -> int:
        """How many lines contradict their prediction."""
        return sum(line.verdict == BROKEN for line in self.lines)


def run_view(run: RegressionRun, *, key: str) -> RunView:
    """Everything the page says of one experiment."""
    curves = [run.content[name] for name in run.parts]
    together = next(curve for curve in curves if curve.role == "cooperating")
    plots = [errors_plot(curves), honesty_plot(together, together.reported)]
    if together.coordinates:
        plots.append(calibration_plot(together.coordinates))
    runs = Fact("Runs", count(run.replicates), f"of each learner, seed {run.seed}")
    return RunView.of(run, [runs], plots, key=key)


def line_row(line: Line) -> LineRow:
    """One line of an experiment as text."""
    return LineRow(
        line.what,
        line.printed or DASH,
        number(line.measured, 5),
        number(line.standard_error, 2),
        number(line.predicted, 5),
        line.remark,
        _NOTHING if line.holds is None else HOLDS if line.holds else BROKEN,
    )

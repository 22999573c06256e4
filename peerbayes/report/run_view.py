"""What the page says of an experiment: printed, measured and predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peerbayes.error_curves import ErrorCurve
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

    @property
    def claimed(self) -> int:
        """How many lines have a prediction that can be contradicted."""
        return sum(line.verdict != _NOTHING for line in self.lines)

    @property
    def broken(self) -> int:
        """How many lines contradict their prediction."""
        return sum(line.verdict == BROKEN for line in self.lines)


def run_view(body: Mapping[str, Any], *, key: str) -> RunView:
    """Everything the page says of one experiment."""
    parts = body["content"]
    curves = [ErrorCurve.model_validate(parts[name]) for name in body["parts"]]
    together = next(curve for curve in curves if curve.role == "cooperating")
    plots = [errors_plot(curves), honesty_plot(together, together.reported)]
    if together.coordinates:
        plots.append(calibration_plot(together.coordinates))
    return RunView(
        key=key,
        name=body["experiment"],
        title=body["title"],
        source=body["source"],
        facts=(
            Fact("Source", body["source"]),
            Fact("Runs", count(body["replicates"]), f"of each learner, seed {body['seed']}"),
        ),
        lines=tuple(line_row(line) for line in body["lines"]),
        pictures=tuple(picture(plot, f"{key}-{index}") for index, plot in enumerate(plots)),
    )


def line_row(line: Mapping[str, Any]) -> LineRow:
    """One line of an experiment as text."""
    holds = line["holds"]
    return LineRow(
        line["what"],
        line["printed"] or DASH,
        number(line["measured"], 5),
        number(line["standard_error"], 2),
        number(line["predicted"], 5),
        line["remark"],
        _NOTHING if holds is None else HOLDS if holds else BROKEN,
    )

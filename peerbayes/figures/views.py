"""What a page shows of anything: facts, pictures, statements with their verdicts, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from peerbayes.comparison import Comparison
from peerbayes.figures.canvas import LegendEntry, Plot, to_svg
from peerbayes.figures.wording import Fact as Fact
from peerbayes.figures.wording import number


@dataclass(frozen=True)
class Verdict:
    """A statement's verdict: its style, its mark, its words."""

    style: str
    mark: str
    words: str


HOLDS = Verdict("good", "✓", "holds")
BROKEN = Verdict("bad", "✗", "BROKEN")
REFUTED = Verdict("news", "△", "fails (not a theorem)")
NOT_RUN = Verdict("quiet", "○", "not run")
NOTHING = Verdict("quiet", "○", "measured only: nothing is claimed")


def verdict(statement: Comparison) -> Verdict:
    """The verdict on one statement."""
    if statement.holds is None:
        return NOT_RUN
    if statement.holds:
        return HOLDS
    return BROKEN if statement.is_theorem else REFUTED


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a group: broken if one is, else refuted if one is, else holds if one does."""
    return next((v for v in (BROKEN, REFUTED, HOLDS, NOT_RUN) if v in verdicts), NOTHING)


@dataclass(frozen=True)
class Statement:
    """One row of a table of statements, as text.

    `deviation` is how far a measured mean lies from its exact prediction, or beyond its bound, in
    standard errors; None where the statement is no theorem, or a limit, or nothing was random.
    """

    text: str
    predicted: str
    measured: str
    error: str
    kind: str
    note: str
    verdict: Verdict
    deviation: float | None = None


@dataclass(frozen=True)
class Picture:
    """A figure as the page takes it."""

    svg: str
    title: str
    finding: str
    legend: tuple[LegendEntry, ...]


@dataclass(frozen=True)
class ProblemView:
    """One problem of a ``verify`` record."""

    key: str
    name: str
    title: str
    family: str
    finding: str
    facts: tuple[Fact, ...]
    pictures: tuple[Picture, ...]
    statements: tuple[Statement, ...]
    notes: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of its statements' verdicts."""
        return worst([statement.verdict for statement in self.statements])


def statements(comparisons: Sequence[Comparison]) -> tuple[Statement, ...]:
    """Comparisons as rows of a table."""
    return tuple(
        Statement(
            c.statement,
            c.sign + number(c.predicted, 5),
            number(c.measured, 5),
            number(c.standard_error, 2),
            c.kind,
            c.note,
            verdict(c),
            _deviation(c),
        )
        for c in comparisons
    )


def _deviation(comparison: Comparison) -> float | None:
    """Standard errors between an exact mean and its measurement, or from a bound that is passed."""
    predicted, measured = comparison.predicted, comparison.measured
    if not comparison.is_theorem or comparison.kind == "asymptotic":
        return None
    if predicted is None or measured is None or not comparison.standard_error:
        return None
    score = (measured - predicted) / comparison.standard_error
    if comparison.kind == "exact":
        return abs(score)
    return max(0.0, -score if comparison.side == "lower" else score)


def picture(plot: Plot, key: str) -> Picture:
    """Draw a plot; `key` is distinct for each figure of a page."""
    label = f"{plot.title}. {plot.finding}"
    return Picture(to_svg(plot.figure, key=key, label=label), plot.title, plot.finding, plot.legend)


def against(unit: str, name: str | None) -> str:
    """A unit, and the hypothesis that binds where there is one."""
    return unit if name is None else f"{unit}, bound by “{name}”"


def pictures(plots: Sequence[Plot | None], key: str) -> tuple[Picture, ...]:
    """Draw what there is of the plots; each keeps its number, whatever is left out."""
    return tuple(
        picture(plot, f"{key}-{index}") for index, plot in enumerate(plots) if plot is not None
    )

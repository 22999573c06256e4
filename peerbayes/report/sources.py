"""What the page says of the figures of the sources: drawn beside what is printed, with verdicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import get_args

from peerbayes.figures.views import Picture, Verdict, pictures
from peerbayes.figures.wording import number
from peerbayes.report.source_panels import panel_plot
from peerbayes.sources.documents import (
    CheckDocument,
    FigureDocument,
    FiguresRecord,
    MissingDocument,
    Outcome,
)

_VERDICTS = {
    "reproduced": Verdict("good", "✓", "reproduced"),
    "not reproduced": Verdict("news", "△", "not reproduced"),
    "undecidable here": Verdict("quiet", "○", "undecidable here"),
}
_HOLDS = {
    True: Verdict("good", "✓", "holds"),
    False: Verdict("news", "△", "fails"),
    None: Verdict("quiet", "○", "not measured"),
}


@dataclass(frozen=True)
class CheckRow:
    """One thing that is printed, as text."""

    what: str
    printed: str
    measured: str
    wanted: str
    reason: str
    verdict: Verdict


@dataclass(frozen=True)
class SourceView:
    """One figure of a source."""

    key: str
    name: str
    source: str
    shows: str
    sentence: str
    verdict: Verdict
    checks: tuple[CheckRow, ...]
    pictures: tuple[Picture, ...]
    missing: tuple[MissingDocument, ...]


@dataclass(frozen=True)
class SourcesView:
    """One record of ``figures``."""

    figures: tuple[SourceView, ...]

    @property
    def summary(self) -> str:
        """How many figures have which verdict."""
        counts = Counter(one.verdict.words for one in self.figures)
        told = (f"{counts[words]} {words}" for words in get_args(Outcome) if counts[words])
        return ", ".join(told)


def sources_view(record: FiguresRecord, *, key: str) -> SourcesView:
    """Everything the page says of them."""
    return SourcesView(
        tuple(_figure(one, f"{key}-{index}") for index, one in enumerate(record.figures, 1))
    )


def _figure(figure: FigureDocument, key: str) -> SourceView:
    return SourceView(
        key,
        figure.name,
        figure.source,
        figure.shows,
        figure.sentence,
        _VERDICTS[figure.verdict],
        tuple(_row(check) for check in figure.checks),
        pictures([panel_plot(panel) for panel in figure.panels], key),
        tuple(figure.missing),
    )


def _row(check: CheckDocument) -> CheckRow:
    return CheckRow(
        check.what,
        check.printed,
        number(check.measured, 4),
        check.wanted,
        check.reason,
        _HOLDS[check.holds],
    )

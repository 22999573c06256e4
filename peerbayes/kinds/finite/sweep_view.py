"""What the page says of a sweep over the edge confidence."""

from __future__ import annotations

from dataclasses import dataclass

from peerbayes.figures.curves import sweep_plot
from peerbayes.figures.views import (
    Picture,
    Statement,
    Verdict,
    picture,
    statements,
    worst,
)
from peerbayes.figures.wording import listed, number
from peerbayes.sweep_documents import SweepDocument, SweepPoint


@dataclass(frozen=True)
class SweepView:
    """One sweep over the edge confidence: a picture, and all numbers as a table."""

    key: str
    name: str
    finding: str
    picture: Picture | None
    columns: tuple[tuple[str, str, str], ...]  # a, v_1, what the network settles on
    exponents: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str, str] | None, ...]], ...]
    statements: tuple[Statement, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of its statements' verdicts."""
        return worst([statement.verdict for statement in self.statements])


def sweep_view(entry: object, *, key: str) -> SweepView:
    """Everything the page says of one sweep: `entry` is that of its record."""
    sweep = SweepDocument.model_validate(entry)
    confidences = sweep.edge_confidence
    columns = tuple(
        (f"{a:g}", number(v), ", ".join(names))
        for a, v, names in zip(confidences, sweep.centre_weight, sweep.settled, strict=True)
    )
    rows = []
    for series in sweep.rates:
        cells = {point.edge_confidence: point for point in series.points}
        if cells:
            rows.append((series.hypothesis, tuple(_cell(cells.get(a)) for a in confidences)))
    return SweepView(
        key=key,
        name=sweep.name,
        finding=_moves(sweep),
        picture=picture(sweep_plot(sweep), f"{key}-0") if rows else None,
        columns=columns,
        exponents=tuple(number(exponent) for exponent in sweep.exponent),
        rows=tuple(rows),
        statements=statements(sweep.comparisons),
    )


def _cell(point: SweepPoint | None) -> tuple[str, str, str] | None:
    if point is None:
        return None
    return number(point.predicted), number(point.measured), number(point.standard_error, 2)


def _moves(sweep: SweepDocument) -> str:
    """How the hypothesis settled on moves with a."""
    groups: list[tuple[list[str], list[float]]] = []
    for a, names in zip(sweep.edge_confidence, sweep.settled, strict=True):
        if groups and groups[-1][0] == names:
            groups[-1][1].append(a)
        else:
            groups.append((names, [a]))
    v = sweep.centre_weight
    start = f"As a rises, the centre’s weight v₁ rises from {number(v[0])} to {number(v[-1])}"
    if len(groups) == 1:
        return f"{start}; the network settles on {listed(groups[0][0], joint='or')} for every a."
    parts = [
        f"{listed(names, joint='or')} for a = {', '.join(f'{a:g}' for a in values)}"
        for names, values in groups
    ]
    return f"{start}, and what the network settles on changes: {'; '.join(parts)}."

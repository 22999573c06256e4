"""What the page says of a sweep over the edge confidence: a picture, and all numbers as a table."""

from __future__ import annotations

from dataclasses import replace

from peerbayes.figures.curves import sweep_plot
from peerbayes.figures.views import Cell, Row, Section, Table, Text, pictures, statements
from peerbayes.figures.wording import DASH, listed, number
from peerbayes.sweep_documents import SweepDocument, SweepPoint


def sweep_view(entry: object, *, key: str) -> Section:
    """Everything the page says of one sweep: `entry` is that of its record."""
    sweep = SweepDocument.model_validate(entry)
    series = [entry for entry in sweep.rates if entry.points]
    claims = statements(sweep.comparisons)
    return Section(
        key=key,
        name=sweep.name,
        finding=_moves(sweep),
        pictures=pictures([sweep_plot(sweep)] if series else [], key),
        tables=(_table(sweep),) if series else (),
        statements=replace(
            claims, folded=f"{len(claims)} statement{'s' * (len(claims) != 1)} on how rates move"
        ),
    )


def _table(sweep: SweepDocument) -> Table:
    """A column for each edge confidence: the centre's weight, what wins, rates, the exponent."""
    rows = [
        Row("v₁", tuple(map(number, sweep.centre_weight))),
        Row("settles on", tuple(", ".join(names) for names in sweep.settled)),
    ]
    for series in sweep.rates:
        cells = {point.edge_confidence: point for point in series.points}
        if cells:
            row = tuple(_cell(cells.get(a)) for a in sweep.edge_confidence)
            rows.append(Row(series.hypothesis, row))
    rows.append(Row("error exponent E", tuple(map(number, sweep.exponent))))
    return Table(
        f"Rates of {sweep.name}",
        "a",
        tuple(f"{a:g}" for a in sweep.edge_confidence),
        tuple(rows),
        is_wide=True,
        remark="Rates in nats per round: predicted, and below it measured ± s.e.",
    )


def _cell(point: SweepPoint | None) -> Cell:
    if point is None:
        return DASH
    measured = f"{number(point.measured)} ± {number(point.standard_error, 2)}"
    return Text(number(point.predicted), small=measured)


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

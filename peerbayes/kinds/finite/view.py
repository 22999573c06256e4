"""What the page says of a network that stays as it is: a verified problem, and a sweep.

A sweep over the edge confidence is a picture, and all numbers as a table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from peerbayes.figures.curves import ladder_plot, sweep_plot
from peerbayes.figures.views import Cell, Fact, Row, Section, Table, Text, pictures, statements
from peerbayes.figures.wording import DASH, agents_with, listed, number
from peerbayes.kinds.finite.verify import ProblemVerification
from peerbayes.kinds.shared.view import learning_plots, settles, verified_section
from peerbayes.measured import SweepDocument, SweepPoint
from peerbayes.quantities.learning import LEARNING
from peerbayes.quantities.messages import MESSAGES
from peerbayes.quantities.network import NETWORK
from peerbayes.quantities.showing import page_facts
from peerbayes.quantities.sizes import SAMPLES


def problem_view(entry: object, *, key: str) -> Section:
    """Everything the page says of one verified problem: `entry` is that of its record."""
    problem = ProblemVerification.record.read(entry)
    analysis, ladder = problem.analysis, None
    if problem.rates and analysis.messages is None:
        measured = problem.failures.measured_rounds
        ladder = ladder_plot(analysis.samples, measured=measured, was_measured=True)
    return verified_section(
        problem,
        learning_plots(problem, ladder),
        key=key,
        finding=settles(analysis.learning, problem.settled),
        facts=_facts(problem),
    )


def _facts(problem: Any) -> list[Fact]:
    """K and E, what suffices, and the network."""
    analysis, v = problem.analysis, problem.graph.stationary_distribution
    network = page_facts(NETWORK, analysis.network)
    if "edge_confidence" in problem.parameters:
        centre = agents_with(v[:1], v[0], analysis.network.names)
        network["stationary_distribution"] = Fact("v of the centre", number(v[0]), centre)
    compressed = analysis.messages is not None
    enough = (MESSAGES, analysis.messages) if compressed else (SAMPLES, analysis.samples)
    found = page_facts(LEARNING, analysis.learning) | page_facts(*enough) | network
    return [*found.values()]


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

"""What the page says of a network that changes: the same pictures, with influence in place of v."""

from __future__ import annotations

from peerbayes.figures.canvas import Plot
from peerbayes.figures.curves import failures_plot, trajectory_plot
from peerbayes.figures.graph import network_plot, not_drawn
from peerbayes.figures.rows import rates_plot
from peerbayes.figures.views import Fact, Section, against, pictures, statements
from peerbayes.figures.wording import agents_with, count, number
from peerbayes.kinds.changing.documents import (
    ChangingAnalysisDocument,
    ChangingLearningDocument,
    ChangingNetworkDocument,
    ChangingRecord,
)
from peerbayes.kinds.shared.simulated_view import rounds_that_suffice, settles


def changing_view(entry: object, *, key: str) -> Section:
    """Everything the page says of one verified problem: `entry` is that of its record."""
    problem = ChangingRecord.model_validate(entry)
    analysis = problem.analysis
    plots: list[Plot | None] = []
    if problem.trajectory is not None:
        plots.append(trajectory_plot(problem.trajectory))
    if problem.rates:
        plots.append(rates_plot(problem.rates, replicates=problem.replicates))
    if problem.failures is not None:
        plots.append(failures_plot(problem.failures, delta=analysis.samples.delta))
    plots.append(network_plot(problem.graph))
    return Section(
        key=key,
        name=problem.name,
        title=problem.title,
        family=problem.family,
        finding=f"{settles(analysis.learning, problem.settled)} What changes: "
        f"{analysis.network.changes}.",
        facts=_facts(analysis),
        pictures=pictures(plots, key),
        statements=statements(problem.comparisons),
        notes=(*not_drawn(problem.graph), *analysis.notes),
    )


def _facts(analysis: ChangingAnalysisDocument) -> tuple[Fact, ...]:
    network, learning = analysis.network, analysis.learning
    most, least = max(network.influence), min(network.influence)
    return (
        Fact(
            "Learning rate",
            number(learning.rate),
            against("nats per round", learning.binding_hypothesis),
        ),
        Fact(
            "Error exponent E",
            number(learning.error_exponent),
            f"{_uncertainty(learning)}{against('per round', learning.binding_for_exponent)}",
        ),
        rounds_that_suffice(analysis.samples),
        Fact("Agents", count(network.agents)),
        Fact("Total influence", number(network.total_influence), "of one round's observations"),
        Fact("Largest influence", number(most), _with(network, most)),
        Fact("Smallest influence", number(least), _with(network, least)),
    )


def _with(network: ChangingNetworkDocument, value: float) -> str:
    return agents_with(network.influence, value, network.names)


def _uncertainty(learning: ChangingLearningDocument) -> str:
    """What goes between an exponent and its unit: nothing where it is exact."""
    error = learning.error_exponent_standard_error
    if error is None:
        return "" if learning.error_exponent is None else "of unknown error, "
    return f"± {number(error, 2)} " if error else ""

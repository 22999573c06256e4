"""What the page says of a network that changes: the same pictures, with influence in place of v."""

from __future__ import annotations

from typing import Any

from peerbayes.figures.chart import Plot
from peerbayes.figures.curves import failures_plot, trajectory_plot
from peerbayes.figures.graph import network_plot, not_drawn
from peerbayes.figures.rows import rates_plot
from peerbayes.figures.views import Fact, Section, pictures, statements
from peerbayes.figures.wording import agents_with, number
from peerbayes.kinds.changing.analyse import CHANGING_NETWORK
from peerbayes.kinds.changing.documents import ChangingRecord
from peerbayes.kinds.shared.simulated_view import settles
from peerbayes.quantities.learning import CHANGING_LEARNING
from peerbayes.quantities.showing import page_facts
from peerbayes.quantities.sizes import SAMPLES


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


def _facts(analysis: Any) -> tuple[Fact, ...]:
    """Rates, what suffices, and whose data count most and least."""
    network = page_facts(CHANGING_NETWORK, analysis.network)
    influence = analysis.network.influence
    least = agents_with(influence, min(influence), analysis.network.names)
    return (
        *page_facts(CHANGING_LEARNING, analysis.learning).values(),
        *page_facts(SAMPLES, analysis.samples).values(),
        *(network[key] for key in ("agents", "total_influence", "influence")),
        Fact("Smallest influence", number(min(influence)), least),
    )

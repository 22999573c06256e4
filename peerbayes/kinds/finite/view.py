"""What the page says of each verified problem, in its order: words, numbers, pictures.

Everything here is made from a record's plain numbers; nothing is computed anew. The first picture
stands beside the answer.
"""

from __future__ import annotations

from peerbayes.figures.chart import Plot
from peerbayes.figures.curves import failures_plot, trajectory_plot
from peerbayes.figures.graph import network_plot, not_drawn
from peerbayes.figures.rows import ladder_plot, rates_plot
from peerbayes.figures.views import Fact, Section, pictures, statements
from peerbayes.figures.wording import agents_with, number
from peerbayes.kinds.finite.documents import FiniteRecord
from peerbayes.kinds.shared.simulated_view import settles
from peerbayes.quantities.learning import LEARNING
from peerbayes.quantities.messages import MESSAGES
from peerbayes.quantities.network import NETWORK
from peerbayes.quantities.showing import page_facts
from peerbayes.quantities.sizes import SAMPLES


def problem_view(entry: object, *, key: str) -> Section:
    """Everything the page says of one verified problem: `entry` is that of its record."""
    problem = FiniteRecord.model_validate(entry)
    analysis, failures = problem.analysis, problem.failures
    plots: list[Plot | None] = []
    if problem.trajectory is not None:
        plots.append(trajectory_plot(problem.trajectory))
    if problem.rates:
        samples, measured = analysis.samples, failures.measured_rounds
        plots.append(rates_plot(problem.rates, replicates=problem.replicates))
        if analysis.messages is None:
            plots.append(ladder_plot(samples, measured=measured, was_measured=True))
        plots.append(failures_plot(failures, delta=samples.delta))
    plots.append(network_plot(problem.graph))
    return Section(
        key=key,
        name=problem.name,
        title=problem.title,
        family=problem.family,
        finding=settles(analysis.learning, problem.settled),
        facts=_facts(problem),
        pictures=pictures(plots, key),
        statements=statements(problem.comparisons),
        notes=(*not_drawn(problem.graph), *analysis.notes),
    )


def _facts(problem: FiniteRecord) -> tuple[Fact, ...]:
    """K and E, what suffices, and the network."""
    analysis, v = problem.analysis, problem.graph.stationary_distribution
    network = page_facts(NETWORK, analysis.network)
    if "edge_confidence" in problem.parameters:
        centre = agents_with(v[:1], v[0], analysis.network.names)
        network["stationary_distribution"] = Fact("v of the centre", number(v[0]), centre)
    messages = analysis.messages
    enough = (
        page_facts(SAMPLES, analysis.samples)
        if messages is None
        else page_facts(MESSAGES, messages)
    )
    found = page_facts(LEARNING, analysis.learning) | enough | network
    return tuple(found.values())

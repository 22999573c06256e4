"""What the page says of each verified problem, in its order: words, numbers, pictures.

Everything here is made from a record's plain numbers; nothing is computed anew. The first picture
stands beside the answer.
"""

from __future__ import annotations

from peerbayes.figures.canvas import Plot
from peerbayes.figures.curves import failures_plot, trajectory_plot
from peerbayes.figures.graph import network_plot, not_drawn
from peerbayes.figures.rows import ladder_plot, rates_plot
from peerbayes.figures.views import Fact, Section, against, pictures, statements
from peerbayes.figures.wording import agents_with, count, number
from peerbayes.kinds.finite.documents import FiniteRecord
from peerbayes.kinds.shared.simulated_view import rounds_that_suffice, settles
from peerbayes.message_documents import MessagesDocument


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
    network, learning = problem.analysis.network, problem.analysis.learning
    v = problem.graph.stationary_distribution
    deviations = [d for d in network.deviation if d is not None]
    largest = max(deviations) if len(deviations) == len(network.deviation) else None
    return (
        Fact(
            "Learning rate K",
            number(learning.rate),
            against("nats per round", learning.binding_hypothesis),
        ),
        Fact(
            "Error exponent E",
            number(learning.error_exponent),
            against("per round", learning.binding_for_exponent),
        ),
        rounds_that_suffice(problem.analysis.samples)
        if problem.analysis.messages is None
        else _bytes_that_suffice(problem.analysis.messages),
        Fact("Agents", count(network.agents)),
        Fact("v of the centre", number(v[0]), agents_with(v[:1], v[0], network.names))
        if "edge_confidence" in problem.parameters
        else Fact("Largest v", number(max(v)), agents_with(v, max(v), network.names)),
        Fact("Second eigenvalue", number(network.slem), "largest modulus below 1"),
        Fact("Largest deviation D", number(largest), "rounds"),
    )


def _bytes_that_suffice(messages: MessagesDocument) -> Fact:
    """What compressed beliefs take on all links together."""
    rounds, most = messages.certified_rounds[1], messages.certified_bytes[1]
    if rounds is None or most is None:
        return Fact("Certified bytes", "-", messages.note)
    return Fact("Certified bytes", count(most), f"in {count(rounds)} rounds, on all links")

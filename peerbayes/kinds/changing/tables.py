"""Analyses of a network that changes as tables for people."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from peerbayes.kinds.changing.documents import ChangingAnalysisDocument, ChangingLearningDocument
from peerbayes.kinds.shared.learning_tables import (
    batches,
    bound_by,
    indistinguishable,
    rejection_table,
    settled_on,
)
from peerbayes.tables import facts_table, figures_table, notes_text, number, rounds, spread


def changing_parts(result: ChangingAnalysisDocument) -> list[RenderableType]:
    """The tables of `analyse`."""
    network, learning, samples = result.network, result.learning, result.samples
    facts = {
        "agents": str(network.agents),
        "what changes": network.changes,
        "influence of an observation u": spread(network.influence),
        "total influence": number(network.total_influence),
        **batches(learning.batch),
        **settled_on(learning),
        "learning rate": f"{number(learning.rate)} nats a round"
        + bound_by(learning.binding_hypothesis),
        "error exponent E": f"{number(learning.error_exponent)}{_uncertainty(learning)} nats a "
        f"round{bound_by(learning.binding_for_exponent)}",
    }
    if network.influence_per_time is not None:
        facts["influence per unit of time"] = spread(network.influence_per_time)
    facts |= indistinguishable(learning)
    table = figures_table(
        f"Rounds for an error of at most {samples.delta:g}", "statement", "rounds"
    )
    table.add_row("repaired (Hoeffding)", rounds(samples.repaired))
    table.add_row("Chernoff", rounds(samples.chernoff))
    return [
        facts_table(result.problem, facts),
        Text(),
        *rejection_table(learning, number, order=learning.slowest_first),
        table,
        notes_text(result.notes),
    ]


def _uncertainty(learning: ChangingLearningDocument) -> str:
    """What follows an exponent: nothing where it is exact, or where there is none."""
    error = learning.error_exponent_standard_error
    if error is None:
        return "" if learning.error_exponent is None else " ± unknown"
    return f" ± {number(error)}" if error else ""

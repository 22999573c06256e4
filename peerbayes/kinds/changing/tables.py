"""Analyses of a network that changes as tables for people."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from peerbayes.kinds.learning_tables import indistinguishable, rejection_table
from peerbayes.learning_documents import LearningDocument
from peerbayes.tables import facts_table, figures_table, notes_text, rounds, spread
from peerbayes.tables import number as figure


def changing_parts(result: dict[str, Any]) -> list[RenderableType]:
    """The tables of `analyse`, made of its JSON object."""
    network, learning, samples = result["network"], result["learning"], result["samples"]
    names = learning["optimal_hypotheses"] or learning["compromise"]
    kind = "optimal hypotheses" if learning["optimal_hypotheses"] else "network compromise"
    binding, limiting = learning["binding_hypothesis"], learning["binding_for_exponent"]
    error = learning["error_exponent_standard_error"]
    facts = {
        "agents": str(network["agents"]),
        "what changes": network["changes"],
        "influence of an observation u": spread(network["influence"]),
        "total influence": figure(network["total_influence"]),
        kind: ", ".join(names),
        "learning rate": f"{figure(learning['rate'])} nats a round"
        + (f", bound by: {binding}" if binding else ""),
        "error exponent E": f"{figure(learning['error_exponent'])}"
        + (f" ± {figure(error)}" if error else "")
        + (" ± unknown" if error is None and learning["error_exponent"] is not None else "")
        + " nats a round"
        + (f", bound by: {limiting}" if limiting else ""),
    }
    if network["influence_per_time"] is not None:
        facts["influence per unit of time"] = spread(network["influence_per_time"])
    facts |= indistinguishable(LearningDocument.model_validate(learning))
    parts: list[RenderableType] = [facts_table(result["problem"], facts), Text()]
    found = LearningDocument.model_validate(learning)
    parts += rejection_table(found, figure, order=found.slowest_first)
    table = figures_table(
        f"Rounds for an error of at most {samples['delta']:g}", "statement", "rounds"
    )
    table.add_row("repaired (Hoeffding)", rounds(samples["repaired"]))
    table.add_row("Chernoff", rounds(samples["chernoff"]))
    return [*parts, table, notes_text(result["notes"])]

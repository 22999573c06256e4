"""Social learning as tables for people, whatever the network."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from peerbayes.learning_documents import SimulationDocument
from peerbayes.tables import facts_table, figures_table, notes_text, number


def simulation_parts(result: SimulationDocument) -> list[RenderableType]:
    """The tables of `simulate`."""
    chance = result.error_probability
    facts = {
        "rounds, replicates, seed": f"{result.rounds}, {result.replicates}, {result.seed}",
        "reference": ", ".join(result.reference),
        "some agent is wrong": f"{number(chance.estimate)}, with {100 * chance.confidence:g} % "
        f"confidence {number(chance.lower)} to {number(chance.upper)}",
    }
    if result.messages is not None:
        sent = result.messages
        facts |= {
            "bytes a round": number(sent.bytes_per_round),
            "  bits a number, by entropy": number(sent.entropy),
            "replica off by at most": f"{number(sent.largest_error)} nats",
            "log-ratio moved by at most": f"{number(sent.largest_deviation)} nats",
        }
    if result.record:
        facts["record"] = result.record
    table = figures_table(
        "Measured rates of rejection over agents, nats a round",
        "hypothesis",
        "mean",
        "lowest",
        "highest",
        "standard error",
    )
    for name, rate in result.rates.items():
        mean = [value for value in rate.mean if value is not None]
        errors = [error for error in rate.standard_error if error is not None]
        table.add_row(
            Text(name),
            number(sum(mean) / len(mean)),
            number(min(mean)),
            number(max(mean)),
            number(max(errors, default=None)),
        )
    return [facts_table(result.problem, facts), Text(), table, notes_text(result.notes)]

"""Social learning as tables for people, whatever the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes.learning_documents import Ladder, Learning, SimulationDocument
from peerbayes.tables import facts_table, figures_table, interval, notes_text, number, spread

N = TypeVar("N")


def settled_on(learning: Learning[Any, Any]) -> dict[str, str]:
    """The fact what the network settles on."""
    kind = "optimal hypotheses" if learning.optimal_hypotheses else "network compromise"
    return {kind: ", ".join(learning.reference or ["not decided"])}


def batches(drawn: Sequence[int] | None) -> dict[str, str]:
    """The fact how many observations agents draw a round, if they draw several."""
    return {} if drawn is None else {"observations a round": spread(drawn)}


def indistinguishable(learning: Learning[Any, Any]) -> dict[str, str]:
    """A fact about hypotheses that no agent tells apart, if there are any."""
    pairs = [" and ".join(pair) for pair in learning.ambiguous_pairs]
    return {"nobody can tell apart": "; ".join(pairs)} if pairs else {}


def rejection_table(
    learning: Learning[N, Any], write: Callable[[N], str], *, order: Iterable[str] | None = None
) -> list[Table]:
    """Each wrong hypothesis with its rate and its exponent; nothing where all are optimal."""
    if not learning.rates:
        return []
    table = figures_table("Rejection of hypotheses, nats a round", "hypothesis", "rate", "exponent")
    for name in learning.rates if order is None else order:
        table.add_row(Text(name), write(learning.rates[name]), write(learning.exponents[name]))
    return [table]


def ladder_table(samples: Ladder[N], write: Callable[[N], str]) -> Table:
    """The ladder of sample sizes, each rung in the words of `write`."""
    title = f"Rounds for an error of at most {samples.delta:g}"
    table = figures_table(title, "statement", "rounds")
    table.add_row("printed in the paper, not a theorem", write(samples.printed))
    table.add_row("repaired (Hoeffding)", write(samples.repaired))
    table.add_row("Chernoff", write(samples.chernoff))
    table.add_row("certified, both ends", interval(samples.certified))
    if samples.printed_p2 is not None:
        table.add_row("printed in P2 (ε = K/2), no theorem", write(samples.printed_p2))
    return table


def bound_by(name: str | None) -> str:
    """The hypothesis that binds, after a number; nothing where none does."""
    return "" if name is None else f", bound by: {name}"


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

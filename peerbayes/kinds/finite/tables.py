"""Analyses of a fixed network as tables for people."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from peerbayes.kinds.finite.documents import AnalysisDocument, AtRoundsDocument
from peerbayes.kinds.shared.learning_tables import (
    batches,
    bound_by,
    indistinguishable,
    ladder_table,
    rejection_table,
    settled_on,
)
from peerbayes.message_documents import messages_parts
from peerbayes.tables import facts_table, notes_text, number, rounds, spread


def analysis_parts(result: AnalysisDocument) -> list[RenderableType]:
    """The tables of `analyse`."""
    network, learning = result.network, result.learning
    facts = {
        "agents": str(network.agents),
        "stationary distribution v": spread(network.stationary_distribution),
        "subdominant modulus": number(network.slem),
        "second eigenvalue": number(network.second_eigenvalue),
        "deviation D_i (rounds)": spread(network.deviation),
        "reversible": "yes" if network.reversible else "no",
        **batches(learning.batch),
        **settled_on(learning),
        "learning rate K": f"{number(learning.rate)} nats a round"
        + bound_by(learning.binding_hypothesis),
        "error exponent E": f"{number(learning.error_exponent)} nats a round"
        + bound_by(learning.binding_for_exponent),
        **indistinguishable(learning),
    }
    return [
        facts_table(result.problem, facts),
        Text(),
        *rejection_table(learning, number, order=learning.slowest_first),
        ladder_table(result.samples, rounds),
        notes_text(result.notes),
        *messages_parts(result.messages),
        *at_rounds_parts(result.at_rounds),
    ]


def at_rounds_parts(result: AtRoundsDocument | None) -> list[RenderableType]:
    """The table of what a number of rounds is good for; nothing without one."""
    if result is None:
        return []
    chance, logs, margin = result.error_probability, result.log_error_probability, result.margin
    facts = {"some agent errs": f"{number(chance.lower)} to {number(chance.upper)}"}
    if logs.upper is not None and chance.upper is not None and chance.upper < 1e-300:
        facts["  its logarithm"] = f"at most {logs.upper:.6g}"
    ends = [margin.lower, margin.upper]
    known = ["not known" if end is None else number(end) for end in ends]
    facts[f"margin at {margin.delta:g}"] = f"{' to '.join(known)} nats a round"
    title = f"After {result.rounds} rounds"
    notes = [Text(f"note: {note}") for note in result.notes]
    return [Text(), facts_table(title, facts), *notes]

"""Analyses of a fixed network as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from peerbayes.kinds.learning_tables import (
    _bound_by,
    indistinguishable,
    ladder_table,
    rejection_table,
)
from peerbayes.tables import facts_table, notes_text, number, rounds, spread


def analysis_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    """The tables of `analyse`."""
    network, learning, samples = result["network"], result["learning"], result["samples"]
    facts = {
        "agents": str(network["agents"]),
        "stationary distribution v": spread(network["stationary_distribution"]),
        "subdominant modulus": number(network["slem"]),
        "second eigenvalue": number(network["second_eigenvalue"]),
        "deviation D_i (rounds)": spread(network["deviation"]),
        "reversible": "yes" if network["reversible"] else "no",
    }
    names = learning["optimal_hypotheses"] or learning["compromise"]
    kind = "optimal hypotheses" if learning["optimal_hypotheses"] else "network compromise"
    facts |= {
        kind: ", ".join(names),
        "learning rate K": f"{number(learning['rate'])} nats a round"
        + _bound_by(learning["binding_hypothesis"]),
        "error exponent E": f"{number(learning['error_exponent'])} nats a round"
        + _bound_by(learning["binding_for_exponent"]),
    }
    facts |= indistinguishable(learning)
    rates = sorted(learning["rates"].items(), key=lambda item: item[1])
    exponents = learning["exponents"]
    parts: list[RenderableType] = [facts_table(result["problem"], facts), Text()]
    if rates:
        rows = [(name, number(rate), number(exponents.get(name))) for name, rate in rates]
        parts.append(rejection_table(rows))
    return [*parts, ladder_table(samples, rounds), notes_text(result["notes"])]

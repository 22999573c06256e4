"""Social learning as tables for people, whatever the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes.tables import facts_table, figures_table, interval, notes_text, number


def indistinguishable(learning: Mapping[str, Any]) -> dict[str, str]:
    """A fact about hypotheses that no agent tells apart, if there are any."""
    pairs = [" and ".join(pair) for pair in learning["ambiguous_pairs"]]
    return {"nobody can tell apart": "; ".join(pairs)} if pairs else {}


def rejection_table(rows: Sequence[tuple[str, str, str]]) -> Table:
    """Each wrong hypothesis with its rate and its exponent."""
    table = figures_table("Rejection of hypotheses, nats a round", "hypothesis", "rate", "exponent")
    for name, rate, exponent in rows:
        table.add_row(Text(name), rate, exponent)
    return table


def ladder_table(samples: Mapping[str, Any], write: Callable[[Any], str]) -> Table:
    """The ladder of sample sizes, each rung in the words of `write`."""
    title = f"Rounds for an error of at most {samples['delta']:g}"
    table = figures_table(title, "statement", "rounds")
    for name, meaning in (
        ("printed", "printed in the paper, not a theorem"),
        ("repaired", "repaired (Hoeffding)"),
        ("chernoff", "Chernoff"),
    ):
        table.add_row(meaning, write(samples[name]))
    table.add_row("certified, both ends", interval(samples["certified"]))
    return table


def _bound_by(name: str | None) -> str:
    return "" if name is None else f", bound by: {name}"


def simulation_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    """The tables of `simulate`."""
    chance = result["error_probability"]
    facts = {
        "rounds, replicates, seed": f"{result['rounds']}, {result['replicates']}, {result['seed']}",
        "reference": ", ".join(result["reference"]),
        "some agent is wrong": f"{number(chance['estimate'])}, with "
        f"{100 * chance['confidence']:g} % confidence {number(chance['lower'])} to "
        f"{number(chance['upper'])}",
    }
    if result["record"]:
        facts["record"] = result["record"]
    table = figures_table(
        "Measured rates of rejection over agents, nats a round",
        "hypothesis",
        "mean",
        "lowest",
        "highest",
        "standard error",
    )
    for name, rate in result["rates"].items():
        mean, errors = rate["mean"], [e for e in rate["standard_error"] if e is not None]
        table.add_row(
            Text(name),
            number(sum(mean) / len(mean)),
            number(min(mean)),
            number(max(mean)),
            number(max(errors, default=None)),
        )
    return [facts_table(result["problem"], facts), Text(), table, notes_text(result["notes"])]

"""Analyses among faulty agents as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from peerbayes.tables import agent_names, facts_table, figures_table, notes_text
from peerbayes.tables import number as figure


def faulty_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    """The tables of `analyse`, made of its JSON object."""
    faults = result["faults"]
    averaging, guaranteed = faults["averaging"], faults["guaranteed_rates"]
    kinds = sorted({*faults["faulty"].values()})
    facts = {
        "agents": f"{result['network']['agents']}, {len(faults['faulty'])} of them faulty",
        "faulty": ", ".join(
            f"{agent_names([i for i, name in faults['faulty'].items() if name == kind])}: {kind}"
            for kind in kinds
        )
        or "nobody",
        "rule of the honest": faults["rule"],
        "the truth for the honest": ", ".join(faults["optimal_hypotheses"]),
    }
    if averaging is not None:
        facts["by averaging they learn"] = "yes" if averaging["learns"] else "no"
    if faults["robustness"] is not None:
        check = faults["robustness"]
        facts["robustness of the graph"] = f"{check['r']}-robust: {check['status']}"
    columns = ["hypothesis", "nobody faulty", "averaging, lowest", "averaging, highest"]
    table = figures_table(
        "Rates of rejection, nats a round", *columns, *(["guaranteed"] if guaranteed else [])
    )
    for name, rate in faults["faultless_rates"].items():
        row = [figure(rate), "-", "-"]
        if averaging is not None:
            row[1:] = [figure(min(averaging["rates"][name])), figure(max(averaging["rates"][name]))]
        table.add_row(Text(name), *row, *([figure(guaranteed[name])] if guaranteed else []))
    return [facts_table(result["problem"], facts), Text(), table, notes_text(result["notes"])]

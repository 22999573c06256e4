"""Analyses among faulty agents as tables for people."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from peerbayes.kinds.faulty.documents import FaultyAnalysisDocument
from peerbayes.tables import agent_names, facts_table, figures_table, notes_text, number, spread


def faulty_parts(result: FaultyAnalysisDocument) -> list[RenderableType]:
    """The tables of `analyse`."""
    faults = result.faults
    averaging, guaranteed, check = faults.averaging, faults.guaranteed_rates, faults.robustness
    kinds, faulty = sorted({*faults.faulty.values()}), [int(i) for i in faults.faulty]
    names = result.network.names
    facts = {
        "agents": f"{result.network.agents}, {len(faults.faulty)} of them faulty",
        "faulty": ", ".join(
            f"{agent_names([i for i in faulty if faults.faulty[str(i)] == kind], names)}: {kind}"
            for kind in kinds
        )
        or "nobody",
        **({} if faults.batch is None else {"observations a round": spread(faults.batch)}),
        "rule of the honest": faults.rule,
        "the truth for the honest": ", ".join(faults.optimal_hypotheses),
    }
    if averaging is not None:
        facts["by averaging they learn"] = "yes" if averaging.learns else "no"
    if check is not None:
        facts["robustness of the graph"] = f"{check.r}-robust: {check.status}"
    columns = ["hypothesis", "nobody faulty", "averaging, lowest", "averaging, highest"]
    table = figures_table(
        "Rates of rejection, nats a round", *columns, *(["guaranteed"] if guaranteed else [])
    )
    for name, rate in faults.faultless_rates.items():
        row = [number(rate), "-", "-"]
        if averaging is not None:
            known = [value for value in averaging.rates[name] if value is not None]
            row[1:] = [number(min(known, default=None)), number(max(known, default=None))]
        table.add_row(Text(name), *row, *([number(guaranteed[name])] if guaranteed else []))
    return [facts_table(result.problem, facts), Text(), table, notes_text(result.notes)]

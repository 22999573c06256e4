"""What the page says of honest agents among faulty ones."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from peerbayes.figures.chart import COLOURS, DASHES, Chart, Plot, floats, linear_scale
from peerbayes.figures.graph import network_plot, not_drawn
from peerbayes.figures.views import Fact, Section, pictures, statements
from peerbayes.figures.wording import count, listed, number, percentage
from peerbayes.kinds.faulty.documents import FaultyRecord

_HEIGHT = 3.0  # inches


def faulty_view(entry: object, *, key: str) -> Section:
    """Everything the page says of one verified problem with faulty agents."""
    record = FaultyRecord.model_validate(entry)
    plots = [honest_plot(record), network_plot(record.graph)]
    return Section(
        key=key,
        name=record.name,
        title=record.title,
        family=record.family,
        finding=_finding(record),
        facts=_facts(record),
        pictures=pictures(plots, key),
        statements=statements(record.comparisons),
        notes=(*not_drawn(record.graph), *record.analysis.notes),
    )


def honest_plot(record: FaultyRecord, *, axes: Axes | None = None) -> Plot | None:
    """Mean log belief ratio of the honest agents, with the slowest and the fastest of them."""
    if not record.rates:
        return None
    slowest = min(record.rates, key=lambda rate: rate.mean)
    name = slowest.hypothesis
    trajectory = record.trajectories[name]
    rounds = floats([0, *record.rounds])
    low, mean, high = (
        floats([0.0, *part]) for part in (trajectory.lowest, trajectory.mean, trajectory.highest)
    )
    faultless = slowest.faultless * rounds
    x = linear_scale(rounds, zero=True)
    y = linear_scale(np.concatenate([low, high, faultless, [0.0]]))
    chart = Chart(x, y, height=_HEIGHT, axes=axes)
    chart.axes.axhline(0, color=COLOURS["muted"], linewidth=0.9, zorder=1)
    chart.line(rounds, faultless, "ink", "nobody faulty, averaging", width=1.2, dashes=DASHES)
    label = "mean of the honest agents"
    chart.marks(rounds, mean, "measured", label=label, size=3.2, joined=1.2, over=4)
    chart.band(rounds, low, high, "cloud")
    chart.name("line", "cloud", "slowest to fastest honest agent")
    return chart.plot(
        "Log belief ratio of the honest agents",
        f"How much more the truth is believed than “{name}”: {number(slowest.mean)} nats more "
        f"each round on average, {number(slowest.faultless)} if nobody were faulty and all "
        "averaged.",
        x="round",
        y=f"log belief ratio [{y.unit('nats')}]",
    )


def _finding(record: FaultyRecord) -> str:
    names = listed(record.analysis.faults.optimal_hypotheses, joint="or")
    faulty = len(record.analysis.faults.faulty)
    who = {0: "Nobody is faulty.", 1: "One agent is faulty."}.get(
        faulty, f"{faulty} agents are faulty."
    )
    return (
        f"{who} The others pool by {record.rule}; at the last round "
        f"{percentage(record.settled)} of them in all runs hold {names}, which is true."
    )


def _facts(record: FaultyRecord) -> tuple[Fact, ...]:
    faults = record.analysis.faults
    facts = [
        Fact("Agents", count(record.analysis.network.agents)),
        Fact("Faulty", count(len(faults.faulty)), ", ".join(faults.faulty) or "nobody"),
        Fact("Rule", record.rule),
        Fact("Honest and right", percentage(record.settled), "at the last round"),
    ]
    for rate in record.rates[:1]:
        facts += [
            Fact("Rate, nobody faulty", number(rate.faultless), "averaging, predicted"),
            Fact("Rate, averaging", number(rate.averaging), "lowest of the honest, predicted"),
            Fact("Rate, guaranteed", number(rate.guaranteed), "by the rule"),
            Fact("Rate, measured", number(rate.lowest), "lowest of the honest"),
        ]
    if faults.robustness is not None:
        check = faults.robustness
        facts.append(Fact(f"{check.r}-robust graph", check.status))
    return tuple(facts)

"""What the page says of honest agents among faulty ones."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from peerbayes.figures.canvas import COLOURS, LegendEntry, Plot, axis_label
from peerbayes.figures.graph import network_plot, not_drawn
from peerbayes.figures.panels import floats, panel
from peerbayes.figures.scales import linear_scale
from peerbayes.figures.views import Fact, ProblemView, pictures, statements
from peerbayes.figures.wording import count, listed, number, percentage
from peerbayes.kinds.faulty.documents import FaultyRecord

_HEIGHT = 3.0  # inches


def faulty_view(entry: object, *, key: str) -> ProblemView:
    """Everything the page says of one verified problem with faulty agents."""
    record = FaultyRecord.model_validate(entry)
    plots = [network_plot(record.graph), honest_plot(record)]
    return ProblemView(
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
    figure, axes = panel(x, y, height=_HEIGHT, axes=axes)
    axes.axhline(0, color=COLOURS["muted"], linewidth=0.9, zorder=1)
    axes.fill_between(rounds, low, high, color=COLOURS["cloud"], linewidth=0, zorder=2)
    axes.plot(rounds, faultless, color=COLOURS["ink"], linewidth=1.2, dashes=(4, 2.5), zorder=3)
    axes.plot(
        rounds, mean, "o-", color=COLOURS["measured"], markersize=3.2, linewidth=1.2, zorder=4,
        mew=0,
    )  # fmt: skip
    axis_label(axes, x="round", y=f"log belief ratio [{y.unit('nats')}]")
    return Plot(
        figure,
        "Log belief ratio of the honest agents",
        f"How much more the truth is believed than “{name}”: {number(slowest.mean)} nats more "
        f"each round on average, {number(slowest.faultless)} if nobody were faulty and all "
        "averaged.",
        (
            LegendEntry("dashes", "ink", "nobody faulty, averaging"),
            LegendEntry("dots", "measured", "mean of the honest agents"),
            LegendEntry("line", "cloud", "slowest to fastest honest agent"),
        ),
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

"""What the page says of honest agents among faulty ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from peerbayes.comparison import Comparison
from peerbayes.documents import GraphDocument
from peerbayes.figures.canvas import COLOURS, LegendEntry, Plot, axis_label
from peerbayes.figures.graph import network_plot
from peerbayes.figures.panels import panel
from peerbayes.figures.scales import linear_scale
from peerbayes.figures.views import Fact, ProblemView, picture, statements
from peerbayes.figures.wording import count, listed, number, percentage


def faulty_view(problem: Mapping[str, Any], *, key: str) -> ProblemView:
    """Everything the page says of one verified problem with faulty agents."""
    analysis = problem["analysis"]
    plots = [network_plot(GraphDocument.model_validate(problem["graph"])), honest_plot(problem)]
    return ProblemView(
        key=key,
        name=problem["name"],
        title=problem["title"],
        family=problem["family"],
        finding=_finding(problem),
        facts=_facts(problem),
        pictures=tuple(
            picture(plot, f"{key}-{index}") for index, plot in enumerate(plots) if plot is not None
        ),
        statements=statements([Comparison.model_validate(c) for c in problem["comparisons"]]),
        notes=tuple(analysis["notes"]),
    )


def honest_plot(problem: Mapping[str, Any]) -> Plot | None:
    """Mean log belief ratio of the honest agents, with the slowest and the fastest of them."""
    if not problem["rates"]:
        return None
    slowest = min(problem["rates"], key=lambda rate: float(rate["mean"]))
    name = slowest["hypothesis"]
    trajectory = problem["trajectories"][name]
    rounds = np.array([0.0, *problem["rounds"]])
    low, mean, high = (
        np.array([0.0, *trajectory[part]], dtype=float) for part in ("lowest", "mean", "highest")
    )
    faultless = float(slowest["faultless"]) * rounds
    x = linear_scale(rounds, zero=True)
    y = linear_scale(np.concatenate([low, high, faultless, [0.0]]))
    figure, axes = panel(x, y)
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
        f"How much more the truth is believed than “{name}”: {number(slowest['mean'])} nats more "
        f"each round on average, {number(slowest['faultless'])} if nobody were faulty and all "
        "averaged.",
        (
            LegendEntry("dashes", "ink", "nobody faulty, averaging"),
            LegendEntry("dots", "measured", "mean of the honest agents"),
            LegendEntry("line", "cloud", "slowest to fastest honest agent"),
        ),
    )


def _finding(problem: Mapping[str, Any]) -> str:
    names = listed(problem["analysis"]["faults"]["optimal_hypotheses"], joint="or")
    faulty = len(problem["analysis"]["faults"]["faulty"])
    who = {0: "Nobody is faulty.", 1: "One agent is faulty."}.get(
        faulty, f"{faulty} agents are faulty."
    )
    return (
        f"{who} The others pool by {problem['rule']}; at the last round "
        f"{percentage(problem['settled'])} of them in all runs hold {names}, which is true."
    )


def _facts(problem: Mapping[str, Any]) -> tuple[Fact, ...]:
    faults = problem["analysis"]["faults"]
    facts = [
        Fact("Agents", count(problem["analysis"]["network"]["agents"])),
        Fact("Faulty", count(len(faults["faulty"])), ", ".join(faults["faulty"]) or "nobody"),
        Fact("Rule", problem["rule"]),
        Fact("Honest and right", percentage(problem["settled"]), "at the last round"),
    ]
    for rate in problem["rates"][:1]:
        facts += [
            Fact("Rate, nobody faulty", number(rate["faultless"]), "averaging, predicted"),
            Fact("Rate, averaging", number(rate["averaging"]), "lowest of the honest, predicted"),
            Fact("Rate, guaranteed", number(rate["guaranteed"]), "by the rule"),
            Fact("Rate, measured", number(rate["lowest"]), "lowest of the honest"),
        ]
    if faults["robustness"] is not None:
        check = faults["robustness"]
        facts.append(Fact(f"{check['r']}-robust graph", check["status"]))
    return tuple(facts)

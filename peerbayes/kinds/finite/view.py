"""What the page says of each verified problem, in its order: words, numbers, pictures.

Everything here is made from a record's plain numbers; nothing is computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peerbayes.figures.curves import failures_plot, trajectory_plot
from peerbayes.figures.graph import MOST_AGENTS, network_plot
from peerbayes.figures.rows import ladder_plot, rates_plot
from peerbayes.figures.views import (
    Fact,
    ProblemView,
    against,
    picture,
    statements,
)
from peerbayes.figures.wording import agents_with, count, number
from peerbayes.kinds.learning_views import rounds_that_suffice, settles


def problem_view(problem: Mapping[str, Any], *, key: str) -> ProblemView:
    """Everything the page says of one verified problem."""
    analysis, samples = problem["analysis"], problem["analysis"]["samples"]
    failures = problem["failures"]
    plots = [network_plot(problem["graph"])]
    if problem["trajectory"] is not None:
        plots.append(trajectory_plot(problem["trajectory"]))
    if problem["rates"]:
        plots.append(rates_plot(problem["rates"], replicates=problem["replicates"]))
        plots.append(ladder_plot(samples, measured=failures["measured_rounds"], was_measured=True))
        plots.append(failures_plot(failures, delta=samples["delta"]))
    notes = list(analysis["notes"])
    if plots[0] is None:
        agents = analysis["network"]["agents"]
        notes.insert(0, f"{agents} agents are too many to draw: at most {MOST_AGENTS} are")
    return ProblemView(
        key=key,
        name=problem["name"],
        title=problem["title"],
        family=problem["family"],
        finding=settles(problem),
        facts=_facts(problem),
        pictures=tuple(
            picture(plot, f"{key}-{index}") for index, plot in enumerate(plots) if plot is not None
        ),
        statements=statements(problem["comparisons"]),
        notes=tuple(notes),
    )


def _facts(problem: Mapping[str, Any]) -> tuple[Fact, ...]:
    network, learning = problem["analysis"]["network"], problem["analysis"]["learning"]
    samples, v = problem["analysis"]["samples"], problem["graph"]["stationary_distribution"]
    deviations = [d for d in network["deviation"] if d is not None]
    largest = max(deviations) if len(deviations) == len(network["deviation"]) else None
    binding, limiting = learning["binding_hypothesis"], learning["binding_for_exponent"]
    return (
        Fact("Learning rate K", number(learning["rate"]), against("nats per round", binding)),
        Fact(
            "Error exponent E", number(learning["error_exponent"]), against("per round", limiting)
        ),
        rounds_that_suffice(samples),
        Fact("Agents", count(network["agents"])),
        Fact("v of the centre", number(v[0]), "agent 0")
        if "edge_confidence" in problem["parameters"]
        else Fact("Largest v", number(max(v)), agents_with(v, max(v))),
        Fact("Second eigenvalue", number(network["slem"]), "largest modulus below 1"),
        Fact("Largest deviation D", number(largest), "rounds"),
    )

"""What the page says of a network that changes: the same pictures, with influence in place of v."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peerbayes.comparison import Comparison
from peerbayes.documents import GraphDocument
from peerbayes.figures.curves import failures_plot, trajectory_plot
from peerbayes.figures.graph import MOST_AGENTS, network_plot
from peerbayes.figures.rows import rates_plot
from peerbayes.figures.views import Fact, ProblemView, against, picture, statements
from peerbayes.figures.wording import agents_with, count, number
from peerbayes.kinds.learning_views import rounds_that_suffice, settles
from peerbayes.learning_documents import (
    FailuresDocument,
    LearningDocument,
    RateDocument,
    SamplesDocument,
    TrajectoryDocument,
)


def changing_view(problem: Mapping[str, Any], *, key: str) -> ProblemView:
    """Everything the page says of one verified problem on a network that changes."""
    analysis = problem["analysis"]
    learning = LearningDocument.model_validate(analysis["learning"])
    plots = [network_plot(GraphDocument.model_validate(problem["graph"]))]
    if problem["trajectory"] is not None:
        plots.append(trajectory_plot(TrajectoryDocument.model_validate(problem["trajectory"])))
    if problem["rates"]:
        plots.append(
            rates_plot(
                [RateDocument.model_validate(r) for r in problem["rates"]],
                replicates=problem["replicates"],
            )
        )
    if problem["failures"] is not None:
        plots.append(
            failures_plot(
                FailuresDocument.model_validate(problem["failures"]),
                delta=analysis["samples"]["delta"],
            )
        )
    notes = list(analysis["notes"])
    if plots[0] is None:
        agents = analysis["network"]["agents"]
        notes.insert(0, f"{agents} agents are too many to draw: at most {MOST_AGENTS} are")
    return ProblemView(
        key=key,
        name=problem["name"],
        title=problem["title"],
        family=problem["family"],
        finding=f"{settles(learning, problem['settled'])} What changes: "
        f"{analysis['network']['changes']}.",
        facts=_facts(analysis),
        pictures=tuple(
            picture(plot, f"{key}-{index}") for index, plot in enumerate(plots) if plot is not None
        ),
        statements=statements([Comparison.model_validate(c) for c in problem["comparisons"]]),
        notes=tuple(notes),
    )


def _facts(analysis: Mapping[str, Any]) -> tuple[Fact, ...]:
    network, learning = analysis["network"], analysis["learning"]
    samples, influence = analysis["samples"], network["influence"]
    most, least = max(influence), min(influence)
    remark = against("per round", learning["binding_for_exponent"])
    return (
        Fact(
            "Learning rate",
            number(learning["rate"]),
            against("nats per round", learning["binding_hypothesis"]),
        ),
        Fact(
            "Error exponent E",
            number(learning["error_exponent"]),
            f"{_uncertainty(learning)}{remark}",
        ),
        rounds_that_suffice(SamplesDocument.model_validate(samples)),
        Fact("Agents", count(network["agents"])),
        Fact("Total influence", number(network["total_influence"]), "of one round's observations"),
        Fact("Largest influence", number(most), agents_with(influence, most)),
        Fact("Smallest influence", number(least), agents_with(influence, least)),
    )


def _uncertainty(learning: Mapping[str, Any]) -> str:
    """What goes between an exponent and its unit: nothing where it is exact."""
    error = learning["error_exponent_standard_error"]
    if error is None:
        return "" if learning["error_exponent"] is None else "of unknown error, "
    return f"± {number(error, 2)} " if error else ""

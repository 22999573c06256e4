"""What the page says of a regression: verified, simulated, or run as one of the experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peerbayes.comparison import Comparison
from peerbayes.documents import GraphDocument
from peerbayes.figures.errors import (
    calibration_plot,
    errors_plot,
    honesty_plot,
    measured_errors_plot,
)
from peerbayes.figures.graph import MOST_AGENTS, network_plot
from peerbayes.figures.views import (
    Fact,
    ProblemView,
    picture,
    statements,
)
from peerbayes.figures.wording import DASH, count, number
from peerbayes.kinds.regression.approach import lasts
from peerbayes.kinds.simulated_view import SimulationView


def regression_view(problem: Mapping[str, Any], *, key: str) -> ProblemView:
    """Everything the page says of one verified regression."""
    analysis, curves = problem["analysis"], problem["curves"]
    plots = [
        network_plot(GraphDocument.model_validate(problem["graph"])),
        errors_plot(curves),
        honesty_plot(curves[0], curves[0]["reported"]),
    ]
    if problem["coordinates"]:
        plots.append(calibration_plot(problem["coordinates"]))
    notes = list(analysis["notes"])
    if plots[0] is None:
        agents = analysis["network"]["agents"]
        notes.insert(0, f"{agents} agents are too many to draw: at most {MOST_AGENTS} are")
    return ProblemView(
        key=key,
        name=problem["name"],
        title=problem["title"],
        family=problem["family"],
        finding=_finding(analysis["regression"]),
        facts=_facts(analysis, replicates=problem["replicates"]),
        pictures=tuple(
            picture(plot, f"{key}-{index}") for index, plot in enumerate(plots) if plot is not None
        ),
        statements=statements([Comparison.model_validate(c) for c in problem["comparisons"]]),
        notes=tuple(notes),
    )


def _finding(found: Mapping[str, Any]) -> str:
    true, reported = found["over_n"], found["reported_error_constant"]
    if not found["identified"]:
        return (
            "No agent sees some direction: along it every belief keeps its prior, and the excess "
            f"error tends to {number(found['limit'])}."
        )
    if lasts(found["limit"], found["over_n"]):
        words = (
            f"Together the agents’ excess error stays at {number(found['limit'])}: it is "
            f"{_over_n_text(found)} after n rounds; their beliefs report {number(reported)}/n, "
            "nothing of what stays"
        )
        return words + _alone_words(found) + "."
    words = (
        f"Together the agents’ excess error falls as {number(true)}/n; their beliefs report "
        f"{number(reported)}/n"
    )
    if true < 0.95 * reported:
        words += f", {number(reported / true, 3)} times as much"
    elif true > 1.05 * reported:
        words += f", {number(true / reported, 3)} times too little"
    else:
        words += ", which is right"
    return words + _alone_words(found) + "."


def _over_n_text(found: Mapping[str, Any]) -> str:
    """Limit and coefficient of 1/n, as one term or two."""
    limit, over_n = found["limit"], found["over_n"]
    if not lasts(limit, over_n):
        return f"{number(over_n)}/n"
    return f"{number(limit)} {'−' if over_n < 0 else '+'} {number(abs(over_n))}/n"


def _alone_words(found: Mapping[str, Any]) -> str:
    """How many agents keep an error without the network, and how large it is."""
    pairs = zip(found["alone"], found["alone_over_n"], strict=True)
    lasting = [limit for limit, over_n in pairs if lasts(limit, over_n)]
    if not lasting:
        return ""
    words = f". Alone, {len(lasting)} of {len(found['alone'])} agents keep an error for ever, "
    if max(lasting) < found["limit"]:
        return words + f"up to {number(max(lasting), 3)}: less than together"
    return words + f"up to {number(max(lasting), 3)}"


def _facts(analysis: Mapping[str, Any], *, replicates: int) -> tuple[Fact, ...]:
    network, found = analysis["network"], analysis["regression"]
    return (
        Fact("Excess error", _over_n_text(found), "cooperating"),
        Fact("As reported", f"{number(found['reported_error_constant'])}/n", "by the beliefs"),
        Fact("All data in one place", _over_n(found["central_constant"])),
        Fact("Central node", _over_n(found["central_node_constant"]), "one sample a round"),
        Fact("With the best v", _over_n(found["best_constant"])),
        Fact("Agents", count(network["agents"])),
        Fact("Coefficients", count(found["dimension"])),
        Fact("Second eigenvalue", number(network["slem"]), "largest modulus below 1"),
        Fact("Runs", count(replicates), "of each learner"),
    )


def _over_n(value: float | None) -> str:
    return DASH if value is None else f"{number(value)}/n"


def regression_simulation_view(body: Mapping[str, Any], *, key: str) -> SimulationView:
    """Everything the page says of one simulated regression."""
    result, curves = body["result"], body["curves"]
    found = result["regression"]
    rows = zip(found["excess_error"]["mean"], found["excess_error"]["standard_error"], strict=True)
    return SimulationView(
        key=key,
        name=result["problem"],
        title=body["title"],
        facts=(
            Fact("Rounds", count(result["rounds"])),
            Fact("Runs", count(result["replicates"]), f"seed {result['seed']}"),
            Fact("Excess error", number(found["network_error"]["mean"]), "all agents"),
        ),
        picture=picture(measured_errors_plot(curves), f"{key}-0"),
        rates=tuple(
            (f"agent {i}", number(mean, 5), number(error, 2))
            for i, (mean, error) in enumerate(rows)
        ),
        notes=tuple(result["notes"]),
        row="agent",
        quantity="excess error",
    )

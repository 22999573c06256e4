"""What the page says of a regression: verified, or simulated."""

from __future__ import annotations

from typing import Any

from peerbayes.figures.errors import (
    calibration_plot,
    errors_plot,
    honesty_plot,
    measured_errors_plot,
)
from peerbayes.figures.views import Fact, Section, Table
from peerbayes.figures.wording import count, number
from peerbayes.kinds.regression.analyse import NUMBERS, lasts, over_n_text
from peerbayes.kinds.regression.simulate import RegressionSummary
from peerbayes.kinds.regression.verify import RegressionVerification
from peerbayes.kinds.shared.view import simulated_section, verified_section
from peerbayes.quantities.network import NETWORK
from peerbayes.quantities.showing import page_facts

_FACTS = (
    "over_n",
    "reported_error_constant",
    "central_constant",
    "central_node_constant",
    "best_constant",
    "agents",
    "dimension",
    "slem",
)


def regression_view(entry: object, *, key: str) -> Section:
    """Everything the page says of one verified regression: `entry` is that of its record."""
    record = RegressionVerification.record.read(entry)
    together, analysis = record.curves[0], record.analysis
    facts = page_facts(NUMBERS, analysis.regression) | page_facts(NETWORK, analysis.network)
    plots = [errors_plot(record.curves), honesty_plot(together, together.reported)]
    plots += [calibration_plot(record.coordinates)] if record.coordinates else []
    runs = Fact("Runs", count(record.replicates), "of each learner")
    return verified_section(
        record,
        plots,
        key=key,
        finding=_finding(analysis.regression),
        facts=[*(facts[name] for name in _FACTS), runs],
    )


def _known(value: float | None) -> float:
    """The number, NaN for null."""
    return float("nan") if value is None else value


def _finding(found: Any) -> str:
    over_n, reported = _known(found.over_n), _known(found.reported_error_constant)
    if not found.identified:
        return (
            "No agent sees some direction: along it every belief keeps its prior, and the excess "
            f"error tends to {number(found.limit)}."
        )
    if lasts(_known(found.limit), over_n):
        words = (
            f"Together the agents’ excess error stays at {number(found.limit)}: it is "
            f"{over_n_text(found.limit, found.over_n)} after n rounds; their beliefs report "
            f"{number(reported)}/n, nothing of what stays"
        )
        return words + _alone_words(found) + "."
    words = (
        f"Together the agents’ excess error falls as {number(over_n)}/n; their beliefs report "
        f"{number(reported)}/n"
    )
    if over_n < 0.95 * reported:
        words += f", {number(reported / over_n, 3)} times as much"
    elif over_n > 1.05 * reported:
        words += f", {number(over_n / reported, 3)} times too little"
    elif over_n >= 0.95 * reported:
        words += ", which is right"
    return words + _alone_words(found) + "."


def _alone_words(found: Any) -> str:
    """How many agents keep an error without the network, and how large it is."""
    pairs = zip(found.alone, found.alone_over_n, strict=True)
    lasting = [_known(limit) for limit, over_n in pairs if lasts(_known(limit), _known(over_n))]
    if not lasting:
        return ""
    words = f". Alone, {len(lasting)} of {len(found.alone)} agents keep an error for ever, "
    if max(lasting) < _known(found.limit):
        return words + f"up to {number(max(lasting), 3)}: less than together"
    return words + f"up to {number(max(lasting), 3)}"


def regression_simulation_view(body: object, *, key: str) -> Section:
    """Everything the page says of one simulated regression: `body` is that of its record."""
    record = RegressionSummary.record.read(body)
    result, found = record.result, record.result.regression
    pairs = zip(found.excess_error.mean, found.excess_error.standard_error, strict=True)
    rows = tuple(
        (f"agent {i}", (number(mean, 5), number(error, 2))) for i, (mean, error) in enumerate(pairs)
    )
    rounds, runs = count(result.rounds), count(result.replicates)
    mean = number(found.network_error.mean)
    columns, label = ("excess error", "± s.e."), f"Measured: excess error, {result.problem}"
    return simulated_section(
        record,
        measured_errors_plot(record.curves),
        Table.of(label, "agent", columns, rows),
        key=key,
        finding=f"At round {rounds} the excess error is {mean} on average over agents, measured in "
        f"{runs} run{'s' * (result.replicates != 1)}.",
        facts=(Fact("Excess error", mean, "all agents"),),
    )

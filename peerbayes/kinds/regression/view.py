"""What the page says of a regression: verified, or simulated."""

from __future__ import annotations

from peerbayes.figures.chart import Plot
from peerbayes.figures.curves import (
    calibration_plot,
    errors_plot,
    honesty_plot,
    measured_errors_plot,
)
from peerbayes.figures.graph import network_plot, not_drawn
from peerbayes.figures.views import Fact, Section, Table, pictures, statements
from peerbayes.figures.wording import DASH, count, number
from peerbayes.kinds.regression.approach import lasts
from peerbayes.kinds.regression.documents import (
    RegressionNumbers,
    RegressionRecord,
    RegressionRunRecord,
)


def regression_view(entry: object, *, key: str) -> Section:
    """Everything the page says of one verified regression: `entry` is that of its record."""
    record = RegressionRecord.model_validate(entry)
    together, found = record.curves[0], record.analysis.regression
    plots: list[Plot | None] = [
        errors_plot(record.curves),
        honesty_plot(together, together.reported),
    ]
    if record.coordinates:
        plots.append(calibration_plot(record.coordinates))
    plots.append(network_plot(record.graph))
    agents = record.analysis.network.agents
    return Section(
        key=key,
        name=record.name,
        title=record.title,
        family=record.family,
        finding=_finding(found),
        facts=(
            Fact("Excess error", _over_n_text(found), "cooperating"),
            Fact("As reported", f"{number(found.reported_error_constant)}/n", "by the beliefs"),
            Fact("All data in one place", _over_n(found.central_constant)),
            Fact("Central node", _over_n(found.central_node_constant), "one sample a round"),
            Fact("With the best v", _over_n(found.best_constant)),
            Fact("Agents", count(agents)),
            Fact("Coefficients", count(found.dimension)),
            Fact(
                "Second eigenvalue",
                number(record.analysis.network.slem),
                "largest modulus below 1",
            ),
            Fact("Runs", count(record.replicates), "of each learner"),
        ),
        pictures=pictures(plots, key),
        statements=statements(record.comparisons),
        notes=(*not_drawn(record.graph), *record.analysis.notes),
    )


def _known(value: float | None) -> float:
    """The number, NaN for null."""
    return float("nan") if value is None else value


def _finding(found: RegressionNumbers) -> str:
    over_n, reported = _known(found.over_n), _known(found.reported_error_constant)
    if not found.identified:
        return (
            "No agent sees some direction: along it every belief keeps its prior, and the excess "
            f"error tends to {number(found.limit)}."
        )
    if lasts(_known(found.limit), over_n):
        words = (
            f"Together the agents’ excess error stays at {number(found.limit)}: it is "
            f"{_over_n_text(found)} after n rounds; their beliefs report {number(reported)}/n, "
            "nothing of what stays"
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


def _over_n_text(found: RegressionNumbers) -> str:
    """Limit and coefficient of 1/n, as one term or two."""
    limit, over_n = _known(found.limit), _known(found.over_n)
    if not lasts(limit, over_n):
        return f"{number(over_n)}/n"
    return f"{number(limit)} {'−' if over_n < 0 else '+'} {number(abs(over_n))}/n"


def _alone_words(found: RegressionNumbers) -> str:
    """How many agents keep an error without the network, and how large it is."""
    pairs = zip(found.alone, found.alone_over_n, strict=True)
    lasting = [_known(limit) for limit, over_n in pairs if lasts(_known(limit), _known(over_n))]
    if not lasting:
        return ""
    words = f". Alone, {len(lasting)} of {len(found.alone)} agents keep an error for ever, "
    if max(lasting) < _known(found.limit):
        return words + f"up to {number(max(lasting), 3)}: less than together"
    return words + f"up to {number(max(lasting), 3)}"


def _over_n(value: float | None) -> str:
    return DASH if value is None else f"{number(value)}/n"


def regression_simulation_view(body: object, *, key: str) -> Section:
    """Everything the page says of one simulated regression: `body` is that of its record."""
    record = RegressionRunRecord.model_validate(body)
    result, found = record.result, record.result.regression
    pairs = zip(found.excess_error.mean, found.excess_error.standard_error, strict=True)
    rows = tuple(
        (f"agent {i}", (number(mean, 5), number(error, 2))) for i, (mean, error) in enumerate(pairs)
    )
    rounds, runs = count(result.rounds), count(result.replicates)
    mean = number(found.network_error.mean)
    return Section(
        key=key,
        name=result.problem,
        heading=f"{result.problem}, simulated",
        title=record.title,
        finding=f"At round {rounds} the excess error is {mean} on average over agents, measured in "
        f"{runs} run{'s' * (result.replicates != 1)}.",
        facts=(
            Fact("Rounds", rounds),
            Fact("Runs", runs, f"seed {result.seed}"),
            Fact("Excess error", mean, "all agents"),
        ),
        pictures=pictures([measured_errors_plot(record.curves)], key),
        tables=(
            Table.of(
                f"Measured: excess error, {result.problem}",
                "agent",
                ("excess error", "± s.e."),
                rows,
            ),
        ),
        notes=tuple(result.notes),
    )

"""Predicted lines and measured points: over the rounds, or over the centre's weight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from peerbayes.figures.chart import (
    COLOURS,
    DASHES,
    MOST_SERIES,
    Chart,
    Mark,
    Plot,
    floats,
    linear_scale,
    log_scale,
    series_style,
)
from peerbayes.figures.wording import number
from peerbayes.measured import (
    CoordinateCurve,
    ErrorCurve,
    FailuresDocument,
    Measured,
    MeasuredDocument,
    MeasuredErrors,
    Predicted,
    SweepDocument,
    TrajectoryDocument,
)

_HEIGHT = 3.0  # inches


def trajectory_plot(trajectory: TrajectoryDocument, *, axes: Axes | None = None) -> Plot:
    """The predicted line through the measured cloud of log belief ratios."""
    rounds, expected = floats(trajectory.rounds), floats(trajectory.expected)
    mean, error = floats(trajectory.mean), floats(trajectory.standard_error)
    rate, last = trajectory.rate, rounds[-1]
    paths = [floats(path) for path in trajectory.paths]
    x = linear_scale([0.0, *rounds], zero=True)
    y = linear_scale(np.concatenate([[0.0, rate * last], mean, expected, *paths]))
    chart = Chart(x, y, height=_HEIGHT, axes=axes)
    if paths:
        # One line with gaps is one element of the page, however many paths.
        cloud = np.concatenate([np.append(path, np.nan) for path in paths])
        along = np.tile(np.append(rounds, np.nan), len(paths))
        chart.line(along, cloud, "cloud", width=0.7, over=2)
    limit = [0, rate * last]
    chart.line([0, last], limit, "ink", "K · n, the limit", width=1.2, dashes=DASHES, over=3.5)
    chart.line(rounds, expected, "predicted", "exact mean, predicted", width=2)
    chart.marks(rounds, mean, "measured", label="measured mean ± 2 s.e.", size=3.2, error=2 * error)
    chart.name("line", "cloud", "single runs of single agents")
    return chart.plot(
        "Log belief ratio, slowest hypothesis",
        f"How much more “{trajectory.reference}” is believed than “{trajectory.hypothesis}”: "
        f"theory says {number(rate)} nats more each round; after {last:.0f} rounds the mean "
        f"is {number(mean[-1])} nats, expected {number(expected[-1])}.",
        x="round",
        y=f"log belief ratio [{y.unit('nats')}]",
    )


def failures_plot(failures: FailuresDocument, *, delta: float) -> Plot:
    """How often some agent is wrong, round by round, below its rigorous bound if there is one."""
    rounds, frequency = floats(failures.rounds), floats(failures.frequency)
    replicates, settled = failures.replicates, failures.measured_rounds
    floor = 0.5 / replicates
    seen = frequency > 0
    y = log_scale([floor, 1.0, delta], room=0.06)
    chart = Chart(log_scale(rounds), y, height=_HEIGHT)
    spread = 2 * np.sqrt(frequency * (1 - frequency) / replicates)
    low = np.minimum(spread, frequency - floor)[seen]
    chart.marks(
        rounds[seen], frequency[seen], "measured", label="measured ± 2 s.e.", size=3.4,
        error=np.maximum([low, spread[seen]], 0.0),
    )  # fmt: skip
    if not seen.all():
        chart.axes.plot(
            rounds[~seen], np.full((~seen).sum(), floor), "v", markersize=4, zorder=5,
            markerfacecolor=COLOURS["paper"], markeredgecolor=COLOURS["measured"],
        )  # fmt: skip
        chart.name("v", "measured", f"none in {replicates} runs")
    if failures.bound is not None:
        bound = floats(failures.bound)
        shown = np.where(bound < y.lower, np.nan, bound)
        chart.line(rounds, shown, "bound", "smallest proved bound", width=1.8)
    chart.level(delta, f"δ = {number(delta)}")
    finding = (
        f"At most {number(delta)} of the runs fail from round {settled} on."
        if settled is not None
        else f"More than {number(delta)} of the runs still fail at the last round."
    )
    return chart.plot("Runs in which some agent is wrong", finding, x="round", y="share of runs")


def sweep_plot(sweep: SweepDocument) -> Plot:
    """Rates against the centre's weight v_1: one line of predictions a hypothesis."""
    series = [entry for entry in sweep.rates if entry.points]
    rates = [r for entry in series for point in entry.points for r in (point.limit, point.measured)]
    is_wide = bool(rates) and min(rates) > 0 and max(rates) > 10 * min(rates)
    y = log_scale(rates) if is_wide else linear_scale(rates, zero=True)
    chart = Chart(linear_scale(sweep.centre_weight, room=0.06), y, height=3.6)
    settled = dict(zip(sweep.edge_confidence, sweep.settled, strict=True))
    for index, entry in enumerate(series):
        colour, mark = series_style(index)
        v, limit, measured, error = floats(
            [(p.centre_weight, p.limit, p.measured, p.standard_error) for p in entry.points]
        ).T
        # Rates against different hypotheses lie on different lines.
        against = [settled[point.edge_confidence] for point in entry.points]
        breaks = [i for i in range(1, len(v)) if against[i] != against[i - 1]]
        along, joined = (np.insert(values, breaks, np.nan) for values in (v, limit))
        chart.line(along, joined, colour, width=1.3)
        chart.marks(v, measured, colour, mark, entry.hypothesis, size=5, error=2 * error)
    changes = len({tuple(names) for names in sweep.settled}) > 1
    return chart.plot(
        "Rates of rejection against the centre’s weight",
        "Lines join the predicted rates, points are measured, bars ± 2 s.e."
        + " Lines break where the network settles on another hypothesis." * changes,
        x="weight v₁ of the centre",
        y=f"rate [{y.unit('nats per round')}]",
    )


def measured_plot(
    trajectory: MeasuredDocument, *, reference: str, axes: Axes | None = None
) -> Plot:
    """Measured log belief ratios of every hypothesis, averaged over agents."""
    rounds, names = floats(trajectory.rounds), trajectory.hypotheses
    means = floats(trajectory.network_mean)
    errors = floats(trajectory.network_standard_error)
    shown = [m for m, name in enumerate(names) if name != reference]
    shown = sorted(shown, key=lambda m: float(means[-1, m]))[:MOST_SERIES]
    y = linear_scale([0.0, *means[:, shown].ravel()])
    chart = Chart(linear_scale([0.0, *rounds], zero=True), y, height=3.6, axes=axes)
    for index, m in enumerate(shown):
        error = 2 * errors[:, m]
        chart.marks(rounds, means[:, m], *series_style(index), names[m], error=error, joined=0.8)
    hidden = len(names) - 1 - len(shown)
    return chart.plot(
        "Measured log belief ratios",
        f"How much more “{reference}” is believed than each other hypothesis, averaged over "
        f"agents; bars ± 2 s.e.{f' The {hidden} fastest are not drawn.' * (hidden > 0)}",
        x="round",
        y=f"log belief ratio [{y.unit('nats')}]",
    )


# Errors of regressions over the rounds, log-log --------------------------------------------------


def errors_plot(curves: Sequence[ErrorCurve], *, unit: str = "", axes: Axes | None = None) -> Plot:
    """Excess errors of several learners: points measured, lines predicted.

    Dashes are limit + constant/n, where that is above zero.
    """
    shown = list(curves[:MOST_SERIES])
    chart = _log_chart(shown, axes)
    for index, curve in enumerate(shown):
        colour, mark = series_style(index)
        if curve.constant:
            along = floats(curve.rounds)
            sum_of_two = (curve.limit or 0.0) + curve.constant / along
            positive = np.where(sum_of_two > 0, sum_of_two, np.nan)
            chart.line(along, positive, colour, width=1, dashes=DASHES, over=2.5)
        _points(chart, curve, colour, mark, curve.name)
    chart.name("dashes", "ink", "limit + constant/n")
    hidden = len(curves) - len(shown)
    last = ", ".join(f"{curve.name} {number(curve.measured[-1], 3)}" for curve in shown[:5])
    return chart.plot(
        "Excess error over the rounds",
        f"At the last round: {last}. Lines are predicted, points measured, bars ± 2 s.e."
        f"{f' {hidden} curves are not drawn.' * (hidden > 0)}",
        x="round n",
        y=f"excess error{f' [{unit}]' if unit else ''}",
    )


def measured_errors_plot(errors: MeasuredErrors, *, axes: Axes | None = None) -> Plot:
    """Measured excess error and reported error, averaged over agents; no prediction."""
    true = Measured(
        rounds=errors.rounds,
        measured=errors.network_error,
        standard_error=errors.network_standard_error,
    )
    reported = Measured(
        rounds=errors.rounds,
        measured=[float(floats(row).mean()) for row in errors.reported_error],
        standard_error=[float(floats(row).mean()) for row in errors.reported_standard_error],
    )
    return _true_and_reported(true, reported, axes).plot(
        "Measured excess error",
        "Averaged over agents, beside what their beliefs report; bars ± 2 s.e.",
        x="round n",
        y="excess error",
    )


def honesty_plot(true: Predicted, reported: Predicted) -> Plot:
    """The error that beliefs report beside the one they make."""
    ratio = float(floats(true.measured)[-1] / floats(reported.measured)[-1])
    words = (
        "the network knows more than it says"
        if ratio < 0.95
        else ("the network says more than it knows" if ratio > 1.05 else "its word is good")
    )
    return _true_and_reported(true, reported, how=", measured; line predicted").plot(
        "Reported error and true error",
        f"At round {true.rounds[-1]} the true error is {number(ratio, 3)} times the reported one: "
        f"{words}.",
        x="round n",
        y="excess error",
    )


def _true_and_reported(
    true: Measured, reported: Measured, axes: Axes | None = None, *, how: str = ""
) -> Chart:
    chart = _log_chart([true, reported], axes)
    _points(chart, true, "measured", "o", f"true{how}")
    _points(chart, reported, "bound", "s", f"reported{how}")
    return chart


def calibration_plot(coordinates: Sequence[CoordinateCurve]) -> Plot:
    """True over reported variance of each coordinate, against its limit; 1 is honest."""
    shown = list(coordinates[:MOST_SERIES])
    rounds = floats(shown[0].rounds)
    values = np.concatenate([floats(curve.measured) for curve in shown])
    limits = [curve.limit for curve in shown if curve.limit is not None]
    y = linear_scale([0.0, 1.0, *values, *limits], zero=True)
    chart = Chart(log_scale(rounds), y)
    for index, curve in enumerate(shown):
        colour, mark = series_style(index)
        if curve.limit is not None:
            chart.line(rounds[[0, -1]], [curve.limit] * 2, colour, width=1.2, over=2.5)
        _points(chart, curve, colour, mark, curve.name)
    chart.level(1.0, "honest")
    return chart.plot(
        "Calibration of each coefficient",
        "True variance of the estimates over the variance that the beliefs report; lines are the "
        "predicted limits, bars ± 2 s.e. At 1 (dashes) beliefs are honest, below it too careful.",
        x="round n",
        y="true / reported variance",
    )


def _log_chart(curves: Sequence[Measured], axes: Axes | None = None) -> Chart:
    """A chart with room for what was measured and for what was predicted."""
    rounds = np.concatenate([floats(curve.rounds) for curve in curves])
    values = [floats(curve.measured) for curve in curves]
    values += [floats(curve.predicted) for curve in curves if isinstance(curve, Predicted)]
    return Chart(log_scale(rounds), log_scale(np.concatenate(values)), axes=axes)


def _points(chart: Chart, curve: Measured, colour: str, mark: Mark, label: str) -> None:
    """What was measured, with its errors, on the line that was predicted if one was."""
    along, measured = floats(curve.rounds), floats(curve.measured)
    if isinstance(curve, Predicted):
        chart.line(along, floats(curve.predicted), colour, width=1.6)
    reach = 2 * floats(curve.standard_error)
    error = np.array([np.minimum(reach, 0.999 * np.abs(measured)), reach])
    chart.marks(along, measured, colour, mark, label, size=3.8, error=error)

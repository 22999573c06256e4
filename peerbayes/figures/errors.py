"""Errors of regressions over the rounds: predicted lines through measured points, log-log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from peerbayes.figures.canvas import Mark, Plot
from peerbayes.figures.chart import (
    DASHES,
    MOST_SERIES,
    Chart,
    floats,
    linear_scale,
    log_scale,
    series_style,
)
from peerbayes.figures.wording import number
from peerbayes.measured import CoordinateCurve, ErrorCurve, Measured, MeasuredErrors, Predicted


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
    chart = _log_chart([true, reported], axes)
    _points(chart, true, "measured", "o", "true")
    _points(chart, reported, "bound", "s", "reported")
    return chart.plot(
        "Measured excess error",
        "Averaged over agents, beside what their beliefs report; bars ± 2 s.e.",
        x="round n",
        y="excess error",
    )


def honesty_plot(true: Predicted, reported: Predicted) -> Plot:
    """The error that beliefs report beside the one they make."""
    chart = _log_chart([true, reported])
    _points(chart, true, "measured", "o", "true, measured; line predicted")
    _points(chart, reported, "bound", "s", "reported, measured; line predicted")
    ratio = float(floats(true.measured)[-1] / floats(reported.measured)[-1])
    words = (
        "the network knows more than it says"
        if ratio < 0.95
        else ("the network says more than it knows" if ratio > 1.05 else "its word is good")
    )
    return chart.plot(
        "Reported error and true error",
        f"At round {true.rounds[-1]} the true error is {number(ratio, 3)} times the reported one: "
        f"{words}.",
        x="round n",
        y="excess error",
    )


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

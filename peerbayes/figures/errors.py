"""Errors of regressions over the rounds: predicted lines through measured points, log-log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerbayes.error_curves import CoordinateCurve, ErrorCurve, Measured, MeasuredErrors, Predicted
from peerbayes.figures.canvas import COLOURS, LegendEntry, Plot, axis_label
from peerbayes.figures.panels import MOST_SERIES, error_bars, floats, panel, series_style
from peerbayes.figures.scales import linear_scale, log_scale
from peerbayes.figures.wording import number


def errors_plot(curves: Sequence[ErrorCurve], *, unit: str = "", axes: Axes | None = None) -> Plot:
    """Excess errors of several learners: points measured, lines predicted.

    Dashes are limit + constant/n, where that is above zero.
    """
    shown = list(curves[:MOST_SERIES])
    figure, axes = _log_panel(shown, axes)
    legend = []
    for index, curve in enumerate(shown):
        colour, mark = series_style(index)
        along = floats(curve.rounds)
        if curve.constant:
            dashes = (curve.limit or 0.0) + curve.constant / along
            axes.plot(
                along, np.where(dashes > 0, dashes, np.nan),
                color=COLOURS[colour], linewidth=1, dashes=(4, 2.5), zorder=2.5,
            )  # fmt: skip
        _line(axes, curve, colour)
        _points(axes, curve, colour, mark)
        legend.append(LegendEntry(mark, colour, curve.name))
    legend.append(LegendEntry("dashes", "ink", "limit + constant/n"))
    axis_label(axes, x="round n", y=f"excess error{f' [{unit}]' if unit else ''}")
    hidden = len(curves) - len(shown)
    return Plot(
        figure,
        "Excess error over the rounds",
        f"{_last(shown)} Lines are predicted, points measured, bars ± 2 s.e."
        f"{f' {hidden} curves are not drawn.' * (hidden > 0)}",
        tuple(legend),
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
    figure, axes = _log_panel([true, reported], axes)
    _points(axes, true, "measured", "o")
    _points(axes, reported, "bound", "s")
    axis_label(axes, x="round n", y="excess error")
    return Plot(
        figure,
        "Measured excess error",
        "Averaged over agents, beside what their beliefs report; bars ± 2 s.e.",
        (
            LegendEntry("o", "measured", "true"),
            LegendEntry("s", "bound", "reported"),
        ),
    )


def honesty_plot(true: Predicted, reported: Predicted) -> Plot:
    """The error that beliefs report beside the one they make."""
    figure, axes = _log_panel([true, reported])
    for curve, colour, mark in ((true, "measured", "o"), (reported, "bound", "s")):
        _line(axes, curve, colour)
        _points(axes, curve, colour, mark)
    axis_label(axes, x="round n", y="excess error")
    ratio = float(floats(true.measured)[-1] / floats(reported.measured)[-1])
    words = (
        "the network knows more than it says"
        if ratio < 0.95
        else ("the network says more than it knows" if ratio > 1.05 else "its word is good")
    )
    return Plot(
        figure,
        "Reported error and true error",
        f"At round {true.rounds[-1]} the true error is {number(ratio, 3)} times the reported one: "
        f"{words}.",
        (
            LegendEntry("o", "measured", "true, measured; line predicted"),
            LegendEntry("s", "bound", "reported, measured; line predicted"),
        ),
    )


def calibration_plot(coordinates: Sequence[CoordinateCurve]) -> Plot:
    """True over reported variance of each coordinate, against its limit; 1 is honest."""
    shown = list(coordinates[:MOST_SERIES])
    rounds = floats(shown[0].rounds)
    values = np.concatenate([floats(curve.measured) for curve in shown])
    limits = [curve.limit for curve in shown if curve.limit is not None]
    y = linear_scale([0.0, 1.0, *values, *limits], zero=True)
    figure, axes = panel(log_scale(rounds), y)
    axes.axhline(1.0, color=COLOURS["ink"], linewidth=1, dashes=(4, 2.5), zorder=2)
    legend = []
    for index, curve in enumerate(shown):
        colour, mark = series_style(index)
        if curve.limit is not None:
            axes.plot(
                [rounds[0], rounds[-1]], [curve.limit] * 2,
                color=COLOURS[colour], linewidth=1.2, zorder=2.5,
            )  # fmt: skip
        _points(axes, curve, colour, mark)
        legend.append(LegendEntry(mark, colour, curve.name))
    axis_label(axes, x="round n", y="true / reported variance")
    return Plot(
        figure,
        "Calibration of each coefficient",
        "True variance of the estimates over the variance that the beliefs report; lines are the "
        "predicted limits, bars ± 2 s.e. At 1 (dashes) beliefs are honest, below it too careful.",
        (*legend, LegendEntry("dashes", "ink", "honest")),
    )


def _log_panel(curves: Sequence[Measured], axes: Axes | None = None) -> tuple[Figure, Axes]:
    """Axes that have room for what was measured and for what was predicted."""
    rounds = np.concatenate([floats(curve.rounds) for curve in curves])
    values = [floats(curve.measured) for curve in curves]
    values += [floats(curve.predicted) for curve in curves if isinstance(curve, Predicted)]
    return panel(log_scale(rounds), log_scale(np.concatenate(values)), axes=axes)


def _line(axes: Axes, curve: Predicted, colour: str) -> None:
    along, predicted = floats(curve.rounds), floats(curve.predicted)
    axes.plot(along, predicted, color=COLOURS[colour], linewidth=1.6, zorder=3)


def _points(axes: Axes, curve: Measured, colour: str, mark: str) -> None:
    along, measured = floats(curve.rounds), floats(curve.measured)
    error = floats(curve.standard_error)
    low = np.minimum(2 * error, 0.999 * np.abs(measured))
    error_bars(axes, along, measured, np.array([low, 2 * error]), colour)
    axes.plot(
        along, measured, mark, color=COLOURS[colour], markersize=3.8, zorder=5,
        markeredgecolor=COLOURS["paper"], markeredgewidth=0.4,
    )  # fmt: skip


def _last(curves: Sequence[ErrorCurve]) -> str:
    """Each learner's error at its last round, in words."""
    parts = [f"{curve.name} {number(curve.measured[-1], 3)}" for curve in curves[:5]]
    return f"At the last round: {', '.join(parts)}."

"""Predicted lines and measured points over rounds or a weight; rates and sizes, a row each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from peerbayes.comparison import STANDARD_ERRORS, rounding
from peerbayes.figures.chart import (
    COLOURS,
    DASHES,
    MOST_SERIES,
    SMALL,
    WIDTH,
    Chart,
    LegendEntry,
    Mark,
    Plot,
    Scale,
    add_axes,
    axis_label,
    figure_of,
    floats,
    framed,
    linear_scale,
    log_scale,
    new_figure,
    on_axes,
    series_style,
)
from peerbayes.figures.wording import count, number
from peerbayes.measured import (
    CoordinateCurve,
    ErrorCurve,
    FailuresDocument,
    Measured,
    MeasuredDocument,
    MeasuredErrors,
    Predicted,
    RateDocument,
    SweepDocument,
    TrajectoryDocument,
)
from peerbayes.messages import shorten
from theory.validation import fail

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
    finding = f"More than {number(delta)} of the runs still fail at the last round."
    if settled is not None:
        finding = f"At most {number(delta)} of the runs fail from round {settled} on."
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
    words = "its word is good"
    if not 0.95 <= ratio <= 1.05:
        more, less = ("knows", "says") if ratio < 1 else ("says", "knows")
        words = f"the network {more} more than it {less}"
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


# One row a quantity, its name above its marks ----------------------------------------------------

MOST_ROWS = 20
_ROW = 0.44  # inches; the name's line and the marks' line
_BOTTOM, _TOP, _EDGE = 0.5, 0.1, 0.2
# What a true statement's deviation exceeds once in 1e5 (peerbayes.comparison).
_LIMIT = STANDARD_ERRORS


def rates_plot(rates: Sequence[RateDocument], *, replicates: int, axes: Axes | None = None) -> Plot:
    """Rates predicted and measured, slowest first, and how many standard errors lie between.

    On axes that are given, the standard errors are said in words alone.
    """
    shown = list(rates[:MOST_ROWS])
    values = [v for row in shown for v in (row.limit, row.predicted, row.measured)]
    is_wide = min(values) > 0 and max(values) > 10 * min(values)
    scores = [_score(row) for row in shown]
    flat = linear_scale([*values, 0.0], most=4, zero=True, room=0.1)
    x = log_scale(values, most=4) if is_wide else flat
    main = _row_axes(len(shown), x, axes, right=1.7)
    if axes is None:
        aside = {"left": WIDTH - 1.45, "right": _EDGE, "bottom": _BOTTOM, "top": _TOP}
        _deviations(add_axes(figure_of(main), **aside), scores)
    for index, row in enumerate(shown):
        _name(main, index, row.hypothesis, 30)
        _mark_rate(main, row, index + 0.68, x)
    axis_label(main, x=f"rate [{x.unit('nats per round')}]")
    largest = max(scores, key=abs)
    more = f" The {len(rates) - len(shown)} faster ones are in the table." * (
        len(rates) > len(shown)
    )
    return Plot(
        figure_of(main),
        "Rates of rejection",
        f"Predicted and measured over {count(replicates)} runs; the largest deviation is "
        f"{number(abs(largest), 2)} standard errors (shaded: ± 2; dashed: the ± {_LIMIT} allowed)."
        f"{more}",
        (
            LegendEntry("D", "predicted", "predicted at this round"),
            LegendEntry("|", "ink", "limit as rounds grow"),
            LegendEntry("dots", "measured", "measured ± 2 s.e."),
        ),
    )


def draw_rates(rates: Sequence[RateDocument], ax: Axes | None, *, replicates: int) -> Axes:
    """The rates on axes of one's own, or on new ones, which are returned.

    Raises
    ------
    ValueError
        If there are none.
    """
    if not rates:
        raise fail("plot", "a rate", "no hypothesis to reject", "plot the problem")
    return on_axes(lambda axes: rates_plot(rates, replicates=replicates, axes=axes), ax)


def _deviations(axes: Axes, scores: Sequence[float]) -> None:
    """How many standard errors lie between prediction and measurement, a row each."""
    reach = min(max(6.0, *(abs(score) for score in scores)), 1e3)
    linear_scale([-reach, reach], most=4).apply(axes, "x")
    _rows(axes, len(scores))
    axes.axvspan(-2, 2, color=COLOURS["grid"], linewidth=0, zorder=0)
    for limit in (-_LIMIT, _LIMIT):
        axes.axvline(limit, color=COLOURS["muted"], linewidth=0.9, dashes=(3, 2))
    axes.axvline(0, color=COLOURS["muted"], linewidth=0.9)
    for index, score in enumerate(scores):
        axes.plot(
            min(max(score, -reach), reach), index + 0.68, "o", markersize=4.2, mew=0, zorder=5,
            color=COLOURS["bad" if abs(score) > _LIMIT else "measured"],
        )  # fmt: skip
    axis_label(axes, x="deviation [s.e.]")


def ladder_plot(
    samples: Any,
    *,
    measured: int | None,
    was_measured: bool,
    certified: bool = False,
    axes: Axes | None = None,
) -> Plot:
    """How many rounds each statement asks for, on a logarithmic axis.

    Parameters
    ----------
    samples
        The sizes; None where one does not exist.
    measured
        The round from which on at most a share δ of the runs failed.
    was_measured
        Whether there was a run at all.
    certified
        Whether to show both ends of the certified number.
    axes
        Where to draw; left out: on a figure of its own.
    """
    rungs: list[tuple[str, int | None, str]] = [
        ("Chernoff, proved", samples.chernoff, "bound"),
        ("repaired (Hoeffding), proved", samples.repaired, "bound"),
        ("as printed, not a theorem", samples.printed, "muted"),
    ]
    if samples.printed_p2 is not None:
        rungs.append(("as printed in P2, not a theorem", samples.printed_p2, "muted"))
    if was_measured:
        rungs.insert(0, ("measured", measured, "measured"))
    ends = samples.certified if certified else None
    values = [float(rounds) for _, rounds, _ in rungs if rounds is not None] + [*(ends or ())]
    x = log_scale([max(1.0, value) for value in [*values, *([1.0, 10.0] if not values else [])]])
    rows = len(rungs) + (ends is not None)
    axes = _row_axes(rows, x, axes, right=_EDGE + 0.06, top=_TOP + 0.02)
    if ends is not None:
        _mark_ends(axes, len(rungs), ends)
    for index, (name, rounds, colour) in enumerate(rungs):
        y = index + 0.68
        if rounds is None:
            _name(axes, index, f"{name}: none", 60)
            continue
        _name(axes, index, f"{name}: {count(rounds)} rounds", 50)
        at = max(1.0, float(rounds))
        axes.plot([x.lower, at], [y, y], color=COLOURS[colour], linewidth=2.4, alpha=0.45)
        is_proved = colour != "muted"
        axes.plot(
            at, y, "o", markersize=7, zorder=5,
            markeredgecolor=COLOURS[colour], markeredgewidth=1.6,
            markerfacecolor=COLOURS[colour if is_proved else "paper"],
        )  # fmt: skip
    axis_label(axes, x="rounds")
    delta = number(samples.delta)
    return Plot(
        figure_of(axes),
        f"Rounds until at most {delta} of the runs fail",
        _ladder_finding(samples, measured, was_measured=was_measured),
    )


def draw_ladder(samples: Any, ax: Axes | None) -> Axes:
    """Predicted sample sizes on axes of one's own, or on new ones, which are returned."""
    return on_axes(
        lambda axes: ladder_plot(
            samples, measured=None, was_measured=False, certified=True, axes=axes
        ),
        ax,
    )


def _mark_ends(axes: Axes, index: int, ends: Sequence[int]) -> None:
    """Both ends of the certified number, and a line between them."""
    lower, upper = (max(1.0, float(end)) for end in ends)
    y = index + 0.68
    words = f"{count(lower)} to {count(upper)} rounds"
    _name(axes, index, f"certified, both ends: {words}", 60)
    axes.plot([lower, upper], [y, y], "|-", color=COLOURS["bound"], linewidth=2.4, markersize=11)


def _ladder_finding(samples: Any, measured: int | None, *, was_measured: bool) -> str:
    chernoff = samples.chernoff
    if chernoff is None:
        return "No proved sample size: the Chernoff bound does not exist here."
    if measured:
        ratio = float(chernoff) / measured
        return f"Chernoff’s bound asks for {number(ratio, 2)} times the rounds that were needed."
    if was_measured:
        return f"Chernoff’s bound asks for {count(chernoff)} rounds; the run was too short to tell."
    return f"Chernoff’s bound asks for {count(chernoff)} rounds."


def _mark_rate(axes: Axes, row: RateDocument, y: float, x: Scale) -> None:
    """Limit, prediction and measurement of one rate; its bar ends where the axis does."""
    error = row.standard_error or 0.0
    axes.plot(row.limit, y, "|", color=COLOURS["ink"], markersize=15, mew=1.4, zorder=3)
    axes.plot(
        row.predicted, y, "D", markersize=6.5, zorder=4,
        markerfacecolor=COLOURS["paper"], markeredgecolor=COLOURS["predicted"],
    )  # fmt: skip
    low = min(2 * error, row.measured - x.lower)
    axes.errorbar(
        row.measured, y, xerr=[[max(low, 0.0)], [2 * error]], fmt="o", markersize=3.2,
        color=COLOURS["measured"], elinewidth=1.4, mew=0, zorder=5,
    )  # fmt: skip


def _score(row: RateDocument) -> float:
    """Measured minus predicted in standard errors; 0 where both are the same constant."""
    difference, error = row.measured - row.predicted, row.standard_error
    if abs(difference) <= rounding(row.predicted):
        return 0.0
    return difference / error if error else math.copysign(1e3, difference)


def _row_axes(rows: int, x: Scale, axes: Axes | None, *, right: float, top: float = _TOP) -> Axes:
    """Axes with room for rows: those given, or ones of a figure of their own."""
    if axes is None:
        figure = new_figure(_BOTTOM + top + _ROW * rows)
        axes = add_axes(figure, left=_EDGE, right=right, bottom=_BOTTOM, top=top)
    x.apply(framed(axes), "x")
    _rows(axes, rows)
    return axes


def _rows(axes: Axes, rows: int) -> None:
    """Rows from top to bottom, without an axis of their own."""
    axes.set_ylim(rows, 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(False, axis="y")


def _name(axes: Axes, index: int, name: str, length: int) -> None:
    axes.annotate(
        shorten(str(name), length=length), (0, index + 0.38), xycoords=("axes fraction", "data"),
        color=COLOURS["ink"], fontsize=SMALL, va="baseline", ha="left",
        annotation_clip=False, zorder=2.5,
        bbox={"facecolor": COLOURS["paper"], "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip

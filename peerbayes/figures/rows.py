"""One row a quantity, its name above its marks: names of any length cover nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from peerbayes.comparison import STANDARD_ERRORS, rounding
from peerbayes.figures.canvas import (
    COLOURS,
    SMALL,
    WIDTH,
    LegendEntry,
    Plot,
    add_axes,
    axis_label,
    figure_of,
    framed,
    new_figure,
)
from peerbayes.figures.chart import Scale, linear_scale, log_scale
from peerbayes.figures.own_axes import on_axes
from peerbayes.figures.wording import count, number, shorten
from peerbayes.measured import RateDocument
from theory.validation import fail

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
    x = (
        log_scale(values, most=4)
        if is_wide
        else linear_scale([*values, 0.0], most=4, zero=True, room=0.1)
    )
    if axes is None:
        figure = new_figure(_BOTTOM + _TOP + _ROW * len(shown))
        main = add_axes(figure, left=_EDGE, right=1.7, bottom=_BOTTOM, top=_TOP)
        side = add_axes(figure, left=WIDTH - 1.45, right=_EDGE, bottom=_BOTTOM, top=_TOP)
        _deviations(side, scores)
    else:
        figure, main = figure_of(axes), framed(axes)
    x.apply(main, "x")
    _rows(main, len(shown))
    for index, row in enumerate(shown):
        _name(main, index, row.hypothesis, 30)
        _mark_rate(main, row, index + 0.68, x)
    axis_label(main, x=f"rate [{x.unit('nats per round')}]")
    largest = max(scores, key=abs)
    more = f" The {len(rates) - len(shown)} faster ones are in the table." * (
        len(rates) > len(shown)
    )
    return Plot(
        figure,
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
    if axes is None:
        figure = new_figure(_BOTTOM + _TOP + 0.02 + _ROW * rows)
        axes = add_axes(figure, left=_EDGE, right=_EDGE + 0.06, bottom=_BOTTOM, top=_TOP + 0.02)
    else:
        figure = figure_of(framed(axes))
    x.apply(axes, "x")
    _rows(axes, rows)
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
        figure,
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


def _rows(axes: Axes, rows: int) -> None:
    """Rows from top to bottom, without an axis of their own."""
    axes.set_ylim(rows, 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(False, axis="y")


def _name(axes: Axes, index: int, name: str, length: int) -> None:
    axes.annotate(
        shorten(str(name), length), (0, index + 0.38), xycoords=("axes fraction", "data"),
        color=COLOURS["ink"], fontsize=SMALL, va="baseline", ha="left",
        annotation_clip=False, zorder=2.5,
        bbox={"facecolor": COLOURS["paper"], "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip

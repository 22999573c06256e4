"""What moves with the rounds, or with the centre's weight: predicted lines, measured points."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from peerbayes.figures.canvas import COLOURS, LegendEntry, Plot, axis_label
from peerbayes.figures.panels import MOST_SERIES, error_bars, floats, panel, series_style
from peerbayes.figures.scales import linear_scale, log_scale
from peerbayes.figures.wording import number
from peerbayes.learning_documents import FailuresDocument, MeasuredDocument, TrajectoryDocument
from peerbayes.sweep_documents import SweepDocument

_HEIGHT = 3.0  # inches


def trajectory_plot(trajectory: TrajectoryDocument, *, axes: Axes | None = None) -> Plot:
    """The predicted line through the measured cloud of log belief ratios."""
    rounds, expected = floats(trajectory.rounds), floats(trajectory.expected)
    mean, error = floats(trajectory.mean), floats(trajectory.standard_error)
    rate = trajectory.rate
    paths = [floats(path) for path in trajectory.paths]
    x = linear_scale([0.0, *rounds], zero=True)
    y = linear_scale(np.concatenate([[0.0, rate * rounds[-1]], mean, expected, *paths]))
    figure, axes = panel(x, y, height=_HEIGHT, axes=axes)
    if paths:
        # One line with gaps is one element of the page, however many paths.
        cloud = np.concatenate([np.append(path, np.nan) for path in paths])
        along = np.tile(np.append(rounds, np.nan), len(paths))
        axes.plot(along, cloud, color=COLOURS["cloud"], linewidth=0.7, zorder=2)
    axes.plot(
        [0, rounds[-1]], [0, rate * rounds[-1]],
        color=COLOURS["ink"], linewidth=1.2, dashes=(4, 2.5), zorder=3.5,
    )  # fmt: skip
    axes.plot(rounds, expected, color=COLOURS["predicted"], linewidth=2, zorder=3)
    error_bars(axes, rounds, mean, 2 * error, "measured")
    axes.plot(rounds, mean, "o", color=COLOURS["measured"], markersize=3.2, zorder=5, mew=0)
    axis_label(axes, x="round", y=f"log belief ratio [{y.unit('nats')}]")
    return Plot(
        figure,
        "Log belief ratio, slowest hypothesis",
        f"How much more “{trajectory.reference}” is believed than “{trajectory.hypothesis}”: "
        f"theory says {number(rate)} nats more each round; after {rounds[-1]:.0f} rounds the mean "
        f"is {number(mean[-1])} nats, expected {number(expected[-1])}.",
        (
            LegendEntry("dashes", "ink", "K · n, the limit"),
            LegendEntry("line", "predicted", "exact mean, predicted"),
            LegendEntry("dots", "measured", "measured mean ± 2 s.e."),
            LegendEntry("line", "cloud", "single runs of single agents"),
        ),
    )


def failures_plot(failures: FailuresDocument, *, delta: float) -> Plot:
    """How often some agent is wrong, round by round, below its rigorous bound if there is one."""
    rounds, frequency = floats(failures.rounds), floats(failures.frequency)
    replicates = failures.replicates
    floor = 0.5 / replicates
    seen = frequency > 0
    x = log_scale(rounds)
    y = log_scale([floor, 1.0, delta], room=0.06)
    figure, axes = panel(x, y, height=_HEIGHT)
    axes.axhline(delta, color=COLOURS["ink"], linewidth=1, dashes=(4, 2.5), zorder=2)
    if failures.bound is not None:
        bound = floats(failures.bound)
        shown = np.where(bound < y.lower, np.nan, bound)
        axes.plot(rounds, shown, color=COLOURS["bound"], linewidth=1.8, zorder=3)
    spread = 2 * np.sqrt(frequency * (1 - frequency) / replicates)
    low = np.minimum(spread, frequency - floor)[seen]
    reach = np.maximum([low, spread[seen]], 0.0)
    error_bars(axes, rounds[seen], frequency[seen], reach, "measured")
    axes.plot(
        rounds[seen], frequency[seen], "o", color=COLOURS["measured"], markersize=3.4, zorder=5,
        mew=0,
    )  # fmt: skip
    if not seen.all():
        axes.plot(
            rounds[~seen], np.full((~seen).sum(), floor), "v", markersize=4, zorder=5,
            markerfacecolor=COLOURS["paper"], markeredgecolor=COLOURS["measured"],
        )  # fmt: skip
    axis_label(axes, x="round", y="share of runs")
    settled = failures.measured_rounds
    finding = (
        f"At most {number(delta)} of the runs fail from round {settled} on."
        if settled is not None
        else f"More than {number(delta)} of the runs still fail at the last round."
    )
    legend = [
        LegendEntry("dots", "measured", "measured ± 2 s.e."),
        *([LegendEntry("line", "bound", "smallest proved bound")] * (failures.bound is not None)),
        LegendEntry("dashes", "ink", f"δ = {number(delta)}"),
    ]
    if not seen.all():
        legend.insert(1, LegendEntry("v", "measured", f"none in {replicates} runs"))
    return Plot(figure, "Runs in which some agent is wrong", finding, tuple(legend))


def sweep_plot(sweep: SweepDocument) -> Plot:
    """Rates against the centre's weight v_1: one line of predictions a hypothesis."""
    series = [entry for entry in sweep.rates if entry.points]
    rates = [r for entry in series for point in entry.points for r in (point.limit, point.measured)]
    positive = [rate for rate in rates if rate > 0]
    is_wide = len(positive) == len(rates) > 0 and max(rates) > 10 * min(rates)
    x = linear_scale(sweep.centre_weight, room=0.06)
    y = log_scale(rates) if is_wide else linear_scale(rates, zero=True)
    figure, axes = panel(x, y, height=3.6)
    settled = dict(zip(sweep.edge_confidence, sweep.settled, strict=True))
    legend = []
    for index, entry in enumerate(series):
        colour, mark = series_style(index)
        v = floats([point.centre_weight for point in entry.points])
        limit = floats([point.limit for point in entry.points])
        measured = floats([point.measured for point in entry.points])
        error = floats([point.standard_error for point in entry.points])
        # Rates against different hypotheses lie on different lines.
        against = [settled[point.edge_confidence] for point in entry.points]
        breaks = [i for i in range(1, len(v)) if against[i] != against[i - 1]]
        axes.plot(
            np.insert(v, breaks, np.nan), np.insert(limit, breaks, np.nan),
            color=COLOURS[colour], linewidth=1.3, zorder=3,
        )  # fmt: skip
        error_bars(axes, v, measured, 2 * error, colour)
        axes.plot(
            v, measured, mark, color=COLOURS[colour], markersize=5, zorder=5,
            markeredgecolor=COLOURS["paper"], markeredgewidth=0.6,
        )  # fmt: skip
        legend.append(LegendEntry(mark, colour, entry.hypothesis))
    axis_label(axes, x="weight v₁ of the centre", y=f"rate [{y.unit('nats per round')}]")
    changes = len({tuple(names) for names in sweep.settled}) > 1
    return Plot(
        figure,
        "Rates of rejection against the centre’s weight",
        "Lines join the predicted rates, points are measured, bars ± 2 s.e."
        + (" Lines break where the network settles on another hypothesis." if changes else ""),
        tuple(legend),
    )


def measured_plot(
    trajectory: MeasuredDocument, *, reference: str, axes: Axes | None = None
) -> Plot:
    """Measured log belief ratios of every hypothesis, averaged over agents."""
    rounds, names = floats(trajectory.rounds), trajectory.hypotheses
    means = np.array([floats(row) for row in trajectory.network_mean])
    errors = np.array([floats(row) for row in trajectory.network_standard_error])
    shown = [m for m, name in enumerate(names) if name != reference]
    shown = sorted(shown, key=lambda m: float(means[-1, m]))[:MOST_SERIES]
    x = linear_scale([0.0, *rounds], zero=True)
    y = linear_scale([0.0, *means[:, shown].ravel()])
    figure, axes = panel(x, y, height=3.6, axes=axes)
    legend = []
    for index, m in enumerate(shown):
        colour, mark = series_style(index)
        error_bars(axes, rounds, means[:, m], 2 * errors[:, m], colour)
        axes.plot(
            rounds, means[:, m], mark, color=COLOURS[colour], markersize=4, zorder=5,
            linestyle="-", linewidth=0.8, markeredgecolor=COLOURS["paper"], markeredgewidth=0.5,
        )  # fmt: skip
        legend.append(LegendEntry(mark, colour, names[m]))
    axis_label(axes, x="round", y=f"log belief ratio [{y.unit('nats')}]")
    hidden = len(names) - 1 - len(shown)
    return Plot(
        figure,
        "Measured log belief ratios",
        f"How much more “{reference}” is believed than each other hypothesis, averaged over "
        f"agents; bars ± 2 s.e.{f' The {hidden} fastest are not drawn.' * (hidden > 0)}",
        tuple(legend),
    )

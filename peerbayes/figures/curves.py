"""What moves with the rounds, or with the centre's weight: predicted lines, measured points."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from peerbayes.figures.canvas import COLOURS, Plot
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
from peerbayes.measured import FailuresDocument, MeasuredDocument, SweepDocument, TrajectoryDocument

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

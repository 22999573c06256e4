"""Designs as figures: how belief grows before and after, and rate against mixing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from peerbayes.designs.documents import CurveDocument, TradeOffPoint
from peerbayes.figures.canvas import COLOURS, LegendEntry, Plot, axis_label
from peerbayes.figures.panels import error_bars, floats, panel, series_style
from peerbayes.figures.scales import linear_scale, log_scale
from peerbayes.figures.wording import number


def curves_plot(curves: Sequence[CurveDocument], *, axes: Axes | None = None) -> Plot:
    """Measured log-beliefs against the hypothesis rejected last, one line a network."""
    rounds = floats(curves[0].rounds)
    means = [floats(curve.mean) for curve in curves]
    x = linear_scale([0.0, *rounds], zero=True)
    y = linear_scale([0.0, *np.concatenate(means)])
    figure, axes = panel(x, y, height=3.2, axes=axes)
    legend = []
    for index, (curve, mean) in enumerate(zip(curves, means, strict=True)):
        colour, mark = series_style(index)
        error = floats(curve.standard_error)
        slope = float(curve.rate)
        axes.plot(
            [0, rounds[-1]], [0, slope * rounds[-1]],
            color=COLOURS[colour], linewidth=0.8, dashes=(4, 2.5), zorder=3,
        )  # fmt: skip
        every = max(1, len(rounds) // 12)
        error_bars(axes, rounds[::every], mean[::every], 2 * error[::every], colour)
        axes.plot(
            rounds[::every], mean[::every], mark, color=COLOURS[colour], markersize=4, zorder=5,
            linestyle="none", markeredgecolor=COLOURS["paper"], markeredgewidth=0.5,
        )  # fmt: skip
        legend.append(LegendEntry(mark, colour, f"{curve.name}, against {curve.hypothesis}"))
    axis_label(axes, x="round", y=f"log belief ratio [{y.unit('nats')}]")
    best = max(curves, key=lambda curve: float(curve.rate))
    return Plot(
        figure,
        "Belief before and after",
        "How much more the target is believed than the hypothesis rejected last, measured, bars "
        f"± 2 s.e.; dashes have the predicted slope K. Steepest: {best.name}, "
        f"{number(best.rate)} nats a round.",
        tuple(legend),
    )


def failures_plot(curves: Sequence[CurveDocument], *, delta: float) -> Plot:
    """How often some agent is wrong, round by round, one line a network."""
    rounds = floats(curves[0].rounds)
    shares = [floats(curve.failures) for curve in curves]
    positive = np.concatenate([*(s[s > 0] for s in shares), [delta]])
    x, y = linear_scale([0.0, *rounds], zero=True), log_scale(positive)
    figure, axes = panel(x, y, height=3.2)
    legend = []
    for index, (curve, share) in enumerate(zip(curves, shares, strict=True)):
        colour, mark = series_style(index)
        seen = share > 0
        axes.plot(
            rounds[seen], share[seen], mark, color=COLOURS[colour], markersize=4, zorder=5,
            linestyle="-", linewidth=0.8, markeredgecolor=COLOURS["paper"], markeredgewidth=0.5,
        )  # fmt: skip
        legend.append(LegendEntry(mark, colour, curve.name))
    axes.axhline(delta, color=COLOURS["ink"], linewidth=1.2, dashes=(4, 2.5), zorder=3)
    legend.append(LegendEntry("dashes", "ink", f"δ = {number(delta)}"))
    axis_label(axes, x="round", y="share of runs with an error")
    return Plot(
        figure,
        "Runs in which some agent is wrong",
        "Measured, round by round; a line ends where no run failed any more.",
        tuple(legend),
    )


def trade_off_plot(points: Sequence[TradeOffPoint]) -> Plot:
    """Rate against mixing: achieved, and the bound on the mixing for each v."""
    rates = [point.rate for point in points]
    slems = [point.slem for point in points]
    bounds = [point.slem_bound for point in points if point.slem_bound is not None]
    x, y = linear_scale(rates, room=0.06), linear_scale([*slems, *bounds])
    figure, axes = panel(x, y, height=3.2)
    for name, wanted in (("predicted", True), ("muted", False)):
        chosen = [k for k, point in enumerate(points) if point.efficient is wanted]
        axes.plot(
            [rates[k] for k in chosen], [slems[k] for k in chosen], "o", color=COLOURS[name],
            markersize=5, zorder=4, mew=0, linestyle="-" if wanted else "none", linewidth=1.0,
        )  # fmt: skip
    axis_label(axes, x=f"rate K [{x.unit('nats per round')}]", y="subdominant modulus")
    return Plot(
        figure,
        "Rate against mixing",
        "What was achieved: to the right learns faster in the end, further down agrees sooner. "
        "Grey points are beaten in both.",
        (
            LegendEntry("dots", "predicted", "efficient among those found"),
            LegendEntry("dots", "muted", "beaten"),
        ),
    )

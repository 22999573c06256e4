"""Designs as figures: how belief grows before and after, and rate against mixing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from peerbayes.designs.quantities import CurveDocument
from peerbayes.figures.canvas import Plot
from peerbayes.figures.chart import DASHES, Chart, floats, linear_scale, log_scale, series_style
from peerbayes.figures.wording import number

_HEIGHT = 3.2  # inches


def curves_plot(curves: Sequence[CurveDocument], *, axes: Axes | None = None) -> Plot:
    """Measured log-beliefs against the hypothesis rejected last, one line a network."""
    rounds = floats(curves[0].rounds)
    means = [floats(curve.mean) for curve in curves]
    y = linear_scale([0.0, *np.concatenate(means)])
    chart = Chart(linear_scale([0.0, *rounds], zero=True), y, height=_HEIGHT, axes=axes)
    few = slice(None, None, max(1, len(rounds) // 12))
    for index, (curve, mean) in enumerate(zip(curves, means, strict=True)):
        colour, mark = series_style(index)
        end = [0, float(curve.rate) * rounds[-1]]
        chart.line([0, rounds[-1]], end, colour, width=0.8, dashes=DASHES)
        error = 2 * floats(curve.standard_error)
        label = f"{curve.name}, against {curve.hypothesis}"
        chart.marks(rounds[few], mean[few], colour, mark, label, error=error[few])
    best = max(curves, key=lambda curve: float(curve.rate))
    return chart.plot(
        "Belief before and after",
        "How much more the target is believed than the hypothesis rejected last, measured, bars "
        f"± 2 s.e.; dashes have the predicted slope K. Steepest: {best.name}, "
        f"{number(best.rate)} nats a round.",
        x="round",
        y=f"log belief ratio [{y.unit('nats')}]",
    )


def failures_plot(curves: Sequence[CurveDocument], *, delta: float) -> Plot:
    """How often some agent is wrong, round by round, one line a network."""
    rounds = floats(curves[0].rounds)
    shares = [floats(curve.failures) for curve in curves]
    y = log_scale(np.concatenate([*(s[s > 0] for s in shares), [delta]]))
    chart = Chart(linear_scale([0.0, *rounds], zero=True), y, height=_HEIGHT)
    for index, (curve, share) in enumerate(zip(curves, shares, strict=True)):
        seen = share > 0
        chart.marks(rounds[seen], share[seen], *series_style(index), curve.name, joined=0.8)
    chart.level(delta, f"δ = {number(delta)}", over=3)
    return chart.plot(
        "Runs in which some agent is wrong",
        "Measured, round by round; a line ends where no run failed any more.",
        x="round",
        y="share of runs with an error",
    )


def trade_off_plot(points: Sequence[Any]) -> Plot:
    """Rate against mixing: achieved, and the bound on the mixing for each v."""
    bounds = [point.slem_bound for point in points if point.slem_bound is not None]
    x = linear_scale([point.rate for point in points], room=0.06)
    y = linear_scale([*(point.slem for point in points), *bounds])
    chart = Chart(x, y, height=_HEIGHT)
    for colour, wanted, label in (
        ("predicted", True, "efficient among those found"), ("muted", False, "beaten"),
    ):  # fmt: skip
        chosen = [(point.rate, point.slem) for point in points if point.efficient is wanted]
        rates, slems = np.reshape(chosen, (-1, 2)).T
        chart.marks(rates, slems, colour, "dots", label, size=5, joined=wanted, over=4)
    return chart.plot(
        "Rate against mixing",
        "What was achieved: to the right learns faster in the end, further down agrees sooner. "
        "Grey points are beaten in both.",
        x=f"rate K [{x.unit('nats per round')}]",
        y="subdominant modulus",
    )

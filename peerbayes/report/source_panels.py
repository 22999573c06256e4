"""A panel of a figure of the sources as a drawing: curves with printed levels, or confusions."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from peerbayes.figures.canvas import COLOURS, LegendEntry, Plot, axis_label
from peerbayes.figures.panels import floats, panel, series_style
from peerbayes.figures.scales import linear_scale, log_scale
from peerbayes.figures.trained import confusion_plot
from peerbayes.figures.wording import number
from peerbayes.sources.documents import CurveDocument, PanelDocument


def panel_plot(shown: PanelDocument, *, axes: Axes | None = None) -> Plot:
    """Draw a panel; a printed number is a line of long dashes across it.

    Parameters
    ----------
    axes
        Where curves are drawn; left out: on a figure of their own, as confusions always are.
    """
    if shown.confusion is not None:
        return confusion_plot(
            shown.confusion, shown.classes or [], shown.held or [], name=shown.title
        )
    values = np.concatenate([floats(curve.values) for curve in shown.curves])
    levels = [level.value for level in shown.levels]
    along = np.concatenate([floats(curve.along) for curve in shown.curves])
    everything = [*values[np.isfinite(values)], *levels]
    scale = log_scale(everything) if shown.log_y else linear_scale(everything)
    figure, axes = panel(log_scale(along), scale, axes=axes)
    colours = _colours(shown.curves)
    legend = [
        _curve(axes, curve, colour) for curve, colour in zip(shown.curves, colours, strict=True)
    ]
    for level in shown.levels:
        axes.axhline(level.value, color=COLOURS["ink"], linewidth=1, dashes=(8, 3), zorder=2)
        legend.append(LegendEntry("dashes", "ink", f"{level.name} {number(level.value, 4)}"))
    axis_label(axes, x=shown.x, y=shown.y)
    last = ", ".join(f"{one.name} {number(one.values[-1], 4)}" for one in shown.curves[:4])
    return Plot(figure, shown.title, f"In the last round: {last}.", tuple(legend))


def _curve(axes: Axes, curve: CurveDocument, index: int) -> LegendEntry:
    colour, mark = series_style(index)
    axes.plot(
        floats(curve.along), floats(curve.values), linestyle="-", zorder=3,
        color=COLOURS[colour], marker="" if curve.dashed else mark, markersize=3.5,
        markeredgecolor=COLOURS["paper"], markeredgewidth=0.4,
        linewidth=1.2 if curve.dashed else 1.5, dashes=(3, 2) if curve.dashed else (None, None),
    )  # fmt: skip
    return LegendEntry("dashes" if curve.dashed else mark, colour, curve.name)


def _colours(curves: list[CurveDocument]) -> list[int]:
    """A number for the colour of each: that of an earlier one whose name it begins with."""
    names: list[str] = []
    found = []
    for curve in curves:
        near = [name for name in names if name and curve.name.startswith(f"{name},")]
        if not near:
            names.append(curve.name)
        found.append(names.index(near[0] if near else curve.name))
    return found

"""A figure of the report on somebody's own axes, with its title and its legend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from peerbayes.figures.canvas import COLOURS, SMALL, LegendEntry, Plot
from theory.validation import fail


def on_axes(draw: Callable[[Axes], Plot | None], ax: Axes | None) -> Axes:
    """Draw on the axes given, or on new ones of pyplot, and return them.

    Raises
    ------
    ValueError
        If these are no axes, or there is too much to draw.
    """
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise fail("ax", "Axes of matplotlib", type(ax).__name__, "leave it out for new ones")
    plot = draw(ax)
    if plot is None:
        raise fail("plot", "something small enough to draw", "more", "draw a part of it")
    ax.set_title(plot.title)
    if plot.legend:
        ax.legend(handles=[_handle(entry) for entry in plot.legend], fontsize=SMALL, frameon=False)
    return ax


def _handle(entry: LegendEntry) -> Artist:
    """How a thing is drawn, for a legend of matplotlib."""
    lines: dict[str, Literal["-", "--"]] = {"line": "-", "band": "-", "dashes": "--"}
    style = lines.get(entry.mark)
    mark = None if style is not None else "o" if entry.mark == "dots" else entry.mark
    return Line2D(
        [], [], color=COLOURS[entry.colour], marker=mark, label=entry.label,
        linestyle=style or "none", linewidth=6 if entry.mark == "band" else 1.5,
    )  # fmt: skip

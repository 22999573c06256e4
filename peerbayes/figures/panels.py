"""What the figures share: one pair of axes, series with their own colour and mark, error bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerbayes.figures.canvas import (
    COLOURS,
    SERIES_MARKS,
    Mark,
    add_axes,
    figure_of,
    framed,
    new_figure,
)
from peerbayes.figures.scales import Scale
from theory.validation import FloatArray

HEIGHT = 3.3  # inches
MOST_SERIES = 9
_BARS: Any = {"fmt": "none", "elinewidth": 1.2, "capsize": 0, "zorder": 4}


def panel(
    x: Scale, y: Scale, *, height: float = HEIGHT, axes: Axes | None = None
) -> tuple[Figure, Axes]:
    """The axes given, framed, or a figure with one pair of axes, `height` in inches."""
    if axes is None:
        figure = new_figure(height)
        axes = add_axes(figure, left=0.36 + y.label_width, right=0.2, bottom=0.5, top=0.1)
    else:
        figure = figure_of(framed(axes))
    x.apply(axes, "x")
    y.apply(axes, "y")
    return figure, axes


def series_style(index: int) -> tuple[str, Mark]:
    """The colour and the mark of one series among several."""
    return f"series-{index % 10}", SERIES_MARKS[index % len(SERIES_MARKS)]


def error_bars(axes: Axes, x: FloatArray, y: FloatArray, reach: FloatArray, colour: str) -> None:
    """Bars of `reach` around points: shape (T,), or (2, T) for what is below and above."""
    axes.errorbar(x, y, np.nan_to_num(reach), ecolor=COLOURS[colour], **_BARS)


def floats(
    values: Sequence[float | None]
    | Sequence[int]
    | Sequence[Sequence[float | None]]
    | Sequence[Sequence[float]]
    | FloatArray,
) -> FloatArray:
    """Numbers of a document for drawing: NaN for null."""
    return np.array(values, dtype=float)

"""A chart: scales whose ticks are known before anything is drawn, marks, and a legend that follows.

Ticks are few, round and apart from one another; a range holds its data. `Chart` draws lines and
points in the report's style and remembers what each of them is called: legend and drawing cannot
differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from peerbayes.figures.canvas import (
    COLOURS,
    SERIES_MARKS,
    SMALL,
    LegendEntry,
    Mark,
    Plot,
    add_axes,
    axis_label,
    figure_of,
    framed,
    new_figure,
)
from peerbayes.figures.wording import power_of_ten
from theory.validation import FloatArray

HEIGHT = 3.3  # inches
MOST_SERIES = 9
DASHES = (4.0, 2.5)
"""Lengths of strokes and gaps, in widths of the line."""


@dataclass(frozen=True)
class Scale:
    """One axis: its range, its ticks with their labels, and the power of ten taken out of them."""

    lower: float
    upper: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    is_log: bool = False
    power: int = 0

    def unit(self, unit: str) -> str:
        """The unit, with the power of ten that the labels leave out.

        >>> Scale(0, 1e-5, (), (), power=-5).unit("nats")
        '10⁻⁵ nats'
        """
        return f"{power_of_ten(self.power)} {unit}" if self.power else unit

    @property
    def label_width(self) -> float:
        """Room for the widest label, in inches: a digit of DejaVu Sans is 0.64 em wide."""
        longest = max((len(label) for label in self.labels), default=0)
        return longest * 0.64 * SMALL / 72

    def apply(self, axes: Axes, which: str) -> None:
        """Set range, scale and ticks of the ``"x"`` or ``"y"`` axis."""
        if self.is_log:
            getattr(axes, f"set_{which}scale")("log")
        getattr(axes, f"set_{which}lim")(self.lower, self.upper)
        axis = getattr(axes, f"{which}axis")
        axis.set_minor_locator(NullLocator())
        axis.set_major_locator(FixedLocator(list(self.ticks)))
        axis.set_ticklabels(list(self.labels))


def linear_scale(
    values: Iterable[float], *, most: int = 5, zero: bool = False, room: float = 0.04
) -> Scale:
    """A linear scale for the finite ones of `values`.

    Parameters
    ----------
    most
        At most so many intervals between ticks.
    zero
        Whether 0 belongs on the axis.
    room
        Empty share at each end (not below zero, where zero is the end).
    """
    finite = [float(value) for value in values if math.isfinite(value)]
    lower, upper = min(finite, default=0.0), max(finite, default=1.0)
    if zero:
        lower, upper = min(lower, 0.0), max(upper, 0.0)
    if upper - lower <= 1e-9 * max(abs(lower), abs(upper)):
        # One value: the axis shows it in its middle, or zero and it.
        reach = abs(upper) / 2 or 1.0
        lower, upper = (lower - reach, upper + reach) if not zero else (lower, lower + 1.0)
    reach = room * (upper - lower)
    lower = lower if zero and lower == 0 else lower - reach
    upper = upper if zero and upper == 0 else upper + reach
    ticks = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(lower, upper)
    inside = [float(tick) for tick in ticks if lower <= tick <= upper]
    largest = max(abs(tick) for tick in inside)
    power = math.floor(math.log10(largest)) if largest else 0
    power = 0 if -3 <= power <= 3 else power
    shown = [tick / 10.0**power for tick in inside]
    step = shown[1] - shown[0] if len(shown) > 1 else (abs(shown[0]) or 1.0)
    decimals = next((d for d in range(8) if abs(step * 10**d - round(step * 10**d)) < 1e-6), 8)
    labels = [f"{tick + 0.0:.{decimals}f}".replace("-", "−") for tick in shown]
    return Scale(lower, upper, tuple(inside), tuple(labels), power=power)


def log_scale(values: Iterable[float], *, most: int = 6, room: float = 0.05) -> Scale:
    """A logarithmic scale for the positive finite ones of `values`, cut off at 10 to the ±250.

    An axis to the ends of floating point would round to zero or infinity once room is added.
    """
    logs = [math.log10(value) for value in values if value > 0 and math.isfinite(value)]
    finite = [min(max(value, -250.0), 250.0) for value in logs]
    lower, upper = min(finite, default=0.0), max(finite, default=1.0)
    if upper - lower < 0.3:
        lower, upper = lower - 0.15, upper + 0.15
    reach = room * (upper - lower)
    lower, upper = lower - reach, upper + reach
    decades = range(math.ceil(lower), math.floor(upper) + 1)
    keep = max(1, math.ceil(len(decades) / most))
    ticks: list[tuple[float, int]] = [(1, decade) for decade in decades if decade % keep == 0]
    # Less than three decades: ticks between them, as many as there is room for.
    for steps in ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        finer = [
            (step, decade)
            for decade in range(math.floor(lower), math.ceil(upper) + 1)
            for step in steps
            if lower <= math.log10(step) + decade <= upper
        ]
        if len(ticks) < 3 and len(finer) <= most:
            ticks = finer
    return Scale(
        10.0**lower,
        10.0**upper,
        tuple(step * 10.0**decade for step, decade in ticks),
        tuple(_log_label(step, decade) for step, decade in ticks),
        is_log=True,
    )


def _log_label(step: float, decade: int) -> str:
    if -4 <= decade <= 3:
        digits = max(0, -decade + (step != int(step)))
        return f"{step * 10.0**decade:.{digits}f}"
    return power_of_ten(decade) if step == 1 else f"{step:g}·{power_of_ten(decade)}"


def floats(values: ArrayLike | Sequence[Any]) -> FloatArray:
    """Numbers of a document for drawing: NaN for null."""
    return np.array(values, dtype=float)


def series_style(index: int) -> tuple[str, Mark]:
    """The colour and the mark of one series among several."""
    return f"series-{index % 10}", SERIES_MARKS[index % len(SERIES_MARKS)]


class Chart:
    """One pair of axes: what is drawn on them has a name in the legend, unless it is called "".

    Where `over` is given it says what covers what: bands at 2, lines at 3, bars of errors at 4,
    points at 5.

    Parameters
    ----------
    x, y
        Scales of the axes.
    height
        Of a figure of its own, in inches.
    axes
        Somebody's axes, to be framed and drawn on; left out: a figure of its own.
    """

    def __init__(
        self, x: Scale, y: Scale, *, height: float = HEIGHT, axes: Axes | None = None
    ) -> None:
        if axes is None:
            room = {"left": 0.36 + y.label_width, "right": 0.2, "bottom": 0.5, "top": 0.1}
            axes = add_axes(new_figure(height), **room)
        self.axes = framed(axes)
        self.legend: list[LegendEntry] = []
        x.apply(axes, "x")
        y.apply(axes, "y")

    def name(self, mark: Mark, colour: str, label: str) -> None:
        """Add a line to the legend."""
        if label:
            self.legend.append(LegendEntry(mark, colour, label))

    def line(
        self,
        x: ArrayLike,
        y: ArrayLike,
        colour: str = "ink",
        label: str = "",
        *,
        width: float = 1.4,
        dashes: tuple[float, float] | None = None,
        over: float = 3,
    ) -> None:
        """A line through points; NaN interrupts it."""
        self.axes.plot(
            x, y, color=COLOURS[colour], linewidth=width, dashes=dashes or (None, None), zorder=over
        )
        self.name("dashes" if dashes else "line", colour, label)

    def level(self, y: float, label: str = "", colour: str = "ink", *, over: float = 2) -> None:
        """A dashed line across the chart."""
        self.axes.axhline(y, color=COLOURS[colour], linewidth=1, dashes=DASHES, zorder=over)
        self.name("dashes", colour, label)

    def marks(
        self,
        x: ArrayLike,
        y: ArrayLike,
        colour: str,
        mark: Mark = "dots",
        label: str = "",
        *,
        size: float = 4,
        error: FloatArray | None = None,
        joined: float = 0,
        over: float = 5,
    ) -> None:
        """Points, with bars of `error`, joined by a line of the width `joined`.

        `error` has shape (T,), or (2, T) for what is below and above; ``"dots"`` have no edge.
        """
        if error is not None:
            self.axes.errorbar(
                x, y, np.nan_to_num(error), ecolor=COLOURS[colour], fmt="none", elinewidth=1.2,
                capsize=0, zorder=4,
            )  # fmt: skip
        self.axes.plot(
            x, y, "o" if mark == "dots" else mark, color=COLOURS[colour], markersize=size,
            linestyle="-" if joined else "none", linewidth=joined, zorder=over,
            markeredgecolor=COLOURS["paper"], markeredgewidth=0 if mark == "dots" else 0.4,
        )  # fmt: skip
        self.name(mark, colour, label)

    def band(
        self, x: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str, *, alpha: float = 1
    ) -> None:
        """The area between two lines."""
        self.axes.fill_between(
            x, low, high, color=COLOURS[colour], linewidth=0, zorder=2,
            alpha=None if alpha == 1 else alpha,
        )  # fmt: skip

    def plot(self, title: str, finding: str, *, x: str, y: str) -> Plot:
        """The chart with its axes named, units in brackets, and the words around it."""
        axis_label(self.axes, x=x, y=y)
        return Plot(figure_of(self.axes), title, finding, tuple(self.legend))

"""A chart: scales whose ticks are known before anything is drawn, marks, and a legend that follows.

Ticks are few, round and apart from one another; a range holds its data. `Chart` draws lines and
points in the report's style and remembers what each of them is called: legend and drawing cannot
differ.

Figures are drawn in the light page's colours, which become its CSS variables, so that one drawing
serves light and dark, and looks the same on anybody's own axes. Text stays text: readers can search
and select it, browsers have a font for every script, and a page of a hundred figures stays small.
matplotlib reserves space by the metrics of DejaVu Sans, which is wider than the common system
fonts.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from peerbayes.figures.svg import escaped, svg_of
from peerbayes.figures.wording import power_of_ten
from theory.validation import FloatArray, fail

WIDTH = 4.2  # inches; about the width of a phone
TEXT, SMALL = 10.0, 9.5  # points

COLOURS = {
    "ink": "#1b1f24", "muted": "#6a737d", "grid": "#e3e6ea", "paper": "#fefefe",
    "predicted": "#0072b2", "measured": "#c24a00", "cloud": "#ecc7ae", "bound": "#00795a",
    "bad": "#c4122f", "node": "#35546f",
    "series-0": "#0072b3", "series-1": "#c24a01", "series-2": "#00866b", "series-3": "#a63d7d",
    "series-4": "#7d6608", "series-5": "#3a93c9", "series-6": "#444c56", "series-7": "#6f42c1",
    "series-8": "#9c1f2e", "series-9": "#4b7a1e",
}  # fmt: skip
"""The light page's colours by the names of its CSS variables, no two the same."""
_VARIABLES = {colour: name for name, colour in COLOURS.items()}
_COLOUR = re.compile("|".join(_VARIABLES))

Mark = Literal["line", "dashes", "dots", "band", "o", "D", "s", "^", "v", "|", "P", "X", "p", "h"]
SERIES_MARKS: tuple[Mark, ...] = ("o", "s", "^", "D", "v", "P", "X", "p", "h")

_STYLE: Any = {
    "font.family": ["DejaVu Sans"],
    "text.usetex": False,
    "text.parse_math": False,
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
}


@dataclass(frozen=True)
class LegendEntry:
    """One line of a legend: how a thing is drawn, in which colour, and what it is."""

    mark: Mark
    colour: str
    label: str


@dataclass(frozen=True, eq=False)
class Plot:
    """A figure with the words around it.

    Attributes
    ----------
    figure
        With every label that belongs to axes.
    title, finding
        What is shown, and what is to be seen in it, in plain words.
    legend
        Set below the figure, where it covers nothing.
    """

    figure: Figure
    title: str
    finding: str
    legend: tuple[LegendEntry, ...] = ()


@contextmanager
def plotting_style() -> Iterator[None]:
    """Draw with the report's settings on top of the library's defaults, whatever the user's are."""
    with mpl.rc_context(), warnings.catch_warnings():
        # A hypothesis may be named in a script that DejaVu lacks; the browser will have it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def new_figure(height: float) -> Figure:
    """An empty figure as wide as a phone, `height` in inches."""
    figure = Figure(figsize=(WIDTH, height), dpi=72)
    figure.patch.set_visible(False)
    return figure


def add_axes(figure: Figure, *, left: float, right: float, bottom: float, top: float) -> Axes:
    """New axes at margins in inches, with the report's quiet frame."""
    width, height = figure.get_size_inches()
    axes = figure.add_axes(
        (
            left / width,
            bottom / height,
            (width - left - right) / width,
            (height - bottom - top) / height,
        )
    )
    axes.patch.set_visible(False)
    return framed(axes)


def framed(axes: Axes) -> Axes:
    """The same axes with the report's quiet frame."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(COLOURS["muted"])
        spine.set_linewidth(0.8)
    axes.tick_params(
        colors=COLOURS["muted"], labelcolor=COLOURS["ink"], labelsize=SMALL, length=3, width=0.8
    )
    axes.grid(True, color=COLOURS["grid"], linewidth=0.7)
    axes.set_axisbelow(True)
    return axes


def figure_of(axes: Axes) -> Figure:
    """The figure that axes are on, also where they are on a part of it."""
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


def axis_label(axes: Axes, *, x: str | None = None, y: str | None = None) -> None:
    """Name the axes, units in brackets."""
    if x is not None:
        axes.set_xlabel(x, fontsize=TEXT, color=COLOURS["ink"], labelpad=3)
    if y is not None:
        axes.set_ylabel(y, fontsize=TEXT, color=COLOURS["ink"], labelpad=3)


def to_svg(figure: Figure, *, key: str, label: str) -> str:
    """The figure as an ``<svg>`` element for HTML.

    Parameters
    ----------
    key
        Distinct for each figure of a page; put before every id.
    label
        The figure in words, for those who do not see it.
    """
    width, height = figure.get_size_inches() * figure.dpi
    drawn = _COLOUR.sub(lambda m: f"var(--{_VARIABLES[m[0]]})", svg_of(figure, key=key))
    return (
        f'<svg class="plot" role="img" aria-label="{escaped(label)}" '
        f'viewBox="0 0 {width:g} {height:g}">{drawn}</svg>'
    )


# Scales and charts -------------------------------------------------------------------------------

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


# On somebody's own axes --------------------------------------------------------------------------


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

"""From matplotlib figures to SVG that lives inside a page.

Figures are drawn in the light page's colours, which become its CSS variables, so that one drawing
serves light and dark, and looks the same on anybody's own axes. Text stays text: readers can search
and select it, browsers have a font for every script, and a page of a hundred figures stays small.
matplotlib reserves space by the metrics of DejaVu Sans, which is wider than the common system
fonts.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerbayes.figures.svg import escaped, svg_of

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

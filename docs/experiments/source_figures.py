"""What the page on the figures of the sources shows: each one drawn from the records here."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from IPython.display import Markdown, display
from matplotlib.figure import Figure

from peerbayes.figures.own_axes import on_axes
from peerbayes.figures.wording import number
from peerbayes.report.source_panels import panel_plot
from peerbayes.sources.catalogue import FIGURES
from peerbayes.sources.documents import CheckDocument, FigureDocument, PanelDocument
from peerbayes.sources.kept import Kept

HERE = Path(__file__).parent
KEPT = Kept(HERE)
_MARKS = {True: "holds", False: "fails", None: "not measured"}


@cache
def redrawn(name: str) -> FigureDocument:
    """One figure from the records of this folder."""
    return FIGURES[name].redraw(KEPT)


def escaped(entry: object) -> str:
    """Text in a cell of a table."""
    return str(entry).replace("|", "\\|")


def overview() -> str:
    """A line a figure: its verdict."""
    rows = [
        f"| [{figure.source}](#{name}) | `{name}` | {redrawn(name).verdict} |"
        for name, figure in FIGURES.items()
    ]
    return "\n".join(["| figure | name | verdict |", "|---|---|---|", *rows])


def words(name: str) -> str:
    """What a figure shows, its verdict with the reason, what is printed, what is missing."""
    figure = redrawn(name)
    text = [
        f"{figure.shows}", "", f"**{figure.sentence}**", "",
        "| what | printed | measured | wanted | | why this tolerance |",
        "|---|---|---:|---|---|---|",
        *(_row(check) for check in figure.checks),
    ]  # fmt: skip
    if figure.missing:
        commands = dict.fromkeys(one.command for one in figure.missing)
        text += ["", "What is missing is made by", "", "```sh", *commands, "```"]
    if figure.builds:
        text += ["", f"Builds: {', '.join(figure.builds)}."]
    return "\n".join(text)


def _row(check: CheckDocument) -> str:
    measured = "" if check.measured is None else number(check.measured, 4)
    cells = (check.what, check.printed, measured, check.wanted, _MARKS[check.holds], check.reason)
    return "| " + " | ".join(map(escaped, cells)) + " |"


def drawing(panel: PanelDocument) -> Figure:
    """A panel with its title and its legend."""
    if panel.confusion is not None:
        figure = panel_plot(panel).figure
        figure.set_dpi(100)
        return figure
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    axes = on_axes(lambda ax: panel_plot(panel, axes=ax), figure.subplots())
    axes.title.set_fontsize("medium")
    legend = axes.get_legend()
    if legend is not None:  # beside the axes, where it covers nothing
        axes.legend(
            handles=legend.legend_handles, fontsize="x-small", frameon=False,
            loc="center left", bbox_to_anchor=(1.0, 0.5),
        )  # fmt: skip
    return figure


def show(name: str) -> None:
    """Everything of one figure."""
    display(Markdown(words(name)))
    for panel in redrawn(name).panels:
        display(drawing(panel))

"""What the page on the figures of the sources shows: each one drawn from the records here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from IPython.display import Markdown, display
from matplotlib.figure import Figure
from pictures import described

from peerbayes.experiments.experiment import mean_and_error
from peerbayes.experiments.net_lines import WHEN
from peerbayes.experiments.net_rows import BATCHES, BATCHWISE, ROWS, NetPart, Role, When
from peerbayes.figures.chart import on_axes
from peerbayes.figures.wording import number
from peerbayes.report.verified import panel_plot
from peerbayes.sources.catalogue import FIGURES
from peerbayes.sources.documents import CheckDocument, FigureDocument, Kept, Need, PanelDocument
from peerbayes.sources.rules import Reading, accuracies

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


def rounds_of_p1() -> str:
    """Both nodes' accuracies of P1's rows with unlike data, by what lies between two consensus."""
    lengths: dict[Role, str] = {
        "cooperating": "an epoch",
        **{role: role.removesuffix(" a round") for role in reversed(BATCHES)},
    }
    text = [
        "| row, and what is printed | a consensus after | before it | after it |",
        "|---|---|---:|---:|",
    ]
    for row in BATCHWISE:
        printed = ROWS[row].variants[0].printed
        name = f"`{row}`: {printed['node 1']}, {printed['node 2']}"
        for role, length in lengths.items():
            runs = KEPT.runs(Need(row, role=role))
            cells = [name, length, *(_both_nodes(runs, when) for when in WHEN)]
            text.append("| " + " | ".join(cells) + " |")
            name = ""
    return "\n".join(text)


def _both_nodes(runs: Sequence[NetPart], when: When) -> str:
    """The accuracies of two nodes in per cent; with standard errors where there are seeds."""
    if not runs:
        return ""
    found = (accuracies(runs, (node,), Reading("", when)) for node in range(2))
    pairs = [mean_and_error(values) for values in found]
    return ", ".join(f"{m:.1f}" + ("" if e is None else f" ± {e:.1f}") for m, e in pairs)


def words(name: str) -> str:
    """What a figure shows, its verdict with the reason, what is printed, what is missing."""
    figure = redrawn(name)
    text = [
        f"{figure.shows}", "", f"**{figure.sentence}**", "",
        "| what | printed | measured | wanted | | why this tolerance |",
        "|---|---|---:|---|---|---|",
        *(_check_row(check) for check in figure.checks),
    ]  # fmt: skip
    if figure.missing:
        commands = dict.fromkeys(one.command for one in figure.missing)
        text += ["", "What is missing is made by", "", "```sh", *commands, "```"]
    if figure.marks:
        text += ["", f"Marks of the code: {', '.join(figure.marks)}."]
    return "\n".join(text)


def _check_row(check: CheckDocument) -> str:
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
        what = (
            "images by true and predicted label" if panel.confusion else f"{panel.y} over {panel.x}"
        )
        lines = [curve.name for curve in panel.curves]
        display(described(drawing(panel), f"{panel.title}: {what}. {'; '.join(lines)}"))

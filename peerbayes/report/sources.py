"""Figures of the sources: drawn beside what is printed, each number with a verdict and its rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
from matplotlib.axes import Axes

from peerbayes.figures.chart import (
    COLOURS,
    DASHES,
    Chart,
    Plot,
    floats,
    linear_scale,
    log_scale,
    series_style,
)
from peerbayes.figures.training import confusion_plot
from peerbayes.figures.views import Remarks, Row, Section, Table, Text, Verdict, pictures
from peerbayes.figures.wording import number
from peerbayes.sources.documents import (
    CheckDocument,
    CurveDocument,
    FigureDocument,
    FiguresRecord,
    Outcome,
    PanelDocument,
)

_VERDICTS = {
    "reproduced": Verdict("good", "✓", "reproduced"),
    "not reproduced": Verdict("news", "△", "not reproduced"),
    "undecidable here": Verdict("quiet", "○", "undecidable here"),
}
_HOLDS = {
    True: Verdict("good", "✓", "holds"),
    False: Verdict("news", "△", "fails"),
    None: Verdict("quiet", "○", "not measured"),
}
_MISSING = Verdict("quiet", "○", "Not on record, and how to make it:")


def sources_view(body: Mapping[str, Any], *, key: str) -> Section:
    """Everything the page says of a record of ``figures``: how many are reproduced, then each."""
    figures = FiguresRecord.model_validate(body).figures
    counts = Counter(figure.verdict for figure in figures)
    rows = tuple(
        Row(Text(one.source, link=f"{key}-{index}"), (one.shows,), _VERDICTS[one.verdict])
        for index, one in enumerate(figures, 1)
    )
    return Section(
        key,
        "figures",
        heading="Figures of the sources, redrawn",
        finding=", ".join(f"{counts[one]} {one}" for one in get_args(Outcome) if counts[one]) + ".",
        tables=(Table("Figures", "figure", ("shows",), rows, ("words",)),),
        setting="A verdict follows from a rule; tolerance and reason stand beside each number.",
        sections=tuple(_figure(one, f"{key}-{index}") for index, one in enumerate(figures, 1)),
    )


def _figure(figure: FigureDocument, key: str) -> Section:
    missing = tuple(
        ("", "", f"{lack.part} ({lack.lacks}): {lack.command}") for lack in figure.missing
    )
    return Section(
        key,
        figure.source,
        title=figure.shows,
        judged=_VERDICTS[figure.verdict],
        finding=figure.sentence,
        pictures=pictures([panel_plot(panel) for panel in figure.panels], key),
        remarks=(Remarks(_MISSING, missing),) if missing else (),
        statements=Table(
            f"Printed and measured: {figure.source}",
            "what",
            ("printed", "measured", "wanted", "why this tolerance"),
            tuple(map(_row, figure.checks)),
            ("words", "n", "words", "note"),
        ),
    )


def _row(check: CheckDocument) -> Row:
    cells = (check.printed, number(check.measured, 4), check.wanted, check.reason)
    return Row(check.what, cells, _HOLDS[check.holds])


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
    along = np.concatenate([floats(curve.along) for curve in shown.curves])
    values = np.concatenate([floats(curve.values) for curve in shown.curves])
    everything = [*values[np.isfinite(values)], *(level.value for level in shown.levels)]
    scale = log_scale(everything) if shown.log_y else linear_scale(everything)
    chart = Chart(log_scale(along), scale, axes=axes)
    for curve, index in zip(shown.curves, _colours(shown.curves), strict=True):
        colour, mark = series_style(index)
        x, y = floats(curve.along), floats(curve.values)
        if curve.dashed:
            chart.line(x, y, colour, curve.name, width=1.2, dashes=DASHES)
        else:
            chart.marks(x, y, colour, mark, curve.name, size=3.5, joined=1.5, over=3)
    for level in shown.levels:
        chart.axes.axhline(level.value, color=COLOURS["ink"], linewidth=1, dashes=(8, 3), zorder=2)
        chart.name("dashes", "ink", f"{level.name} {number(level.value, 4)}")
    last = ", ".join(f"{one.name} {number(one.values[-1], 4)}" for one in shown.curves[:4])
    return chart.plot(shown.title, f"In the last round: {last}.", x=shown.x, y=shown.y)


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

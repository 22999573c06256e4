"""What the page says of `codecs`: bits against nats, and how far each codec is above the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from peerbayes.experiments.codecs_documents import CodecsPart, CodecsRun, CodecTrial
from peerbayes.figures.canvas import COLOURS, LegendEntry, Plot, axis_label
from peerbayes.figures.panels import panel, series_style
from peerbayes.figures.scales import linear_scale, log_scale
from peerbayes.figures.views import Fact
from peerbayes.figures.wording import count, number
from peerbayes.report.run_view import RunView

# Curves end at silence, where they need no bits: logarithms are drawn from here on.
_LEAST_BITS = 1e-2
# Distances to the limit beyond this are not drawn: they are no news.
_MOST_ABOVE = 6.0
_LIMITS = (("normal", (None, None), "the limit"), ("shannon", (4, 2), "Shannon’s lower bound"))


def codecs_view(run: CodecsRun, *, key: str) -> RunView:
    """Everything the page says of one record of `codecs`."""
    settings, runs = run.settings, run.runs
    net = "–".join(map(str, settings.hidden))
    plots = [limit_plot(runs), distance_plot(runs)]
    facts = (
        Fact("Data", settings.dataset),
        Fact("Net", net, f"units of the hidden layers; {count(runs[0].weights)} weights"),
        Fact("Message", count(settings.rounds), "of its sender; those before were said too"),
        Fact("Silence", number(runs[0].silence, 3), "nats a weight if nothing were said"),
        Fact("Seeds", count(run.replicates), f"seed {run.seed}"),
    )
    return RunView.of(run, facts, plots, key=key)


def limit_plot(runs: Sequence[CodecsPart]) -> Plot:
    """Bits a weight over nats a weight: the curves of the first seed, the codecs of all."""
    curve = runs[0].curve
    points = [_Point(one, one.nats, one.bits) for run in runs for one in run.trials if one.nats > 0]
    bits = [one.y for one in points] + [b for b in curve.normal if b >= _LEAST_BITS]
    nats = [one.x for one in points] + [curve.nats[-1]]
    figure, axes = panel(log_scale(nats), log_scale(bits), height=4.4)
    legend = []
    for name, dashes, words in _LIMITS:
        values = np.array(getattr(curve, name))
        drawn = (values >= _LEAST_BITS) & (np.array(curve.nats) >= min(nats))
        axes.plot(
            np.array(curve.nats)[drawn], values[drawn], color=COLOURS["ink"],
            linewidth=1.4, dashes=dashes,
        )  # fmt: skip
        legend.append(LegendEntry("line" if dashes[0] is None else "dashes", "ink", words))
    legend += _draw(axes, points, runs)
    axis_label(axes, x="divergence [nats a weight]", y="bits a weight")
    lossless = [one.name for one in runs[0].trials if one.nats == 0]
    left = f" Not drawn, for nothing is lost: {'; '.join(lossless)}." if lossless else ""
    return Plot(
        figure,
        "Bits against nats of divergence, codec by codec",
        "A mark is one message of one seed. The line is the least for normal moves since the "
        "message before, one size for each class of rows and columns; the dashes are an estimate "
        f"of what no code beats if moves are independent.{left}",
        tuple(legend),
    )


def distance_plot(runs: Sequence[CodecsPart]) -> Plot:
    """Bits beyond the limit given each codec's own replica, over bits."""
    points = [
        _Point(one, one.bits, one.above)
        for run in runs
        for one in run.trials
        if one.above is not None and one.above <= _MOST_ABOVE
    ]
    figure, axes = panel(
        log_scale([one.x for one in points]), linear_scale([one.y for one in points], zero=True)
    )
    legend = _draw(axes, points, runs)
    axis_label(axes, x="bits a weight", y="bits above the limit")
    return Plot(
        figure,
        "Distance to the limit",
        "Bits a weight beyond the curve of normal moves since the replica that the codec itself "
        "has, or since the message before where it has none. Moves of nets are not normal: a "
        f"point may lie below 0. Codecs more than {_MOST_ABOVE:g} bits above are left out.",
        tuple(legend),
    )


@dataclass(frozen=True)
class _Point:
    """A mark, and what it is of."""

    of: CodecTrial
    x: float
    y: float


def _draw(axes: Axes, points: Sequence[_Point], runs: Sequence[CodecsPart]) -> list[LegendEntry]:
    """The marks; a family looks the same in all figures."""
    legend = []
    for index, family in enumerate(dict.fromkeys(one.family for one in runs[0].trials)):
        own = [one for one in points if one.of.family == family]
        if own:
            colour, mark = series_style(index)
            axes.plot(
                [one.x for one in own], [one.y for one in own], mark, color=COLOURS[colour],
                markersize=5, linestyle="", markeredgecolor=COLOURS["paper"],
                markeredgewidth=0.4, zorder=4,
            )  # fmt: skip
            legend.append(LegendEntry(mark, colour, family))
    return legend

"""A training: scores over its rounds, and whether its predictions are calibrated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerbayes.figures.canvas import COLOURS, LegendEntry, Plot, axis_label
from peerbayes.figures.panels import MOST_SERIES, panel, series_style
from peerbayes.figures.scales import linear_scale, log_scale
from peerbayes.figures.wording import percentage
from theory.validation import FloatArray

# Rounds beyond which, relative to the first, the axis is logarithmic.
_WIDE = 30.0


def course_plot(
    rounds: FloatArray,
    values: FloatArray,
    names: Sequence[str],
    *,
    title: str,
    finding: str,
    quantity: str,
    kept: float | None = None,
    along: str = "round",
) -> Plot:
    """A quantity over the rounds: a line an agent for nine agents, mean and range for more.

    Parameters
    ----------
    rounds, values
        Shapes (T,) and (T, N); NaN where nothing was measured.
    kept
        The round whose beliefs were kept, if it is worth a mark.
    along
        What `rounds` are, where they are others: such as bytes sent so far.
    """
    wide = rounds[-1] > _WIDE * rounds[0]
    x = log_scale(rounds) if wide else linear_scale(rounds)
    known = values[np.isfinite(values)]
    positive = known.size and known.min() > 0 and known.max() > _WIDE * known.min()
    figure, axes = panel(x, log_scale(known) if positive else linear_scale(known))
    legend = []
    if values.shape[1] <= MOST_SERIES:
        for agent, name in enumerate(names):
            colour, mark = series_style(agent)
            axes.plot(
                rounds, values[:, agent], mark, color=COLOURS[colour], markersize=3.5,
                linestyle="-", linewidth=1.4, zorder=4,
                markeredgecolor=COLOURS["paper"], markeredgewidth=0.3,
            )  # fmt: skip
            legend.append(LegendEntry(mark, colour, name))
    else:
        filled = np.where(np.isfinite(values).any(axis=1, keepdims=True), values, 0.0)
        low, mean, high = (f(filled, axis=1) for f in (np.nanmin, np.nanmean, np.nanmax))
        axes.fill_between(rounds, low, high, color=COLOURS["cloud"], linewidth=0, zorder=2)
        axes.plot(rounds, mean, color=COLOURS["measured"], linewidth=1.6, zorder=4)
        legend = [
            LegendEntry("line", "measured", "mean over agents"),
            LegendEntry("s", "cloud", "all agents"),
        ]
    if kept is not None:
        axes.axvline(kept, color=COLOURS["ink"], linewidth=1, dashes=(4, 2.5), zorder=3)
        legend.append(LegendEntry("dashes", "ink", "beliefs kept"))
    axis_label(axes, x=along, y=quantity)
    return Plot(figure, title, finding, tuple(legend))


def reliability_plot(bins: FloatArray) -> Plot:
    """How often the likeliest class is right, against the probability given to it.

    Parameters
    ----------
    bins
        Shape (B, 3): of each bin the examples, the sum of their top probabilities, and how many
        were right.
    """
    filled = bins[bins[:, 0] > 0]
    confidence, right = filled[:, 1] / filled[:, 0], filled[:, 2] / filled[:, 0]
    scale = linear_scale([0.0, 1.0], zero=True)
    figure, axes = panel(scale, scale)
    axes.plot([0, 1], [0, 1], color=COLOURS["ink"], linewidth=1, dashes=(4, 2.5), zorder=2)
    sizes = 12 + 90 * filled[:, 0] / filled[:, 0].max()
    axes.plot(confidence, right, color=COLOURS["measured"], linewidth=1.2, zorder=3)
    axes.scatter(confidence, right, s=sizes, color=COLOURS["measured"], zorder=4, linewidth=0)
    axis_label(axes, x="probability of the likeliest class", y="share right")
    total = filled.sum(axis=0)
    return Plot(
        figure,
        "Reliability",
        f"Areas grow with the number of predictions. On average the likeliest class gets "
        f"{percentage(total[1] / total[0])} and is right in {percentage(total[2] / total[0])}; "
        "below the diagonal predictions are too sure.",
        (
            LegendEntry("o", "measured", "a bin of predictions"),
            LegendEntry("dashes", "ink", "calibrated"),
        ),
    )


def rank_plot(bins: FloatArray) -> Plot:
    """Where the truth lies in its predictive distribution: shares of u = F(y) in equal bins.

    Parameters
    ----------
    bins
        Shape (B, 3): the first column counts labels.
    """
    shares = bins[:, 0] / bins[:, 0].sum()
    count = len(shares)
    figure, axes = panel(
        linear_scale([0.0, 1.0], zero=True), linear_scale([*shares, 1 / count], zero=True)
    )
    edges = np.linspace(0, 1, count + 1)
    axes.bar(edges[:-1], shares, 1 / count, align="edge", color=COLOURS["cloud"],
             edgecolor=COLOURS["measured"], linewidth=0.8, zorder=3)  # fmt: skip
    axes.axhline(1 / count, color=COLOURS["ink"], linewidth=1, dashes=(4, 2.5), zorder=4)
    axis_label(axes, x="u = F(y)", y="share of labels")
    middle = float(shares[(edges[:-1] >= 0.25) & (edges[1:] <= 0.75)].sum())
    covered = float(((edges[:-1] >= 0.25) & (edges[1:] <= 0.75)).sum() / count)
    return Plot(
        figure,
        "Probability integral transform",
        f"Flat where predictions are calibrated. {percentage(middle)} of the labels lie in the "
        f"middle {percentage(round(covered, 3))} of their predictive distributions: fewer than that"
        " where predictions are too sure, more where they are too careful.",
        (
            LegendEntry("s", "cloud", "share of labels"),
            LegendEntry("dashes", "ink", "calibrated"),
        ),
    )

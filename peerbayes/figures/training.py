"""Nets over their rounds: scores, confidence, widths of beliefs; calibration and confusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.patches import Rectangle

from peerbayes.figures.chart import (
    COLOURS,
    DASHES,
    MOST_SERIES,
    SMALL,
    Chart,
    Plot,
    Scale,
    add_axes,
    axis_label,
    floats,
    linear_scale,
    log_scale,
    new_figure,
    series_style,
)
from peerbayes.figures.wording import number, percentage
from theory.validation import FloatArray

# Rounds beyond which, relative to the first, the axis is logarithmic.
_WIDE = 30.0


@dataclass(frozen=True, eq=False)
class Course:
    """Measurements over rounds, over steps or over bytes.

    Attributes
    ----------
    along
        Shape (n,): rounds, or what is counted in their place.
    main, other
        Shapes (n,): drawn as a line with marks and as dashes, such as accuracies after and before
        consensus; NaN where nothing was measured.
    """

    name: str
    along: FloatArray
    main: FloatArray
    other: FloatArray


@dataclass(frozen=True, eq=False)
class Widths:
    """Quantiles of σ over rounds, 5, 25, 50, 75 and 95 %: shape (n, 5)."""

    name: str
    along: FloatArray
    spread: FloatArray


def courses_plot(
    courses: Sequence[Course],
    y: Scale | None = None,
    *,
    title: str,
    finding: str,
    quantity: str,
    along: str = "round",
    dashes: str = "before consensus",
) -> Plot:
    """Courses of several trainings, nine at most, over a logarithmic axis.

    Parameters
    ----------
    y
        The scale of the quantity; left out: linear, as far as it was measured.
    finding
        What is to be seen; how many courses are left out is added.
    dashes
        What the dashes are, for the legend.
    """
    shown = list(courses[:MOST_SERIES])
    values = np.concatenate([part for one in shown for part in (one.main, one.other)])
    x = log_scale(np.concatenate([one.along for one in shown]))
    chart = Chart(x, y or linear_scale(values))
    for index, one in enumerate(shown):
        colour, mark = series_style(index)
        chart.line(one.along, one.other, colour, width=1, dashes=DASHES, over=2.5)
        chart.marks(one.along, one.main, colour, mark, one.name, joined=1.4, over=4)
    if any(np.isfinite(one.other).any() for one in shown):
        chart.name("dashes", "ink", dashes)
    hidden = len(courses) - len(shown)
    finding += f" {hidden} curves are not drawn." * (hidden > 0)
    return chart.plot(title, finding, x=along, y=quantity)


def sigma_plot(series: Sequence[Widths]) -> Plot | None:
    """How wide the beliefs are: median, and from 5 to 95 % of the weights."""
    if not series:
        return None
    values = np.concatenate([one.spread[:, (0, 2, 4)].ravel() for one in series])
    chart = Chart(log_scale(np.concatenate([one.along for one in series])), log_scale(values))
    for index, one in enumerate(series):
        colour, mark = series_style(index)
        chart.band(one.along, one.spread[:, 0], one.spread[:, 4], colour, alpha=0.15)
        chart.marks(one.along, one.spread[:, 2], colour, mark, one.name, joined=1.4, over=4)
    last = "; ".join(
        f"{one.name}: {number(one.spread[-1, 2], 3)}, 90 % of the weights from "
        f"{number(one.spread[-1, 0], 2)} to {number(one.spread[-1, 4], 2)}"
        for one in series
    )
    return chart.plot(
        "Widths of the beliefs",
        f"Median σ of the weights, averaged over agents; shaded: 5 to 95 %. At the end {last}.",
        x="round",
        y="σ",
    )


def agents_plot(
    along: FloatArray,
    values: FloatArray,
    names: Sequence[str],
    *,
    title: str,
    finding: str,
    quantity: str,
    kept: float | None = None,
    x: str = "round",
) -> Plot:
    """A quantity over the rounds: a line an agent for nine agents, mean and range for more.

    Parameters
    ----------
    along, values
        Shapes (T,) and (T, N); NaN where nothing was measured.
    kept
        The round whose beliefs were kept, if it is worth a mark.
    x
        What is counted along the axis, such as bytes sent so far.
    """
    wide = along[-1] > _WIDE * along[0]
    known = values[np.isfinite(values)]
    positive = known.size and known.min() > 0 and known.max() > _WIDE * known.min()
    chart = Chart(
        log_scale(along) if wide else linear_scale(along),
        log_scale(known) if positive else linear_scale(known),
    )
    if values.shape[1] <= MOST_SERIES:
        for agent, name in enumerate(names):
            style = series_style(agent)
            chart.marks(along, values[:, agent], *style, name, size=3.5, joined=1.4, over=4)
    else:
        filled = np.where(np.isfinite(values).any(axis=1, keepdims=True), values, 0.0)
        low, mean, high = (f(filled, axis=1) for f in (np.nanmin, np.nanmean, np.nanmax))
        chart.line(along, mean, "measured", "mean over agents", width=1.6, over=4)
        chart.band(along, low, high, "cloud")
        chart.name("s", "cloud", "all agents")
    if kept is not None:
        chart.axes.axvline(kept, color=COLOURS["ink"], linewidth=1, dashes=DASHES, zorder=3)
        chart.name("dashes", "ink", "beliefs kept")
    return chart.plot(title, finding, x=x, y=quantity)


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
    chart = Chart(scale, scale)
    sizes = 12 + 90 * filled[:, 0] / filled[:, 0].max()
    chart.line(confidence, right, "measured", width=1.2)
    chart.axes.scatter(confidence, right, s=sizes, color=COLOURS["measured"], zorder=4, linewidth=0)
    chart.name("o", "measured", "a bin of predictions")
    chart.line([0, 1], [0, 1], "ink", "calibrated", width=1, dashes=DASHES, over=2)
    total = filled.sum(axis=0)
    return chart.plot(
        "Reliability",
        f"Areas grow with the number of predictions. On average the likeliest class gets "
        f"{percentage(total[1] / total[0])} and is right in {percentage(total[2] / total[0])}; "
        "below the diagonal predictions are too sure.",
        x="probability of the likeliest class",
        y="share right",
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
    y = linear_scale([*shares, 1 / count], zero=True)
    chart = Chart(linear_scale([0.0, 1.0], zero=True), y)
    edges = np.linspace(0, 1, count + 1)
    chart.axes.bar(
        edges[:-1], shares, 1 / count, align="edge", color=COLOURS["cloud"],
        edgecolor=COLOURS["measured"], linewidth=0.8, zorder=3,
    )  # fmt: skip
    chart.name("s", "cloud", "share of labels")
    chart.level(1 / count, "calibrated", over=4)
    in_middle = (edges[:-1] >= 0.25) & (edges[1:] <= 0.75)
    middle, covered = float(shares[in_middle].sum()), float(in_middle.sum() / count)
    return chart.plot(
        "Probability integral transform",
        f"Flat where predictions are calibrated. {percentage(middle)} of the labels lie in the "
        f"middle {percentage(round(covered, 3))} of their predictive distributions: fewer than that"
        " where predictions are too sure, more where they are too careful.",
        x="u = F(y)",
        y="share of labels",
    )


def label_plot(
    confidence: Mapping[str, Sequence[float]],
    classes: Sequence[str],
    held: Sequence[int],
    *,
    name: str,
) -> Plot:
    """Confidence in the true label at the end, label by label, before and after consensus."""
    places = np.arange(len(classes))
    marked = tuple(map(float, places))
    x = Scale(-0.6, len(classes) - 0.4, marked, tuple(map(str, places)))
    chart = Chart(x, linear_scale([0.0, 1.0], zero=True))
    for index, tick in enumerate(chart.axes.get_xticklabels()):
        tick.set_color(COLOURS["ink" if index in held else "muted"])
    before, after = (floats(confidence[when]) for when in ("before", "after"))
    for index, (when, values) in enumerate((("before", before), ("after", after))):
        label = f"{when} consensus"
        chart.marks(places, values, *series_style(index), label, size=5, over=4)
    chart.axes.vlines(places, before, after, color=COLOURS["muted"], linewidth=1, zorder=2.5)
    least = int(np.argmin(before))
    return chart.plot(
        f"Confidence by label, {name}",
        "Mean probability of the true label in the last round, over all test images; darker labels "
        f"are in the agents’ own data. Least before consensus: “{classes[least]}”, "
        f"{number(float(before[least]), 3)}; {number(float(after[least]), 3)} after it.",
        x="true label",
        y="confidence",
    )


def confusion_plot(
    confusion: Sequence[Sequence[float]], classes: Sequence[str], held: Sequence[int], *, name: str
) -> Plot:
    """Which class is taken for which: rows are true, shares of a row are shades."""
    counts = floats(confusion)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    labels = [
        f"{index} {word}" if word != str(index) else word for index, word in enumerate(classes)
    ]
    figure = new_figure(3.5)
    axes = add_axes(figure, left=1.15, right=0.1, bottom=0.45, top=0.1)
    count = len(classes)
    axes.set(xlim=(0, count), ylim=(count, 0))
    axes.grid(False)
    for true, guess in np.argwhere(shares >= 0.005).tolist():
        share = float(shares[true, guess])
        colour = COLOURS["predicted" if true == guess else "bad"]
        axes.add_patch(
            Rectangle((guess, true), 1, 1, facecolor=colour, alpha=0.1 + 0.6 * share, linewidth=0)
        )
        axes.text(
            guess + 0.5, true + 0.5, f"{100 * share:.0f}",
            ha="center", va="center", fontsize=7.5, color=COLOURS["ink"],
        )  # fmt: skip
    places = np.arange(count) + 0.5
    axes.set_xticks(places, [str(index) for index in range(count)], fontsize=SMALL)
    axes.set_yticks(places, labels, fontsize=8)
    for index, tick in enumerate(axes.get_yticklabels()):
        tick.set_color(COLOURS["ink" if index in held else "muted"])
    axis_label(axes, x="predicted class")
    wrong = shares - np.diag(np.diag(shares))
    worst_true, worst_guess = divmod(int(np.argmax(wrong)), count)
    return Plot(
        figure,
        f"Confusion matrix, {name}",
        "Per cent of each true class; darker labels are in the agent’s own data. Most often wrong: "
        f"“{classes[worst_true]}” taken for “{classes[worst_guess]}”, "
        f"{100 * float(wrong.max()):.0f} %.",
    )

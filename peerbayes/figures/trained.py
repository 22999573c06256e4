"""Nets over their rounds: accuracy, confidence, widths of beliefs, and confusions at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from peerbayes.figures.canvas import (
    COLOURS,
    SMALL,
    LegendEntry,
    Plot,
    add_axes,
    axis_label,
    new_figure,
)
from peerbayes.figures.panels import HEIGHT, panel, series_style
from peerbayes.figures.scales import linear_scale, log_scale
from peerbayes.figures.wording import number
from theory.validation import FloatArray

_MOST_SERIES = 9


@dataclass(frozen=True, eq=False)
class Course:
    """A measurement over rounds, or over steps: shapes (n,); NaN where nothing was measured."""

    name: str
    along: FloatArray
    after: FloatArray
    before: FloatArray


@dataclass(frozen=True, eq=False)
class Confidence:
    """Mean probability of the true label over rounds: of labels held, and of others'; (n,)."""

    name: str
    along: FloatArray
    inside: FloatArray
    outside: FloatArray


@dataclass(frozen=True, eq=False)
class Widths:
    """Quantiles of σ over rounds, 5, 25, 50, 75 and 95 %: shape (n, 5)."""

    name: str
    along: FloatArray
    spread: FloatArray


def accuracy_plot(
    courses: Sequence[Course], *, title: str, who: str, sampled: bool, by_steps: bool = False
) -> Plot:
    """Test accuracy over the rounds: after consensus as a line with marks, before it in dashes.

    Parameters
    ----------
    courses
        Accuracies in per cent.
    who
        Whom they are of, in words.
    sampled
        Whether they are by sampled prediction.
    by_steps
        Whether they are drawn over the steps of each learner: learners alone have no rounds.
    """
    shown = list(courses[:_MOST_SERIES])
    values = np.concatenate([part for one in shown for part in (one.after, one.before)])
    along = log_scale(np.concatenate([one.along for one in shown]))
    figure, axes = panel(along, linear_scale(values[np.isfinite(values)]))
    legend = _courses(axes, shown)
    axis_label(axes, x="steps of each learner" if by_steps else "round", y="accuracy [%]")
    last = ", ".join(f"{one.name} {number(one.after[-1], 4)}" for one in shown[:5])
    hidden = len(courses) - len(shown)
    return Plot(
        figure,
        title,
        f"At the end: {last}. Means over {who} and seeds, on a sample of the test images"
        f"{', by sampled prediction' * sampled}."
        f"{f' {hidden} curves are not drawn.' * (hidden > 0)}",
        legend,
    )


def loss_plot(courses: Sequence[Course]) -> Plot:
    """Negative log-likelihood against the steps of each learner."""
    shown = list(courses[:_MOST_SERIES])
    values = np.concatenate([part for one in shown for part in (one.after, one.before)])
    along = log_scale(np.concatenate([one.along for one in shown]))
    figure, axes = panel(along, log_scale(values[np.isfinite(values)]))
    legend = _courses(axes, shown)
    axis_label(axes, x="steps of each learner", y="−log p [nats]")
    last = ", ".join(f"{one.name} {number(one.after[-1], 3)}" for one in shown[:6])
    return Plot(
        figure,
        "Negative log-likelihood against work",
        f"Of the test labels, averaged over agents; lower is better. At the end: {last}.",
        legend,
    )


def traffic_plot(courses: Sequence[Course], *, quantity: str) -> Plot:
    """A quantity after consensus over the MB that all agents have sent so far."""
    shown = list(courses[:_MOST_SERIES])
    values = np.concatenate([one.after for one in shown])
    along = log_scale(np.concatenate([one.along for one in shown]))
    figure, axes = panel(along, linear_scale(values[np.isfinite(values)]))
    legend = _courses(axes, shown)
    axis_label(axes, x="MB sent", y=quantity)
    last = ", ".join(
        f"{one.name} {number(one.after[-1], 3)} after {number(one.along[-1], 3)} MB"
        for one in shown[:5]
    )
    return Plot(
        figure,
        f"Against bytes: {quantity}",
        f"After consensus, over all that was sent on all links. At the end: {last}.",
        legend,
    )


def _courses(axes: Any, courses: Sequence[Course]) -> tuple[LegendEntry, ...]:
    """Draw them; their legend."""
    legend = []
    for index, one in enumerate(courses):
        colour, mark = series_style(index)
        axes.plot(
            one.along, one.before, color=COLOURS[colour], linewidth=1, dashes=(3, 2), zorder=2.5
        )
        _line(axes, one.along, one.after, colour, mark)
        legend.append(LegendEntry(mark, colour, one.name))
    if any(np.isfinite(one.before).any() for one in courses):
        legend.append(LegendEntry("dashes", "ink", "before consensus"))
    return tuple(legend)


def confidence_plot(series: Sequence[Confidence], *, when: str = "after") -> Plot | None:
    """Confidence in labels of an agent's own data, and in labels that only others have.

    `when` says of which belief: ``"before"`` or ``"after"`` consensus.
    """
    shown = [one for one in series if np.isfinite(one.outside).any()]
    if not shown:
        return None
    figure, axes = panel(
        log_scale(np.concatenate([one.along for one in shown])),
        linear_scale([0.0, 1.0], zero=True),
    )
    legend = []
    for index, one in enumerate(shown):
        colour, mark = series_style(index)
        _line(axes, one.along, one.inside, colour, mark)
        axes.plot(
            one.along, one.outside, color=COLOURS[colour], linewidth=1.4, dashes=(3, 2), zorder=3
        )
        legend.append(LegendEntry(mark, colour, one.name))
    axis_label(axes, x="round", y="confidence")
    legend.append(LegendEntry("dashes", "ink", "in labels only others have"))
    last = ", ".join(
        f"{one.name} {number(one.inside[-1], 3)} and {number(one.outside[-1], 3)}"
        for one in shown[:4]
    )
    return Plot(
        figure,
        f"Confidence in the true label, {when} consensus",
        "Mean probability given to it, for labels that agents hold themselves (lines) and labels "
        f"that they only hear of (dashes). At the last round: {last}.",
        tuple(legend),
    )


def sigma_plot(series: Sequence[Widths]) -> Plot | None:
    """How wide the beliefs are: median, and from 5 to 95 % of the weights."""
    if not series:
        return None
    values = np.concatenate([one.spread[:, (0, 2, 4)].ravel() for one in series])
    figure, axes = panel(
        log_scale(np.concatenate([one.along for one in series])), log_scale(values)
    )
    legend = []
    for index, one in enumerate(series):
        colour, mark = series_style(index)
        axes.fill_between(
            one.along, one.spread[:, 0], one.spread[:, 4],
            color=COLOURS[colour], alpha=0.15, linewidth=0,
        )  # fmt: skip
        _line(axes, one.along, one.spread[:, 2], colour, mark)
        legend.append(LegendEntry(mark, colour, one.name))
    axis_label(axes, x="round", y="σ")
    last = "; ".join(
        f"{one.name}: {number(one.spread[-1, 2], 3)}, 90 % of the weights from "
        f"{number(one.spread[-1, 0], 2)} to {number(one.spread[-1, 4], 2)}"
        for one in series
    )
    return Plot(
        figure,
        "Widths of the beliefs",
        f"Median σ of the weights, averaged over agents; shaded: 5 to 95 %. At the end {last}.",
        tuple(legend),
    )


def label_plot(
    confidence: Mapping[str, Sequence[float]],
    classes: Sequence[str],
    held: Sequence[int],
    *,
    name: str,
) -> Plot:
    """Confidence in the true label at the end, label by label, before and after consensus."""
    before, after = (np.asarray(confidence[when], dtype=float) for when in ("before", "after"))
    places = np.arange(len(classes))
    figure = new_figure(HEIGHT)
    y = linear_scale([0.0, 1.0], zero=True)
    axes = add_axes(figure, left=0.36 + y.label_width, right=0.2, bottom=0.5, top=0.1)
    y.apply(axes, "y")
    axes.set_xlim(-0.6, len(classes) - 0.4)
    axes.set_xticks(places, [str(index) for index in places], fontsize=SMALL)
    for index, tick in enumerate(axes.get_xticklabels()):
        tick.set_color(COLOURS["ink" if index in held else "muted"])
    for index, values in enumerate((before, after)):
        colour, mark = series_style(index)
        axes.plot(
            places, values, mark, color=COLOURS[colour], markersize=5, zorder=4, linestyle="",
            markeredgecolor=COLOURS["paper"], markeredgewidth=0.4,
        )  # fmt: skip
    axes.vlines(places, before, after, color=COLOURS["muted"], linewidth=1, zorder=2.5)
    axis_label(axes, x="true label", y="confidence")
    legend = [
        LegendEntry(series_style(index)[1], series_style(index)[0], f"{when} consensus")
        for index, when in enumerate(("before", "after"))
    ]
    least = int(np.argmin(before))
    return Plot(
        figure,
        f"Confidence by label, {name}",
        "Mean probability of the true label in the last round, over all test images; darker labels "
        f"are in the agents’ own data. Least before consensus: “{classes[least]}”, "
        f"{number(float(before[least]), 3)}; {number(float(after[least]), 3)} after it.",
        tuple(legend),
    )


def confusion_plot(
    confusion: Sequence[Sequence[float]], classes: Sequence[str], held: Sequence[int], *, name: str
) -> Plot:
    """Which class is taken for which: rows are true, shares of a row are shades."""
    counts = np.array(confusion, dtype=float)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    labels = [
        f"{index} {word}" if word != str(index) else word for index, word in enumerate(classes)
    ]
    figure = new_figure(3.5)
    axes = add_axes(figure, left=1.15, right=0.1, bottom=0.45, top=0.1)
    count = len(classes)
    axes.set(xlim=(0, count), ylim=(count, 0))
    axes.grid(False)
    for true in range(count):
        for guess in range(count):
            share = float(shares[true, guess])
            if share < 0.005:
                continue
            colour = COLOURS["predicted" if true == guess else "bad"]
            axes.add_patch(
                Rectangle(
                    (guess, true), 1, 1, facecolor=colour, alpha=0.1 + 0.6 * share, linewidth=0
                )
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


def _line(axes: Any, along: FloatArray, values: FloatArray, colour: str, mark: str) -> None:
    axes.plot(
        along, values, mark, color=COLOURS[colour], markersize=4, zorder=4, linestyle="-",
        linewidth=1.4, markeredgecolor=COLOURS["paper"], markeredgewidth=0.4,
    )  # fmt: skip

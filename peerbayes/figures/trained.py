"""Nets over their rounds: accuracy, confidence, widths of beliefs, and confusions at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

Run = Mapping[str, Any]
Series = tuple[str, Sequence[Run], tuple[int, ...]]  # its name, its seeds' runs, which agents

_MOST_SERIES = 9


def accuracy_plot(series: Sequence[Series], *, title: str, by_steps: bool = False) -> Plot:
    """Test accuracy over the rounds: after consensus as a line with marks, before it in dashes.

    Learners alone have no rounds; with `by_steps` all are drawn over the steps of each learner.
    """
    along = _steps if by_steps else _rounds
    shown = list(series[:_MOST_SERIES])
    curves = [
        (name, along(runs), _curve(runs, agents, "after"), _curve(runs, agents, "before"))
        for name, runs, agents in shown
    ]
    rounds = np.concatenate([own for _, own, _, _ in curves])
    values = np.concatenate([part for _, _, after, before in curves for part in (after, before)])
    figure, axes = panel(log_scale(rounds), linear_scale(values[np.isfinite(values)]))
    legend = []
    for index, (name, own, after, before) in enumerate(curves):
        colour, mark = series_style(index)
        axes.plot(own, before, color=COLOURS[colour], linewidth=1, dashes=(3, 2), zorder=2.5)
        _line(axes, own, after, colour, mark)
        legend.append(LegendEntry(mark, colour, name))
    axis_label(axes, x="steps of each learner" if by_steps else "round", y="accuracy [%]")
    dashed = any(np.isfinite(before).any() for _, _, _, before in curves)
    if dashed:
        legend.append(LegendEntry("dashes", "ink", "before consensus"))
    last = ", ".join(f"{name} {number(after[-1], 4)}" for name, _, after, _ in curves[:5])
    hidden = len(series) - len(shown)
    return Plot(
        figure,
        title,
        f"At the end: {last}. Means over {_who(shown)} and seeds, on a sample of the test images"
        f"{', by sampled prediction' if _has_samples(shown) else ''}."
        f"{f' {hidden} curves are not drawn.' * (hidden > 0)}",
        tuple(legend),
    )


def loss_plot(series: Sequence[Series]) -> Plot:
    """Negative log-likelihood against the steps of each learner."""
    shown = list(series[:_MOST_SERIES])
    curves = [
        (
            name,
            _steps(runs),
            _curve(runs, (), "after", "nll", 1.0),
            _curve(runs, (), "before", "nll", 1.0),
        )
        for name, runs, _ in shown
    ]
    steps = np.concatenate([along for _, along, _, _ in curves])
    values = np.concatenate([part for _, _, after, before in curves for part in (after, before)])
    figure, axes = panel(log_scale(steps), log_scale(values[np.isfinite(values)]))
    legend = []
    for index, (name, along, after, before) in enumerate(curves):
        colour, mark = series_style(index)
        axes.plot(along, before, color=COLOURS[colour], linewidth=1, dashes=(3, 2), zorder=2.5)
        _line(axes, along, after, colour, mark)
        legend.append(LegendEntry(mark, colour, name))
    if any(np.isfinite(before).any() for _, _, _, before in curves):
        legend.append(LegendEntry("dashes", "ink", "before consensus"))
    axis_label(axes, x="steps of each learner", y="−log p [nats]")
    last = ", ".join(f"{name} {number(after[-1], 3)}" for name, _, after, _ in curves[:6])
    return Plot(
        figure,
        "Negative log-likelihood against work",
        f"Of the test labels, averaged over agents; lower is better. At the end: {last}.",
        tuple(legend),
    )


def confidence_plot(series: Sequence[Series], *, when: str = "after") -> Plot | None:
    """Confidence in labels of an agent's own data, and in labels that only others have.

    `when` says of which belief: ``"before"`` or ``"after"`` consensus.
    """
    curves = []
    for name, runs, agents in series:
        inside = _curve(runs, agents, when, "in_domain_confidence", 1.0)
        outside = _curve(runs, agents, when, "out_of_domain_confidence", 1.0)
        if np.isfinite(outside).any():
            curves.append((name, _rounds(runs), inside, outside))
    if not curves:
        return None
    figure, axes = panel(
        log_scale(np.concatenate([along for _, along, _, _ in curves])),
        linear_scale([0.0, 1.0], zero=True),
    )
    legend = []
    for index, (name, along, inside, outside) in enumerate(curves):
        colour, mark = series_style(index)
        _line(axes, along, inside, colour, mark)
        axes.plot(along, outside, color=COLOURS[colour], linewidth=1.4, dashes=(3, 2), zorder=3)
        legend.append(LegendEntry(mark, colour, name))
    axis_label(axes, x="round", y="confidence")
    legend.append(LegendEntry("dashes", "ink", "in labels only others have"))
    last = ", ".join(
        f"{name} {number(inside[-1], 3)} and {number(outside[-1], 3)}"
        for name, _, inside, outside in curves[:4]
    )
    return Plot(
        figure,
        f"Confidence in the true label, {when} consensus",
        "Mean probability given to it, for labels that agents hold themselves (lines) and labels "
        f"that they only hear of (dashes). At the last round: {last}.",
        tuple(legend),
    )


def sigma_plot(series: Sequence[Series]) -> Plot | None:
    """How wide the beliefs are: median, and from 5 to 95 % of the weights."""
    curves = []
    for name, runs, _ in series:
        if all(point["sigma"] for run in runs for point in run["curve"]["points"]):
            spread = np.mean(
                [
                    [np.mean(_array2(point["sigma"]), axis=0) for point in run["curve"]["points"]]
                    for run in runs
                ],
                axis=0,
            )
            curves.append((name, _rounds(runs), spread))
    if not curves:
        return None
    values = np.concatenate([spread[:, (0, 2, 4)].ravel() for _, _, spread in curves])
    figure, axes = panel(
        log_scale(np.concatenate([along for _, along, _ in curves])), log_scale(values)
    )
    legend = []
    for index, (name, along, spread) in enumerate(curves):
        colour, mark = series_style(index)
        axes.fill_between(
            along, spread[:, 0], spread[:, 4], color=COLOURS[colour], alpha=0.15, linewidth=0
        )
        _line(axes, along, spread[:, 2], colour, mark)
        legend.append(LegendEntry(mark, colour, name))
    axis_label(axes, x="round", y="σ")
    last = "; ".join(
        f"{name}: {number(spread[-1, 2], 3)}, 90 % of the weights from {number(spread[-1, 0], 2)} "
        f"to {number(spread[-1, 4], 2)}"
        for name, _, spread in curves
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


def _who(series: Sequence[Series]) -> str:
    """Whom the curves are of: over the rounds not everybody is looked at."""
    curves = [run["curve"] for _, runs, _ in series for run in runs]
    seen = min(len(curve["agents"]) for curve in curves)
    known = max(len(curve["last"]["mean"]["accuracy"]) for curve in curves)
    return "agents" if seen == known else f"the first {seen} of {known} agents"


def _has_samples(series: Sequence[Series]) -> bool:
    return all("sampled" in run["curve"]["last"] for _, runs, _ in series for run in runs)


def _points(runs: Sequence[Run], value: Callable[[Mapping[str, Any]], float]) -> FloatArray:
    """The mean over seeds of something of each recorded round."""
    rows = [[value(point) for point in run["curve"]["points"]] for run in runs]
    return np.asarray(np.mean(rows, axis=0), dtype=float)


def _rounds(runs: Sequence[Run]) -> FloatArray:
    return _points(runs, lambda point: float(point["round"]))


def _steps(runs: Sequence[Run]) -> FloatArray:
    learners = _learners(runs[0])
    return _points(runs, lambda point: point["local_steps"] / learners)


def _learners(run: Run) -> int:
    return 1 if run["role"] == "central" else int(run["network"]["agents"])


def _curve(
    runs: Sequence[Run],
    agents: Sequence[int],
    when: str,
    what: str = "accuracy",
    scale: float = 100.0,
) -> FloatArray:
    """A measurement over the recorded rounds, averaged over agents and seeds."""

    def value(point: Mapping[str, Any]) -> float:
        seen = point[when]
        if seen is None:
            return np.nan
        values = (seen.get("sampled") or seen["mean"]).get(what)
        if values is None:
            return np.nan
        chosen = [values[k] for k in agents if k < len(values)] if agents else values
        known = [entry for entry in chosen if entry is not None]
        return scale * float(np.mean(known)) if known else np.nan

    return _points(runs, value)


def _array2(values: Sequence[Sequence[float]]) -> FloatArray:
    return np.array(values, dtype=float)

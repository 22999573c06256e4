"""What the page says of `rate-link`: speed over the predicted rate, and the curves behind it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerbayes.experiments.link_documents import LinkRun, TrainedPart
from peerbayes.experiments.link_lines import rounds_reached
from peerbayes.figures.canvas import (
    COLOURS,
    LegendEntry,
    Plot,
    axis_label,
)
from peerbayes.figures.panels import panel, series_style
from peerbayes.figures.scales import log_scale
from peerbayes.figures.views import Fact
from peerbayes.figures.wording import count, number
from peerbayes.report.run_view import RunView
from theory.validation import FloatArray


def link_view(run: LinkRun, *, key: str) -> RunView:
    """Everything the page says of the link."""
    settings, parts = run.settings, run.parts_found
    names = [name for name in settings.networks if name in parts.trained]
    trained = [parts.trained[name] for name in names]
    plots: list[Plot] = []
    if parts.snapshots is not None and names:
        forecasts = parts.snapshots.forecasts
        rates = np.array([forecasts[name].rate for name in names])
        rounds = rounds_reached(trained, index=0)
        plots += link_plot(names, rates, rounds, target=settings.targets[0])
    if names:
        plots.append(losses_plot(names, trained))
    facts = (
        Fact("Networks", count(len(names))),
        Fact("Seeds", count(run.replicates), f"of each, seed {run.seed}"),
        Fact("Net", "–".join(map(str, settings.hidden)), "units of the hidden layers"),
        Fact("Adam’s ε", number(settings.mean_epsilon)),
    )
    return RunView.of(run, facts, plots, key=key)


def link_plot(
    names: Sequence[str], rates: FloatArray, rounds: FloatArray, *, target: float
) -> list[Plot]:
    """Rounds to a test loss over 1/K, a mark for each seed, with the line rounds · K = constant.

    Nothing, if no seed of any network came down to the loss.
    """
    times = 1 / rates
    reached = np.isfinite(rounds) & (rounds > 0)
    if not reached.any():
        return []
    each = np.broadcast_to(times[:, None], rounds.shape)[reached]
    constant = float(np.exp(np.mean(np.log(rounds[reached]) - np.log(each))))
    line = constant * np.array([times.min(), times.max()])
    figure, axes = panel(log_scale(times), log_scale([*rounds[reached], *line]))
    axes.plot(
        [times.min(), times.max()], line, color=COLOURS["predicted"], linewidth=1.2, dashes=(4, 2)
    )
    legend = []
    for index, name in enumerate(names):
        own = rounds[index][reached[index]]
        colour, mark = series_style(index)
        axes.plot(
            np.full(own.size, times[index]), own, mark, color=COLOURS[colour], markersize=5,
            markeredgecolor=COLOURS["paper"], markeredgewidth=0.4, zorder=4,
        )  # fmt: skip
        legend.append(LegendEntry(mark, colour, name))
    axis_label(axes, x="1/K [rounds a nat]", y="rounds")
    legend.append(LegendEntry("dashes", "predicted", "rounds · K constant"))
    missing = int((~reached).sum())
    left = f" {missing} of {rounds.size} runs did not come down to it." if missing else ""
    return [
        Plot(
            figure,
            f"Rounds to test loss {target:g}, over what the predicted rate says",
            "A mark is a seed; K is computed from nets trained in one place, before any network "
            f"is trained.{left}",
            tuple(legend),
        )
    ]


def losses_plot(names: Sequence[str], trained: Sequence[TrainedPart]) -> Plot:
    """Test loss over the rounds, the mean over agents and seeds."""
    curves = [(np.array(one.rounds), np.array(one.losses).mean(axis=0)) for one in trained]
    rounds = np.concatenate([own[own > 0] for own, _ in curves])
    losses = np.concatenate([own for _, own in curves])
    figure, axes = panel(log_scale(rounds), log_scale(losses))
    legend = []
    for index, (name, (own, loss)) in enumerate(zip(names, curves, strict=True)):
        colour = f"series-{index % 10}"
        axes.plot(own[own > 0], loss[own > 0], color=COLOURS[colour], linewidth=1.4)
        legend.append(LegendEntry("line", colour, name))
    axis_label(axes, x="round", y="test loss [nats]")
    return Plot(
        figure,
        "Test loss over the rounds",
        "By mean weights, the mean over agents and seeds. Where the informative agent counts for "
        "little, the others first teach everybody that there are two labels only.",
        tuple(legend),
    )

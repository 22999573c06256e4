"""What the page says of `gae`: the paper's Fig. 4 redrawn, and what the autoencoder makes of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerbayes.experiments.gae_documents import (
    GaeAutoencoderPart,
    GaeContent,
    GaeRun,
    GaeRunPart,
)
from peerbayes.figures.canvas import COLOURS, LegendEntry, Mark, Plot, axis_label
from peerbayes.figures.panels import panel
from peerbayes.figures.scales import linear_scale, log_scale
from peerbayes.figures.views import Fact
from peerbayes.figures.wording import count
from peerbayes.report.run_view import RunView

# Runs of Fig. 4 by what they share a colour for: nodes and split.
_GROUPS = ("balanced 4", "unbalanced 4", "balanced 16", "unbalanced 16")
# Ways of sending that are drawn over the bits sent.
_SENT = ("full", "pruned", "GAE", "spline", "coded", "differences")
_WAYS: tuple[tuple[str, Mark, tuple[int, ...]], ...] = (
    ("GAE", "line", ()),
    ("pruned", "dots", (1, 2)),
)


def gae_view(run: GaeRun, *, key: str) -> RunView:
    """Everything the page says of one record of `gae`."""
    found = run.found
    plots = [accuracies_plot(found)] if any(one.printed for one in found.runs) else []
    facts = [
        Fact("Seeds", count(run.replicates), f"of each run, seed {run.seed}"),
    ]
    if found.runs:
        rounds = {int(one.recipe["rounds"]) for one in found.runs}
        facts.append(Fact("Rounds", " or ".join(map(str, sorted(rounds))), "the paper has 300"))
    plots += [plot for group in _GROUPS if (plot := bits_plot(found, group)) is not None]
    for name, part in found.autoencoders.items():
        plots.append(curve_plot(name, part))
        weights = f"{part.weights:,} weights".replace(",", " ")
        facts.append(Fact(name.capitalize(), weights, f"from {part.curves} snapshots"))
    return RunView.of(run, facts, plots, key=key)


def accuracies_plot(found: GaeContent) -> Plot:
    """Accuracy over rounds, the mean over nodes and seeds: the paper's Fig. 4."""
    drawn: list[tuple[str, str, Mark, tuple[int, ...], Sequence[GaeRunPart]]] = [
        (f"{way} {group}", f"series-{index}", mark, dashes, found.named(f"{way} {group}"))
        for index, group in enumerate(_GROUPS, start=1)
        for way, mark, dashes in _WAYS
    ]
    drawn.insert(0, ("central", "series-0", "line", (), found.named("central")))
    kept = [entry for entry in drawn if entry[-1]]
    curves = [_mean_curve(runs) for *_, runs in kept]
    figure, axes = panel(
        linear_scale([r for rounds, _ in curves for r in rounds], zero=True),
        linear_scale([a for _, means in curves for a in means]),
    )
    legend = []
    for (name, colour, mark, dashes, _), (rounds, means) in zip(kept, curves, strict=True):
        axes.plot(
            rounds, means, color=COLOURS[colour], linewidth=1.4,
            dashes=dashes if dashes else (None, None),
        )  # fmt: skip
        legend.append(LegendEntry(mark, colour, name))
    axis_label(axes, x="round", y="accuracy")
    return Plot(
        figure,
        "Test accuracy over the rounds (Fig. 4 of the paper)",
        "After the exchange, the mean over nodes and seeds; pruned weights dotted, GAE solid.",
        tuple(legend),
    )


def bits_plot(found: GaeContent, group: str) -> Plot | None:
    """Accuracy over what a node has sent, by the way of sending; None where no codec is of ours."""
    runs = {way: found.named(f"{way} {group}") for way in _SENT}
    if not any(one.recipe.get("codec") for own in runs.values() for one in own):
        return None
    curves = {way: _over_bits(own) for way, own in runs.items() if own}
    figure, axes = panel(
        log_scale([bits for along, _ in curves.values() for bits in along]),
        linear_scale([a for _, means in curves.values() for a in means]),
    )
    legend = []
    for way, (along, means) in curves.items():
        colour = f"series-{_SENT.index(way) + 1}"
        axes.plot(along, means, color=COLOURS[colour], linewidth=1.4)
        legend.append(LegendEntry("line", colour, way))
    axis_label(axes, x="bits that a node has sent", y="accuracy")
    return Plot(
        figure,
        f"Test accuracy over bits, {group} nodes",
        "After the exchange, the mean over nodes and seeds; bodies of messages.",
        tuple(legend),
    )


def _over_bits(runs: Sequence[GaeRunPart]) -> tuple[list[float], list[float]]:
    """Bits of one node and accuracies, means over the runs that have the first one's rounds.

    Of rounds that end with an exchange: between two of them nodes drift apart.
    """
    rounds, means = _mean_curve(runs)
    every = int(runs[0].recipe.get("every", 1))
    sent = []
    for one in runs:
        if one.traffic is not None and one.rounds == rounds:
            each = [bits / one.nodes for bits in one.traffic.sent_bits or ()]
            sent.append(each or [one.bits_a_round * done for done in rounds])
    points = zip(rounds, np.mean(sent, axis=0), means, strict=True)
    kept = [(float(bits), mean) for done, bits, mean in points if done % every == 0]
    return [bits for bits, _ in kept], [mean for _, mean in kept]


def _mean_curve(runs: Sequence[GaeRunPart]) -> tuple[list[int], list[float]]:
    """Rounds, and means over nodes and seeds, of the runs that have the first one's rounds."""
    rounds = runs[0].rounds
    means = [np.mean(one.accuracies, axis=1) for one in runs if one.rounds == rounds]
    return rounds, [float(value) for value in np.mean(means, axis=0)]


def curve_plot(name: str, part: GaeAutoencoderPart) -> Plot:
    """A curve of sorted weights, and what the autoencoder of this name and a spline make of it."""
    curve = part.curve
    series: tuple[tuple[str, str, Mark, Sequence[float]], ...] = (
        ("sorted weights", "ink", "line", curve.sorted),
        ("by the autoencoder", "series-1", "line", curve.autoencoder),
        ("by 50 knots on straight lines", "series-3", "dashes", curve.spline),
    )
    values = [value for *_, own in series for value in own]
    figure, axes = panel(linear_scale(curve.ranks), linear_scale(values))
    for _, colour, mark, own in series:
        dashes = (4, 2) if mark == "dashes" else (None, None)
        axes.plot(curve.ranks, own, color=COLOURS[colour], linewidth=1.4, dashes=dashes)
    axis_label(axes, x="rank", y="weight")
    return Plot(
        figure,
        f"What the {name} is given, and what it gives back",
        "The largest weights of a net that was held out of its training, in ascending order, "
        "without the 250 at each end that are sent as they are. Both codes send as many numbers.",
        tuple(LegendEntry(mark, colour, name) for name, colour, mark, _ in series),
    )

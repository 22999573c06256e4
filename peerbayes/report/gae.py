"""The graph autoencoder on a page: the paper's Fig. 4, and what becomes of weights in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerbayes.experiments.gae_rows import GaeAutoencoderPart, GaeContent, GaeRun, GaeRunPart
from peerbayes.figures.canvas import Plot
from peerbayes.figures.chart import DASHES, Chart, linear_scale, log_scale
from peerbayes.figures.views import Fact, Section
from peerbayes.figures.wording import count
from peerbayes.report.experiments import experiment

# Runs of Fig. 4 by what they share a colour for: nodes and split.
_GROUPS = ("balanced 4", "unbalanced 4", "balanced 16", "unbalanced 16")


# Ways of sending that are drawn over the bits sent.
_SENT = ("full", "pruned", "GAE", "spline", "coded", "differences")


def gae_view(run: GaeRun, *, key: str) -> Section:
    """Everything the page says of `gae`: accuracies, bits, and curves of sorted weights."""
    found = run.found
    plots = [accuracies_plot(found)] if any(one.printed for one in found.runs) else []
    facts = [Fact("Seeds", count(run.replicates), f"of each run, seed {run.seed}")]
    if found.runs:
        rounds = {int(one.recipe["rounds"]) for one in found.runs}
        facts.append(Fact("Rounds", " or ".join(map(str, sorted(rounds))), "the paper has 300"))
    plots += [plot for group in _GROUPS if (plot := bits_plot(found, group)) is not None]
    for name, part in found.autoencoders.items():
        plots.append(weights_plot(name, part))
        weights = f"{part.weights:,} weights".replace(",", " ")
        facts.append(Fact(name.capitalize(), weights, f"from {part.curves} snapshots"))
    return experiment(run, facts, plots, key=key)


def accuracies_plot(found: GaeContent) -> Plot:
    """Accuracy over rounds, the mean over nodes and seeds: the paper's Fig. 4."""
    colours = {"central": "series-0"}
    for index, group in enumerate(_GROUPS, start=1):
        colours |= {f"{way} {group}": f"series-{index}" for way in ("GAE", "pruned")}
    curves = {name: _mean_curve(runs) for name in colours if (runs := found.named(name))}
    chart = Chart(
        linear_scale([r for rounds, _ in curves.values() for r in rounds], zero=True),
        linear_scale([a for _, means in curves.values() for a in means]),
    )
    for name, (rounds, means) in curves.items():
        dotted = name.startswith("pruned")
        chart.line(rounds, means, colours[name], dashes=(1, 2) if dotted else None)
        chart.name("dots" if dotted else "line", colours[name], name)
    return chart.plot(
        "Test accuracy over the rounds (Fig. 4 of the paper)",
        "After the exchange, the mean over nodes and seeds; pruned weights dotted, GAE solid.",
        x="round",
        y="accuracy",
    )


def bits_plot(found: GaeContent, group: str) -> Plot | None:
    """Accuracy over what a node has sent, by the way of sending; None where no codec is of ours."""
    runs = {way: found.named(f"{way} {group}") for way in _SENT}
    if not any(one.recipe.get("codec") for own in runs.values() for one in own):
        return None
    curves = {way: _over_bits(own) for way, own in runs.items() if own}
    chart = Chart(
        log_scale([bits for along, _ in curves.values() for bits in along]),
        linear_scale([a for _, means in curves.values() for a in means]),
    )
    for way, (along, means) in curves.items():
        chart.line(along, means, f"series-{_SENT.index(way) + 1}", way)
    return chart.plot(
        f"Test accuracy over bits, {group} nodes",
        "After the exchange, the mean over nodes and seeds; bodies of messages.",
        x="bits that a node has sent",
        y="accuracy",
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


def weights_plot(name: str, part: GaeAutoencoderPart) -> Plot:
    """A curve of sorted weights, and what the autoencoder of this name and a spline make of it."""
    curve = part.curve
    y = linear_scale([*curve.sorted, *curve.autoencoder, *curve.spline])
    chart = Chart(linear_scale(curve.ranks), y)
    chart.line(curve.ranks, curve.sorted, "ink", "sorted weights")
    chart.line(curve.ranks, curve.autoencoder, "series-1", "by the autoencoder")
    words = "by 50 knots on straight lines"
    chart.line(curve.ranks, curve.spline, "series-3", words, dashes=DASHES)
    return chart.plot(
        f"What the {name} is given, and what it gives back",
        "The largest weights of a net that was held out of its training, in ascending order, "
        "without the 250 at each end that are sent as they are. Both codes send as many numbers.",
        x="rank",
        y="weight",
    )

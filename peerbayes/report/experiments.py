"""Experiments of the papers: printed, measured and predicted side by side, and their figures.

`experiment` is what all have in common; a function each adds key numbers and figures: regressions,
the tuned methods, codecs, the graph autoencoder, the link between rates and nets. Nets have a
module of their own (`peerbayes.report.nets`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from peerbayes.experiments.codecs import CodecsPart, CodecTrial
from peerbayes.experiments.experiment import Line, RunRecord, RunSummary
from peerbayes.experiments.gae_rows import GaeAutoencoderPart, GaeContent, GaeRunPart
from peerbayes.experiments.link_rows import LinkContent, TrainedPart, rounds_reached
from peerbayes.experiments.tuned_search import trainings_of
from peerbayes.figures.chart import DASHES, Chart, Plot, linear_scale, log_scale, series_style
from peerbayes.figures.curves import calibration_plot, errors_plot, honesty_plot
from peerbayes.figures.views import BROKEN, HOLDS, Fact, Row, Section, Table, Verdict, pictures
from peerbayes.figures.wording import DASH, count, number
from peerbayes.measured import ErrorCurve
from theory.validation import FloatArray

UNCLAIMED = Verdict("quiet", DASH, "")
"""Of a line that has no prediction which it could contradict."""


def experiment(
    run: RunSummary,
    facts: Iterable[Fact],
    plots: Sequence[Plot | None],
    *,
    key: str,
    tables: tuple[Table, ...] = (),
) -> Section:
    """What every record of ``run`` has, with `facts` behind its source, and its pictures."""
    beside = [line for line in run.lines if line.printed and line.measured is not None]
    return Section(
        key=key,
        name=run.experiment,
        heading=f"{run.experiment}: {run.title}",
        claim=_claim(run.lines),
        finding="".join(
            f"{line.what}: printed “{line.printed}”, measured {number(line.measured, 5)}."
            for line in beside[:1]
        ),
        facts=(Fact("Source", run.source), *facts),
        pictures=pictures(plots, key),
        statements=Table(
            f"Printed, measured and predicted: {run.experiment}",
            "what",
            ("printed", "measured", "± s.e.", "predicted", "remark"),
            tuple(map(_row, run.lines)),
            ("words", "n", "n", "n", "note"),
        ),
        tables=tables,
        setting=f"Seed {run.seed}.",
    )


def _claim(lines: Sequence[Line]) -> Verdict:
    """How many lines agree with their prediction, contradict it, or claim nothing."""
    claimed = [line.holds for line in lines if line.holds is not None]
    broken, silent = claimed.count(False), len(lines) - len(claimed)
    rest = f"; nothing is claimed of the other {silent if silent > 1 else 'one'}" if silent else ""
    if broken:
        verb = "contradicts its" if broken == 1 else "contradict their"
        words = f"{broken} of {len(lines)} lines {verb} prediction beyond sampling error{rest}."
        return Verdict(BROKEN.style, BROKEN.mark, words)
    if not lines:
        return Verdict("quiet", "○", "Too little has been run for any of the lines.")
    if not claimed:
        words = (
            f"Nothing is claimed of {len(lines)} {'line' if len(lines) == 1 else 'lines'}: theory "
            "orders them, and they stand beside what is printed."
        )
        return Verdict("quiet", "○", words)
    agree = f"Measured and predicted agree in {len(claimed)} of {len(lines)} lines"
    return Verdict(HOLDS.style, HOLDS.mark, f"{agree}, sampling error allowed for{rest}.")


def _row(line: Line) -> Row:
    """One line of an experiment as text."""
    return Row(
        line.what,
        (
            line.printed or DASH,
            number(line.measured, 5),
            number(line.standard_error, 2),
            number(line.predicted, 5),
            line.remark,
        ),
        UNCLAIMED if line.holds is None else HOLDS if line.holds else BROKEN,
    )


def run_view(run: RunRecord, *, key: str) -> Section:
    """Everything the page says of a regression experiment."""
    curves = [ErrorCurve.model_validate(run.content[name]) for name in run.parts]
    together = next(curve for curve in curves if curve.role == "cooperating")
    plots = [errors_plot(curves), honesty_plot(together, together.reported)]
    if together.coordinates:
        plots.append(calibration_plot(together.coordinates))
    runs = Fact("Runs", count(run.replicates), f"of each learner, seed {run.seed}")
    return experiment(run, [runs], plots, key=key)


def tuned_view(run: RunRecord, *, key: str) -> Section:
    """Everything the page says of `tuned`: its lines, and how each method was searched."""
    trials = [one for one in trainings_of(run.content) if one.purpose == "search"]
    broken = sum(bool(one.failed) for one in trials)
    facts = (
        Fact("Seeds", count(run.replicates), f"of each test, seed {run.seed}"),
        Fact("Trials", count(len(trials)), f"on validation data; {broken} broke down"),
        net_fact(run.settings["hidden"]),
    )
    return experiment(run, facts, (), key=key)


def net_fact(hidden: Sequence[int], more: str = "") -> Fact:
    """The units of a net's hidden layers."""
    return Fact("Net", "–".join(map(str, hidden)), f"units of the hidden layers{more}")


# Codecs: bits against nats ------------------------------------------------------------------------

# Curves end at silence, where they need no bits: logarithms are drawn from here on.
_LEAST_BITS = 1e-2
# Distances to the limit beyond this are not drawn: they are no news.
_MOST_ABOVE = 6.0
_LIMITS = (("normal", None, "the limit"), ("shannon", DASHES, "Shannon’s lower bound"))

Points = Sequence[tuple[CodecTrial, float, float]]


def codecs_view(run: RunRecord, *, key: str) -> Section:
    """Everything the page says of `codecs`: bits against nats, and how far from the limit."""
    settings = run.settings
    runs = [CodecsPart.model_validate(run.content[name]) for name in run.parts]
    facts = (
        Fact("Data", settings["dataset"]),
        net_fact(settings["hidden"], f"; {count(runs[0].weights)} weights"),
        Fact("Message", count(settings["rounds"]), "of its sender; those before were said too"),
        Fact("Silence", number(runs[0].silence, 3), "nats a weight if nothing were said"),
        Fact("Seeds", count(run.replicates), f"seed {run.seed}"),
    )
    return experiment(run, facts, [limit_plot(runs), distance_plot(runs)], key=key)


def limit_plot(runs: Sequence[CodecsPart]) -> Plot:
    """Bits a weight over nats a weight: the curves of the first seed, the codecs of all."""
    curve, trials = runs[0].curve, runs[0].trials
    points = [(one, one.nats, one.bits) for run in runs for one in run.trials if one.nats > 0]
    bits = [y for *_, y in points] + [b for b in curve.normal if b >= _LEAST_BITS]
    nats = [x for _, x, _ in points] + [curve.nats[-1]]
    chart = Chart(log_scale(nats), log_scale(bits), height=4.4)
    for name, dashes, words in _LIMITS:
        values = np.array(getattr(curve, name))
        drawn = (values >= _LEAST_BITS) & (np.array(curve.nats) >= min(nats))
        chart.line(np.array(curve.nats)[drawn], values[drawn], "ink", words, dashes=dashes)
    _draw(chart, points, trials)
    lossless = [one.name for one in trials if one.nats == 0]
    left = f" Not drawn, for nothing is lost: {'; '.join(lossless)}." if lossless else ""
    return chart.plot(
        "Bits against nats of divergence, codec by codec",
        "A mark is one message of one seed. The line is the least for normal moves since the "
        "message before, one size for each class of rows and columns; the dashes are an estimate "
        f"of what no code beats if moves are independent.{left}",
        x="divergence [nats a weight]",
        y="bits a weight",
    )


def distance_plot(runs: Sequence[CodecsPart]) -> Plot:
    """Bits beyond the limit given each codec's own replica, over bits."""
    points = [
        (one, one.bits, one.above)
        for run in runs
        for one in run.trials
        if one.above is not None and one.above <= _MOST_ABOVE
    ]
    x, y = log_scale([x for _, x, _ in points]), linear_scale([y for *_, y in points], zero=True)
    chart = Chart(x, y)
    _draw(chart, points, runs[0].trials)
    return chart.plot(
        "Distance to the limit",
        "Bits a weight beyond the curve of normal moves since the replica that the codec itself "
        "has, or since the message before where it has none. Moves of nets are not normal: a "
        f"point may lie below 0. Codecs more than {_MOST_ABOVE:g} bits above are left out.",
        x="bits a weight",
        y="bits above the limit",
    )


def _draw(chart: Chart, points: Points, trials: Sequence[CodecTrial]) -> None:
    """The marks; a family looks the same in all figures."""
    for index, family in enumerate(dict.fromkeys(one.family for one in trials)):
        own = np.array([(x, y) for one, x, y in points if one.family == family])
        if own.size:
            x, y = own.T
            chart.marks(x, y, *series_style(index), family, size=5, over=4)


# The link between rates and nets: speed over the predicted rate -----------------------------------


def link_view(run: RunRecord, *, key: str) -> Section:
    """Everything the page says of `rate-link`: speed over predicted rates, and the curves."""
    settings, parts = run.settings, LinkContent.of(run.content)
    networks = settings["networks"]
    trained = {name: parts.trained[name] for name in networks if name in parts.trained}
    names, plots = list(trained), list[Plot | None]()
    if parts.snapshots is not None and names:
        forecasts = parts.snapshots.forecasts
        rates = np.array([forecasts[name].rate for name in names])
        rounds = rounds_reached(list(trained.values()), index=0)
        plots.append(link_plot(names, rates, rounds, target=settings["targets"][0]))
    if names:
        plots.append(losses_plot(trained))
    facts = (
        Fact("Networks", count(len(names))),
        Fact("Seeds", count(run.replicates), f"of each, seed {run.seed}"),
        net_fact(settings["hidden"]),
        Fact("Adam’s ε", number(settings["mean_epsilon"])),
    )
    return experiment(run, facts, plots, key=key)


def link_plot(
    names: Sequence[str], rates: FloatArray, rounds: FloatArray, *, target: float
) -> Plot | None:
    """Rounds to a test loss over 1/K, a mark for each seed, with the line rounds · K = constant.

    None, if no seed of any network came down to the loss.
    """
    times = 1 / rates
    reached = np.isfinite(rounds) & (rounds > 0)
    if not reached.any():
        return None
    each = np.broadcast_to(times[:, None], rounds.shape)[reached]
    constant = float(np.exp(np.mean(np.log(rounds[reached]) - np.log(each))))
    ends = np.array([times.min(), times.max()])
    chart = Chart(log_scale(times), log_scale([*rounds[reached], *constant * ends]))
    for index, name in enumerate(names):
        own = rounds[index][reached[index]]
        at = np.full(own.size, times[index])
        chart.marks(at, own, *series_style(index), name, size=5, over=4)
    words = "rounds · K constant"
    chart.line(ends, constant * ends, "predicted", words, width=1.2, dashes=DASHES)
    missing = int((~reached).sum())
    left = f" {missing} of {rounds.size} runs did not come down to it." if missing else ""
    return chart.plot(
        f"Rounds to test loss {target:g}, over what the predicted rate says",
        "A mark is a seed; K is computed from nets trained in one place, before any network "
        f"is trained.{left}",
        x="1/K [rounds a nat]",
        y="rounds",
    )


def losses_plot(trained: Mapping[str, TrainedPart]) -> Plot:
    """Test loss over the rounds, the mean over agents and seeds."""
    curves = [(np.array(t.rounds), np.array(t.losses).mean(axis=0)) for t in trained.values()]
    x = log_scale(np.concatenate([own[own > 0] for own, _ in curves]))
    chart = Chart(x, log_scale(np.concatenate([own for _, own in curves])))
    for index, (name, (own, loss)) in enumerate(zip(trained, curves, strict=True)):
        chart.line(own[own > 0], loss[own > 0], series_style(index)[0], name)
    return chart.plot(
        "Test loss over the rounds",
        "By mean weights, the mean over agents and seeds. Where the informative agent counts for "
        "little, the others first teach everybody that there are two labels only.",
        x="round",
        y="test loss [nats]",
    )


# The graph autoencoder: the paper's Fig. 4, and what becomes of weights in it --------------------

# Runs of Fig. 4 by what they share a colour for: nodes and split.
_GROUPS = ("balanced 4", "unbalanced 4", "balanced 16", "unbalanced 16")


# Ways of sending that are drawn over the bits sent.
_SENT = ("full", "pruned", "GAE", "spline", "coded", "differences")


def gae_view(run: RunRecord, *, key: str) -> Section:
    """Everything the page says of `gae`: accuracies, bits, and curves of sorted weights."""
    found = GaeContent.of(run.content)
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

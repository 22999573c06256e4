"""Tables and figures of the page on GAE's ring, from the short records in the folder ``gae``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from empirical.gae.recipe import ORIGINS, Recipe
from peerbayes.experiments.experiment import mean_and_error
from peerbayes.experiments.gae import gae_lines
from peerbayes.experiments.gae_rows import (
    AUTOENCODER,
    FEW,
    RUNS,
    TABLE_1,
    TRIALS,
    GaeContent,
    GaeRunPart,
)
from peerbayes.experiments.net_lines import Printed, is_reproduced
from peerbayes.sources.documents import Kept

FOUND: GaeContent = Kept(Path(__file__).parent).gae
_PRINTED = {run.name: float(run.printed) for run in TABLE_1}
# What trials send.
_SENT = {
    "full": "all weights",
    "differences": "differences in steps of 1 root mean square, every 6 rounds",
    "differences every 12": "the same, every 12 rounds",
    "quantised": "weights in steps of 1, no replica, every 6 rounds",
    "differences step 3": "differences in steps of 3",
    "CHOCO 0.01": "the hundredth of the differences that is largest (CHOCO)",
    "CHOCO 0.03": "three hundredths of them",
    "CHOCO 0.03 mixing 0.3": "the same, $\\gamma=.3$",
    "in place 0.03": "three hundredths of the differences, in place; at last all, in steps of 1",
    "wavelet 0.03": "three hundredths of wavelet coefficients (as JWINS)",
    "wavelet 0.04": "four hundredths of wavelet coefficients",
    "wavelet 0.05 step 1": "five hundredths of wavelet coefficients, in steps of 1",
    "wavelet 0.08 every 2": "eight hundredths of wavelet coefficients, every 2 rounds",
    "pruned": "50 000 weights as floats",
    "coded fine": "the same in steps of .02, coded",
}
# What came out after 300 rounds: which run ends ahead of, behind or level with which.
FINDINGS = (
    ("coarse differences now and then end a little behind all weights",
     "differences unbalanced 16", "full unbalanced 16"),
    ("... and ahead of the baseline", "differences unbalanced 16", "pruned unbalanced 16"),
    ("with ten exchanges after the last round they are ahead of all weights",
     "differences unbalanced 16 closing", "full unbalanced 16"),
    ("JWINS's wavelets lead on the way, and end behind them",
     "wavelet unbalanced 16 closing", "differences unbalanced 16 closing"),
    ("a hundred kilobits a round are enough to end ahead of the baseline",
     "differences unbalanced 16 rare", "pruned unbalanced 16"),
    ("... and behind all weights", "differences unbalanced 16 rare", "full unbalanced 16"),
    ("at GAE's bits, without an autoencoder, one is level with the baseline",
     "spline unbalanced 16", "pruned unbalanced 16"),
    ("GAE itself ends behind it", f"GAE unbalanced 16 {FEW}", "pruned unbalanced 16"),
    ("steps that swallow what a round changes end the learning: far behind",
     "coded unbalanced 16", "pruned unbalanced 16"),
    ("fine steps are level, without a replica",
     "coded unbalanced 16 fine", "pruned unbalanced 16"),
    ("where what is not sent stays, pruned messages are far behind",
     "pruned unbalanced 16 masked", "pruned unbalanced 16"),
    ("... and level with no exchange", "pruned unbalanced 16 masked", "alone unbalanced 16"),
    ("who hears of nobody ends far behind", "alone unbalanced 16", "full unbalanced 16"),
    ("balanced nodes by differences end ahead of the baseline",
     "differences balanced 16 closing", "pruned balanced 16"),
    ("... ahead of GAE", "differences balanced 16 closing", f"GAE balanced 16 {FEW}"),
    ("... and level with all weights", "differences balanced 16 closing", "full balanced 16"),
)  # fmt: skip
# How runs of sixteen nodes with eight digits each are drawn.
_DRAWN = {
    "full unbalanced 16": "C7--",
    "spline unbalanced 16": "C2--",
    "pruned unbalanced 16": "C0-",
    f"GAE unbalanced 16 {FEW}": "C1-",
}
# The colours of Fig. 4 of the paper, whose baselines are dotted.
_COLOURS = {
    "central": "red",
    "balanced 4": "tab:blue",
    "unbalanced 4": "tab:orange",
    "balanced 16": "tab:green",
    "unbalanced 16": "black",
}


def table_1() -> str:
    """Table 1 of the paper beside what was measured, bold where that is as printed."""
    rows = []
    for setting in _COLOURS:
        ways = ("central", "") if setting == "central" else (f"pruned {setting}", f"GAE {setting}")
        pairs = [(_accuracy(of_table(way)), _PRINTED.get(way, np.nan)) for way in ways]
        cells = [_digits(one) for pair in pairs for one in pair]
        cells[::2] = [
            f"**{cell}**" if is_as_printed(way) else cell
            for way, cell in zip(ways, cells[::2], strict=True)
        ]
        cells += [_digits(100 * (first - second), 2) for first, second in zip(*pairs, strict=True)]
        rows.append([setting, *cells])
    heads = ("", "baseline", "printed", "GAE", "printed", "GAE behind, points", "printed")
    return _table(heads, rows)


def is_as_printed(name: str) -> bool:
    """Whether the printed accuracy could be one more seed of a run of Table 1."""
    own = of_table(name) if name in _PRINTED else ()
    printed = Printed("", 100 * _PRINTED.get(name, np.nan), 0.005)
    return bool(own) and is_reproduced(printed, [100 * one.accuracy for one in own])


def findings() -> str:
    """Each finding with its two runs: points of accuracy, bits and worst nodes of common seeds."""
    rows = []
    for what, name, other in FINDINGS:
        pairs = paired(name, other)
        both = tuple(zip(*pairs, strict=True))
        ahead, error = mean_and_error([100 * (a.accuracy - b.accuracy) for a, b in pairs])
        cells = [
            f"`{name}`, `{other}`",
            _signed(ahead) + ("" if error is None else f" ± {_digits(error, 2)}"),
            _signed(100 * (mean_at(both[0], 90) - mean_at(both[1], 90))),
            _share(*(sum(one.bits_a_round for one in ones) for ones in both)),
            ", ".join(_digits(_mean([min(a.accuracies[-1]) for a in ones])) for ones in both),
            str(len(pairs)),
        ]
        rows.append([what, *cells])
    heads = ("finding", "runs", "points ahead", "after round 90", "bits", "worst nodes", "seeds")
    return _table(heads, rows)


def paired(name: str, other: str) -> list[tuple[GaeRunPart, GaeRunPart]]:
    """Two runs with each seed that both have on record."""
    theirs = {one.seed: one for one in FOUND.named(other)}
    return [(own, theirs[own.seed]) for own in FOUND.named(name) if own.seed in theirs]


def _signed(number: float) -> str:
    return f"{number:+.2f}".replace("+0.", "+.").replace("-0.", "−.").replace("-", "−")


def _share(sent: float, theirs: float) -> str:
    """Bits over another's."""
    if not sent or not theirs:
        return "none are sent" if not sent else ""
    ratio = theirs / sent
    return f"1/{ratio:.{0 if ratio > 10 else 1}f}" if ratio > 1.5 else f"{sent / theirs:.2f}"


def lines() -> str:
    """Every line of the parts on record: printed beside measured."""
    text = ["| | printed | measured | ± s.e. | |", "|---|---:|---:|---:|---|"]
    for line in gae_lines(replace(FOUND, trials=())):
        error = "" if line.standard_error is None else f"{line.standard_error:.4g}"
        cells = [line.what, line.printed, f"{line.measured:.6g}", error, line.remark]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


def courses(*rounds: int) -> str:
    """Accuracies after some rounds: the mean over nodes and seeds, and the worst node's."""
    rows = []
    for run in RUNS:
        own = FOUND.named(run.name)
        if own:
            means = dict(zip(own[0].rounds, _means(own), strict=True))
            cells = [f"{means[n]:.4f}" if n in means else "" for n in rounds]
            worst = min(min(one.accuracies[-1]) for one in own)
            rows.append([run.name, *cells, f"{worst:.4f}", str(len(own))])
    looks = (f"round {n}" for n in rounds)
    return _table(("run", *looks, "worst node at the end", "seeds"), rows)


def trials(*rounds: int) -> str:
    """Accuracies of all trials after some rounds and the last, without any closing exchange."""
    rows = []
    for name, what in _SENT.items():
        own = FOUND.named(f"trial {name}")
        if own:
            ends = [closing(one, 0) for one in own]
            means = [*(mean_at(own, n) for n in rounds), float(np.mean(ends))]
            error = np.std(ends, ddof=1) / np.sqrt(len(ends)) if len(ends) > 1 else np.nan
            sent = _whole(_mean([kbit_a_round(one) for one in own]))
            cells = [sent, *(_digits(mean, 3) for mean in means), _digits(error, 3), str(len(own))]
            rows.append([what, *cells])
    looks = (f"after {n}" for n in rounds)
    last = f"after {TRIALS[0].recipe.rounds} rounds"
    return _table(("what is sent", "kbit a round", *looks, last, "± s.e.", "seeds"), rows)


def closings(*exchanges: int) -> str:
    """Accuracies of trials after closing exchanges, and what a node has sent in all."""
    rows = []
    for run in TRIALS:
        own = FOUND.named(run.name)
        if own and run.recipe.closing:
            means = (float(np.mean([closing(one, k) for one in own])) for k in (0, *exchanges))
            sent = _mean([one.bits_a_round * int(one.recipe["rounds"]) for one in own]) / 1e6
            what = _SENT[run.name.removeprefix("trial ")]
            rows.append([what, *(_digits(mean, 3) for mean in means), _whole(sent)])
    looks = (f"+ {n} exchanges" for n in exchanges)
    return _table(("what is sent", "after the rounds", *looks, "Mbit a node, in all"), rows)


def choices() -> str:
    """Every field of a recipe, its default and where it is from."""
    rows = (
        f"| `{name}` | {getattr(Recipe(), name)} | {origin} |" for name, origin in ORIGINS.items()
    )
    return "\n".join(["| choice | default | from |", "|---|---|---|", *rows])


def figure_4() -> Figure:
    """Fig. 4 of the paper from what is on record of Table 1, and beside it what is printed."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    axes, printed = figure.subplots(1, 2, sharey=True, width_ratios=(5, 1))
    for run in TABLE_1:
        exchange, _, setting = run.name.partition(" ")
        colour, style = _COLOURS[setting or exchange], ":" if exchange == "pruned" else "-"
        own = of_table(run.name)
        if own:
            axes.plot(own[0].rounds, _means(own), style, color=colour, lw=1.2, label=run.name)
        printed.axhline(_PRINTED[run.name], ls=style, color=colour, lw=1.2)
    axes.set(xlabel="round", ylabel="accuracy after the exchange", xscale="log", ylim=(0.9, 1))
    axes.set_xlim(left=10)
    figure.legend(loc="outside upper center", ncols=3, fontsize="x-small")
    printed.set(xlabel="printed", xticks=())
    return figure


def over_rounds() -> Figure:
    """Sixteen nodes with eight digits each, by what they send; dotted what is printed."""
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    for name, style in _DRAWN.items():
        own = FOUND.named(name)
        if own:
            axes.plot(own[0].rounds, _means(own), style, lw=1.2, label=name)
        printed = _PRINTED.get(name.removesuffix(f" {FEW}"))
        if printed is not None:
            axes.axhline(printed, color=style[:2], ls=":", lw=1)
    axes.set(xlabel="round", ylabel="accuracy after the exchange", xscale="log", ylim=(0.5, 1))
    axes.legend(fontsize="x-small")
    return figure


def reconstruction() -> Figure:
    """A held-out curve of sorted weights, and by how much both codes miss it."""
    curve = FOUND.autoencoders[f"{AUTOENCODER} {FEW}"].curve
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    ways = (("autoencoder", "C1-", curve.autoencoder), ("fifty knots", "C2--", curve.spline))
    left.plot(curve.ranks, curve.sorted, "k-", lw=1.2, label="sorted weights")
    for name, style, made in ways:
        left.plot(curve.ranks, made, style, lw=1, label=name)
        missed = np.abs(np.array(made) - np.array(curve.sorted))
        right.semilogy(curve.ranks, missed, style, lw=1, label=name)
    left.set(xlabel="rank", ylabel="weight")
    right.set(xlabel="rank", ylabel="missed by", ylim=(1e-6, None))
    left.legend(fontsize="x-small")
    return figure


def of_table(name: str) -> tuple[GaeRunPart, ...]:
    """All seeds of a run of Table 1; of GAE by the small autoencoder, if there is none else."""
    return FOUND.named(name) or FOUND.named(f"{name} {FEW}")


def closing(run: GaeRunPart, exchanges: int) -> float:
    """A run's accuracy after so many closing exchanges."""
    known = {one.exchanges: one.accuracy for one in run.closing}
    return {**known, int(run.recipe.get("closing", 0)): run.accuracy}[exchanges]


def kbit_a_round(run: GaeRunPart) -> float:
    """That a node sends, closing exchanges not counted."""
    if run.closing:
        return run.closing[0].sent_bits / run.nodes / int(run.recipe["rounds"]) / 1e3
    return run.bits_a_round / 1e3


def mean_at(runs: Sequence[GaeRunPart], number: int) -> float:
    """After a round, over nodes and seeds."""
    return dict(zip(runs[0].rounds, _means(runs), strict=True))[number]


def _accuracy(runs: Sequence[GaeRunPart]) -> float:
    return _mean([one.accuracy for one in runs]) if runs else np.nan


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Words in the first column, numbers in the others."""
    text = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    text.insert(1, "|---|" + "---:|" * (len(heads) - 1))
    return "\n".join(text)


def _whole(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def _digits(number: float, digits: int = 4) -> str:
    return "" if np.isnan(number) else f"{number:.{digits}f}".removeprefix("0")


def _means(runs: Sequence[GaeRunPart]) -> list[float]:
    """After each round that was looked at, over nodes and seeds."""
    return [float(x) for x in np.mean([one.accuracies for one in runs], axis=(0, 2))]

"""P2's accuracies: Figs 2, 4, 6, 7 and 9, and its Remark 7."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from peerbayes.experiments.net_documents import NetPart
from peerbayes.experiments.net_lines import Printed, accuracy_tolerance
from peerbayes.experiments.net_rows import APART, ROWS
from peerbayes.sources.documents import (
    CheckDocument,
    LevelDocument,
    PanelDocument,
    above,
    accuracy_check,
    undecided,
)
from peerbayes.sources.figure import Judge, SourceFigure
from peerbayes.sources.kept import (
    OTHERS,
    Kept,
    Need,
    Reading,
    accuracies,
    accuracy_course,
    accuracy_curves,
    accuracy_panel,
    over_rounds,
)

_RISES = "accuracy and the rate of convergence improve as a increases"
_SIGN = "the sign; the mean over the recorded rounds says how fast it is"


def _needs(row: str) -> tuple[Need, ...]:
    return tuple(Need(row, variant.name) for variant in ROWS[row].variants)


def _numbers(row: str) -> Judge:
    """Every accuracy that is printed of a row."""
    groups = dict(ROWS[row].groups)

    def judge(kept: Kept, reading: Reading) -> list[CheckDocument]:
        return [
            accuracy_check(
                ", ".join(word for word in ("accuracy [%]", variant.name, group) if word),
                printed,
                accuracies(kept.runs(Need(row, variant.name)), groups[group], reading),
            )
            for variant in ROWS[row].variants
            for group, printed in variant.printed.items()
        ]

    return judge


def _over_variants(row: str) -> Judge:
    """From each weight on the centre to the next: faster; and at the end better than at first."""

    def judge(kept: Kept, reading: Reading) -> list[CheckDocument]:
        runs = {one.name: kept.runs(Need(row, one.name)) for one in ROWS[row].variants}
        checks = []
        for low, high in pairwise(runs):
            both = bool(runs[low] and runs[high])
            gap = (
                over_rounds(runs[high], (), reading) - over_rounds(runs[low], (), reading)
                if both
                else None
            )
            what = f"mean accuracy over the rounds, {high} less {low} [points]"
            checks.append(above(what, _RISES, gap, 0.0, _SIGN))
        first, last = (*runs,)[0], (*runs,)[-1]
        gap = None
        if runs[first] and runs[last]:
            low_end, high_end = (accuracies(runs[name], (), reading) for name in (first, last))
            gap = float(np.mean(high_end) - np.mean(low_end))
        what = f"accuracy at the end, {last} less {first} [points]"
        return [*checks, above(what, _RISES, gap, 0.0, "the sign")]

    return judge


def _centre_is_faster(kept: Kept, reading: Reading) -> list[CheckDocument]:
    centre, corner = (kept.runs(Need("grid-mnist", name)) for name in ("centre", "corner"))
    gap = (
        over_rounds(centre, (), reading) - over_rounds(corner, (), reading)
        if centre and corner
        else None
    )
    what = "mean accuracy over the rounds, centre less corner [points]"
    printed = "setting 1 (centre) has a higher rate of convergence of the test accuracy"
    return [above(what, printed, gap, 0.0, _SIGN)]


def _both(*judges: Judge) -> Judge:
    return lambda kept, reading: [check for judge in judges for check in judge(kept, reading)]


def _draw(row: str) -> Callable[[Kept], list[PanelDocument]]:
    """Mean accuracy of all agents, or of the row's groups where it has one network only."""

    def draw(kept: Kept) -> list[PanelDocument]:
        one = len(ROWS[row].variants) == 1
        groups = ROWS[row].groups if one else ROWS[row].groups[:1]
        curves, levels = [], []
        for variant in ROWS[row].variants:
            runs = kept.runs(Need(row, variant.name))
            for group, agents in groups:
                name = group if one else variant.name
                curves += accuracy_curves(name, runs, agents)
                if group in variant.printed:
                    value = Printed.read(variant.printed[group]).value
                    levels.append(LevelDocument(name=f"{name}, printed", value=value))
        panel = accuracy_panel(ROWS[row].title, curves)
        return [panel.model_copy(update={"levels": levels})] if curves else []

    return draw


def _accuracy(name: str, source: str, row: str, shows: str, judge: Judge) -> SourceFigure:
    return SourceFigure(
        name, source, shows, _needs(row), judge, _draw(row), OTHERS,
        "What P2 leaves out: the widths at the beginning, the draws of a batch, and what the"
        " divergence weighs; ours are choices.",
    )  # fmt: skip


# Remark 7 -----------------------------------------------------------------------------------------


_SPOILED = "averaging can produce an arbitrarily bad model"
_DIVERGE = "different random initialization can result in diverging local models"


def _apart(row: str, *, own: bool) -> Need:
    """The part of a row with initialisations of each agent's own, or its main network."""
    return Need(row, ROWS[row].main, role="own initialisation" if own else "cooperating")


def _fails_apart(kept: Kept, reading: Reading) -> list[CheckDocument]:
    """What is lost where agents do not begin at one point: by the first consensus, at the end."""
    checks = []
    for row in APART:
        own = kept.runs(_apart(row, own=True))
        seeds = [run.seed for run in own]
        shared = [one for one in kept.runs(_apart(row, own=False)) if one.seed in seeds]
        first, end = (
            f"accuracy lost without the shared initialisation, {row}, {when} [points]"
            for when in ("by the first consensus", "at the end")
        )
        if not own or not shared:
            checks += [undecided(first, _SPOILED), undecided(end, _DIVERGE)]
            continue
        pooled = [float(accuracy_course(runs, (), "after")[1][0]) for runs in (shared, own)]
        last = [float(np.mean(accuracies(runs, (), reading))) for runs in (shared, own)]
        checks += [
            _lost(what, printed, *values, own=own, shared=shared)
            for what, printed, values in ((first, _SPOILED, pooled), (end, _DIVERGE, last))
        ]
    return checks


def _lost(
    what: str,
    printed: str,
    with_it: float,
    without: float,
    *,
    own: Sequence[NetPart],
    shared: Sequence[NetPart],
) -> CheckDocument:
    """A loss that is larger than the difference of two runs of one law."""
    bound = accuracy_tolerance(Printed(f"{with_it:.2f}", with_it, 0.0), len(own))
    paired = {run.program for run in own} == {run.program for run in shared}
    noise = "same noise and order of data" if paired else "other noise, for of other code"
    reason = f"more than two runs of the same law differ; same data, {noise}"
    return above(what, printed, with_it - without, bound, reason)


def _draw_apart(kept: Kept) -> list[PanelDocument]:
    panels = []
    for row in APART:
        curves = [
            curve
            for own, name in ((False, "shared"), (True, "own initialisations"))
            for curve in accuracy_curves(name, kept.runs(_apart(row, own=own))[:1], ())
        ]
        if curves:
            panels.append(accuracy_panel(f"{row}, mean of all agents", curves))
    return panels


FIGURES: tuple[SourceFigure, ...] = (
    _accuracy(
        "p2-2a", "P2 Fig. 2a", "star-mnist-1",
        "Average accuracy over a star of nine, MNIST, as the centre's weight a grows; 97.55 at .5.",
        _both(_over_variants("star-mnist-1"), _numbers("star-mnist-1")),
    ),
    _accuracy(
        "p2-2b", "P2 Fig. 2b", "star-fmnist-1",
        "The same on Fashion-MNIST; 84.21 at a = .7.",
        _both(_over_variants("star-fmnist-1"), _numbers("star-fmnist-1")),
    ),
    _accuracy(
        "p2-4", "P2 Fig. 4", "grid-mnist",
        "Average accuracy of nine agents on a grid, the informative one at the centre or in a"
        " corner.",
        _centre_is_faster,
    ),
    _accuracy(
        "p2-6a", "P2 Fig. 6, 25 agents", "timevarying-25",
        "Accuracies in a network that changes: 95.6 over all agents (the text also has 96.5), 95.1"
        " at the centre.",
        _numbers("timevarying-25"),
    ),
    _accuracy(
        "p2-6b", "P2 Fig. 6, 100 agents", "timevarying-100",
        "The same with 100 agents: 92.3 over all, 93.1 at the centre.",
        _numbers("timevarying-100"),
    ),
    SourceFigure(
        "p2-7", "P2 Fig. 7",
        "Average accuracy of nine agents on a star; neither caption nor text says of which data.",
        tuple(Need(row, ROWS[row].main) for row in ("star-mnist-2", "star-mnist-3")),
        lambda kept, reading: [
            undecided("average accuracy", "no number", "nothing that is printed can be read")
        ],
        lambda kept: [*_draw("star-mnist-2")(kept), *_draw("star-mnist-3")(kept)],
        silent="The figure has no number, and no data are named; shown are the stars of which no"
        " other figure has the accuracies.",
    ),
    _accuracy(
        "p2-9", "P2 Fig. 9", "grid-mnist",
        "Average accuracy of nine agents on a grid, as Fig. 4; the text speaks of 9a.",
        _centre_is_faster,
    ),
    SourceFigure(
        "p2-remark-7", "P2 Remark 7",
        "Without a shared initialisation local models may diverge; no figure shows it.",
        (*(_apart(row, own=True) for row in APART), *(_apart(row, own=False) for row in APART)),
        _fails_apart, _draw_apart,
        remark="What a consensus leaves is itself shared, the more so the faster W mixes: with two"
        " nodes the next round begins from it.",
    ),
)  # fmt: skip

"""P2's confidences, before consensus: Figs 3, 5 and 8.

A label is in-domain (ID) for agents whose data have it and out-of-domain (OOD) for others; the
confidence is the mean probability of the true label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from peerbayes.experiments.net_documents import NetPart
from peerbayes.experiments.net_rows import ROWS
from peerbayes.sources.documents import (
    CheckDocument,
    CurveDocument,
    PanelDocument,
    above,
    accuracy_check,
    undecided,
)
from peerbayes.sources.figure import Judge, SourceFigure
from peerbayes.sources.kept import (
    AS_PRINTED,
    CENTRE,
    EDGES,
    OTHERS,
    Kept,
    Need,
    Reading,
    accuracies,
    label_course,
    last_confidence,
)

_KEY = "confidence by label, before consensus"
_SIDES = (("centre", CENTRE), ("edges", EDGES))
_READINGS = (
    *(one for one in OTHERS if not one.best),
    Reading("in the mean over the recorded rounds", mean=True),
)
_WEIGHTS = ("a=0.7", "a=0.5", "a=0.3")
# Of star-fmnist-1: a label that the edges hold, and one that the centre holds.
_PAIRS = tuple(
    Reading("of one label that the edges hold and one that the centre holds", labels=pair)
    for pair in product((1, 5, 7, 9), (0, 2, 3, 4, 6, 8))
)
_OTHER_WEIGHTS = tuple(Reading(f"with {a}", weight=a) for a in _WEIGHTS[1:])
# "Low", "improves": so much of a probability below, or above, what it is compared with.
_GAP = 0.05
_SILENT = "P2 prints no confidence as a number, nor the widths with which its beliefs begin."


def _need(row: str, variant: str) -> Need:
    return Need(row, variant, _KEY)


def _weight(row: str) -> str:
    """The weight on the centre: P2 4.2.2 says a = .5 of Figs 5a and 5b, Fig. 2b has .7."""
    return "a=0.5" if row == "star-fmnist-2" else ROWS[row].main


def _at(row: str, reading: Reading) -> Need:
    """The part of a row with the weight that is read."""
    return _need(row, reading.weight or _weight(row))


def _labels(runs: Sequence[NetPart], agents: Sequence[int]) -> tuple[list[int], list[int]]:
    """Labels that agents hold, and the others."""
    own = runs[0].network.labels[agents[0]]
    return list(own), [label for label in range(len(runs[0].classes)) if label not in own]


# Figures 3 and 8: ID and OOD over a ---------------------------------------------------------------


def _over_a(row: str, weights: Sequence[str], labels: tuple[int, int] | None) -> Judge:
    """ID above OOD on both sides; OOD at the edges rises with a.

    `labels` are one that the edges hold and one that the centre holds; None: all of them, unless
    the reading says which.
    """

    def judge(kept: Kept, reading: Reading) -> list[CheckDocument]:
        shown = labels or reading.labels

        def chosen(runs: Sequence[NetPart], agents: Sequence[int]) -> tuple[list[int], list[int]]:
            inside, outside = _labels(runs, agents)
            if shown is None:
                return inside, outside
            return [one for one in shown if one in inside], [one for one in shown if one in outside]

        checks, heard = [], dict[str, float]()
        printed = "agents learn to predict their ID labels with higher confidence than the OOD ones"
        for a in weights:
            runs = kept.runs(_need(row, a))
            for side, agents in _SIDES:
                what = f"confidence in ID less OOD, {side}, {a}"
                gap = None
                if runs:
                    inside, outside = chosen(runs, agents)
                    gap = last_confidence(runs, agents, inside, reading)
                    gap -= last_confidence(runs, agents, outside, reading)
                checks.append(above(what, printed, gap, 0.0, "the sign, in the last round"))
            if runs:
                outside = chosen(runs, EDGES)[1]
                heard[a] = float(np.mean(label_course(runs, EDGES, outside, reading.when)[1]))
        for low, high in zip(weights[1:], weights, strict=False):
            gap = heard[high] - heard[low] if low in heard and high in heard else None
            checks.append(
                above(
                    f"confidence in OOD at the edges over the rounds, {high} less {low}",
                    "it increases with the centre's centrality", gap, 0.0, "the sign",
                )
            )  # fmt: skip
        return checks

    return judge


def _draw_over_a(
    row: str, weights: Sequence[str], labels: tuple[int, int] | None
) -> Callable[[Kept], list[PanelDocument]]:
    def draw(kept: Kept) -> list[PanelDocument]:
        panels = []
        for a in weights:
            runs = kept.runs(_need(row, a))
            curves = []
            for side, agents in _SIDES if runs else ():
                for kind, own in zip(("ID", "OOD"), _labels(runs, agents), strict=True):
                    shown = own if labels is None else [one for one in labels if one in own]
                    along, values = label_course(runs, agents, shown)
                    words = "" if labels is None else f" {', '.join(map(str, shown))}"
                    name = f"{side}, {kind}{words}"
                    dashed = kind == "OOD"
                    curves.append(CurveDocument.of(name, along, values, dashed=dashed))
            if curves:
                panels.append(PanelDocument(title=f"{row}, {a}", x="round", y="confidence",
                                            curves=curves))  # fmt: skip
        return panels

    return draw


# Figure 5: label by label -------------------------------------------------------------------------


def _low(row: str, side: str, label: int) -> Judge:
    """A label is lowest among those a side does not hold, and clearly below the labels it holds."""
    agents = dict(_SIDES)[side]

    def judge(kept: Kept, reading: Reading) -> list[CheckDocument]:
        runs = kept.runs(_at(row, reading))
        printed = f"the confidence on OOD label {label}, {side}, remains low"
        what = [
            f"confidence in {others} less that in OOD {label}, {side}"
            for others in ("ID labels", "the other OOD labels")
        ]
        if not runs:
            return [undecided(one, printed) for one in what]
        inside, outside = _labels(runs, agents)
        own = last_confidence(runs, agents, [label], reading)
        others = [one for one in outside if one != label]
        gaps = [last_confidence(runs, agents, chosen, reading) - own for chosen in (inside, others)]
        reason = f"“low”: at least {_GAP:g} below the mean of these, in the last round"
        return [above(one, printed, gap, _GAP, reason) for one, gap in zip(what, gaps, strict=True)]

    return judge


def _failure(kept: Kept, reading: Reading) -> list[CheckDocument]:
    """69.7, which is printed as a failure: that is what there is to find again."""
    row = ROWS["star-fmnist-2"]
    runs = kept.runs(_at(row.name, reading))
    printed = row.variant(_weight(row.name)).printed["all agents"]
    return [
        accuracy_check("average accuracy, a failure [%]", printed, accuracies(runs, (), reading))
    ]


def _improves(kept: Kept, reading: Reading) -> list[CheckDocument]:
    """Accuracy and confidence of the partition that parts no similar labels."""
    whats = (
        "average accuracy, star-fmnist-1 less star-fmnist-2 [points]",
        "confidence in coat (4) at the edges, star-fmnist-1 less star-fmnist-2",
    )
    printed = ("84.21 less 69.7: the accuracy improves", "the confidence improves")
    ours = [kept.runs(_at(row, reading)) for row in ("star-fmnist-1", "star-fmnist-2")]
    if not all(ours):
        return [undecided(*pair) for pair in zip(whats, printed, strict=True)]
    a, b = (float(np.mean(accuracies(runs, (), reading))) for runs in ours)
    c, d = (last_confidence(runs, EDGES, [4], reading) for runs in ours)
    reason = "half the printed gap, so that it is a failure that is mended"
    return [
        above(whats[0], printed[0], a - b, (84.21 - 69.7) / 2, reason),
        above(whats[1], printed[1], c - d, _GAP, f"“improves”: by at least {_GAP:g}"),
    ]


def _draw_labels(row: str) -> Callable[[Kept], list[PanelDocument]]:
    """Each side's confidence in every label over the rounds; OOD in dashes."""

    def draw(kept: Kept) -> list[PanelDocument]:
        runs = kept.runs(_at(row, AS_PRINTED))
        panels = []
        for side, agents in _SIDES if runs else ():
            curves = []
            for label, word in enumerate(runs[0].classes):
                along, values = label_course(runs, agents, [label])
                curves.append(
                    CurveDocument.of(
                        word if word == str(label) else f"{label} {word}",
                        along,
                        values,
                        dashed=label not in runs[0].network.labels[agents[0]],
                    )
                )
            panels.append(
                PanelDocument(
                    title=f"{row}, {_weight(row)}, {side}",
                    x="round",
                    y="confidence",
                    curves=curves,
                )
            )
        return panels

    return draw


def _all_of(*judges: Judge) -> Judge:
    return lambda kept, reading: [check for judge in judges for check in judge(kept, reading)]


def _by_label(
    name: str,
    row: str,
    shows: str,
    judge: Judge,
    *more: str,
    others: tuple[Reading, ...] = _OTHER_WEIGHTS,
) -> SourceFigure:
    """Of a row, and of `more`; `others` are the weights on the centre, where none is said."""
    return SourceFigure(
        name,
        f"P2 Fig. {name[3:]}",
        shows,
        tuple(_at(one, AS_PRINTED) for one in (row, *more)),
        judge,
        _draw_labels(row),
        (*_READINGS, *others),
        _SILENT,
        elsewhere=tuple(_need(one, a.weight) for one in (row, *more) for a in others),
    )


FIGURES: tuple[SourceFigure, ...] = (
    SourceFigure(
        "p2-3", "P2 Fig. 3",
        "Confidence in the digits 0 and 2 at the centre and at an edge over the rounds, for three"
        " values of a. The centre holds 2, the edges 0.",
        tuple(_need("star-mnist-1", a) for a in _WEIGHTS),
        _over_a("star-mnist-1", _WEIGHTS, (0, 2)),
        _draw_over_a("star-mnist-1", _WEIGHTS, (0, 2)),
        _READINGS, _SILENT,
    ),
    _by_label(
        "p2-5a", "star-mnist-2",
        "Confidence by digit, centre 0–7, edges 8 and 9: low on 9 at the centre, on 4 at an edge.",
        _all_of(_low("star-mnist-2", "centre", 9), _low("star-mnist-2", "edges", 4)),
        others=(),  # a = .5 is said
    ),
    _by_label(
        "p2-5b", "star-fmnist-2",
        "Confidence by label where pullover is parted from what looks like it: low on coat at the"
        " edges; the average accuracy drops to 69.7, with a = .5. What is to be reproduced is this"
        " failure.",
        _all_of(_failure, _low("star-fmnist-2", "edges", 4)),
        others=(),
    ),
    _by_label(
        "p2-5c", "star-fmnist-1",
        "Confidence by label where all that looks like a shirt is at the centre: accuracy and"
        " confidence improve.",
        _improves,
        "star-fmnist-2",
    ),
    SourceFigure(
        "p2-8", "P2 Fig. 8",
        "Confidence in an ID and an OOD label of Fashion-MNIST at the centre and an edge, a = .7,"
        " .5, .3. Which labels is not said: the means over all of them are shown.",
        tuple(_need("star-fmnist-1", a) for a in _WEIGHTS),
        _over_a("star-fmnist-1", _WEIGHTS, None),
        _draw_over_a("star-fmnist-1", _WEIGHTS, None),
        (*_READINGS, *_PAIRS), _SILENT,
    ),
)  # fmt: skip

"""Rules and drawings of figures label by label: tables of confusion, and confidences.

A label is in-domain (ID) for agents whose data have it and out-of-domain (OOD) for others; the
confidence is the mean probability of the true label. All are read before consensus.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerbayes.experiments.net_documents import NetPart
from peerbayes.experiments.net_rows import ROWS
from peerbayes.sources.documents import (
    CheckDocument,
    CurveDocument,
    PanelDocument,
    above,
    undecided,
)
from peerbayes.sources.kept import (
    AFTER,
    AS_PRINTED,
    CENTRE,
    CONFIDENCES,
    CONFUSION,
    EDGES,
    Kept,
    Need,
    Reading,
    accuracies,
    confusion,
    label_course,
    last_confidence,
    share_right,
    taken_for,
)

# "High accuracy" of a label: not more than so many points below one node with all data.
_HIGH = 10.0
# "Low", "improves": so much of a probability below, or above, what it is compared with.
_GAP = 0.05
_SIDES = {"centre": CENTRE, "edges": EDGES}


# Tables of confusion ------------------------------------------------------------------------------


def taken(
    kept: Kept,
    reading: Reading,
    *,
    row: str,
    agent: int,
    true: Sequence[int],
    guesses: Sequence[int],
    printed: str,
) -> list[CheckDocument]:
    """Most of some labels' images are taken for others."""
    labels = ", ".join(map(str, true))
    others = " or ".join((", ".join(map(str, guesses[:-1])), str(guesses[-1])))
    what = f"{labels} taken for {others.removeprefix(' or ')} at node {agent + 1} [%]"
    runs = kept.runs(Need(row, key=CONFUSION, role=reading.role))
    share = taken_for(confusion(runs, agent, reading), true, guesses) if runs else None
    reason = "“misclassifies”, “often”: more than one image in two"
    return [above(what, printed, share, 50.0, reason)]


def right(
    kept: Kept,
    reading: Reading,
    *,
    row: str,
    agent: int,
    labels: Sequence[int],
    words: str,
    printed: str,
) -> list[CheckDocument]:
    """The label that is recognised worst beside one node with all data is not far below it."""
    runs = kept.runs(Need(row, key=CONFUSION, role=reading.role))
    central = kept.runs(Need("fmnist-central", key=AFTER))
    what = f"share right less the central node’s, {words}, node {agent + 1} [points]"
    if not runs or not central:
        return [undecided(f"least {what}", printed)]
    own = share_right(confusion(runs, agent, reading), labels)
    best = share_right(confusion(central, 0, AS_PRINTED), labels)
    gaps = [a - b for a, b in zip(own, best, strict=True)]
    worst = labels[int(np.argmin(gaps))]
    reason = f"“high accuracy”: at most {_HIGH:g} points below one node with all data"
    return [above(f"least {what}, of label {worst}", printed, min(gaps), -_HIGH, reason)]


def table(kept: Kept, *, row: str, agent: int) -> list[PanelDocument]:
    """A node's table of confusion."""
    runs = kept.runs(Need(row, key=CONFUSION))
    if not runs:
        return []
    return [
        PanelDocument(
            title=f"node {agent + 1}, before consensus", x="predicted class", y="true class",
            confusion=confusion(runs, agent).tolist(), classes=list(runs[0].classes),
            held=list(runs[0].network.labels[agent]),
        )
    ]  # fmt: skip


# Confidences over the weight a on the centre ------------------------------------------------------


def _labels(
    runs: Sequence[NetPart], agents: Sequence[int], shown: Sequence[int] | None = None
) -> tuple[list[int], list[int]]:
    """Labels that agents hold, and the others; of these that are shown, if not all are."""
    own = runs[0].network.labels[agents[0]]
    every = range(len(runs[0].classes))
    inside = own if shown is None else [one for one in shown if one in own]
    return list(inside), [one for one in (every if shown is None else shown) if one not in own]


def rises_with_a(
    kept: Kept,
    reading: Reading,
    *,
    row: str,
    weights: Sequence[str],
    labels: Sequence[int] | None = None,
) -> list[CheckDocument]:
    """ID is above OOD on both sides; OOD at the edges rises with a.

    `labels` are one that the edges hold and one that the centre holds; None: all of them, unless
    the reading says which.
    """
    shown = labels or reading.labels
    checks, heard = [], dict[str, float]()
    printed = "agents learn to predict their ID labels with higher confidence than the OOD ones"
    for a in weights:
        runs = kept.runs(Need(row, a, CONFIDENCES))
        for side, agents in _SIDES.items():
            what, gap = f"confidence in ID less OOD, {side}, {a}", None
            if runs:
                inside, outside = _labels(runs, agents, shown)
                gap = last_confidence(runs, agents, inside, reading)
                gap -= last_confidence(runs, agents, outside, reading)
            checks.append(above(what, printed, gap, 0.0, "the sign, in the last round"))
        if runs:
            outside = _labels(runs, EDGES, shown)[1]
            heard[a] = float(np.mean(label_course(runs, EDGES, outside, reading.when)[1]))
    for low, high in zip(weights[1:], weights, strict=False):
        gap = heard[high] - heard[low] if low in heard and high in heard else None
        what = f"confidence in OOD at the edges over the rounds, {high} less {low}"
        told = "it increases with the centre's centrality"
        checks.append(above(what, told, gap, 0.0, "the sign"))
    return checks


def sides(
    kept: Kept, *, row: str, weights: Sequence[str], labels: Sequence[int] | None = None
) -> list[PanelDocument]:
    """A panel a weight: confidence in ID and OOD labels at the centre and at the edges."""
    panels = []
    for a in weights:
        runs = kept.runs(Need(row, a, CONFIDENCES))
        curves = []
        for side, agents in _SIDES.items() if runs else ():
            for kind, own in zip(("ID", "OOD"), _labels(runs, agents, labels), strict=True):
                words = "" if labels is None else f" {', '.join(map(str, own))}"
                course = label_course(runs, agents, own)
                curves.append(
                    CurveDocument.of(f"{side}, {kind}{words}", *course, dashed=kind == "OOD")
                )
        if curves:
            title = f"{row}, {a}"
            panels.append(PanelDocument(title=title, x="round", y="confidence", curves=curves))
    return panels


# Confidences label by label -----------------------------------------------------------------------


def _weight(row: str) -> str:
    """The weight on the centre: P2 4.2.2 says a = .5 of Figs 5a and 5b, Fig. 2b has .7."""
    return "a=0.5" if row == "star-fmnist-2" else ROWS[row].main


def _at(kept: Kept, row: str, reading: Reading) -> tuple[NetPart, ...]:
    """The runs of a row with the weight that is read."""
    return kept.runs(Need(row, reading.weight or _weight(row), CONFIDENCES))


def low(kept: Kept, reading: Reading, *, row: str, side: str, label: int) -> list[CheckDocument]:
    """A label is lowest among those a side does not hold, and clearly below the labels it holds."""
    agents, runs = _SIDES[side], _at(kept, row, reading)
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


def improves(kept: Kept, reading: Reading, *, row: str, failure: str) -> list[CheckDocument]:
    """Accuracy and confidence of the partition that parts no similar labels, beside a failure."""
    whats = (
        f"average accuracy, {row} less {failure} [points]",
        f"confidence in coat (4) at the edges, {row} less {failure}",
    )
    printed = ("84.21 less 69.7: the accuracy improves", "the confidence improves")
    ours = [_at(kept, one, reading) for one in (row, failure)]
    if not all(ours):
        return [undecided(*pair) for pair in zip(whats, printed, strict=True)]
    a, b = (float(np.mean(accuracies(runs, (), reading))) for runs in ours)
    c, d = (last_confidence(runs, EDGES, [4], reading) for runs in ours)
    reason = "half the printed gap, so that it is a failure that is mended"
    return [
        above(whats[0], printed[0], a - b, (84.21 - 69.7) / 2, reason),
        above(whats[1], printed[1], c - d, _GAP, f"“improves”: by at least {_GAP:g}"),
    ]


def labels(kept: Kept, *, row: str) -> list[PanelDocument]:
    """Each side's confidence in every label over the rounds; OOD in dashes."""
    runs = _at(kept, row, AS_PRINTED)
    panels = []
    for side, agents in _SIDES.items() if runs else ():
        held = runs[0].network.labels[agents[0]]
        curves = [
            CurveDocument.of(
                word if word == str(label) else f"{label} {word}",
                *label_course(runs, agents, [label]),
                dashed=label not in held,
            )
            for label, word in enumerate(runs[0].classes)
        ]
        title = f"{row}, {_weight(row)}, {side}"
        panels.append(PanelDocument(title=title, x="round", y="confidence", curves=curves))
    return panels

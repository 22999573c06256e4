"""Drawings of figures: panels of whatever is on record, with arguments of the figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerbayes.experiments.gae_rows import TABLE_1
from peerbayes.experiments.net_documents import NetPart
from peerbayes.experiments.net_lines import Printed
from peerbayes.experiments.net_rows import APART, ROWS
from peerbayes.experiments.registry import find_experiment
from peerbayes.figures.chart import floats
from peerbayes.sources.documents import CurveDocument, LevelDocument, PanelDocument
from peerbayes.sources.kept import AFTER, CONFIDENCES, CONFUSION, Kept, Need
from peerbayes.sources.reading import (
    SIDES,
    accuracy_course,
    confusion,
    label_course,
    labels_among,
    when_of,
)
from peerbayes.sources.rules import CENTRAL, COOPERATING, apart_of, curve, lone

_SPLITS = {"fedavg-iid": "IID", "fedavg-shards": "shards"}


def accuracy_panel(
    title: str, curves: Sequence[CurveDocument], levels: Sequence[LevelDocument] = ()
) -> list[PanelDocument]:
    """Accuracies over rounds beside printed ones, as one panel; none without curves."""
    if not curves:
        return []
    return [
        PanelDocument(
            title=title, x="round", y="accuracy [%]", curves=list(curves), levels=list(levels)
        )
    ]


def accuracy_curves(
    name: str, runs: Sequence[NetPart], agents: Sequence[int]
) -> list[CurveDocument]:
    """Before consensus as a line, after it in dashes; one line where there is one belief."""
    if not runs:
        return []
    rounds, before = accuracy_course(runs, agents)
    curves = [CurveDocument.of(name, rounds, before)]
    if when_of(runs, "before") == "before":
        after = accuracy_course(runs, agents, "after")[1]
        words = f"{name}, after consensus" if name else "after consensus"
        curves.append(CurveDocument.of(words, rounds, after, dashed=True))
    return curves


def courses(kept: Kept, *, rows: Sequence[str]) -> list[PanelDocument]:
    """A panel a row: mean accuracy of all agents, or of its groups where it has one network."""
    panels = []
    for row in (ROWS[name] for name in rows):
        one = len(row.variants) == 1
        curves, levels = [], []
        for variant in row.variants:
            runs = kept.runs(Need(row.name, variant.name))
            for group, agents in row.groups if one else row.groups[:1]:
                name = group if one else variant.name
                curves += accuracy_curves(name, runs, agents)
                if group in variant.printed:
                    value = Printed.read(variant.printed[group]).value
                    levels.append(LevelDocument(name=f"{name}, printed", value=value))
        panels += accuracy_panel(row.title, curves, levels)
    return panels


def servers(kept: Kept, *, variant: str) -> list[PanelDocument]:
    """Federated averaging on both splits, with so many epochs a round."""
    curves, levels = [], []
    for row, split in _SPLITS.items():
        curves += accuracy_curves(split, kept.runs(Need(row, variant, AFTER)), (0,))
        value = float(ROWS[row].variant(variant).printed["server"])
        levels.append(LevelDocument(name=f"{split}, printed", value=value))
    return accuracy_panel(f"federated averaging, {variant}", curves, levels)


def apart(kept: Kept) -> list[PanelDocument]:
    """With and without a shared initialisation, the first seed."""
    panels = []
    for row in APART:
        curves = [
            curve
            for own, name in ((False, "shared"), (True, "own initialisations"))
            for curve in accuracy_curves(name, apart_of(kept, row, own=own)[:1], ())
        ]
        panels += accuracy_panel(f"{row}, mean of all agents", curves)
    return panels


def ends(kept: Kept) -> list[PanelDocument]:
    """Accuracy over the rounds of every run of Table 1."""
    curves = []
    for run in TABLE_1:
        own = kept.gae.named(run.name)
        if own:
            means = [[np.mean(nodes) for nodes in one.accuracies] for one in own]
            values, dashed = 100 * np.mean(means, axis=0), not run.name.startswith("GAE")
            curves.append(CurveDocument.of(run.name, own[0].rounds, values, dashed=dashed))
    return accuracy_panel("GAE and its baselines", curves)


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


def sides(
    kept: Kept, *, row: str, weights: Sequence[str], labels: Sequence[int] | None = None
) -> list[PanelDocument]:
    """A panel a weight: confidence in ID and OOD labels at the centre and at the edges."""
    panels = []
    for a in weights:
        runs = kept.runs(Need(row, a, CONFIDENCES))
        curves = []
        for side, agents in SIDES.items() if runs else ():
            for kind in ("ID", "OOD"):
                own = labels_among(runs, agents, kind, labels or ())
                words = "" if labels is None else f" {', '.join(map(str, own))}"
                course = label_course(runs, agents, own)
                curves.append(
                    CurveDocument.of(f"{side}, {kind}{words}", *course, dashed=kind == "OOD")
                )
        if curves:
            title = f"{row}, {a}"
            panels.append(PanelDocument(title=title, x="round", y="confidence", curves=curves))
    return panels


def labels(kept: Kept, *, row: str, variant: str) -> list[PanelDocument]:
    """Each side's confidence in every label over the rounds; OOD in dashes."""
    runs = kept.runs(Need(row, variant, CONFIDENCES))
    panels = []
    for side, agents in SIDES.items() if runs else ():
        held = runs[0].network.labels[agents[0]]
        curves = [
            CurveDocument.of(
                word if word == str(label) else f"{label} {word}",
                *label_course(runs, agents, [label]),
                dashed=label not in held,
            )
            for label, word in enumerate(runs[0].classes)
        ]
        title = f"{row}, {variant}, {side}"
        panels.append(PanelDocument(title=title, x="round", y="confidence", curves=curves))
    return panels


def errors(kept: Kept, *, experiment: str, alone: bool = False) -> list[PanelDocument]:
    """Errors of lone learners, or of the network, beside the central node's."""
    curves = []
    for name in (*(lone(experiment) if alone else [COOPERATING]), CENTRAL):
        one = curve(experiment, name)
        along = [float(n) for n in one.rounds]
        predicted, dashes = f"{name}, predicted", True
        curves.append(CurveDocument.of(name, along, floats(one.measured)))
        curves.append(CurveDocument.of(predicted, along, floats(one.predicted), dashed=dashes))
    words = "without cooperation" if alone else "cooperating"
    return [
        PanelDocument(
            title=f"{find_experiment(experiment).title}, {words}",
            x="round", y="MSE less the noise", log_y=True, curves=curves,
        )
    ]  # fmt: skip

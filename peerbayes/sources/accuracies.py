"""Rules and drawings of figures of accuracies: rows of nets over their rounds, servers, and GAE.

A rule takes what is on record and a reading of it, with arguments of its figure, and returns
checks; a drawing returns panels of whatever is on record.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from peerbayes.experiments.gae_rows import AUTOENCODER, TABLE_1
from peerbayes.experiments.net_documents import NetPart
from peerbayes.experiments.net_lines import Printed, accuracy_tolerance
from peerbayes.experiments.net_rows import APART, ROWS
from peerbayes.sources.documents import (
    CheckDocument,
    CurveDocument,
    LevelDocument,
    MissingDocument,
    PanelDocument,
    above,
    accuracy_check,
    undecided,
)
from peerbayes.sources.kept import (
    ACCURACIES,
    AFTER,
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
_SPOILED = "averaging can produce an arbitrarily bad model"
_DIVERGE = "different random initialization can result in diverging local models"
_SPLITS = {"fedavg-iid": "IID", "fedavg-shards": "shards"}


def printed(
    kept: Kept,
    reading: Reading,
    *,
    row: str,
    what: str,
    variants: Sequence[str] = (),
    key: str = ACCURACIES,
) -> list[CheckDocument]:
    """Every accuracy that is printed of a row, or of some of its variants.

    `what` says which, with ``{variant}`` and ``{group}`` in place of their names.
    """
    groups = dict(ROWS[row].groups)
    return [
        accuracy_check(
            what.format(variant=variant.name, group=group).replace(", , ", ", "),
            text,
            accuracies(
                kept.runs(Need(row, variant.name, key, reading.role)), groups[group], reading
            ),
        )
        for variant in ROWS[row].variants
        if not variants or variant.name in variants
        for group, text in variant.printed.items()
    ]


def reaches(
    kept: Kept,
    reading: Reading,
    *,
    row: str,
    agents: Sequence[int],
    bound: float,
    what: str,
    printed: str,
    reason: str,
) -> list[CheckDocument]:
    """Some agents' accuracy is above a bound."""
    values = accuracies(kept.runs(Need(row, role=reading.role)), agents, reading)
    return [above(what, printed, float(np.mean(values)) if values else None, bound, reason)]


def first_is_better(
    kept: Kept, reading: Reading, *, row: str, printed: str, reason: str
) -> list[CheckDocument]:
    """Node 1 is above node 2."""
    runs = kept.runs(Need(row, role=reading.role))
    first, second = (accuracies(runs, (node,), reading) for node in (0, 1))
    gap = float(np.mean(first) - np.mean(second)) if runs else None
    what = "accuracy of node 1 less that of node 2 [points]"
    return [above(what, printed, gap, 0.0, reason)]


def faster(
    kept: Kept, reading: Reading, *, row: str, first: str, second: str, printed: str
) -> list[CheckDocument]:
    """One network learns faster than another."""
    better, worse = (kept.runs(Need(row, name)) for name in (first, second))
    gap = None
    if better and worse:
        gap = over_rounds(better, (), reading) - over_rounds(worse, (), reading)
    what = f"mean accuracy over the rounds, {first} less {second} [points]"
    return [above(what, printed, gap, 0.0, _SIGN)]


def rises(kept: Kept, reading: Reading, *, row: str) -> list[CheckDocument]:
    """From each weight on the centre to the next: faster; and at the end better than at first."""
    names = [variant.name for variant in ROWS[row].variants]
    checks = []
    for low, high in pairwise(names):
        checks += faster(kept, reading, row=row, first=high, second=low, printed=_RISES)
    low, high = names[0], names[-1]
    ends = [accuracies(kept.runs(Need(row, name)), (), reading) for name in (low, high)]
    gap = float(np.mean(ends[1]) - np.mean(ends[0])) if all(ends) else None
    what = f"accuracy at the end, {high} less {low} [points]"
    return [*checks, above(what, _RISES, gap, 0.0, "the sign")]


def nothing(
    kept: Kept, reading: Reading, *, what: str, printed: str, reason: str
) -> list[CheckDocument]:
    """Nothing that is printed can be read."""
    return [undecided(what, printed, reason)]


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


# Remark 7 -----------------------------------------------------------------------------------------


def _apart(kept: Kept, row: str, *, own: bool) -> tuple[NetPart, ...]:
    """A row with initialisations of each agent's own, or its main network."""
    role = "own initialisation" if own else "cooperating"
    return kept.runs(Need(row, ROWS[row].main, role=role))  # type: ignore[arg-type]


def loses_apart(kept: Kept, reading: Reading) -> list[CheckDocument]:
    """What is lost where agents do not begin at one point: by the first consensus, at the end.

    A loss is larger than the difference of two runs of one law.
    """
    checks = []
    for row in APART:
        own = _apart(kept, row, own=True)
        seeds = [run.seed for run in own]
        shared = [one for one in _apart(kept, row, own=False) if one.seed in seeds]
        for when, told in (("by the first consensus", _SPOILED), ("at the end", _DIVERGE)):
            what = f"accuracy lost without the shared initialisation, {row}, {when} [points]"
            if not own or not shared:
                checks.append(undecided(what, told))
                continue
            with_it, without = (
                float(np.mean(accuracies(runs, (), reading)))
                if when == "at the end"
                else float(accuracy_course(runs, (), "after")[1][0])
                for runs in (shared, own)
            )
            bound = accuracy_tolerance(Printed(f"{with_it:.2f}", with_it, 0.0), len(own))
            paired = {run.program for run in own} == {run.program for run in shared}
            noise = "same noise and order of data" if paired else "other noise, for of other code"
            reason = f"more than two runs of the same law differ; same data, {noise}"
            checks.append(above(what, told, with_it - without, bound, reason))
    return checks


def apart(kept: Kept) -> list[PanelDocument]:
    """With and without a shared initialisation, the first seed."""
    panels = []
    for row in APART:
        curves = [
            curve
            for own, name in ((False, "shared"), (True, "own initialisations"))
            for curve in accuracy_curves(name, _apart(kept, row, own=own)[:1], ())
        ]
        panels += accuracy_panel(f"{row}, mean of all agents", curves)
    return panels


# GAE ----------------------------------------------------------------------------------------------


def table_1(kept: Kept, reading: Reading) -> list[CheckDocument]:
    """Table 1 of GAE, whose accuracies are the ends of the curves."""
    checks = []
    for run in TABLE_1:
        values = [100 * one.accuracy for one in kept.gae.named(run.name)]
        percent = re.sub(r"^\.(..)(..)$", r"\1.\2", run.printed)
        checks.append(accuracy_check(f"accuracy [%], {run.name}", percent, values))
    return checks


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


def missing_of_gae(kept: Kept) -> list[MissingDocument]:
    """The runs of Table 1 that are not on record."""
    found = []
    for run in TABLE_1:
        if not kept.gae.named(run.name):
            command = f'peerbayes run gae --part "{run.name} seed 0"'
            if run.needs_autoencoder and AUTOENCODER not in kept.gae.autoencoders:
                command = f"peerbayes run gae --part {AUTOENCODER}, then {command}"
            part = f"gae: {run.name} seed 0"
            found.append(MissingDocument(part=part, lacks="the record", command=command))
    return found

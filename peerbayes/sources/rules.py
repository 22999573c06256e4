"""Rules that hold what a source prints against the records, or against runs of a regression.

A rule takes what is on record and a reading of it, with arguments of its figure in
`empirical/papers/figures.toml`, and returns checks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from empirical import papers
from peerbayes.experiments.gae_rows import AUTOENCODER, TABLE_1
from peerbayes.experiments.net_documents import NetPart
from peerbayes.experiments.net_lines import Printed, accuracy_tolerance
from peerbayes.experiments.net_rows import APART, ROWS
from peerbayes.experiments.registry import find_experiment
from peerbayes.experiments.run import part_seed
from peerbayes.measured import ErrorCurve
from peerbayes.sources.documents import (
    CheckDocument,
    MissingDocument,
    accuracy_check,
    below,
    undecided,
)
from peerbayes.sources.documents import above as is_above
from peerbayes.sources.kept import ACCURACIES, AFTER, CONFUSION, Kept, Need
from peerbayes.sources.reading import (
    AS_PRINTED,
    Reading,
    Value,
    accuracies,
    accuracy_course,
    confusion,
    share_right,
)

_SPOILED = "averaging can produce an arbitrarily bad model"
_DIVERGE = "different random initialization can result in diverging local models"
# "High accuracy" of a label: not more than so many points below one node with all data.
_HIGH = 10.0
# Runs of each learner of a regression: the standard error at the last round is then 5 % of the
# error.
REPLICATES = 200
# What the eye tells apart in a figure without numbers: a share of its height.
_LINE = 0.02
_STANDARD_ERRORS = 5.0
COOPERATING, CENTRAL = "cooperating", "central node"


def measured(
    kept: Kept,
    reading: Reading,
    *,
    what: str,
    printed: str,
    reason: str,
    value: Mapping[str, Any] | None = None,
    less: Mapping[str, Any] | None = None,
    above: float = 0.0,
) -> list[CheckDocument]:
    """Something measured, or its distance to something else, is above a bound.

    Without a value nothing that is printed can be read.
    """
    if value is None:
        return [undecided(what, printed, reason)]
    ends = [
        papers.built(Value, one).read(kept, reading) for one in (value, less) if one is not None
    ]
    known = [end for end in ends if end is not None]
    number = None if len(known) < len(ends) else known[0] - sum(known[1:])
    return [is_above(what, printed, number, above, reason)]


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
    return [is_above(f"least {what}, of label {worst}", printed, min(gaps), -_HIGH, reason)]


# Remark 7 -----------------------------------------------------------------------------------------


def apart_of(kept: Kept, row: str, *, own: bool) -> tuple[NetPart, ...]:
    """A row with initialisations of each agent's own, or its main network."""
    role = "own initialisation" if own else "cooperating"
    return kept.runs(Need(row, ROWS[row].main, role=role))  # type: ignore[arg-type]


def loses_apart(kept: Kept, reading: Reading) -> list[CheckDocument]:
    """What is lost where agents do not begin at one point: by the first consensus, at the end.

    A loss is larger than the difference of two runs of one law.
    """
    checks = []
    for row in APART:
        own = apart_of(kept, row, own=True)
        seeds = [run.seed for run in own]
        shared = [one for one in apart_of(kept, row, own=False) if one.seed in seeds]
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
            checks.append(is_above(what, told, with_it - without, bound, reason))
    return checks


# GAE ----------------------------------------------------------------------------------------------


def table_1(kept: Kept, reading: Reading) -> list[CheckDocument]:
    """Table 1 of GAE, whose accuracies are the ends of the curves."""
    checks = []
    for run in TABLE_1:
        values = [100 * one.accuracy for one in kept.gae.named(run.name)]
        percent = re.sub(r"^\.(..)(..)$", r"\1.\2", run.printed)
        checks.append(accuracy_check(f"accuracy [%], {run.name}", percent, values))
    return checks


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


# Regressions, computed when they are asked for: it takes seconds --------------------------------


@cache
def curve(experiment: str, part: str) -> ErrorCurve:
    """One learner's excess error, measured and predicted; always the same numbers."""
    row = find_experiment(experiment)
    seed = part_seed(0, row.stream(part))
    found = row.run_part(part, seed=seed, replicates=REPLICATES, progress=None)
    assert isinstance(found, ErrorCurve)
    return found


def lone(experiment: str) -> list[str]:
    return [part for part in find_experiment(experiment).parts if part.endswith("alone")]


def stays_high(kept: Kept, reading: Reading, *, experiment: str) -> list[CheckDocument]:
    """Every lone learner ends above the central node by more than chance allows."""
    central = curve(experiment, CENTRAL)
    checks = []
    for part in lone(experiment):
        own = curve(experiment, part)
        chance = _STANDARD_ERRORS * (_last(own.standard_error) + _last(central.standard_error))
        checks.append(
            is_above(
                f"MSE of {part} less the central node’s, round {own.rounds[-1]}",
                "the MSE without cooperation is higher than that of the central node",
                _last(own.measured) - _last(central.measured),
                chance,
                f"{_STANDARD_ERRORS:g} standard errors of {REPLICATES} runs each; theory has"
                f" {own.limit:.4g} for ever",
            )
        )
    return checks


def matches(kept: Kept, reading: Reading, *, experiment: str) -> list[CheckDocument]:
    """The network's error differs from the central node's by less than a line is wide."""
    own, central = curve(experiment, COOPERATING), curve(experiment, CENTRAL)
    height = max(_last(curve(experiment, part).measured) for part in lone(experiment))
    ratio = (own.constant or 0.0) / (central.constant or 1.0)
    return [
        below(
            f"MSE of the network beside the central node’s, apart by, round {own.rounds[-1]}",
            "the MSE of the nodes matches that of a central node",
            abs(_last(own.measured) - _last(central.measured)),
            _LINE * height,
            f"{100 * _LINE:g} % of the largest MSE without cooperation, which is what can be"
            f" read; theory has {ratio:.4g} times the central node’s in the limit",
        )
    ]


def _last(values: list[float | None]) -> float:
    return float(values[-1] or 0.0)

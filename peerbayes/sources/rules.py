"""Numbers read out of runs the way a source may have meant them, and rules that hold them to it.

P2 predicts with b, the belief before consensus (4.2 and Remark 6); P1's words mean the same. A
number that does not come out so is tried in other readings, which stand in
`empirical/papers/figures.toml`, before it is called not reproduced. A label is in-domain (ID) for
agents whose data have it and out-of-domain (OOD) for others; the confidence is the mean probability
of the true label.

A rule takes what is on record and a reading of it, with arguments of its figure, and returns
checks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from empirical import papers
from peerbayes.experiments.gae_rows import AUTOENCODER, TABLE_1
from peerbayes.experiments.net_lines import Printed, accuracy_tolerance, group_mean, last_of
from peerbayes.experiments.net_rows import APART, ROWS, NetPart, Role, When
from peerbayes.experiments.registry import find_experiment
from peerbayes.experiments.run import part_seed
from peerbayes.measured import ErrorCurve
from peerbayes.sources.documents import (
    ACCURACIES,
    AFTER,
    CONFIDENCES,
    CONFUSION,
    CheckDocument,
    Kept,
    MissingDocument,
    Need,
    accuracy_check,
    below,
    undecided,
)
from peerbayes.sources.documents import above as is_above
from theory.validation import FloatArray

SIDES: Mapping[str, tuple[int, ...]] = {"centre": (0,), "edges": tuple(range(1, 9))}
"""Agents of a star of nine."""


@dataclass(frozen=True)
class Reading:
    """What "accuracy of an agent", or "confidence in a label", may mean.

    Attributes
    ----------
    words
        The reading in words.
    when
        Whose belief predicts.
    exchanged
        Whether the names of two nodes change places.
    best
        Whether the best recorded round counts instead of the last.
    mean
        Whether the mean over the recorded rounds counts instead of the last, of confidences.
    weight
        The row's variant, where a source does not say which: ``a=0.5``. Empty: the row's main one.
    role
        The part of the row that counts, where it is not the one with the rounds as we chose them.
    labels
        One label that the edges hold and one that the centre holds, where a source shows two and
        does not say which. Readings that differ in this alone have the same `words`.
    """

    words: str
    when: When = "before"
    exchanged: bool = False
    best: bool = False
    mean: bool = False
    weight: str = ""
    role: Role = "cooperating"
    labels: tuple[int, ...] = ()

    def agents(self, agents: Sequence[int]) -> tuple[int, ...]:
        """Which agents are meant."""
        return tuple(1 - agent for agent in agents) if self.exchanged else tuple(agents)


AS_PRINTED = Reading("before consensus, last round")
READINGS: Mapping[str, tuple[Reading, ...]] = MappingProxyType(
    {
        name: tuple(papers.built(Reading, one) for one in some)
        for name, some in papers.tables("figures")["readings"].items()
    }
)
"""Other readings than as printed that a figure is tried in, by the name that it has for them."""


def pairs(readings: str, labels: Sequence[Sequence[int]]) -> tuple[Reading, ...]:
    """Those of a name, and each pair of a label of the edges and one of the centre."""
    words = "of one label that the edges hold and one that the centre holds"
    each = (Reading(words, labels=pair) for pair in (product(*labels) if labels else ()))
    return *READINGS[readings], *each


# Numbers read out of runs -------------------------------------------------------------------------


def when_of(runs: Sequence[NetPart], when: When) -> When:
    """When, of runs that may have one belief only: servers and central learners."""
    has = all(run.curve.last_before is not None for run in runs)
    return when if has and runs[0].network.agents > 1 else "after"


def accuracies(
    runs: Sequence[NetPart], agents: Sequence[int], reading: Reading = AS_PRINTED
) -> list[float]:
    """Mean accuracy of some agents, or of all, in per cent; one number a run."""
    if not runs:
        return []
    when, own = when_of(runs, reading.when), reading.agents(agents)
    if not reading.best:
        return [group_mean(last_of(run, when).accuracy, own) for run in runs]
    curves = [accuracy_course([run], own, when) for run in runs]
    return [float(values.max()) for _, values in curves]


def accuracy_course(
    runs: Sequence[NetPart], agents: Sequence[int], when: When = "before"
) -> tuple[list[float], FloatArray]:
    """Rounds, and the mean accuracy of some agents over seeds in per cent."""
    when = when_of(runs, when)
    rounds = [float(point.round) for point in runs[0].curve.points]
    rows = []
    for run in runs:
        seen = [point.at(when) for point in run.curve.points]
        rows.append([group_mean(one.way.accuracy, agents) for one in seen if one is not None])
    return rounds, np.asarray(np.mean(rows, axis=0), dtype=float)


def over_rounds(runs: Sequence[NetPart], agents: Sequence[int], reading: Reading) -> float:
    """The mean accuracy over the recorded rounds, in per cent: the higher, the faster."""
    return float(accuracy_course(runs, reading.agents(agents), reading.when)[1].mean())


def label_course(
    runs: Sequence[NetPart], agents: Sequence[int], labels: Sequence[int], when: When = "before"
) -> tuple[list[float], FloatArray]:
    """Rounds, and the mean probability of the true label, over some agents, labels and seeds."""
    rounds = [float(point.round) for point in runs[0].curve.points]
    rows = []
    for run in runs:
        places = [run.curve.agents.index(agent) for agent in agents]
        values = []
        for point in run.curve.points:
            beliefs = point.at(when)
            known = [] if beliefs is None else beliefs.way.confidence or []
            chosen = [known[place][label] for place in places for label in labels]
            values.append(np.mean([np.nan if one is None else one for one in chosen]))
        rows.append(values)
    return rounds, np.asarray(np.mean(rows, axis=0), dtype=float)


def last_confidence(
    runs: Sequence[NetPart], agents: Sequence[int], labels: Sequence[int], reading: Reading
) -> float:
    """Confidence in some labels in the last recorded round, or the mean over all of them."""
    course = label_course(runs, agents, labels, reading.when)[1]
    return float(course.mean() if reading.mean else course[-1])


def confusion(runs: Sequence[NetPart], agent: int, reading: Reading = AS_PRINTED) -> FloatArray:
    """Images by true and predicted label at the end, over all seeds."""
    (own,) = reading.agents((agent,))
    when = when_of(runs, reading.when)
    tables = [last_of(run, when).confusion or [] for run in runs]
    return np.asarray(np.sum([table[own] for table in tables], axis=0), dtype=float)


def taken_for(table: FloatArray, true: Sequence[int], guesses: Sequence[int]) -> float:
    """The share, in per cent, of some labels' images that are taken for one of some others."""
    rows = table[list(true)]
    return float(100 * rows[:, list(guesses)].sum() / rows.sum())


def share_right(table: FloatArray, labels: Sequence[int]) -> list[float]:
    """The share of each label's images that are taken for what they are, in per cent."""
    return [taken_for(table, [label], [label]) for label in labels]


def labels_among(
    runs: Sequence[NetPart],
    agents: Sequence[int],
    kind: str,
    shown: Sequence[int] = (),
    but: Sequence[int] = (),
) -> list[int]:
    """Labels that agents hold (``"ID"``), or the others (``"OOD"``); of these that are shown."""
    own = runs[0].network.labels[agents[0]]
    every = shown or range(len(runs[0].classes))
    return [one for one in every if (one in own) == (kind == "ID") and one not in but]


# A number that something printed is held against --------------------------------------------------


@dataclass(frozen=True)
class Value:
    """What a check measures.

    Attributes
    ----------
    of
        ``accuracy`` at the end and ``speed``, its mean over the rounds, in %; ``taken``, the share
        of some labels' images that are taken for `guesses`, in %; ``confidence`` at the end and
        ``mean confidence`` over the rounds, in true labels.
    row, variant
        Of the recipe `paper`.
    key
        What is needed of the record; empty: what it is read from.
    agents, side
        Agents by their numbers, or all; or a side of a star.
    labels, among, but, shown
        Labels by their numbers; or those that the side holds, ``ID``, or not, ``OOD``, without
        some, of those that a figure shows.
    """

    of: str
    row: str
    variant: str = ""
    key: str = ""
    agents: tuple[int, ...] = ()
    side: str = ""
    labels: tuple[int, ...] = ()
    among: str = ""
    but: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()
    guesses: tuple[int, ...] = ()

    def read(self, kept: Kept, reading: Reading) -> float | None:
        """The number, as read in some way; None where no record has it."""
        key = self.key or _KEYS.get(self.of, ACCURACIES)
        variant = reading.weight or self.variant
        runs = kept.runs(Need(self.row, variant, key, reading.role))
        if not runs:
            return None
        if self.of == "accuracy":
            return float(np.mean(accuracies(runs, self.agents, reading)))
        if self.of == "speed":
            return over_rounds(runs, self.agents, reading)
        if self.of == "taken":
            table = confusion(runs, self.agents[0], reading)
            return taken_for(table, self.labels, self.guesses)
        agents, shown = SIDES[self.side], self.shown or reading.labels
        own = self.labels or labels_among(runs, agents, self.among, shown, self.but)
        if self.of == "confidence":
            return last_confidence(runs, agents, own, reading)
        return float(np.mean(label_course(runs, agents, own, reading.when)[1]))


_KEYS = {"taken": CONFUSION, "confidence": CONFIDENCES, "mean confidence": CONFIDENCES}


# Rules that hold what a source prints against the records, or against runs of a regression -------


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

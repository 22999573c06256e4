"""Numbers read out of runs the way a source may have meant them.

P2 predicts with b, the belief before consensus (4.2 and Remark 6); P1's words mean the same. A
number that does not come out so is tried in other readings, which stand in
`empirical/papers/figures.toml`, before it is called not reproduced. A label is in-domain (ID) for
agents whose data have it and out-of-domain (OOD) for others; the confidence is the mean probability
of the true label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

import numpy as np

from empirical import papers
from peerbayes.experiments.net_documents import NetPart, When, group_mean, last_of
from peerbayes.experiments.net_rows import Role
from peerbayes.sources.kept import ACCURACIES, CONFIDENCES, CONFUSION, Kept, Need
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

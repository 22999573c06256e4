"""Numbers read out of runs the way a source may have meant them.

P2 predicts with b, the belief before consensus (4.2 and Remark 6), and P1's words mean the same. A
number that does not come out so is tried in other readings before it is called not reproduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerbayes.experiments.net_documents import NetPart, When, group_mean, last_of
from peerbayes.experiments.net_rows import Role
from peerbayes.sources.documents import CurveDocument, PanelDocument
from theory.validation import FloatArray

CENTRE, EDGES = (0,), tuple(range(1, 9))


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
    labels: tuple[int, int] | None = None

    def agents(self, agents: Sequence[int]) -> tuple[int, ...]:
        """Which agents are meant."""
        return tuple(1 - agent for agent in agents) if self.exchanged else tuple(agents)


AS_PRINTED = Reading("before consensus, last round")
OTHERS = (
    Reading("after consensus", when="after"),
    Reading("before consensus, best recorded round", best=True),
    Reading("after consensus, best recorded round", when="after", best=True),
)
# P1 does not say how many batches lie between two consensus.
BATCHWISE = (
    Reading("with a consensus after every batch", role="a batch a round"),
    Reading("with a consensus after every ten batches", role="10 batches a round"),
)
OF_TWO_NODES = (
    *OTHERS,
    Reading("after consensus, nodes’ names exchanged", "after", True),
    *BATCHWISE,
)


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


def accuracy_panel(title: str, curves: Sequence[CurveDocument]) -> PanelDocument:
    """Accuracies over rounds."""
    return PanelDocument(title=title, x="round", y="accuracy [%]", curves=list(curves))


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

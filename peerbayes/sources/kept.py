"""What is on record of the parts that figures are drawn from, and what is missing.

Two folders are looked at: short records, as `peerbayes campaign` keeps them and as the
documentation has them, and the records that `peerbayes run` leaves. Where both have a part, that of
`run` counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from types import MappingProxyType

import numpy as np

from peerbayes.experiments.gae_rows import GaeContent
from peerbayes.experiments.net_documents import Beliefs, NetPart, When, group_mean, last_of
from peerbayes.experiments.net_rows import ROWS, Part, Role
from peerbayes.experiments.run import KIND
from peerbayes.experiments.short_records import read_row
from peerbayes.record_names import file_name
from peerbayes.records import read_record
from peerbayes.sources.documents import CurveDocument, LevelDocument, MissingDocument, PanelDocument
from theory.validation import FloatArray, fail

GAE = "gae"
RECIPE = "paper"


def _at_points(run: NetPart, has: Callable[[Beliefs], bool]) -> bool:
    seen = [point.at("before") for point in run.curve.points]
    return all(one is not None and has(one) for one in seen)


def _at_end(run: NetPart, has: Callable[[Beliefs], bool]) -> bool:
    last = run.last("before")
    return last is not None and has(last)


AFTER, ACCURACIES = "accuracies after consensus", "accuracies before consensus"
CONFIDENCES = "confidence by label, before consensus"
CONFUSION = "tables of confusion before consensus"
KEYS: Mapping[str, Callable[[NetPart], bool]] = MappingProxyType(
    {
        AFTER: lambda run: True,
        ACCURACIES: lambda run: _at_points(run, lambda _: True) and _at_end(run, lambda _: True),
        CONFIDENCES: lambda run: _at_points(run, lambda one: one.way.confidence is not None),
        CONFUSION: lambda run: _at_end(run, lambda one: one.way.confusion is not None),
    }
)
"""What figures need of a part's record: whether it is there, by its name."""


@dataclass(frozen=True)
class Need:
    """A part that a figure is drawn from, with any seed.

    Attributes
    ----------
    row, variant, role
        Which part of the recipe `paper`.
    key
        What the figure needs of its record: a name of `KEYS`.
    """

    row: str
    variant: str = ""
    key: str = ACCURACIES
    role: Role = "cooperating"

    @property
    def part(self) -> str:
        """The part's name, with the first seed."""
        return Part(RECIPE, self.role, self.variant, 0).name

    def missing(self, lacks: str) -> MissingDocument:
        """What to run."""
        return MissingDocument(
            part=f"{self.row}: {self.part}",
            lacks=lacks,
            command=f'peerbayes run {self.row} --recipe {RECIPE} --part "{self.part}"',
        )


@dataclass(frozen=True, eq=False)
class Kept:
    """Records of two folders; either may be absent.

    Raises
    ------
    ValueError
        When a record of `run` is read that is damaged or was edited; in one line. Short ones that
        are (`damage`) are left out.
    """

    short: Path
    full: Path | None = None

    @cached_property
    def _parts(self) -> Mapping[str, Mapping[str, NetPart]]:
        return {row: self._row(row) for row in ROWS}

    def _row(self, row: str) -> Mapping[str, NetPart]:
        found = {name: one.found for name, one in read_row(self.short, row).parts.items()}
        for name, content in self._full(row).items():
            found[name] = NetPart.model_validate(content)
        return found

    def _full(self, name: str) -> Mapping[str, object]:
        path = None if self.full is None else self.full / file_name(KIND, name)
        if path is None or not path.exists():
            return {}
        record = read_record(path)
        if record.kind != KIND or not isinstance(record.body, dict):
            raise fail(str(path), "a record of 'run'", record.kind, "name another folder")
        content: Mapping[str, object] = record.body["content"]
        return content

    @cached_property
    def gae(self) -> GaeContent:
        """The parts of `gae`."""
        parts = {name: one.content for name, one in read_row(self.short, GAE).parts.items()}
        return GaeContent.of({**parts, **self._full(GAE)})

    @property
    def damage(self) -> tuple[str, ...]:
        """A sentence about every line of the short records that cannot be read."""
        return tuple(words for row in (*ROWS, GAE) for words in read_row(self.short, row).damage)

    def runs(self, need: Need) -> tuple[NetPart, ...]:
        """All seeds of one mark, that with most of them, whose records have what is needed."""
        own = [run for run in self._of(need) if KEYS[need.key](run)]
        marks = [run.made_by for run in own]
        best = max(marks, key=marks.count, default="")
        return tuple(run for run in own if run.made_by == best)

    def _of(self, need: Need) -> list[NetPart]:
        wanted = (RECIPE, need.role, need.variant)
        runs = self._parts[need.row].values()
        return [run for run in runs if (run.recipe, run.role, run.variant) == wanted]

    def missing(self, need: Need) -> MissingDocument | None:
        """What has to be run; None if there is nothing to run."""
        if self.runs(need):
            return None
        return need.missing(need.key if self._of(need) else "the record")


# Numbers read out of runs the way a source may have meant them ------------------------------------
# P2 predicts with b, the belief before consensus (4.2 and Remark 6); P1's words mean the same. A
# number that does not come out so is tried in other readings before it is called not reproduced.

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
OF_TWO_NODES = (
    *OTHERS,
    Reading("after consensus, nodes’ names exchanged", "after", True),
    Reading("with a consensus after every batch", role="a batch a round"),
    Reading("with a consensus after every ten batches", role="10 batches a round"),
)
_CONFIDENCES = (
    *(one for one in OTHERS if not one.best),
    Reading("in the mean over the recorded rounds", mean=True),
)
# Of star-fmnist-1: a label that the edges hold, and one that the centre holds.
_PAIRS = tuple(
    Reading("of one label that the edges hold and one that the centre holds", labels=pair)
    for pair in product((1, 5, 7, 9), (0, 2, 3, 4, 6, 8))
)
READINGS: Mapping[str, tuple[Reading, ...]] = MappingProxyType(
    {
        "others": OTHERS,
        "best": (Reading("best recorded round", when="after", best=True),),
        "two nodes": OF_TWO_NODES,
        "two nodes at the end": tuple(one for one in OF_TWO_NODES if not one.best),
        "confidences": _CONFIDENCES,
        "confidences by weight": (
            *_CONFIDENCES,
            *(Reading(f"with {a}", weight=a) for a in ("a=0.5", "a=0.3")),
        ),
        "confidences by pair": (*_CONFIDENCES, *_PAIRS),
    }
)
"""Other readings than as printed that a figure is tried in, by the name that it has for them."""


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

"""Figures of the sources as types, how printed things are judged, and what is on record.

A check holds something measured against something printed, with its tolerance and its reason. Of
records two folders are looked at: short records, as `peerbayes campaign` keeps them and as the
documentation has them, and the records that `peerbayes run` leaves. Where both have a part, that of
`run` counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Literal, Self

from numpy.typing import ArrayLike
from pydantic import Field

from peerbayes.documents import Document, Number, Numbers, numbers
from peerbayes.experiments.gae_rows import GaeContent
from peerbayes.experiments.net_lines import SPREAD, Printed, accuracy_tolerance, is_reproduced
from peerbayes.experiments.net_rows import ROWS, Beliefs, NetPart, Part, Role
from peerbayes.experiments.run import KIND
from peerbayes.experiments.short_records import read_row
from peerbayes.figures.wording import number
from peerbayes.records import file_name, read_record
from theory.validation import fail

Outcome = Literal["reproduced", "not reproduced", "undecidable here"]


class CurveDocument(Document):
    """One curve of a panel."""

    name: str
    along: Numbers
    values: Numbers
    dashed: bool = False

    @classmethod
    def of(cls, name: str, along: ArrayLike, values: ArrayLike, *, dashed: bool = False) -> Self:
        """A curve from arrays of shape (n,)."""
        return cls(name=name, along=numbers(along), values=numbers(values), dashed=dashed)


class LevelDocument(Document):
    """A printed number, drawn across a panel."""

    name: str
    value: float


class PanelDocument(Document):
    """One pair of axes: curves, or a table of confusion."""

    left_out: ClassVar[frozenset[str]] = frozenset({"confusion", "classes", "held"})

    title: str
    x: str = Field(default="", description="what is along it, with its unit")
    y: str = ""
    log_y: bool = False
    curves: list[CurveDocument] = Field(default_factory=list)
    levels: list[LevelDocument] = Field(default_factory=list)
    confusion: list[list[float]] | None = Field(
        default=None, description="images by true and predicted label"
    )
    classes: list[str] | None = None
    held: list[int] | None = Field(default=None, description="labels of the agent's own data")


class CheckDocument(Document):
    """One thing that a source prints, beside what is measured."""

    what: str
    printed: str
    measured: Number
    wanted: str = Field(description="what the measured number has to be, with its tolerance")
    holds: bool | None = Field(description="null where nothing was measured")
    reason: str = Field(description="where the tolerance is from")


class MissingDocument(Document):
    """What a figure needs that is not on record."""

    part: str
    lacks: str = Field(description="the record, or what the record there is does not hold")
    command: str = Field(description="that makes it")


class FigureDocument(Document):
    """One figure: what is printed, what is measured, and the verdict."""

    name: str
    source: str
    shows: str = Field(description="what the figure shows, by its source")
    verdict: Outcome
    sentence: str
    checks: list[CheckDocument]
    panels: list[PanelDocument]
    missing: list[MissingDocument]
    marks: list[str] = Field(
        description="behaviour marks of the parts that it was drawn from; builds of earlier ones"
    )


class FiguresRecord(Document):
    """A record of `figures`."""

    figures: list[FigureDocument] = Field(min_length=1)


class FiguresPrinted(FiguresRecord):
    """What `figures` prints with ``--json``."""

    record: str
    report: str


# How something measured is held against something printed: rules, tolerances and reasons


def accuracy_check(what: str, printed: str, values: Sequence[float]) -> CheckDocument:
    """An accuracy in per cent, one value a seed, beside the printed one."""
    known = Printed.read(printed)
    if not values:
        return undecided(what, printed)
    allowed = accuracy_tolerance(known, len(values))
    mean = sum(values) / len(values)
    seeds = f"{len(values)} seed{'s' * (len(values) != 1)}"
    return CheckDocument(
        what=what,
        printed=printed,
        measured=mean,
        wanted=f"{known.value:g} ± {number(allowed, 2)}",
        holds=is_reproduced(known, values),
        reason=f"read to ± {known.reading:g}; one run of theirs, {seeds} of ours, each with a"
        f" standard deviation of {100 * SPREAD:g} % of the error rate; two deviations",
    )


def above(
    what: str, printed: str, measured: float | None, bound: float, reason: str
) -> CheckDocument:
    """Something that has to exceed a bound."""
    holds = None if measured is None else measured > bound
    return _bounded(what, printed, measured, f"above {number(bound, 3)}", holds, reason)


def below(
    what: str, printed: str, measured: float | None, bound: float, reason: str
) -> CheckDocument:
    """Something that has to stay below a bound."""
    holds = None if measured is None else measured < bound
    return _bounded(what, printed, measured, f"below {number(bound, 3)}", holds, reason)


def _bounded(
    what: str, printed: str, measured: float | None, wanted: str, holds: bool | None, reason: str
) -> CheckDocument:
    if holds is None:
        return undecided(what, printed)
    return CheckDocument(
        what=what, printed=printed, measured=measured, wanted=wanted, holds=holds, reason=reason
    )


def undecided(what: str, printed: str, reason: str = "no record") -> CheckDocument:
    """Something printed beside which nothing was measured."""
    return CheckDocument(
        what=what, printed=printed, measured=None, wanted="", holds=None, reason=reason
    )


def outcome(checks: Sequence[CheckDocument]) -> Outcome:
    """The verdict on a figure: one failure decides; so does all that was printed and holds.

    Examples
    --------
    >>> outcome([undecided("accuracy", "97.55")])
    'undecidable here'
    """
    if any(check.holds is False for check in checks):
        return "not reproduced"
    if not checks or any(check.holds is None for check in checks):
        return "undecidable here"
    return "reproduced"


# What is on record of the parts that figures are drawn from, and what is missing -----------------


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

"""Figures of the sources as types: what `figures` prints; and how printed things are judged.

A check holds something measured against something printed, with its tolerance and its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from numpy.typing import ArrayLike
from pydantic import Field

from peerbayes.documents import Document, Number, Numbers, numbers
from peerbayes.experiments.net_lines import SPREAD, Printed, accuracy_tolerance, is_reproduced
from peerbayes.figures.wording import number

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

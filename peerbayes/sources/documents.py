"""A figure of the sources redrawn, as types: what `figures` prints, and leaves in its record."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from numpy.typing import ArrayLike
from pydantic import Field

from peerbayes.documents import Document, Number, Numbers, numbers

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

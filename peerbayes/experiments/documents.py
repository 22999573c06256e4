"""What `run` prints, and what it leaves on disk, as types: what all experiments have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from pydantic import Field

from peerbayes.documents import Document
from peerbayes.experiments.experiment import Line


class RunSummary(Document):
    """An experiment's lines, and which parts they are of."""

    experiment: str
    title: str
    source: str
    seed: int = Field(ge=0)
    replicates: int = Field(ge=1, description="independent runs of each part")
    parts: list[str]
    lines: list[Line] = Field(description="printed, measured and predicted, side by side")


class RunPrinted(RunSummary):
    """What `run` prints."""

    reused: list[str] = Field(description="parts that were on record already")
    record: str
    report: str


class RunRecord(RunSummary):
    """What `run` leaves on disk: the parts as they were found, under their names."""

    settings: dict[str, Any]
    version: str = ""
    content: dict[str, Any]


class Made(Document):
    """What a part found, and which code made it.

    Records of earlier versions have `build`, a hash of the source files, in place of `behaviour`.
    """

    left_out: ClassVar[frozenset[str]] = frozenset({"behaviour", "build"})

    behaviour: str | None = Field(default=None, description="behaviour mark of its recipe")
    build: str | None = Field(default=None, description="what earlier versions had in its place")
    versions: dict[str, str] = Field(default_factory=dict)

    @property
    def code_mark(self) -> str:
        """The behaviour mark, or the build of an earlier version; means are of one alone."""
        return self.behaviour or self.build or "unknown"

    @property
    def program(self) -> str:
        """The version of this program, or the build of an earlier one: one for all recipes."""
        return self.build or self.versions.get("peerbayes", "unknown")

    @property
    def made_by(self) -> str:
        """The same with a word for what it is, such as ``mark 0123456789ab``."""
        return made_by({"behaviour": self.behaviour, "build": self.build})


def made_by(content: Mapping[str, Any]) -> str:
    """Which code made a part, from its plain values.

    Examples
    --------
    >>> made_by({"build": "0123456789ab"}), made_by({"behaviour": "ba9876543210"})
    ('build 0123456789ab', 'mark ba9876543210')
    """
    for key, word in (("behaviour", "mark"), ("build", "build")):
        if content.get(key):
            return f"{word} {content[key]}"
    return "unknown"


MadeT = TypeVar("MadeT", bound=Made)


def code_words(parts: Sequence[MadeT], recipe: Callable[[MadeT], object]) -> list[str]:
    """Which code made each part, where that has to be said; empty where all are of one.

    A build is one of all recipes. Marks tell recipes apart too: they are said where parts of one
    recipe, by `recipe`, have several.
    """
    builds = {one.made_by for one in parts if one.behaviour is None}
    are_mixed = len(builds) + any(one.behaviour for one in parts) > 1
    marks: dict[object, set[str]] = {}
    for one in parts:
        if one.behaviour is not None:
            marks.setdefault(recipe(one), set()).add(one.behaviour)

    def is_said(one: MadeT) -> bool:
        return are_mixed if one.behaviour is None else len(marks[recipe(one)]) > 1

    return [one.made_by if is_said(one) else "" for one in parts]


class PartRecord(Document):
    """What is kept of one part: the checksum of what it depends on, and what it found."""

    fingerprint: str
    content: Any

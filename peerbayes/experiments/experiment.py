"""What an experiment is: a frozen configuration that names its parts, runs one, and concludes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Protocol, TypeVar, runtime_checkable

from pydantic import Field

from peerbayes.documents import Document, Number
from theory.progress import Progress
from theory.validation import fail

# What an experiment is ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """Printed, measured and predicted, side by side.

    Attributes
    ----------
    what
        The quantity, with its unit.
    printed
        What the paper says, in its words or numbers; empty where it says nothing.
    measured, standard_error
        From the run; None where nothing was measured, or there is no error.
    predicted
        From theory; None where it says nothing.
    holds
        Whether measured and predicted differ by no more than chance allows; None where that is
        not claimed.
    remark
        A word on what the comparison shows, where that is not plain.
    """

    what: str
    printed: Annotated[str, Field(description="in the paper; empty if nothing is")]
    measured: Number
    standard_error: Number
    predicted: Number
    holds: Annotated[
        bool | None, Field(description="within sampling error; null where nothing is claimed")
    ] = None
    remark: str = ""

    def as_json(self) -> dict[str, Any]:
        """The JSON object of one line."""
        return asdict(self)


@runtime_checkable
class Experiment(Protocol):
    """One row of the papers' experiments."""

    @property
    def name(self) -> str:
        """Short name, by which it is run."""
        ...

    @property
    def title(self) -> str:
        """What it is, in one line."""
        ...

    @property
    def source(self) -> str:
        """Paper and section."""
        ...

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its parts, in the order in which they are run."""
        ...

    @property
    def replicates(self) -> int:
        """Independent runs of each part, if not said otherwise."""
        ...

    @property
    def replicates_are_parts(self) -> bool:
        """Whether each replicate is a part of its own, instead of all being run in every part."""
        ...

    def settings(self) -> dict[str, Any]:
        """Everything but seed and replicates that the numbers depend on, in plain values."""
        ...

    def part_settings(self, part: str) -> dict[str, Any]:
        """What of the settings the numbers of one part depend on."""
        ...

    def stream(self, part: str) -> int:
        """Which stream of random numbers a part has; parts with the same stream can be paired."""
        ...

    def run_part(
        self, part: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> Document:
        """What one part measures and predicts."""
        ...

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """The lines that all parts together give."""
        ...


class PartsBySeed:
    """What experiments have in common in which each of `seeds` replicates is a part of its own."""

    seeds: int

    @property
    def replicates(self) -> int:
        """How many seeds."""
        return self.seeds

    @property
    def replicates_are_parts(self) -> bool:
        """Each seed is a part."""
        return True


def parts_named(
    own: Iterable[str], words: str, *, shown: Sequence[str] | None = None
) -> tuple[str, ...]:
    """The part of this name, or those whose names contain these words.

    Parameters
    ----------
    own
        The parts that there are.
    words
        Any text; with none, all of them.
    shown
        Names that a refusal tells, where there are many; all of them if left out.

    Raises
    ------
    ValueError
        If there is none.
    """
    names = tuple(own)
    chosen = (words,) if words in names else tuple(name for name in names if words in name)
    if not chosen:
        told = names if shown is None else shown
        few = "names such as " if len(told) < len(names) else ""
        raise fail("--part", f"words of {few}{', '.join(told)}", repr(words), "use such words")
    return chosen


# What `run` prints, and what it leaves on disk, as types -----------------------------------------


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

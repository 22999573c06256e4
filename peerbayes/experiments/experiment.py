"""What an experiment is: a frozen configuration that names its parts, runs one, and concludes.

Below it stand the types of what `run` prints and leaves on disk, so far as all experiments have
them in common.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar

from pydantic import Field

from peerbayes.documents import Document, Number
from peerbayes.records import checksum, plain
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.settings.nets import Experiment as Options


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


def line(
    what: str,
    values: Collection[float] = (),
    *,
    printed: str = "",
    predicted: float | None = None,
    holds: bool | None = None,
    remark: str = "",
) -> Line:
    """A line of the mean over some seeds and its standard error; of no values nothing is measured.

    Examples
    --------
    >>> line("rounds", [3.0, 5.0]).standard_error
    1.0
    """
    mean, error = mean_and_error(values) if len(values) else (None, None)
    measured = None if mean is None else finite(mean)
    return Line(what, printed, measured, error, predicted, holds, remark)


def mean_and_error(values: Collection[float]) -> tuple[float, float | None]:
    """Mean over seeds and its standard error; None for a single one.

    Examples
    --------
    >>> mean_and_error([1.0, 3.0])
    (2.0, 1.0)
    """
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, None
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, sqrt(variance / n)


def finite(value: float) -> float | None:
    """The number; None where it is infinite or undefined."""
    return value if isfinite(value) else None


class Experiment:
    """One row of the papers' experiments.

    Those whose replicates are parts of their own are
    :class:`peerbayes.experiments.setting.SeededExperiment`.

    Attributes
    ----------
    name, title, source
        Short name, by which it is run; what it is, in one line; paper and section.
    parts
        The names of its parts, in the order in which they are run.
    replicates
        Independent runs of each part, if not said otherwise.
    replicates_are_parts
        Whether each replicate is a part of its own, instead of all being run in every part.
    options
        Which of the options of `run` it has a use for.
    """

    replicates_are_parts: bool = False
    options: ClassVar[frozenset[str]] = frozenset()

    if TYPE_CHECKING:  # fields of some, computed by others

        @property
        def name(self) -> str: ...
        @property
        def title(self) -> str: ...
        @property
        def source(self) -> str: ...
        @property
        def parts(self) -> tuple[str, ...]: ...
        @property
        def replicates(self) -> int: ...

    def settings(self) -> dict[str, Any]:
        """Everything but seed and replicates that the numbers depend on, in plain values."""
        raise NotImplementedError

    def part_settings(self, part: str) -> dict[str, Any]:
        """What of the settings the numbers of one part depend on."""
        return self.settings()

    def settings_mark(self, part: str) -> str:
        """The SHA-256 of everything but code and seed of a run that a part's numbers depend on."""
        settings = {k: v for k, v in self.part_settings(part).items() if k != "behaviour"}
        return checksum({"experiment": self.name, "part": part, "settings": plain(settings)})

    def stream(self, part: str) -> int:
        """Which stream of random numbers a part has; parts with the same stream can be paired."""
        return self.parts.index(part)

    def run_part(
        self, part: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> Document:
        """What one part measures and predicts.

        Raises
        ------
        ValueError
            If something that it needs is missing, or it fails; in one line.
        """
        raise NotImplementedError

    def parts_with(self, words: str) -> tuple[str, ...]:
        """The parts whose names contain these words.

        Raises
        ------
        ValueError
            If there is none.
        """
        return parts_named(self.parts, words)

    def settled(self, part: str) -> None:
        """The part is on record: what was kept to take it up again goes."""

    def damage(self, part: str, content: Mapping[str, Any], folder: Path) -> str | None:
        """What is wrong with the files that a part on record keeps in a folder; None if nothing."""
        return None

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """The lines that all parts that are there give: documents, or their plain values."""
        raise NotImplementedError

    def check(self) -> None:
        """Refuse to run where something that the experiment needs is missing.

        Raises
        ------
        ValueError
            If a library, the data or the device are missing; in one line that says how to get them.
        """

    def configured(self, how: Options, out: Path) -> tuple[Experiment, tuple[str, ...] | None]:
        """The experiment as it is to be run, and which of its parts; None for all.

        `out` is the folder of records.

        Raises
        ------
        ValueError
            If there are no such parts, or what it needs is missing; in one line.
        """
        return self, None

    def ready(self, only: tuple[str, ...]) -> tuple[Self, tuple[str, ...]]:
        """The parts were found; now what they need is: a wrong name costs no search for data."""
        self.check()
        return self, only


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


# What `run` prints, and what it leaves on disk ----------------------------------------------------


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

"""What an experiment is: a frozen configuration with a table of parts, of which it runs one.

Below it stand the types of what `run` prints and leaves on disk, so far as all experiments have
them in common.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Self, TypeVar

from pydantic import Field

from peerbayes.documents import Document, Number, number
from peerbayes.experiments.setting import (
    Named,
    Setting,
    alone,
    behaviour_mark,
    check_placed,
    forget_unfinished,
    parts_folder,
    versions,
)
from peerbayes.records import checksum, plain
from theory.progress import Progress
from theory.validation import as_integer, fail

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
    measured = None if mean is None else number(mean)
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


@dataclass(frozen=True)
class Job:
    """What a run of a part needs to know beside its experiment.

    Attributes
    ----------
    seed
        Of all its random numbers.
    fingerprint
        Of everything that its numbers depend on: unfinished states carry it.
    progress
        Callable of (done, total), or None.
    replicates
        Independent runs, where they are no parts of their own.
    """

    seed: int
    fingerprint: str = ""
    progress: Progress | None = None
    replicates: int = 1


@dataclass(frozen=True)
class Numbered:
    """A part that is known by its name alone; the number of its seed is its place."""

    name: str
    seed: int


def numbered(*names: str) -> dict[str, Numbered]:
    """A table of parts that are known by their names alone."""
    return {name: Numbered(name, place) for place, name in enumerate(names)}


PartT = TypeVar("PartT", bound=Named)


@dataclass(frozen=True, kw_only=True)
class Experiment(Generic[PartT]):
    """One row of the papers' experiments: a table of parts, and how one of them is run.

    Each kind says which parts there are (`table`), what their numbers depend on (`settings`,
    `depends`), which code they run through (`recipes`), how one is run (`find`), and what all of
    them say together (`conclude`). Parts with the same seed are compared on the same draws.

    Attributes
    ----------
    name, title, source
        Short name, by which it is run; what it is, in one line; paper and section.
    seeds
        How many of each part, if not said otherwise.
    replicates_are_parts
        Whether each replicate is a part of its own, instead of all being run in every part.
    is_quick
        A look of a minute at most. It has a name, and so records, of its own.
    setting
        Where and how it runs.
    options
        Which of the options of `run` it has a use for.
    dataset
        Name of the images.
    libraries
        What it needs.
    shown
        Which of the parts a refusal tells.
    """

    replicates_are_parts: ClassVar[bool] = True
    options: ClassVar[frozenset[str]] = frozenset({"part", "quick", "device"})
    libraries: ClassVar[tuple[str, ...]] = ("torch", "safetensors")
    shown: ClassVar[slice] = slice(None)
    seeds: int = 3
    is_quick: bool = False
    setting: Setting = field(default_factory=Setting)

    if TYPE_CHECKING:  # fields of some, computed by others

        @property
        def name(self) -> str: ...
        @property
        def title(self) -> str: ...
        @property
        def source(self) -> str: ...
        @property
        def dataset(self) -> str: ...

    def __post_init__(self) -> None:
        as_integer("seeds", self.replicates, minimum=1)

    # What each kind says ----------------------------------------------------------------------

    @property
    def table(self) -> Mapping[str, PartT]:
        """The parts by name, in the order in which they are run."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """Everything but seed and replicates that all parts have in common, in plain values."""
        raise NotImplementedError

    def depends(self, part: PartT) -> dict[str, Any]:
        """What the numbers of one part depend on, but for what its code does."""
        return self.settings()

    def recipes(self, part: PartT) -> tuple[str, ...]:
        """The recipes of a part, by whose behaviour marks its code is known."""
        return ()

    def find(self, part: PartT, job: Job) -> Document:
        """What one part measures and predicts; everything that it needs is there.

        Raises
        ------
        ValueError
            If it fails; in one line.
        """
        raise NotImplementedError

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """The lines that all parts that are there give: documents, or their plain values."""
        raise NotImplementedError

    # The same for all -------------------------------------------------------------------------

    @property
    def subject(self) -> str:
        """What a refusal is about: the experiment, by its name."""
        return self.name

    @property
    def replicates(self) -> int:
        """Independent runs of each part, if not said otherwise."""
        return self.seeds

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts, in the order in which they are run."""
        return tuple(self.table)

    def part(self, name: str) -> PartT:
        """The part of a name."""
        return self.table[name]

    def stream(self, part: str) -> int:
        """Which stream of random numbers a part has; parts with the same stream can be paired."""
        return self.part(part).seed

    def mark(self, name: str) -> str:
        """The behaviour mark that a part has if it is run now; empty if it has no recipe."""
        return behaviour_mark(*self.recipes(self.part(name)))

    def part_settings(self, name: str) -> dict[str, Any]:
        """What the numbers of one part depend on, and the mark of its code."""
        found, mark = self.depends(self.part(name)), self.mark(name)
        return {**found, "behaviour": mark} if mark else found

    def settings_mark(self, part: str) -> str:
        """The SHA-256 of everything but code and seed of a run that a part's numbers depend on."""
        settings = plain(self.depends(self.part(part)))
        return checksum({"experiment": self.name, "part": part, "settings": settings})

    def parts_with(self, words: str, *, seeds: int | None = None) -> tuple[str, ...]:
        """The parts of the first seeds, or of all, whose names contain these words.

        Raises
        ------
        ValueError
            If there is none.
        """
        own = [name for name, part in self.table.items() if seeds is None or part.seed < seeds]
        return parts_named(own, words, shown=own[self.shown])

    def check(self) -> None:
        """Refuse to run where libraries, the data or the device are missing.

        Raises
        ------
        ValueError
            In one line that says how to get them.
        """
        where = self.setting
        check_placed(self.subject, self.libraries, where.device, self.dataset, where.data)

    def run_part(
        self, name: str, *, seed: int, replicates: int = 1, progress: Progress | None = None
    ) -> Document:
        """What one part measures and predicts, run by nobody else in this folder.

        Raises
        ------
        ValueError
            If it fails, or somebody else runs it; in one line.
        """
        from empirical.nets.threads import one_thread
        from exact.checkpoint import fingerprint

        part, settings = self.part(name), self.part_settings(name)
        job = Job(seed, fingerprint(self.name, name, seed, settings), progress, replicates)
        with one_thread(), alone(part, self.setting):
            found = self.find(part, job)
        if "behaviour" not in settings:
            return found
        made = {"behaviour": settings["behaviour"], "versions": versions()}
        return found.model_copy(update=made)

    def settled(self, part: str) -> None:
        """The part is on record: what was kept to take it up again goes."""
        forget_unfinished(self.part(part), self.setting)

    def damage(self, part: str, content: Mapping[str, Any], folder: Path) -> str | None:
        """What is wrong with the files that a part on record keeps in a folder; None if nothing."""
        return None

    # As it is asked for -----------------------------------------------------------------------

    def with_setting(self, setting: Setting) -> Self:
        """The same, to be run elsewhere."""
        return replace(self, setting=setting)

    def asked(self, how: Options, out: Path, **changes: Any) -> Self:
        """The same as it is asked for, in the folder of its own parts, with some fields changed.

        There are as many seeds as the experiment has at least: those on record stay there.
        """
        seeds = max(self.seeds_of(how), self.seeds)
        found: Self = replace(self, seeds=seeds, is_quick=how.nets.quick, **changes)
        folder = parts_folder(out, found.name)
        return found.with_setting(
            Setting(how.nets.device or "cpu", how.images, folder, how.resume, how.notice,
                    how.nets.workers or 1)
        )  # fmt: skip

    def seeds_of(self, how: Options) -> int:
        """How many seeds are asked for."""
        return how.replicates or (1 if how.nets.quick else self.seeds)

    def configured(self, how: Options, out: Path) -> tuple[Experiment[Any], tuple[str, ...] | None]:
        """The experiment as it is to be run, and which of its parts; None for all.

        `out` is the folder of records.

        Raises
        ------
        ValueError
            If there are no such parts, or what it needs is missing; in one line.
        """
        if not self.options:  # there is nothing to choose
            return self, None
        found = self.asked(how, out)
        only = found.parts_with(how.nets.part or "", seeds=self.seeds_of(how))
        found.check()  # after the parts: a wrong name costs no search for data
        return found, only


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

    settings: dict[str, Any] = Field(default_factory=dict)
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

"""The search that every method of `tuned` gets alike: a grid, then steps from the best so far.

A method is tried with eight settings, its grid. Then follow four trials, each beside the best
setting so far: past it, where nothing was tried beyond it on some axis (an optimum at the edge of
the grid so extends the grid, by the factor between the grid's last two values); else halfway, in
logarithms, into the widest gap beside it. The best is the setting with the least loss on
validation data. It is all deterministic: what comes next follows from the losses so far.

A row has one or two courses: few local steps a round, or many. In each every method takes as many
steps of as many examples; a search runs two fifths of a course's rounds. Methods and courses stand
in `empirical/papers/tuned.toml`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from empirical import papers
from peerbayes.documents import Document
from peerbayes.experiments.experiment import Made
from peerbayes.experiments.net_rows import Row
from theory.validation import as_integer, fail

if TYPE_CHECKING:
    from empirical.train.averaging import Learner


Settings = Mapping[str, float | str]
Way = Literal["network", "alone", "central", "server"]
# Significant digits of settings beside the grid.
_DIGITS = 3


@dataclass(frozen=True)
class Method:
    """Who learns how, and the settings that are tried first.

    Attributes
    ----------
    name, title
        Such as ``sites``; what it is, in a few words.
    way
        The row's network; each agent ``alone``, their predictions mixed; all data in one place,
        ``central``; or a ``server``.
    learner
        One of :data:`empirical.train.learners.LEARNERS`; of no use to a server.
    choices
        Values of each setting; small ones before large ones.
    seconds
        A step and weight, measured on one core of 2025.
    limits
        The largest value of settings that have one.
    """

    name: str
    title: str
    way: Way
    learner: str
    choices: Mapping[str, Sequence[float | str]]
    seconds: float
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def grid(self) -> tuple[Settings, ...]:
        """Every combination: eight settings."""
        return grid(**self.choices)

    @property
    def has_beliefs(self) -> bool:
        """Whether predictions average posterior samples."""
        return self.learner in ("sites", "natural-gradient", "backprop")

    @property
    def axes(self) -> dict[str, list[float]]:
        """The numbers of the grid, ascending, by the names of the settings that have several."""
        found = {}
        for name, values in self.choices.items():
            numbers = sorted(value for value in values if not isinstance(value, str))
            if len(numbers) > 1:
                found[name] = numbers
        return found

    def as_json(self) -> dict[str, Any]:
        """All that numbers depend on, in plain values."""
        return {
            "way": self.way,
            "learner": self.learner,
            "grid": [dict(one) for one in self.grid],
            "limits": dict(self.limits),
        }


def grid(**choices: Sequence[float | str]) -> tuple[Settings, ...]:
    """Every combination.

    Examples
    --------
    >>> len(grid(rate=[0.1, 0.3], trust=[1.0, 3.0], standing=[0.25, 0.5]))
    8
    """
    names = list(choices)
    return tuple(
        MappingProxyType(dict(zip(names, values, strict=True)))
        for values in itertools.product(*choices.values())
    )


_FILE = papers.tables("tuned")

METHODS: Mapping[str, Method] = MappingProxyType(
    {one["name"]: papers.built(Method, one) for one in _FILE["methods"]}
)
"""The methods by name."""

# Priors for one datum, which learners had when the first records were made.
_PRIORS: Mapping[str, Settings] = {
    "natural-gradient": {"prior_precision": 1e-4}, "sites": {"prior_precision": 1e-5},
}  # fmt: skip


def recorded_learner(name: str, **settings: Any) -> Learner:
    """The learner of records: :func:`~empirical.train.learners.learner_of` with their priors."""
    from empirical.train.learners import learner_of

    return learner_of(name, **{**_PRIORS.get(name, {}), **settings})


@dataclass(frozen=True)
class Trial:
    """A setting that was tried.

    Attributes
    ----------
    settings
        What was tried.
    loss
        Mean −log p on validation data, nats; infinite if training or prediction broke down.
    """

    settings: Settings
    loss: float


@dataclass(frozen=True)
class Choice:
    """What a search comes to.

    Attributes
    ----------
    settings, loss
        The best trial's; the first of equals.
    edges
        Settings on whose axis nothing was tried beyond the best: the optimum may lie further out.
    """

    settings: Settings
    loss: float
    edges: tuple[str, ...]


@dataclass(frozen=True)
class Search:
    """How many trials a method gets.

    Attributes
    ----------
    first
        Settings of its grid.
    more
        Settings beside the best.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    first: int = 8
    more: int = 4

    def __post_init__(self) -> None:
        as_integer("first", self.first, minimum=1)
        as_integer("more", self.more, minimum=0)

    @property
    def trials(self) -> int:
        """How many in all, the same for every method."""
        return self.first + self.more

    def settings(self, method: Method, found: Sequence[Trial]) -> Settings:
        """What is tried after these trials.

        Examples
        --------
        >>> losses = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
        >>> averaging = METHODS["averaging"]
        >>> found = [Trial(s, loss) for s, loss in zip(averaging.grid, losses)]
        >>> dict(Search().settings(averaging, found))
        {'rate': 0.8}
        """
        if len(found) < self.first:
            return method.grid[len(found)]
        best = _best(found)
        sides = list(_sides(method, best, found))
        beyond = [one for one in sides if one.neighbour is None]
        if beyond:
            return beyond[0].settings
        return max(sides, key=lambda one: one.gap).settings  # the first of the widest

    def chosen(self, method: Method, found: Sequence[Trial]) -> Choice:
        """The best of all trials.

        Raises
        ------
        ValueError
            If trials are missing, or all of them broke down.
        """
        if len(found) != self.trials:
            raise fail(
                f"search of {method.name}", f"{self.trials} trials", len(found),
                f"run its parts first, with --part {method.name}-search",
            )  # fmt: skip
        best = _best(found)
        if not math.isfinite(best.loss):
            raise fail(
                f"search of {method.name}", "a trial that ended", "none",
                "training breaks down with every setting: look at the data",
            )  # fmt: skip
        edges = [one.axis for one in _sides(method, best, found) if one.neighbour is None]
        return Choice(best.settings, best.loss, tuple(dict.fromkeys(edges)))

    def as_json(self) -> dict[str, int]:
        """Both numbers."""
        return {"first": self.first, "more": self.more}


SEARCH = Search()
"""The search of `tuned`."""

QUICK_SEARCH = Search(first=2, more=1)
"""That of a quick run."""


@dataclass(frozen=True)
class _Side:
    """One side of the best setting on one axis, and what would be tried there.

    `neighbour` is the nearest value that was tried there with all else as it is, None if there is
    none; `gap` is its distance in logarithms.
    """

    axis: str
    neighbour: float | None
    gap: float
    settings: Settings


def _best(found: Sequence[Trial]) -> Trial:
    return min(found, key=lambda one: one.loss)


def _sides(method: Method, best: Trial, found: Sequence[Trial]) -> Iterator[_Side]:
    """All open sides of the best, axis by axis, the upper one first."""
    for axis, values in method.axes.items():
        here = best.settings[axis]
        assert not isinstance(here, str)
        rest = {**best.settings, axis: 0.0}
        line = [
            value
            for one in found
            if {**one.settings, axis: 0.0} == rest
            and not isinstance(value := one.settings[axis], str)
        ]
        limit = method.limits.get(axis, math.inf)
        above = min((value for value in line if value > here), default=None)
        below = max((value for value in line if value < here), default=None)
        if above is not None or here < limit:
            beyond = min(here * values[-1] / values[-2], limit)
            yield _side(axis, best, here, above, beyond)
        yield _side(axis, best, here, below, here * values[0] / values[1])


def _side(axis: str, best: Trial, here: float, neighbour: float | None, beyond: float) -> _Side:
    value = beyond if neighbour is None else math.sqrt(here * neighbour)
    settings = {**best.settings, axis: float(f"{value:.{_DIGITS}g}")}
    gap = 0.0 if neighbour is None else abs(math.log(neighbour / here))
    return _Side(axis, neighbour, gap, settings)


# Courses and parts --------------------------------------------------------------------------------

Purpose = Literal["search", "seed"]


@dataclass(frozen=True)
class Course:
    """How long and how closely agents train.

    Attributes
    ----------
    local_steps, batch
        Steps of an agent in a round; examples of a step.
    rounds, search_rounds
        Of a test; of a trial.
    """

    local_steps: int
    batch: int
    rounds: int
    search_rounds: int

    @property
    def name(self) -> str:
        """Such as ``50-steps``."""
        return f"{self.local_steps}-steps"

    def as_json(self) -> dict[str, int]:
        """All numbers."""
        return asdict(self)


_COURSES = {name: papers.built(Course, one) for name, one in _FILE["courses"].items()}

COURSES: Mapping[str, tuple[Course, ...]] = MappingProxyType(
    {row: tuple(_COURSES[name] for name in names) for row, names in _FILE["rows"].items()}
)
"""The courses of each row that `tuned` has: one or two, few local steps a round, or many."""


@dataclass(frozen=True)
class TunedPart:
    """One training.

    Attributes
    ----------
    course
        How long.
    method
        The name of who learns how.
    purpose
        ``"search"``: a trial, judged by validation data; ``"seed"``: a test of the chosen setting.
    number
        Of the trial, from 1; or the seed, from 0.
    """

    course: Course
    method: str
    purpose: Purpose
    number: int

    @property
    def name(self) -> str:
        """Such as ``50-steps-sites-search-3``, or ``50-steps-sites-seed-0``."""
        return f"{self.course.name}-{self.method}-{self.purpose}-{self.number}"

    @property
    def seed(self) -> int:
        """Every trial has seed 0."""
        return self.number if self.purpose == "seed" else 0

    @property
    def rounds(self) -> int:
        """How many are run."""
        return self.course.rounds if self.purpose == "seed" else self.course.search_rounds

    @property
    def settings(self) -> dict[str, Any]:
        """What of the plan its numbers depend on."""
        return {
            "course": self.course.as_json(),
            "method": METHODS[self.method].as_json(),
            "purpose": self.purpose,
            "number": self.number,
        }


def search_of(*, is_quick: bool) -> Search:
    """The search that every method gets."""
    return QUICK_SEARCH if is_quick else SEARCH


def methods_of(row: Row, course: Course) -> tuple[str, ...]:
    """The methods that are compared: the papers' own step on some rows that pool often alone."""
    has_sampled = row.name in _FILE["sampled"] and course == _COURSES["often"]
    return tuple(name for name in METHODS if has_sampled or name != "backprop-sampled")


def tuned_parts(row: Row, *, seeds: int, is_quick: bool) -> tuple[TunedPart, ...]:
    """All parts of a row: of each method its trials in turn, then its tests.

    Examples
    --------
    >>> from peerbayes.experiments.net_rows import ROWS
    >>> parts = tuned_parts(ROWS["star-mnist-2"], seeds=3, is_quick=False)
    >>> len(parts), parts[0].name, parts[-1].name
    (120, '50-steps-sites-search-1', '50-steps-fedavg-seed-2')
    """
    trials = range(1, search_of(is_quick=is_quick).trials + 1)
    purposes: tuple[tuple[Purpose, range], ...] = (("search", trials), ("seed", range(seeds)))
    return tuple(
        TunedPart(course, method, purpose, number)
        for course in ((_COURSES["quick"],) if is_quick else COURSES[row.name])
        for method in methods_of(row, course)
        for purpose, numbers in purposes
        for number in numbers
    )


# What is left on disk -----------------------------------------------------------------------------


class TunedCourse(Document):
    """How long agents trained."""

    local_steps: int  # of an agent in a round
    batch: int
    rounds: int  # that were run


class TunedTraining(Made):
    """A trial on validation data, or a test of the setting that the trials chose."""

    method: str
    purpose: Purpose
    number: int  # of the trial, from 1; or the seed, from 0
    course: TunedCourse
    settings: dict[str, float | str]
    edges: list[str] = Field(
        default_factory=list
    )  # of a test: settings with no trial beyond the chosen one
    validation_loss: float | None = None  # of a test: the chosen trial's mean −log p, nats
    agents: int
    sizes: list[int]  # images that each agent learns from
    labels: list[list[int]]  # that each agent has
    # Of each agent, or of the one net or mixture; empty if it broke down.
    measures: dict[str, list[float]]
    failed: str = ""  # why it broke down; empty if it ended
    bytes_sent: int = 0  # by all agents and a server, over all rounds
    local_steps: int = 0  # of all agents together
    seconds: float  # of training, without the judging
    seed: int  # that training began with
    mark: str  # checksum of all settings that its numbers depend on
    data: dict[str, str]

    @property
    def trial(self) -> Trial:
        """What the search sees of it."""
        return Trial(self.settings, math.inf if self.failed else self.mean("nll"))

    def mean(self, measure: str) -> float:
        """The mean over agents of a measure."""
        values = self.measures[measure]
        return sum(values) / len(values)


def trainings_of(parts: Mapping[str, Any]) -> list[TunedTraining]:
    """The parts that are there: documents, or their plain values."""
    return [TunedTraining.model_validate(part) for part in parts.values()]

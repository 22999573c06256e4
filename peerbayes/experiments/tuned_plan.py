"""The parts of `tuned`: courses, trials of each method, tests of what was chosen.

A row has one or two courses: few local steps a round, or many. In each every method takes as many
steps of as many examples; a search runs two fifths of a course's rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from peerbayes.experiments.net_rows import Row
from peerbayes.experiments.tuned_search import METHODS, QUICK_SEARCH, SEARCH, Search

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
        return {
            "local_steps": self.local_steps,
            "batch": self.batch,
            "rounds": self.rounds,
            "search_rounds": self.search_rounds,
        }


_OFTEN, _SELDOM = Course(50, 50, 40, 16), Course(600, 50, 5, 2)

COURSES: Mapping[str, tuple[Course, ...]] = MappingProxyType(
    {
        "fmnist-2-iid": (_OFTEN, _SELDOM),
        "fmnist-2-balanced-a": (_OFTEN, _SELDOM),
        "fmnist-2-balanced-b": (_OFTEN, _SELDOM),
        "fmnist-2-unbalanced": (_OFTEN, _SELDOM),
        "star-mnist-1": (_OFTEN, _SELDOM),
        "star-mnist-2": (_OFTEN,),
        "star-mnist-3": (_OFTEN,),
        "star-fmnist-1": (_OFTEN, _SELDOM),
        "star-fmnist-2": (_OFTEN,),
        "grid-mnist": (_OFTEN,),
        # Whole turns of the star.
        "timevarying-25": (Course(10, 50, 300, 120),),
        "timevarying-100": (Course(20, 25, 300, 120),),
    }
)
"""The courses of each row that `tuned` has."""

_TWO_NODES = ("fmnist-2-iid", "fmnist-2-balanced-a", "fmnist-2-balanced-b", "fmnist-2-unbalanced")

# Ten rounds at least, so that a rotating star goes round once.
_QUICK = Course(2, 10, 10, 10)


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


def has_tuned(row: Row) -> bool:
    """Whether methods can be compared on a row: several agents with a network."""
    return row.name in COURSES


def courses_of(row: Row, *, is_quick: bool) -> tuple[Course, ...]:
    """The courses of a row."""
    return (_QUICK,) if is_quick else COURSES[row.name]


def search_of(*, is_quick: bool) -> Search:
    """The search that every method gets."""
    return QUICK_SEARCH if is_quick else SEARCH


def methods_of(row: Row, course: Course) -> tuple[str, ...]:
    """The methods that are compared: the papers' own step on two nodes that pool often alone."""
    has_sampled = row.name in _TWO_NODES and course == _OFTEN
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
        for course in courses_of(row, is_quick=is_quick)
        for method in methods_of(row, course)
        for purpose, numbers in purposes
        for number in numbers
    )

"""The first screen of a page of many problems: one line a family, with its verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from peerbayes.figures.views import BROKEN, HOLDS, REFUTED, Statement, Verdict
from peerbayes.figures.wording import DASH, number


class Group(Protocol):
    """A problem or a sweep: a section of the page with statements."""

    @property
    def key(self) -> str:
        """The section's id."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What is claimed of it."""


@dataclass(frozen=True)
class SummaryRow:
    """One family: how many of its statements hold, and how far a measurement is off at most.

    Attributes
    ----------
    key, name
        The family's section and its name; no key for the line of sums.
    verdict
        The worst of its statements' verdicts; None for the line of sums.
    problems, statements, hold, broken, refuted
        Counts; `refuted` are published statements that are no theorems and fail.
    deviation
        The largest distance of a measured mean from its exact prediction, or beyond its bound, in
        standard errors.
    where, where_key
        The section that has it, and its id; empty where nothing that was measured is random.
    """

    key: str
    name: str
    verdict: Verdict | None
    problems: int
    statements: int
    hold: int
    broken: int
    refuted: int
    deviation: str
    where: str = ""
    where_key: str = ""


def summary_row(
    key: str, name: str, verdict: Verdict | None, groups: Sequence[Group], *, problems: int
) -> SummaryRow:
    """Count the verdicts of the groups, and find their worst deviation."""
    statements = [statement for group in groups for statement in group.statements]
    worst = max(
        (
            (statement.deviation, group)
            for group in groups
            for statement in group.statements
            if statement.deviation is not None
        ),
        key=lambda pair: pair[0],
        default=None,
    )
    hold, broken, refuted = (
        sum(statement.verdict == kind for statement in statements)
        for kind in (HOLDS, BROKEN, REFUTED)
    )
    counts = (problems, len(statements), hold, broken, refuted)
    if worst is None:
        return SummaryRow(key, name, verdict, *counts, DASH)
    deviation, group = worst
    return SummaryRow(key, name, verdict, *counts, number(deviation, 2), group.name, group.key)

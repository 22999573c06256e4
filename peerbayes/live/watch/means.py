"""Means over poolings, from the sums in two reports of each agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from peerbayes.live.watch.courses import Course
from theory.validation import FloatArray

# Seconds. Clocks that differ by less are taken for the same: reports may take as long to come.
_SAME_TIME = 0.05


def means(
    names: Sequence[str], courses: Mapping[str, Course], known: Sequence[int]
) -> dict[str, FloatArray]:
    """Weights, waits, shares used and rounds late, by hearer and heard, and the rhythm of each.

    Shapes (N, N) and (N,), in seconds; NaN for agents that are not in `known`.
    """
    number = {name: i for i, name in enumerate(names)}
    size = len(names)
    tables = {key: np.full((size, size), np.nan) for key in ("weights", "waits", "used", "late")}
    rhythm = np.full(size, np.nan)
    for i in known:
        course = courses[names[i]]
        first, last, poolings = course.first, course.last, course.poolings
        rhythm[i] = (course.ended - course.began) / poolings
        for table in tables.values():
            table[i] = 0.0
        tables["weights"][i, i] = (last.own.weight - first.own.weight) / poolings
        tables["waits"][i, i] = (last.own.wait - first.own.wait) / poolings
        tables["used"][i, i] = 1.0
        for name, link in last.links.items():
            j = number.get(name)
            if j is None or j == i:
                continue
            before = first.links.get(name)
            tables["weights"][i, j] = (link.weight - (before.weight if before else 0)) / poolings
            tables["waits"][i, j] = (link.wait - (before.wait if before else 0)) / poolings
            tables["used"][i, j] = (link.used - (before.used if before else 0)) / poolings
            late = link.rounds_late - (before.rounds_late if before else 0)
            tables["late"][i, j] = late / poolings
    _set_clocks(names, courses, known, tables)
    return {"rhythm": rhythm, **tables}


def _set_clocks(
    names: Sequence[str],
    courses: Mapping[str, Course],
    known: Sequence[int],
    tables: Mapping[str, FloatArray],
) -> None:
    """Take the difference of two clocks out of ages, where it is plainly there.

    It cancels in the rate, but not in what is said of single links and agents.
    """
    mine = [courses[names[i]] for i in known]
    ahead = np.array([(c.first.time - c.began + c.last.time - c.ended) / 2 for c in mine])
    for place, i in enumerate(known):
        apart = ahead[place] - ahead
        apart[abs(apart) < _SAME_TIME] = 0.0
        tables["waits"][i, known] -= tables["weights"][i, known] * apart

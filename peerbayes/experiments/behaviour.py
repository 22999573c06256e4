"""Behaviour marks compared with what the code computes now, and renewed.

    python -m peerbayes.experiments.behaviour

runs every recipe's frozen run (:mod:`peerbayes.experiments.frozen_runs`) and rewrites
`behaviour_marks.json`. Code may change in any way that leaves the numbers there; tests name the
recipes that compute something else.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from peerbayes.experiments.frozen_runs import TEST_IMAGES, frozen_run, recipes
from peerbayes.experiments.setting import MARKS, RENEW, Entry, all_marks, kept_marks
from peerbayes.records import checksum, write_whole

REMEDY = (
    f"if the change is meant, run `{RENEW}` (renews the file), and say so in CHANGELOG.md; the"
    " version rises"
)
_DIGITS = 7
# Libraries and machines differ in the last bits of float32. Where inputs do, or the order of sums
# (AVX2, AVX-512), no loss moves by more than 5e-6 of its size, but those near 0; no divergence by
# more than 1e-5; and of what an entropy coder writes a few words.
_RELATIVE = {"losses": 1e-5, "divergences": 1e-4, "bits": 1e-4}
_NEAR_ZERO = 1e-10


def mark_of_numbers(numbers: Mapping[str, Any]) -> str:
    """The first 12 hex digits of the SHA-256 of numbers in canonical JSON.

    Examples
    --------
    >>> mark_of_numbers({"losses": [[0.5]]}) == mark_of_numbers({"losses": [[0.25]]})
    False
    """
    return checksum(numbers)[:12]


def entry_of(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a frozen run.

    Examples
    --------
    >>> entry_of({"losses": [[0.123456789]]})["numbers"]
    {'losses': [[0.1234568]]}
    """
    rounded = {
        kind: [[_rounded(value) for value in one] for one in rounds]
        for kind, rounds in numbers.items()
    }
    return {"mark": mark_of_numbers(rounded), "numbers": rounded}


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}")


def difference(kept: Entry, now: Entry) -> str:
    """The first number in which a frozen run differs from the one kept; empty if none does.

    Losses are alike within 1e-5 of their size, divergences and bits within 1e-4, accuracies within
    one test image.

    Examples
    --------
    >>> difference(entry_of({"losses": [[1.0, 2.0]]}), entry_of({"losses": [[1.0, 2.1]]}))
    'losses, round 1, number 2: 2.0 kept, 2.1 now'
    """
    one, other = (dict(_by_place(entry["numbers"])) for entry in (kept, now))
    for place, value in one.items():
        if place not in other or not _alike(place, value, other[place]):
            return f"{place}: {value} kept, {other.get(place, 'none')} now"
    more = next((place for place in other if place not in one), None)
    return "" if more is None else f"{more}: none kept, {other[more]} now"


def _by_place(numbers: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for kind, rounds in numbers.items():
        for round, values in enumerate(rounds, start=1):
            for place, value in enumerate(values, start=1):
                yield f"{kind}, round {round}, number {place}", value


def _alike(place: str, kept: float, now: float) -> bool:
    if place.startswith("accuracies"):
        return abs(kept - now) <= 1.001 / TEST_IMAGES
    relative = _RELATIVE[place.partition(",")[0]]
    return math.isclose(kept, now, rel_tol=relative, abs_tol=_NEAR_ZERO)


def changed(names: Iterable[str]) -> dict[str, str]:
    """Run recipes anew: those that are not as kept, and how they differ, in words."""
    kept = kept_marks()
    words = {}
    for recipe in names:
        now = entry_of(frozen_run(recipe))
        told = difference(kept[recipe], now) if recipe in kept else "no mark is kept"
        if told:
            words[recipe] = told
    return words


def complaint(changed: Mapping[str, str]) -> str:
    """What a test says of changed recipes, in one line: which, how the first differs, the remedy.

    Examples
    --------
    >>> complaint({"tuned: sites": "losses, round 1, number 2: 2.0 kept, 2.1 now"})[:68]
    'tuned: sites: losses, round 1, number 2: 2.0 kept, 2.1 now; if the c'
    """
    names = "; ".join(changed)
    first = next(iter(changed.values()), "nothing changed")
    return f"{names}: {first}; {REMEDY}"


def renew() -> list[str]:
    """Run all recipes anew and rewrite the file in one step; returns a sentence a changed mark.

    What is alike within the tolerance stays as it is kept, to the last digit.

    Raises
    ------
    ValueError
        If the file cannot be written; in one line.
    """
    kept = kept_marks() if MARKS.exists() else {}
    now = {recipe: entry_of(frozen_run(recipe)) for recipe in recipes()}
    for recipe in kept:
        if recipe in now and not difference(kept[recipe], now[recipe]):
            now[recipe] = dict(kept[recipe])
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(now[name])}" for name in sorted(now))
    write_whole(MARKS, f"{{\n{lines}\n}}\n")
    kept_marks.cache_clear()
    all_marks.cache_clear()
    return [
        f"{name}: {_word(kept, name)} -> {_word(now, name)}"
        for name in sorted({*kept, *now})
        if _word(kept, name) != _word(now, name)
    ]


def _word(entries: Mapping[str, Entry], recipe: str) -> str:
    return str(entries[recipe]["mark"]) if recipe in entries else "none"


if __name__ == "__main__":
    for sentence in renew() or [f"no mark changed: all are {all_marks()}"]:
        sys.stdout.write(f"{sentence}\n")

"""Printed numbers of the sources, and when one of ours counts as the same.

A source prints the numbers of one run and no error. Its number is found again if it lies where one
more run of ours would.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType

from theory.validation import fail

# Standard deviation between seeds as a share of the error rate: twice the 2.4 % that is measured
# before consensus, and above the 4.3 % after it, on the row with three seeds on record.
SPREAD = 0.05
# About 95 % of a normal law.
DEVIATIONS = 2.0

LABELS: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("star-mnist-2", "centre"): "low confidence on 9",
        ("star-mnist-2", "edges"): "low confidence on 4",
        ("star-fmnist-2", "edges"): "low confidence on coat (4)",
    }
)
"""What P2 says of confidences, by row and group of agents."""


@dataclass(frozen=True)
class Printed:
    """A number as printed, and how finely it can be read: half a unit of its last digit."""

    text: str
    value: float
    reading: float

    @classmethod
    def read(cls, text: str) -> Printed:
        """The first number in what is printed.

        Raises
        ------
        ValueError
            If there is none.

        Examples
        --------
        >>> Printed.read("95.6 (text: 96.5)")
        Printed(text='95.6 (text: 96.5)', value=95.6, reading=0.05)
        >>> Printed.read("83").reading
        0.5
        """
        found = re.search(r"\d*\.?\d+", text)
        if found is None:
            raise fail("printed", "a number", repr(text), "leave it empty if none is printed")
        digits = len(found[0].partition(".")[2])
        return cls(text, float(found[0]), 0.5 * 10.0**-digits)


def accuracy_tolerance(printed: Printed, runs: int) -> float:
    """Points of accuracy by which the mean of so many runs may differ from one printed run.

    The reading precision, and two standard deviations of the difference between one run and a
    mean, each run's being `SPREAD` of the printed error rate.

    Examples
    --------
    >>> round(accuracy_tolerance(Printed.read("90"), 1) - 0.5, 3)  # 2 · .05 · 10 · √2
    1.414
    """
    deviation = SPREAD * (100.0 - printed.value)
    return printed.reading + DEVIATIONS * deviation * sqrt(1.0 + 1.0 / runs)


def is_reproduced(printed: Printed, values: Sequence[float]) -> bool:
    """Whether the mean of some runs, in per cent, is the printed accuracy within its tolerance."""
    mean = sum(values) / len(values)
    return abs(mean - printed.value) <= accuracy_tolerance(printed, len(values))


def accuracy_verdict(recipe: str, printed: str, values: Sequence[float]) -> str:
    """The verdict on a printed accuracy in words; empty where the settings are not the source's.

    Examples
    --------
    >>> accuracy_verdict("paper a=0.7", "69.7", [82.0])
    'not reproduced'
    >>> accuracy_verdict("best a=0.7", "69.7", [82.0])
    ''
    """
    if not printed or not recipe.startswith("paper"):
        return ""
    return "reproduced" if is_reproduced(Printed.read(printed), values) else "not reproduced"

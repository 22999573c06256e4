"""Where what the program says now differs from what is frozen, a line a difference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

# Numbers are equal within this, relative to the larger one. If one of them is smaller than
# `VANISHING`, zero included, they are equal within `ABSOLUTE`.
RELATIVE = 1e-9
ABSOLUTE, VANISHING = 1e-12, 1e-300
# Where rounding leaves something of a zero, two numbers below `ABSOLUTE` are equal: under these
# keys, which hold differences of other numbers and moduli of eigenvalues; and in a list, or a list
# of lists, if both are below this times its largest entry.
ZEROS = ("gap", "slem", "value")
ROUNDING = 1e-14
# Letters of a value that a line shows.
_SHOWN = 60


def same_number(expected: float, got: float, *, zero: float = 0.0) -> bool:
    """Whether two numbers are equal within the tolerance; both below `zero` they are."""
    if min(abs(expected), abs(got)) < VANISHING:
        return abs(expected - got) <= ABSOLUTE
    if max(abs(expected), abs(got)) < zero:
        return True
    return math.isclose(expected, got, rel_tol=RELATIVE, abs_tol=0.0)


def largest(value: Any) -> float:
    """Return the largest modulus among the numbers of nested lists; 0 if there are none."""
    if isinstance(value, list):
        return max(map(largest, value), default=0.0)
    return abs(value) if isinstance(value, float) else 0.0


def differences(
    expected: Any, got: Any, place: str = "", *, zero: float | None = None
) -> Iterator[str]:
    """Yield where two documents differ: ``PLACE: expected X, got Y``.

    Keys may stand in any order; nothing else may differ but numbers by rounding. Two lists of
    lines are compared as texts are: what was put in or taken out is one difference.

    Parameters
    ----------
    zero
        Numbers below it are what rounding leaves of a zero; None outside of lists.
    """
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
            where = f"{place}.{key}" if place else key
            if key not in got:
                yield f"{where}: expected {shown(expected[key])}, got nothing"
            elif key not in expected:
                yield f"{where}: expected nothing, got {shown(got[key])}"
            else:
                small = ABSOLUTE if key in ZEROS else None
                yield from differences(expected[key], got[key], where, zero=small)
    elif isinstance(expected, list) and isinstance(got, list):
        if is_lines(expected) and is_lines(got):
            yield from changed_lines(expected, got, place)
        elif len(expected) != len(got):
            yield f"{place}: expected {len(expected)} entries, got {len(got)}"
        else:
            zero = ROUNDING * largest(expected) if zero is None else zero
            for k, (old, new) in enumerate(zip(expected, got, strict=True)):
                yield from differences(old, new, f"{place}[{k}]", zero=zero)
    elif not same(expected, got, zero or 0.0):
        yield f"{place}: expected {shown(expected)}, got {shown(got)}"


def same(expected: Any, got: Any, zero: float) -> bool:
    """Whether two values are of one type and equal, numbers within the tolerance."""
    if type(expected) is not type(got):
        return False
    if isinstance(expected, float):
        return same_number(expected, got, zero=zero)
    return bool(expected == got)


def is_lines(value: list[Any]) -> bool:
    """Whether a list holds texts alone."""
    return all(isinstance(entry, str) for entry in value)


def changed_lines(expected: list[str], got: list[str], place: str) -> Iterator[str]:
    """Yield each run of lines that differ, by the number of its first line, from 1."""
    if expected == got:
        return
    for kind, i, k, j, m in SequenceMatcher(None, expected, got, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        old, new = expected[i:k], got[j:m]
        more = f" (and {max(len(old), len(new)) - 1} lines more)" if max(k - i, m - j) > 1 else ""
        first, other = (shown(part[0]) if part else "nothing" for part in (old, new))
        yield f"{place} line {i + 1}: expected {first}, got {other}{more}"


def shown(value: Any) -> str:
    """Return a value in a few words."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"

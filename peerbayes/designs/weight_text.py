"""Weights as text that can be pasted into a problem file: every row sums to one as it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

# Fractions with such a denominator are shorter than decimals, and exact.
_SIMPLE = 999
_DIGITS = 6
_MOST_DIGITS = 15
# Doubles of a fraction differ from it by a unit or two in the last place.
_ROUNDING = 4 * 2.0**-52


def row_text(row: Mapping[int, float]) -> dict[int, str]:
    """The positive weights of one agent, by whom they are on, as numbers that sum to exactly one.

    Fractions where the weights are simple ones; else decimals of six digits, or as many as it takes
    that no weight reads as zero, the last digit of some moved so that the sum is one. Differ from
    the weights by at most one unit of the last digit shown.

    Examples
    --------
    >>> row_text({0: 1 / 3, 1: 2 / 3})
    {0: '1/3', 1: '2/3'}
    >>> row_text({0: 0.12345678, 1: 0.87654322})
    {0: '0.123457', 1: '0.876543'}
    """
    entries = {j: w for j, w in row.items() if w > 0}
    simple = {j: Fraction(w).limit_denominator(_SIMPLE) for j, w in entries.items()}
    if sum(simple.values()) == 1 and all(
        abs(float(simple[j]) - w) <= _ROUNDING * w for j, w in entries.items()
    ):
        return {j: str(share) for j, share in simple.items()}
    digits = _DIGITS
    while digits < _MOST_DIGITS and any(w * 10**digits < 1 for w in entries.values()):
        digits += 1
    unit = 10**digits
    whole = {j: int(w * unit) for j, w in entries.items()}
    # What rounding down leaves goes to the largest remainders, a unit each.
    left = unit - sum(whole.values())
    order = sorted(entries, key=lambda j: whole[j] - entries[j] * unit)
    for j in order[: max(left, 0)]:
        whole[j] += 1
    return {j: f"{count // unit}.{count % unit:0{digits}d}" for j, count in whole.items()}


def rows_of(weights: Sequence[Sequence[float]]) -> list[dict[int, float]]:
    """The positive entries of a matrix, row by row."""
    return [{j: w for j, w in enumerate(row) if w > 0} for row in weights]

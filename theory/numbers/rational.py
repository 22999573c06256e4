"""Rationals: what a number written as a string is, and what a double is when it is read exactly.

Python's `fractions.Fraction` is what users meet; flint's `fmpq` is what computes.

A row of doubles that is meant to sum to one rarely does so exactly. Read as exact binary values,
what is missing goes to the largest entry: it changes by less than a few units in its last place,
and no zero becomes positive.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from theory.validation import SUM_TOLERANCE, fail

if TYPE_CHECKING:
    import flint

# Of a number as text: what takes microseconds to read, and can be written out again.
LONGEST_NUMBER = 4000
_LARGE_EXPONENT = re.compile(r"[eE][+-]?[0_]*[1-9][0-9_]{3}", re.ASCII)

Exact: TypeAlias = "int | Fraction | flint.fmpq | flint.fmpz"


def read_fraction(text: str) -> Fraction:
    """The number that a fraction or decimal such as ``1/3`` or ``2.5e-3`` is.

    Raises
    ------
    ValueError
        If it is none; or has more than 4000 characters or an exponent beyond 999, of which a few
        signs ask for more digits than memory holds.
    ZeroDivisionError
        If its denominator is zero.

    Examples
    --------
    >>> read_fraction("2.5e-3")
    Fraction(1, 400)
    """
    if len(text) > LONGEST_NUMBER:
        raise fail("number", f"at most {LONGEST_NUMBER} characters", len(text), "use fewer digits")
    if _LARGE_EXPONENT.search(text):
        raise fail("number", "an exponent of at most 999", repr(text[:60]), "rescale it")
    return Fraction(text)


def as_fraction(value: Exact | float | str) -> Fraction:
    """The same number as a `Fraction`; a double is read as its exact binary value.

    Raises
    ------
    ValueError
        If a string is no fraction or decimal, a double is not finite, or it is none of these.
    """
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, int | float | str):
        import flint

        if isinstance(value, flint.fmpq):
            return Fraction(int(value.p), int(value.q))
        if isinstance(value, flint.fmpz):
            return Fraction(int(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise fail("value", "a finite number", value, "replace it by a finite number")
    try:
        # Whole numbers of numpy would stay what they are, and overflow.
        if isinstance(value, str):
            return read_fraction(value)
        return Fraction(operator.index(value) if hasattr(value, "__index__") else value)
    except (TypeError, ValueError, ZeroDivisionError):
        raise fail(
            "value", "a fraction such as 1/3", repr(value)[:60], "write p/q or a decimal"
        ) from None


def as_fmpq(value: Exact | float | str) -> flint.fmpq:
    """The same number as a flint rational."""
    import flint

    if isinstance(value, flint.fmpq):
        return value
    fraction = as_fraction(value)
    return flint.fmpq(fraction.numerator, fraction.denominator)


def as_ball(value: Exact | float) -> flint.arb:
    """A ball around the number, at the present precision."""
    import flint

    return flint.arb(as_fmpq(value))


def exact_distribution(
    values: Sequence[Exact | float | str], *, argument: str = "probabilities"
) -> tuple[Fraction, ...]:
    """Probabilities as rationals that sum to exactly one.

    Entries that are not doubles must sum to one by themselves. If any is a double, what is missing
    goes to the largest entry.

    Raises
    ------
    ValueError
        If there is no entry, one is negative, or the sum differs from one (by more than rounding,
        if there are doubles).

    Examples
    --------
    >>> sum(exact_distribution([0.9, 0.1])) == 1
    True
    >>> exact_distribution(["1/3", "2/3"])
    (Fraction(1, 3), Fraction(2, 3))
    """
    row = [as_fraction(value) for value in values]
    if not row:
        raise fail(argument, "at least one probability", "none", "list the probabilities")
    if min(row) < 0:
        raise fail(
            argument, "probabilities of at least 0", f"{float(min(row)):g}", "make it non-negative"
        )
    missing = 1 - sum(row, Fraction(0))
    rounded = any(isinstance(value, float) for value in values)
    allowed = SUM_TOLERANCE + len(row) * 2.0**-52 if rounded else 0
    if abs(missing) > allowed:
        got = f"a sum of {float(1 - missing):.12g}"
        raise fail(argument, "probabilities that sum to 1", got, "rescale them")
    if missing:
        largest = max(range(len(row)), key=row.__getitem__)
        row[largest] += missing
    return tuple(row)

"""Precision that rises by itself until an interval is as narrow as was asked.

A ball computation gives a true statement at any precision; only its width changes. So the same
computation is repeated with more bits until each number has the relative width asked for, or the
bits reach a stated limit. In the second case the intervals are still true, and the result says
that they are wider than was asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import flint

from theory.numbers import Enclosure, precision
from theory.validation import fail

FIRST_BITS = 64
"""Where precision starts: a few guard bits above a double's 53."""

MOST_BITS = 4096
"""Where precision stops."""

# Ends are rounded outward to doubles, which leaves an interval of two or three units.
_NARROWEST = 1e-15


@dataclass(frozen=True, eq=False)
class Refined:
    """Balls as narrow as was asked, or as the limit of bits allowed.

    Attributes
    ----------
    balls
        Each contains its true number.
    bits
        The precision of the last computation.
    met
        Whether every ball has the relative width asked for.
    """

    balls: tuple[flint.arb, ...]
    bits: int
    met: bool


def check_relative_width(relative_width: float) -> float:
    """A relative width that intervals of doubles can have.

    Raises
    ------
    ValueError
        If it is not a number in [1e-15, 1).
    """
    try:
        width = float(relative_width)
    except (TypeError, ValueError):
        width = math.nan
    if not _NARROWEST <= width < 1:
        raise fail(
            "relative_width",
            f"a number in [{_NARROWEST:g}, 1)",
            repr(relative_width),
            "use 1e-12, or exact rationals if doubles are too coarse",
        )
    return width


def rising_bits(first: int = FIRST_BITS, most: int = MOST_BITS) -> Iterator[int]:
    """`first`, twice that, and so on; the last is at most `most`."""
    bits = first
    while bits <= most:
        yield bits
        bits *= 2


def refine(
    compute: Callable[[], Sequence[flint.arb]],
    *,
    relative_width: float,
    first_bits: int = FIRST_BITS,
    most_bits: int = MOST_BITS,
) -> Refined:
    """`compute` at rising precision; a division by a ball around zero means: not enough bits.

    Raises
    ------
    ZeroDivisionError
        If the computation fails at every precision.
    """
    best: Refined | None = None
    failure: ZeroDivisionError | None = None
    for bits in rising_bits(first_bits, most_bits):
        try:
            with precision(bits):
                balls = tuple(compute())
        except ZeroDivisionError as error:
            failure = error
            continue
        best = Refined(balls, bits, all(is_narrow(ball, relative_width) for ball in balls))
        if best.met:
            return best
    if best is None:
        raise failure or ZeroDivisionError("no precision was tried")
    return best


def is_narrow(ball: flint.arb, relative_width: float) -> bool:
    """Whether the interval of doubles around the ball has the relative width asked for."""
    return Enclosure.from_ball(ball).relative_width <= relative_width

"""An interval that contains the truth: what a certified number is when it leaves the machine.

Inside, certified numbers are balls (midpoint and radius, of any precision). Outside, two doubles
are enough, provided the lower is rounded down and the upper up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import flint

from theory.numbers.rational import Exact, as_fraction
from theory.showing import Shown
from theory.validation import as_integer, fail

# An interval that contains the truth -------------------------------------------------------------


# Balls are compared with doubles at this precision: more than any midpoint here carries.
_COMPARE_BITS = 4096


@dataclass(frozen=True)
class Enclosure(Shown):
    """An interval [lower, upper] that contains the true value; either end may be infinite.

    Raises
    ------
    ValueError
        If an end is nan, or lower exceeds upper.

    Examples
    --------
    >>> third = Enclosure.from_rational(Fraction(1, 3))
    >>> third.contains(Fraction(1, 3)), third.contains(1 / 3), third.relative_width < 2e-16
    (True, True, True)
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise fail(
                "upper",
                "an upper end that is not below the lower one",
                f"[{self.lower}, {self.upper}]",
                "give the ends in order",
            )

    @classmethod
    def from_ball(cls, ball: flint.arb) -> Enclosure:
        """The smallest interval of doubles that contains the ball; nan becomes [−inf, inf]."""
        if ball.is_nan():
            return cls(-math.inf, math.inf)
        # Even the negative of a ball is rounded to the present precision.
        with precision(_COMPARE_BITS):
            return cls(-_up(-ball), _up(ball))

    @classmethod
    def from_rational(cls, value: Exact) -> Enclosure:
        """The one or two doubles next to a rational."""
        exact = as_fraction(value)
        try:
            near = float(exact)
        except OverflowError:
            near = math.inf if exact > 0 else -math.inf
        if math.isinf(near):
            largest = math.nextafter(math.inf, 0.0)
            return cls(largest, math.inf) if near > 0 else cls(-math.inf, -largest)
        read = Fraction(near)
        lower = near if read <= exact else math.nextafter(near, -math.inf)
        upper = near if read >= exact else math.nextafter(near, math.inf)
        return cls(lower, upper)

    @property
    def midpoint(self) -> float:
        """The middle, rounded: an estimate of the truth."""
        return self.lower / 2 + self.upper / 2

    @property
    def width(self) -> float:
        """The distance of the ends, rounded up."""
        if self.lower == self.upper:
            return 0.0
        return math.nextafter(self.upper - self.lower, math.inf)

    @property
    def relative_width(self) -> float:
        """The width over the end farther from zero; 0 for the point 0, inf if an end is."""
        size = max(abs(self.lower), abs(self.upper))
        return self.width / size if 0 < size < math.inf else self.width

    @property
    def is_tight(self) -> bool:
        """Whether no more than one double lies strictly between the ends."""
        return self.upper <= math.nextafter(math.nextafter(self.lower, math.inf), math.inf)

    def contains(self, value: Exact | float | flint.arb) -> bool:
        """Whether a number, or a ball as a whole, lies inside."""
        if isinstance(value, flint.arb):
            inner = Enclosure.from_ball(value)
            return self.lower <= inner.lower and inner.upper <= self.upper
        if isinstance(value, float):
            return self.lower <= value <= self.upper
        # Fractions and doubles are compared exactly.
        return self.lower <= as_fraction(value) <= self.upper

    def overlaps(self, other: Enclosure) -> bool:
        """Whether both may be the same number."""
        return self.lower <= other.upper and other.lower <= self.upper

    def as_json(self) -> dict[str, float | None]:
        """The JSON form; an infinite end is null."""
        # Adding zero turns −0.0 into 0.0.
        return {
            "lower": self.lower + 0.0 if math.isfinite(self.lower) else None,
            "upper": self.upper + 0.0 if math.isfinite(self.upper) else None,
        }


def _up(ball: flint.arb) -> float:
    """The smallest double that is not below the ball."""
    top = ball.upper()
    near = float(top)
    if math.isnan(near):
        return math.inf
    # float() rounds to nearest: one or two steps put it on the safe side.
    while math.isfinite(near) and not flint.arb(near) >= top:
        near = math.nextafter(near, math.inf)
    return math.nextafter(-math.inf, 0.0) if near == -math.inf else near


# The precision of ball arithmetic ----------------------------------------------------------------


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute with balls of `bits` bits (53 is that of a double), then as before.

    Raises
    ------
    ValueError
        If `bits` is not a whole number of at least 2.
    """
    wanted = as_integer("bits", bits, minimum=2)
    with flint.ctx.workprec(wanted):
        yield

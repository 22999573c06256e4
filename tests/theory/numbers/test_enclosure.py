"""Enclosures against exact fractions: never wrong by a bit, never wider than doubles force."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory.numbers import Enclosure, as_ball, precision

LARGEST = math.nextafter(math.inf, 0.0)
SMALLEST = math.nextafter(0.0, 1.0)


def _fractions(count: int, seed: int) -> list[Fraction]:
    """Rationals of all sizes a double knows and beyond, some next to doubles, of either sign."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        exponent = rng.choice([0, 1, -1, 52, -52, 1022, -1022, -1050, -1074, -1076, -1100, 1024, 9])
        value = Fraction(rng.getrandbits(rng.choice([1, 8, 53, 54, 120])) + 1, rng.choice([1, 3]))
        value *= Fraction(2) ** (exponent - rng.choice([0, 53, 120]))
        nudge = rng.choice([0, 0, Fraction(1, 10**40), -Fraction(1, 10**40)])
        found.append(rng.choice([1, -1]) * value * (1 + nudge))
    return found


def _is_the_smallest(found: Enclosure, exact: Fraction) -> bool:
    """Whether the ends are the next doubles below and above, equal if the number is one."""
    if found.lower == found.upper:
        return exact == Fraction(found.lower)
    inside = found.lower < exact < found.upper
    return inside and found.upper == math.nextafter(found.lower, math.inf)


def test_a_rational_lies_between_neighbours() -> None:
    for exact in _fractions(4000, seed=1):
        found = Enclosure.from_rational(exact)
        assert found.contains(exact)
        assert _is_the_smallest(found, exact), exact


def test_a_ball_lies_inside_and_costs_no_double() -> None:
    """300 bits are far more than the fractions carry next to a double: 1e-40 is 133 bits."""
    for exact in _fractions(4000, seed=2):
        with precision(300):
            ball = as_ball(exact)
        found = Enclosure.from_ball(ball)
        assert found.contains(exact)
        assert _is_the_smallest(found, exact), exact


def test_a_wide_ball_is_enclosed_as_a_whole() -> None:
    rng = random.Random(3)
    for exact in _fractions(1000, seed=3):
        radius = abs(exact) * Fraction(rng.getrandbits(20) + 1, 2 ** rng.choice([10, 30, 80]))
        with precision(400):
            ball = flint.arb(as_ball(exact).mid(), as_ball(radius).upper())
        found = Enclosure.from_ball(ball)
        assert found.contains(exact - radius)
        assert found.contains(exact + radius)
        assert found.contains(ball)
        if SMALLEST < found.width < math.inf:
            assert found.width <= 2 * float(radius) * (1 + 1e-8) + 4 * math.ulp(found.upper)


def test_the_present_precision_does_not_matter() -> None:
    """The negative of a ball is rounded to it, which once made lower ends too low."""
    with precision(200):
        ball = flint.arb(2).sqrt()
    for bits in (2, 53, 1000):
        with precision(bits):
            assert Enclosure.from_ball(ball) == Enclosure(2**0.5 - math.ulp(1.0), 2**0.5)


@pytest.mark.parametrize(
    ("exact", "expected"),
    [
        (Fraction(0), (0.0, 0.0)),
        (Fraction(1, 2), (0.5, 0.5)),
        (Fraction(10) ** 400, (LARGEST, math.inf)),
        (-(Fraction(10) ** 400), (-math.inf, -LARGEST)),
        (Fraction(1, 10**400), (0.0, SMALLEST)),
        (-Fraction(1, 10**400), (-SMALLEST, 0.0)),
        (Fraction(LARGEST) + 1, (LARGEST, math.inf)),
    ],
)
def test_beyond_the_doubles(exact: Fraction, expected: tuple[float, float]) -> None:
    with precision(2000):
        ball = as_ball(exact)
    for found in (Enclosure.from_rational(exact), Enclosure.from_ball(ball)):
        assert (found.lower, found.upper) == expected
        assert found.contains(exact)
        json.dumps(found.as_json(), allow_nan=False)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False))
def test_contains_compares_exactly(end: float, value: float) -> None:
    found = Enclosure(end, math.inf)
    assert found.contains(value) == (value >= end)
    if math.isfinite(value):
        assert found.contains(Fraction(value)) == (value >= end)
        assert not Enclosure(math.inf, math.inf).contains(Fraction(value))


def test_nothing_is_known() -> None:
    for ball in (flint.arb("nan"), flint.arb(0, math.inf)):
        found = Enclosure.from_ball(ball)
        assert (found.lower, found.upper) == (-math.inf, math.inf)
        assert found.relative_width == math.inf
        assert not found.is_tight
        assert found.as_json() == {"lower": None, "upper": None}


def test_widths_are_not_too_small() -> None:
    for exact in _fractions(500, seed=4):
        found = Enclosure.from_rational(exact)
        if math.isfinite(found.lower) and math.isfinite(found.upper):
            assert Fraction(found.upper) - Fraction(found.lower) <= Fraction(found.width)
            assert found.is_tight


def test_overlaps() -> None:
    assert Enclosure(0.0, 1.0).overlaps(Enclosure(1.0, 2.0))
    assert not Enclosure(0.0, 1.0).overlaps(Enclosure(math.nextafter(1.0, 2), 2.0))


@pytest.mark.parametrize("ends", [(1.0, 0.0), (math.nan, 1.0), (0.0, math.nan)])
def test_ends_out_of_order_are_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"^upper: expected .* give the ends in order$"):
        Enclosure(*ends)

"""Whole numbers as keys: equal vectors, and those alone, have equal keys."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import gcd

from hypothesis import given, settings
from hypothesis import strategies as st

from exact.law.keys import EncodedStep, KeySpace, Masses, Step
from exact.law.law_problem import coprime_base, exponents

FRACTIONS = st.fractions(-3, 3, max_denominator=6)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=6))
def test_a_coprime_base_spans_all_numbers(numbers: list[int]) -> None:
    base = coprime_base(numbers)
    assert all(b > 1 for b in base)
    assert all(gcd(a, b) == 1 for a, b in product(base, base) if a != b)
    for number in numbers:
        value = 1
        for b, power in zip(base, exponents(Fraction(number), base), strict=True):
            value *= b**power
        assert value == number


def vectors(steps: list[Step], chosen: tuple[int, ...]) -> tuple[Fraction, ...]:
    """The sum of one outcome of each step."""
    size = len(steps[0].start)
    return tuple(
        sum((s.start[d] + s.moves[o][d] for s, o in zip(steps, chosen, strict=True)), Fraction(0))
        for d in range(size)
    )


@st.composite
def some_steps(draw: st.DrawFn) -> list[Step]:
    size = draw(st.integers(1, 3))
    vector = st.tuples(*(FRACTIONS for _ in range(size)))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        moves = draw(st.lists(vector, min_size=1, max_size=3))
        zero = (Fraction(0),) * size
        # The first outcome is where moves start.
        found.append(Step(draw(vector), (zero, *moves), (1,) * (1 + len(moves)), 1 + len(moves)))
    return found


def added(space: KeySpace, steps: list[EncodedStep]) -> Masses:
    masses = Masses.start(space, exact=True)
    for step in steps:
        masses = masses.add(step)
    return masses


@settings(max_examples=40)
@given(some_steps())
def test_keys_are_a_law_of_vectors(steps: list[Step]) -> None:
    """Convolution by keys against all combinations, in fractions."""
    space = KeySpace.of(steps, [1] * len(steps))
    encoded = [space.encode(step) for step in steps]
    masses = added(space, encoded)
    expected: dict[tuple[Fraction, ...], int] = {}
    for chosen in product(*(range(len(s.moves)) for s in steps)):
        vector = vectors(steps, chosen)
        expected[vector] = expected.get(vector, 0) + 1
    size = len(steps[0].start)
    zero = [sum((e.zero[d] for e in encoded), Fraction(0)) for d in range(size)]
    found = {}
    for key, weight in zip(masses.keys.tolist(), masses.weights.tolist(), strict=True):
        moved = space.vector(int(key)) or (Fraction(0),) * size
        found[tuple(z + m for z, m in zip(zero, moved, strict=True))] = weight
    assert found == expected
    assert masses.keys.size == len(expected) <= space.size


def test_keys_wider_than_a_word_are_python_numbers() -> None:
    moves = ((Fraction(0), Fraction(0)), (Fraction(1), Fraction(1, 2**70)))
    wide = ((Fraction(0), Fraction(0)), (Fraction(0), Fraction(1)))
    start = (Fraction(0), Fraction(0))
    steps = [Step(start, moves, (1, 1), 2), Step(start, wide, (1, 1), 2)]
    space = KeySpace.of(steps, [3, 1])
    assert space.dtype is object
    encoded = [space.encode(step) for step in steps]
    masses = added(space, [encoded[0]] * 3 + [encoded[1]])
    assert masses.weights.tolist() == [1, 3, 3, 1] * 2
    assert masses.denominator == 16
    assert space.vector(int(masses.keys[-1])) == (3, 1 + Fraction(3, 2**70))

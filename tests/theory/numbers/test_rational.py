"""Reading numbers as fractions."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory.numbers import as_ball, as_fmpq, as_fraction, exact_distribution, precision


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, Fraction(3)),
        ("1/3", Fraction(1, 3)),
        ("0.9", Fraction(9, 10)),
        (0.1, Fraction(3602879701896397, 36028797018963968)),
        (Fraction(2, 6), Fraction(1, 3)),
        (flint.fmpq(1, 3), Fraction(1, 3)),
        (flint.fmpz(-7), Fraction(-7)),
        (np.float64(0.5), Fraction(1, 2)),
        (Decimal("0.3"), Fraction(3, 10)),
    ],
)
def test_numbers_of_every_kind(value: object, expected: Fraction) -> None:
    assert as_fraction(value) == expected  # type: ignore[arg-type]
    assert as_fraction(as_fmpq(value)) == expected  # type: ignore[arg-type]


def test_whole_numbers_of_numpy_do_not_overflow() -> None:
    assert as_fraction(np.int64(2**62)) ** 2 == 2**124  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["x", "1/0", None, float("nan"), float("inf"), "nan"])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"^value: expected a f"):
        as_fraction(value)  # type: ignore[arg-type]


@given(st.fractions())
def test_balls_hold_the_number(value: Fraction) -> None:
    with precision(80):
        assert as_ball(value).contains(as_fmpq(value))


def test_precision_is_put_back_even_after_an_error() -> None:
    before = flint.ctx.prec
    with pytest.raises(RuntimeError), precision(777):  # noqa: PT012
        assert flint.ctx.prec == 777
        raise RuntimeError
    assert flint.ctx.prec == before
    with pytest.raises(ValueError, match="bits"), precision(1):
        pass


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=12).filter(any))
def test_a_row_of_doubles_sums_to_one_and_hardly_changes(counts: list[int]) -> None:
    row = [count / sum(counts) for count in counts]
    exact = exact_distribution(row)
    assert sum(exact) == 1
    changed = [abs(a - Fraction(b)) for a, b in zip(exact, row, strict=True)]
    # One entry at most, the largest, by less than one rounding an entry.
    assert sum(c > 0 for c in changed) <= 1
    assert max(changed) <= Fraction(len(row), 2**53)
    assert all((a > 0) == (b > 0) for a, b in zip(exact, row, strict=True))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([], "at least one probability"),
        (["1/2", "1/3"], "a sum of 0.833333333333"),
        ([0.5, 0.5 + 1e-9], "a sum of 1.000000001"),
        (["1/2", "499999999999999/1000000000000000"], "sum to 1"),
        (["3/2", "-1/2"], "probabilities of at least 0"),
    ],
)
def test_what_is_no_distribution_is_refused(row: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        exact_distribution(row)  # type: ignore[arg-type]

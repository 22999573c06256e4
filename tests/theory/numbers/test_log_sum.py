"""Sums of logarithms against prime factorisation and multiprecision."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import flint
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.numbers import LogSum, precision

SMALL = st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=60)
COEFFICIENT = st.fractions(min_value=-4, max_value=4, max_denominator=6)
PAIRS = st.lists(st.tuples(SMALL, COEFFICIENT), max_size=7)


def _over_primes(pairs: list[tuple[Fraction, Fraction]]) -> dict[int, Fraction]:
    """The same sum over primes, by trial division: zero exactly if this is empty."""
    found: dict[int, Fraction] = {}
    for argument, coefficient in pairs:
        for number, sign in ((argument.numerator, 1), (argument.denominator, -1)):
            rest, divisor = number, 2
            while rest > 1:
                while rest % divisor == 0:
                    found[divisor] = found.get(divisor, Fraction(0)) + sign * coefficient
                    rest //= divisor
                divisor += 1
    return {prime: q for prime, q in found.items() if q}


@settings(max_examples=30)
@given(PAIRS)
def test_zero_is_decided_as_prime_factors_decide_it(pairs: list[tuple[Fraction, Fraction]]) -> None:
    total = LogSum.of_logs(pairs)
    assert dict(total.logs) == _over_primes(pairs)
    assert total.is_zero == (not _over_primes(pairs))


@settings(max_examples=20)
@given(PAIRS, PAIRS, COEFFICIENT)
def test_arithmetic(
    first: list[tuple[Fraction, Fraction]], second: list[tuple[Fraction, Fraction]], q: Fraction
) -> None:
    a, b = LogSum.of_logs(first), LogSum.of_logs(second) + LogSum.constant(q)
    assert a + b == b + a
    assert a + b - b == a
    assert (a + b) * q == a * q + q * b
    assert LogSum.total([a, b, -a]) == b
    assert (a - a).is_zero
    assert hash(a + b - b) == hash(a)
    assert (a < b) + (b < a) + (a == b) == 1


@settings(max_examples=30)
@given(PAIRS, COEFFICIENT)
def test_the_enclosure_is_true_and_narrow(
    pairs: list[tuple[Fraction, Fraction]], q: Fraction
) -> None:
    total = LogSum.of_logs(pairs) + LogSum.constant(q)
    found = total.enclosure()
    with mpmath.workdps(80):
        value = mpmath.mpf(q.numerator) / q.denominator
        for argument, c in pairs:
            quotient = mpmath.mpf(argument.numerator) / argument.denominator
            value += mpmath.mpf(c.numerator) / c.denominator * mpmath.log(quotient)
        if not total.is_zero:
            assert found.lower <= value <= found.upper
            assert total.sign() == mpmath.sign(value)
    assert found.relative_width <= 2.0**-50


def _near_zero(agreement: int) -> LogSum:
    """log 2 less a rational multiple of log 3 that agrees with it to so many decimals."""
    with mpmath.workdps(agreement + 20):
        ratio = mpmath.log(2) / mpmath.log(3)
        quotient = Fraction(int(ratio * 10**agreement), 10**agreement)
    return LogSum.log(2) - quotient * LogSum.log(3)


@pytest.mark.parametrize("agreement", [10, 30, 100, 400])
def test_near_zero_is_not_zero(agreement: int) -> None:
    gap = _near_zero(agreement)
    assert not gap.is_zero
    assert (gap.sign(), (-gap).sign()) == (1, -1)
    found = gap.enclosure()
    assert found.relative_width <= 2.0**-50 or found.is_tight
    assert 0 <= found.upper < 2 * 10.0**-agreement or agreement > 300


def test_products_of_large_primes_cancel() -> None:
    """Nothing of more than 64 bits is factored: common divisors alone find the cancellation."""
    p, q, r = 2**89 - 1, 2**107 - 1, 2**127 - 1
    pairs = [
        (Fraction(p * q, r), 2),
        (Fraction(q * r, 4 * p), 2),
        (Fraction(q), -4),
        (Fraction(2), 4),
    ]
    assert LogSum.of_logs((a, Fraction(c)) for a, c in pairs).is_zero
    assert not LogSum.of_logs((a, Fraction(c)) for a, c in pairs[:-1]).is_zero


def test_what_is_left_of_a_large_power_of_two_is_split() -> None:
    """2⁷⁰·15 has more than 64 bits, and 15 beside 3 and 5 would not be coprime."""
    pairs = [(Fraction(2**70 * 15), 1), (Fraction(3), -1), (Fraction(5), -1), (Fraction(2), -70)]
    assert LogSum.of_logs((a, Fraction(c)) for a, c in pairs).is_zero


@given(st.lists(st.integers(2**63, 2**200), min_size=1, max_size=5))
def test_large_bases_stay_coprime(numbers: list[int]) -> None:
    products = [a * b for a in numbers for b in numbers]
    total = LogSum.of_logs((Fraction(n), Fraction(1)) for n in products)
    bases = [base for base, _ in total.logs]
    assert reduce(math.lcm, bases, 1) == math.prod(bases)
    # Σ log(ab) = 2 k Σ log a
    again = LogSum.of_logs((Fraction(n), Fraction(2 * len(numbers))) for n in numbers)
    assert total == again


def test_doubles_read_exactly_have_large_numerators() -> None:
    values = [0.1 * k + 0.037 for k in range(1, 40)]
    total = LogSum.of_logs((Fraction(x), Fraction(1)) for x in values)
    with precision(200):
        product = sum((flint.arb(x).log() for x in values), flint.arb(0))
        assert total.ball().overlaps(product)


def test_extremes_end() -> None:
    tiny = LogSum.log(Fraction(10**320 + 1, 10**320)).enclosure()
    assert tiny.is_tight
    assert tiny.lower <= 1e-320 <= tiny.upper
    huge = (LogSum.log(2) * 10**400).enclosure()
    assert huge.upper == math.inf
    assert huge.lower > 1e308


@settings(max_examples=8)
@given(PAIRS, COEFFICIENT)
def test_the_expression_is_the_number(pairs: list[tuple[Fraction, Fraction]], q: Fraction) -> None:
    import sympy

    total = LogSum.of_logs(pairs) + LogSum.constant(q)
    value = float(total.expression().evalf(30))
    assert value == pytest.approx(total.enclosure().midpoint, rel=1e-14, abs=1e-14)
    assert float(sympy.sympify(str(total)).evalf(30)) == pytest.approx(value, rel=1e-14, abs=1e-14)


def test_how_it_is_written() -> None:
    assert str(LogSum.constant(0)) == "0"
    assert str(LogSum.log(Fraction(1, 2))) == "-log(2)"
    assert str(LogSum.log(12, Fraction(-3, 2)) + LogSum.constant(Fraction(-1, 3))) == (
        "-1/3 - 3*log(2) - 3/2*log(3)"
    )


@pytest.mark.parametrize("argument", [0, -1, Fraction(-1, 2)])
def test_logarithms_of_positive_numbers_only(argument: Fraction) -> None:
    with pytest.raises(ValueError, match="argument: expected a positive rational"):
        LogSum.log(argument)

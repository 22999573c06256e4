"""Positive rationals as products of powers of pairwise coprime integers.

Logarithms of pairwise coprime integers above 1 are linearly independent over the rationals: a
product of powers of them is 1 only if all powers are zero. So the exponents are a key by which
equal numbers are known (docs: mathematics/exact).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import gcd


def coprime_base(numbers: Iterable[int]) -> tuple[int, ...]:
    """Pairwise coprime integers above 1 of which all `numbers` are products of powers.

    Examples
    --------
    >>> coprime_base([12, 18, 1])
    (2, 3)
    >>> coprime_base([10, 25])
    (2, 5)
    """
    done: list[int] = []
    waiting = [number for number in numbers if number > 1]
    while waiting:
        number = waiting.pop()
        for index, other in enumerate(done):
            common = gcd(number, other)
            if common > 1:
                del done[index]
                parts = (common, number // common, other // common)
                waiting += [part for part in parts if part > 1]
                break
        else:
            done.append(number)
    return tuple(sorted(done))


def exponents(value: Fraction, base: tuple[int, ...]) -> tuple[int, ...]:
    """The powers of the members of `base` whose product is `value`.

    Raises
    ------
    ArithmeticError
        If `value` is no such product.

    Examples
    --------
    >>> exponents(Fraction(9, 4), (2, 3))
    (-2, 2)
    """
    over, under = value.numerator, value.denominator
    found = []
    for member in base:
        power = 0
        while over % member == 0:
            over //= member
            power += 1
        while under % member == 0:
            under //= member
            power -= 1
        found.append(power)
    if over != 1 or under != 1:
        raise ArithmeticError(f"{value} is no product of powers of {base}")
    return tuple(found)

"""Sums of logarithms of rationals: the numbers that divergences between rational tables are.

    q₀ + q₁ log b₁ + … + q_k log b_k,    q's rational, b's integers above 1, pairwise coprime.

Whether such a number is zero can be *decided*. Pairwise coprime integers above 1 are
multiplicatively independent, so that a rational combination of their logarithms is zero only if
all its coefficients are; and it never is a rational other than zero, since e^q is transcendental
for every rational q ≠ 0 (Lindemann). So the number is zero exactly if all the q's are, and signs
follow from balls of rising precision. (docs: mathematics/exact)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from theory.numbers.enclosure import Enclosure, precision
from theory.numbers.rational import Exact, as_ball, as_fraction
from theory.showing import Shown
from theory.validation import fail

# Integers up to this size are split into primes, in microseconds; larger ones only as far as
# common divisors of the sum's own integers do it.
_FACTOR_BITS = 64
_START_BITS = 64


@dataclass(frozen=True)
class LogSum(Shown):
    """q₀ + Σ q_k log b_k; equal numbers compare equal.

    Attributes
    ----------
    rational
        q₀.
    logs
        Pairs (b_k, q_k) in increasing order of b_k; no q_k is zero.

    Examples
    --------
    >>> half = LogSum.log(Fraction(1, 2))
    >>> (half * 3 + LogSum.log(8)).is_zero
    True
    >>> str(LogSum.log(Fraction(4, 3), Fraction(1, 2)))
    'log(2) - 1/2*log(3)'
    """

    rational: Fraction
    logs: tuple[tuple[int, Fraction], ...] = ()

    @classmethod
    def constant(cls, value: Exact) -> LogSum:
        """A rational."""
        return cls(as_fraction(value))

    @classmethod
    def log(cls, argument: Exact, coefficient: Exact = 1) -> LogSum:
        """The number q log a, for a positive rational a.

        Raises
        ------
        ValueError
            If the argument is not positive.
        """
        a, q = as_fraction(argument), as_fraction(coefficient)
        if a <= 0:
            raise fail("argument", "a positive rational", a, "take logarithms of positive numbers")
        return cls(Fraction(0), _canonical([(a.numerator, q), (a.denominator, -q)]))

    @classmethod
    def total(cls, terms: Iterable[LogSum]) -> LogSum:
        """The sum of all `terms`; quicker than one addition after the other."""
        listed = list(terms)
        rational = sum((term.rational for term in listed), Fraction(0))
        return cls(rational, _canonical([pair for term in listed for pair in term.logs]))

    @classmethod
    def of_logs(cls, pairs: Iterable[tuple[Fraction, Fraction]]) -> LogSum:
        """Σ q log a over pairs (a, q) with positive rational a."""
        split: list[tuple[int, Fraction]] = []
        for a, q in pairs:
            split += [(a.numerator, q), (a.denominator, -q)]
        return cls(Fraction(0), _canonical(split))

    def __add__(self, other: LogSum) -> LogSum:
        return LogSum.total([self, other])

    def __sub__(self, other: LogSum) -> LogSum:
        return LogSum.total([self, -other])

    def __neg__(self) -> LogSum:
        return self * -1

    def __mul__(self, factor: Exact) -> LogSum:
        q = as_fraction(factor)
        if q == 0:
            return LogSum(Fraction(0))
        return LogSum(self.rational * q, tuple((b, c * q) for b, c in self.logs))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogSum) and (self - other).is_zero

    def __hash__(self) -> int:
        # Equal sums may be written over different integers, but have equal rational parts.
        return hash(self.rational)

    def __lt__(self, other: LogSum) -> bool:
        return (self - other).sign() < 0

    @property
    def is_zero(self) -> bool:
        """Whether the number is zero: decided."""
        return self.rational == 0 and not self.logs

    @property
    def is_rational(self) -> bool:
        """Whether the number is rational: decided."""
        return not self.logs

    def sign(self) -> int:
        """−1, 0 or 1: decided, by balls whose precision rises until they exclude zero."""
        if self.is_zero:
            return 0
        bits = _START_BITS
        while True:
            with precision(bits):
                ball = self.ball()
            if ball > 0:
                return 1
            if ball < 0:
                return -1
            bits *= 2

    def ball(self) -> flint.arb:
        """A ball around the number, at the present precision."""
        total = as_ball(self.rational)
        for base, coefficient in self.logs:
            total += as_ball(coefficient) * flint.arb(base).log()
        return total

    def enclosure(self, *, relative_width: float = 2.0**-50) -> Enclosure:
        """Doubles around the number, of this relative width or as near as doubles lie."""
        if self.is_rational:
            return Enclosure.from_rational(self.rational)
        bits = _START_BITS
        while True:
            with precision(bits):
                found = Enclosure.from_ball(self.ball())
            if found.relative_width <= relative_width or found.is_tight:
                return found
            bits *= 2

    def expression(self) -> Any:
        """The number as a sympy expression."""
        import sympy

        total = sympy.Rational(self.rational.numerator, self.rational.denominator)
        for base, q in self.logs:
            total += sympy.Rational(q.numerator, q.denominator) * sympy.log(sympy.Integer(base))
        return total

    def __str__(self) -> str:
        parts = [(self.rational, "")] if self.rational or not self.logs else []
        parts += [(coefficient, f"log({base})") for base, coefficient in self.logs]
        text = ""
        for coefficient, factor in parts:
            sign = "-" if coefficient < 0 else "+"
            size = abs(coefficient)
            body = str(size) if not factor else factor if size == 1 else f"{size}*{factor}"
            text += f" {sign} {body}" if text else ("-" if sign == "-" else "") + body
        return text


def _canonical(pairs: Iterable[tuple[int, Fraction]]) -> tuple[tuple[int, Fraction], ...]:
    """Σ q log b over pairwise coprime b > 1."""
    powers: dict[int, Fraction] = {}
    for base, coefficient in pairs:
        if base == 1 or coefficient == 0:
            continue
        for part, exponent in _split(base).items():
            powers[part] = powers.get(part, Fraction(0)) + exponent * coefficient
    return tuple(sorted((b, q) for b, q in _coprime(powers).items() if q))


def _split(base: int) -> dict[int, int]:
    twos = (base & -base).bit_length() - 1
    odd = base >> twos
    if odd.bit_length() > _FACTOR_BITS:
        return {2: twos, odd: 1} if twos else {odd: 1}
    return {int(prime): int(power) for prime, power in flint.fmpz(base).factor()}


def _coprime(powers: Mapping[int, Fraction]) -> dict[int, Fraction]:
    """The same combination over pairwise coprime integers, by taking out common divisors."""
    done: dict[int, Fraction] = {}
    waiting = [(b, q) for b, q in powers.items() if q]
    small = [b for b, _ in waiting if b.bit_length() <= _FACTOR_BITS]
    if len(small) == len(waiting):
        return dict(waiting)  # distinct primes
    while waiting:
        base, coefficient = waiting.pop()
        if base == 1 or coefficient == 0:
            continue
        for other in done:
            common = math.gcd(base, other)
            if common > 1:
                before = done.pop(other)
                waiting += [
                    (common, coefficient + before),
                    (base // common, coefficient),
                    (other // common, before),
                ]
                break
        else:
            done[base] = coefficient
    return done

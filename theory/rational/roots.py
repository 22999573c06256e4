"""The roots of an irreducible polynomial over the rationals, and what can be decided about them.

Balls of rising precision tell different numbers apart, but never show that two are equal. For
that there is algebra (docs: mathematics/exact). Let p be irreducible of degree d and r a root.

- The real part is a rational q exactly if p(2q − x) = ±p(x) and 2q − r̄ is r itself.
- The squared modulus is a rational s exactly if xᵈ p(s/x) is a multiple of p and s/r̄ is r itself.
- Where p(x) = q(xᵐ), |r| is the m-th root of a root of q.

In the first two the image of r is known to be *some* root, and balls tell which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import isqrt

import flint

from theory.numbers import as_fmpq, as_fraction, precision
from theory.rational.isolation import isolated_roots
from theory.showing import Shown

# Roots are told apart at so many bits, or twice, four times … as many.
START_BITS = 128


@dataclass(frozen=True, eq=False)
class IrreducibleFactor(Shown):
    """A primitive irreducible polynomial of whole coefficients, and how often it divides another.

    Attributes
    ----------
    polynomial
        A `flint.fmpz_poly` of degree at least 1.
    multiplicity
        Its exponent in the characteristic polynomial.
    estimates
        Numbers near all roots, in increasing order, if the roots are known to be real.
    """

    polynomial: flint.fmpz_poly
    multiplicity: int
    estimates: Sequence[float] | None = None
    _known: dict[int, tuple[flint.acb, ...]] = field(default_factory=dict, repr=False)

    @property
    def degree(self) -> int:
        """The number of its roots."""
        return int(self.polynomial.degree())

    def balls(self, bits: int = START_BITS) -> tuple[flint.acb, ...]:
        """Disjoint balls, one a root, always in the same order: real roots first, increasing.

        A real root has imaginary part exactly 0.
        """
        if bits not in self._known:
            found = isolated_roots(self.polynomial, bits, estimates=self.estimates)
            if bits != START_BITS:
                found = [
                    next(root for root in found if root.overlaps(first))
                    for first in self.balls(START_BITS)
                ]
            self._known[bits] = tuple(found)
        return self._known[bits]

    @cached_property
    def roots(self) -> tuple[Root, ...]:
        """Its roots, in the order of the balls."""
        return tuple(Root(self, position) for position in range(self.degree))


@dataclass(frozen=True, eq=False)
class Root(Shown):
    """One root of an irreducible polynomial."""

    factor: IrreducibleFactor
    position: int

    def ball(self, bits: int = START_BITS) -> flint.acb:
        """A ball around this root and no other of the polynomial."""
        return self.factor.balls(bits)[self.position]

    @property
    def is_real(self) -> bool:
        """Whether the root is real: decided."""
        return bool(self.ball().imag == 0)

    @cached_property
    def rational(self) -> Fraction | None:
        """The root if it is rational, else None: decided."""
        if self.factor.degree > 1:
            return None
        constant, leading = self.factor.polynomial.coeffs()
        return Fraction(-int(constant), int(leading))

    @cached_property
    def rational_real_part(self) -> Fraction | None:
        """The real part if it is rational, else None: decided."""
        if self.is_real:
            return self.rational
        d, p = self.factor.degree, self.factor.polynomial
        # Roots pair up, r with 2q − r, so that q is their mean.
        q = flint.fmpq(-p[d - 1], d * p[d])
        mirrored = flint.fmpq_poly(p)(flint.fmpq_poly([2 * q, -1]))
        if mirrored * (-1) ** d != flint.fmpq_poly(p):
            return None
        own = self._is_own(lambda r: flint.acb(2 * q) - r.conjugate())
        return as_fraction(q) if own else None

    @cached_property
    def rational_square(self) -> Fraction | None:
        """The squared modulus |r|² if it is rational, else None: decided."""
        if self.rational is not None:
            return self.rational**2
        d, p = self.factor.degree, self.factor.polynomial
        if d % 2:
            return None
        # Roots pair up, r with ±s/r: the product of all is ±s^(d/2).
        square = rational_root(abs(Fraction(int(p[0]), int(p[d]))), d // 2)
        if square is None:
            return None
        s = as_fmpq(square)
        inverted = flint.fmpq_poly([flint.fmpq(p[d - k]) * s ** (d - k) for k in range(d + 1)])
        if inverted * flint.fmpq(p[d]) != flint.fmpq_poly(p) * inverted[d]:
            return None
        return square if self._is_own(lambda r: flint.acb(s) / r.conjugate()) else None

    @property
    def deflated(self) -> tuple[flint.fmpz_poly, int]:
        """The q and the largest m with p(x) = q(xᵐ)."""
        polynomial, power = self.factor.polynomial.deflation()
        return polynomial, int(power)

    def _is_own(self, image: Callable[[flint.acb], flint.acb]) -> bool:
        """Whether the image of this root, known to be some root, is this one."""
        bits = START_BITS
        while True:
            balls = self.factor.balls(bits)
            with precision(bits):
                place = image(balls[self.position])
                met = [k for k, other in enumerate(balls) if place.overlaps(other)]
            if len(met) == 1:
                return met[0] == self.position
            bits *= 2


def rational_root(value: Fraction, degree: int) -> Fraction | None:
    """The positive root of that degree of a positive rational if it is rational, else None."""
    numerator, denominator = (
        _integer_root(part, degree) for part in (value.numerator, value.denominator)
    )
    return None if numerator is None or denominator is None else Fraction(numerator, denominator)


def _integer_root(value: int, degree: int) -> int | None:
    if degree == 2:
        near = isqrt(value)
    else:
        low, high = 0, 1 << (value.bit_length() // degree + 1)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if middle**degree <= value else (low, middle - 1)
        near = low
    return near if near**degree == value else None

"""Real algebraic numbers that come from eigenvalues: a root's modulus, or its real part.

Each is exact: an expression, and balls of any precision. Equality of two of them is decided
wherever it is cheap to (docs: mathematics/exact): by their rational values or squares, by being
conjugates or rotations of each other, or, for small degrees, through the polynomial whose roots
are all products (for moduli) or sums (for real parts) of two roots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import comb, isqrt
from typing import Any, Literal

import flint

from theory.numbers import Enclosure, as_fmpq, as_fraction, precision
from theory.showing import Shown

# Real algebraic numbers that come from eigenvalues -----------------------------------------------


# The roots of an irreducible polynomial over the rationals, and what can be decided about them ---


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


# Real algebraic numbers that come from eigenvalues -----------------------------------------------


Part = Literal["modulus", "real part"]

# sympy takes seconds to number the roots of larger polynomials; the composed polynomial of two
# roots has a degree of the product of theirs.
_EXPRESSED_DEGREE = 8
_CLEARLY = 1e-3
_COMPOSED_DEGREE = 64


@dataclass(frozen=True, eq=False)
class AlgebraicNumber(Shown):
    """The modulus or the real part of a root, or the largest of several such numbers.

    Attributes
    ----------
    root, part
        The number is this part of this root,
    rivals
        or one of these if that is larger: numbers so near that neither balls nor the algebra
        above tell which is. Nearly always empty.
    """

    root: Root
    part: Part
    rivals: tuple[AlgebraicNumber, ...] = ()

    @property
    def rational(self) -> Fraction | None:
        """The number if it is rational, else None: decided, unless there are rivals."""
        if self.rivals:
            return None
        if self.part == "real part":
            return self.root.rational_real_part
        square = self.root.rational_square
        return square if not square else rational_root(square, 2)

    def ball(self, bits: int = START_BITS) -> flint.arb:
        """A ball around the number, of about so many good bits."""
        root = self.root.ball(bits)
        with precision(bits):
            found = abs(root) if self.part == "modulus" else root.real
            for rival in self.rivals:
                found = found.max(rival.ball(bits))
        return found

    def enclosure(self) -> Enclosure:
        """Doubles around the number, as near as they lie."""
        exact = self.rational
        if exact is not None:
            return Enclosure.from_rational(exact)
        bits = START_BITS
        while True:
            found = Enclosure.from_ball(self.ball(bits))
            if found.is_tight or bits > 2**14:
                return found
            bits *= 2

    def expression(self) -> Any:
        """The number as a sympy expression; a symbol that describes it if it would be too long."""
        import sympy

        exact = self.rational
        if exact is not None:
            return sympy.Rational(exact.numerator, exact.denominator)
        if self.rivals:
            return sympy.Max(*(one.expression() for one in (_alone(self), *self.rivals)))
        if self.part == "modulus":
            powers = _power_of_modulus(self.root)
            if powers is not None:
                base, degree = powers
                rational = sympy.Rational(base.numerator, base.denominator)
                return rational ** sympy.Rational(1, degree)
        written = _root_expression(self.root)
        if written is None:
            return sympy.Symbol(self._described(), real=True)
        if self.part == "modulus":
            return sympy.Abs(written)
        return written if self.root.is_real else sympy.re(written)

    def __str__(self) -> str:
        return str(self.expression())

    def _described(self) -> str:
        degree = self.root.factor.degree
        text = f"root {self.root.position + 1} of an irreducible polynomial of degree {degree}"
        if self.part == "modulus":
            return f"modulus of {text}"
        return text if self.root.is_real else f"real part of {text}"


def equal(first: AlgebraicNumber, second: AlgebraicNumber) -> bool | None:
    """Whether two numbers of the same part are equal; None where it is not decided."""
    if first.part == "modulus":
        squares = first.root.rational_square, second.root.rational_square
    else:
        squares = first.root.rational_real_part, second.root.rational_real_part
    if squares != (None, None):
        return squares[0] == squares[1]
    if first.root.factor is second.root.factor:
        if first.root.position == second.root.position or _conjugate(first.root, second.root):
            return True
        if first.root.is_real and second.root.is_real and first.part == "real part":
            return False
    elif first.part == "real part" and first.root.is_real and second.root.is_real:
        return False
    if first.part == "modulus" and _rotated(first.root, second.root):
        return True
    if max(first.root.factor.degree, second.root.factor.degree) ** 2 <= _COMPOSED_DEGREE:
        return _equal_by_composition(first, second)
    return None


def _alone(number: AlgebraicNumber) -> AlgebraicNumber:
    return AlgebraicNumber(number.root, number.part)


def _conjugate(first: Root, second: Root) -> bool:
    with precision(START_BITS):
        return bool(first.ball().conjugate().overlaps(second.ball()))


def _rotated(first: Root, second: Root) -> bool:
    """Whether p(x) = q(xᵐ) puts both on one circle: their m-th powers are ± the same root of q."""
    (p, m), (q, n) = first.deflated, second.deflated
    if m != n:
        return False
    turned = flint.fmpz_poly([int(c) * (-1) ** k for k, c in enumerate(q.coeffs())])
    signs = [s for s, other in ((1, q), (-1, turned)) if p in (other, -other)]
    circle = IrreducibleFactor(p, 1).balls()
    with precision(START_BITS):
        one, two = first.ball() ** m, second.ball() ** m
        places = [
            [k for k, root in enumerate(circle) if root.overlaps(image)]
            for image in (one, *(s * t for s in signs for t in (two, two.conjugate())))
        ]
    return bool(signs) and len(places[0]) == 1 and places[0] in places[1:]


def _power_of_modulus(root: Root) -> tuple[Fraction, int] | None:
    """A rational b and an n with |root| = b^(1/n), where they are found."""
    square = root.rational_square
    if square is not None:
        return square, 2
    polynomial, power = root.deflated
    if polynomial.degree() == 1:
        return abs(Fraction(int(polynomial[0]), int(polynomial[1]))), power
    return None


def _root_expression(root: Root) -> Any:
    """The root in sympy's terms; None if its polynomial is too large for that."""
    import sympy

    if root.factor.degree > _EXPRESSED_DEGREE:
        return None
    coefficients = [int(c) for c in reversed(root.factor.polynomial.coeffs())]
    polynomial = sympy.Poly(coefficients, sympy.Symbol("x"))
    candidates = polynomial.all_roots(radicals=root.factor.degree <= 2)
    if root.is_real and root.factor.degree > 2:
        return candidates[root.position]  # sympy, too, lists real roots first and in order
    near = complex(root.ball().mid())
    distances = [abs(complex(one.evalf(15)) - near) for one in candidates]
    closest, second = sorted(distances)[:2]
    if not closest < _CLEARLY * second:
        return None
    return candidates[distances.index(closest)]


def _equal_by_composition(first: AlgebraicNumber, second: AlgebraicNumber) -> bool:
    """Whether r·r̄ = s·s̄, or r + r̄ = s + s̄, as roots of one squarefree polynomial."""
    part = first.part
    both = _composed(first.root.factor, part) * _composed(second.root.factor, part)
    squarefree = both // both.gcd(both.derivative())
    roots = IrreducibleFactor(squarefree.numer(), 1)
    bits = START_BITS
    while True:
        with precision(bits):
            places = []
            for root in (first.root.ball(bits), second.root.ball(bits)):
                conjugate = root.conjugate()
                image = root * conjugate if part == "modulus" else root + conjugate
                places.append([k for k, one in enumerate(roots.balls(bits)) if one.overlaps(image)])
        if len(places[0]) == len(places[1]) == 1:
            return places[0] == places[1]
        bits *= 2


def _composed(factor: IrreducibleFactor, part: Part) -> flint.fmpq_poly:
    """The monic polynomial of all products, or all sums, of two roots: by Newton's identities."""
    sums = _power_sums(factor.polynomial, factor.degree**2)
    if part == "modulus":
        powers = [s * s for s in sums]
    else:
        powers = [
            sum((comb(k, i) * sums[i] * sums[k - i] for i in range(k + 1)), flint.fmpq(0))
            for k in range(len(sums))
        ]
    size = factor.degree**2
    coefficients = [flint.fmpq(1)]
    for k in range(1, size + 1):
        total = sum((powers[i] * coefficients[k - i] for i in range(1, k + 1)), flint.fmpq(0))
        coefficients.append(-total / k)
    return flint.fmpq_poly(list(reversed(coefficients)))


def _power_sums(polynomial: flint.fmpz_poly, most: int) -> list[flint.fmpq]:
    """Σ r^k over all roots r, for k from 0 to `most`."""
    degree = polynomial.degree()
    monic = [as_fmpq(flint.fmpq(c, polynomial[degree])) for c in reversed(polynomial.coeffs())]
    sums = [flint.fmpq(degree)]
    for k in range(1, most + 1):
        total = k * monic[k] if k <= degree else flint.fmpq(0)
        for i in range(1, min(k - 1, degree) + 1):
            total += monic[i] * sums[k - i]
        sums.append(-total)
    return sums


# Balls around the roots of a squarefree polynomial, each apart from the others -------------------


_NEWTON_STEPS = 12


def isolated_roots(
    polynomial: flint.fmpz_poly, bits: int, *, estimates: Sequence[float] | None = None
) -> list[flint.acb]:
    """Disjoint balls of at least `bits` good bits; the real roots first, in increasing order.

    A real root has imaginary part exactly 0. The others follow in pairs, a root and its conjugate.

    Parameters
    ----------
    polynomial
        Squarefree, of degree at least 1.
    bits
        Bits wanted.
    estimates
        Numbers near all roots, in increasing order, if these are known to be real. Estimates that
        are too poor cost time and nothing else.
    """
    if estimates is not None and polynomial.degree() > 2:
        found = _real_rooted(polynomial, bits, estimates)
        if found is not None:
            return found
    with precision(bits):
        pairs: Any = polynomial.complex_roots()
        roots = [root for root, _ in pairs]
    real = sorted((root for root in roots if root.imag == 0), key=_middle)
    return real + [root for root in roots if root.imag != 0]


def _middle(root: flint.acb) -> flint.arb:
    return root.real.mid()


def _real_rooted(
    polynomial: flint.fmpz_poly, bits: int, estimates: Sequence[float]
) -> list[flint.acb] | None:
    """The same for a polynomial with real roots alone; None where signs do not tell them apart."""
    degree = polynomial.degree()
    coefficients = max(abs(int(c)).bit_length() for c in polynomial.coeffs())
    working = coefficients + 2 * degree + 2 * bits
    with precision(working):
        p, slope = flint.arb_poly(polynomial), flint.arb_poly(polynomial.derivative())
        points = [-2.0, *((a + b) / 2 for a, b in pairwise(estimates) if a < b), 2.0]
        signs = [_sign(p(flint.arb(x))) for x in points]
        gaps = [
            (a, b)
            for (a, b), (s, t) in zip(pairwise(points), pairwise(signs), strict=True)
            if s * t < 0
        ]
        if len(gaps) != degree or 0 in signs:
            return None
        found = []
        for a, b in gaps:
            start = next((x for x in estimates if a < x < b), (a + b) / 2)
            root = _refined(p, slope, flint.arb(start), bits)
            if root is None or not (flint.arb(a) < root < flint.arb(b)):
                return None
            found.append(flint.acb(root))
    return found


def _refined(
    p: flint.arb_poly, slope: flint.arb_poly, start: flint.arb, bits: int
) -> flint.arb | None:
    """A ball that a change of sign proves to hold a root near the start."""
    x = start
    for _ in range(_NEWTON_STEPS):
        step = (p(x) / slope(x)).mid()
        if not step.is_finite():
            return None
        x = (x - step).mid()
        if abs(step) <= abs(x) * flint.arb(2) ** -(bits + 4):
            break
    margin = (abs(x) * flint.arb(2) ** -(bits + 2)).mid()
    if _sign(p(x - margin)) * _sign(p(x + margin)) >= 0:
        return None
    return flint.arb(x, margin.upper())


def _sign(ball: flint.arb) -> int:
    """The sign of a number in a ball; 0 where the ball does not tell."""
    return 1 if ball > 0 else -1 if ball < 0 else 0

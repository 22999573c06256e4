"""Real algebraic numbers that come from eigenvalues: a root's modulus, or its real part.

Each is exact: an expression, and balls of any precision. Equality of two of them is decided
wherever it is cheap to (docs: mathematics/exact): by their rational values or squares, by being
conjugates or rotations of each other, or, for small degrees, through the polynomial whose roots
are all products (for moduli) or sums (for real parts) of two roots.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, Literal

import flint

from theory.numbers import Enclosure, as_fmpq, precision
from theory.rational.roots import START_BITS, IrreducibleFactor, Root, rational_root
from theory.showing import Shown

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

"""Balls around the roots of a squarefree polynomial, each apart from the others.

flint finds them for any polynomial, and tells the real ones. Where all roots are known to be real
and floating-point estimates are at hand, as for the eigenvalues of a reversible W, signs do it
sooner: d changes of sign between d + 1 points prove one root between each two. Newton's method
refines each, and the signs a hair to its left and right prove what it found.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import flint

from theory.numbers import precision

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

"""Rational networks with known spectra."""

from __future__ import annotations

from fractions import Fraction

import sympy

from theory.rational import RationalNetwork


def reset_chain(agents: int) -> RationalNetwork:
    """From i to i + 1 or back to 0: every eigenvalue but one is exactly zero."""
    rows = [[Fraction(0)] * agents for _ in range(agents)]
    for i in range(agents):
        rows[i][min(i + 1, agents - 1)] += 1 - Fraction(1, agents)
        rows[i][0] += Fraction(1, agents)
    return RationalNetwork(rows)


def directed_ring(agents: int, stay: Fraction) -> RationalNetwork:
    """Each agent weighs itself and the next one."""
    rows = [[Fraction(0)] * agents for _ in range(agents)]
    for i in range(agents):
        rows[i][i] += stay
        rows[i][(i + 1) % agents] += 1 - stay
    return RationalNetwork(rows)


def as_sympy(network: RationalNetwork) -> sympy.Matrix:
    """W as a sympy matrix."""
    return sympy.Matrix(
        [[sympy.Rational(x.numerator, x.denominator) for x in row] for row in network.rows]
    )

"""Rational networks for the tests, of every nasty kind, small enough for brute force."""

from __future__ import annotations

from fractions import Fraction

import sympy
from hypothesis import strategies as st

from tests.strategies import networks
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


@st.composite
def rational_networks(draw: st.DrawFn, *, max_agents: int = 5) -> RationalNetwork:
    """Small whole numbers over their row sums, with enough zeros; or a network of doubles."""
    if draw(st.integers(0, 4)) == 0:
        return RationalNetwork.from_network(draw(networks(max_agents=max_agents)))
    agents = draw(st.integers(1, max_agents))
    size = agents * agents
    digits = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 7]), min_size=size, max_size=size))
    rows = [digits[i * agents : (i + 1) * agents] for i in range(agents)]
    if draw(st.booleans()):
        rows = [[rows[i][j] + rows[j][i] for j in range(agents)] for i in range(agents)]
    for i in range(agents):
        rows[i][(i + 1) % agents] += 1
    rows[0][0] += 1
    return RationalNetwork([[Fraction(x, sum(row)) for x in row] for row in rows])


def as_sympy(network: RationalNetwork) -> sympy.Matrix:
    """W as a sympy matrix."""
    return sympy.Matrix(
        [[sympy.Rational(x.numerator, x.denominator) for x in row] for row in network.rows]
    )

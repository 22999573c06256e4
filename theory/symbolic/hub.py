"""Hub and ring: a ring of n = N − 1 agents who also hear a hub that hears them all. And the wheel.

The hub gives c to itself and shares the rest equally; a ring agent gives h to the hub, s to each of
its two neighbours and the rest to itself. The wheel is the same graph under the uniform rule of
`theory.network.graphs`: c = 1/N, h = s = 1/4. (docs: mathematics/formulas)
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import sympy

from theory.symbolic.evaluation import Values
from theory.symbolic.formula import (
    AgentClass,
    Eigenvalues,
    Formula,
    Index,
    Matrix,
    Members,
    Pair,
    PairFormula,
    Statement,
)
from theory.symbolic.lattice import N, agents, d, k
from theory.symbolic.parameter import Constraint, Parameter

c = sympy.Symbol("c", nonnegative=True)
h, s = sympy.symbols("h s", positive=True)
I_1, S_ring = sympy.symbols("I_1 S_ring", real=True)
n = N - 1

HUB_CONFIDENCE = Parameter(
    "centre_confidence",
    c,
    "weight of the hub on itself",
    Fraction(0),
    Fraction(1),
    open_upper=True,
    default=1 / N,
)
TO_HUB = Parameter(
    "hub_weight",
    h,
    "weight of every ring agent on the hub",
    Fraction(0),
    Fraction(1),
    open_lower=True,
    open_upper=True,
)
TO_NEIGHBOUR = Parameter(
    "neighbour_weight",
    s,
    "weight of every ring agent on each of its two neighbours",
    Fraction(0),
    Fraction(1, 2),
    open_lower=True,
    open_upper=True,
)


def hub_and_ring() -> Formula:
    """All networks of a hub and a ring; c = 1/N where it is not given."""
    hub = h / (h + 1 - c)
    ring = (1 - c) / (n * (h + 1 - c))
    fast = c - h
    memory = sympy.Abs(fast) / (1 - sympy.Abs(fast))

    def wave(index: sympy.Expr) -> sympy.Expr:
        return 1 - h - 2 * s * (1 - sympy.cos(2 * sympy.pi * index / n))

    between = 1 / (h + 1 - c) ** 2
    y = 1 + h / (2 * s)
    green = (sympy.chebyshevu(n - d - 1, y) + sympy.chebyshevu(d - 1, y)) / (
        2 * s * (sympy.chebyshevt(n, y) - 1)
    )
    return Formula(
        name="hub-and-ring",
        title="a hub (agent 0) and a ring of n = N - 1 agents who also hear the hub",
        parameters=(agents(4), TO_HUB, TO_NEIGHBOUR, HUB_CONFIDENCE),
        constraints=(Constraint(h + 2 * s <= 1, "h + 2s <= 1"),),
        assumptions=(
            "c stands for 1/N where it is not given",
            "T, U: Chebyshev polynomials of the two kinds; U_{-1} = 0, U_{-m} = -U_{m-2}",
        ),
        weights_text=(
            Statement("W(hub, hub)", c, "the hub on itself"),
            Statement("W(hub, ring)", (1 - c) / n, "the hub on each ring agent"),
            Statement("W(ring, hub)", h, "a ring agent on the hub"),
            Statement("W(ring, neighbour)", s, "a ring agent on each of its two neighbours"),
            Statement("W(ring, itself)", 1 - h - 2 * s, "a ring agent on itself"),
        ),
        classes=(
            AgentClass("hub", sympy.S.One, hub, I_1, 2 * (1 - hub) * memory),
            AgentClass("ring", n, ring, S_ring),
        ),
        spectrum=(
            Eigenvalues(sympy.S.One),
            Eigenvalues(fast),
            Eigenvalues(wave(k), indices=(Index(k, sympy.S.One, n - 1),)),
        ),
        slem=sympy.Max(sympy.Abs(fast), wave(sympy.S.One), -wave(sympy.floor(n / 2))),
        second_eigenvalue=sympy.Max(fast, wave(sympy.S.One)),
        deviation_matrix=(
            PairFormula("hub, hub", (1 - c) * between),
            PairFormula("hub, ring", -(1 - c) * between / n),
            PairFormula("ring, hub", -h * between),
            PairFormula(
                "ring, ring",
                h * between / n + green - 1 / (n * h),
                ((d, "distance along the ring, 0 to n - 1"),),
            ),
        ),
        statements=(
            Statement(
                "dK/dh",
                sympy.factor(sympy.diff(hub * I_1 + ring * S_ring, h)),
                "positive if and only if I_1 > S_ring/(N - 1), the average of the ring",
            ),
        ),
        members=Members(N, _weights, _class_of, _pair),
        docs="mathematics/formulas.md#hub-and-ring",
    )


def wheel() -> Formula:
    """The wheel under the uniform rule."""
    general = hub_and_ring()
    quarter = sympy.Rational(1, 4)
    defaults = {h: quarter, s: quarter, c: 1 / N}
    fixed = [replace(p, default=defaults[p.symbol], fixed=True) for p in general.parameters[1:]]
    return replace(
        general,
        name="wheel",
        title="a hub and a ring of N - 1 agents under the uniform rule",
        parameters=(general.parameters[0], *fixed),
        assumptions=("h = s = 1/4, c = 1/N: the uniform rule", general.assumptions[1]),
        docs="mathematics/formulas.md#hub-and-ring",
    )


def _weights(values: Values) -> Matrix:
    rim, own, up, side = int(values[N]) - 1, values[c], values[h], values[s]
    rows = [[own] + [(1 - own) / rim] * rim]
    for here in range(rim):
        row = [up] + [Fraction(0)] * rim
        row[1 + here] += 1 - up - 2 * side
        row[1 + (here + 1) % rim] += side
        row[1 + (here - 1) % rim] += side
        rows.append(row)
    return tuple(map(tuple, rows))


def _class_of(values: Values) -> list[int]:
    return [0] + [1] * (int(values[N]) - 1)


def _pair(values: Values, row: int, column: int) -> Pair:
    if row == 0:
        return Pair(0 if column == 0 else 1)
    if column == 0:
        return Pair(2)
    return Pair(3, {d: (row - column) % (int(values[N]) - 1)})

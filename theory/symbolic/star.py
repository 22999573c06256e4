"""The star: one centre, N − 1 edge agents that hear the centre and themselves.

The centre gives c to itself and shares the rest equally among the edges; an edge gives a to the
centre and 1 − a to itself. P2 (sec. 1.4.1) has c = 1/N, which is what c stands for where it is not
given. The rules of `theory.network.graphs` are other values: uniform a = 1/2, c = 1/N; metropolis
and max-degree a = c = 1/N; lazy-metropolis a = 1/(2(N−1)), c = 1/2. (docs: mathematics/formulas)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import MappingProxyType

import sympy

from theory.symbolic.checks import two_agents
from theory.symbolic.evaluation import Values
from theory.symbolic.formula import (
    AgentClass,
    Eigenvalues,
    Formula,
    Index,
    Matrix,
    Members,
    OneClass,
    Pair,
    PairFormula,
    Statement,
)
from theory.symbolic.lattice import (
    N,
    a,
    agents,
    complete,
    d,
    everyone,
    grid,
    i,
    j,
    k,
    path,
    ring,
    self_confidence,
    torus,
)
from theory.symbolic.parameter import Constraint, Parameter
from theory.validation import fail, meant

# The star ----------------------------------------------------------------------------------------


c = sympy.Symbol("c", nonnegative=True)
I_1, S_edges = sympy.symbols("I_1 S_edges", real=True)
EDGE_CONFIDENCE = Parameter(
    "edge_confidence",
    a,
    "weight of every edge agent on the centre",
    Fraction(0),
    Fraction(1),
    open_lower=True,
    open_upper=True,
)
CENTRE_CONFIDENCE = Parameter(
    "centre_confidence",
    c,
    "weight of the centre on itself",
    Fraction(0),
    Fraction(1),
    open_upper=True,
    default=1 / N,
)


def star() -> Formula:
    """All stars; c = 1/N where it is not given."""
    centre = a / (a + 1 - c)
    edge = (1 - c) / ((N - 1) * (a + 1 - c))
    slow, fast = 1 - a, c - a
    # Between centre and edges W is a chain of two states, which mixes at the eigenvalue c − a.
    between = 1 / (a + 1 - c) ** 2
    from_centre = 2 * (1 - centre) * sympy.Abs(fast) / (1 - sympy.Abs(fast))
    from_edge = (
        centre * sympy.Abs(fast) / (1 - sympy.Abs(fast))
        + 2 * (N - 2) / (N - 1) * slow / a
        - (N - 3) / (N - 1) * centre * fast / (1 - fast)
    )
    return Formula(
        name="star",
        title="one centre (agent 0) and N - 1 edge agents that hear the centre and themselves",
        parameters=(agents(3), EDGE_CONFIDENCE, CENTRE_CONFIDENCE),
        constraints=(),
        assumptions=("P2's star has c = 1/N, which c stands for where it is not given",),
        weights_text=(
            Statement("W(centre, centre)", c, "the centre on itself"),
            Statement("W(centre, edge)", (1 - c) / (N - 1), "the centre on each edge agent"),
            Statement("W(edge, centre)", a, "an edge agent on the centre"),
            Statement("W(edge, itself)", 1 - a, "an edge agent on itself"),
        ),
        classes=(
            AgentClass("centre", sympy.S.One, centre, I_1, from_centre),
            AgentClass("edge", N - 1, edge, S_edges, from_edge, sympy.Le(2 * a, 1 + c)),
        ),
        spectrum=(Eigenvalues(sympy.S.One), Eigenvalues(slow, N - 2), Eigenvalues(fast)),
        slem=sympy.Piecewise((slow, 2 * a <= 1 + c), (-fast, True)),
        second_eigenvalue=slow,
        deviation_matrix=(
            PairFormula("centre, centre", (1 - c) * between),
            PairFormula("centre, edge", -(1 - c) * between / (N - 1)),
            PairFormula("edge, centre", -a * between),
            PairFormula("edge, itself", a * between / (N - 1) + (N - 2) / ((N - 1) * a)),
            PairFormula("edge, other edge", a * between / (N - 1) - 1 / ((N - 1) * a)),
        ),
        statements=(
            Statement(
                "dK/da",
                sympy.factor(sympy.diff(centre * I_1 + edge * S_edges, a)),
                "positive if and only if I_1 > S_edges/(N - 1), the average of the edges",
            ),
            Statement(
                "best a for E",
                (1 - c) / (N - 1),
                "normal z; the a of uniform v. If S_edges = 0, E = I_1/4 for every a",
            ),
        ),
        members=Members(N, _weights, _class_of, _pair),
        docs="mathematics/formulas.md#star",
    )


def _weights(values: Values) -> Matrix:
    n, own, up = int(values[N]), values[c], values[a]
    centre = [own] + [(1 - own) / (n - 1)] * (n - 1)
    edges = [[up] + [(1 - up) * (column == row) for column in range(1, n)] for row in range(1, n)]
    return tuple(map(tuple, [centre, *edges]))


def _class_of(values: Values) -> list[int]:
    return [0] + [1] * (int(values[N]) - 1)


def _pair(values: Values, row: int, column: int) -> Pair:
    del values
    if row == 0:
        return Pair(0 if column == 0 else 1)
    return Pair(2 if column == 0 else 3 if column == row else 4)


# Hub and ring ------------------------------------------------------------------------------------


h, s = sympy.symbols("h s", positive=True)
S_ring = sympy.Symbol("S_ring", real=True)
n = N - 1

HUB_CONFIDENCE = replace(CENTRE_CONFIDENCE, meaning="weight of the hub on itself")
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
        members=Members(N, _hub_weights, _class_of, _hub_pair),
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


def _hub_weights(values: Values) -> Matrix:
    rim, own, up, side = int(values[N]) - 1, values[c], values[h], values[s]
    rows = [[own] + [(1 - own) / rim] * rim]
    for here in range(rim):
        row = [up] + [Fraction(0)] * rim
        row[1 + here] += 1 - up - 2 * side
        row[1 + (here + 1) % rim] += side
        row[1 + (here - 1) % rim] += side
        rows.append(row)
    return tuple(map(tuple, rows))


def _hub_pair(values: Values, row: int, column: int) -> Pair:
    if row == 0:
        return Pair(0 if column == 0 else 1)
    if column == 0:
        return Pair(2)
    return Pair(3, {d: (row - column) % (int(values[N]) - 1)})


# The hypercube -----------------------------------------------------------------------------------


q = sympy.Symbol("q", integer=True, positive=True)
x = sympy.Symbol("x", integer=True, nonnegative=True)
DIMENSION = Parameter(
    "dimension", q, "number of binary digits", Fraction(1), whole=True, largest_tried=4
)


def hypercube() -> Formula:
    """All hypercubes of equal weights."""
    value = 1 - 2 * k * (1 - a) / q
    own = q * sympy.Sum((2**j - 1) / j, (j, 1, q)) / 2
    drops = sympy.Sum(
        sympy.Sum(sympy.binomial(q, j), (j, i + 1, q)) / sympy.binomial(q - 1, i), (i, 0, x - 1)
    )
    return Formula(
        name="hypercube",
        title="2^q agents, each hearing itself and the q that differ in one binary digit",
        parameters=(DIMENSION, self_confidence()),
        constraints=(),
        assumptions=(),
        weights_text=(
            Statement("W(i, i)", a, "every agent on itself"),
            Statement("W(i, neighbour)", (1 - a) / q, "every agent on each of its q neighbours"),
        ),
        classes=(AgentClass("everyone", 2**q, 1 / 2**q, everyone),),
        spectrum=(Eigenvalues(value, sympy.binomial(q, k), (Index(k, sympy.S.Zero, q),)),),
        slem=sympy.Max(1 - 2 * (1 - a) / q, 1 - 2 * a),
        second_eigenvalue=1 - 2 * (1 - a) / q,
        deviation_matrix=(
            PairFormula(
                "any pair",
                (own - drops) / (2**q * (1 - a)),
                ((x, "number of binary digits in which the two differ"),),
            ),
        ),
        statements=(),
        members=Members(2**q, _cube_weights, OneClass(2**q), _cube_pair),
        docs="mathematics/formulas.md#hypercube",
    )


def _cube_weights(values: Values) -> Matrix:
    digits, own = int(values[q]), values[a]
    each = (1 - own) / digits
    return tuple(
        tuple(
            own if row == column else each * ((row ^ column).bit_count() == 1)
            for column in range(2**digits)
        )
        for row in range(2**digits)
    )


def _cube_pair(values: Values, row: int, column: int) -> Pair:
    del values
    return Pair(0, {x: (row ^ column).bit_count()})


# The families with closed forms, by name ---------------------------------------------------------


FAMILIES: Mapping[str, Callable[[], Formula]] = MappingProxyType(
    {
        "two-agents": two_agents,
        "star": star,
        "complete": complete,
        "wheel": wheel,
        "hub-and-ring": hub_and_ring,
        "ring": ring,
        "torus": torus,
        "hypercube": hypercube,
        "path": path,
        "grid": grid,
    }
)
"""The builders of all families, by name."""


@cache
def closed_form(name: str) -> Formula:
    """The closed forms of a family, with all its parameters free.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> star = closed_form("star")
    >>> [star.shown(c.stationary) for c in star.classes]
    [N*a/(N*a + N - 1), 1/(N*a + N - 1)]
    """
    if name not in FAMILIES:
        remedy = meant(name.lower(), FAMILIES, otherwise="choose one of these")
        raise fail("topology", f"one of {', '.join(FAMILIES)}", repr(name)[:60], remedy)
    return FAMILIES[name]()

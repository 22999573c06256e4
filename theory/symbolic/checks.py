"""Closed forms against arithmetic that knows nothing of them.

At random rational values of the parameters the exact W of a family is written down, and every
formula is compared with what follows from that matrix alone:

======================  ==========================================================================
v                       that of `theory.rational.RationalNetwork`, in fractions: equal
eigenvalues             Π (x − λ) against the exact characteristic polynomial: equal where all λ are
                        rational, else coefficient by coefficient to 2⁻²⁰⁰ in ball arithmetic
slem, second            against the largest of the formula's other eigenvalues, likewise
Z                       (I − W + 1vᵀ)⁻¹ − 1vᵀ in fractions: equal, or within a ball
K, E (normal)           Σ v_j I_j and K²/(4 Σ v_j² I_j) at random rational I_j: equal
v, slem, D_i            against `theory.Network` in floating point: D_i inside its bracket
======================  ==========================================================================
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import flint
import numpy as np
import sympy

from theory.network import Network
from theory.numbers import as_fmpq, precision
from theory.showing import Shown
from theory.symbolic.evaluation import Number, Values, evaluate, to_ball
from theory.symbolic.formula import (
    AgentClass,
    ClassEach,
    Eigenvalues,
    Formula,
    Matrix,
    Member,
    Members,
    Pair,
    PairFormula,
    Statement,
)
from theory.symbolic.lattice import a, b, x
from theory.symbolic.parameter import Constraint, Parameter
from theory.typed import typed
from theory.validation import fail

# Two agents, in full -----------------------------------------------------------------------------


I_1, I_2 = sympy.symbols("I_1 I_2", real=True)
t = sympy.Symbol("t", nonnegative=True)
p = sympy.Symbol("p", positive=True)
kappa_1, kappa_2 = sympy.Function("kappa_1"), sympy.Function("kappa_2")


def _weight(name: str, symbol: sympy.Symbol, meaning: str) -> Parameter:
    return Parameter(name, symbol, meaning, Fraction(0), Fraction(1), open_lower=True)


def two_agents() -> Formula:
    """All networks of two agents."""
    v_1, v_2 = b / (a + b), a / (a + b)
    other = 1 - a - b
    memory = sympy.Abs(other) / (1 - sympy.Abs(other))
    cumulant = kappa_1(-t * v_1) + kappa_2(-t * v_2)
    return Formula(
        name="two-agents",
        title="agent 1 gives a to agent 2, agent 2 gives b to agent 1",
        parameters=(
            _weight("a", a, "weight of agent 1 on agent 2"),
            _weight("b", b, "weight of agent 2 on agent 1"),
        ),
        constraints=(Constraint(a + b < 2, "a + b < 2 (else W has period 2)"),),
        assumptions=(),
        weights_text=(
            Statement("W(1, 1)", 1 - a, "agent 1 on itself"),
            Statement("W(1, 2)", a, "agent 1 on agent 2"),
            Statement("W(2, 1)", b, "agent 2 on agent 1"),
            Statement("W(2, 2)", 1 - b, "agent 2 on itself"),
        ),
        classes=(
            AgentClass("agent 1", sympy.S.One, v_1, I_1, 2 * v_2 * memory),
            AgentClass("agent 2", sympy.S.One, v_2, I_2, 2 * v_1 * memory),
        ),
        spectrum=(Eigenvalues(sympy.S.One), Eigenvalues(other)),
        slem=sympy.Abs(other),
        second_eigenvalue=other,
        deviation_matrix=(
            PairFormula("1, 1", v_2 / (a + b)),
            PairFormula("1, 2", -v_2 / (a + b)),
            PairFormula("2, 1", -v_1 / (a + b)),
            PairFormula("2, 2", v_1 / (a + b)),
        ),
        statements=(
            Statement(
                "E",
                -cumulant,
                "at the t >= 0 that solves the next equation; kappa_j is the cumulant of z_j",
            ),
            Statement(
                "E's equation",
                sympy.Eq(sympy.Derivative(cumulant, t), 0),
                "one root if v_1 z_1 + v_2 z_2 can be negative: the left side rises with t from -K",
            ),
            Statement(
                "E, symmetric coins, a = b",
                -sympy.log(4 * p * (1 - p)),
                "each z is c with probability p > 1/2, else -c, any c > 0: twice one agent's",
            ),
        ),
        members=Members(sympy.Integer(2), _weights, ClassEach(2), _pair),
        docs="mathematics/formulas.md#two-agents",
    )


def _weights(values: Values) -> Matrix:
    one, two = values[a], values[b]
    return ((1 - one, one), (two, 1 - two))


def _pair(values: Values, row: int, column: int) -> Pair:
    del values
    return Pair(2 * row + column)


# Closed forms against arithmetic that knows nothing of them --------------------------------------


_BITS = 320
# Balls computed with 320 bits from a few hundred operations are narrower than this by far.
_RADIUS = 2.0**-200
# Entries of Z compared at one point: each costs a sum of N cosines on a grid.
_ENTRIES = 150
# Exact matrices beyond this number of agents would take seconds a point.
MOST_AGENTS = 40
# The float routes solve well-conditioned problems of at most 40 agents: errors are 1e-14 or so, and
# eigenvalues that coincide (W is symmetrisable) lose nothing.
_FLOAT = 1e-9
# Weights such as 1 - a - b - c leave a part of the cube to their letters, if not a large one.
_ATTEMPTS = 3000


@dataclass(frozen=True)
class Comparison(Shown):
    """One quantity at all points: how it was compared, how often, and where it failed."""

    quantity: str
    method: str
    points: int
    failures: tuple[str, ...]


@dataclass(frozen=True)
class FormulaCheck(Shown):
    """The outcome: the points tried (values as text, by letter) and one comparison a quantity."""

    points: tuple[dict[str, str], ...]
    comparisons: tuple[Comparison, ...]
    smaller: bool

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not any(comparison.failures for comparison in self.comparisons)


@typed
def check_formula(formula: Formula, *, points: int = 12, seed: int = 0) -> FormulaCheck:
    """Compare a formula with exact arithmetic at random rational parameter values.

    One point is enough where every parameter has a value.

    Parameters that have been given keep their values, except for numbers of agents beyond
    `MOST_AGENTS`, which are drawn again, smaller (`FormulaCheck.smaller` then).
    """
    source = random.Random(seed)
    formula, smaller = at_fewer_agents(formula)
    if all(p.fixed or p.symbol in formula.values for p in formula.parameters) and not smaller:
        points = min(points, 1)
    tried: list[dict[str, str]] = []
    failures: dict[tuple[str, str], list[str]] = {}
    counts: dict[tuple[str, str], int] = {}
    with precision(_BITS):
        for _ in range(points):
            member = draw_member(formula, source)
            point = {str(symbol): str(value) for symbol, value in member.values.items()}
            tried.append(point)
            for quantity, method, holds in _compare(member, source):
                key = (quantity, method)
                counts[key] = counts.get(key, 0) + 1
                failures.setdefault(key, [])
                if not holds:
                    failures[key].append(", ".join(f"{s}={v}" for s, v in point.items()))
    return FormulaCheck(
        points=tuple(tried),
        comparisons=tuple(
            Comparison(*key, counts[key], tuple(failures[key])) for key in sorted(counts)
        ),
        smaller=smaller,
    )


def draw_member(formula: Formula, source: random.Random) -> Member:
    """A network of the family: given values kept, the others drawn from their domains.

    Raises
    ------
    ValueError
        If no values drawn meet the constraints.
    """
    for _ in range(_ATTEMPTS):
        values = dict(formula.values)
        for parameter in formula.parameters:
            if parameter.symbol not in values and _is_free(parameter, source):
                values[parameter.symbol] = parameter.draw(source)
        complete = formula.complete(values)
        if all(constraint.holds(complete) for constraint in formula.constraints):
            return Member(formula, complete)
    raise fail("weights", f"a domain that {_ATTEMPTS} random values meet", "none that did",
               "give values to some parameters, or widen the domain")  # fmt: skip


def _is_free(parameter: Parameter, source: random.Random) -> bool:
    """Whether to draw it: half the time, where it has a default that it may leave."""
    return parameter.default is None or (not parameter.fixed and source.random() < 0.5)


def at_fewer_agents(formula: Formula) -> tuple[Formula, bool]:
    """The formula without its numbers of agents, if they are beyond `MOST_AGENTS`; and whether."""
    sizes = [p.symbol for p in formula.parameters if p.whole and p.symbol in formula.values]
    known = {**formula.values, **{p.symbol: Fraction(1) for p in formula.parameters if p.whole}}
    known.update(formula.values)
    count = formula.members.agents.subs(
        {s: sympy.Rational(v.numerator, v.denominator) for s, v in known.items()}
    )
    if not sizes or count <= MOST_AGENTS:
        return formula, False
    rest = {symbol: value for symbol, value in formula.values.items() if symbol not in sizes}
    return replace(formula, values=rest), True


def _compare(member: Member, source: random.Random) -> Iterator[tuple[str, str, bool]]:
    network = member.network()
    weights, agents = network.matrix, network.agents
    v = [as_fmpq(value) for value in network.stationary_distribution]
    information = [Fraction(source.randint(0, 50), 17) for _ in range(agents)]
    information[0] += 1
    rate = sum((as_fmpq(x) * y for x, y in zip(information, v, strict=True)), flint.fmpq(0))
    spread = sum((as_fmpq(x) * y * y for x, y in zip(information, v, strict=True)), flint.fmpq(0))
    stationary = member.stationary_distribution
    yield "v", "exact", all(map(agree, stationary, v))
    yield "K", "exact", agree(member.rate(information), rate)
    exponent = member.gaussian_exponent(information)
    yield "E (normal)", "exact", agree(exponent, rate * rate / (4 * spread))

    if member.formula.characteristic is not None:
        yield "det(xI - W)", "exact", _same_values(member, weights)
    exact = exact_deviation(weights, v)
    pairs = [(i, j) for i in range(agents) for j in range(agents)]
    if len(pairs) > _ENTRIES:
        pairs = source.sample(pairs, _ENTRIES)
    entries = member.deviation_entries(pairs)
    fits = all(agree(entry, exact[i, j]) for entry, (i, j) in zip(entries, pairs, strict=True))
    method = "exact" if all(isinstance(entry, Fraction) for entry in entries) else "balls"
    yield "Z", method, fits
    if member.formula.spectrum:
        yield from _compare_spectrum(member, weights)
    yield from _compare_floats(member, network.as_network(), stationary)


def _compare_spectrum(member: Member, weights: flint.fmpq_mat) -> Iterator[tuple[str, str, bool]]:
    eigenvalues = member.eigenvalues
    is_exact = all(isinstance(value, Fraction) for value in eigenvalues)
    method = "exact" if is_exact else "balls"
    yield "eigenvalues", method, same_polynomial(eigenvalues, weights)
    others = _but_one(eigenvalues)
    if member.formula.slem is not None:
        moduli: list[Number] = [abs(value) for value in others]  # type: ignore[misc]
        largest = _largest(moduli)
        yield "slem", method, agree(member.number(member.formula.slem), largest)
    if member.formula.second_eigenvalue is not None:
        largest = _largest(others)
        yield (
            "second eigenvalue",
            method,
            agree(member.number(member.formula.second_eigenvalue), largest),
        )


def _compare_floats(
    member: Member, network: Network, stationary: list[Number]
) -> Iterator[tuple[str, str, bool]]:
    floats = np.array([float(to_ball(number)) for number in stationary])
    yield "v", "floats", np.allclose(network.stationary_distribution, floats, rtol=_FLOAT, atol=0)
    if member.formula.slem is not None:
        slem = float(to_ball(member.number(member.formula.slem)))
        yield "slem", "floats", abs(network.slem - slem) < _FLOAT
    bracket = network.deviation
    known = [(i, float(to_ball(x))) for i, x in enumerate(member.deviation) if x is not None]
    if known:
        slack = [_FLOAT * max(1.0, value) for _, value in known]
        yield (
            "D",
            "bracket",
            all(
                bracket.lower[i] - room <= value <= bracket.upper[i] + room
                for (i, value), room in zip(known, slack, strict=True)
            ),
        )


def exact_deviation(weights: flint.fmpq_mat, v: list[flint.fmpq]) -> flint.fmpq_mat:
    """Z = (I − W + 1vᵀ)⁻¹ − 1vᵀ."""
    agents = weights.nrows()
    limit = flint.fmpq_mat([list(v) for _ in range(agents)])
    identity = flint.fmpq_mat([[int(i == j) for j in range(agents)] for i in range(agents)])
    return (identity - weights + limit).inv() - limit


def agree(number: Number, exact: flint.fmpq | flint.arb) -> bool:
    """Whether a formula's value is the exact one: equal, or a narrow ball around it."""
    if isinstance(number, Fraction) and isinstance(exact, flint.fmpq):
        return bool(as_fmpq(number) == exact)
    difference = to_ball(number) - exact
    return bool(difference.contains(0)) and float(difference.rad()) < _RADIUS


def same_polynomial(eigenvalues: list[Number], weights: flint.fmpq_mat) -> bool:
    """Whether Π (x − λ) is the characteristic polynomial of W."""
    exact = weights.charpoly()
    if len(eigenvalues) != weights.nrows():
        return False
    if all(isinstance(value, Fraction) for value in eigenvalues):
        product = flint.fmpq_poly([1])
        for value in eigenvalues:
            assert isinstance(value, Fraction)
            product *= flint.fmpq_poly([-as_fmpq(value), 1])
        return bool(product == exact)
    balls = flint.arb_poly([1])
    for value in eigenvalues:
        balls *= flint.arb_poly([-to_ball(value), 1])
    return all(
        (balls[power] - exact[power]).contains(0)
        and float((balls[power] - exact[power]).rad()) < _RADIUS
        for power in range(weights.nrows() + 1)
    )


def _same_values(member: Member, weights: flint.fmpq_mat) -> bool:
    """Whether det(xI − W) as a formula is the characteristic polynomial: equal at N + 1 points."""
    exact = weights.charpoly()
    expression = member.formula.characteristic
    assert expression is not None
    return all(
        agree(evaluate(expression, {**member.values, x: Fraction(point)}), exact(point))
        for point in range(2, weights.nrows() + 3)
    )


def _but_one(eigenvalues: list[Number]) -> list[Number]:
    """The eigenvalues but one 1: the first that is 1, or may be."""
    for position, value in enumerate(eigenvalues):
        if value == 1 if isinstance(value, Fraction) else (value - 1).contains(0):
            return eigenvalues[:position] + eigenvalues[position + 1 :]
    return eigenvalues


def _largest(values: list[Number]) -> flint.fmpq | flint.arb:
    fractions = [value for value in values if isinstance(value, Fraction)]
    if len(fractions) == len(values):
        return as_fmpq(max(fractions))
    result = to_ball(values[0])
    for value in values[1:]:
        result = result.max(to_ball(value))
    return result

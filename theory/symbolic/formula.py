"""The closed forms of one family of networks.

A family is a set of weight matrices W that share their symmetry, such as all stars whose edge
agents give weight a to the centre. A `Formula` holds what is known of all of them at once:

* the stationary distribution v, one expression for each class of agents that play the same part;
* all N eigenvalues, with multiplicities; the subdominant modulus and the largest real part;
* the deviation matrix Z = Σ_{k≥0} (W^k − 1vᵀ), one expression for each kind of pair of agents
  (the sum from k = 1 on is Z − I + 1vᵀ);
* the deviation D_i = Σ_{k≥1} Σ_j |[W^k]_ij − v_j| where it has a closed form;
* the learning rate K(θ*, θ) = Σ_j v_j I_j(θ*, θ), in nats a round, with the sum of I_j over each
  class as one symbol; and the error exponent where all log-likelihood ratios are normal with
  variance 2 I_j: E = K² / (4 Σ_j v_j² I_j).

The expressions are exact statements for every value of the parameters in their domains; the proofs
are in docs: mathematics/formulas. `theory.symbolic.checks` compares them with exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import flint
import sympy

from theory.numbers import as_fmpq
from theory.rational.network import RationalNetwork
from theory.showing import Shown
from theory.symbolic.evaluation import Number, Values, evaluate, tidy
from theory.symbolic.parameter import Constraint, Parameter, Value
from theory.validation import fail

# The parts of a closed form ----------------------------------------------------------------------


Matrix = tuple[tuple[Fraction, ...], ...]
"""Exact rows."""


@dataclass(frozen=True)
class AgentClass(Shown):
    """Agents that a symmetry of the family exchanges.

    Attributes
    ----------
    name, size
        What they are, and how many.
    stationary
        v_i of each of them.
    information
        The symbol of the sum of their I_j.
    deviation
        D_i of each of them, in rounds; None if there is no closed form.
    condition
        Where `deviation` holds; true if everywhere.
    """

    name: str
    size: sympy.Expr
    stationary: sympy.Expr
    information: sympy.Symbol
    deviation: sympy.Expr | None = None
    condition: sympy.Basic = sympy.true


@dataclass(frozen=True)
class Index(Shown):
    """A counter of an expression: its symbol, and the first and last of its values."""

    symbol: sympy.Symbol
    first: sympy.Expr
    last: sympy.Expr


@dataclass(frozen=True)
class Eigenvalues(Shown):
    """Eigenvalues of one form: `value` for each value of the `indices`, `multiplicity` times."""

    value: sympy.Expr
    multiplicity: sympy.Expr = sympy.S.One
    indices: tuple[Index, ...] = ()


@dataclass(frozen=True)
class PairFormula(Shown):
    """Z_ij for one kind of pair: its name, the value, and what its `symbols` count."""

    name: str
    value: sympy.Expr
    symbols: tuple[tuple[sympy.Symbol, str], ...] = ()


@dataclass(frozen=True)
class Statement(Shown):
    """Something else that can be said: a name, an expression or relation, and a sentence."""

    name: str
    expression: sympy.Basic
    words: str


@dataclass(frozen=True)
class Pair(Shown):
    """Which `PairFormula` gives an entry of Z, and the values of its symbols."""

    formula: int
    values: Mapping[sympy.Symbol, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Members(Shown):
    """The networks themselves, at parameter values keyed by symbol.

    Attributes
    ----------
    agents
        N, as an expression.
    weights
        W as exact rows; agents are numbered as in `theory.network.topologies`.
    class_of
        For each agent the position of its class.
    pair
        For each pair of agents which expression gives Z_ij.
    """

    agents: sympy.Expr
    weights: Callable[[Values], Matrix]
    class_of: Callable[[Values], list[int]]
    pair: Callable[[Values, int, int], Pair]


@dataclass(frozen=True)
class OneClass:
    """`class_of` of members whose agents are all alike; two of as many are equal."""

    agents: sympy.Expr

    def __call__(self, values: Values) -> list[int]:
        """Class 0 for every agent."""
        return [0] * int(self.agents.subs(values))


@dataclass(frozen=True)
class ClassEach:
    """`class_of` of members no two of whose agents are alike."""

    agents: int

    def __call__(self, values: Values) -> list[int]:
        """A class of its own for every agent."""
        return list(range(self.agents))


# The closed forms of one family of networks ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Formula(Shown):
    """The closed forms of one family; exact (see the module's docstring for each quantity).

    Attributes
    ----------
    name, title
        The family.
    weights_text
        The entries of W that are not zero, by name.
    spectrum
        All N eigenvalues; empty where they are known by `characteristic` only.
    slem
        The largest modulus among all eigenvalues but one 1; None where none is known.
    second_eigenvalue
        The largest real part among all eigenvalues but one 1.
    characteristic
        det(xI − W), in factors, for weights that are given one by one.
    values
        What parameters have been given, by symbol.
    docs
        Where the proof is.
    """

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...]
    assumptions: tuple[str, ...]
    weights_text: tuple[Statement, ...]
    classes: tuple[AgentClass, ...]
    spectrum: tuple[Eigenvalues, ...]
    slem: sympy.Expr | None
    second_eigenvalue: sympy.Expr | None
    deviation_matrix: tuple[PairFormula, ...]
    statements: tuple[Statement, ...]
    members: Members
    docs: str
    characteristic: sympy.Expr | None = None
    values: Mapping[sympy.Symbol, Fraction] = field(default_factory=dict)

    @property
    def rate(self) -> sympy.Expr:
        """K = Σ_j v_j I_j, nats a round, for one pair of hypotheses."""
        return sympy.Add(*(c.stationary * c.information for c in self.classes))

    @property
    def gaussian_exponent(self) -> sympy.Expr:
        """E where z_j is normal with mean I_j and variance 2 I_j, nats a round."""
        spread = sympy.Add(*(c.stationary**2 * c.information for c in self.classes))
        return self.rate**2 / (4 * spread)

    @property
    def is_numeric(self) -> bool:
        """Whether every parameter has a value."""
        return all(p.symbol in self.complete(self.values) for p in self.parameters)

    def substitute(self, **values: Value) -> Formula:
        """The same formulas with some parameters given, by name or letter.

        Raises
        ------
        ValueError
            If a value is not exact or outside its domain, or a parameter is foreign.

        Examples
        --------
        >>> from theory.symbolic import closed_form
        >>> star = closed_form("star").substitute(N=9, a="1/2")
        >>> star.shown(star.classes[0].stationary)
        9/25
        """
        given = dict(self.values)
        for name, value in values.items():
            parameter = self._parameter(name)
            given[parameter.symbol] = parameter.read(value)
        for constraint in self.constraints:
            constraint.check(self.complete(given))
        return replace(self, values=given)

    def shown(self, expression: sympy.Basic) -> Any:
        """The expression as one shows it: given values and defaults put in, tidied."""
        known: dict[sympy.Symbol, Any] = {
            p.symbol: p.default
            for p in self.parameters
            if p.default is not None and p.symbol not in self.values
        }
        given = {s: sympy.Rational(v.numerator, v.denominator) for s, v in self.values.items()}
        return tidy(expression.subs(known).subs(given))

    def latex(self, expression: sympy.Basic) -> str:
        """The expression in LaTeX, given values and defaults put in."""
        return str(sympy.latex(self.shown(expression)))

    def complete(self, values: Values) -> dict[sympy.Symbol, Fraction]:
        """The values by symbol, with defaults computed where their own parameters are given."""
        result = dict(values)
        for parameter in self.parameters:
            default = parameter.default
            if parameter.symbol in result or default is None:
                continue
            if default.free_symbols <= set(result):
                number = evaluate(default, result)
                assert isinstance(number, Fraction)
                result[parameter.symbol] = number
        return result

    def member(self, **values: Value) -> Member:
        """One network of the family, with its formulas' values; parameters by name or letter.

        Raises
        ------
        ValueError
            As for `substitute`; or if a parameter is missing.
        """
        formula = self.substitute(**values)
        complete = formula.complete(formula.values)
        for parameter in self.parameters:
            if parameter.symbol not in complete:
                raise fail(parameter.name, parameter.domain, "none", "give it a value")
        return Member(formula, complete)

    def weights(self, **values: Value) -> Matrix:
        """W of one network of the family, as exact rows; parameters by name or letter.

        Raises
        ------
        ValueError
            As for `member`.
        """
        return self.member(**values).weights

    def _parameter(self, name: str) -> Parameter:
        free = [p for p in self.parameters if not p.fixed]
        for parameter in free:
            if name in (parameter.name, str(parameter.symbol)):
                return parameter
        names = ", ".join(p.name for p in free) or "none"
        raise fail(name, f"a parameter of {self.name!r} ({names})", "another", "leave it out")


@dataclass(frozen=True, eq=False)
class Member(Shown):
    """One network of a family: its exact W, and what the formulas say of it.

    Numbers are fractions, or balls at the present precision where cosines or roots enter.
    """

    formula: Formula
    values: Mapping[sympy.Symbol, Fraction]

    @property
    def agents(self) -> int:
        """N."""
        count = self.number(self.formula.members.agents)
        assert isinstance(count, Fraction)
        return int(count)

    @property
    def weights(self) -> Matrix:
        """W as exact rows."""
        return self.formula.members.weights(self.values)

    def network(self) -> RationalNetwork:
        """The network itself, with exact weights."""
        matrix = flint.fmpq_mat([[as_fmpq(weight) for weight in row] for row in self.weights])
        return RationalNetwork(matrix, name=self.formula.name)

    @property
    def stationary_distribution(self) -> list[Number]:
        """v, one number an agent."""
        per_class = [self.number(c.stationary) for c in self.formula.classes]
        return [per_class[c] for c in self.formula.members.class_of(self.values)]

    @property
    def eigenvalues(self) -> list[Number]:
        """All N eigenvalues, each as often as it occurs."""
        found: list[Number] = []
        for family in self.formula.spectrum:
            for extended in _indexed(family.indices, self.values):
                times = evaluate(family.multiplicity, extended)
                assert isinstance(times, Fraction)
                found += [evaluate(family.value, extended)] * int(times)
        return found

    def deviation_entries(self, pairs: Iterable[tuple[int, int]]) -> list[Number]:
        """Z at some pairs of agents; pairs that are alike are computed once."""
        found: dict[tuple[Any, ...], Number] = {}
        entries = []
        for row, column in pairs:
            pair = self.formula.members.pair(self.values, row, column)
            key = (pair.formula, *sorted((str(s), v) for s, v in pair.values.items()))
            if key not in found:
                extra = {symbol: Fraction(value) for symbol, value in pair.values.items()}
                value = self.formula.deviation_matrix[pair.formula].value
                found[key] = evaluate(value, {**self.values, **extra})
            entries.append(found[key])
        return entries

    @property
    def deviation_matrix(self) -> list[list[Number]]:
        """Z, N by N."""
        everyone = range(self.agents)
        return [self.deviation_entries([(i, j) for j in everyone]) for i in everyone]

    @property
    def deviation(self) -> list[Number | None]:
        """D_i for each agent; None where the family has no closed form at these values."""
        exact = {s: sympy.Rational(v.numerator, v.denominator) for s, v in self.values.items()}
        per_class = [
            self.number(c.deviation)
            if c.deviation is not None and c.condition.subs(exact) == sympy.true
            else None
            for c in self.formula.classes
        ]
        return [per_class[c] for c in self.formula.members.class_of(self.values)]

    def number(self, expression: sympy.Basic) -> Number:
        """The value of an expression in the parameters."""
        return evaluate(expression, self.values)

    def rate(self, information: list[Fraction]) -> Number:
        """K by the formula, for given I_j, one an agent."""
        return evaluate(self.formula.rate, {**self.values, **self._sums(information)})

    def gaussian_exponent(self, information: list[Fraction]) -> Number:
        """E for normal log-likelihood ratios of means I_j and variances 2 I_j."""
        return evaluate(self.formula.gaussian_exponent, {**self.values, **self._sums(information)})

    def _sums(self, information: list[Fraction]) -> dict[sympy.Symbol, Fraction]:
        sums = {c.information: Fraction(0) for c in self.formula.classes}
        for agent, position in enumerate(self.formula.members.class_of(self.values)):
            sums[self.formula.classes[position].information] += information[agent]
        return sums


def _indexed(indices: tuple[Index, ...], values: Values) -> list[dict[sympy.Symbol, Fraction]]:
    """The values, extended by every combination of the indices' values."""
    found = [dict(values)]
    for index in indices:
        extended = []
        for known in found:
            first, last = evaluate(index.first, known), evaluate(index.last, known)
            assert isinstance(first, Fraction)
            assert isinstance(last, Fraction)
            extended += [
                {**known, index.symbol: Fraction(k)} for k in range(int(first), int(last) + 1)
            ]
        found = extended
    return found

"""The parts of a closed form: classes of agents, eigenvalues, kinds of pairs, statements.

All are plain records of sympy expressions; `theory.symbolic.formula` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import sympy

from theory.showing import Shown
from theory.symbolic.evaluation import Values

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

"""The stationary distributions that a design can choose from.

On a strongly connected graph with self-loops every v > 0 is the stationary distribution of some
W, so that the graph by itself excludes nothing: the choice is the simplex. A floor, v_j ≥ v_min,
keeps agents from being silenced. What else restricts v: a symmetric or doubly stochastic W has the
uniform v; and agents whose rows are given tie the others' influence to theirs, by the linear
constraints of :mod:`theory.design.influences.flow_rows`.

The set is closed. Where v_min = 0 its boundary is approached by networks, not attained; with rows
given, each member is the limit of stationary distributions of irreducible networks
(docs: mathematics/optimal-rate). Budgets on edges do not restrict v as long as a connected choice
of edges is left and no row is given; they are not looked at here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from theory.design.constraints import Constraints, all_needed
from theory.design.graph import DesignGraph
from theory.design.influences.flow_rows import (
    ExactRows,
    LinearRows,
    LinearSolution,
    check_reached,
    flow_rows,
    levelled,
    simplex_rows,
    violation,
)
from theory.numbers import Enclosure, as_fraction
from theory.numbers.rational import Exact
from theory.showing import Value
from theory.validation import FloatArray, as_float_array, as_integer, fail, read_only

# Bounds on linear programs over influences, every rounding accounted for -------------------------


UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class OutwardProduct:
    """Bounds on every entry of a product, rounding included."""

    lower: FloatArray
    upper: FloatArray


def outward_product(left: FloatArray, right: FloatArray) -> OutwardProduct:
    """Left @ right, for `left` of shape (n,) or (m, n) and `right` of shape (n,) or (n, m)."""
    terms = right.shape[0] + 2
    middle = left @ right
    # Twice γ: the sum of sizes is itself rounded, and so are the two ends.
    reach = 2.0 * terms * UNIT * (np.abs(left) @ np.abs(right)) + terms * np.finfo(float).tiny
    reach = reach + UNIT * np.abs(middle)
    return OutwardProduct(
        np.nextafter(middle - reach, -np.inf), np.nextafter(middle + reach, np.inf)
    )


def simplex_bound(floor: Fraction, coefficients: FloatArray) -> float:
    """An upper bound on max c·v over {v ≥ floor, Σ v = 1}: floor Σ c + (1 − N floor) max c."""
    agents = coefficients.size
    total = Fraction(math.fsum(coefficients.tolist()))
    # math.fsum rounds once.
    total += abs(total) * Fraction(1, 2**52)
    exact = floor * total + (1 - agents * floor) * Fraction(float(coefficients.max()))
    return Enclosure.from_rational(exact).upper


def lagrangian_bound(rows: LinearRows, coefficients: FloatArray, multipliers: FloatArray) -> float:
    """An upper bound on max c·v over a set of rows, from any multipliers y.

    y ≥ 0 on inequalities, and c·x ≤ y·above + Σ_k max_{lower_k ≤ x_k ≤ 1} (c − Aᵀy)_k x_k.
    """
    y = np.where(np.isinf(rows.below), np.maximum(multipliers, 0.0), multipliers)
    c = np.zeros(rows.variables)
    c[: rows.agents] = coefficients
    sizes = abs(rows.A).T @ np.abs(y)
    terms = rows.count + 4
    rest = c - rows.weighed(y)
    reach = 2.0 * terms * UNIT * (sizes + np.abs(c)) + terms * np.finfo(float).tiny
    most = rest + reach
    parts = np.where(most > 0, most, most * rows.lower)
    sides = [*(y * rows.above).tolist(), *parts.tolist()]
    # Each product is rounded once, and so is the sum.
    total = math.fsum(sides)
    return math.nextafter(total + 4 * UNIT * math.fsum(map(abs, sides)), math.inf)


# The stationary distributions that a design can choose from --------------------------------------


# A floor of 1/N that was computed as a double differs from 1/N by rounding alone.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Support:
    """max_{v in the set} c·v, in floating point, and a v that attains it.

    Attributes
    ----------
    value
        c · point.
    point
        Shape (N,).
    bound
        An upper bound on the maximum, rounding included.
    """

    value: float
    point: FloatArray
    bound: float


@dataclass(frozen=True, eq=False)
class InfluenceSet(Value):
    """The polytope of stationary distributions of E[W] that can be had.

    Parameters
    ----------
    agents
        N.
    minimum_influence
        v_min, in [0, 1/N]; 1/(10N) if left out. Fractions and strings are kept exactly.
    constraints
        Limits on W; those that bear on v are `fixed_rows`, `symmetric` and `doubly_stochastic`
        (of E[W]), and with fixed rows `minimum_self_weight` and `availability` too.
    graph
        The graph; needed if rows are fixed.

    Raises
    ------
    ValueError
        If v_min is negative or above 1/N, rows are fixed without a graph or so that agents do not
        all reach each other, or the constraints contradict each other; the message names which.

    Examples
    --------
    >>> InfluenceSet(4).maximise([3.0, 1.0, 1.0, 1.0]).point.tolist()
    [0.925, 0.025, 0.025, 0.025]

    Agent 1 listens to agent 0 half of the time and cannot be changed: v_1 / 2 flows back, so that
    agent 0 has a third of all influence at least.

    >>> pair = DesignGraph.from_edges([[0, 1]], agents=2)
    >>> tied = InfluenceSet(2, constraints=Constraints(fixed_rows={1: [0.5, 0.5]}), graph=pair)
    >>> tied.maximise([0.0, 1.0]).point.round(9).tolist()
    [0.333333333, 0.666666667]
    """

    agents: int
    minimum_influence: Exact | float | str | None = None
    constraints: Constraints = field(default_factory=Constraints)
    graph: DesignGraph | None = None
    floor: Fraction = field(init=False)

    def __post_init__(self) -> None:
        agents = as_integer("agents", self.agents, minimum=1)
        given = self.minimum_influence
        floor = Fraction(1, 10 * agents) if given is None else as_fraction(given)
        if abs(agents * floor - 1) <= _ROUNDING:
            floor = Fraction(1, agents)
        if not 0 <= floor <= Fraction(1, agents):
            raise fail(
                "minimum_influence",
                f"a number from 0 to 1/N = {1 / agents:.6g}, as {agents} influences sum to one",
                f"{float(floor):g}",
                "choose a smaller one",
            )
        object.__setattr__(self, "agents", agents)
        object.__setattr__(self, "minimum_influence", floor)
        if self.graph is not None:
            self._check_graph(self.graph)
        elif self.constraints.fixed_rows:
            raise fail("graph", "the graph of the fixed rows", None, "give the graph as well")
        if self.constraints.forces_uniform:
            floor = Fraction(1, agents)
        object.__setattr__(self, "floor", floor)
        if self.constraints.fixed_rows:
            self._check_feasible()

    @property
    def is_simple(self) -> bool:
        """Whether the set is {v : Σ v = 1, v ≥ `floor`}; a single point if `floor` is 1/N."""
        return not self.constraints.fixed_rows or self.constraints.forces_uniform

    @property
    def is_point(self) -> bool:
        """Whether uniform influence is forced, by `constraints` or by v_min = 1/N."""
        return self.floor == Fraction(1, self.agents)

    @property
    def lowest(self) -> float:
        """`floor` as a double: no v_j is below it."""
        return float(self.floor)

    @property
    def spare(self) -> float:
        """1 − N · floor: the influence that is free to be moved."""
        return float(1 - self.agents * self.floor)

    @cached_property
    def exact_rows(self) -> ExactRows:
        """The linear constraints in fractions (doubles are read as the fractions they are)."""
        if self.is_simple or self.graph is None:
            return simplex_rows([self.floor] * self.agents)
        return flow_rows(self.graph, self.constraints, self.floor)

    @cached_property
    def rows(self) -> LinearRows:
        """The linear constraints in doubles, v first and then the flows on free agents' links."""
        return self.exact_rows.as_floats()

    def maximise(self, coefficients: ArrayLike) -> Support:
        """The support function, max c·v, for c of shape (N,); ties are shared evenly if simple.

        Closed form if the set is simple, v_min Σ c + (1 − N v_min) max c; by HiGHS otherwise.

        Raises
        ------
        ValueError
            If there is not one coefficient per agent.
        """
        c = self._per_agent("coefficients", coefficients)
        if self.is_simple:
            best = c == c.max()
            point = np.full(self.agents, self.lowest)
            point[best] += self.spare / np.count_nonzero(best)
            bound = simplex_bound(self.floor, c)
        else:
            found = self._solve(c)
            point = found.x[: self.agents]
            bound = lagrangian_bound(self.rows, c, found.multipliers)
        return Support(float(c @ point), read_only(point), bound)

    def contains(self, influence: ArrayLike, *, tolerance: float) -> bool:
        """Whether v, shape (N,), meets every constraint but for `tolerance` in each.

        Raises
        ------
        ValueError
            If there is not one influence per agent.
        """
        v = self._per_agent("influence", influence)
        if abs(float(v.sum()) - 1) > tolerance or float(v.min()) < self.lowest - tolerance:
            return False
        return self.is_simple or violation(self.rows, v) <= tolerance

    @cached_property
    def centre(self) -> FloatArray:
        """A v far from the boundary, shape (N,): uniform if simple, else of largest least entry."""
        if self.is_simple:
            return read_only(np.full(self.agents, 1 / self.agents))
        return read_only(self._evenest())

    def _per_agent(self, argument: str, values: ArrayLike) -> FloatArray:
        numbers = as_float_array(argument, values, ndim=1)
        if numbers.size != self.agents:
            raise fail(
                argument, f"one number for each of {self.agents} agents", numbers.size, "match them"
            )
        return numbers

    def _solve(self, c: FloatArray) -> LinearSolution:
        rows = self.rows
        scale = max(float(np.abs(c).max()), np.finfo(float).tiny)  # tolerances are absolute
        objective = np.zeros(rows.variables)
        objective[: self.agents] = c / scale
        found = rows.program(objective).solve()
        assert found is not None  # the constructor has seen to it
        return replace(found, multipliers=scale * found.multipliers)

    def _evenest(self) -> FloatArray:
        """The v of the largest least entry, whatever v_min."""
        rows = self.rows
        # Without a floor the set is never empty: equal weights on all free links are in it.
        found = levelled(replace(rows, lower=np.zeros(rows.variables)))
        assert found is not None
        return found

    def _check_graph(self, graph: DesignGraph) -> None:
        if graph.agents != self.agents:
            raise fail(
                "graph", f"a graph of {self.agents} agents", graph.agents, "use the same number"
            )
        self.constraints.check(graph)
        check_reached(graph, self.constraints.fixed_on(graph) != 0)

    def _check_feasible(self) -> None:
        if self.constraints.forces_uniform:
            self._check_uniform()
            return
        if (largest := float(self._evenest().min())) < self.lowest - _ROUNDING:
            raise fail(
                "minimum_influence",
                f"at most {largest:.6g}, the most that all agents can have at once beside "
                f"fixed_rows of {_named(self._clashing_rows())}",
                f"{self.lowest:.6g}",
                "lower it, or free one of these rows",
            )

    def _clashing_rows(self) -> list[int]:
        """Fixed rows that exclude v_min together, though not any fewer of them."""

        def clash(agents: list[int]) -> bool:
            rows = {i: self.constraints.fixed_rows[i] for i in agents}
            fewer = replace(self.constraints, fixed_rows=rows)
            trial = InfluenceSet(self.agents, 0, fewer, self.graph)
            return not trial.is_simple and trial._evenest().min() < self.lowest - _ROUNDING

        return sorted(all_needed(self.constraints.fixed_rows, clash))

    def _check_uniform(self) -> None:
        """Whether E[W] can be doubly stochastic, or symmetric, beside the fixed rows."""
        assert self.graph is not None
        name = "symmetric" if self.constraints.symmetric else "doubly_stochastic"
        mutual = self.constraints.symmetric
        rows = flow_rows(self.graph, self.constraints, self.floor, mutual=mutual).as_floats()
        if rows.program(np.zeros(rows.variables)).solve() is None:
            raise fail(
                "fixed_rows",
                f"rows that a {name.replace('_', ' ')} W can have",
                f"fixed_rows of {_named(sorted(self.constraints.fixed_rows))}, "
                f"minimum_self_weight {self.constraints.minimum_self_weight:g} and {name}=True, "
                "which contradict each other",
                f"free a row, or leave {name} out",
            )


def _named(agents: list[int]) -> str:
    return f"agent{'s' if len(agents) > 1 else ''} {', '.join(map(str, agents))}"

"""A flow beside rows that are fixed, by a linear program.

An agent i that nobody controls sets its flows F_ij = v_i W_ij p_ij, with p_ij the availability.
The others have to make up the rest:

    maximise t  subject to  F_l ≥ t r_l on every free link l,   flow in = flow out of every agent,
                            Σ_j F_ij/p_ij + t v_i/(d_i + 1) ≤ (1 − s) v_i for every free agent i,

with r_l about what Metropolis and Hastings would give. Where t > 0 all free links carry weight and
all free agents keep some. On undirected graphs F_ij = F_ji is tried first, then balance alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from scipy.optimize import linprog

from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph
from theory.design.realisation.circulation import in_units, repair, surpluses
from theory.design.search import DesignFailed
from theory.network.structure import name_groups
from theory.scientific import csgraph, sparse
from theory.validation import FloatArray, IntArray, fail

# A flow beside rows that are fixed, by a linear program ------------------------------------------


BoolArray = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

# HiGHS meets a constraint to 1e-7 in the units that the rows are written in: a smaller share of a
# link may be none.
_LEAST_SHARE = 1e-6
# Two fixed rows whose flows along an edge differ by less give a mutual flow, up to their rounding.
_AGREEMENT = 1e-13


@dataclass(frozen=True, eq=False)
class FlowProblem:
    """What is fixed and what is free; arrays over links have shape (L,).

    Attributes
    ----------
    graph, v
        As in `theory.design.realisation.weights.realise`.
    is_fixed
        Whether the listener's row is fixed.
    weight
        W on those links, 0 on the others.
    availability
        p.
    own
        s, the least weight that free agents keep.
    mutual
        Whether F_ij = F_ji on all links: True, False, or None where it is welcome.
    """

    graph: DesignGraph
    v: FloatArray
    is_fixed: BoolArray
    weight: FloatArray
    availability: FloatArray
    own: float
    mutual: bool | None

    @classmethod
    def of(cls, graph: DesignGraph, v: FloatArray, limits: Constraints) -> FlowProblem:
        """The problem that constraints pose."""
        weight = np.zeros(len(graph.links))
        is_fixed = np.zeros(len(graph.links), dtype=np.bool_)
        for agent, row in limits.fixed_rows.items():
            mine = np.flatnonzero(graph.links[:, 0] == agent)
            is_fixed[mine] = True
            weight[mine] = row[graph.links[mine, 1]]
        up = limits.availability_on(graph)
        constant = bool(np.all(up == up[:1]))
        demanded = limits.symmetric or (limits.doubly_stochastic and not constant)
        mutual = True if demanded else None if graph.is_undirected else False
        return cls(graph, v, is_fixed, weight, up, limits.minimum_self_weight, mutual)

    @cached_property
    def given(self) -> FloatArray:
        """F on the fixed links, 0 on the others."""
        return np.asarray(
            self.v[self.graph.links[:, 0]] * self.weight * self.availability, dtype=np.float64
        )

    @cached_property
    def idle(self) -> BoolArray:
        """Free links along which a mutual flow is 0, since a fixed row does not listen back."""
        if self.mutual is False:
            return np.zeros(len(self.graph.links), dtype=np.bool_)
        back = self.graph.reverse
        return np.asarray(~self.is_fixed & self.is_fixed[back] & (self.given[back] == 0))


def feasible_flow(problem: FlowProblem) -> FloatArray | None:
    """F on all links, balanced to about 1e-7 of each agent's flow, or None if there is none.

    Mutual exactly, if it can be and all free links carry weight then.

    Raises
    ------
    DesignFailed
        If the solver gives up.
    """
    if problem.mutual is None:
        found = None if problem.idle.any() else feasible_flow(replace(problem, mutual=True))
        return feasible_flow(replace(problem, mutual=False)) if found is None else found
    program = _Program(problem)
    if problem.mutual and not program.fixed_rows_are_mutual:
        return None
    answer = linprog(  # type: ignore[call-overload]
        np.append(np.zeros(program.size), -1.0),
        A_ub=sparse.vstack([program.rooms, program.shares], format="csr"),
        b_ub=np.concatenate([program.rooms_right, np.zeros(program.size)]),
        A_eq=sparse.vstack([program.balance, program.mutual], format="csr"),
        b_eq=np.concatenate([program.balance_right, program.mutual_right]),
        bounds=np.column_stack([np.zeros(program.size + 1), program.most]),
        method="highs",
    )
    infeasible = answer.status == 2
    if infeasible or (answer.status == 0 and answer.x[-1] < _LEAST_SHARE):
        return None
    if answer.status != 0:
        raise DesignFailed(
            str(answer.message).split(".")[0],
            tried=("HiGHS",),
            best=None,
            remedy="fix fewer rows, or ask for influences that are closer to each other",
        )
    return program.flow(answer.x[:-1])


class _Program:
    """The rows of the program, in variables y_l = F_l / r_l for free links, and t last.

    Each row is written in the unit of its agent: v_i, or the flow out where the row is fixed.
    """

    def __init__(self, problem: FlowProblem) -> None:
        self.problem = problem
        graph = problem.graph
        self.listener, self.speaker = graph.links.T
        usable = ~problem.is_fixed & ~(problem.idle & bool(problem.mutual))
        self.column: IntArray = np.flatnonzero(usable)
        self.size = len(self.column)
        self.out = self._per_agent(self.listener, problem.given)
        self.settled = self._per_agent(self.listener, problem.is_fixed.astype(float)) > 0
        # A link to a fixed row shares what that row gives out among all that lead there.
        self.unit = np.where(self.settled & (self.out > 0), self.out, problem.v)
        links_in = self._per_agent(self.speaker, np.ones(len(self.speaker)))
        share = self.unit / np.where(self.settled, links_in + 1.0, graph.degrees + 1.0)
        reference = problem.availability * np.minimum(share[self.listener], share[self.speaker])
        if problem.mutual:
            reference = np.minimum(reference, reference[graph.reverse])
        self.reference: FloatArray = reference

    @property
    def balance(self) -> sparse.csr_array[np.float64]:
        """Flow in − flow out of each agent on free links, shape (N, columns)."""
        scale, here = self.reference[self.column], np.arange(self.size)
        speaker, listener = self.speaker[self.column], self.listener[self.column]
        entries = np.concatenate([scale / self.unit[speaker], -scale / self.unit[listener]])
        where = (np.concatenate([speaker, listener]), np.concatenate([here, here]))
        return sparse.csr_array((entries, where), shape=(self.problem.graph.agents, self.size + 1))

    @property
    def balance_right(self) -> FloatArray:
        """Flow out − flow in on fixed links, shape (N,)."""
        given = self._per_agent(self.speaker, self.problem.given)
        return np.asarray((self.out - given) / self.unit, dtype=np.float64)

    @property
    def mutual(self) -> sparse.csr_array[np.float64]:
        """F_ij − F_ji on each edge with a free link, shape (edges, columns)."""
        pairs = self._pairs
        back = self.problem.graph.reverse[pairs]
        variable = np.full(len(self.reference), -1, dtype=np.int64)
        variable[self.column] = np.arange(self.size)
        shape = (len(pairs), self.size + 1)
        total = sparse.csr_array(shape)
        for links, sign in ((pairs, 1.0), (back, -1.0)):
            used = np.flatnonzero(variable[links] >= 0)
            entries = sign * self.reference[links[used]] / self._top[used]
            total = total + sparse.csr_array((entries, (used, variable[links[used]])), shape=shape)
        return total

    @property
    def mutual_right(self) -> FloatArray:
        """F_ji − F_ij on fixed links, shape (edges,)."""
        given, back = self.problem.given, self.problem.graph.reverse[self._pairs]
        return np.asarray((given[back] - given[self._pairs]) / self._top, dtype=np.float64)

    @property
    def rooms(self) -> sparse.csr_array[np.float64]:
        """What free agents give others, and t times what they keep, over v; shape (n, columns)."""
        agents, here = self.problem.graph.agents, np.arange(self.size)
        listener = self.listener[self.column]
        cost = self.problem.availability[self.column] * self.problem.v[listener]
        kept = 1.0 / (self.problem.graph.degrees + 1.0)
        entries = np.concatenate([self.reference[self.column] / cost, kept])
        where = (
            np.concatenate([listener, np.arange(agents)]),
            np.concatenate([here, np.full(agents, self.size)]),
        )
        table = sparse.csr_array((entries, where), shape=(agents, self.size + 1))
        return sparse.csr_array(table[np.flatnonzero(~self.settled)])

    @property
    def rooms_right(self) -> FloatArray:
        """1 − s for each free agent."""
        return np.full(int((~self.settled).sum()), 1.0 - self.problem.own)

    @property
    def shares(self) -> sparse.csr_array[np.float64]:
        """The share t less y_l, shape (columns − 1, columns)."""
        here, last = np.arange(self.size), np.full(self.size, self.size)
        entries = np.repeat([-1.0, 1.0], self.size)
        where = (np.concatenate([here, here]), np.concatenate([here, last]))
        return sparse.csr_array((entries, where), shape=(self.size, self.size + 1))

    @property
    def most(self) -> FloatArray:
        """The bounds of the variables from above: t ≤ 1, and shape (columns,)."""
        return np.append(np.full(self.size, np.inf), 1.0)

    @property
    def fixed_rows_are_mutual(self) -> bool:
        """Whether fixed rows that listen to each other give the same flow both ways."""
        given, back = self.problem.given, self.problem.graph.reverse
        both = self.problem.is_fixed & self.problem.is_fixed[back]
        apart = np.abs(given - given[back])
        return bool(np.all(apart[both] <= _AGREEMENT * np.maximum(given, given[back])[both]))

    def flow(self, values: FloatArray) -> FloatArray:
        """F on all links; mutual exactly if it was asked for, but between two fixed rows."""
        problem = self.problem
        flow = problem.given.copy()
        flow[self.column] = values * self.reference[self.column]
        if not problem.mutual:
            return flow
        back = problem.graph.reverse
        mean = np.where(problem.is_fixed[back], problem.given[back], (flow + flow[back]) / 2)
        return np.asarray(np.where(problem.is_fixed, problem.given, mean), dtype=np.float64)

    @cached_property
    def _pairs(self) -> IntArray:
        """The forward links of the edges that a mutual flow has to agree on."""
        if not self.problem.mutual:
            return np.zeros(0, dtype=np.int64)
        usable = np.zeros(len(self.reference), dtype=np.bool_)
        usable[self.column] = True
        one_free = usable | usable[self.problem.graph.reverse]
        return np.flatnonzero((self.listener < self.speaker) & one_free).astype(np.int64)

    @cached_property
    def _top(self) -> FloatArray:
        """The unit of each edge's equation: the largest of its reference and given flows."""
        back = self.problem.graph.reverse[self._pairs]
        given = np.maximum(self.problem.given[self._pairs], self.problem.given[back])
        return np.asarray(np.maximum(self.reference[self._pairs], given), dtype=np.float64)

    def _per_agent(self, where: IntArray, values: FloatArray) -> FloatArray:
        agents = self.problem.graph.agents
        return np.bincount(where, values, minlength=agents).astype(np.float64)


# Rows that are not to be changed -----------------------------------------------------------------


# Digits of the smallest flow, some more than a double has.
_DIGITS = 60
# Agents that only fixed rows join balance as these rows make them, up to the rows' rounding.
_FIXED_AGREEMENT = 1e-14


def weights_beside_fixed_rows(graph: DesignGraph, v: FloatArray, limits: Constraints) -> FloatArray:
    """W on the links, shape (L,), with the fixed rows as they were given.

    Parameters
    ----------
    v
        Shape (N,), positive: the stationary distribution of the network with availability, met to
        the rounding of the weights.

    Raises
    ------
    ValueError
        If no flow that uses every free link has v, naming constraints that clash with it, or the
        fixed rows leave the network in parts.
    DesignFailed
        If the solver gives up.
    """
    problem = FlowProblem.of(graph, v, limits)
    flow = feasible_flow(problem)
    if flow is None:
        raise _clash(graph, v, limits)
    _check_connected(graph, flow)
    flow_is_mutual = graph.is_undirected and np.array_equal(flow, flow[graph.reverse])
    if not flow_is_mutual:
        flow = _repaired(problem, flow)
    weight = flow / (v[graph.links[:, 0]] * problem.availability)
    if problem.mutual and limits.forces_uniform:
        # The very doubles of the fixed rows, not their products and quotients with v and p.
        answers = problem.is_fixed[graph.reverse]
        weight = np.where(answers, problem.weight[graph.reverse], weight)
    return np.where(problem.is_fixed, problem.weight, weight)


def _repaired(problem: FlowProblem, flow: FloatArray) -> FloatArray:
    """The same flow with the balance of every agent exact, before its rounding to doubles."""
    graph = problem.graph
    exponent = int(np.frexp(flow[flow > 0].min())[1]) - _DIGITS
    strength = np.where(problem.is_fixed, 0.0, flow)
    whole = repair(graph, in_units(flow, exponent), strength=strength)
    unit = Fraction(2) ** exponent
    exact = [units * unit for units in whole]
    left = np.array([float(units * unit) for units in surpluses(graph, whole)])
    worst = int(np.argmax(np.abs(left) / problem.v))
    if abs(left[worst]) > _FIXED_AGREEMENT * problem.v[worst]:
        raise fail(
            "fixed_rows",
            "rows that agree with v, where they alone join parts of the network",
            f"flows that differ by {abs(left[worst]) / problem.v[worst]:.1e} around agent {worst}",
            "free one of the rows between the parts, or give their weights in full precision",
        )
    repaired = np.array([float(x) for x in exact])
    if np.any(repaired[strength > 0] <= 0):
        raise DesignFailed(
            "a flow too far from balance to be repaired",
            tried=("HiGHS",),
            best=None,
            remedy="fix fewer rows, or ask for influences that are closer to each other",
        )
    return repaired


def _check_connected(graph: DesignGraph, flow: FloatArray) -> None:
    used = graph.links[flow > 0]
    pattern = sparse.csr_array(
        (np.ones(len(used)), (used[:, 0], used[:, 1])), shape=(graph.agents, graph.agents)
    )
    parts, labels = csgraph.connected_components(pattern, directed=True, connection="strong")
    if parts > 1:
        raise fail(
            "fixed_rows",
            "rows that leave every agent reached from every other",
            f"{parts} parts: {name_groups(labels.astype(np.int64))}",
            "let a fixed row listen to another part, or free it",
        )


def _clash(graph: DesignGraph, v: FloatArray, limits: Constraints) -> ValueError:
    """The error that names constraints of which each is needed for the clash with v."""
    remaining = limits
    named: list[str] = []
    for name, without in _relaxations(graph, limits):
        relaxed = without(remaining)
        if relaxed.fixed_rows and feasible_flow(FlowProblem.of(graph, v, relaxed)) is None:
            remaining = relaxed
        else:
            named.append(name)
    several = len(named) > 1
    listed = f"{', '.join(named[:-1])} and {named[-1]}" if several else named[0]
    return fail(
        "constraints",
        "constraints under which some flow that uses every free link has the influences v",
        f"a clash of {listed} with v",
        f"drop or change {'one of these' if several else 'it'}, or ask for another v",
    )


def _relaxations(
    graph: DesignGraph, limits: Constraints
) -> list[tuple[str, Callable[[Constraints], Constraints]]]:
    """Constraints by name, and what is left without each, in the order in which to drop them."""
    found: list[tuple[str, Callable[[Constraints], Constraints]]] = []
    if np.any(limits.availability_on(graph) < 1):
        found.append(("availability", lambda c: replace(c, availability=1.0)))
    if limits.symmetric:
        found.append(("symmetric", lambda c: replace(c, symmetric=False)))
    if limits.doubly_stochastic:
        found.append(("doubly_stochastic", lambda c: replace(c, doubly_stochastic=False)))
    if limits.minimum_self_weight > 0:
        found.append(("minimum_self_weight", lambda c: replace(c, minimum_self_weight=0.0)))
    rows = ((f"fixed_rows[{agent}]", partial(_freed, agent=agent)) for agent in limits.fixed_rows)
    return [*found, *rows]


def _freed(limits: Constraints, *, agent: int) -> Constraints:
    rows = {other: row for other, row in limits.fixed_rows.items() if other != agent}
    return replace(limits, fixed_rows=rows)

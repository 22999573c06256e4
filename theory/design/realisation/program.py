"""A flow beside rows that are fixed, by a linear program.

An agent i that nobody controls sets its flows F_ij = v_i W_ij p_ij, with p_ij the availability.
The others have to make up the rest:

    maximise t  subject to  F_l ≥ t r_l on every free link l,   flow in = flow out of every agent,
                            Σ_j F_ij/p_ij + t v_i/(d_i + 1) ≤ (1 − s) v_i for every free agent i,

with r_l about what Metropolis and Hastings would give. Where t > 0 all free links carry weight and
all free agents keep some. On undirected graphs F_ij = F_ji is tried first, then balance alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from theory.design.constraints import Constraints, all_needed
from theory.design.graph import DesignGraph
from theory.design.influences.flow_rows import LinearProgram, check_reached, flow_rows, with_column
from theory.design.realisation.circulation import repaired
from theory.design.search import DesignFailed
from theory.scientific import sparse
from theory.validation import FloatArray, fail

# A flow beside rows that are fixed, by a linear program ------------------------------------------


BoolArray = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

# A smaller share of a link may be none.
_LEAST_SHARE = 1e-6
# Two fixed rows whose flows along an edge differ by less give a mutual flow, up to their rounding.
_AGREEMENT = 1e-13


@dataclass(frozen=True, eq=False)
class FlowProblem:
    """What is fixed and what is free; arrays over links have shape (L,).

    Attributes
    ----------
    graph, v, limits
        As in `theory.design.realisation.weights.realise`.
    mutual
        Whether F_ij = F_ji on all links: True, False, or None where it is welcome.
    """

    graph: DesignGraph
    v: FloatArray
    limits: Constraints
    mutual: bool | None

    @classmethod
    def of(cls, graph: DesignGraph, v: FloatArray, limits: Constraints) -> FlowProblem:
        """The problem that constraints pose."""
        up = limits.availability_on(graph)
        constant = bool(np.all(up == up[:1]))
        demanded = limits.symmetric or (limits.doubly_stochastic and not constant)
        return cls(graph, v, limits, True if demanded else None if graph.is_undirected else False)

    @cached_property
    def availability(self) -> FloatArray:
        """P on each link."""
        return self.limits.availability_on(self.graph)

    @cached_property
    def weight(self) -> FloatArray:
        """W on the links whose listener's row is fixed, nan on the others."""
        return self.limits.fixed_on(self.graph)

    @cached_property
    def is_fixed(self) -> BoolArray:
        """Whether the listener's row is fixed."""
        return np.asarray(~np.isnan(self.weight))

    @cached_property
    def given(self) -> FloatArray:
        """F on the fixed links, 0 on the others."""
        weight = np.nan_to_num(self.weight)
        return np.asarray(self.v[self.graph.links[:, 0]] * weight * self.availability)

    @cached_property
    def idle(self) -> BoolArray:
        """Free links along which a mutual flow is 0, since a fixed row does not listen back."""
        if self.mutual is False:
            return np.zeros(len(self.graph.links), dtype=np.bool_)
        back = self.graph.reverse
        return np.asarray(~self.is_fixed & self.is_fixed[back] & (self.given[back] == 0))

    @property
    def fixed_rows_are_mutual(self) -> bool:
        """Whether fixed rows that listen to each other give the same flow both ways."""
        given, back = self.given, self.graph.reverse
        both = self.is_fixed & self.is_fixed[back]
        apart = np.abs(given - given[back])
        return bool(np.all(apart[both] <= _AGREEMENT * np.maximum(given, given[back])[both]))

    @cached_property
    def reference(self) -> FloatArray:
        """r: about what Metropolis and Hastings would give."""
        listener, speaker = self.graph.links.T
        agents = self.graph.agents
        out = np.bincount(listener, self.given, minlength=agents)
        settled = np.bincount(listener, self.is_fixed, minlength=agents) > 0
        # A link to a fixed row shares what that row gives out among all that lead there.
        unit = np.where(settled & (out > 0), out, self.v)
        links_in = np.bincount(speaker, minlength=agents)
        share = unit / np.where(settled, links_in + 1.0, self.graph.degrees + 1.0)
        flow = self.availability * np.minimum(share[listener], share[speaker])
        return np.asarray(np.minimum(flow, flow[self.graph.reverse]) if self.mutual else flow)

    def flow(self, free: FloatArray) -> FloatArray:
        """F on all links; mutual exactly if it was asked for, but between two fixed rows."""
        if not self.mutual:
            return np.asarray(self.given + free)
        back = self.graph.reverse
        mean = np.where(self.is_fixed[back], self.given[back], (free + free[back]) / 2)
        return np.asarray(np.where(self.is_fixed, self.given, mean))


def feasible_flow(problem: FlowProblem) -> FloatArray | None:
    """F on all links, nearly balanced, or None if there is none.

    Mutual exactly, if it can be and all free links carry weight then.

    Raises
    ------
    DesignFailed
        If the solver gives up.
    """
    if problem.mutual is None:
        found = None if problem.idle.any() else feasible_flow(replace(problem, mutual=True))
        return feasible_flow(replace(problem, mutual=False)) if found is None else found
    if problem.mutual and not problem.fixed_rows_are_mutual:
        return None
    graph, limits, v = problem.graph, problem.limits, problem.v
    agents = graph.agents
    links = np.flatnonzero(~problem.is_fixed)
    used = ~(problem.idle & bool(problem.mutual))[links]
    links, columns = links[used], agents + np.flatnonzero(used)
    scale = problem.reference[links]
    rows = flow_rows(graph, limits, Fraction(0), mutual=bool(problem.mutual)).as_floats()
    # What a free agent keeps is t v_i / (d_i + 1); its rows come in the order of the agents.
    free = np.unique(graph.links[~problem.is_fixed, 0])
    kept = np.zeros(rows.count)
    kept[np.isinf(rows.below)] = v[free] / (graph.degrees[free] + 1.0)
    # All rows but Σ v = 1; in shares of r, and each in units of its largest entry.
    which = np.flatnonzero(rows.above == 0)
    part = rows.A[which][:, columns].multiply(scale[None, :])
    table = sparse.csr_array(sparse.hstack([part, sparse.csr_array(kept[which, None])]))
    right = -(rows.A[which][:, :agents] @ v)
    size = np.maximum(abs(table).max(axis=1).toarray().ravel(), np.abs(right))
    size[size == 0] = 1.0
    right = right / size
    program = LinearProgram(np.append(np.zeros(len(links)), 1.0), np.zeros(len(links) + 1))
    lower = np.where(np.isinf(rows.below[which]), -np.inf, right)
    program.add(sparse.csr_array(table.multiply(1 / size[:, None])), lower, right)
    program.add(with_column(sparse.eye_array(len(links)), -1.0), 0.0, np.inf)
    program.add(np.append(np.zeros(len(links)), 1.0)[None, :], -np.inf, 1.0)
    answer = program.solve()
    if answer is None or answer.x[-1] < _LEAST_SHARE:
        return None
    flow = np.zeros(len(graph.links))
    flow[links] = answer.x[:-1] * scale
    return problem.flow(flow)


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
    check_reached(graph, flow > 0)
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
    strength = np.where(problem.is_fixed, 0.0, flow)
    exact, surplus = repaired(graph, flow, digits=_DIGITS, strength=strength)
    left = np.array([float(x) for x in surplus])
    worst = int(np.argmax(np.abs(left) / problem.v))
    if abs(left[worst]) > _FIXED_AGREEMENT * problem.v[worst]:
        raise fail(
            "fixed_rows",
            "rows that agree with v, where they alone join parts of the network",
            f"flows that differ by {abs(left[worst]) / problem.v[worst]:.1e} around agent {worst}",
            "free one of the rows between the parts, or give their weights in full precision",
        )
    found = np.array([float(x) for x in exact])
    if np.any(found[strength > 0] <= 0):
        raise DesignFailed(
            "a flow too far from balance to be repaired",
            tried=("HiGHS",),
            best=None,
            remedy="fix fewer rows, or ask for influences that are closer to each other",
        )
    return found


def _clash(graph: DesignGraph, v: FloatArray, limits: Constraints) -> ValueError:
    """The error that names constraints of which each is needed for the clash with v."""
    without = _relaxations(graph, limits)

    def clash(kept: list[str]) -> bool:
        relaxed = limits
        for name in without.keys() - kept:
            relaxed = without[name](relaxed)
        rows = relaxed.fixed_rows
        return bool(rows) and feasible_flow(FlowProblem.of(graph, v, relaxed)) is None

    named = all_needed(without, clash)
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
) -> Mapping[str, Callable[[Constraints], Constraints]]:
    """What is left without each of the constraints, in the order in which to drop them."""
    binds = {
        "availability": bool(np.any(limits.availability_on(graph) < 1)),
        "symmetric": limits.symmetric,
        "doubly_stochastic": limits.doubly_stochastic,
        "minimum_self_weight": limits.minimum_self_weight > 0,
    }
    none = Constraints()
    found = {
        name: partial(replace, **{name: getattr(none, name)})
        for name, does in binds.items()
        if does
    }
    rows = {f"fixed_rows[{agent}]": partial(_freed, agent=agent) for agent in limits.fixed_rows}
    return found | rows


def _freed(limits: Constraints, *, agent: int) -> Constraints:
    rows = {other: row for other, row in limits.fixed_rows.items() if other != agent}
    return replace(limits, fixed_rows=rows)

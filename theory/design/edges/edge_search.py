"""A search for edges to keep: from a relaxation, by swaps, and with integer programs.

Three sources of sets. The relaxation with 0 ≤ x ≤ 1 says how much each edge is wanted, and a
spanning tree of wanted edges is filled up by the wish. The stress |h_i − h_j|² − |k_i − k_j|² of
the best set so far says which edge outside would help, its flows which one inside is missed least:
such pairs are swapped while that helps. And each integer program over all cuts found so far
proposes a set, or proves that none is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import LinearConstraint, milp

from theory.design.constraints import Constraints
from theory.design.edges.edge_limits import (
    EdgeLimits,
    EdgeMaster,
    Mask,
    descended,
    surrogate_slem,
    without_budgets,
)
from theory.design.graph import DesignGraph
from theory.design.mixing.fastest import FastestMixing, edge_stress, fastest_mixing
from theory.design.mixing.mixing_problem import MixingProblem
from theory.design.search import (
    Certificate,
    DesignFailed,
    Search,
    is_spent,
    seconds_left,
    why_stopped,
)
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, read_only

# Sets of edges, each with the fastest W on it, computed once -------------------------------------


# How exactly W is computed while sets are compared, and in the end.
_SEARCH_TOLERANCE = 1e-5
_FINAL_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class ChosenEdges(Shown):
    """The edges kept, the fastest W on them, and how far from the best choice they are.

    Attributes
    ----------
    rows
        Shape (m,): rows of `edges` of the graph that was given, sorted.
    graph
        The graph of the kept edges; v reaches every stationary distribution on it as well.
    mixing
        The fastest reversible W there. It may leave some kept edges without weight.
    certificate
        Its slem beside a lower bound for every allowed set of edges.
    method
        "exhaustive", "search" or, where no edge had to go, "all".
    evaluated
        Sets of edges for which the fastest W was computed.

    The certificate's note says what the bound rests on.
    """

    rows: IntArray
    graph: DesignGraph
    mixing: FastestMixing
    certificate: Certificate
    method: str
    evaluated: int


class EdgeSets:
    """Sets of edges with the fastest W on each, computed once; every one gives a cut."""

    def __init__(
        self, problem: MixingProblem, limits: EdgeLimits, constraints: Constraints
    ) -> None:
        self.problem = problem
        self.limits = limits
        self.constraints = constraints
        self.master = EdgeMaster(problem, limits)
        self._known: dict[bytes, FastestMixing] = {}

    @property
    def evaluated(self) -> int:
        """How many sets there are."""
        return len(self._known)

    def knows(self, chosen: Mask) -> bool:
        """Whether a set is one of them."""
        return chosen.tobytes() in self._known

    def mixing(self, chosen: Mask) -> FastestMixing:
        """The fastest W on a connected set of edges, to the accuracy of the search."""
        key = chosen.tobytes()
        if key not in self._known:
            self._known[key] = self._solved(chosen, _SEARCH_TOLERANCE)
            self.master.add_bound(self._known[key].bound)
        return self._known[key]

    def flows(self, chosen: Mask) -> FloatArray:
        """The fastest W's flows on all edges, shape (E,), in units of the smaller influence."""
        flows = np.zeros(len(chosen))
        flows[chosen] = self.mixing(chosen).flows
        return flows / self.problem.unit

    def stress(self, chosen: Mask) -> FloatArray:
        """How much each edge pulls the fastest W's worst places together, shape (E,)."""
        bound = self.mixing(chosen).bound
        return edge_stress(self.problem, bound.slow, bound.alternating) * self.problem.unit

    def result(self, chosen: Mask, bound: float, method: str, note: str) -> ChosenEdges:
        """The set with its fastest W to full accuracy."""
        mixing = self._solved(chosen, _FINAL_TOLERANCE)
        value = mixing.certificate.value
        # The set's own bound and that of all sets come from different programs.
        bound = max(min(bound, mixing.certificate.bound, value), 0.0)
        stopped = why_stopped(proved=value - bound <= _TOLERANCE)
        return ChosenEdges(
            rows=read_only(np.flatnonzero(chosen).astype(np.int64)),
            graph=self.problem.graph.restricted_to(np.flatnonzero(chosen)),
            mixing=mixing,
            certificate=Certificate(value, bound, "minimise", "rounded", note, stopped),
            method=method,
            evaluated=self.evaluated,
        )

    def _solved(self, chosen: Mask, tolerance: float) -> FastestMixing:
        graph = self.problem.graph.restricted_to(np.flatnonzero(chosen))
        constraints = without_budgets(self.constraints, graph)
        try:
            return fastest_mixing(
                graph, self.problem.v, constraints=constraints, tolerance=tolerance
            )
        except DesignFailed as failure:
            # Its bound holds all the same, and its W is feasible.
            if isinstance(failure.best, FastestMixing):
                return failure.best
            raise


# A lower bound on the slem from how many edges there are, whichever they are ---------------------


# Steps of Frank and Wolfe's method: each halves the distance to the best μ or so at first.
_STEPS = 60
# Of linear programs, whose rows are met to 1e-7.
_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class FrobeniusBound:
    """The bound, and the numbers that prove it.

    Attributes
    ----------
    value
        No allowed set of edges has a smaller slem; 0 where nothing follows.
    multipliers
        μ, shape (N,), at least 0.
    heaviest
        No allowed set has a larger Σ w_e.
    """

    value: float
    multipliers: FloatArray
    heaviest: float


def frobenius_bound(limits: EdgeLimits, v: FloatArray) -> FrobeniusBound:
    """The best of the bounds along a minimisation of tr W² over parts of edges."""
    edges = limits.graph.edges
    i, j = edges.T
    agents = len(v)
    finite = np.isfinite(limits.most)
    matrix, most = limits.budgets[np.flatnonzero(finite)], limits.most[finite]
    best = FrobeniusBound(0.0, read_only(np.zeros(agents)), 0.0)
    # The same part of every edge, as much as budgets allow: for symmetric graphs the optimum.
    used = np.asarray(matrix @ limits.bounds.ub)
    part_of_all = float(np.min(most / np.maximum(used, 1e-300), initial=1.0))
    share = part_of_all * limits.bounds.ub
    for step in range(_STEPS):
        Q = np.diag(v * v)
        part = share * v[i] * v[j] / 2
        np.add.at(Q, (i, j), part)
        np.add.at(Q, (j, i), part)
        Q[np.arange(agents), np.arange(agents)] += np.bincount(
            edges.ravel(), np.repeat(part, 2), minlength=agents
        )
        mu = np.maximum(np.linalg.solve(Q, v), 0.0)
        weight = (mu[i] + mu[j]) ** 2 * v[i] * v[j] / 2
        # Without whole numbers: a linear program.
        found = milp(
            -weight / max(float(weight.max()), 1e-300),
            constraints=LinearConstraint(matrix, np.full(len(most), -np.inf), most),
            bounds=limits.bounds,
        )
        if found.x is None:
            break
        heaviest = float(weight @ found.x) + _SLACK * float(weight.max())
        trace = float(2 * mu @ v - (mu * mu) @ (v * v)) - heaviest
        value = float(np.sqrt(max(trace - 1.0, 0.0) / max(agents - 1, 1)))
        if value > best.value:
            best = FrobeniusBound(value, read_only(mu), heaviest)
        share = share + 2.0 / (step + 3) * (found.x - share)
    return best


# A search for edges to keep ----------------------------------------------------------------------


# A gap that is no use closing.
_TOLERANCE = 1e-4
# Sets tried by swaps, integer programs and their nodes, at effort 1.
_SETS = 80
_PROGRAMS = 8
_NODES = 200
_RELAXATIONS = 40
# Beyond so many edges integer programs take minutes, relaxations many seconds.
_MOST_WHOLE = 30
_MOST_RELAXED = 1000
# Pairs of edges to swap that are worth trying, by what prices promise.
_SWAPS = 10
# How far random wishes may outweigh the edges of the best set, in turn: a little, and entirely.
_LUCK = (1.3, 2.0, 100.0)
# Random sets that may all be known before this attempt is given up.
_DRAWS = 10
# Quick descents, the best of which is looked at.
_DESCENTS = 8
# A set is worth improving if its gap is not smaller than that of the best by more than this part.
_PROMISING = 0.05


class EdgeSearch:
    """The best set found so far, and the best bound."""

    def __init__(self, sets: EdgeSets, seed: int, effort: float) -> None:
        self.sets = sets
        self.generator = np.random.default_rng(seed)
        self.effort = effort
        self.search = Search[Mask]("minimise", worth=_TOLERANCE * 1e-2, close=_TOLERANCE)
        whole = sets.mixing(~sets.limits.forbidden)
        # What all edges together do not achieve, no set of them does.
        bound = whole.certificate.bound
        self.search.raise_bound(bound, "bound: the fastest mixing on all edges")
        few = frobenius_bound(sets.limits, sets.problem.v)
        self.search.raise_bound(few.value, "bound: so few edges make tr W² large")

    def run(self, *, whole: bool) -> ChosenEdges:
        """Search, then bound; `whole` is whether to solve integer programs."""
        limits = self.sets.limits
        edges = len(limits.costs)
        everything = ~limits.forbidden
        flows = self.sets.flows(everything)
        share = self._relax() if edges <= _MOST_RELAXED else None
        self._try(self.search, limits.start(flows))
        if share is not None:
            # Where the relaxation does not care, flows of the whole graph decide.
            self._try(self.search, limits.start(share + 1e-3 * flows))
        thinned = self._thinned(everything)
        if thinned is not None:
            self._try(self.search, thinned)
        budget = self.sets.evaluated + int(_SETS * self.effort)
        self._swap(budget)
        if whole and edges <= _MOST_WHOLE:
            self._programs(int(np.ceil(_PROGRAMS * self.effort)))
            if not self.search.is_proved:
                self._swap(budget)
        best, note = self.search.best, self.search.note
        assert best is not None
        note = f"{note}; stopped by the time budget" if is_spent() else note
        return self.sets.result(best, self.search.bound, "search", note)

    def _try(self, search: Search[Mask], chosen: Mask) -> bool:
        """Whether a set is better than the best so far, which it then becomes."""
        return search.offer(self.sets.mixing(chosen).slem, chosen)

    def _relax(self) -> FloatArray | None:
        """The relaxation's x, with cuts added until eigenvectors violate none; shape (E,)."""
        share = None
        for _ in range(_RELAXATIONS):
            if is_spent():
                break
            found = self.sets.master.solve(whole=False, nodes=0)
            self.search.raise_bound(found.bound, "bound: the relaxation that keeps parts of edges")
            if found.flows is None:
                break
            share = found.share
            if not self.sets.master.add_eigenvectors(found.flows, max(found.bound, 0.0)):
                break
        return share

    def _thinned(self, chosen: Mask) -> Mask | None:
        """Edges left out by rising flow, a quarter of the excess at a time; None if stuck."""
        limits = self.sets.limits
        chosen = chosen.copy()
        while not limits.within_budgets(chosen):
            flows = self.sets.flows(chosen)
            excess = max(4.0, chosen.sum() - limits.most_edges)
            left_out = 0
            for edge in np.argsort(flows, kind="stable"):
                if not chosen[edge] or limits.required[edge]:
                    continue
                if not limits.is_excess(chosen, int(edge)):
                    continue
                chosen[edge] = False
                if limits.parts(chosen).any():
                    chosen[edge] = True
                    continue
                left_out += 1
                if left_out >= excess // 4 or limits.within_budgets(chosen):
                    break
            if not left_out:
                return None
        return limits.filled(chosen, self.sets.flows(~limits.forbidden))

    def _swap(self, budget: int) -> None:
        """Swap edges by prices while that helps; then from other sets, until the budget is spent.

        The other sets are random ones that share edges with the best, after a quick descent.
        """
        limits, v = self.sets.limits, self.sets.problem.v
        self._descend(self.search, budget)
        for attempt in range(budget):
            if self.sets.evaluated >= budget or self.search.is_over:
                return
            luck = _LUCK[attempt % len(_LUCK)]
            starts = []
            for _ in range(_DESCENTS):
                assert self.search.best is not None
                wish = self.search.best + luck * self.generator.random(len(limits.costs))
                start = descended(limits, v, limits.start(wish), self.generator)
                starts.append(limits.filled(start, wish))
            start = starts[int(surrogate_slem(limits, v, np.array(starts)).argmin())]
            for _ in range(_DRAWS):
                if not self.sets.knows(start):
                    break
                # Seen before: one without the descent, from anywhere.
                start = limits.start(self.generator.random(len(limits.costs)))
            else:
                continue
            other = Search[Mask]("minimise", worth=self.search.worth, close=_TOLERANCE)
            other.raise_bound(self.search.bound, self.search.note)
            self._try(other, start)
            if other.value < self.search.value + _PROMISING * (1.0 - self.search.value):
                self._descend(other, budget)
            if other.value < self.search.value:
                self.search.best, self.search.value = other.best, other.value

    def _descend(self, search: Search[Mask], budget: int) -> None:
        """Swap pairs of edges by prices while that helps."""
        while self.sets.evaluated < budget and not search.is_proved:
            assert search.best is not None
            neighbours = self._neighbours(search.best)
            if not any(not is_spent() and self._try(search, chosen) for chosen in neighbours):
                return

    def _neighbours(self, chosen: Mask) -> list[Mask]:
        """Sets that differ in one edge, those first of which prices promise most."""
        limits = self.sets.limits
        flows = self.sets.flows(chosen)
        stress = self.sets.stress(chosen)
        inside = [e for e in np.argsort(np.where(chosen, flows * stress, np.inf)) if chosen[e]]
        outside = [e for e in np.argsort(-stress) if not chosen[e] and not limits.forbidden[e]]
        inside = [e for e in inside if not limits.required[e]]
        found = []
        # Pairs in the order of the sum of their places in the two lists.
        for total in range(len(inside) + len(outside) - 1):
            for first in range(max(0, total - len(outside) + 1), min(total + 1, len(inside))):
                swapped = chosen.copy()
                swapped[inside[first]] = False
                swapped[outside[total - first]] = True
                if limits.allows(swapped):
                    found.append(limits.filled(swapped, stress))
                if len(found) >= _SWAPS:
                    return found
        return found

    def _programs(self, programs: int) -> None:
        """Integer programs over all cuts: each proposes a set, until none can be better."""
        limits, master = self.sets.limits, self.sets.master
        nodes = int(np.ceil(_NODES * self.effort))
        while programs > 0 and not self.search.is_over:
            found = master.solve(whole=True, nodes=nodes, seconds=seconds_left())
            self.search.raise_bound(found.bound, "bound: integer programming over cuts")
            if found.share is None or found.flows is None:
                return
            chosen = found.share > 0.5
            labels = limits.parts(chosen)
            if labels.any():
                master.connect(labels)
                programs -= 1
                continue
            master.add_eigenvectors(found.flows, max(found.bound, 0.0))
            self._try(self.search, limits.filled(chosen, found.share))
            programs -= 1

"""Sets of edges, each with the fastest W on it, computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.certificate import Certificate
from theory.design.constraints import Constraints
from theory.design.edges.edge_limits import EdgeLimits, Mask, without_budgets
from theory.design.edges.edge_master import EdgeMaster
from theory.design.failure import DesignFailed
from theory.design.graph import DesignGraph
from theory.design.mixing import FastestMixing, fastest_mixing
from theory.design.mixing.bound import edge_stress
from theory.design.mixing.mixing_problem import MixingProblem
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, read_only

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
        bound = min(bound, mixing.certificate.bound, value)
        return ChosenEdges(
            rows=read_only(np.flatnonzero(chosen).astype(np.int64)),
            graph=self.problem.graph.restricted_to(np.flatnonzero(chosen)),
            mixing=mixing,
            certificate=Certificate(value, max(bound, 0.0), "minimise", "rounded", note),
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

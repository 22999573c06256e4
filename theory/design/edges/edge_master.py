"""Lower bounds on the slem over all allowed sets of edges, by linear and integer programming.

For any places h and k of the agents, Σ_i v_i h_i = Σ_i v_i k_i = 0 and V(h) + V(k) = 1, every
feasible flow f has

    slem ≥ V(h) − V(k) − Σ_e f_e (|h_i − h_j|² − |k_i − k_j|²),

a *cut*: linear in f, and true whatever edges f uses. With x_e in {0, 1} for "edge e is kept" and
f_e ≤ u_e x_e, budgets are linear too. The least slem that all cuts allow is an integer program; its
dual bound holds for every allowed set, at whatever node the solver stops. Its continuous relaxation
alone is the semidefinite relaxation with 0 ≤ x ≤ 1, as cuts are added where eigenvectors violate
them (docs: mathematics/choosing-edges).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, diags_array, hstack, vstack

from theory.design.edges.edge_limits import EdgeLimits, Mask, cut_of
from theory.design.mixing.fastest import MixingBound, edge_stress
from theory.design.mixing.mixing_problem import MixingProblem
from theory.validation import FloatArray

# HiGHS meets rows to 1e-7 and whole numbers to 1e-6: with flows in units of the smaller influence
# of two agents the bound may be off by about as much.
SOLVER_TOLERANCE = 2e-6
# Eigenvectors taken from each end of the spectrum at a time.
_VECTORS = 3
# Cuts that violate by less are not worth a row.
_VIOLATION = 1e-6


@dataclass(frozen=True, eq=False)
class Cut:
    """slem ≥ `constant` − Σ_e `stress`_e g_e, with g_e = f_e / min(v_i, v_j); stress (E,)."""

    constant: float
    stress: FloatArray


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """What a program came to.

    Attributes
    ----------
    bound
        No allowed set of edges has a smaller slem; −inf if the solver said nothing.
    share
        Shape (E,): x, whole numbers but for rounding if they were asked for; None if there is none.
    flows
        Shape (E,): g.
    """

    bound: float
    share: FloatArray | None
    flows: FloatArray | None


class EdgeMaster:
    """The program, with the cuts found so far."""

    def __init__(self, problem: MixingProblem, limits: EdgeLimits) -> None:
        self.problem = problem
        self.limits = limits
        edges = len(problem.graph.edges)
        self._cuts: list[Cut] = []
        self._connections: list[Mask] = []
        v = problem.v
        known = np.nan_to_num(problem.known) / problem.unit
        # What one edge can carry at most, in units of the smaller influence of its ends.
        room = (problem.budget[problem.graph.edges] / problem.load).min(axis=1) / problem.unit
        self._most = np.where(np.isnan(problem.known), room, known)
        self._least = known
        # Budgets of the agents, as shares of their influence; an edge carries something only if it
        # is kept; and the budgets of edges.
        agents, identity = len(v), diags_array(np.ones(edges))
        none = csr_array((agents, edges)), csr_array((agents + 2, edges))
        carried = [hstack([problem.loads.T, none[0]]), hstack([identity, -diags_array(self._most)])]
        self._matrix = csr_array(vstack([*carried, hstack([none[1], limits.budgets])]))
        self._upper = np.concatenate([problem.budget / v, np.zeros(edges), limits.most])
        self._lower = np.concatenate([np.full(agents + edges, -np.inf), limits.least])

    def add_bound(self, bound: MixingBound) -> None:
        """The cut that a bound for any subgraph gives, since places are places of all agents."""
        self._add(bound.slow, bound.alternating)

    def add_eigenvectors(self, flows: FloatArray, value: float) -> bool:
        """Cuts that `flows` violate at slem `value`, from their own eigenvectors; whether any."""
        v, B = self.problem.v, self.problem.incidence
        root, known = np.sqrt(v), len(self._cuts)
        laplacian = (B.T @ diags_array(flows) @ B).toarray()
        values, vectors = np.linalg.eigh(np.eye(len(v)) - laplacian - np.outer(root, root))
        nowhere = np.zeros((len(v), 0))
        for column in [*range(_VECTORS), *range(-_VECTORS, 0)]:
            if -len(v) <= column < len(v) and abs(values[column]) > value + _VIOLATION:
                place = vectors[:, column] / root
                place = (place - v @ place)[:, None]
                self._add(*((place, nowhere) if values[column] > 0 else (nowhere, place)))
        return len(self._cuts) > known

    def _add(self, h: FloatArray, k: FloatArray) -> None:
        """The cut of places h and k, centred."""
        slow, fast = (float(self.problem.v @ (x * x).sum(axis=1)) for x in (h, k))
        # Of one agent: nothing to mix, and nothing to cut off.
        if total := slow + fast:
            stress = edge_stress(self.problem, h, k) * self.problem.unit
            self._cuts.append(Cut((slow - fast) / total, stress / total))

    def connect(self, labels: np.ndarray) -> None:
        """Forbid that the parts with these `labels`, shape (N,), are left unconnected."""
        for part in range(int(labels.max()) + 1):
            self._connections.append(cut_of(self.problem.graph, labels == part))

    def solve(self, *, whole: bool, nodes: int, seconds: float = np.inf) -> MasterSolution:
        """The least slem that the cuts allow: x relaxed, or whole to so many nodes and seconds."""
        edges = len(self.limits.costs)
        cuts = csr_array(np.array([cut.stress for cut in self._cuts]).reshape(-1, edges))
        constants = np.array([cut.constant for cut in self._cuts])
        parts = csr_array(np.array(self._connections, dtype=np.float64).reshape(-1, edges))
        slems = csr_array(np.ones((len(constants), 1)))
        rows = [
            hstack([csr_array((self._matrix.shape[0], 1)), self._matrix]),
            hstack([slems, cuts, csr_array(cuts.shape)]),
            hstack([csr_array((parts.shape[0], 1 + edges)), parts]),
        ]
        lower = np.concatenate([self._lower, constants, np.ones(parts.shape[0])])
        upper = np.concatenate([self._upper, np.full(lower.size - self._upper.size, np.inf)])
        found = milp(
            np.concatenate([[1.0], np.zeros(2 * edges)]),
            constraints=LinearConstraint(vstack(rows), lower, upper),
            integrality=np.repeat([0, int(whole)], [1 + edges, edges]),
            bounds=Bounds(
                np.concatenate([[0.0], self._least, self.limits.required.astype(float)]),
                np.concatenate([[1.0], self._most, 1.0 - self.limits.forbidden.astype(float)]),
            ),
            # Presolving, HiGHS prints to the terminal where it repairs a solution.
            options={"node_limit": nodes, "presolve": False, "time_limit": seconds}
            if whole
            else {},
        )
        bound = found.mip_dual_bound if whole else found.fun
        return MasterSolution(
            bound=-np.inf if bound is None else float(bound) - SOLVER_TOLERANCE,
            share=None if found.x is None else np.asarray(found.x[1 + edges :]),
            flows=None if found.x is None else np.asarray(found.x[1 : 1 + edges]),
        )

"""Which sets of edges a budget allows, a connected one to start from, and bounds over all.

A set of edges is *allowed* if it is within all budgets, holds the edges that fixed rows use, and
connects all agents. Leaving an edge out never breaks a budget, so that there is an allowed set if
and only if there is an allowed spanning tree (but for edges that fixed rows use). With budgets on
the number and the cost of edges alone the cheapest spanning tree decides; with a limit on
neighbours the question is as hard as finding a Hamiltonian path, and a search comes first, then
integer programming.

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

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, diags_array, hstack, vstack

from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph, parts_joined
from theory.design.mixing.fastest import MixingBound, edge_stress
from theory.design.mixing.mixing_problem import MixingProblem
from theory.design.search import DesignFailed
from theory.network.structure import name_groups
from theory.validation import FloatArray, IntArray, fail

# Which sets of edges a budget allows, and a connected one to start from --------------------------


Mask = NDArray[np.bool_]

# Sums of a few costs: more than this part over the budget is no rounding.
_ROUNDING = 1e-12
# Weights of the cost against the wish for an edge, tried in turn.
_THRIFT = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, np.inf)
# Parts found by one integer program each are forbidden in the next.
_ROUNDS = 200
_NODES = 20_000


@dataclass(frozen=True, eq=False)
class EdgeLimits:
    """Budgets on the edges of an undirected graph.

    Attributes
    ----------
    graph
        The graph; E edges.
    required, forbidden
        Shape (E,): edges that fixed rows use, and those that they leave without weight.
    costs
        Shape (E,).
    most_edges, most_neighbours, most_cost
        The budgets; infinite where there are none.
    """

    graph: DesignGraph
    required: Mask
    forbidden: Mask
    costs: FloatArray
    most_edges: float
    most_neighbours: float
    most_cost: float

    @classmethod
    def of(cls, problem: MixingProblem, constraints: Constraints) -> EdgeLimits:
        """The budgets of `constraints`, with what fixed rows say about edges."""

        def limit(value: float | None) -> float:
            return np.inf if value is None else float(value)

        return cls(
            problem.graph,
            problem.known > 0,
            problem.known == 0,
            constraints.costs_on(problem.graph),
            limit(constraints.edge_budget),
            limit(constraints.degree_budget),
            limit(constraints.cost_budget) * (1 + _ROUNDING),
        )

    @cached_property
    def incidence(self) -> csr_array[np.float64]:
        """Which agents an edge joins, shape (N, E)."""
        edges = self.graph.edges
        count = len(edges)
        return csr_array(
            (np.ones(2 * count), (edges.T.ravel(), np.tile(np.arange(count), 2))),
            shape=(self.graph.agents, count),
        )

    @cached_property
    def budgets(self) -> csr_array[np.float64]:
        """Shape (N + 2, E): what an edge uses of each budget; edges, neighbours by agent, cost."""
        ones, costs = np.ones((1, len(self.costs))), self.costs[None, :]
        return csr_array(vstack([csr_array(ones), self.incidence, csr_array(costs)]))

    @cached_property
    def most(self) -> FloatArray:
        """How much there is of each budget, shape (N + 2,)."""
        neighbours = np.full(self.graph.agents, self.most_neighbours)
        return np.concatenate([[self.most_edges], neighbours, [self.most_cost]])

    @cached_property
    def least(self) -> FloatArray:
        """What connected agents use at least: N − 1 edges, and each agent one; shape (N + 2,)."""
        agents = self.graph.agents
        return np.concatenate([[agents - 1.0], np.full(agents, min(1.0, agents - 1.0)), [-np.inf]])

    @cached_property
    def bounds(self) -> Bounds:
        """The least and the largest part of each edge in a program: those of fixed rows stay."""
        return Bounds(self.required.astype(float), 1.0 - self.forbidden.astype(float))

    def within_budgets(self, chosen: Mask) -> bool:
        """Whether a set of edges is within all budgets."""
        return bool((self.budgets @ chosen <= self.most).all())

    def parts(self, chosen: Mask) -> IntArray:
        """Labels of the parts that a set of edges connects, shape (N,)."""
        return parts_joined(self.graph.edges[chosen], agents=self.graph.agents)

    def allows(self, chosen: Mask) -> bool:
        """Whether a set of edges is within all budgets and connected, with all that is required."""
        return (
            self.within_budgets(chosen)
            and not (self.required & ~chosen).any()
            and not (self.forbidden & chosen).any()
            and not self.parts(chosen).any()
        )

    def is_excess(self, chosen: Mask, edge: int) -> bool:
        """Whether leaving out this edge brings a set nearer to the budgets."""
        over = self.budgets @ chosen > self.most
        return bool(over[[0, -1]].any() or over[1:-1][self.graph.edges[edge]].any())

    def addable(self, chosen: Mask) -> IntArray:
        """Edges each of which can be added within the budgets."""
        left = self.most - self.budgets @ chosen
        fits = (self.budgets.toarray() <= left[:, None]).all(axis=0)
        return np.flatnonzero(fits & ~chosen & ~self.forbidden)

    def filled(self, chosen: Mask, wish: FloatArray) -> Mask:
        """An allowed set with edges added by falling `wish`, shape (E,), as far as budgets go."""
        chosen = chosen.copy()
        for edge in np.argsort(-wish, kind="stable"):
            if not chosen[edge] and not self.forbidden[edge]:
                chosen[edge] = True
                if not self.within_budgets(chosen):
                    chosen[edge] = False
        return chosen

    def check(self) -> None:
        """See that some connected set may be allowed.

        Raises
        ------
        ValueError
            If the cheapest spanning tree costs too much, or fixed rows use more edges than budgets
            allow or cut agents off.
        """
        if not self.within_budgets(self.required):
            raise fail(
                "fixed_rows",
                "rows that use no more edges than the budgets allow",
                f"{int(self.required.sum())} edges in use",
                "raise the budgets, or change the rows",
            )
        if self.parts(~self.forbidden).any():
            raise fail(
                "fixed_rows",
                "rows that leave all agents connected",
                f"the parts {name_groups(self.parts(~self.forbidden))}",
                "give weight to an edge between the parts",
            )
        tree = self.cheapest_tree
        if not self.costs @ tree <= self.most_cost:
            what = "edges" if self.required.any() else "spanning tree"
            raise fail(
                "cost_budget",
                f"at least {self.costs @ tree:.12g}, the cost of the cheapest connected {what}",
                f"{self.most_cost:.12g}",
                "raise it, or name cheaper edges",
            )
        if not tree.sum() <= self.most_edges:
            raise fail(
                "edge_budget",
                f"at least {int(tree.sum())} edges, the fewest that connect all agents with those "
                "that fixed rows use",
                f"{self.most_edges:g}",
                "allow more",
            )

    @cached_property
    def cheapest_tree(self) -> Mask:
        """The required edges and the cheapest others that connect all agents, shape (E,)."""
        tree = self._grown(self.costs, np.inf)
        assert tree is not None  # edges that are not forbidden connect all agents
        return tree

    def start(self, wish: FloatArray) -> Mask:
        """An allowed set, as far as can be of edges with a large `wish`, shape (E,).

        Raises
        ------
        ValueError
            If there is none, as integer programming proves.
        DesignFailed
            If none was found, and none proved not to exist.
        """
        price = self.costs / self.costs.max() * max(float(np.ptp(wish)), 1e-300)
        for thrift in _THRIFT:
            order = self.costs if np.isinf(thrift) else thrift * price - wish
            tree = self._grown(order, self.most_neighbours)
            if tree is not None and self.within_budgets(tree):
                return self.filled(tree, wish)
        return self.filled(self._by_programming(wish), wish)

    def _grown(self, order: FloatArray, most: float) -> Mask | None:
        """Kruskal's tree in rising `order`, of `most` neighbours an agent; None if it got stuck."""
        chosen = self.required.copy()
        label = self.parts(chosen)
        degree = self.incidence @ chosen
        for edge in np.argsort(order, kind="stable"):
            i, j = self.graph.edges[edge]
            if label[i] == label[j] or self.forbidden[edge]:
                continue
            if max(degree[i], degree[j]) >= most:
                continue
            chosen[edge] = True
            degree[i], degree[j] = degree[i] + 1, degree[j] + 1
            label = np.where(label == label[j], label[i], label)
        return None if np.ptp(label) else chosen

    def _by_programming(self, wish: FloatArray) -> Mask:
        """An allowed set by integer programming: parts that come out are forbidden in turn."""
        count = len(self.costs)
        matrix, lower, upper = self.budgets.toarray(), self.least.tolist(), self.most.tolist()
        for _ in range(_ROUNDS):
            found = milp(
                -wish / max(float(np.abs(wish).max()), 1e-300),
                constraints=LinearConstraint(matrix, np.array(lower), np.array(upper)),
                integrality=np.ones(count, dtype=np.int64),
                bounds=self.bounds,
                options={"node_limit": _NODES, "presolve": False},
            )
            if found.status == 2:
                raise fail(
                    "degree_budget",
                    "budgets that some connected network keeps to",
                    f"{self.most_neighbours:g} neighbours, {self.most_edges:g} edges, cost "
                    f"{self.most_cost:g}, which integer programming proves to be too little",
                    "raise one of them",
                )
            if found.x is None:
                break
            chosen: Mask = found.x > 0.5
            labels = self.parts(chosen)
            if not labels.any():
                return chosen
            cuts = [cut_of(self.graph, labels == part) for part in range(int(labels.max()) + 1)]
            matrix = np.concatenate([matrix, np.array(cuts, dtype=np.float64)])
            lower.extend([1.0] * len(cuts))
            upper.extend([np.inf] * len(cuts))
        raise DesignFailed(
            "no connected network found",
            tried=("spanning trees by wish and by cost", "integer programming"),
            best=None,
            remedy="raise a budget: whether these can be kept to at all was not decided",
        )


def cut_of(graph: DesignGraph, inside: Mask) -> Mask:
    """The edges that leave a set of agents, shape (E,)."""
    cut: Mask = inside[graph.edges[:, 0]] != inside[graph.edges[:, 1]]
    return cut


def without_budgets(constraints: Constraints, graph: DesignGraph) -> Constraints:
    """The same constraints on a smaller graph on which edges need not be chosen any more."""
    return replace(
        constraints.on(graph), edge_budget=None, degree_budget=None, cost_budget=None, link_costs={}
    )


# A quick stand-in for the fastest mixing on a set of edges, for searching among many sets --------


# Swaps compared in one step, and steps of one descent.
_SWAPS = 400
_STEPS = 60
# Entries of one stack of matrices.
_BLOCK = 1 << 20


def surrogate_slem(limits: EdgeLimits, v: FloatArray, sets: Mask) -> FloatArray:
    """The slem for each row of `sets`, shape (C, E): (C,); 1 where the agents fall apart."""
    i, j = limits.graph.edges.T
    agents = len(v)
    block = max(1, _BLOCK // agents**2)
    values = []
    for start in range(0, len(sets), block):
        kept = sets[start : start + block]
        degree = np.maximum((limits.incidence @ kept.T).T, 1.0)
        share = v / degree
        flows = np.where(kept, np.minimum(share[:, i], share[:, j]), 0.0)
        laplacian = np.zeros((len(kept), agents, agents))
        pull = flows / np.sqrt(v[i] * v[j])
        laplacian[:, i, j] = laplacian[:, j, i] = -pull
        own = (limits.incidence @ flows.T).T / v
        laplacian[:, np.arange(agents), np.arange(agents)] = own
        found = np.linalg.eigvalsh(laplacian)
        least, most = found[:, 1], found[:, -1]
        step = np.minimum(1.0, 2.0 / (least + most))
        values.append(np.maximum(1.0 - step * least, step * most - 1.0))
    return np.concatenate(values)


def descended(
    limits: EdgeLimits, v: FloatArray, chosen: Mask, generator: np.random.Generator
) -> Mask:
    """Swap pairs of edges, the best of a sample at a time, until none of a sample helps."""
    value = float(surrogate_slem(limits, v, chosen[None, :])[0])
    for _ in range(_STEPS):
        swaps = _swapped(limits, chosen, generator)
        if not len(swaps):
            break
        found = surrogate_slem(limits, v, swaps)
        best = int(found.argmin())
        if not found[best] < value - 1e-9:
            break
        chosen, value = swaps[best], float(found[best])
    return chosen


def _swapped(limits: EdgeLimits, chosen: Mask, generator: np.random.Generator) -> Mask:
    """Sets within the budgets that differ in one pair of edges, a sample of them."""
    inside = np.flatnonzero(chosen & ~limits.required)
    outside = np.flatnonzero(~chosen & ~limits.forbidden)
    pairs = np.stack(np.meshgrid(inside, outside, indexing="ij"), axis=-1).reshape(-1, 2)
    if len(pairs) > _SWAPS:
        pairs = pairs[generator.choice(len(pairs), _SWAPS, replace=False)]
    sets = np.tile(chosen, (len(pairs), 1))
    here = np.arange(len(pairs))
    sets[here, pairs[:, 0]] = False
    sets[here, pairs[:, 1]] = True
    within: Mask = sets[(limits.budgets @ sets.T <= limits.most[:, None]).all(axis=0)]
    return within


# Lower bounds on the slem over all allowed sets of edges ------------------------------------------


# HiGHS meets rows to 1e-7 and whole numbers to 1e-6: with flows in units of the smaller influence
# of two agents the bound may be off by about as much.
SOLVER_TOLERANCE = 2e-6
# Eigenvectors taken from each end of the spectrum at a time.
_VECTORS = 3
# Cuts that violate by less are not worth a row.
_VIOLATION = 1e-6


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
        # slem ≥ constant − Σ_e stress_e g_e, with g_e = f_e / min(v_i, v_j).
        self._cuts: list[tuple[float, FloatArray]] = []
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
            self._cuts.append(((slow - fast) / total, stress / total))

    def connect(self, labels: np.ndarray) -> None:
        """Forbid that the parts with these `labels`, shape (N,), are left unconnected."""
        for part in range(int(labels.max()) + 1):
            self._connections.append(cut_of(self.problem.graph, labels == part))

    def solve(self, *, whole: bool, nodes: int, seconds: float = np.inf) -> MasterSolution:
        """The least slem that the cuts allow: x relaxed, or whole to so many nodes and seconds."""
        edges = len(self.limits.costs)
        cuts = csr_array(np.array([stress for _, stress in self._cuts]).reshape(-1, edges))
        constants = np.array([constant for constant, _ in self._cuts])
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
                np.concatenate([[0.0], self._least, self.limits.bounds.lb]),
                np.concatenate([[1.0], self._most, self.limits.bounds.ub]),
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

"""The fastest reversible mixing as an optimisation over flows along edges.

A reversible W with stationary distribution v is a flow f_e = v_i W_ij = v_j W_ji ≥ 0 on each edge
e = {i, j}, and

    D^½ W D^−½ = I − Σ_e f_e b_e b_eᵀ,   b_e = e_i/√v_i − e_j/√v_j,   D = diag(v),

so that everything that matters is linear in f. What agent i sends along its edges is limited by
its budget: Σ_{e at i} f_e / p_ie ≤ (1 − s) v_i, with p_ie the probability that i hears along e and
s the least weight on itself. Flows at agents whose rows are fixed are known.

Flows span as many orders of magnitude as v does. Solvers see g_e = f_e / min(v_i, v_j) instead,
and budgets as shares of v_i: then all coefficients are in [0, 1] but for 1/p (docs:
mathematics/fastest-mixing).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph, parts_joined
from theory.network import Network
from theory.network.graphs import assemble
from theory.network.structure import EPS, name_groups
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray, fail, read_only

# Two prescriptions of one number, each the product of three rounded ones.
_AGREEMENT = 1e-12


@dataclass(frozen=True, eq=False)
class MixingProblem:
    """Flows on the edges of an undirected graph, and what limits them.

    Built by `mixing_problem`.

    Attributes
    ----------
    graph
        The graph; E edges, N agents.
    v
        Shape (N,), positive, sums to one.
    known
        Shape (E,): flows that are prescribed (0 where an agent has nothing left to give), nan
        where a flow is free.
    load
        Shape (E, 2): 1/p_ie for the two ends of each edge, what a unit of flow takes from each
        budget.
    budget
        Shape (N,): (1 − s) v_i, or v_i for agents whose row is fixed.
    """

    graph: DesignGraph
    v: FloatArray
    known: FloatArray
    load: FloatArray
    budget: FloatArray

    @cached_property
    def free(self) -> IntArray:
        """The rows of `graph.edges` whose flow is to be chosen, shape (F,)."""
        return read_only(np.flatnonzero(np.isnan(self.known)).astype(np.int64))

    @cached_property
    def unit(self) -> FloatArray:
        """min(v_i, v_j) for each edge, shape (E,): the flow that g_e = 1 stands for."""
        return read_only(self.v[self.graph.edges].min(axis=1))

    @cached_property
    def incidence(self) -> sparse.csr_array[np.float64]:
        """√min(v_i, v_j) b_eᵀ for each edge, shape (E, N); entries in [−1, 1]."""
        ends = np.sqrt(self.unit[:, None] / self.v[self.graph.edges])
        return self._rows(ends * np.array([1.0, -1.0]))

    @cached_property
    def loads(self) -> sparse.csr_array[np.float64]:
        """What g_e takes from the two budgets, as shares of v_i: shape (E, N)."""
        return self._rows(self.load * (self.unit[:, None] / self.v[self.graph.edges]))

    @cached_property
    def shares(self) -> FloatArray:
        """What the free flows may take, as shares of v_i: shape (N,); 0 where nothing is free."""
        taken = self.loads.T @ (np.nan_to_num(self.known) / self.unit)
        share = self.budget / self.v - taken
        return read_only(np.where(self.has_free, np.maximum(share, 0.0), 0.0))

    @cached_property
    def has_free(self) -> NDArray[np.bool_]:
        """Whether an agent has an edge whose flow is free, shape (N,)."""
        found = np.zeros(self.graph.agents, dtype=bool)
        found[self.graph.edges[self.free]] = True
        return found

    def even_flows(self) -> FloatArray:
        """Feasible flows that give the free edges of each agent alike, as far as both ends can."""
        totals: FloatArray = np.asarray(self.loads[self.free].sum(axis=0)).ravel()
        level = np.divide(self.shares, totals, out=np.zeros(self.graph.agents), where=self.has_free)
        return np.where(
            np.isnan(self.known), level[self.graph.edges].min(axis=1) * self.unit, self.known
        )

    def repaired(self, flows: FloatArray) -> FloatArray:
        """Feasible flows near `flows`: no less than 0, scaled down where a budget is exceeded.

        Budgets are met with a few rounding errors to spare, so that no weight on oneself is
        negative.
        """
        flows = np.where(np.isnan(self.known), np.maximum(flows, 0.0), self.known)
        free = np.isnan(self.known)
        g = np.where(free, flows / self.unit, 0.0)
        used = self.loads.T @ g
        # Of a sum of d terms, and of the weights made from it: some d roundings.
        spare = 1.0 - 4 * (self.graph.degrees + 4) * EPS
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(used > self.shares * spare, self.shares * spare / used, 1.0)
        scale = np.where(free, factor[self.graph.edges].min(axis=1), 1.0)
        return np.asarray(flows * scale)

    def expected_network(self, flows: FloatArray) -> Network:
        """The network E[W] of feasible flows: W_ij = f_e / v_i."""
        return self._network(flows, np.ones_like(self.load), "fastest mixing, expected")

    def network(self, flows: FloatArray) -> Network:
        """The network W to set for feasible flows: W_ij = f_e / (p_ie v_i)."""
        return self._network(flows, self.load, "fastest mixing")

    def _network(self, flows: FloatArray, load: FloatArray, name: str) -> Network:
        agents = self.graph.agents
        used = flows > 0
        edges = self.graph.edges[used]
        weight = flows[used, None] * load[used] / self.v[edges]
        listener, speaker = edges.T.ravel(), edges[:, ::-1].T.ravel()
        leaving = np.bincount(listener, weight.T.ravel(), minlength=agents)
        own = np.maximum(1.0 - leaving, 0.0)
        own[own <= 4 * (self.graph.degrees + 4) * EPS] = 0.0
        weights = assemble(listener, speaker, weight.T.ravel(), agents=agents, own=own)
        return self.graph.network(weights, name=name)

    def _rows(self, ends: FloatArray) -> sparse.csr_array[np.float64]:
        count = len(self.graph.edges)
        return sparse.csr_array(
            (ends.ravel(), self.graph.edges.ravel(), np.arange(0, 2 * count + 1, 2)),
            shape=(count, self.graph.agents),
        )


def mixing_problem(
    graph: DesignGraph, v: ArrayLike, constraints: Constraints | None = None
) -> MixingProblem:
    """The problem of the fastest reversible mixing, its data checked.

    Parameters
    ----------
    graph
        Undirected: who may listen to whom.
    v
        The stationary distribution of E[W], shape (N,).
    constraints
        Availability, least weight on oneself, fixed rows, and whether v must be uniform. Budgets
        of edges are not chosen here.

    Raises
    ------
    ValueError
        If the graph is directed (the message names a pair), v is no positive distribution over
        its agents, or constraints clash with each other, with the graph or with v.
    """
    constraints = constraints or Constraints()
    edges = graph.edges
    stationary = constraints.influence_on(graph, v)
    constraints.check(graph)
    constraints.check_fits(graph)
    availability = constraints.availability_on(graph)
    there = np.flatnonzero(graph.links[:, 0] < graph.links[:, 1])
    heard = np.stack([availability[there], availability[graph.reverse[there]]], axis=1)
    if constraints.symmetric and (heard[:, 0] != heard[:, 1]).any():
        i, j = edges[int(np.argmax(heard[:, 0] != heard[:, 1]))]
        raise fail(
            "symmetric",
            "links that are up as often one way as the other",
            f"different availability of the links between agents {i} and {j}",
            "drop symmetric (E[W] has the uniform v anyway), or make the two equal",
        )
    budget = (1.0 - constraints.minimum_self_weight) * stationary
    for agent in constraints.fixed_rows:
        budget[agent] = stationary[agent]
    known = _prescribed(edges, stationary, heard, budget, constraints)
    return MixingProblem(
        graph, stationary, read_only(known), read_only(1.0 / heard), read_only(budget)
    )


def _prescribed(
    edges: IntArray, v: FloatArray, heard: FloatArray, budget: FloatArray, constraints: Constraints
) -> FloatArray:
    """The flows that fixed rows prescribe, nan for those that stay free."""
    known = np.full(len(edges), np.nan)
    for agent, row in constraints.fixed_rows.items():
        for side in (0, 1):
            here = np.flatnonzero(edges[:, side] == agent)
            other = edges[here, 1 - side]
            flow = v[agent] * row[other] * heard[here, side]
            before = known[here]
            clash = ~np.isnan(before) & (
                np.abs(before - flow) > _AGREEMENT * np.maximum(flow, np.nan_to_num(before))
            )
            if clash.any():
                which = int(np.argmax(clash))
                raise fail(
                    "fixed_rows",
                    "rows with v_i W_ij = v_j W_ji where two of them meet",
                    f"flows {before[which]:.6g} and {flow[which]:.6g} between agents "
                    f"{int(other[which])} and {agent}",
                    "change one of the two rows, or v",
                )
            known[here] = flow
    taken = np.zeros(len(v))
    for side in (0, 1):
        np.add.at(taken, edges[:, side], np.nan_to_num(known) / heard[:, side])
    over = taken > budget * (1 + _AGREEMENT)
    if over.any():
        agent = int(np.argmax(np.where(over, taken / budget, 0.0)))
        raise fail(
            "fixed_rows",
            f"rows that ask agent {agent} for weights that sum to at most "
            f"{budget[agent] / v[agent]:g}, so that its influence is {v[agent]:g}",
            f"a sum of {taken[agent] / v[agent]:g}",
            f"lower the fixed weights on agent {agent}, or raise its influence",
        )
    # An agent with nothing left gives nothing on its other edges.
    spent = budget - taken <= _AGREEMENT * budget
    known[np.isnan(known) & spent[edges].any(axis=1)] = 0.0
    labels = parts_joined(edges[~(known == 0)], agents=len(v))
    if labels.any():
        raise fail(
            "fixed_rows",
            "rows that leave every agent reached from every other",
            f"{labels.max() + 1} parts that cannot exchange anything: {name_groups(labels)}",
            "let the fixed rows give less, so that others have something left for their neighbours",
        )
    return known

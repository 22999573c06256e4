"""Fast mixing where W need not be reversible: local minima, labelled as such.

On directed graphs, and for W that may be non-reversible on undirected ones, neither the subdominant
modulus nor the deviation is convex, and no method is known that finds the best W. Here flows with
the given stationary distribution move in coordinates without constraints; a smooth stand-in for the
measure, sharper from stage to stage, is minimised by L-BFGS from several starts; what comes out
is measured by the library's own rigorous means, and stands beside a bound that no W can beat
(docs: mathematics/directed-mixing).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csgraph, csr_array

from theory.design.constraints import Constraints
from theory.design.directed.flow_descent import Descent, FlowDescent, modulus_bound
from theory.design.directed.flow_weights import FlowWeights
from theory.design.graph import DesignGraph
from theory.design.influences.flow_rows import LinearProgram, simplex
from theory.design.mixing.fastest import fastest_mixing
from theory.design.rate.rate_program import LeastProgram
from theory.design.search import Certificate, DesignFailed, Search
from theory.network import Deviation, Network
from theory.network.structure import as_dense
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_integer, as_positive, fail

# What no W on a graph can do, reversible or not --------------------------------------------------


# Linear programs are met to 1e-7 of numbers of at most 1.
_SLACK = 1e-6
_MOST_ROUNDS = 10_000


def distances(graph: DesignGraph) -> FloatArray:
    """d(i, j): how many links evidence needs from j to i, shape (N, N)."""
    links, agents = graph.links, graph.agents
    pattern = csr_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(agents, agents))
    return np.asarray(csgraph.shortest_path(pattern, unweighted=True))


def least_own(weights: FlowWeights) -> FloatArray:
    """s_i ≤ E[W]_ii for every W, shape (N,)."""
    agents = weights.graph.agents
    i = weights.graph.links[:, 0]
    most = np.zeros(agents)
    np.maximum.at(most, i, weights.availability)
    free = 1.0 - (1.0 - weights.limits.minimum_self_weight) * most
    fixed = 1.0 - np.bincount(i, weights.prescribed, minlength=agents)
    return np.asarray(np.where(weights.is_free, free, fixed))


def modulus_limit(weights: FlowWeights) -> float:
    """No W of these has a smaller subdominant modulus; up to rounding of a linear program."""
    agents, v = weights.graph.agents, weights.given
    if agents == 1:
        return 0.0
    trace = float(least_own(weights).sum())
    if v is not None and weights.size:
        # The most that all agents together can listen, Σ F_ij / v_i over balanced flows, in units
        # of each agent's influence.
        listens = np.arange(weights.size) < weights.links.size
        program = LinearProgram(listens.astype(float), np.zeros(weights.size))
        points, scale = weights.points, weights.owners_of(v)
        program.add(points.A * scale, points.b, points.b)
        found = program.solve()
        if found is not None:
            listened = float(weights.prescribed.sum() + found.x[listens].sum())
            trace = max(trace, agents - listened - _SLACK * agents)
    return max(0.0, (trace - 1.0) / (agents - 1))


def deviation_limit(weights: FlowWeights, v: FloatArray) -> FloatArray:
    """No W of these with this v has a smaller D_i, shape (N,)."""
    d, own = distances(weights.graph), least_own(weights)
    far = np.asarray(2.0 * np.maximum(d - 1.0, 0.0) @ v)
    # Where an agent has to keep much to itself, that may bind instead: the larger, round by round.
    keeps = own > v
    if not keeps.any():
        return far
    total = np.zeros(len(v))
    for k in range(1, _MOST_ROUNDS + 1):
        beyond = np.where(d > k, v, 0.0).sum(axis=1)
        kept = np.where(keeps, own**k - v, 0.0)
        term = np.maximum(beyond, kept)
        if not (term > 0).any():
            break
        total += 2.0 * np.maximum(term, 0.0)
    return np.asarray(total)


def free_deviation_limit(graph: DesignGraph, least: float) -> float:
    """No W whose v has no entry below `least` has a smaller max_i D_i: a linear program over v."""
    reach = 2.0 * np.maximum(distances(graph) - 1.0, 0.0)
    # max_i (reach v)_i is at its least where min_i (−reach v)_i is at its largest.
    even = np.full(graph.agents, 1 / graph.agents)
    v = simplex(np.full(graph.agents, least))
    return max(0.0, -LeastProgram(v, -reach.T, start=even).solve().value - _SLACK)


# Fast mixing where W need not be reversible ------------------------------------------------------


Measure = Literal["modulus", "deviation"]
MEASURES: tuple[Measure, ...] = ("modulus", "deviation")
# What weights below 1e-6 may be worth, as a part of the measure, and be left out.
_SPARE = 1e-6
# Newton's method for flows factorises matrices of twice this size at every step.
MOST_AGENTS = 150


@dataclass(frozen=True)
class LocalStart(Shown):
    """One start: its name, and the measure before and after minimising."""

    name: str
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class LocalMixing(Shown):
    """The best W found, which may not be the best there is.

    Attributes
    ----------
    network
        The W to set.
    expected
        E[W], which all numbers are about; `network` itself if all links are always up.
    measure
        What was minimised.
    value
        For "deviation" an upper bound on max_i D_i, rigorous up to rounding. For "modulus" a
        floating-point estimate, not to be trusted where W is far from normal.
    certificate
        The value beside what no W can beat; of the kind "local".
    modulus_bound
        An upper bound on the subdominant modulus of E[W] from norms of its powers, true up to
        rounding for any W.
    deviation
        Bounds on every D_i of E[W].
    starts
        What each start led to, best first.
    notes
        What else is to be known.
    """

    network: Network
    expected: Network
    measure: Measure
    value: float
    certificate: Certificate
    modulus_bound: float
    deviation: Deviation
    starts: tuple[LocalStart, ...]
    notes: tuple[str, ...]


@typed
def local_mixing(
    graph: DesignGraph,
    v: ArrayLike | None = None,
    *,
    measure: Measure = "modulus",
    restarts: int = 5,
    seed: int = 0,
    constraints: Constraints | None = None,
    minimum_influence: float | None = None,
) -> LocalMixing:
    """A locally fastest W, reversible or not, by the subdominant modulus or by max_i D_i.

    Parameters
    ----------
    graph
        Who may listen to whom, at most 150 agents.
    v
        The stationary distribution of E[W], shape (N,), positive; None if it may be anything.
    measure
        "modulus" for the long run, or "deviation" for all the rounds that W takes to forget where
        it started. The two may disagree widely.
    restarts
        How many random starts there are beside the natural ones.
    seed
        Of the random starts.
    constraints
        Least weight on oneself, availability, fixed rows, uniform v. Budgets are met by the graph.
    minimum_influence
        With v None, the least influence of every agent; by default 1/(10 N).

    Raises
    ------
    ValueError
        If the graph is too large, v or an option is not valid, or constraints clash.
    DesignFailed
        If no start is feasible.

    Examples
    --------
    Four agents, agent i hears agents 2i and 2i + 1 modulo 4. After two rounds everybody has heard
    everybody alike, W² = 1vᵀ; no W is better.

    >>> hears = [[i, (2 * i + b) % 4] for i in range(4) for b in (0, 1)]
    >>> graph = DesignGraph(4, np.array(hears))
    >>> found = local_mixing(graph, [1 / 4] * 4, measure="deviation", restarts=0)
    >>> round(found.value, 1), round(found.certificate.bound, 6), found.certificate.kind
    (1.0, 1.0, 'local')
    """
    if measure not in MEASURES:
        raise fail("measure", f"one of {', '.join(MEASURES)}", repr(measure), "choose one of these")
    as_integer("graph", graph.agents, minimum=2, maximum=MOST_AGENTS)
    count = as_integer("restarts", restarts, minimum=0)
    generator = np.random.default_rng(as_integer("seed", seed, minimum=0))
    constraints = constraints or Constraints()
    if constraints.symmetric:
        raise fail(
            "symmetric",
            "a W that may be non-reversible",
            "symmetric weights, which are reversible",
            "use fastest_mixing, which finds the best of these",
        )
    constraints.check(graph)
    weights = _weights(graph, v, constraints, minimum_influence)
    search = FlowDescent(weights, measure)
    best = Search[Descent]("minimise")
    found: list[Descent] = []
    for start in best.over(search.starts(count, generator)):
        reached = search.minimised(start)
        if reached is not None:
            found.append(reached)
            best.offer(reached.after, reached)
    found.sort(key=lambda r: r.after)
    if not found:
        raise DesignFailed(
            "no feasible flow",
            tried=("realisation", "even flows", "random flows"),
            best=None,
            remedy="change the fixed rows, or v",
        )
    named, point = "locally fastest mixing", found[0].point
    fewer = weights.sparser(weights.weights(point), point.v)
    if fewer is not None:
        after = FlowDescent(fewer[0], measure).measured(fewer[1])
        if after <= best.value * (1 + _SPARE):
            (weights, point), best.value = fewer, after
    expected = weights.network(point, name=named, expected=True)
    limit, note = _limit(weights, measure)
    best.raise_bound(limit, note)
    return LocalMixing(
        network=expected if constraints.never_fails else weights.network(point, name=named),
        expected=expected,
        measure=measure,
        value=best.value,
        certificate=best.certificate("local"),
        modulus_bound=modulus_bound(as_dense(expected.weights), expected.stationary_distribution),
        deviation=expected.deviation,
        starts=tuple(LocalStart(r.name, r.before, r.after) for r in found),
        notes=_notes(measure, weights),
    )


def _weights(
    graph: DesignGraph, v: ArrayLike | None, constraints: Constraints, least: float | None
) -> FlowWeights:
    agents = graph.agents
    if v is None and constraints.forces_uniform:
        v = np.full(agents, 1.0 / agents)
    if v is not None:
        return FlowWeights(graph, constraints, constraints.influence_on(graph, v))
    floor = 0.1 / agents if least is None else as_positive("minimum_influence", least)
    if floor * agents >= 1.0:
        raise fail("minimum_influence", f"less than 1/{agents}", floor, "lower it")
    return FlowWeights(graph, constraints, None, floor)


def _limit(weights: FlowWeights, measure: Measure) -> tuple[float, str]:
    """What no W can beat, and why."""
    v, graph = weights.given, weights.graph
    if measure == "deviation":
        why = "evidence travels one link a round, and agents keep what they must"
        if v is not None:
            return float(deviation_limit(weights, v).max()), why
        return free_deviation_limit(graph, weights.least), why
    if v is not None and graph.is_undirected and len(graph.edges) == graph.agents - 1:
        # What flows into a branch of a tree flows out along the same edge.
        with suppress(ValueError, DesignFailed):
            fastest = fastest_mixing(graph, v, constraints=weights.limits)
            return fastest.certificate.bound, "on a tree every W is reversible"
    return modulus_limit(weights), "tr W − 1 is the sum of the other eigenvalues"


def _notes(measure: Measure, weights: FlowWeights) -> tuple[str, ...]:
    notes = ["a local minimum: another W may be better"]
    if measure == "modulus":
        notes.append("where W is far from normal the floating-point modulus is not to be trusted")
    if weights.given is None:
        notes.append(f"v was free, but for entries of at least {weights.least:g}")
    return tuple(notes)

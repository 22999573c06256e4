"""Where a search for few samples starts: influences worth trying, and weights that have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from theory.design.constraints import Constraints
from theory.design.edges.edge_budget import choose_edges
from theory.design.exponent.best_exponent import best_exponent
from theory.design.graph import DesignGraph
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.optimal_rate import optimal_rate
from theory.design.realisation import realise
from theory.design.samples.bent_laws import Evidence
from theory.design.samples.influence_floor import ExponentFloor, FlooredInfluences
from theory.design.samples.mixing_descent import faster, fastest_for, within_budgets
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.network.structure import as_dense
from theory.validation import FloatArray

# Influences that agree to this, relative to 1/N, are one start.
_SAME = 1e-6
# What a lazy network keeps of everything that its agents say.
_LAZY = 0.25
# Of the shares between two influences.
_MIXTURES = (0.25, 0.5, 0.75)
# Of the best exponent, and linear programs for each of these shares.
_SHARES, _FASTER_STEPS = (0.999, 0.9), 8


@dataclass(frozen=True, eq=False)
class Influence:
    """A stationary distribution worth trying, shape (N,)."""

    name: str
    v: FloatArray


@dataclass(frozen=True, eq=False)
class Start:
    """A network to set, on the edges it was given."""

    name: str
    network: Network
    graph: DesignGraph


def influences_to_try(
    model: FiniteModel,
    allowed: InfluenceSet,
    *,
    target: int | str | None,
    given: FloatArray | None = None,
) -> tuple[Influence, ...]:
    """Even, best rate, best exponent, the given one, and mixtures of them; each of them once."""
    even = Influence("even", allowed.centre)
    found = [even]
    if not allowed.is_point:
        rate = Influence(
            "best rate",
            optimal_rate(model, target=target, influences=allowed).stationary_distribution,
        )
        exponent = Influence(
            "best exponent",
            best_exponent(model, target=target, influences=allowed).stationary_distribution,
        )
        found += [exponent, rate]
        for first, second in ((even, exponent), (exponent, rate), (even, rate)):
            for share in _MIXTURES:
                v = (1 - share) * first.v + share * second.v
                found.append(Influence(f"{1 - share:g} {first.name} + {share:g} {second.name}", v))
    if given is not None and allowed.contains(given, tolerance=1e-9):
        found.insert(0, Influence("given", given))
    kept: list[Influence] = []
    for one in found:
        if all(np.abs(one.v - other.v).max() * allowed.agents > _SAME for other in kept):
            kept.append(one)
    return tuple(kept)


def starts_for(
    graph: DesignGraph, influence: Influence, limits: Constraints, *, seed: int
) -> Iterator[Start]:
    """Networks with one influence: Metropolis and Hastings, the fastest, and that one lazy."""
    if limits.limits_edges and not within_budgets(graph, limits):
        graph = choose_edges(graph, influence.v, constraints=limits, seed=seed).graph
        limits = limits.on(graph)
    name = influence.name
    plain = realise(graph, influence.v, constraints=limits, name=f"{name}, as realised")
    yield Start(plain.name, plain, graph)
    found = fastest_for(graph, influence.v, limits, seed=seed)
    if found is None:
        return
    fast = found.network
    yield Start(f"{name}, fastest", fast, graph)
    if not limits.fixed_rows and graph.agents > 1:
        lazy = (1 - _LAZY) * as_dense(fast.weights) + _LAZY * np.eye(graph.agents)
        named = f"{name}, fastest and lazy"
        yield Start(named, graph.network(lazy, name=named), graph)


def faster_starts(
    graph: DesignGraph,
    v: FloatArray,
    evidence: tuple[Evidence, ...],
    allowed: InfluenceSet,
    limits: Constraints,
    *,
    seed: int,
) -> Iterator[Start]:
    """Networks that give up some of the exponent at v to mix faster."""
    best = min(e.exponent(v) for e in evidence)
    if allowed.is_point or not 0 < best < np.inf:
        return
    start = fastest_for(graph, v, limits, seed=seed)
    for share in _SHARES:
        if start is None or start.slope is None:
            return
        floored = FlooredInfluences(allowed, ExponentFloor(evidence, share * best))
        start = faster(start, graph, floored, limits, steps=_FASTER_STEPS)
        yield Start(f"fastest with {share:g} of the exponent", start.network, start.graph)
